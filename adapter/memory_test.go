package adapter_test

import (
	"context"
	"slices"
	"testing"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/hataori"
)

// TestResultsNeedMemoryOfTheirOwn: results that never leave the process are not
// copied, so that those which show one tensor's memory are all the last one's.
func TestResultsNeedMemoryOfTheirOwn(t *testing.T) {
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	executor, err := adapter.New([]*cpu.Engine{e}, adapter.Options[*cpu.Engine]{})
	if err != nil {
		t.Fatal(err)
	}
	x, err := engine.Zeros(e, engine.Float64, 1)
	if err != nil {
		t.Fatal(err)
	}
	one, err := engine.Full(e, engine.Float64, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	count := func(read func(*engine.Tensor) ([]float64, error)) (all []float64) {
		t.Helper()
		results, err := hataori.MapLanes(context.Background(), executor, []int{0, 1, 2}, func(_ context.Context, e *cpu.Engine, _ int) ([]float64, error) {
			if err := engine.AddInto(e, x, x, one); err != nil {
				return nil, err
			}
			return read(x)
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range results {
			all = append(all, r...)
		}
		return all
	}
	if got, want := count(engine.Data[float64]), []float64{3, 3, 3}; !slices.Equal(got, want) {
		t.Errorf("shown: %v, want %v", got, want)
	}
	copied := func(x *engine.Tensor) ([]float64, error) { return engine.Download[float64](e, x) }
	if got, want := count(copied), []float64{4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("copied: %v, want %v", got, want)
	}
}
