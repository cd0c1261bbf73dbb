package hataori

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// An error of the caller's own is found behind an item's on every rank that names
// it to Sentinels. Without, its text alone crosses, also back to where it arose.
func TestErrorsOfTheCaller(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		for _, codec := range []ErrorCodec{nil, Sentinels(errSpecial)} {
			onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
				_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{ErrorCodec: codec}, count(w, 0, 5),
					func(context.Context, lanes.Lane, int) (int, error) {
						return 0, fmt.Errorf("factorising: %w", errSpecial)
					})
				var item *ItemError
				if !errors.As(err, &item) || item.Message != "factorising: special" {
					return fmt.Errorf("got %v", err)
				}
				if got := errors.Is(err, errSpecial); got != (codec != nil) {
					t.Errorf("rank %d of %d, codec %v: found: %v", w.Rank(), ranks, codec, got)
				}
				return again(w)
			})
		}
	}
}
