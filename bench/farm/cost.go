package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi"
)

var errWanted = errors.New("farm: this item fails")

// itemFailed wants the failure of one item and no other.
func itemFailed(err error, index int) error {
	var item *hataori.ItemError
	if !errors.As(err, &item) || item.Index != index {
		return fmt.Errorf("farm: item %d was to fail, got: %v", index, err)
	}
	return nil
}

// idle returns the processor time, in percent of one core, of the rank that has
// nothing to do while another works on a long item, over two seconds.
func idle(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return 0, err
	}
	defer world.Close()
	var items []int64
	if world.Rank() == 0 {
		items = indices(1)
	}
	const settle, span = 300 * time.Millisecond, 2 * time.Second
	share := make(chan float64, 1)
	go func() {
		time.Sleep(settle)
		begin, used := monotonic(), processTime()
		time.Sleep(span)
		share <- 100 * float64(processTime()-used) / float64(monotonic()-begin)
	}()
	var mine atomic.Bool
	_, err = hataori.Pmap(ctx, world, hataori.Options{Lanes: o.lanes}, items, func(_ context.Context, x int64) (int64, error) {
		mine.Store(true)
		time.Sleep(settle + span + settle)
		return x, nil
	})
	percent := <-share
	if err != nil {
		return 0, err
	}
	if mine.Load() {
		percent = 0
	}
	return worst(ctx, world, percent)
}

// worst returns the largest figure of any rank, on the root.
func worst(ctx context.Context, world *hataori.World, x float64) (float64, error) {
	all, err := hataori.Gather(ctx, world, hataori.Options{}, x)
	if err != nil || world.Rank() != 0 {
		return 0, err
	}
	return slices.Max(all), nil
}

// coordinator returns, in percent, the processor time that a rank spends on
// anything but items, divided by that of its items, for the worse of the ranks:
// what is more than with as many items over the lanes of one process, where nobody
// coordinates and the runtime, the lanes and these clocks take their share as well.
// Both are measured in turn, as the machine is not the same from one second to the
// next; it is the median of the differences.
func coordinator(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return 0, err
	}
	defer world.Close()
	var c itemClock
	item := func(_ context.Context, x int64) (int64, error) {
		return c.time(func() int64 { return work(x, o.spin) }), nil
	}
	together := func(n int) error {
		var items []int64
		if world.Rank() == 0 {
			items = indices(n)
		}
		_, err := hataori.Pmap(ctx, world, hataori.Options{Lanes: o.lanes}, items, item)
		return err
	}
	own := lanes.New(max(o.lanes, 1))
	alone := func(n int) error {
		_, err := hataori.MapLanes(ctx, own, indices(n/world.Size()), func(ctx context.Context, _ lanes.Lane, x int64) (int64, error) { return item(ctx, x) })
		return err
	}
	percent := func(call func(n int) error) (float64, error) {
		if err := rt.World().Barrier(ctx); err != nil {
			return 0, err
		}
		c.reset()
		begin := processTime()
		if err := call(o.items); err != nil {
			return 0, err
		}
		used, items := processTime()-begin, c.total()
		return 100 * float64(used-items) / float64(items), nil
	}
	if err := errors.Join(together(min(o.items, 100)), alone(min(o.items, 100))); err != nil { // warm
		return 0, err
	}
	var more []float64
	for range rounds {
		with, err := percent(together)
		if err != nil {
			return 0, err
		}
		without, err := percent(alone)
		if err != nil {
			return 0, err
		}
		more = append(more, with-without)
	}
	slices.Sort(more)
	return worst(ctx, world, more[rounds/2])
}

// rounds is how often coordinator measures.
const rounds = 3

// itemClock sums the processor time of items. The clock is the thread's; an item that
// has changed it counts as the others on average. Holding items to their threads
// would cost more where the runtime interrupts them than the coordinator does.
type itemClock struct{ sum, timed, moved atomic.Int64 }

func (c *itemClock) reset() {
	c.sum.Store(0)
	c.timed.Store(0)
	c.moved.Store(0)
}

func (c *itemClock) time(f func() int64) int64 {
	thread, begin := threadID(), threadTime()
	x := f()
	if took := threadTime() - begin; threadID() == thread {
		c.sum.Add(int64(took))
		c.timed.Add(1)
	} else {
		c.moved.Add(1)
	}
	return x
}

func (c *itemClock) total() time.Duration {
	mean := float64(c.sum.Load()) / float64(max(c.timed.Load(), 1))
	return time.Duration(c.sum.Load()) + time.Duration(mean*float64(c.moved.Load()))
}

// spent returns the processor time, in ns per item and of all ranks together, of
// items that do nothing; with progress, the root is told every 10 ms how far it is.
func spent(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return 0, err
	}
	defer world.Close()
	told := 0
	opts := hataori.Options{Lanes: o.lanes}
	if o.progress {
		opts.Progress, opts.ProgressEvery = func(hataori.Progress) { told++ }, 10*time.Millisecond
	}
	call := func(n int) error {
		var items []int64
		if world.Rank() == 0 {
			items = indices(n)
		}
		_, err := hataori.Pmap(ctx, world, opts, items, func(_ context.Context, x int64) (int64, error) { return x, nil })
		return err
	}
	if err := call(min(o.items, 1000)); err != nil { // warm
		return 0, err
	}
	begin := processTime()
	if err := call(o.items); err != nil {
		return 0, err
	}
	all, err := hataori.Gather(ctx, world, hataori.Options{}, float64(processTime()-begin))
	if err != nil || world.Rank() != 0 {
		return 0, err
	}
	if o.progress && told == 0 {
		return 0, errors.New("farm: nobody was told of the progress")
	}
	sum := 0.0
	for _, x := range all {
		sum += x
	}
	return sum / float64(o.items), nil
}
