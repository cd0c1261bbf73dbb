package hataori

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// A source that blocks until its context ends, and a sink that does: the
// context of any rank ends the call, and the time that the sink is left is
// bounded.
func TestStreamsThatBlockAreCancelled(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, what := range []string{"source", "sink", "nothing"} {
			t.Run(fmt.Sprintf("%s,ranks=%d", what, ranks), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var a agreement
					onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
						w.pause = time.Sleep
						ctx := context.Background()
						if w.Rank() == ranks-1 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
							defer cancel()
						}
						b := &book{}
						src := numbers(-1)
						var evaluated atomic.Int64
						switch what {
						case "source":
							i := -1
							src = SourceFunc[int](func(ctx context.Context) (int, error) {
								if i++; i == 9 {
									<-ctx.Done()
									return 0, ctx.Err()
								}
								return i, nil
							})
						case "sink":
							b.before = func(ctx context.Context, i int64) error { <-ctx.Done(); return ctx.Err() }
						}
						start := time.Now()
						a.add(w.Rank(), pmapStream(ctx, w, Options{Window: 50}, src, b, func(_ context.Context, _ lanes.Lane, x int) (int, error) {
							time.Sleep(time.Millisecond)
							evaluated.Add(1)
							return x * x, nil
						}))
						if d := time.Since(start) - 10*time.Second; d < 0 || d > time.Second {
							return fmt.Errorf("returned %v after the deadline", d)
						}
						if w.Rank() == 0 && ranks == 1 && what != "sink" {
							if n := int64(len(b.seen)); n != evaluated.Load() {
								return fmt.Errorf("%d of %d results in the sink", n, evaluated.Load())
							}
						}
						return nil
					})
					var c *CancelError
					if err := a.check(t, ranks, context.Canceled, context.DeadlineExceeded); !errors.As(err, &c) || c.Rank != ranks-1 {
						t.Errorf("%T %v", err, err)
					}
				})
			})
		}
	}
}

// One item takes three seconds, the others a millisecond. Unordered, it delays
// nobody; ordered, it stops the source, which is counted.
func TestStreamWithOneLongItem(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			onRanks(t, 3, mpitest.Options{}, func(w *World) error {
				w.pause = time.Sleep
				start := time.Now()
				var early int
				b := &book{ordered: ordered, before: func(context.Context, int64) error {
					if time.Since(start) < 2*time.Second {
						early++
					}
					return nil
				}}
				var st Stats
				err := pmapStream(context.Background(), w, Options{Ordered: ordered, Window: 32, Stats: &st, Batch: 1}, numbers(1000), b,
					func(_ context.Context, _ lanes.Lane, x int) (int, error) {
						if x == 10 {
							time.Sleep(3 * time.Second)
						}
						time.Sleep(time.Millisecond)
						return x * x, nil
					})
				if err != nil || w.Rank() != 0 {
					return err
				}
				if ordered && (early != 10 || st.Gaps == 0 || st.Stalled < 2*time.Second) {
					return fmt.Errorf("%d results before the long item, %d gaps, stalled %v", early, st.Gaps, st.Stalled)
				}
				if !ordered && (early < 990 || st.Gaps != 0) {
					return fmt.Errorf("%d results before the long item, %d gaps", early, st.Gaps)
				}
				return b.prefix(1000)
			})
		})
	}
}

// What the root holds does not grow with the stream.
func TestStreamMemory(t *testing.T) {
	n := 40_000
	if os.Getenv("HATAORI_BIG") != "" {
		n = 1_000_000
	}
	onRanks(t, 2, mpitest.Options{}, func(w *World) error {
		var heap [2]uint64
		measure := func(k int) {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap[k] = m.HeapAlloc
		}
		var src Source[[]byte]
		var dst Sink[[]byte]
		puts := 0
		if w.Rank() == 0 {
			src = FromSeq(func(yield func([]byte) bool) {
				for i := 0; i < n && yield(make([]byte, 1024)); i++ {
				}
			})
			dst = SinkFunc[[]byte](func(_ context.Context, _ int64, b []byte) error {
				switch puts++; puts {
				case n / 4:
					measure(0)
				case n - n/10:
					measure(1)
				}
				return nil
			})
		}
		err := PmapStream(context.Background(), w, lanes.New(1), Options{Window: 500, Ordered: true}, src, dst,
			func(_ context.Context, _ lanes.Lane, b []byte) ([]byte, error) { return b, nil })
		if err == nil && w.Rank() == 0 && (puts != n || heap[1] > heap[0]+4<<20) {
			return fmt.Errorf("%d results, heap of %d and then %d bytes", puts, heap[0], heap[1])
		}
		return err
	})
}
