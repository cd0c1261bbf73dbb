package cpu_test

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
)

// A pass that has ended is told apart from an Enter that is going on.
func TestEndedPassBesideEnter(t *testing.T) {
	pool := enterable(t, 2)
	e, err := cpu.New(pool, cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	pass, err := e.Begin()
	if err != nil {
		t.Fatal(err)
	}
	pass.End()
	if err := pool.Enter(func(w int) {
		if w != 0 {
			return
		}
		if err := pass.Run(nil, nil, nil); !errors.Is(err, engine.ErrPassEnded) {
			t.Errorf("Run of the pass: %v", err)
		}
		pass.End()
		if _, err := e.Begin(); !errors.Is(err, engine.ErrCallerInOwnPool) {
			t.Errorf("Begin after the second End: %v", err)
		}
	}); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// Passes allocate nothing.
func TestPassAllocates(t *testing.T) {
	e := open(t, 1, cpu.Options{})
	if n := testing.AllocsPerRun(1000, func() {
		p, err := e.Begin()
		if err != nil {
			t.Fatal(err)
		}
		p.End()
	}); n != 0 {
		t.Errorf("a pass takes %g allocations", n)
	}
}

// within fails the test unless f returns; the limit is generous.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

// A worker whose body called Goexit, and whose new thread OnStart refuses, is lost:
// Enter says so, operations do without it.
func TestLostWorker(t *testing.T) {
	boom := errors.New("boom")
	for _, fault := range []struct {
		name  string
		start func() error
		want  error
	}{
		{"error", func() error { return boom }, boom},
		{"panic", func() error { panic(boom) }, cpu.ErrWorkerLost},
		{"Goexit", func() error { runtime.Goexit(); return nil }, cpu.ErrGoexit},
	} {
		t.Run(fault.name, func(t *testing.T) {
			var starts atomic.Int64
			pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 3, OnStart: func(w int) error {
				if starts.Add(1) > 2 {
					return fault.start()
				}
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			within(t, "the Enter whose body calls Goexit", func() {
				defer func() {
					if p, ok := recover().(*cpu.Panic); !ok || p.Worker != 1 || !errors.Is(p, cpu.ErrGoexit) {
						t.Errorf("panic %v", p)
					}
				}()
				_ = pool.Enter(func(w int) {
					if w == 1 {
						runtime.Goexit()
					}
				})
			})
			if n := starts.Load(); n != 3 {
				t.Errorf("%d threads had been started when Enter returned", n)
			}
			within(t, "the next Enter", func() {
				err := pool.Enter(func(w int) { t.Errorf("the body is run on worker %d", w) })
				if !errors.Is(err, cpu.ErrWorkerLost) || !errors.Is(err, fault.want) {
					t.Errorf("the next Enter: %v", err)
				}
			})
			e, err := cpu.New(pool, cpu.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var sum atomic.Int64
			within(t, "an operation", func() {
				if err := do(e, func(l engine.Lease) error {
					l.For(100, func(_, lo, hi int) { sum.Add(int64(hi - lo)) })
					return nil
				}); err != nil || sum.Load() != 100 {
					t.Errorf("an operation: %v after %d of 100", err, sum.Load())
				}
			})
			within(t, "Close", func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// A thread that OnStart ends does not keep NewPool waiting.
func TestOnStartGoexit(t *testing.T) {
	within(t, "NewPool", func() {
		_, err := cpu.NewPool(cpu.PoolOptions{Workers: 2, OnStart: func(int) error { runtime.Goexit(); return nil }})
		if !errors.Is(err, cpu.ErrGoexit) {
			t.Errorf("OnStart calls Goexit: %v", err)
		}
	})
}
