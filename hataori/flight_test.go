package hataori

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// At a deadline of two seconds item 3 goes on for eight seconds more, item 1 returns
// at once, and the others have ended. Every rank is told of both, by the same error;
// a third of a second after the deadline the logger is told of item 3, where it is.
func TestCancelNamesItemsInFlight(t *testing.T) {
	for _, c := range []struct {
		ranks, group int
		local        bool
		copies       int
	}{{1, 0, true, 0}, {1, 0, false, 0}, {3, 0, false, 0}, {3, 0, false, 1}, {4, 3, false, 0}} {
		synctest.Test(t, func(t *testing.T) {
			var a agreement
			var mu sync.Mutex
			var log strings.Builder
			at := map[int]string{}
			onRanks(t, c.ranks, mpitest.Options{Seed: 5}, func(w *World) error {
				w.pause = time.Sleep
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				defer cancel()
				f := func(ctx context.Context, lane lanes.Lane, x int) (int, error) {
					mu.Lock()
					at[x] = fmt.Sprintf("item %d (rank %d lane %d) for ", x, w.Rank(), lane)
					mu.Unlock()
					switch x {
					case 3:
						time.Sleep(10 * time.Second)
					case 1:
						<-ctx.Done()
						return 0, ctx.Err()
					}
					return x, nil
				}
				o := Options{Batch: 1, Depth: 1, Group: c.group, Copies: c.copies, Logger: slog.New(slog.NewTextHandler(writer(func(p []byte) {
					mu.Lock()
					defer mu.Unlock()
					if bytes.Contains(p, []byte("of this rank")) {
						log.Write(p)
					}
				}), nil))}
				var err error
				if c.local {
					_, err = MapLanes(ctx, lanes.New(2), count(w, 0, 6), f)
				} else {
					_, err = PmapLanes(ctx, w, lanes.New(2), o, count(w, 0, 6), f)
				}
				a.add(w.Rank(), err)
				return again(w)
			})
			err := a.check(t, c.ranks, context.DeadlineExceeded)
			var e *CancelError
			if !errors.As(err, &e) || e.InFlightCount < 2 || len(e.InFlight) != e.InFlightCount || c.copies == 0 && e.InFlightCount > 2 {
				t.Fatalf("%+v: %+v", c, err)
			}
			near := func(d, want time.Duration) bool {
				return d > want-300*time.Millisecond && d < want+300*time.Millisecond
			}
			late, prompt := e.InFlight[0], e.InFlight[len(e.InFlight)-1]
			if late.Index != 3 || !near(late.Ran, 10*time.Second) || !near(late.Late, 8*time.Second) || prompt.Index != 1 || !near(prompt.Ran, 2*time.Second) || !near(prompt.Late, 0) {
				t.Errorf("%+v: %+v", c, e.InFlight)
			}
			if c.copies > 0 { // which evaluation is told first depends on nanoseconds
				return
			}
			for x, want := range map[int]string{3: at[3] + "10s, the last 8s after the cancellation", 1: at[1] + "2s"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%+v: %q does not tell %q of item %d", c, err, want, x)
				}
			}
			if advice := e.Advice(); !strings.Contains(advice, "when their context ends") || !strings.Contains(advice, "more time") {
				t.Errorf("advice %q", advice)
			}
			want := 1
			if c.local {
				want = 0 // without options
			}
			if n := strings.Count(log.String(), "item 3 on lane "); n != want || strings.Contains(log.String(), "item 1 ") {
				t.Errorf("%+v: the logger is told %q", c, log.String())
			}
		})
	}
}

// What an error tells is bounded, and counts what it leaves out.
func TestCancelTellsFewItems(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := MapLanes(ctx, lanes.New(40), make([]int, 41), func(ctx context.Context, lane lanes.Lane, _ int) (int, error) {
			time.Sleep(time.Duration(2+lane) * time.Second)
			return 0, nil
		})
		var e *CancelError
		if !errors.As(err, &e) || e.InFlightCount != 40 || len(e.InFlight) != 16 || e.InFlight[0].Lane != 39 {
			t.Fatalf("%+v", err)
		}
		if s := err.Error(); strings.Count(s, "item ") != 4 || !strings.Contains(s, "40 items were in flight") || !strings.HasSuffix(s, " and 36 more") {
			t.Error(s)
		}
	})
}

// Short items are not worth a word.
func TestCancelOfShortItems(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := MapLanes(ctx, lanes.New(1), make([]int, 1000), func(ctx context.Context, _ lanes.Lane, _ int) (int, error) {
		cancel()
		return 0, ctx.Err()
	})
	if want := "hataori: call cancelled on rank 0: context canceled"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func FuzzFlights(f *testing.F) {
	f.Add((&flights{}).marshal())
	f.Add((&flights{2, []ItemInFlight{{7, 1, 0, 5, 2}, {1 << 39, 1<<20 - 1, 65535, 1 << 60, 0}}}).marshal())
	f.Add([]byte{17, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		var a, b flights
		if a.unmarshal(data) != nil {
			return
		}
		if len(a.list) > flightsKept || a.count < len(a.list) {
			t.Errorf("%d of %d", len(a.list), a.count)
		}
		if err := b.unmarshal(a.marshal()); err != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%v: %+v and %+v", err, a, b)
		}
	})
}

func FuzzLaneStats(f *testing.F) {
	f.Add(appendLaneStats(nil, []LaneStats{{Rank: 2, Lane: 1, Items: 7, Failed: 2, Cancelled: 1, LongestIndex: -1}, {InFlight: &ItemInFlight{Index: 5, Ran: 9, Late: 3}}}))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseLaneStats(data, 4)
		if err != nil {
			return
		}
		again, err := parseLaneStats(appendLaneStats(nil, all), 4)
		if err != nil || !reflect.DeepEqual(all, again) {
			t.Errorf("%v: %+v and %+v", err, all, again)
		}
		for _, l := range all {
			if l.Rank < 0 || l.Rank > 3 || l.Lane < 0 {
				t.Errorf("%+v", l)
			}
		}
	})
}
