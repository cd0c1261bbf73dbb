package adapter_test

import (
	"context"
	"fmt"
	"log"
	"testing"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/enginetest"
	"github.com/hataori/hataori-go/hataori"
)

// Counting is an engine made of another one: it counts what it runs. An engine
// of your own has the same methods.
type Counting struct {
	engine.Execution
	Runs int
}

func (c *Counting) Run(k engine.Kernel, out, in []*engine.Tensor) error {
	c.Runs++
	return c.Execution.Run(k, out, in)
}

func newCounting() (*Counting, error) {
	e, err := cpu.Serial(cpu.Options{})
	return &Counting{Execution: e}, err
}

// One line shows whether an engine keeps the contract.
func TestOwnEngine(t *testing.T) {
	if testing.Short() {
		t.Skip("the whole suite is left out by -short")
	}
	enginetest.Run(t, func(t *testing.T) engine.Execution {
		e, err := newCounting()
		if err != nil {
			t.Fatal(err)
		}
		return e
	})
}

// Two lanes, each with an engine of its own, which it keeps from call to call.
func Example() {
	var engines []*Counting
	for range 2 {
		e, err := newCounting()
		if err != nil {
			log.Fatal(err)
		}
		defer e.Close()
		engines = append(engines, e)
	}
	executor, err := adapter.New(engines, adapter.Options[*Counting]{})
	if err != nil {
		log.Fatal(err)
	}
	traces, err := hataori.MapLanes(context.Background(), executor, []float64{0, 1, 2, 3},
		func(_ context.Context, e *Counting, x float64) (float64, error) {
			a, err := engine.FromSlice([]float64{1, 2, 3, x}, 2, 2)
			if err != nil {
				return 0, err
			}
			square, err := engine.MatMul(e, a, a)
			if err != nil {
				return 0, err
			}
			elements, err := engine.Download[float64](e, square)
			if err != nil {
				return 0, err
			}
			return elements[0] + elements[3], e.Release(square)
		})
	fmt.Println(traces, err)
	fmt.Println("products:", engines[0].Runs+engines[1].Runs)
	// Output:
	// [13 14 17 22] <nil>
	// products: 4
}
