package lanes_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
)

// liveness is how long a run that ought to return may take before a test calls
// it hung. It decides nothing else.
const liveness = 30 * time.Second

// within runs f, which must return (or panic) in time, and gives its panic.
func within(t *testing.T, f func()) (panicked any) {
	t.Helper()
	done := make(chan any, 1)
	go func() {
		defer func() { done <- recover() }()
		f()
	}()
	select {
	case v := <-done:
		return v
	case <-time.After(liveness):
		buf := make([]byte, 1<<16)
		t.Fatalf("hangs:\n%s", buf[:runtime.Stack(buf, true)])
		return nil
	}
}

// wait waits for the control and returns its cause.
func wait(ctl *lanes.Control) error {
	<-ctl.Done()
	return ctl.Cause()
}

func TestLanesKeepTheirResources(t *testing.T) {
	resources := []string{"a", "b", "c"}
	ex := lanes.Of(resources, lanes.Options[string]{})
	resources[0] = "changed by the caller"
	for range 3 {
		got := make([]string, ex.Lanes())
		var ids sync.Map
		err := ex.Run(func(_ *lanes.Control, lane lanes.Lane, r string) error {
			got[lane] = r
			ids.Store(stackID(), lane)
			return nil
		})
		if err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Fatalf("got %q, %v", got, err)
		}
		n := 0
		ids.Range(func(id, _ any) bool { n++; return id != stackID() })
		if n != 3 {
			t.Fatalf("%d goroutines ran 3 lanes, or the caller's was one", n)
		}
	}
}

func stackID() string {
	var buf [64]byte
	return strings.Fields(string(buf[:runtime.Stack(buf[:], false)]))[1]
}

func TestPlainLanes(t *testing.T) {
	ex := lanes.New(4)
	got := make([]lanes.Lane, 4)
	if err := ex.Run(func(_ *lanes.Control, lane, r lanes.Lane) error { got[lane] = r; return nil }); err != nil {
		t.Fatal(err)
	}
	if want := []lanes.Lane{0, 1, 2, 3}; !slices.Equal(got, want) {
		t.Fatalf("got %v want %v", got, want)
	}
}

func TestWithoutLanes(t *testing.T) {
	cause := errors.New("no device")
	for name, c := range map[string]struct {
		ex   *lanes.Set[lanes.Lane]
		want error
	}{
		"New(0)":      {lanes.New(0), lanes.ErrNoLanes},
		"New(-1)":     {lanes.New(-1), lanes.ErrNoLanes},
		"Of(nil)":     {lanes.Of[lanes.Lane](nil, lanes.Options[lanes.Lane]{}), lanes.ErrNoLanes},
		"Failed":      {lanes.Failed[lanes.Lane](cause), cause},
		"Failed(nil)": {lanes.Failed[lanes.Lane](nil), lanes.ErrNoLanes},
	} {
		t.Run(name, func(t *testing.T) {
			if n := c.ex.Lanes(); n != 0 {
				t.Errorf("%d lanes", n)
			}
			if err := c.ex.Ready(); err != c.want {
				t.Errorf("Ready: %v", err)
			}
			body := func(*lanes.Control, lanes.Lane, lanes.Lane) error { t.Error("body ran"); return nil }
			for _, err := range []error{
				c.ex.Run(body),
				c.ex.RunWithCoordinator(body, func(*lanes.Control) error { t.Error("coordinator ran"); return nil }),
			} {
				var ee *lanes.ExecutorError
				if !errors.As(err, &ee) || ee.Lane != lanes.NoLane || !errors.Is(err, c.want) {
					t.Errorf("run: %v", err)
				}
			}
			var ue *lanes.UnhealthyError
			if err := c.ex.Healthy(0); !errors.As(err, &ue) || ue.Lane != 0 {
				t.Errorf("Healthy: %v", err)
			}
		})
	}
}

func TestLowestLaneErrorWins(t *testing.T) {
	// Lane 2 fails first in time, then 1, then 3; lane 0 is clean.
	order := []lanes.Lane{2, 1, 3}
	turn := make([]chan struct{}, 4)
	for i := range turn {
		turn[i] = make(chan struct{})
	}
	ex := lanes.New(4)
	var err error
	within(t, func() {
		err = ex.Run(func(_ *lanes.Control, lane, _ lanes.Lane) error {
			k := slices.Index(order, lane)
			if k < 0 {
				return nil
			}
			if k > 0 {
				<-turn[k-1]
			}
			defer close(turn[k])
			return fmt.Errorf("from %d", lane)
		})
	})
	var le *lanes.LaneError
	if !errors.As(err, &le) || le.Lane != 1 || le.Err.Error() != "from 1" {
		t.Fatalf("got %v", err)
	}
}

