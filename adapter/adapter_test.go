package adapter_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/ref"
	"github.com/hataori/hataori-go/lanes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newEngine returns an engine of the given width, whose pool calls onStart on
// its threads.
func newEngine(t *testing.T, width int, onStart func(worker int) error) *cpu.Engine {
	t.Helper()
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: width, OnStart: onStart})
	if err != nil {
		t.Fatal(err)
	}
	e, err := cpu.New(pool, cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// product computes (1 2; 3 4)·(5 6; 7 8) on e and compares it.
func product(e engine.Execution) error {
	a, err := engine.Upload(e, []float64{1, 2, 3, 4}, 2, 2)
	if err != nil {
		return err
	}
	b, err := engine.Upload(e, []float64{5, 6, 7, 8}, 2, 2)
	if err != nil {
		return err
	}
	c, err := engine.MatMul(e, a, b)
	if err != nil {
		return err
	}
	got, err := engine.Download[float64](e, c)
	if err != nil {
		return err
	}
	if want := []float64{19, 22, 43, 50}; !slices.Equal(got, want) {
		return fmt.Errorf("got %v want %v", got, want)
	}
	return errors.Join(e.Release(a), e.Release(b), e.Release(c))
}

func TestEngineIOnLaneI(t *testing.T) {
	engines := []*cpu.Engine{newEngine(t, 1, nil), newEngine(t, 2, nil), newEngine(t, 3, nil)}
	ex, err := adapter.New(engines, adapter.Options[*cpu.Engine]{})
	if err != nil {
		t.Fatal(err)
	}
	if ex.Lanes() != 3 || ex.Ready() != nil {
		t.Fatalf("%d lanes, %v", ex.Lanes(), ex.Ready())
	}
	for run := range 3 {
		err := ex.Run(func(_ *lanes.Control, lane lanes.Lane, e *cpu.Engine) error {
			if e != engines[lane] || e.Width() != int(lane)+1 {
				return fmt.Errorf("run %d: lent an engine of width %d", run, e.Width())
			}
			return product(e)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestEnginesStayWarmBetweenRuns(t *testing.T) {
	engines := []*cpu.Engine{newEngine(t, 1, nil), newEngine(t, 2, nil)}
	ex, err := adapter.New(engines, adapter.Options[*cpu.Engine]{})
	if err != nil {
		t.Fatal(err)
	}
	body := func(_ *lanes.Control, _ lanes.Lane, e *cpu.Engine) error { return product(e) }
	if err := ex.Run(body); err != nil {
		t.Fatal(err)
	}
	for i, e := range engines {
		plans, buffers := e.Plans().Stats(), e.Buffers()
		if err := ex.Run(body); err != nil {
			t.Fatal(err)
		}
		if now := e.Plans().Stats(); now.Misses != plans.Misses || now.Hits == plans.Hits {
			t.Errorf("engine %d: plans %+v, then %+v", i, plans, now)
		}
		if now := e.Buffers(); now.Fresh != buffers.Fresh || now.Reused == buffers.Reused {
			t.Errorf("engine %d: buffers %+v, then %+v", i, buffers, now)
		}
	}
}

func TestEnginesOfSeveralKinds(t *testing.T) {
	engines := []engine.Execution{ref.New(), newEngine(t, 2, nil)}
	ex, err := adapter.New(engines, adapter.Options[engine.Execution]{})
	if err != nil {
		t.Fatal(err)
	}
	kinds := make([]string, 2)
	err = ex.Run(func(_ *lanes.Control, lane lanes.Lane, e engine.Execution) error {
		kinds[lane] = e.Target().Kind
		return product(e)
	})
	if err != nil || !slices.Equal(kinds, []string{"ref", "cpu"}) {
		t.Errorf("%v, %v", kinds, err)
	}
}

// exploding is an operation of the caller's own that panics.
type exploding struct{}

func (exploding) Name() string                                  { return "exploding" }
func (exploding) Infer(in []engine.Spec) ([]engine.Spec, error) { return in, nil }
func (exploding) MayAlias(_, _ int) bool                        { return false }
func (exploding) Work() engine.Work                             { return engine.Work{} }
func (exploding) RunHost(engine.Lease, []*engine.Tensor, []*engine.Tensor) error {
	panic("bang")
}
func (o exploding) HostKernel(_, _ []engine.Spec) (engine.HostKernel, error) { return o, nil }

func TestBrokenEngineMakesItsLaneUnhealthy(t *testing.T) {
	engines := []*cpu.Engine{newEngine(t, 1, nil), newEngine(t, 1, nil)}
	ex, err := adapter.New(engines, adapter.Options[*cpu.Engine]{})
	if err != nil {
		t.Fatal(err)
	}
	err = ex.Run(func(_ *lanes.Control, lane lanes.Lane, e *cpu.Engine) error {
		if err := ex.Healthy(lane); err != nil {
			return fmt.Errorf("before: %w", err)
		}
		if lane == 0 {
			return product(e)
		}
		x, err := engine.Upload(e, []float64{1}, 1)
		if err != nil {
			return err
		}
		_, err = engine.Apply(e, exploding{}, x, nil)
		if !errors.Is(err, engine.ErrBroken) {
			return fmt.Errorf("the operation that breaks: %v", err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := ex.Healthy(0); err != nil {
		t.Errorf("lane 0: %v", err)
	}
	var ue *lanes.UnhealthyError
	if err := ex.Healthy(1); !errors.As(err, &ue) || ue.Lane != 1 || !errors.Is(err, engine.ErrBroken) {
		t.Errorf("lane 1: %v", err)
	}
	if err := engines[0].Close(); err != nil {
		t.Fatal(err)
	}
	if err := ex.Healthy(0); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("lane 0 after Close: %v", err)
	}
}

func TestRefusedLists(t *testing.T) {
	if _, err := adapter.New[*cpu.Engine](nil, adapter.Options[*cpu.Engine]{}); err != adapter.ErrNoEngine {
		t.Errorf("no engine: %v", err)
	}
	e := newEngine(t, 1, nil)
	for name, c := range map[string]struct {
		list  []engine.Execution
		index int
	}{
		"nil":         {[]engine.Execution{e, nil}, 1},
		"nil pointer": {[]engine.Execution{(*cpu.Engine)(nil)}, 0},
		"twice":       {[]engine.Execution{e, ref.New(), e}, 2},
	} {
		var ee *adapter.EngineError
		if _, err := adapter.New(c.list, adapter.Options[engine.Execution]{}); !errors.As(err, &ee) || ee.Index != c.index {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStartHook(t *testing.T) {
	engines := []*cpu.Engine{newEngine(t, 1, nil), newEngine(t, 1, nil)}
	boom := errors.New("cannot pin")
	ex, err := adapter.New(engines, adapter.Options[*cpu.Engine]{OnStart: func(lane lanes.Lane, e *cpu.Engine) error {
		if e != engines[lane] {
			t.Errorf("lane %d: another lane's engine", lane)
		}
		if lane == 1 {
			return boom
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	var ee *lanes.ExecutorError
	err = ex.Run(func(*lanes.Control, lanes.Lane, *cpu.Engine) error { t.Error("a body ran"); return nil })
	if !errors.As(err, &ee) || ee.Lane != 1 || !errors.Is(err, boom) {
		t.Errorf("got %v", err)
	}
}
