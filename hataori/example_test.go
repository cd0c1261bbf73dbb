package hataori_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

func ExampleMap() {
	lengths, err := hataori.Map([]string{"warp", "weft"}, func(s string) (int, error) { return len(s), nil })
	fmt.Println(lengths, err)
	// Output: [4 4] <nil>
}

// Each lane has scratch of its own, which the function may use freely.
func ExampleMapLanes() {
	scratch := []*[3]float64{new([3]float64), new([3]float64)}
	sums, err := hataori.MapLanes(context.Background(), lanes.Of(scratch, lanes.Options[*[3]float64]{}), []float64{1, 2, 3},
		func(_ context.Context, s *[3]float64, x float64) (float64, error) {
			for i := range s {
				s[i] = x * float64(i)
			}
			return s[0] + s[1] + s[2], nil
		})
	fmt.Println(sums, err)
	// Output: [3 6 9] <nil>
}

// Here the ranks are goroutines of one process; under mpirun they are
// processes, and run is called with an *mpi.Comm.
func ExamplePmapLanes() {
	run := func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		var items []int
		if w.Rank() == 0 {
			items = []int{1, 2, 3, 4, 5}
		}
		squares, err := hataori.PmapLanes(context.Background(), w, lanes.New(2), hataori.Options{}, items,
			func(_ context.Context, _ lanes.Lane, x int) (int, error) { return x * x, nil })
		if w.Rank() == 0 {
			fmt.Println(squares)
		}
		return errors.Join(err, w.Close())
	}
	fmt.Println(mpitest.New(3, mpitest.Options{}).Run(run))
	// Output:
	// [1 4 9 16 25]
	// <nil>
}

// The items come from a sequence, and the results go where the root wants them.
func ExamplePmapStream() {
	run := func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		var source hataori.Source[int]
		var sink hataori.Sink[int]
		if w.Rank() == 0 {
			source = hataori.FromSeq(slices.Values([]int{1, 2, 3, 4, 5}))
			sink = hataori.SinkFunc[int](func(_ context.Context, index int64, value int) error {
				fmt.Println(index, value)
				return nil
			})
		}
		err = hataori.PmapStream(context.Background(), w, lanes.New(2), hataori.Options{Ordered: true}, source, sink,
			func(_ context.Context, _ lanes.Lane, x int) (int, error) { return x * x, nil })
		return errors.Join(err, w.Close())
	}
	fmt.Println(mpitest.New(2, mpitest.Options{}).Run(run))
	// Output:
	// 0 1
	// 1 4
	// 2 9
	// 3 16
	// 4 25
	// <nil>
}

// The root looks at each result as it comes, and may stop when it has enough. The
// others take part in the work.
func ExamplePmapSeq() {
	run := func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		var source hataori.Source[float64]
		if w.Rank() == 0 {
			source = hataori.FromSeq(slices.Values([]float64{4, 2, -1, 0.5, 8}))
		}
		results, end := hataori.PmapSeq(context.Background(), w, lanes.New(2), hataori.Options{Ordered: true}, source,
			func(_ context.Context, _ lanes.Lane, x float64) (float64, error) {
				if x < 0 {
					return 0, fmt.Errorf("%v is negative", x)
				}
				return 1 / x, nil
			})
		for index, r := range results {
			if r.Err != nil {
				fmt.Println("item", index, "failed")
				continue
			}
			fmt.Println(index, r.Value)
			if r.Value > 1 {
				break
			}
		}
		return errors.Join(end(), w.Close())
	}
	fmt.Println(mpitest.New(2, mpitest.Options{}).Run(run))
	// Output:
	// 0 0.25
	// 1 0.5
	// item 2 failed
	// 3 2
	// <nil>
}

// Rank 1 has the table that every rank needs.
func ExampleBroadcast() {
	run := func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		var table []float64
		if w.Rank() == 1 {
			table = []float64{1, 0.5, 0.25}
		}
		table, err = hataori.Broadcast(context.Background(), w, hataori.Options{Root: 1}, table)
		if w.Rank() == 0 {
			fmt.Println(table)
		}
		return errors.Join(err, w.Close())
	}
	fmt.Println(mpitest.New(2, mpitest.Options{}).Run(run))
	// Output:
	// [1 0.5 0.25]
	// <nil>
}

var errSingular = errors.New("matrix is singular")

// An error of one item is the same on all ranks.
func ExampleSentinels() {
	var mu sync.Mutex
	seen := 0
	_ = mpitest.New(3, mpitest.Options{}).Run(func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		var items []int
		if w.Rank() == 0 {
			items = make([]int, 8)
		}
		_, err = hataori.Pmap(context.Background(), w, hataori.Options{ErrorCodec: hataori.Sentinels(errSingular)}, items,
			func(context.Context, int) (int, error) { return 0, fmt.Errorf("factorising: %w", errSingular) })
		var item *hataori.ItemError
		if errors.Is(err, errSingular) && errors.As(err, &item) && item.Index == 0 {
			mu.Lock()
			seen++
			mu.Unlock()
		}
		return w.Close()
	})
	fmt.Println(seen, "ranks know that item 0 was singular")
	// Output: 3 ranks know that item 0 was singular
}

// One rank's failure ends the loop on all of them.
func ExampleWorld_Agree() {
	err := mpitest.New(2, mpitest.Options{}).Run(func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		for step := 0; ; step++ {
			var mine error
			if w.Rank() == 0 && step == 3 {
				mine = errors.New("disk full")
			}
			if err := w.Agree(context.Background(), mine); err != nil {
				if w.Rank() == 1 {
					fmt.Println("step", step, err)
				}
				return w.Close()
			}
		}
	})
	fmt.Println(err)
	// Output:
	// step 3 hataori: rank 0 (host0): disk full
	// <nil>
}
