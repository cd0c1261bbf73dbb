package adapter_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/einsum"
	"github.com/hataori/hataori-go/hataori"
)

// Network is an engine with a contraction that it keeps ready: what a lane has.
type Network struct {
	engine.Execution
	ready *einsum.Prepared
	out   *engine.Tensor
}

func NewNetwork(plan *einsum.Plan, operands ...engine.Spec) (*Network, error) {
	e, err := cpu.Serial(cpu.Options{}) // of one thread; cpu.New has a pool of threads
	if err != nil {
		return nil, err
	}
	n := &Network{Execution: e}
	n.ready, err = plan.Prepare(e, operands...)
	if err == nil {
		n.out, err = engine.Zeros(e, engine.Float64, plan.OutputShape()...)
	}
	return n, err
}

// Contract gives the trace of a·a·a.
func (n *Network) Contract(a []float64) (trace float64, err error) {
	t, err := engine.Upload(n, a, 2, 2) // the engine's memory, until it is released
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, n.Release(t)) }()
	if err := errors.Join(n.ready.Load(t, t, t), n.ready.Run(n.out, 0)); err != nil {
		return 0, err
	}
	values, err := engine.Download[float64](n, n.out)
	if err != nil {
		return 0, err
	}
	return values[0], nil
}

// A network is planned once and contracted for many parameters, on two lanes.
func Example_einsum() {
	s, err := einsum.Parse("ij,jk,ki->")
	if err != nil {
		log.Fatal(err)
	}
	plan, err := einsum.FindPlan(context.Background(), s, [][]int{{2, 2}, {2, 2}, {2, 2}}, einsum.PlanOptions{})
	if err != nil {
		log.Fatal(err)
	}
	matrix := engine.SpecOf(engine.Float64, 2, 2)
	var networks []*Network
	for range 2 {
		n, err := NewNetwork(plan, matrix, matrix, matrix)
		if err != nil {
			log.Fatal(err)
		}
		defer n.Close()
		defer n.ready.Close()
		networks = append(networks, n)
	}
	executor, err := adapter.New(networks, adapter.Options[*Network]{})
	if err != nil {
		log.Fatal(err)
	}
	traces, err := hataori.MapLanes(context.Background(), executor, []float64{0, math.Pi / 12, math.Pi / 6},
		func(_ context.Context, n *Network, angle float64) (float64, error) {
			sin, cos := math.Sincos(angle)
			return n.Contract([]float64{cos, -sin, sin, cos}) // a rotation, three times
		})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range traces { // 2·cos(3·angle)
		fmt.Printf("%.3f\n", math.Abs(t))
	}
	// Output:
	// 2.000
	// 1.414
	// 0.000
}
