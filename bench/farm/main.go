// Command farm measures the scheduler on synthetic items and prints one
// number, for scripts/bench.sh:
//
//	farm null [-items N] [-batch B] [-depth D] [-group G] [-coordinate]   items per second, items that do nothing
//	farm handout [-items N] [-lanes L]              ns per item inside one process: wall time / items
//	farm allocs [-items N] [-lanes L]               allocations per item inside one process, plus 1e-9
//	farm work [-items N] [-spin K]                  items per second, items of K steps of arithmetic each
//	farm static [-items N] [-spin K]                the same items split in equal blocks, without the scheduler
//	farm greedy [-items N] [-spin K] [-tail A]      time of the call / time of a greedy schedule of the same items
//	farm failing [-items N] [-spin K] [-tail A]     time from an item's error to its return / what it may take
//	farm reply [-items N] [-spin K] [-lanes L]      µs in which the root answers, 99th percentile, while L lanes compute there
//	farm idle                                       % of a core that a rank without work takes
//	farm coordinator [-items N] [-spin K]           % of the items' processor time that coordination takes
//	farm spent [-items N] [-progress]               ns of processor time per item that does nothing
//
// All but handout and allocs run under a launcher; every rank has -lanes lanes.
// With -coordinate the root computes nothing. With -tail the items' steps are drawn
// from a Pareto distribution of that shape, K at least.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi"
)

type options struct {
	items, batch, depth, group, lanes, spin int
	tail                                    float64
	coordinate, progress                    bool
}

func main() {
	var o options
	f := flag.NewFlagSet("farm", flag.ExitOnError)
	f.IntVar(&o.items, "items", 100_000, "number of items")
	f.IntVar(&o.batch, "batch", 0, "items per message; 0: automatic")
	f.IntVar(&o.depth, "depth", 0, "batches in flight; 0: automatic")
	f.IntVar(&o.group, "group", 0, "ranks of a group, as hataori.Options.Group")
	f.IntVar(&o.lanes, "lanes", 1, "lanes per rank")
	f.IntVar(&o.spin, "spin", 0, "steps of arithmetic per item")
	f.Float64Var(&o.tail, "tail", 0, "shape of the distribution of the steps; 0: all alike")
	f.BoolVar(&o.progress, "progress", false, "ask for progress every 10 ms")
	f.BoolVar(&o.coordinate, "coordinate", false, "the root only coordinates")
	modes := map[string]func(context.Context, *mpi.Runtime, options) (float64, error){
		"null": farm, "work": farm, "static": static, "handout": handout, "allocs": allocs, "greedy": greedy,
		"failing": failing, "reply": reply, "idle": idle, "coordinator": coordinator, "spent": spent,
	}
	if len(os.Args) < 2 || modes[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: farm "+strings.Join(slices.Sorted(maps.Keys(modes)), "|")+" [flags]")
		os.Exit(2)
	}
	_ = f.Parse(os.Args[2:]) // ExitOnError
	if needsClocks := []string{"greedy", "failing", "reply", "idle", "coordinator", "spent"}; !haveClocks && slices.Contains(needsClocks, os.Args[1]) {
		fmt.Fprintln(os.Stderr, "farm:", os.Args[1], "reads clocks of Linux")
		os.Exit(2)
	}
	p := mpi.Program{Options: mpi.Options{Lanes: o.lanes}}
	os.Exit(p.Run(func(ctx context.Context, rt *mpi.Runtime) error {
		x, err := modes[os.Args[1]](ctx, rt, o)
		if err == nil && rt.World().Rank() == 0 {
			fmt.Println(x)
		}
		return err
	}))
}

// work is k dependent steps of a linear congruential generator. It is one piece
// of code, so that both modes run the very same loop.
//
//go:noinline
func work(seed int64, k int) int64 {
	x := uint64(seed)
	for range k {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return int64(x)
}

func indices(n int) []int64 {
	items := make([]int64, n)
	for i := range items {
		items[i] = int64(i)
	}
	return items
}

// farm runs the items over all ranks and checks every result.
func farm(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return 0, err
	}
	defer world.Close()
	root := rt.World().Rank() == 0
	n := o.lanes
	if o.coordinate && root {
		n = -1
	}
	spins := o.spins()
	item := func(_ context.Context, x int64) (int64, error) { return work(x, spins(x)) * 2, nil }
	call := func(items []int64) ([]int64, error) {
		if !root {
			items = nil
		}
		return hataori.Pmap(ctx, world, hataori.Options{Batch: o.batch, Depth: o.depth, Group: o.group, Lanes: n}, items, item)
	}
	items := indices(o.items)
	if _, err := call(items[:min(len(items), 200)]); err != nil { // warm
		return 0, err
	}
	start := time.Now()
	out, err := call(items)
	seconds := time.Since(start).Seconds()
	if err != nil || !root {
		return 0, err
	}
	return float64(o.items) / seconds, verify(out, spins)
}

func verify(out []int64, spins func(int64) int) error {
	step := max(1, len(out)/1000)
	if spins(0) == 0 {
		step = 1
	}
	for i := 0; i < len(out); i += step {
		if want := work(int64(i), spins(int64(i))) * 2; out[i] != want {
			return fmt.Errorf("item %d: %d, want %d", i, out[i], want)
		}
	}
	return nil
}

// static computes the same items in equal blocks, one goroutine per lane.
func static(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	c := rt.World()
	out := make([]int64, o.items)
	spins := o.spins()
	if err := c.Barrier(ctx); err != nil {
		return 0, err
	}
	start := time.Now()
	var wg sync.WaitGroup
	parts := c.Size() * o.lanes
	for l := range o.lanes {
		k := c.Rank()*o.lanes + l
		wg.Go(func() {
			for i := o.items * k / parts; i < o.items*(k+1)/parts; i++ {
				out[i] = work(int64(i), spins(int64(i))) * 2
			}
		})
	}
	wg.Wait()
	if err := c.Barrier(ctx); err != nil {
		return 0, err
	}
	return float64(o.items) / time.Since(start).Seconds(), nil
}

// local runs items inside this process and returns wall time and allocations.
func local(ctx context.Context, o options) (time.Duration, uint64, error) {
	items := indices(o.items)
	ex := lanes.New(o.lanes)
	double := func(_ context.Context, _ lanes.Lane, x int64) (int64, error) { return x * 2, nil }
	run := func(items []int64) ([]int64, error) { return hataori.MapLanes(ctx, ex, items, double) }
	if _, err := run(items[:min(len(items), 1000)]); err != nil { // warm
		return 0, 0, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	out, err := run(items)
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	if err != nil {
		return 0, 0, err
	}
	return elapsed, after.Mallocs - before.Mallocs, verify(out, o.spins())
}

var errRanks = errors.New("farm: handout and allocs measure one process")

func handout(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	if rt.World().Size() > 1 {
		return 0, errRanks
	}
	elapsed, _, err := local(ctx, o)
	return float64(elapsed.Nanoseconds()) / float64(o.items), err
}

func allocs(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	if rt.World().Size() > 1 {
		return 0, errRanks
	}
	_, n, err := local(ctx, o)
	return float64(n)/float64(o.items) + 1e-9, err
}
