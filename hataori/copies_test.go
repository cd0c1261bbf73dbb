package hataori

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// withCopies makes a call of 12 items in which f gets the number of the evaluation,
// from 1 on.
func withCopies(w *World, o Options, ran *[12]atomic.Int32, f func(ctx context.Context, x, evaluation int) (int, error)) ([]int, error) {
	return PmapLanes(context.Background(), w, lanes.New(1), o, count(w, o.Root, 12), func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
		return f(ctx, x, int(ran[x].Add(1)))
	})
}

// One evaluation of item 7 hangs until it is told to let go. A copy brings the
// result.
func TestCopies(t *testing.T) {
	for _, ranks := range []int{2, 3} {
		for root := range ranks {
			for _, batch := range []int{0, 1, 2} {
				for _, cost := range []func(int) float64{nil, func(i int) float64 { return float64(i) }} {
					var ran [12]atomic.Int32
					var told atomic.Int32
					onRanks(t, ranks, mpitest.Options{Seed: 2}, func(w *World) error {
						var st Stats
						var last Progress
						o := Options{Root: root, Copies: 1, Batch: batch, Cost: cost, Stats: &st, Progress: func(p Progress) { last = p }}
						got, err := withCopies(w, o, &ran, func(ctx context.Context, x, evaluation int) (int, error) {
							if x == 7 && evaluation == 1 {
								<-ctx.Done()
								told.Add(1)
								return 0, ctx.Err()
							}
							return x * x, nil
						})
						if err != nil || w.Rank() != root {
							return err
						}
						for i, v := range got {
							if v != i*i {
								return fmt.Errorf("result %d is %d", i, v)
							}
						}
						if st.Copies < 1 || last.Done != 12 {
							return fmt.Errorf("%d copies, %d done", st.Copies, last.Done)
						}
						return nil
					})
					if told.Load() != 1 || ran[7].Load() != 2 {
						t.Errorf("ranks %d, root %d: item 7 was evaluated %d times, told to let go %d times", ranks, root, ran[7].Load(), told.Load())
					}
					for i := range ran {
						if k := ran[i].Load(); k < 1 || k > 2 {
							t.Errorf("item %d evaluated %d times", i, k)
						}
					}
				}
			}
		}
	}
}

// An item fails only if every evaluation of it does.
func TestCopiesThatFail(t *testing.T) {
	for _, ranks := range []int{2, 3} {
		for root := range ranks {
			for _, both := range []bool{false, true} {
				for _, early := range []int{1, 2} { // which evaluation fails first
					var a agreement
					var ran [12]atomic.Int32
					begun, failed := make(chan struct{}), make(chan struct{})
					onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
						_, err := withCopies(w, Options{Root: root, Copies: 1, Batch: 1, ErrorCodec: Sentinels(errSpecial)}, &ran, func(ctx context.Context, x, evaluation int) (int, error) {
							if x != 7 {
								return x, nil
							}
							if evaluation == 2 {
								close(begun)
							}
							<-begun
							if evaluation == early {
								close(failed)
								return 0, errSpecial
							}
							<-failed
							time.Sleep(2 * time.Millisecond) // the other rank reports before
							if both {
								return 0, errSpecial
							}
							return x, nil
						})
						if !both {
							return err
						}
						a.add(w.Rank(), err)
						return again(w)
					})
					if both {
						var item *ItemError
						if err := a.check(t, ranks, errSpecial); !errors.As(err, &item) || item.Index != 7 {
							t.Error(err)
						}
					}
				}
			}
		}
	}
}

func TestCopiesDiffer(t *testing.T) {
	for _, ranks := range []int{2, 3} {
		var a agreement
		var ran [12]atomic.Int32
		second := make(chan struct{})
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			_, err := withCopies(w, Options{Copies: 1, Batch: 1}, &ran, func(_ context.Context, x, evaluation int) (int, error) {
				if x == 7 && evaluation == 1 {
					<-second // and does not look at its context
				} else if x == 7 {
					close(second)
				}
				if x == 7 {
					return 70 + evaluation, nil
				}
				return x, nil
			})
			a.add(w.Rank(), err)
			return again(w)
		})
		var item *ItemError
		if err := a.check(t, ranks, ErrCopiesDiffer); !errors.As(err, &item) || item.Index != 7 || item.Kind != KindDiffer || !strings.Contains(item.Message, "ranks ") {
			t.Error(err)
		}
	}
}

// The lowest failing index decides as ever.
func TestCopiesLowestFailure(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		for _, batch := range []int{0, 1, 7} {
			var a agreement
			var ran [12]atomic.Int32
			onRanks(t, ranks, mpitest.Options{Seed: 5}, func(w *World) error {
				_, err := withCopies(w, Options{Copies: 2, Batch: batch}, &ran, func(_ context.Context, x, _ int) (int, error) {
					switch x {
					case 3:
						time.Sleep(3 * time.Millisecond)
						return 0, errors.New("slow")
					case 9:
						return 0, errors.New("fast")
					}
					return x, nil
				})
				a.add(w.Rank(), err)
				return again(w)
			})
			var item *ItemError
			if err := a.check(t, ranks); !errors.As(err, &item) || item.Index != 3 {
				t.Error(err)
			}
		}
	}
}

func TestCopiesAreRefused(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var collect, group, stream agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{Copies: 1, Collect: true}, count(w, 0, 3), same)
			collect.add(w.Rank(), err)
			_, err = PmapLanes(context.Background(), w, lanes.New(1), Options{Copies: 1, Group: 2}, count(w, 0, 3), same)
			group.add(w.Rank(), err)
			stream.add(w.Rank(), pmapStream(context.Background(), w, Options{Copies: 1}, numbers(3), &book{}, square))
			return again(w)
		})
		collect.check(t, ranks, ErrOptions)
		group.check(t, ranks, ErrOptions)
		stream.check(t, ranks, ErrOptions)
	}
}
