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
