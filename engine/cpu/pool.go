package cpu

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/internal/trylock"
)

// Errors of pools. Compare with errors.Is.
var (
	// ErrPoolTaken: the pool already backs an engine. It can back only one.
	ErrPoolTaken = errors.New("cpu: the pool backs an engine already: build one pool for each, and close the engine, which closes its pool")
	// ErrPoolClosed: the pool was closed.
	ErrPoolClosed = errors.New("cpu: the pool is closed: make another with NewPool")
	// ErrWorkerLost: a body called runtime.Goexit, which ends the thread, and
	// OnStart failed on the thread that was to take its place. The pool cannot
	// Enter any more; operations run on the workers that are left.
	ErrWorkerLost = errors.New("cpu: a worker is lost: close the pool and make another")
	// ErrGoexit is the value of the Panic of a body that called runtime.Goexit,
	// and the failure of an OnStart that did.
	ErrGoexit = errors.New("cpu: runtime.Goexit was called")
)

// PoolOptions describe a pool.
type PoolOptions struct {
	// Workers is the width, at least 1: the calling goroutine, which takes
	// part in its own operations as worker 0, and Workers−1 threads. There
	// is no default, and no environment variable that sets it.
	Workers int

	// OnStart is called on each thread of the pool, with 1 ≤ worker <
	// Workers, before it takes work; this is the place to pin it. A failure
	// makes NewPool fail. Worker 0 is the caller's own thread, and its
	// placement the caller's business. It is called again on the thread that
	// takes the place of one whose body called runtime.Goexit; a failure then
	// is ErrWorkerLost. nil: nothing.
	OnStart func(worker int) error

	// Spin is how long a worker with nothing to do watches for work, or for
	// the others to end, before it parks; waking it takes longer than a small
	// operation. After long parts it watches longer, what they took and at most
	// 300 µs: parts that should take as long do not end at the same moment. Where
	// work came within 300 µs the last time, it watches as long again: operations
	// come in series. The caller watches 300 µs for parts that are under way. 0
	// means 20 µs, negative not at all.
	Spin time.Duration
}

const (
	defaultSpin = 20 * time.Microsecond
	longestSpin = 300 * time.Microsecond
	maxWorkers  = 4096
)

// Pool is a team of threads that backs one engine. NewPool starts the threads,
// each a goroutine locked to its own; Close of the engine, or of a pool that
// backs none, ends and joins them. The width never changes.
//
// One caller at a time occupies the pool. Work is cut into parts that workers
// take in order until none is left, so a worker that wakes late, or not at
// all, costs speed and never progress.
type Pool struct {
	width int
	spin  time.Duration
	start func(worker int) error

	busy   trylock.Lock // admission: a run, a pass or an Enter is going on
	closed atomic.Bool
	taken  atomic.Bool
	join   sync.WaitGroup

	threads []atomic.Int64 // identity of the thread of each worker; 0: none

	// The job: written while no part can be taken, read after taking one.
	body  job
	parts int

	workers  []worker
	panicked atomic.Pointer[Panic]
	lost     atomic.Pointer[error] // why a worker has no thread any more
	_        [64]byte
	left     atomic.Int64 // parts not yet taken
	_        [64]byte
	running  atomic.Int64 // parts not yet done
	waiter   sleeper      // worker 0, waiting for running to be 0
}

// job is what workers execute: part p of a run, on worker w.
type job interface{ part(w, p int) }

type worker struct {
	sleep  sleeper
	direct atomic.Bool // an Enter wants this worker
	exits  bool        // its body called Goexit; the part is done when it is replaced
	_      [64]byte
}

// Panic is what a panic in a body becomes on the goroutine that called Enter.
type Panic struct {
	Value  any // what the body panicked with, or ErrGoexit
	Worker int
	Stack  []byte
}

func (p *Panic) Error() string {
	return fmt.Sprintf("cpu: worker %d panicked: %v\n%s", p.Worker, p.Value, p.Stack)
}

