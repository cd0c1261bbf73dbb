package hataori

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A thousand calls on one world, and on another of the same ranks in between: what
// the process holds does not grow. Goroutines are looked at in TestMain.
func TestThousandCalls(t *testing.T) {
	var early, late uint64
	calls := 1000
	if testing.Short() {
		calls = 250
	}
	net := mpitest.New(3, mpitest.Options{})
	err := net.Run(func(c transport.Comm) error {
		w, err := NewWorld(c)
		if err != nil {
			return err
		}
		v, err := NewWorld(c)
		if err != nil {
			return err
		}
		for k := range calls {
			on := w
			if k%7 == 0 {
				on = v
			}
			got, err := PmapLanes(context.Background(), on, lanes.New(1), Options{Root: k % 3}, count(on, k%3, 5), func(_ context.Context, _ lanes.Lane, x int) ([]byte, error) {
				return make([]byte, 1000+x), nil
			})
			switch {
			case err != nil:
				return err
			case on.Rank() == k%3 && (len(got) != 5 || len(got[4]) != 1004):
				return fmt.Errorf("call %d: %d results", k, len(got))
			case w.Rank() == 0 && k == 200:
				early = heap()
			case w.Rank() == 0 && k == calls-1:
				late = heap()
			}
		}
		return errors.Join(v.Close(), w.Close())
	})
	if err := errors.Join(err, net.Check()); err != nil {
		t.Error(err)
	}
	if late > early+2<<20 {
		t.Errorf("heap of %d bytes after 200 calls, %d after %d", early, late, calls)
	}
}

// Ten million items that do nothing, in one call: the heap holds items, results
// and no more.
func TestTenMillionItems(t *testing.T) {
	n := 1_000_000
	if os.Getenv("HATAORI_BIG") != "" {
		n = 10_000_000
	} else if testing.Short() {
		n = 100_000
	}
	onRanks(t, 2, mpitest.Options{}, func(w *World) error {
		var items []int32
		var before, after uint64
		if w.Rank() == 0 {
			before = heap()
			items = make([]int32, n)
		}
		got, err := PmapLanes(context.Background(), w, lanes.New(1), Options{}, items, func(context.Context, lanes.Lane, int32) (int32, error) { return 1, nil })
		if err != nil || w.Rank() != 0 {
			return err
		}
		for i, v := range got {
			if v != 1 {
				return fmt.Errorf("result %d is %d", i, v)
			}
		}
		after = heap()
		if limit := before + uint64(8*n) + 16<<20; after > limit {
			return fmt.Errorf("heap of %d bytes before and %d after, items and results are %d", before, after, 8*n)
		}
		runtime.KeepAlive(items)
		return nil
	})
}

// A library says nothing by itself, and tells a logger what it is asked to.
func TestSilence(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	calls := func(o Options) error {
		var all error
		onRanks(t, 2, mpitest.Options{}, func(w *World) error {
			_, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 0, 9), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
				if x == 4 {
					return 0, errSpecial
				}
				return x, nil
			})
			mu.Lock()
			all = errors.Join(all, err)
			mu.Unlock()
			o := o
			o.Batch = -1
			_, err = PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 0, 9), same)
			if !errors.Is(err, ErrOptions) {
				return err
			}
			return nil
		})
		return all
	}
	out, errOut := os.Stdout, os.Stderr
	r, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	old := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	os.Stdout, os.Stderr = pipe, pipe
	err = calls(Options{})
	os.Stdout, os.Stderr = out, errOut
	slog.SetDefault(old)
	if err := errors.Join(pipe.Close()); err != nil {
		t.Fatal(err)
	}
	said, readErr := io.ReadAll(r)
	if readErr != nil || err == nil || len(said)+log.Len() > 0 {
		t.Errorf("%v %v; printed %q, logged %q", readErr, err, said, &log)
	}
	locked := slog.NewTextHandler(&lockedWriter{w: &log}, nil)
	if err := calls(Options{Logger: slog.New(locked)}); err == nil {
		t.Error("no error")
	}
	for _, want := range []string{"ended early", "refused", "item 4", "rank=0", "rank=1", "call=1"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, &log)
		}
	}
}

type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
