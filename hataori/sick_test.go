package hataori

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// A lane that was woken for an item and turns out sick must not leave its
// sibling asleep.
func TestSickLaneWakesAnother(t *testing.T) {
	for range 20 {
		onRanks(t, 2, mpitest.Options{}, func(w *World) error {
			ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // for liveness only
			defer cancel()
			var ex lanes.Executor[int]
			if w.Rank() == 1 {
				var asked [2]atomic.Int32
				var sick atomic.Int32
				ex = lanes.Of([]int{0, 1}, lanes.Options[int]{Healthy: func(lane lanes.Lane, _ int) error {
					if asked[lane].Add(1) == 2 && sick.CompareAndSwap(0, int32(lane)+1) || sick.Load() == int32(lane)+1 {
						return errors.New("sick")
					}
					return nil
				}})
			}
			_, err := PmapLanes(ctx, w, ex, Options{Batch: 1, Depth: 1}, count(w, 0, 5),
				func(_ context.Context, _ int, x int) (int, error) { return x, nil })
			return err
		})
		if t.Failed() {
			return
		}
	}
}
