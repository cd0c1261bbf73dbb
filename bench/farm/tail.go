package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/mpi"
)

// spins returns the steps of an item: for all the same, or, with a tail, drawn from
// the distribution with the survival function (spin/k)^tail, always the same ones.
func (o options) spins() func(x int64) int {
	if o.tail == 0 {
		return func(int64) int { return o.spin }
	}
	all := make([]int, o.items)
	r := rand.New(rand.NewPCG(7, 1))
	for i := range all {
		all[i] = int(float64(o.spin) * math.Pow(1-r.Float64(), -1/o.tail))
	}
	return func(x int64) int { return all[x] }
}

// timed is the result of an item and when it began and ended, by the clock that
// all ranks of a host share.
type timed struct {
	Value      int64
	Begin, End int64 // ns
}

func evaluate(x int64, spin int) timed {
	begin := monotonic()
	v := work(x, spin) * 2
	return timed{v, int64(begin), int64(monotonic())}
}

// greedy returns the time of a call divided by that of a schedule without any
// cost: the items, with the times that they took here, one by one in order, each to
// the lane that is free first.
func greedy(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return 0, err
	}
	defer world.Close()
	spins := o.spins()
	call := func(n int) ([]timed, time.Duration, error) {
		var items []int64
		if world.Rank() == 0 {
			items = indices(n)
		}
		begin := monotonic()
		out, err := hataori.Pmap(ctx, world, hataori.Options{Lanes: o.lanes}, items,
			func(_ context.Context, x int64) (timed, error) { return evaluate(x, spins(x)), nil })
		return out, monotonic() - begin, err
	}
	if _, _, err := call(min(o.items, 100)); err != nil { // warm
		return 0, err
	}
	out, elapsed, err := call(o.items)
	if err != nil || world.Rank() != 0 {
		return 0, err
	}
	free := make([]time.Duration, world.Size()*o.lanes)
	values := make([]int64, len(out))
	for i, t := range out {
		first := 0
		for l := range free {
			if free[l] < free[first] {
				first = l
			}
		}
		free[first] += time.Duration(t.End - t.Begin)
		values[i] = t.Value
	}
	return float64(elapsed) / float64(slices.Max(free)), verify(values, spins)
}

// failing returns how long an item's error took to come back on all ranks,
// divided by what it may take: the work that items of lower index had left,
// shared by all lanes, the longest item and 50 ms.
func failing(ctx context.Context, rt *mpi.Runtime, o options) (float64, error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return 0, err
	}
	defer world.Close()
	spins := o.spins()
	fails := int64(o.items / 2)
	var items []int64
	if world.Rank() == 0 {
		items = indices(o.items)
	}
	// One lane per rank, so that nobody else appends.
	var mine []timed
	var failed int64
	_, callErr := hataori.Pmap(ctx, world, hataori.Options{Lanes: 1}, items, func(_ context.Context, x int64) (int64, error) {
		if x == fails {
			failed = int64(monotonic())
			return 0, errWanted
		}
		t := evaluate(x, spins(x))
		t.Value = x
		mine = append(mine, t)
		return x, nil
	})
	mine = append(mine, timed{fails, failed, int64(monotonic())}) // when the error came back here
	if err := itemFailed(callErr, int(fails)); err != nil {
		return 0, err
	}
	all, err := hataori.Gather(ctx, world, hataori.Options{}, mine)
	if err != nil || world.Rank() != 0 {
		return 0, err
	}
	return float64(returned(all)) / float64(allowed(all)), nil
}

// split takes the mark that each rank left for itself off its items.
func split(rank []timed) (items []timed, mark timed) {
	return rank[:len(rank)-1], rank[len(rank)-1]
}

func failedAt(all [][]timed) (at int64) {
	for _, rank := range all {
		_, mark := split(rank)
		at = max(at, mark.Begin)
	}
	return at
}

// returned is the time from the failure to the return of the last rank.
func returned(all [][]timed) time.Duration {
	var last int64
	for _, rank := range all {
		_, mark := split(rank)
		last = max(last, mark.End)
	}
	return time.Duration(last - failedAt(all))
}

func allowed(all [][]timed) time.Duration {
	at := failedAt(all)
	var left, longest int64
	for _, rank := range all {
		items, mark := split(rank)
		for _, t := range items {
			longest = max(longest, t.End-t.Begin)
			if t.Value < mark.Value {
				left += max(0, t.End-max(at, t.Begin))
			}
		}
	}
	return time.Duration(left/int64(len(all))+longest) + 50*time.Millisecond
}
