package cpu_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call is an operation that runs a function of the test's on a lease.
type call struct {
	id   int
	flop float64
}

var calls sync.Map // id → func(engine.Lease) error

func (call) Name() string              { return "cpu_test.Call" }
func (call) MayAlias(out, in int) bool { return true }
func (call) Infer(in []engine.Spec) ([]engine.Spec, error) {
	return []engine.Spec{in[0].Compact()}, nil
}
func (c call) HostKernel(in, out []engine.Spec) (engine.HostKernel, error) { return c, nil }
func (c call) Work() engine.Work                                           { return engine.Work{Flops: c.flop} }
func (c call) RunHost(l engine.Lease, out, in []*engine.Tensor) error {
	f, _ := calls.Load(c.id)
	return f.(func(engine.Lease) error)(l)
}

var nextCall atomic.Int64

// do runs f inside an operation of e that is big enough for the whole pool.
func do(e *cpu.Engine, f func(l engine.Lease) error) error {
	c := call{id: int(nextCall.Add(1)), flop: 1e12}
	calls.Store(c.id, f)
	defer calls.Delete(c.id)
	return run(e, c)
}

func run(e *cpu.Engine, op engine.Op) error {
	t, err := engine.FromSlice([]float64{1, 2}, 2)
	if err != nil {
		return err
	}
	k, err := e.Bind(op, []engine.Spec{t.Spec()}, nil)
	if err != nil {
		return err
	}
	return e.Run(k, []*engine.Tensor{t}, []*engine.Tensor{t})
}

func TestPoolOptions(t *testing.T) {
	for _, n := range []int{0, -1, 1 << 20} {
		if _, err := cpu.NewPool(cpu.PoolOptions{Workers: n}); err == nil {
			t.Errorf("a pool of %d workers was made", n)
		}
	}
	boom := errors.New("boom")
	_, err := cpu.NewPool(cpu.PoolOptions{Workers: 3, OnStart: func(w int) error {
		if w == 2 {
			return boom
		}
		return nil
	}})
	if !errors.Is(err, boom) {
		t.Errorf("failing OnStart: %v", err)
	}
	if _, err = cpu.NewPool(cpu.PoolOptions{Workers: 2, OnStart: func(int) error { panic("boom") }}); err == nil {
		t.Error("panicking OnStart is lost")
	}
	if _, err := cpu.New(nil, cpu.Options{}); err == nil {
		t.Error("New(nil) made an engine")
	}
	if _, err := cpu.Serial(cpu.Options{MaxBytes: -1}); err == nil {
		t.Error("negative MaxBytes accepted")
	}
}

