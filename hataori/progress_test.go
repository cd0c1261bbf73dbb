package hataori

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// 240 items of a second on as many lanes as there are ranks, one of 30 s at the
// end of the list, every fourth fails. What is told is compared with that.
func TestProgressAndStats(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		synctest.Test(t, func(t *testing.T) {
			var told []Progress
			onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
				w.pause = func(time.Duration) { time.Sleep(5 * time.Millisecond) }
				var st Stats
				o := Options{Collect: true, Stats: &st, ProgressEvery: 10 * time.Second,
					Progress: func(p Progress) { told = append(told, p) }}
				_, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 0, 241), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
					time.Sleep(time.Second)
					if x == 240 {
						time.Sleep(29 * time.Second)
					}
					if x%4 == 0 {
						return 0, errSpecial
					}
					return x, nil
				})
				if e := new(*ItemErrors); !errors.As(err, e) {
					return fmt.Errorf("got %v", err)
				}
				if w.Rank() > 0 {
					return nil
				}
				if i, d := st.Longest(); i != 240 || d != 30*time.Second {
					return fmt.Errorf("longest: item %d, %v", i, d)
				}
				var busy, wait time.Duration
				for _, l := range st.Lanes {
					busy, wait = busy+l.Busy, wait+l.Wait
				}
				if busy != 270*time.Second {
					return fmt.Errorf("lanes were busy for %v", busy)
				}
				// The wait after a lane's last item is not counted.
				if wait > 10*time.Second || ranks == 3 && wait == 0 {
					return fmt.Errorf("lanes waited for %v", wait)
				}
				if f := st.Imbalance(); ranks == 1 && f != 1 || ranks == 3 && (f < 1.1 || f > 1.4) {
					return fmt.Errorf("imbalance %v", f)
				}
				return nil
			})
			last := Progress{Elapsed: -1}
			for k, p := range told {
				if p.Done < last.Done || p.Elapsed < last.Elapsed || p.Total != 241 || p.Failed > (p.Done+3)/4+int64(ranks) {
					t.Errorf("after %+v: %+v", last, p)
				}
				if k == 3 && (math.Abs(p.Rate-float64(ranks)) > 0.5 || math.Abs(p.Remaining.Seconds()-201/float64(ranks)) > 20 && ranks == 1) {
					t.Errorf("%+v", p)
				}
				last = p
			}
			if len(told) < 9 || last.Done != 241 || last.Failed != 61 || last.Remaining != 0 {
				t.Errorf("%d reports, the last: %+v", len(told), last)
			}
		})
	}
}

func TestProgressOfStreamAndPanic(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var last Progress
		calls := 0
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			o := Options{Progress: func(p Progress) { last = p }}
			err := pmapStream(context.Background(), w, o, numbers(100), &book{}, square)
			if err != nil {
				return err
			}
			o.Progress = func(Progress) { calls++; panic("ouch") }
			_, err = PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 0, 10), same)
			var re *RankError
			if !errors.As(err, &re) || !errors.Is(err, ErrCallback) || re.Rank != 0 || re.Message != "Options.Progress did not return: panic: ouch" ||
				!strings.Contains(re.Trace(), "progress_test.go") {
				t.Errorf("rank %d: %v", w.Rank(), err)
			}
			return nil
		})
		if last.Done != 100 || last.Total != -1 || last.Remaining != -1 || calls != 1 {
			t.Errorf("%+v, %d calls that panicked", last, calls)
		}
	}
}
