package hataori_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// A Solver is what a lane keeps warm, here a guess for the next square root.
type Solver struct{ guess float64 }

type (
	Item   = float64
	Result = float64
)

func (s *Solver) Solve(ctx context.Context, x Item) (Result, error) {
	s.guess = max(s.guess, 1)
	for math.Abs(s.guess*s.guess-x) > 1e-12*x {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		s.guess = (s.guess + x/s.guess) / 2
	}
	return math.Round(1e9*s.guess) / 1e9, nil
}

// Engines of the caller's own: one warm solver per lane.
func Example() {
	run := func(ctx context.Context, comm hataori.Transport, solvers []*Solver, items []Item) error {
		world, err := hataori.NewWorld(comm) // any communicator: MPI, or ranks inside one process
		if err != nil {
			return err
		}
		defer world.Close()

		engines := lanes.Of(solvers, lanes.Options[*Solver]{}) // one lane per resource; yours, or engines of this module
		results, err := hataori.PmapLanes(ctx, world, engines, hataori.Options{}, items,
			func(ctx context.Context, solver *Solver, item Item) (Result, error) {
				return solver.Solve(ctx, item)
			})
		if world.Rank() == 0 {
			fmt.Println(results)
		}
		return err
	}
	err := mpitest.New(2, mpitest.Options{}).Run(func(comm transport.Comm) error {
		var items []Item
		if comm.Rank() == 0 {
			items = []Item{1, 4, 9, 16}
		}
		return run(context.Background(), comm, []*Solver{{}, {}}, items)
	})
	fmt.Println(err)
	// Output:
	// [1 2 3 4]
	// <nil>
}

// A context of any rank ends the call on all ranks, with one error that names
// the rank and the cause.
func Example_cancellation() {
	run := func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		var items []int
		if w.Rank() == 0 {
			items = make([]int, 1000)
		}
		_, err = hataori.PmapLanes(ctx, w, lanes.New(1), hataori.Options{}, items,
			func(ctx context.Context, _ lanes.Lane, _ int) (int, error) {
				if comm.Rank() == 1 {
					cancel(errors.New("an hour is over"))
				}
				<-ctx.Done() // a long item looks at its context now and then
				return 0, ctx.Err()
			})
		var c *hataori.CancelError
		if w.Rank() == 0 && errors.As(err, &c) {
			fmt.Println("rank", c.Rank, c.Cause, errors.Is(err, context.Canceled))
		}
		return w.Close() // the world could be used again
	}
	fmt.Println(mpitest.New(2, mpitest.Options{}).Run(run))
	// Output:
	// rank 1 an hour is over true
	// <nil>
}

// A call that ends by itself before the job's time is up: every rank gets the
// same error, and the program goes on to save what it has.
func Example_timeLimit() {
	run := func(ctx context.Context, comm transport.Comm, limit time.Duration) error {
		world, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		var items []int
		if world.Rank() == 0 {
			items = make([]int, 1000)
		}
		ctx, cancel := context.WithTimeout(ctx, limit) // less than the job has
		defer cancel()
		_, err = hataori.Pmap(ctx, world, hataori.Options{Lanes: 1}, items, endless)
		if errors.Is(err, context.DeadlineExceeded) && world.Rank() == 0 {
			fmt.Println("the time is up")
		}
		return world.Close()
	}
	fmt.Println(mpitest.New(2, mpitest.Options{}).Run(func(comm transport.Comm) error {
		return run(context.Background(), comm, 10*time.Millisecond)
	}))
	// Output:
	// the time is up
	// <nil>
}

// endless is an item that looks at its context and has nothing else to do.
func endless(ctx context.Context, _ int) (int, error) {
	<-ctx.Done()
	return 0, ctx.Err()
}

// All items are evaluated, whatever fails: the results are there, and the
// failures beside them.
func ExampleItemErrors() {
	reciprocal := func(_ context.Context, x float64) (float64, error) {
		if x == 0 {
			return 0, errors.New("division by zero")
		}
		return 1 / x, nil
	}
	run := func(ctx context.Context, comm transport.Comm) error {
		world, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		var items []float64
		if world.Rank() == 0 {
			items = []float64{4, 0, 2, 0}
		}
		results, err := hataori.Pmap(ctx, world, hataori.Options{Lanes: 1, Collect: true}, items, reciprocal)
		var failed *hataori.ItemErrors
		if err != nil && !errors.As(err, &failed) {
			return err // not of items: there are no results
		}
		if world.Rank() == 0 && failed != nil {
			for _, item := range failed.All { // on the root, by index
				fmt.Println("item", item.Index, "failed:", item.Message)
			}
		}
		if world.Rank() == 0 {
			fmt.Println(results) // zero where the item failed
		}
		return world.Close()
	}
	fmt.Println(mpitest.New(2, mpitest.Options{}).Run(func(comm transport.Comm) error { return run(context.Background(), comm) }))
	// Output:
	// item 1 failed: division by zero
	// item 3 failed: division by zero
	// [0.25 0 0.5 0]
	// <nil>
}

// An item that fails for a passing reason is evaluated again.
func ExampleRetryable() {
	run := func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		tries := map[int]int{}
		var stats hataori.Stats
		results, err := hataori.PmapLanes(context.Background(), w, lanes.New(1), hataori.Options{Retries: 3, Stats: &stats}, []int{1, 2, 3},
			func(_ context.Context, _ lanes.Lane, x int) (int, error) {
				if tries[x]++; x == 2 && tries[x] < 3 {
					return 0, hataori.Retryable(errors.New("licence server is busy"))
				}
				return 10 * x, nil
			})
		fmt.Println(results, err, "retries:", stats.Lanes[0].Retries)
		return w.Close()
	}
	fmt.Println(mpitest.New(1, mpitest.Options{}).Run(run))
	// Output:
	// [10 20 30] <nil> retries: 2
	// <nil>
}

// jsonCodec carries values as JSON, which the other ranks must read the same way.
type jsonCodec struct{}

func (jsonCodec) Name() string { return "json/1" }

func (jsonCodec) Append(dst []byte, v any) ([]byte, error) {
	b, err := json.Marshal(v)
	return append(dst, b...), err
}

func (jsonCodec) Decode(src []byte, v any) error { return json.Unmarshal(src, v) }

// A codec of one's own, for types that the default one refuses: a field of type
// any has no fixed form.
func ExampleCodec() {
	type reading struct {
		Name  string
		Value any
	}
	run := func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		var items []reading
		if w.Rank() == 0 {
			items = []reading{{"spin", "up"}, {"mass", 1.5}}
		}
		f := func(_ context.Context, r reading) (string, error) { return fmt.Sprint(r.Name, "=", r.Value), nil }
		_, err = hataori.Pmap(context.Background(), w, hataori.Options{Lanes: 1}, items, f)
		if w.Rank() == 0 {
			fmt.Println("refused:", errors.Is(err, hataori.ErrType))
		}
		texts, err := hataori.Pmap(context.Background(), w, hataori.Options{Lanes: 1, Codec: jsonCodec{}}, items, f)
		if w.Rank() == 0 {
			fmt.Println(texts)
		}
		return errors.Join(err, w.Close())
	}
	fmt.Println(mpitest.New(2, mpitest.Options{}).Run(run))
	// Output:
	// refused: true
	// [spin=up mass=1.5]
	// <nil>
}
