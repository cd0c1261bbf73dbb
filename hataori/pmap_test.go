package hataori

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// onRanks runs body on a world per rank, and checks that nothing is left behind.
func onRanks(t *testing.T, n int, o mpitest.Options, body func(w *World) error) {
	t.Helper()
	net := mpitest.New(n, o)
	err := net.Run(func(c transport.Comm) error {
		w, err := NewWorld(c)
		if err != nil {
			return err
		}
		if err := body(w); err != nil {
			return err
		}
		return w.Close()
	})
	if err := errors.Join(err, net.Check()); err != nil {
		t.Error(err)
	}
}

// count is 0, 1, …, n−1 on the root and nil elsewhere.
func count(w *World, root, n int) []int {
	if w.Rank() != root {
		return nil
	}
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

func TestSquares(t *testing.T) {
	for _, ranks := range []int{1, 2, 3, 5} {
		for _, k := range []int{1, 2, 3} {
			for _, batch := range []int{0, 1, 2, 7, 100} {
				for _, n := range []int{0, 1, 5, 100} {
					t.Run(fmt.Sprintf("ranks=%d,lanes=%d,batch=%d,items=%d", ranks, k, batch, n), func(t *testing.T) {
						onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
							for root := range ranks {
								items := count(w, root, n)
								got, err := PmapLanes(context.Background(), w, lanes.New(k), Options{Root: root, Batch: batch}, items,
									func(_ context.Context, _ lanes.Lane, x int) (float64, error) { return float64(x) * float64(x), nil })
								if err != nil {
									return err
								}
								if len(got) != len(items) {
									return fmt.Errorf("%d results", len(got))
								}
								for i, y := range got {
									if y != float64(i)*float64(i) {
										return fmt.Errorf("item %d: %v", i, y)
									}
								}
							}
							return nil
						})
					})
				}
			}
		}
	}
}