// A lane that hands on why it was cancelled must not hide who failed.
func TestRepeatedCauseIsNotAFailure(t *testing.T) {
	boom := errors.New("boom")
	ex := lanes.New(3)
	body := func(ctl *lanes.Control, lane, _ lanes.Lane) error {
		if lane == 2 {
			return boom
		}
		return fmt.Errorf("stopping: %w", wait(ctl))
	}
	var le *lanes.LaneError
	if err := ex.Run(body); !errors.As(err, &le) || le.Lane != 2 || le.Err != boom {
		t.Errorf("run: %v", err)
	}

	waiting := func(ctl *lanes.Control, _, _ lanes.Lane) error { return wait(ctl) }
	if err := ex.RunWithCoordinator(waiting, func(*lanes.Control) error { return nil }); err != nil {
		t.Errorf("after a normal return of the coordinator: %v", err)
	}
	var ce *lanes.CoordinatorError
	if err := ex.RunWithCoordinator(waiting, func(*lanes.Control) error { return boom }); !errors.As(err, &ce) || ce.Err != boom {
		t.Errorf("after a coordinator error: %v", err)
	}

	// An explicit Cancel is nobody's failure until somebody returns it.
	err := ex.RunWithCoordinator(waiting, func(ctl *lanes.Control) error { ctl.Cancel(boom); return nil })
	if !errors.As(err, &le) || le.Lane != 0 || le.Err != boom {
		t.Errorf("after Cancel: %v", err)
	}
}

func TestCoordinatorErrorYieldsToLaneError(t *testing.T) {
	ex := lanes.New(2)
	fromLane, fromCoordinator := errors.New("lane"), errors.New("coordinator")
	err := ex.RunWithCoordinator(
		func(ctl *lanes.Control, lane, _ lanes.Lane) error {
			<-ctl.Done()
			if lane == 1 {
				return fromLane
			}
			return nil
		},
		func(*lanes.Control) error { return fromCoordinator })
	var le *lanes.LaneError
	if !errors.As(err, &le) || le.Lane != 1 || !errors.Is(err, fromLane) || errors.Is(err, fromCoordinator) {
		t.Fatalf("got %v", err)
	}
}

func TestStartHookFailure(t *testing.T) {
	boom := errors.New("cannot pin")
	hooks := map[string]func() error{
		"error":  func() error { return boom },
		"goexit": func() error { runtime.Goexit(); return nil },
	}
	for name, fail := range hooks {
		t.Run(name, func(t *testing.T) {
			var bodies, joined atomic.Int32
			ex := lanes.Of([]int{10, 11, 12, 13}, lanes.Options[int]{OnStart: func(lane lanes.Lane, r int) error {
				if r != 10+int(lane) {
					t.Errorf("hook of lane %d got %d", lane, r)
				}
				defer joined.Add(1)
				if lane == 1 || lane == 3 {
					return fail()
				}
				return nil
			}})
			body := func(*lanes.Control, lanes.Lane, int) error { bodies.Add(1); return nil }
			want := boom
			if name == "goexit" {
				want = lanes.ErrGoexit
			}
			check := func(err error) {
				t.Helper()
				var ee *lanes.ExecutorError
				if !errors.As(err, &ee) || ee.Lane != 1 || ee.Err != want {
					t.Errorf("got %v", err)
				}
			}
			within(t, func() {
				check(ex.Run(body))
				check(ex.RunWithCoordinator(body, func(ctl *lanes.Control) error {
					var ee *lanes.ExecutorError
					if cause := wait(ctl); !errors.As(cause, &ee) {
						t.Errorf("the coordinator sees %v", cause)
					}
					<-ctl.LanesDone()
					return errors.New("yields to the executor's")
				}))
			})
			if bodies.Load() != 0 || joined.Load() != 8 {
				t.Errorf("%d bodies ran, %d of 8 hooks were joined", bodies.Load(), joined.Load())
			}
		})
	}
}

func TestStartHookPanic(t *testing.T) {
	ex := lanes.Of([]int{0, 1}, lanes.Options[int]{OnStart: func(lane lanes.Lane, _ int) error {
		if lane == 1 {
			panic("in a hook")
		}
		return nil
	}})
	v := within(t, func() {
		_ = ex.Run(func(*lanes.Control, lanes.Lane, int) error { t.Error("body ran"); return nil })
	})
	if p, ok := v.(*lanes.Panic); !ok || p.Lane != 1 || p.Value != "in a hook" {
		t.Fatalf("got %v", v)
	}
}

