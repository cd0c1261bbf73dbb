package cpu_test

import (
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/enginetest"
)

func open(t *testing.T, width int, opts cpu.Options) *cpu.Engine {
	t.Helper()
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: width})
	if err != nil {
		t.Fatal(err)
	}
	e, err := cpu.New(pool, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() }) // ErrBusy only after a failure that is reported
	return e
}

func TestSerial(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) engine.Execution {
		e, err := cpu.Serial(cpu.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return e
	})
}

func TestPool2(t *testing.T) {
	enginetest.Run(t, func(t *testing.T) engine.Execution { return open(t, 2, cpu.Options{}) })
}

func TestWarm(t *testing.T) {
	enginetest.RunWarm(t, func(t *testing.T) engine.Execution { return open(t, 1, cpu.Options{}) })
}
