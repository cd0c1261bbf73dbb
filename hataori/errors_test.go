package hataori

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

type ctxLane = func(ctx context.Context, lane lanes.Lane, x int) (int, error)

func same(_ context.Context, _ lanes.Lane, x int) (int, error) { return x, nil }

// agreement collects what the ranks of a call got and compares it.
type agreement struct {
	mu   sync.Mutex
	errs map[int]error
}

func (a *agreement) add(rank int, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.errs == nil {
		a.errs = map[int]error{}
	}
	a.errs[rank] = err
}

// check fails unless all ranks got an error with the same text, that is all of
// targets, and returns it.
func (a *agreement) check(t *testing.T, ranks int, targets ...error) error {
	t.Helper()
	if len(a.errs) != ranks {
		t.Fatalf("%d of %d ranks returned", len(a.errs), ranks)
	}
	for r, err := range a.errs {
		if err == nil {
			t.Fatalf("rank %d got no error", r)
		}
		if err.Error() != a.errs[0].Error() {
			t.Errorf("rank %d got %q, rank 0 %q", r, err, a.errs[0])
		}
		for _, target := range targets {
			if !errors.Is(err, target) {
				t.Errorf("rank %d: %v is not %v", r, err, target)
			}
		}
	}
	return a.errs[0]
}

// again makes a good call on the world.
func again(w *World) error {
	got, err := PmapLanes(context.Background(), w, lanes.New(2), Options{}, count(w, 0, 20), same)
	if err == nil && w.Rank() == 0 && len(got) != 20 {
		err = fmt.Errorf("%d results", len(got))
	}
	if err != nil {
		err = fmt.Errorf("the next call on the world: %w", err)
	}
	return err
}

var errSpecial = errors.New("special")

type strange struct{ X int }

func (s *strange) Error() string { return fmt.Sprint("strange ", s.X) }

// strangeCodec carries *strange.
type strangeCodec struct{}

func (strangeCodec) EncodeError(err error) []byte {
	var s *strange
	if errors.As(err, &s) {
		return fmt.Append(nil, s.X)
	}
	return nil
}

func (strangeCodec) DecodeError(data []byte) error {
	s := new(strange)
	if _, err := fmt.Sscan(string(data), &s.X); err != nil {
		return nil
	}
	return s
}

func TestItemFailures(t *testing.T) {
	var nilMap map[int]int
	cases := []struct {
		name string
		fail func() error
		kind Kind
		text string
		is   error
	}{
		{"error", func() error { return errors.New("boom") }, KindError, "boom", nil},
		{"sentinel", func() error { return fmt.Errorf("wrapped: %w", errSpecial) }, KindError, "wrapped: special", errSpecial},
		{"standard", func() error { return fmt.Errorf("reading: %w", io.ErrUnexpectedEOF) }, KindError, "unexpected EOF", io.ErrUnexpectedEOF},
		{"own context", func() error { return context.Canceled }, KindError, "canceled", context.Canceled},
		{"panic string", func() error { panic("ouch") }, KindPanic, "ouch", nil},
		{"panic error", func() error { panic(errSpecial) }, KindPanic, "special", errSpecial},
		{"nil map", func() error { nilMap[1] = 1; return nil }, KindPanic, "assignment to entry in nil map", nil},
		{"nil panic", func() error { panic(nil) }, KindPanic, "nil", nil},
		{"goexit", func() error { runtime.Goexit(); return nil }, KindGoexit, "Goexit", ErrGoexit},
	}
	for _, c := range cases {
		for _, ranks := range []int{1, 3} {
			for _, batch := range []int{0, 1, 2, 7, 20} {
				t.Run(fmt.Sprintf("%s,ranks=%d,batch=%d", c.name, ranks, batch), func(t *testing.T) {
					var a agreement
					onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
						o := Options{Batch: batch, ErrorCodec: Sentinels(errors.New("other"), errSpecial)}
						res, err := PmapLanes(context.Background(), w, lanes.New(2), o, count(w, 0, 20),
							func(_ context.Context, _ lanes.Lane, x int) (int, error) {
								if x == 7 || x == 13 {
									return 0, c.fail()
								}
								return x, nil
							})
						if res != nil {
							return errors.New("results beside an error")
						}
						a.add(w.Rank(), err)
						return again(w)
					})
					targets := []error{}
					if c.is != nil {
						targets = append(targets, c.is)
					}
					err := a.check(t, ranks, targets...)
					locals := 0
					for r, err := range a.errs {
						var item *ItemError
						if !errors.As(err, &item) {
							t.Fatalf("rank %d: %T", r, err)
						}
						if item.Index != 7 || item.Kind != c.kind || !strings.Contains(item.Message, c.text) || item.Rank < 0 || item.Rank >= ranks {
							t.Errorf("rank %d: %+v", r, item)
						}
						if c.kind == KindPanic && !strings.Contains(item.Stack, "errors_test.go") {
							t.Errorf("rank %d: stack %q", r, item.Stack)
						}
						if item.Local() != nil {
							locals++
							if item.Rank != r {
								t.Errorf("rank %d offers the original of rank %d", r, item.Rank)
							}
						}
						if errors.Is(err, errSpecial) != (c.is == errSpecial) {
							t.Errorf("rank %d: %v", r, err)
						}
					}
					if wantLocal := c.name != "panic string" && c.name != "nil panic" && c.name != "nil map"; wantLocal && locals != 1 {
						t.Errorf("%d ranks offer the original of %v", locals, err)
					}
				})
			}
		}
	}
}

