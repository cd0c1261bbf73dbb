package adapter_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/einsum"
	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// slicer is what a lane needs to contract slices: an engine, the plan prepared on
// it with its operands loaded, and the output of a slice.
type slicer struct {
	engine.Execution
	ready *einsum.Prepared
	out   *engine.Tensor
}

func newSlicer(plan *einsum.Plan, operands [][]complex128) (*slicer, error) {
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		return nil, err
	}
	s := &slicer{Execution: e}
	tensors, specs := make([]*engine.Tensor, len(operands)), make([]engine.Spec, len(operands))
	for k, values := range operands {
		if tensors[k], err = engine.FromSlice(values, plan.OperandShape(k)...); err != nil {
			return nil, err
		}
		specs[k] = tensors[k].Spec()
	}
	if s.ready, err = plan.Prepare(e, specs...); err != nil {
		return nil, err
	}
	if err := s.ready.Load(tensors...); err != nil {
		return nil, err
	}
	s.out, err = engine.Zeros(e, engine.Complex128, plan.SliceShape()...)
	return s, err
}

func (s *slicer) slice(i int) ([]complex128, error) {
	if err := s.ready.Run(s.out, i); err != nil {
		return nil, err
	}
	return engine.Download[complex128](s, s.out)
}

// contractOver contracts a network in slices over the lanes of all ranks. Rank 0 has
// the network and gets the result.
func contractOver(ctx context.Context, world *hataori.World, laneCount int, plan *einsum.Plan, operands [][]complex128) ([]complex128, error) {
	plan, err := hataori.Broadcast(ctx, world, hataori.Options{}, plan)
	if err != nil {
		return nil, err
	}
	operands, err = hataori.Broadcast(ctx, world, hataori.Options{}, operands)
	if err != nil {
		return nil, err
	}
	var slicers []*slicer
	for range laneCount {
		s, failed := newSlicer(plan, operands)
		if err = failed; err != nil {
			break
		}
		defer func() { _, _ = s.ready.Close(), s.Close() }()
		slicers = append(slicers, s)
	}
	if err := world.Agree(ctx, err); err != nil { // of one rank is everybody's
		return nil, err
	}
	executor, err := adapter.New(slicers, adapter.Options[*slicer]{})
	if err := world.Agree(ctx, err); err != nil {
		return nil, err
	}
	var items []int // the numbers of the slices
	if world.Rank() == 0 {
		for i := range plan.Slices() {
			items = append(items, i)
		}
	}
	parts, err := hataori.PmapLanes(ctx, world, executor, hataori.Options{}, items,
		func(_ context.Context, s *slicer, i int) ([]complex128, error) { return s.slice(i) })
	if err != nil || world.Rank() != 0 {
		return nil, err
	}
	elements := 1
	for _, extent := range plan.OutputShape() {
		elements *= extent
	}
	whole := make([]complex128, elements)
	for i, part := range parts { // in this order: the bits do not depend on ranks and lanes
		if err := einsum.AddSlice(plan, whole, i, part); err != nil {
			return nil, err
		}
	}
	return whole, nil
}

// A network is contracted in slices over two ranks of two lanes each. Every entry
// of the ring's six matrices is i, so that each path around it has weight i⁶ = −1,
// and there are 8⁶ paths.
func Example_slices() {
	run := func(comm transport.Comm) (err error) {
		ctx := context.Background()
		world, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, world.Close()) }()

		var plan *einsum.Plan
		var operands [][]complex128
		if world.Rank() == 0 {
			s, failed := einsum.Parse("ab,bc,cd,de,ef,fa->")
			shapes := [][]int{{8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}, {8, 8}}
			if err = failed; err == nil {
				const bytes = 256 // for the largest intermediate of a slice
				plan, err = einsum.FindPlan(ctx, s, shapes, einsum.PlanOptions{Limits: einsum.Limits{Largest: bytes / 16}})
			}
			for range shapes {
				entries := make([]complex128, 64)
				for i := range entries {
					entries[i] = 1i
				}
				operands = append(operands, entries)
			}
		}
		if err := world.Agree(ctx, err); err != nil {
			return err
		}
		ring, err := contractOver(ctx, world, 2, plan, operands)
		if err != nil || world.Rank() != 0 {
			return err
		}
		fmt.Println(plan.Slices() > 1, ring)
		return nil
	}
	fmt.Println(mpitest.New(2, mpitest.Options{}).Run(run))
	// Output:
	// true [(-262144+0i)]
	// <nil>
}
