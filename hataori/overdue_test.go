package hataori

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// TestOverdueRanksAreNamed cancels a call in which rank 2 ignores that, until
// the root has named it with its items. Rank 1 lets go at once.
func TestOverdueRanksAreNamed(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	said := make(chan string, 1)
	begun, held := make(chan bool), make(chan int, 1)
	onRanks(t, 3, mpitest.Options{Seed: 3}, func(w *World) error {
		o := Options{Batch: 1, Depth: 1, Lanes: -1}
		var ex lanes.Executor[lanes.Lane]
		if w.Rank() == 0 {
			o.Logger = slog.New(slog.NewTextHandler(writer(func(p []byte) {
				if bytes.Contains(p, []byte("overdue=")) {
					said <- string(p)
				}
			}), nil))
		} else {
			ex = lanes.New(1)
		}
		if w.Rank() == 0 {
			go func() {
				<-begun
				<-begun
				cancel()
			}()
		}
		_, err := PmapLanes(ctx, w, ex, o, count(w, 0, 100), func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
			begun <- true
			if w.Rank() == 2 {
				held <- x
				s := <-said
				if want := fmt.Sprintf("\"rank 2: items %d\"", x); !strings.Contains(s, want) {
					t.Errorf("the root says %q, want %s", s, want)
				}
			} else {
				<-ctx.Done()
			}
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.Canceled) {
			return fmt.Errorf("rank %d: %v", w.Rank(), err)
		}
		return nil
	})
	select {
	case <-held:
	case <-time.After(time.Minute):
		t.Error("rank 2 had no item")
	}
}

type writer func(p []byte)

func (f writer) Write(p []byte) (int, error) { f(p); return len(p), nil }

func TestRangeList(t *testing.T) {
	all := []farm.Range{{First: 3, End: 4}, {First: 7, End: 10}, {First: 12, End: 14}}
	if s := rangeList(all, 3); s != "3, 7–9, 12–13" {
		t.Errorf("got %q", s)
	}
	if s := rangeList(all, 2); s != "3, 7–9, …" {
		t.Errorf("got %q", s)
	}
}