// Unwrap returns the panic's value if that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// NewPool starts a pool. All faults in opts are reported at once.
func NewPool(opts PoolOptions) (*Pool, error) {
	if opts.Workers < 1 || opts.Workers > maxWorkers {
		return nil, fmt.Errorf("cpu: a pool of %d workers: give 1 to %d", opts.Workers, maxWorkers)
	}
	p := &Pool{width: opts.Workers, spin: opts.Spin, start: opts.OnStart,
		threads: make([]atomic.Int64, opts.Workers), workers: make([]worker, opts.Workers)}
	if p.spin == 0 {
		p.spin = defaultSpin
	}
	p.waiter.init()
	started := make(chan error, opts.Workers)
	for w := 1; w < p.width; w++ {
		p.workers[w].sleep.init()
		p.join.Add(1)
		go p.work(w, func(err error) { started <- err })
	}
	var errs []error
	for w := 1; w < p.width; w++ {
		if err := <-started; err != nil {
			errs = append(errs, err)
		}
	}
	if errs != nil {
		p.stop()
		return nil, errors.Join(errs...)
	}
	return p, nil
}

// Workers is the width of the pool, the caller included.
func (p *Pool) Workers() int { return p.width }

// Threads returns the identities of the pool's threads, of workers 1, 2, …: on
// Linux the kernel's thread ids. That of a lost worker is 0.
func (p *Pool) Threads() []int64 {
	ids := make([]int64, 0, p.width)
	for w := 1; w < p.width; w++ {
		ids = append(ids, p.threads[w].Load())
	}
	return ids
}

// Enter runs f once on every worker at the same time, f(0) on the calling
// goroutine, and returns when all have returned: code of the caller's own on
// the pool's threads. It is refused as an operation is, with ErrBusy,
// ErrCallerInOwnPool or ErrPoolClosed, and keeps the engine busy. A panic in f
// is a panic with a *Panic here, after all workers returned; the pool and the
// engine stay usable. So is a Goexit, after another thread took the place of the
// one that it ended; if OnStart failed there, later calls of Enter are refused
// with ErrWorkerLost. f must not call the engine: ErrCallerInOwnPool.
func (p *Pool) Enter(f func(worker int)) error {
	if err := p.admit("Enter"); err != nil {
		return err
	}
	defer p.busy.Unlock()
	if err := p.lost.Load(); err != nil {
		return *err
	}
	p.occupy()
	defer p.vacate()
	p.body, p.parts = entered(f), p.width
	p.running.Store(int64(p.width))
	for w := 1; w < p.width; w++ {
		p.workers[w].direct.Store(true)
		p.workers[w].sleep.wake()
	}
	defer p.settle()
	p.execute(0, 0)
	return nil
}

type entered func(worker int)

func (f entered) part(w, _ int) { f(w) }

// Close ends and joins the threads of a pool that backs no engine. A second
// call does nothing. A pool that backs one is closed by the engine's Close:
// ErrPoolTaken. ErrBusy while an Enter is going on.
func (p *Pool) Close() error {
	if p.taken.Load() {
		return p.refused("Close", ErrPoolTaken)
	}
	if p.closed.Load() {
		return nil
	}
	if err := p.admit("Close"); err != nil {
		return err
	}
	defer p.busy.Unlock()
	p.stop()
	return nil
}

func (p *Pool) stop() {
	p.closed.Store(true)
	for w := 1; w < p.width; w++ {
		p.workers[w].sleep.wake()
	}
	p.join.Wait()
}

// admit makes the caller the only one, or says at once why not.
func (p *Pool) admit(op string) error {
	if !p.busy.TryLock() {
		return p.refused(op, p.refusal())
	}
	if p.closed.Load() {
		p.busy.Unlock()
		return p.refused(op, ErrPoolClosed)
	}
	return nil
}

func (p *Pool) refused(op string, why error) error {
	return &engine.CallError{Op: op, On: fmt.Sprintf("pool of %d workers", p.width), Err: why}
}

// refusal tells a worker of this pool from any other caller. Thread identities
// are compared only here, while the pool is occupied.
func (p *Pool) refusal() error {
	me := threadID()
	for w := range p.threads {
		if id := p.threads[w].Load(); id != 0 && id == me {
			return engine.ErrCallerInOwnPool
		}
	}
	return engine.ErrBusy
}

// occupy ties the caller to its thread and records it as worker 0.
func (p *Pool) occupy() {
	runtime.LockOSThread()
	p.threads[0].Store(threadID())
}

func (p *Pool) vacate() {
	p.threads[0].Store(0)
	runtime.UnlockOSThread()
}

// run executes parts 0 … n−1 of j on the workers, the caller being one of them,
// and panics with a *Panic if one did. The caller is admitted.
func (p *Pool) run(j job, n int) {
	p.occupy()
	defer p.vacate()
	p.body, p.parts = j, n
	p.running.Store(int64(n))
	p.left.Store(int64(n))
	for w := 1; w < min(p.width, n); w++ {
		p.workers[w].sleep.wake()
	}
	defer p.settle()
	p.take(0)
}

