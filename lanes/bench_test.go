package lanes_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/hataori/hataori-go/lanes"
)

// The price of a run with empty bodies, against the same fan-out by errgroup
// (which keeps no order, recovers no stack of a lane, and knows no coordinator)
// and by a bare WaitGroup.
func BenchmarkRun(b *testing.B) {
	const n = 2
	b.Run("lanes", func(b *testing.B) {
		b.ReportAllocs()
		ex := lanes.New(n)
		body := func(*lanes.Control, lanes.Lane, lanes.Lane) error { return nil }
		for b.Loop() {
			if err := ex.Run(body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("errgroup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			g, _ := errgroup.WithContext(b.Context())
			for range n {
				g.Go(func() error { return nil })
			}
			if err := g.Wait(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("waitgroup", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			var wg sync.WaitGroup
			for range n {
				wg.Go(func() {})
			}
			wg.Wait()
		}
	})
}

// Handing out indices to two lanes, wall time per index.
func BenchmarkHandOut(b *testing.B) {
	const items = 1 << 16
	body := func(next *atomic.Int64) lanes.Body[lanes.Lane] {
		return func(ctl *lanes.Control, _, _ lanes.Lane) error {
			for next.Add(1) <= items {
				select {
				case <-ctl.Done():
					return ctl.Cause()
				default:
				}
			}
			return nil
		}
	}
	ex := lanes.New(2)
	for b.Loop() {
		var next atomic.Int64
		if err := ex.Run(body(&next)); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/items, "ns/item")
}