func TestTypedErrorCrosses(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var a agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{ErrorCodec: strangeCodec{}}, count(w, 0, 9),
				func(_ context.Context, _ lanes.Lane, x int) (int, error) {
					if x >= 4 {
						return 0, fmt.Errorf("at %d: %w", x, &strange{x})
					}
					return x, nil
				})
			a.add(w.Rank(), err)
			return again(w)
		})
		a.check(t, ranks)
		for r, err := range a.errs {
			var s *strange
			if !errors.As(err, &s) || s.X != 4 {
				t.Errorf("rank %d: %v", r, err)
			}
		}
	}
}

// Items 3 (slow) and 9 (fast) both fail, 9 first: it is always 3.
func TestLowestFailureWins(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		for _, batch := range []int{1, 2, 7, 12} {
			for range 50 {
				var a agreement
				failed := make(chan struct{})
				slow, fast := errors.New("slow"), errors.New("fast")
				onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
					_, err := PmapLanes(context.Background(), w, lanes.New(2), Options{Batch: batch, ErrorCodec: Sentinels(fast, slow)}, count(w, 0, 12),
						func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
							switch x {
							case 3:
								select {
								case <-failed:
								case <-time.After(20 * time.Second): // for liveness only
									t.Error("item 9 did not fail before item 3")
								}
								return 0, slow
							case 9:
								close(failed)
								return 0, fast
							}
							return x, nil
						})
					a.add(w.Rank(), err)
					return nil
				})
				err := a.check(t, ranks, slow)
				var item *ItemError
				if !errors.As(err, &item) || item.Index != 3 || item.Message != "slow" {
					t.Fatalf("%v", err)
				}
				for r, err := range a.errs {
					if errors.Is(err, fast) {
						t.Fatalf("rank %d got %v, which is the error of item 9, too", r, err)
					}
				}
			}
		}
	}
}

// A running item above the lowest failure is told by its context.
func TestHigherItemsAreCancelled(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		var a agreement
		var told atomic.Int32
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			var started sync.WaitGroup
			started.Add(1)
			_, err := PmapLanes(context.Background(), w, lanes.New(2), Options{Batch: 1}, count(w, 0, 2),
				func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
					if x == 0 {
						time.Sleep(5 * time.Millisecond)
						return 0, errors.New("low")
					}
					<-ctx.Done()
					told.Add(1)
					return 0, ctx.Err()
				})
			a.add(w.Rank(), err)
			return again(w)
		})
		var item *ItemError
		if err := a.check(t, ranks); !errors.As(err, &item) || item.Index != 0 {
			t.Error(err)
		}
		if told.Load() != 1 {
			t.Errorf("%d items were told", told.Load())
		}
	}
}

