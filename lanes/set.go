package lanes

import (
	"fmt"
	"runtime"
	"sync/atomic"
)

// Options of a [Set]. The zero value is the default.
type Options[L any] struct {
	// LockOSThread gives each lane an operating-system thread to itself for
	// the length of the run, for resources tied to a thread or for pinning.
	// The thread ends with the lane, so nothing done to it leaks. Default:
	// false.
	LockOSThread bool

	// OnStart, if not nil, is called on each lane's goroutine (and thread)
	// before any body runs; all lanes' hooks run side by side. It may pin the
	// thread or prepare the resource. If one returns an error no body runs and
	// the run returns an [*ExecutorError].
	OnStart func(lane Lane, resource L) error

	// Healthy, if not nil, tells whether a lane's resource can take more work;
	// it must be safe to call from any goroutine while the resource is in use.
	// Default: every lane is healthy.
	Healthy func(lane Lane, resource L) error
}

// Set is the [Executor] over resources that the caller holds. A run costs one
// goroutine per lane; between runs a Set owns nothing but the list.
type Set[L any] struct {
	resources []L
	opts      Options[L]
	notReady  error
	active    atomic.Pointer[run[L]]
}

// Of returns an executor with one lane for each resource, in the given order.
// The slice is copied; the resources stay the caller's. An empty list gives an
// executor that is not [Executor.Ready], with [ErrNoLanes].
func Of[L any](resources []L, opts Options[L]) *Set[L] {
	s := &Set[L]{resources: append([]L(nil), resources...), opts: opts}
	if len(resources) == 0 {
		s.notReady = ErrNoLanes
	}
	return s
}

// New returns an executor of n plain lanes, whose resource is the lane's own
// number, good for indexing scratch of the caller's. With n < 1 it is not
// ready, with [ErrNoLanes].
func New(n int) *Set[Lane] {
	numbers := make([]Lane, max(n, 0))
	for i := range numbers {
		numbers[i] = Lane(i)
	}
	return Of(numbers, Options[Lane]{})
}

// Failed returns an executor without lanes that stands for resources that could
// not be built: Ready returns err, a run returns an [*ExecutorError] around it.
// With it a process whose resources failed can still take part in a call that
// it shares with others, and tell them why.
func Failed[L any](err error) *Set[L] {
	s := Of[L](nil, Options[L]{})
	if err != nil {
		s.notReady = err
	}
	return s
}

// Lanes is the number of resources.
func (s *Set[L]) Lanes() int { return len(s.resources) }

// Ready returns nil, or why there are no resources.
func (s *Set[L]) Ready() error { return s.notReady }

// Healthy returns nil, or an [*UnhealthyError] with what Options.Healthy says
// about the lane.
func (s *Set[L]) Healthy(lane Lane) error {
	var err error
	switch {
	case lane < 0 || int(lane) >= len(s.resources):
		err = fmt.Errorf("no such lane: there are %d", len(s.resources))
	case s.opts.Healthy != nil:
		err = s.opts.Healthy(lane, s.resources[lane])
	}
	if err != nil {
		return &UnhealthyError{Lane: lane, Err: err}
	}
	return nil
}

// Run implements [Executor].
func (s *Set[L]) Run(body Body[L]) error {
	r, err := s.begin(body)
	if err != nil {
		return err
	}
	defer s.active.Store(nil)
	r.launch()
	r.lanes.Wait()
	return r.result(nil)
}

// RunWithCoordinator implements [Executor]. If the coordinator calls
// [runtime.Goexit], the lanes are cancelled and joined and then the calling
// goroutine ends; a lane's panic is raised instead of that.
func (s *Set[L]) RunWithCoordinator(body Body[L], coordinate Coordinator) error {
	if coordinate == nil {
		panic("lanes: RunWithCoordinator with a nil coordinator")
	}
	r, err := s.begin(body)
	if err != nil {
		return err
	}
	defer s.active.Store(nil)
	r.launch()
	left := false
	defer func() {
		if left {
			return
		}
		// The coordinator is ending this goroutine: join the lanes on the way.
		r.ctl.cancel(&CoordinatorError{Err: ErrGoexit}, true)
		r.lanes.Wait()
		_ = r.result(nil) // an error has nobody left to go to; a lane's panic goes on from here
	}()
	out := capture(NoLane, func() error { return coordinate(&r.ctl) })
	left = true
	switch {
	case out.panic != nil:
		r.ctl.cancel(out.panic, true)
	case out.err != nil:
		r.ctl.cancel(&CoordinatorError{Err: out.err}, true)
	default:
		r.ctl.cancel(ErrEnded, true)
	}
	r.lanes.Wait()
	return r.result(&out)
}

// begin claims the executor for one run.
func (s *Set[L]) begin(body Body[L]) (*run[L], error) {
	if body == nil {
		panic("lanes: a run with a nil body")
	}
	if s.notReady != nil {
		return nil, &ExecutorError{Lane: NoLane, Err: s.notReady}
	}
	r := newRun(s, body)
	if s.active.CompareAndSwap(nil, r) {
		return r, nil
	}
	if other := s.active.Load(); other != nil && other.owns(goroutine()) {
		return nil, ErrReentrant
	}
	return nil, ErrBusy
}

// lock gives the lane its own thread. It is never unlocked: the runtime then
// ends the thread with the goroutine, and with it whatever a hook or a body did
// to its affinity or priority.
func (s *Set[L]) lock() {
	if s.opts.LockOSThread {
		runtime.LockOSThread()
	}
}
