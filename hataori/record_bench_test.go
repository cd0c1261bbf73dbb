package hataori

import (
	"context"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/trace"
	"github.com/hataori/hataori-go/transport"
)

// BenchmarkTrace hands out items that do nothing, the dearest ones to record,
// without and with a recording.
func BenchmarkTrace(b *testing.B) {
	for _, on := range []bool{false, true} {
		b.Run(map[bool]string{false: "off", true: "on"}[on], func(b *testing.B) {
			items := make([]int, 1_000_000)
			err := mpitest.New(1, mpitest.Options{}).Run(func(c transport.Comm) error {
				w, err := NewWorld(c)
				if err != nil {
					return err
				}
				ex := lanes.New(2)
				for b.Loop() {
					var o Options
					if on {
						o.Trace = &trace.Recording{}
					}
					if _, err := PmapLanes(context.Background(), w, ex, o, items, same); err != nil {
						return err
					}
				}
				return w.Close()
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(items)), "ns/item")
		})
	}
}
