package cpu_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/ref"
)

// What refuses a call says which call, on what, and what to do.
func TestRefusalsNameTheCall(t *testing.T) {
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	two, err := cpu.New(pool, cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for on, e := range map[string]engine.Execution{"cpu engine of width 2, native": two, "reference engine": ref.New()} {
		a, err := engine.Zeros(e, engine.Float64, 3)
		if err != nil {
			t.Fatal(err)
		}
		k, err := e.Bind(engine.Add{}, []engine.Spec{a.Spec(), a.Spec()}, []engine.Spec{a.Spec()})
		if err != nil {
			t.Fatal(err)
		}
		args := func(n int) []*engine.Tensor { return []*engine.Tensor{a, a}[:n] }
		pass, err := e.Begin()
		if err != nil {
			t.Fatal(err)
		}
		busy := e.Run(k, args(1), args(2))
		_, begin := e.Begin()
		pass.End()
		ended := pass.Run(k, args(1), args(2))
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		_, alloc := e.Alloc(a.Spec())
		for _, c := range []struct {
			err  error
			is   error
			says string
			cure string
		}{
			{busy, engine.ErrBusy, "(Add on " + on + ")", "one engine each"},
			{begin, engine.ErrBusy, "(Begin on " + on + ")", "one engine each"},
			{ended, engine.ErrPassEnded, "(Add on " + on + ")", "Begin another"},
			{e.Run(k, args(1), args(2)), engine.ErrClosed, "(Add on " + on + ")", "make another"},
			{e.Run(nil, args(1), args(2)), engine.ErrClosed, "(kernel of type <nil> on " + on + ")", "make another"},
			{alloc, engine.ErrClosed, "(Alloc on " + on + ")", "make another"},
			{e.Err(), engine.ErrClosed, "(" + on + ")", "make another"},
		} {
			var call *engine.CallError
			if !errors.Is(c.err, c.is) || !errors.As(c.err, &call) || !strings.Contains(c.err.Error(), c.says) || !strings.Contains(c.err.Error(), c.cure) {
				t.Errorf("%v, want %v with %q and %q", c.err, c.is, c.says, c.cure)
			}
		}
		if err := e.Release(a); err != nil {
			t.Errorf("release after Close: %v", err)
		}
		if err := e.Release(a); !errors.Is(err, engine.ErrReleased) || !strings.Contains(err.Error(), "(Release on tensor ") {
			t.Errorf("second release: %v", err)
		}
	}
	if err := pool.Enter(func(int) {}); !errors.Is(err, cpu.ErrPoolClosed) || !strings.Contains(err.Error(), "(Enter on pool of 2 workers)") {
		t.Error(err)
	}
}
