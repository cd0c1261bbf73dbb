package hataori

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// pmapSeq passes a source on the root only.
func pmapSeq(ctx context.Context, w *World, o Options, src Source[int], f ctxLane, body func(int64, Outcome[int]) bool) (err error) {
	if w.Rank() != o.Root {
		src = nil
	}
	results, end := PmapSeq(ctx, w, lanes.New(2), o, src, f)
	if end() == nil {
		return errors.New("end before the loop")
	}
	for i, r := range results {
		if w.Rank() != o.Root {
			return fmt.Errorf("the body runs on rank %d", w.Rank())
		}
		if !body(i, r) {
			break
		}
	}
	return end()
}

// Every seventh item fails; the others have their values.
func TestSeq(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		for _, ordered := range []bool{false, true} {
			for _, n := range []int{0, 1, 100} {
				onRanks(t, ranks, mpitest.Options{Seed: 3}, func(w *World) error {
					for root := range ranks {
						got := map[int64]bool{}
						last := int64(-1)
						o := Options{Root: root, Ordered: ordered, Window: 9, ErrorCodec: Sentinels(errSpecial)}
						err := pmapSeq(context.Background(), w, o, numbers(n), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
							if x%7 == 3 {
								return 0, fmt.Errorf("item %d: %w", x, errSpecial)
							}
							return x * x, nil
						}, func(i int64, r Outcome[int]) bool {
							var e *ItemError
							fails := i%7 == 3
							switch {
							case got[i] || ordered && i != last+1:
								t.Errorf("%d after %d", i, last)
							case !fails && (r.Err != nil || int64(r.Value) != i*i):
								t.Errorf("item %d: %+v", i, r)
							case fails && (!errors.As(r.Err, &e) || int64(e.Index) != i || !errors.Is(r.Err, errSpecial)):
								t.Errorf("item %d: %+v", i, r)
							case fails && (e.Local() != nil) != (e.Rank == root):
								t.Errorf("item %d of rank %d has the original: %v", i, e.Rank, e.Local() != nil)
							}
							got[i], last = true, i
							return true
						})
						if err != nil {
							return err
						}
						if w.Rank() == root && len(got) != n {
							t.Errorf("%d of %d results", len(got), n)
						}
					}
					return nil
				})
			}
		}
	}
}

// Items without end that wait for their context: leaving the loop ends them on
// every rank, however it is left.
func TestSeqIsLeft(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, how := range []string{"break", "panic", "goexit"} {
			t.Run(fmt.Sprintf("%s,ranks=%d", how, ranks), func(t *testing.T) {
				var begun, ended atomic.Int64
				onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
					const root = 0
					var err error
					var raised any
					done := make(chan struct{})
					go func() {
						defer close(done)
						defer func() { raised = recover() }()
						err = errors.New("did not return")
						seen := 0
						err = pmapSeq(context.Background(), w, Options{Root: root, Window: 50}, numbers(-1), func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
							if x < 5 {
								return x, nil
							}
							begun.Add(1)
							<-ctx.Done()
							ended.Add(1)
							return 0, ctx.Err()
						}, func(int64, Outcome[int]) bool {
							if seen++; seen < 5 {
								return true
							}
							switch how {
							case "panic":
								panic("ouch")
							case "goexit":
								runtime.Goexit()
							}
							return false
						})
					}()
					<-done
					switch {
					case how == "break" && err != nil:
						return err
					case how == "panic" && w.Rank() == root && raised != "ouch":
						return fmt.Errorf("raised %v", raised)
					case how != "break" && w.Rank() != root && !errors.Is(err, ErrSink):
						return fmt.Errorf("got %v", err)
					}
					return again(w)
				})
				if begun.Load() != ended.Load() {
					t.Errorf("%d of %d items ended", ended.Load(), begun.Load())
				}
			})
		}
	}
}

func TestSeqEndsByContextOrRefusal(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var cancelled, source, refused, thread agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			cancelled.add(w.Rank(), pmapSeq(ctx, w, Options{}, numbers(-1), func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
				if w.Rank() == ranks-1 {
					cancel()
				}
				return x, nil
			}, func(int64, Outcome[int]) bool { return true }))
			source.add(w.Rank(), pmapSeq(context.Background(), w, Options{}, SourceFunc[int](func(context.Context) (int, error) { return 0, errSpecial }), square,
				func(int64, Outcome[int]) bool { return true }))
			refused.add(w.Rank(), pmapSeq(context.Background(), w, Options{}, nil, square, func(int64, Outcome[int]) bool { return true }))
			return again(w)
		})
		onRanks(t, ranks, mpitest.Options{Funneled: true}, func(w *World) error {
			thread.add(w.Rank(), pmapSeq(context.Background(), w, Options{}, numbers(3), square, func(int64, Outcome[int]) bool { return true }))
			return nil
		})
		cancelled.check(t, ranks, context.Canceled)
		source.check(t, ranks, ErrSource)
		refused.check(t, ranks, ErrNilFunc)
		thread.check(t, ranks, errors.ErrUnsupported)
	}
}

func TestSeqIsForOneLoop(t *testing.T) {
	onRanks(t, 1, mpitest.Options{}, func(w *World) error {
		results, _ := PmapSeq(context.Background(), w, lanes.New(1), Options{}, numbers(3), square)
		for range results {
		}
		defer func() {
			if recover() == nil {
				t.Error("a second loop")
			}
		}()
		for range results {
		}
		return nil
	})
}