func TestHooksPrecedeBodiesOnTheSameGoroutine(t *testing.T) {
	var hooks atomic.Int32
	ids := make([]string, 3)
	ex := lanes.Of(make([]int, 3), lanes.Options[int]{LockOSThread: true, OnStart: func(lane lanes.Lane, _ int) error {
		ids[lane] = stackID()
		hooks.Add(1)
		return nil
	}})
	err := ex.Run(func(_ *lanes.Control, lane lanes.Lane, _ int) error {
		if n := hooks.Load(); n != 3 {
			return fmt.Errorf("the body began after %d hooks", n)
		}
		if id := stackID(); id != ids[lane] {
			return fmt.Errorf("hook on goroutine %s, body on %s", ids[lane], id)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

//go:noinline
func blowUp(value any) error { panic(value) }

func TestPanicIsRaisedAfterTheJoin(t *testing.T) {
	boom := errors.New("boom")
	var ended atomic.Int32
	ex := lanes.New(3)
	v := within(t, func() {
		_ = ex.Run(func(ctl *lanes.Control, lane, _ lanes.Lane) error {
			if lane == 1 {
				return blowUp(boom)
			}
			<-ctl.Done()
			time.Sleep(time.Millisecond)
			ended.Add(1)
			return errors.New("an error yields to a panic")
		})
	})
	p, ok := v.(*lanes.Panic)
	if !ok || p.Lane != 1 || p.Value != any(boom) || !errors.Is(p, boom) || len(p.Others) != 0 {
		t.Fatalf("got %v", v)
	}
	if ended.Load() != 2 {
		t.Errorf("raised before the join: %d of 2 lanes had ended", ended.Load())
	}
	if !strings.Contains(string(p.Stack), "lanes_test.blowUp") || !strings.Contains(p.Error(), string(p.Stack)) {
		t.Errorf("the stack is not the panicking body's: %s", p.Stack)
	}
	if err := ex.Run(func(*lanes.Control, lanes.Lane, lanes.Lane) error { return nil }); err != nil {
		t.Errorf("not usable after a panic: %v", err)
	}
}

func TestPanicPrecedence(t *testing.T) {
	ex := lanes.New(4)
	v := within(t, func() {
		_ = ex.RunWithCoordinator(func(ctl *lanes.Control, lane, _ lanes.Lane) error {
			switch <-ctl.Done(); lane {
			case 1, 3:
				return blowUp(int(lane))
			}
			return nil
		}, func(*lanes.Control) error { panic("first in time") })
	})
	p, ok := v.(*lanes.Panic)
	if !ok || p.Lane != 1 || p.Value != 1 || len(p.Others) != 2 {
		t.Fatalf("got %v", v)
	}
	if o := p.Others[0]; o.Lane != 3 || o.Value != 3 {
		t.Errorf("second: %v", o)
	}
	if o := p.Others[1]; o.Lane != lanes.NoLane || o.Value != "first in time" {
		t.Errorf("third: %v", o)
	}
}

func TestGoexitIsAFailure(t *testing.T) {
	ex := lanes.New(2)
	var err error
	within(t, func() {
		err = ex.Run(func(ctl *lanes.Control, lane, _ lanes.Lane) error {
			if lane == 1 {
				runtime.Goexit()
			}
			return wait(ctl)
		})
	})
	var le *lanes.LaneError
	if !errors.As(err, &le) || le.Lane != 1 || le.Err != lanes.ErrGoexit {
		t.Fatalf("got %v", err)
	}
}

// A coordinator's Goexit ends the goroutine that called, as it must, but not
// before the lanes are joined.
func TestGoexitOfTheCoordinator(t *testing.T) {
	ex := lanes.New(2)
	var ended atomic.Int32
	exited := make(chan bool, 1)
	cause := make(chan error, 2)
	go func() {
		returned := false
		defer func() { exited <- !returned && ended.Load() == 2 }()
		_ = ex.RunWithCoordinator(func(ctl *lanes.Control, _, _ lanes.Lane) error {
			cause <- wait(ctl)
			ended.Add(1)
			return nil
		}, func(*lanes.Control) error { runtime.Goexit(); return nil })
		returned = true
	}()
	select {
	case ok := <-exited:
		if !ok {
			t.Fatal("the call returned, or the lanes were not joined")
		}
	case <-time.After(liveness):
		t.Fatal("hangs")
	}
	if err := <-cause; !errors.Is(err, lanes.ErrGoexit) {
		t.Errorf("cause %v", err)
	}
	if err := ex.Run(func(*lanes.Control, lanes.Lane, lanes.Lane) error { return nil }); err != nil {
		t.Errorf("not usable afterwards: %v", err)
	}
}

func TestBusy(t *testing.T) {
	ex := lanes.New(2)
	nothing := func(*lanes.Control, lanes.Lane, lanes.Lane) error { return nil }
	err := ex.RunWithCoordinator(func(ctl *lanes.Control, _, _ lanes.Lane) error { <-ctl.Done(); return nil },
		func(*lanes.Control) error {
			if err := ex.Run(nothing); err != lanes.ErrBusy {
				t.Errorf("from the coordinator: %v", err)
			}
			other := make(chan error)
			go func() {
				other <- ex.RunWithCoordinator(nothing, func(*lanes.Control) error { return nil })
			}()
			if err := <-other; err != lanes.ErrBusy {
				t.Errorf("from another goroutine: %v", err)
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
	if err := ex.Run(nothing); err != nil {
		t.Errorf("not usable afterwards: %v", err)
	}
}

func TestReentrant(t *testing.T) {
	nothing := func(*lanes.Control, lanes.Lane, lanes.Lane) error { return nil }
	a, b := lanes.New(2), lanes.New(2)
	err := a.Run(func(_ *lanes.Control, lane, _ lanes.Lane) error {
		if err := a.Run(nothing); err != lanes.ErrReentrant {
			return fmt.Errorf("directly: %v", err)
		}
		deep := func() error { return a.RunWithCoordinator(nothing, func(*lanes.Control) error { return nil }) }
		if err := grow(64, deep); err != lanes.ErrReentrant {
			return fmt.Errorf("from a stack that has moved: %v", err)
		}
		if lane == 0 { // another executor may be driven, and its coordinator is still this lane
			err := b.RunWithCoordinator(nothing, func(*lanes.Control) error { return a.Run(nothing) })
			if !errors.Is(err, lanes.ErrReentrant) {
				return fmt.Errorf("through another executor: %v", err)
			}
			err = b.Run(func(*lanes.Control, lanes.Lane, lanes.Lane) error { return a.Run(nothing) })
			if !errors.Is(err, lanes.ErrBusy) {
				return fmt.Errorf("from another executor's lanes: %v", err)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// grow calls f below a stack that has to be moved.
func grow(depth int, f func() error) error {
	var pad [1024]byte
	if depth > 0 {
		err := grow(depth-1, f)
		runtime.KeepAlive(&pad)
		return err
	}
	return f()
}

func TestHealthy(t *testing.T) {
	broken := errors.New("broken")
	var bad atomic.Bool
	ex := lanes.Of([]string{"x", "y"}, lanes.Options[string]{Healthy: func(lane lanes.Lane, r string) error {
		if bad.Load() && r == "y" {
			return broken
		}
		return nil
	}})
	err := ex.Run(func(_ *lanes.Control, lane lanes.Lane, _ string) error {
		if lane == 1 {
			bad.Store(true)
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
	if err := ex.Healthy(1); !errors.As(err, &ue) || ue.Lane != 1 || !errors.Is(err, broken) {
		t.Errorf("lane 1: %v", err)
	}
	for _, lane := range []lanes.Lane{-1, 2} {
		if err := ex.Healthy(lane); !errors.As(err, &ue) || ue.Lane != lane {
			t.Errorf("lane %d: %v", lane, err)
		}
	}
}

func TestControl(t *testing.T) {
	ctl, lanesEnded := lanes.NewControl()
	if ctl.Cause() != nil {
		t.Errorf("cause before cancelling: %v", ctl.Cause())
	}
	select {
	case <-ctl.Done():
		t.Error("done before cancelling")
	case <-ctl.LanesDone():
		t.Error("lanes done at the start")
	default:
	}
	first := errors.New("first")
	ctl.Cancel(first)
	ctl.Cancel(errors.New("second"))
	if err := wait(ctl); err != first {
		t.Errorf("cause %v", err)
	}
	lanesEnded()
	<-ctl.LanesDone()

	ctl, _ = lanes.NewControl()
	ctl.Cancel(nil)
	if err := wait(ctl); !errors.Is(err, context.Canceled) {
		t.Errorf("cause of Cancel(nil): %v", err)
	}
}

func TestControlIsCancelledAfterTheRun(t *testing.T) {
	var ctl *lanes.Control
	if err := lanes.New(1).Run(func(c *lanes.Control, _, _ lanes.Lane) error { ctl = c; return nil }); err != nil {
		t.Fatal(err)
	}
	if err := wait(ctl); err != lanes.ErrEnded {
		t.Errorf("cause %v", err)
	}
	<-ctl.LanesDone()
}

func TestNilBodyAndCoordinatorPanic(t *testing.T) {
	if v := within(t, func() { _ = lanes.New(1).Run(nil) }); v == nil {
		t.Error("nil body accepted")
	}
	if v := within(t, func() {
		_ = lanes.New(1).RunWithCoordinator(func(*lanes.Control, lanes.Lane, lanes.Lane) error { return nil }, nil)
	}); v == nil {
		t.Error("nil coordinator accepted")
	}
}