// patience is how long a worker watches after parts that took so long.
func (p *Pool) patience(took time.Duration) time.Duration {
	if p.spin < 0 {
		return p.spin
	}
	return max(p.spin, min(took, longestSpin))
}

// settle gives up the parts that nobody took (the caller's body called Goexit),
// waits for the others, and passes on a panic.
func (p *Pool) settle() {
	p.running.Add(-p.left.Swap(0))
	p.waiter.until(p.patience(longestSpin), func() bool { return p.running.Load() == 0 })
	p.body = nil
	if v := p.panicked.Swap(nil); v != nil {
		panic(v)
	}
}

// take executes parts until none is left to take. A part that was taken keeps
// the job in place, so body and parts are read only then.
func (p *Pool) take(w int) {
	for {
		left := p.left.Load()
		if left == 0 {
			return
		}
		if p.left.CompareAndSwap(left, left-1) {
			p.execute(w, p.parts-int(left))
		}
	}
}

func (p *Pool) execute(w, part int) {
	normal := false
	defer func() {
		if !normal {
			v := recover()
			exits := v == nil
			if exits {
				v = ErrGoexit
			}
			p.panicked.CompareAndSwap(nil, &Panic{Value: v, Worker: w, Stack: debug.Stack()})
			if exits && w != 0 {
				p.workers[w].exits = true
				return
			}
		}
		p.done()
	}()
	p.body.part(w, part)
	normal = true
}

// done counts a part as done.
func (p *Pool) done() {
	if p.running.Add(-1) == 0 {
		p.waiter.wake()
	}
}

// replaced ends the part in which worker w called Goexit, once its new thread has
// started, or failed to: whoever is admitted next knows which.
func (p *Pool) replaced(w int, err error) {
	if err != nil {
		err = fmt.Errorf("%w: its thread ended in a body that called runtime.Goexit, the next one: %w", ErrWorkerLost, err)
		p.lost.CompareAndSwap(nil, &err)
	}
	p.done()
}

// work is the life of worker w, which says once whether it started.
func (p *Pool) work(w int, started func(error)) {
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	defer p.join.Done()
	err := fmt.Errorf("cpu: OnStart of worker %d: %w", w, ErrGoexit) // unless hook returns
	me := &p.workers[w]
	defer func() {
		if err != nil {
			started(err)
		}
		if me.exits {
			me.exits = false
			p.threads[w].Store(0)
			p.join.Add(1)
			go p.work(w, func(err error) { p.replaced(w, err) })
		}
	}()
	if err = p.hook(w); err != nil {
		return
	}
	p.threads[w].Store(threadID())
	started(nil)
	series := time.Duration(0) // how long to watch since work came soon
	for !p.closed.Load() {
		if me.direct.CompareAndSwap(true, false) {
			p.execute(w, w)
		}
		begin := time.Now()
		p.take(w)
		idle := time.Now()
		me.sleep.until(p.patience(max(idle.Sub(begin), series)), func() bool {
			return p.left.Load() > 0 || me.direct.Load() || p.closed.Load()
		})
		if series = 0; time.Since(idle) <= longestSpin {
			series = longestSpin
		}
	}
}

func (p *Pool) hook(w int) (err error) {
	if p.start == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("cpu: OnStart of worker %d panicked: %v", w, v)
		}
	}()
	if err := p.start(w); err != nil {
		return fmt.Errorf("cpu: OnStart of worker %d: %w", w, err)
	}
	return nil
}

// sleeper lets one goroutine wait for a condition that others make true before
// they call wake.
type sleeper struct {
	asleep atomic.Bool
	token  chan struct{}
}

func (s *sleeper) init() { s.token = make(chan struct{}, 1) }

// until returns when cond is true: it watches for as long as spin, then parks.
func (s *sleeper) until(spin time.Duration, cond func() bool) {
	var begin time.Time
	for i := 0; ; i++ {
		if cond() {
			return
		}
		if i%64 != 0 {
			pause()
			continue
		}
		if spin < 0 || i > 0 && time.Since(begin) > spin {
			break
		}
		if i == 0 {
			begin = time.Now()
		}
	}
	for !cond() {
		s.asleep.Store(true)
		if cond() {
			if s.asleep.CompareAndSwap(true, false) {
				return
			}
			<-s.token // the waker was faster
			continue
		}
		<-s.token
	}
}

func (s *sleeper) wake() {
	if s.asleep.CompareAndSwap(true, false) {
		s.token <- struct{}{}
	}
}
