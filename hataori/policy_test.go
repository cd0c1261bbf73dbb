package hataori

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// Every third item fails k times before it succeeds; item 50 always.
func TestRetries(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, c := range []struct {
			retries, fails int
			mark           func(error) error
			lowest         int // that fails, −1: none
			again          int // evaluations beyond the first
		}{
			{3, 2, Retryable, -1, 2 * 33},
			{2, 2, Retryable, -1, 2 * 33},
			{1, 2, Retryable, 0, -1},
			{0, 1, Retryable, 0, 0},
			{5, 1, func(err error) error { return err }, 0, 0},
			{5, 1, func(err error) error { return fmt.Errorf("wrapped: %w", Retryable(err)) }, -1, 33},
		} {
			var tried [100]atomic.Int32
			var a agreement
			onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
				var st Stats
				got, err := PmapLanes(context.Background(), w, lanes.New(2), Options{Retries: c.retries, Stats: &st}, count(w, 0, 99),
					func(_ context.Context, _ lanes.Lane, x int) (int, error) {
						if n := tried[x].Add(1); x%3 == 0 && int(n) <= c.fails {
							return 0, c.mark(errSpecial)
						}
						return x, nil
					})
				if c.lowest >= 0 {
					a.add(w.Rank(), err)
					return again(w)
				}
				if err != nil || w.Rank() > 0 {
					return err
				}
				sum := 0
				for _, l := range st.Lanes {
					sum += l.Retries
				}
				if len(got) != 99 || st.Items != 99 || sum != c.again {
					return fmt.Errorf("%d results, %d items, %d retries, want %d", len(got), st.Items, sum, c.again)
				}
				return nil
			})
			if c.lowest < 0 {
				continue
			}
			var item *ItemError
			if err := a.check(t, ranks); !errors.As(err, &item) || item.Index != c.lowest || item.Message != "special" {
				t.Errorf("%+v: %v", c, err)
			}
			if n := tried[c.lowest].Load(); c.again == 0 && n != 1 || c.again < 0 && int(n) != 1+c.retries {
				t.Errorf("%+v: item %d evaluated %d times", c, c.lowest, n)
			}
		}
	}
}

// The end of the call ends retries too.
func TestRetriesEndWithTheCall(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		ctx, cancel := context.WithCancel(context.Background())
		var n atomic.Int32
		var a agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			_, err := PmapLanes(ctx, w, lanes.New(1), Options{Retries: 1 << 40}, count(w, 0, 4),
				func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
					if n.Add(1) == 1000 {
						cancel()
					}
					return 0, Retryable(errors.Join(errSpecial, ctx.Err()))
				})
			a.add(w.Rank(), err)
			return nil
		})
		a.check(t, ranks, context.Canceled)
	}
}

func TestItemTimeout(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, ignores := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var a agreement
				var mu sync.Mutex
				var log strings.Builder
				overdue := 0
				onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
					w.pause = time.Sleep
					var st Stats
					logger := slog.New(slog.NewTextHandler(writer(func(p []byte) {
						mu.Lock()
						defer mu.Unlock()
						log.Write(p)
					}), nil))
					o := Options{ItemTimeout: 2 * time.Second, Stats: &st, Logger: logger}
					got, err := PmapLanes(context.Background(), w, lanes.New(2), o, count(w, 0, 20), func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
						if x%10 != 7 {
							time.Sleep(time.Second)
							return x, ctx.Err()
						}
						if ignores {
							time.Sleep(5 * time.Second)
							return x, nil
						}
						<-ctx.Done()
						return 0, ctx.Err()
					})
					if ignores {
						if err == nil && w.Rank() == 0 && got[7] != 7 {
							err = fmt.Errorf("results %v", got)
						}
						for _, l := range st.Lanes {
							if w.Rank() == 0 {
								overdue += l.Overdue
							}
						}
						return err
					}
					a.add(w.Rank(), err)
					return nil
				})
				if ignores {
					if overdue != 2 || strings.Count(log.String(), "item=7 ") != 1 || strings.Count(log.String(), "item=17 ") != 1 {
						t.Errorf("%d overdue; log: %s", overdue, log.String())
					}
					return
				}
				var item *ItemError
				if err := a.check(t, ranks, ErrItemTimeout, context.DeadlineExceeded); !errors.As(err, &item) || item.Index != 7 {
					t.Errorf("%T %v", err, err)
				}
			})
		}
	}
}