func TestOnStartRunsOnEachThread(t *testing.T) {
	var mu sync.Mutex
	var started []int
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 4, OnStart: func(w int) error {
		mu.Lock()
		defer mu.Unlock()
		started = append(started, w)
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	slices.Sort(started)
	if !slices.Equal(started, []int{1, 2, 3}) {
		t.Errorf("OnStart ran for workers %v", started)
	}
	ids := pool.Threads()
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 3 || slices.Contains(ids, 0) {
		t.Errorf("threads %v are not three different ones", ids)
	}
	if pool.Workers() != 4 {
		t.Errorf("width %d", pool.Workers())
	}
}

func TestPoolBacksOneEngine(t *testing.T) {
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	e, err := cpu.New(pool, cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cpu.New(pool, cpu.Options{}); !errors.Is(err, cpu.ErrPoolTaken) {
		t.Errorf("second engine: %v", err)
	}
	if err := pool.Close(); !errors.Is(err, cpu.ErrPoolTaken) {
		t.Errorf("Close of a pool in use: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if err := pool.Enter(func(int) {}); !errors.Is(err, cpu.ErrPoolClosed) {
		t.Errorf("Enter after Close: %v", err)
	}
	idle, err := cpu.NewPool(cpu.PoolOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(idle.Close(), idle.Close()); err != nil {
		t.Error(err)
	}
	if _, err := cpu.New(idle, cpu.Options{}); !errors.Is(err, cpu.ErrPoolClosed) {
		t.Errorf("engine over a closed pool: %v", err)
	}
}

// A second caller is refused at once, also while the pool works.
func TestBusy(t *testing.T) {
	for _, width := range []int{1, 2} {
		e := open(t, width, cpu.Options{})
		inside, leave := make(chan struct{}), make(chan struct{})
		done := make(chan error)
		go func() {
			done <- do(e, func(l engine.Lease) error {
				close(inside)
				<-leave
				return nil
			})
		}()
		<-inside
		if err := run(e, engine.Copy{}); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("width %d: second caller: %v", width, err)
		}
		if _, err := e.Begin(); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("width %d: second pass: %v", width, err)
		}
		if err := e.Close(); !errors.Is(err, engine.ErrBusy) {
			t.Errorf("width %d: Close: %v", width, err)
		}
		// Binding, allocating and releasing go on.
		if _, err := e.Bind(engine.Conj{}, []engine.Spec{engine.SpecOf(engine.Float64, 3)}, nil); err != nil {
			t.Error(err)
		}
		if x, err := e.Alloc(engine.SpecOf(engine.Float64, 3)); err != nil || e.Release(x) != nil {
			t.Error("Alloc and Release beside a run")
		}
		close(leave)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := run(e, engine.Copy{}); err != nil {
			t.Errorf("width %d: after the run: %v", width, err)
		}
	}
}

// Every worker of a pool, the caller included, is told apart from others.
func TestCallerInOwnPool(t *testing.T) {
	const width = 3
	e := open(t, width, cpu.Options{})
	other, err := cpu.Serial(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var refused [width]atomic.Int64
	body := func(worker int) error {
		if err := run(e, engine.Copy{}); !errors.Is(err, engine.ErrCallerInOwnPool) {
			return fmt.Errorf("worker %d: %w", worker, err)
		}
		refused[worker].Add(1)
		return nil
	}
	// A barrier in Enter shows that all workers run at the same time.
	pool := enterable(t, width)
	mine, err := cpu.New(pool, cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer mine.Close()
	var barrier sync.WaitGroup
	barrier.Add(width)
	errs := make([]error, width)
	if err := pool.Enter(func(w int) {
		barrier.Done()
		barrier.Wait()
		if err := run(mine, engine.Copy{}); !errors.Is(err, engine.ErrCallerInOwnPool) {
			errs[w] = fmt.Errorf("worker %d in Enter: %w", w, err)
		}
		if w == 1 { // a serial engine is safe inside any pool
			errs[w] = errors.Join(errs[w], run(other, engine.Copy{}))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if err := run(mine, engine.Copy{}); err != nil {
		t.Errorf("after Enter: %v", err)
	}
	// Inside an operation: workers take parts until each has had one.
	var mu sync.Mutex
	var bad error
	err = do(e, func(l engine.Lease) error {
		l.For(4*width, func(worker, lo, hi int) {
			err := body(worker)
			mu.Lock()
			bad = errors.Join(bad, err)
			mu.Unlock()
			for deadline := time.Now().Add(2 * time.Second); time.Now().Before(deadline) && !all(refused[:]); {
				runtime.Gosched()
			}
		})
		return nil
	})
	if err := errors.Join(err, bad); err != nil {
		t.Error(err)
	}
	if !all(refused[:]) {
		t.Error("a worker of the pool took no part within 2 s")
	}
	// A goroutine that is no worker is only busy.
	err = do(e, func(l engine.Lease) error {
		got := make(chan error)
		go func() { got <- run(e, engine.Copy{}) }()
		return <-got
	})
	if !errors.Is(err, engine.ErrBusy) {
		t.Errorf("a stranger during an operation: %v", err)
	}
}

func all(n []atomic.Int64) bool {
	for i := range n {
		if n[i].Load() == 0 {
			return false
		}
	}
	return true
}

func enterable(t *testing.T, width int) *cpu.Pool {
	t.Helper()
	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: width})
	if err != nil {
		t.Fatal(err)
	}
	return pool
}

func TestEnterPanics(t *testing.T) {
	for _, bad := range []int{0, 1} {
		boom := []error{errors.New("boom"), cpu.ErrGoexit}[bad] // a value that is no Goexit by itself
		pool := enterable(t, 2)
		e, err := cpu.New(pool, cpu.Options{})
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				p, ok := recover().(*cpu.Panic)
				if !ok || p.Worker != bad || !errors.Is(p, boom) || len(p.Stack) == 0 {
					t.Errorf("worker %d: panic %v", bad, p)
				}
			}()
			_ = pool.Enter(func(w int) {
				if w == bad {
					panic(boom)
				}
			})
		}()
		if err := errors.Join(run(e, engine.Copy{}), pool.Enter(func(int) {}), e.Close()); err != nil {
			t.Errorf("after a panic in Enter: %v", err)
		}
	}
}

// A panic on any worker breaks the engine; a Goexit counts as one.
func TestBroken(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		bad  func()
		want error
	}{{"panic", func() { panic(boom) }, boom}, {"Goexit", runtime.Goexit, cpu.ErrGoexit}} {
		for _, where := range []struct{ width, worker int }{{1, 0}, {3, 0}, {3, 1}, {3, 2}} {
			t.Run(fmt.Sprintf("%s on worker %d of %d", c.name, where.worker, where.width), func(t *testing.T) {
				testBroken(t, where.width, where.worker, c.bad, c.want)
			})
		}
	}
}

func testBroken(t *testing.T, width, culprit int, bad func(), want error) {
	e := open(t, width, cpu.Options{})
	x, err := e.Alloc(engine.SpecOf(engine.Float64, 4))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		defer close(done)
		hit := make(chan struct{})
		done <- do(e, func(l engine.Lease) error {
			l.For(50, func(worker, lo, hi int) {
				if worker == culprit {
					select {
					case <-hit:
					default:
						close(hit)
						bad()
					}
				}
				select { // parts are left when the culprit leaves
				case <-hit:
				case <-time.After(5 * time.Second):
				}
			})
			return nil
		})
	}()
	select {
	case err, told := <-done: // not told when the caller's goroutine itself exits
		if told && (!errors.Is(err, engine.ErrBroken) || !errors.Is(err, want)) {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("the run does not end")
	}
	if err := run(e, engine.Copy{}); !errors.Is(err, engine.ErrBroken) || !errors.Is(err, want) {
		t.Errorf("next run: %v", err)
	}
	if err := errors.Join(e.Release(x), e.Synchronize(), e.Close()); err != nil {
		t.Errorf("after the break: %v", err)
	}
}

// Operations start no goroutine, and work gets done however late workers wake.
func TestPoolStress(t *testing.T) {
	for _, spin := range []time.Duration{-1, 0, time.Microsecond} {
		pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 3, Spin: spin})
		if err != nil {
			t.Fatal(err)
		}
		e, err := cpu.New(pool, cpu.Options{})
		if err != nil {
			t.Fatal(err)
		}
		before := runtime.NumGoroutine()
		for i := range 300 {
			var sum atomic.Int64
			if err := do(e, func(l engine.Lease) error {
				l.For(i, func(worker, lo, hi int) {
					for j := lo; j < hi; j++ {
						sum.Add(int64(j))
					}
				})
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if want := int64(i * (i - 1) / 2); sum.Load() != want {
				t.Fatalf("For covered %d, want %d", sum.Load(), want)
			}
		}
		if after := runtime.NumGoroutine(); after > before {
			t.Errorf("%d goroutines before, %d after", before, after)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Engines that share a plan cache never wait for each other's work.
func TestSharedPlans(t *testing.T) {
	plans := engine.NewPlanCache(0)
	a, b := open(t, 1, cpu.Options{Plans: plans}), open(t, 1, cpu.Options{Plans: plans})
	err := do(a, func(engine.Lease) error { return run(b, engine.Conj{}) })
	if err != nil {
		t.Fatal(err)
	}
	before := plans.Stats()
	if err := errors.Join(run(a, engine.Conj{}), run(b, engine.Conj{})); err != nil {
		t.Fatal(err)
	}
	if s := plans.Stats(); s.Hits != before.Hits+2 || s.Misses != before.Misses {
		t.Errorf("counters %+v, before %+v: the plan of one engine did not serve the other", s, before)
	}
	wide := open(t, 2, cpu.Options{Plans: plans})
	k, err := a.Bind(engine.Conj{}, []engine.Spec{engine.SpecOf(engine.Float64, 2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	x, _ := engine.FromSlice([]float64{1, 2}, 2)
	if err := wide.Run(k, []*engine.Tensor{x}, []*engine.Tensor{x}); !errors.Is(err, engine.ErrForeignKernel) {
		t.Errorf("kernel of another width: %v", err)
	}
	if err := b.Run(k, []*engine.Tensor{x}, []*engine.Tensor{x}); err != nil {
		t.Errorf("kernel of an equal engine: %v", err)
	}
}

func TestBufferLimits(t *testing.T) {
	e := open(t, 1, cpu.Options{MaxBytes: 1 << 20, KeepBytes: 1 << 19})
	spec := engine.SpecOf(engine.Float64, 1<<15) // 256 KiB
	var held []*engine.Tensor
	for range 4 {
		x, err := e.Alloc(spec)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, x)
	}
	_, err := e.Alloc(spec)
	var m *engine.MemoryError
	if !errors.As(err, &m) || !errors.Is(err, engine.ErrMemory) || m.Limit != 1<<20 || m.Bytes != 5<<18 {
		t.Fatalf("above the limit: %v", err)
	}
	for _, x := range held {
		if err := e.Release(x); err != nil {
			t.Fatal(err)
		}
	}
	if s := e.Buffers(); s.LiveBytes != 0 || s.KeptBytes != 1<<19 || s.Fresh != 4 {
		t.Fatalf("after release: %+v", s)
	}
	if _, err := e.Alloc(spec); err != nil {
		t.Fatal(err)
	}
	if s := e.Buffers(); s.Reused != 1 || s.KeptBytes != 1<<18 {
		t.Fatalf("after reuse: %+v", s)
	}
	if _, err := e.Alloc(engine.SpecOf(engine.Float64, 1<<50)); !errors.Is(err, engine.ErrMemory) {
		t.Fatalf("8 PiB: %v", err)
	}
	if _, err := e.Alloc(engine.Spec{DType: engine.Float64, Shape: engine.ShapeOf(2, 2), Strides: engine.StridesOf(1, 2)}); err == nil {
		t.Fatal("Alloc with strides")
	}
}

// Convenience forms used from several goroutines refuse or compute, and never
// mix up their arguments.
func TestFrameIsExclusive(t *testing.T) {
	e := open(t, 1, cpu.Options{})
	var wg sync.WaitGroup
	var computed atomic.Int64
	for g := range 4 {
		wg.Go(func() {
			in := []float64{float64(g), 1}
			out := make([]float64, 2)
			x, _ := engine.FromSlice(in, 2)
			y, _ := engine.FromSlice(out, 2)
			for range 3000 {
				out[0] = -1
				switch err := engine.AddInto(e, y, x, x); {
				case errors.Is(err, engine.ErrBusy):
				case err != nil:
					t.Error(err)
					return
				case out[0] != 2*float64(g):
					t.Errorf("%d + %d = %v", g, g, out[0])
					return
				default:
					computed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	if computed.Load() == 0 {
		t.Error("everything was refused")
	}
}