func TestFirstSeen(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var a agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			_, err := PmapLanes(context.Background(), w, lanes.New(2), Options{Batch: 1, FirstSeen: true}, count(w, 0, 9),
				func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
					if x == 0 {
						<-ctx.Done() // nobody waits for it to come to a result
						return 0, ctx.Err()
					}
					if x == 5 {
						return 0, errors.New("seen")
					}
					return x, nil
				})
			a.add(w.Rank(), err)
			return again(w)
		})
		var item *ItemError
		if err := a.check(t, ranks); !errors.As(err, &item) || item.Index != 5 {
			t.Error(err)
		}
	}
}

func TestCancelOnAnyRank(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for who := range ranks {
			for _, mode := range []string{"cancel", "deadline", "dead on entry", "cause"} {
				t.Run(fmt.Sprintf("ranks=%d,rank %d,%s", ranks, who, mode), func(t *testing.T) {
					var a agreement
					onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
						ctx, cancel := context.WithCancelCause(context.Background())
						defer cancel(nil)
						if w.Rank() == who {
							switch mode {
							case "dead on entry":
								cancel(nil)
							case "deadline":
								var stop context.CancelFunc
								ctx, stop = context.WithTimeout(ctx, 5*time.Millisecond)
								defer stop()
							case "cause":
								time.AfterFunc(5*time.Millisecond, func() { cancel(errSpecial) })
							default:
								time.AfterFunc(5*time.Millisecond, func() { cancel(nil) })
							}
						}
						_, err := PmapLanes(ctx, w, lanes.New(2), Options{}, count(w, 0, 200),
							func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
								select {
								case <-ctx.Done():
									return 0, ctx.Err()
								case <-time.After(10 * time.Millisecond):
									return x, nil
								}
							})
						a.add(w.Rank(), err)
						return again(w)
					})
					err := a.check(t, ranks, context.Canceled)
					var c *CancelError
					if !errors.As(err, &c) || c.Rank != who {
						t.Fatalf("%T %v", err, err)
					}
					if errors.Is(err, context.DeadlineExceeded) != (mode == "deadline") {
						t.Errorf("%v", err)
					}
					if mode == "cause" && (c.Cause != "special" || !errors.Is(a.errs[who].(*CancelError).Local(), errSpecial)) {
						t.Errorf("cause %q, %v", c.Cause, a.errs[who].(*CancelError).Local())
					}
				})
			}
		}
	}
}

// A cancelled call tells the lowest failure that was seen.
func TestCancelCarriesFailure(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var a agreement
		failing := make(chan struct{})
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, err := PmapLanes(ctx, w, lanes.New(2), Options{Batch: 1}, count(w, 0, 4),
				func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
					if x == 1 {
						close(failing)
						return 0, errSpecial
					}
					if x == 0 {
						<-failing
						time.Sleep(5 * time.Millisecond) // until it has failed
						cancel()
					}
					<-ctx.Done()
					return 0, ctx.Err()
				})
			a.add(w.Rank(), err)
			return again(w)
		})
		err := a.check(t, ranks, context.Canceled)
		var item *ItemError
		if !errors.As(err, &item) || item.Index != 1 {
			t.Errorf("ranks %d: %v", ranks, err)
		}
	}
}

// No item begins after the context of its rank has ended.
func TestNoItemBeginsLate(t *testing.T) {
	for _, ranks := range []int{1, 2} {
		var late atomic.Int64
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, err := PmapLanes(ctx, w, lanes.New(2), Options{}, count(w, 0, 500),
				func(item context.Context, _ lanes.Lane, x int) (int, error) {
					if ctx.Err() != nil {
						late.Add(1)
					}
					if x == 20 {
						cancel()
					}
					if x >= 20 {
						<-item.Done() // so that lanes come for more at once
						return 0, item.Err()
					}
					return x, nil
				})
			if !errors.Is(err, context.Canceled) {
				return fmt.Errorf("got %v", err)
			}
			return again(w)
		})
		if n := late.Load(); n > int64(2*ranks) { // each lane may be about to begin one
			t.Errorf("%d ranks: %d items began after the context had ended", ranks, n)
		}
	}
}
