package hataori

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

func TestCostOrder(t *testing.T) {
	for _, c := range []struct {
		costs []float64
		want  string
	}{
		{nil, "[]"},
		{[]float64{3, 3, 1}, "[]"}, // as it is
		{[]float64{1, 3, 2, 3}, "[1 3 2 0]"},
		{[]float64{0, math.Inf(1), -1}, "[1 0 2]"},
	} {
		o, err := costOrder(func(i int) float64 { return c.costs[i] }, len(c.costs))
		if err != nil || fmt.Sprint(o) != c.want {
			t.Errorf("%v: %v %v, want %s", c.costs, o, err, c.want)
		}
	}
}

// Whatever the hint says, results are in the order of the items, and one lane
// begins them by falling cost.
func TestCost(t *testing.T) {
	const n = 60
	cost := func(i int) float64 { return float64(i * 37 % n) } // a permutation
	for _, ranks := range []int{1, 2, 4} {
		for _, group := range []int{0, 2} {
			for _, collect := range []bool{false, true} {
				for _, batch := range []int{0, 1, 7} {
					onRanks(t, ranks, mpitest.Options{Seed: 6}, func(w *World) error {
						var mu sync.Mutex
						var begun []int
						var st Stats
						o := Options{Root: ranks - 1, Batch: batch, Group: group, Collect: collect, Stats: &st}
						if w.Rank() == o.Root {
							o.Cost = cost // the others need not know
						}
						items := make([]string, n)
						for i := range items {
							items[i] = strings.Repeat("x", i)
						}
						if w.Rank() != o.Root {
							items = nil
						}
						got, err := PmapLanes(context.Background(), w, lanes.New(1), o, items, func(_ context.Context, _ lanes.Lane, s string) (int, error) {
							mu.Lock()
							begun = append(begun, len(s))
							mu.Unlock()
							return len(s), nil
						})
						if err != nil || w.Rank() != o.Root {
							return err
						}
						for i, v := range got {
							if v != i {
								return fmt.Errorf("result %d is %d", i, v)
							}
						}
						if ranks == 1 && !slices.IsSortedFunc(begun, func(a, b int) int { return int(cost(b) - cost(a)) }) {
							return fmt.Errorf("begun in order %v", begun)
						}
						if st.Items != n {
							return fmt.Errorf("%d items counted", st.Items)
						}
						return nil
					})
				}
			}
		}
	}
}

// The lowest index decides, though it is handed out last; nothing below it is
// missing, and what is above is not begun once it is known.
func TestCostLowestFailure(t *testing.T) {
	const n = 40
	for _, ranks := range []int{1, 3, 5} {
		for _, group := range []int{0, 2} {
			for _, batch := range []int{1, 2, 7, n} {
				var a agreement
				var ran [n]atomic.Int32
				onRanks(t, ranks, mpitest.Options{Seed: 8}, func(w *World) error {
					o := Options{Batch: batch, Group: group, Cost: func(i int) float64 { return float64(i) }}
					_, err := PmapLanes(context.Background(), w, lanes.New(2), o, count(w, 0, n), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
						ran[x].Add(1)
						switch x {
						case 5:
							time.Sleep(time.Millisecond)
							return 0, errors.New("lowest")
						case 11, 30, 39:
							return 0, errors.New("higher")
						}
						return x, nil
					})
					a.add(w.Rank(), err)
					return again(w)
				})
				var item *ItemError
				if err := a.check(t, ranks); !errors.As(err, &item) || item.Index != 5 || item.Message != "lowest" {
					t.Fatalf("ranks %d, group %d, batch %d: %v", ranks, group, batch, err)
				}
				for i := range ran {
					if k := ran[i].Load(); k > 1 || i <= 5 && k != 1 {
						t.Errorf("item %d evaluated %d times", i, k)
					}
				}
			}
		}
	}
}

// 20 items of a second and one of ten at the end of the list, on two lanes: with
// the hint the long one begins first, and all is over after 15 s instead of 20.
func TestCostEndsEarlier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onRanks(t, 2, mpitest.Options{}, func(w *World) error {
			w.pause = func(time.Duration) { time.Sleep(time.Millisecond) }
			took := func(i int) time.Duration {
				if i == 20 {
					return 10 * time.Second
				}
				return time.Second
			}
			start := time.Now()
			o := Options{Cost: func(i int) float64 { return took(i).Seconds() }}
			_, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 0, 21), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
				time.Sleep(took(x))
				return x, nil
			})
			if d := time.Since(start); err == nil && d > 15500*time.Millisecond {
				return fmt.Errorf("took %v", d)
			}
			return err
		})
	})
}

func TestBadCost(t *testing.T) {
	for name, c := range map[string]struct {
		cost func(int) float64
		text string
	}{
		"NaN":   {func(i int) float64 { return math.Sqrt(float64(3 - i)) }, "NaN for item 4"},
		"panic": {func(i int) float64 { return []float64{1, 2}[i] }, "did not return for item 2: panic: "},
	} {
		for _, ranks := range []int{1, 3} {
			var slice, stream agreement
			var ran atomic.Int32
			onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
				f := func(_ context.Context, _ lanes.Lane, x int) (int, error) { ran.Add(1); return x, nil }
				_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{Cost: c.cost}, count(w, 0, 9), f)
				slice.add(w.Rank(), err)
				stream.add(w.Rank(), pmapStream(context.Background(), w, Options{Cost: c.cost}, numbers(3), &book{}, f))
				return again(w)
			})
			if err := slice.check(t, ranks, ErrOptions); !strings.Contains(err.Error(), c.text) || ran.Load() > 0 {
				t.Errorf("%s: %v, %d items ran", name, err, ran.Load())
			}
			stream.check(t, ranks, ErrOptions)
		}
	}
}

// An item fails and the last lane gets sick, while items of lower index are left:
// nobody can say that none of them would have failed.
func TestCostFailureBeforeTheLanesAreSick(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var a agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			var ex lanes.Executor[int]
			if w.Rank() == ranks-1 {
				asked := 0
				ex = lanes.Of([]int{0}, lanes.Options[int]{Healthy: func(lanes.Lane, int) error {
					if asked++; asked > 3 {
						return errSpecial
					}
					return nil
				}})
			}
			_, err := PmapLanes(context.Background(), w, ex, Options{Cost: func(i int) float64 { return float64(i) }}, count(w, 0, 10),
				func(_ context.Context, _ int, x int) (int, error) {
					if x == 9 {
						return 0, errors.New("first of all")
					}
					return x, nil
				})
			a.add(w.Rank(), err)
			return again(w)
		})
		a.check(t, ranks, ErrNoHealthyLane)
	}
}
