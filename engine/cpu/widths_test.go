package cpu_test

import (
	"errors"
	"runtime"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
)

func TestCheckWidths(t *testing.T) {
	before := runtime.GOMAXPROCS(2)
	defer runtime.GOMAXPROCS(before)
	a, b := open(t, 1, cpu.Options{}), open(t, 3, cpu.Options{})
	if err := cpu.CheckWidths(a); err != nil {
		t.Errorf("one worker and one goroutine on two: %v", err)
	}
	two := open(t, 2, cpu.Options{})
	runtime.GOMAXPROCS(3)
	if err := cpu.CheckWidths(two); (err == nil) != (runtime.NumCPU() >= 2) {
		t.Errorf("two workers and one goroutine on three, %d processors: %v", runtime.NumCPU(), err)
	}
	runtime.GOMAXPROCS(2)
	if err := cpu.CheckWidths(two); err == nil {
		t.Error("two workers and one goroutine on two pass")
	}
	var w *cpu.WidthError
	if err := cpu.CheckWidths(a, b); !errors.As(err, &w) || w.Widths != 4 || w.Procs != 2 || w.CPUs != runtime.NumCPU() {
		t.Errorf("four workers on two: %v", err)
	}
}

// What the machine cannot hold is refused before the attempt, which would end
// the process.
func TestMoreThanTheMachineHolds(t *testing.T) {
	e := open(t, 1, cpu.Options{})
	_, err := e.Alloc(engine.SpecOf(engine.Float64, 1<<40))
	var m *engine.MemoryError
	if !errors.As(err, &m) || m.Bytes < 1<<43 || m.Limit <= 0 || m.Limit >= 1<<43 {
		t.Fatalf("8 TiB: %v", err)
	}
	if s := e.Buffers(); s.LiveBytes != 0 {
		t.Errorf("%d bytes live after a refusal", s.LiveBytes)
	}
}

// hungry is an operation that wants more scratch than there is.
type hungry struct{ nothing }

// nothing does nothing.
type nothing struct{}

func (nothing) Name() string                                               { return "hungry" }
func (nothing) MayAlias(out, in int) bool                                  { return false }
func (nothing) Infer(in []engine.Spec) ([]engine.Spec, error)              { return in[:1], nil }
func (hungry) HostKernel(in, out []engine.Spec) (engine.HostKernel, error) { return hungry{}, nil }
func (hungry) Work() engine.Work                                           { return engine.Work{Scratch: 1 << 43} }
func (hungry) RunHost(_ engine.Lease, _, _ []*engine.Tensor) error         { return nil }

// So is a kernel that wants more scratch or workspace when it runs.
func TestMoreScratchThanTheMachineHolds(t *testing.T) {
	e := open(t, 2, cpu.Options{})
	long := engine.Spec{DType: engine.Int32, Shape: engine.ShapeOf(1 << 40), Strides: engine.StridesOf(0)}
	for op, in := range map[engine.Op]engine.Spec{hungry{}: engine.SpecOf(engine.Float64, 2), engine.TopK{K: 1}: long} {
		_, err := e.Bind(op, []engine.Spec{in}, nil)
		var m *engine.MemoryError
		if !errors.As(err, &m) || m.Op != op.Name() || m.Bytes < 1<<43 || m.Limit >= 1<<43 {
			t.Errorf("%s: %v", op.Name(), err)
		}
	}
}
