package hataori

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

func double(_ context.Context, _ lanes.Lane, x int64) (int64, error) { return 2 * x, nil }

// BenchmarkHandOut hands null items to two lanes inside one process. The rivals
// are the least that keeps the order, an atomic counter, and the usual, a
// channel.
func BenchmarkHandOut(b *testing.B) {
	const n, k = 1 << 20, 2
	items := make([]int64, n)
	perItem := func(b *testing.B) { b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item") }
	b.Run("MapLanes", func(b *testing.B) {
		b.ReportAllocs()
		ex := lanes.New(k)
		for b.Loop() {
			if _, err := MapLanes(context.Background(), ex, items, double); err != nil {
				b.Fatal(err)
			}
		}
		perItem(b)
	})
	b.Run("atomic", func(b *testing.B) {
		for b.Loop() {
			results := make([]int64, n)
			var next atomic.Int64
			var wg sync.WaitGroup
			for range k {
				wg.Go(func() {
					for i := next.Add(1) - 1; i < n; i = next.Add(1) - 1 {
						results[i], _ = double(context.Background(), 0, items[i])
					}
				})
			}
			wg.Wait()
		}
		perItem(b)
	})
	b.Run("channel", func(b *testing.B) {
		for b.Loop() {
			results := make([]int64, n)
			next := make(chan int, 64)
			var wg sync.WaitGroup
			for range k {
				wg.Go(func() {
					for i := range next {
						results[i], _ = double(context.Background(), 0, items[i])
					}
				})
			}
			for i := range n {
				next <- i
			}
			close(next)
			wg.Wait()
		}
		perItem(b)
	})
}

// BenchmarkPmap sends null items to another rank in memory.
func BenchmarkPmap(b *testing.B) {
	const n = 1 << 16
	for _, batch := range []int{0, 1, 64} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			net := mpitest.New(2, mpitest.Options{})
			b.ReportAllocs()
			err := net.Run(func(c transport.Comm) error {
				w, err := NewWorld(c)
				if err != nil {
					return err
				}
				call := func() error {
					var items []int64
					var ex lanes.Executor[lanes.Lane] = lanes.New(1)
					if w.Rank() == 0 {
						items, ex = make([]int64, n), nil
					}
					_, err := PmapLanes(context.Background(), w, ex, Options{Batch: batch}, items, double)
					return err
				}
				if w.Rank() == 0 {
					for b.Loop() {
						if err := w.Agree(context.Background(), nil); err != nil {
							return err
						}
						if err := call(); err != nil {
							return err
						}
					}
					_ = w.Agree(context.Background(), context.Canceled) // ends the other rank's loop, and is what it returns
					return w.Close()
				}
				for w.Agree(context.Background(), nil) == nil {
					if err := call(); err != nil {
						return err
					}
				}
				return w.Close()
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
		})
	}
}
