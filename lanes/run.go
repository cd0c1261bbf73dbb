package lanes

import (
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// outcome is how a body, a start hook or a coordinator ended.
type outcome struct {
	err   error
	panic *Panic
}

// capture runs f and records a panic instead of passing it on. A Goexit passes
// through; the caller notices in its own deferred function.
func capture(lane Lane, f func() error) (out outcome) {
	defer func() {
		if v := recover(); v != nil {
			out = outcome{panic: &Panic{Value: v, Stack: debug.Stack(), Lane: lane}}
		}
	}()
	return outcome{err: f()}
}

// laneState belongs to its lane's goroutine until the lane has ended, except
// for id.
type laneState struct {
	id      atomic.Uintptr // of the goroutine, 0 unless it runs
	started bool           // the start hook was passed
	out     outcome
}

// run is one run of a Set.
type run[L any] struct {
	ctl    Control
	set    *Set[L]
	body   Body[L]
	states []laneState

	lanes   sync.WaitGroup // one per lane, until it has ended
	running atomic.Int32   // lanes that have not ended

	hooks      sync.WaitGroup // one per lane, until its start hook has ended
	hookFailed atomic.Bool
}

func newRun[L any](s *Set[L], body Body[L]) *run[L] {
	r := &run[L]{set: s, body: body, states: make([]laneState, len(s.resources))}
	r.ctl.init()
	return r
}

func (r *run[L]) launch() {
	n := len(r.states)
	r.lanes.Add(n)
	r.running.Store(int32(n))
	if r.set.opts.OnStart != nil {
		r.hooks.Add(n)
	}
	for i := range n {
		go r.lane(Lane(i))
	}
}

// lane is the life of one lane's goroutine.
func (r *run[L]) lane(lane Lane) {
	st := &r.states[lane]
	st.id.Store(goroutine())
	r.set.lock()
	defer r.lanes.Done()
	defer func() {
		st.id.Store(0)
		if r.running.Add(-1) == 0 {
			close(r.ctl.lanesDone)
		}
	}()
	if !r.start(lane, st) {
		return
	}
	// Until it is overwritten this is how a body fares that calls Goexit.
	st.out.err = ErrGoexit
	defer func() { r.ended(lane, st) }()
	st.out = capture(lane, func() error { return r.body(&r.ctl, lane, r.set.resources[lane]) })
}

// start runs the start hook, waits for those of the other lanes, and reports
// whether the body may run: only if every lane could be started.
func (r *run[L]) start(lane Lane, st *laneState) bool {
	hook := r.set.opts.OnStart
	if hook == nil {
		st.started = true
		return true
	}
	func() {
		defer r.hooks.Done()
		st.out.err = ErrGoexit
		defer func() {
			if st.out.err == nil && st.out.panic == nil {
				st.started = true
				return
			}
			r.hookFailed.Store(true)
			r.ended(lane, st)
		}()
		st.out = capture(lane, func() error { return hook(lane, r.set.resources[lane]) })
	}()
	r.hooks.Wait()
	return !r.hookFailed.Load()
}

// ended cancels the run if the lane failed.
func (r *run[L]) ended(lane Lane, st *laneState) {
	switch out := &st.out; {
	case out.panic != nil:
		r.ctl.cancel(out.panic, true)
	case out.err == nil:
	case !st.started:
		r.ctl.cancel(&ExecutorError{Lane: lane, Err: out.err}, true)
	default:
		r.ctl.cancel(&LaneError{Lane: lane, Err: out.err}, true)
	}
}

// owns reports whether the goroutine is one of the run's lanes.
func (r *run[L]) owns(id uintptr) bool {
	for i := range r.states {
		if r.states[i].id.Load() == id {
			return true
		}
	}
	return false
}

// result is called after every lane has ended. It returns or raises what the
// caller of the run gets; coordinator is nil if there was none.
func (r *run[L]) result(coordinator *outcome) error {
	defer r.ctl.cancel(ErrEnded, true)
	var first *Panic
	add := func(p *Panic) {
		switch {
		case p == nil:
		case first == nil:
			first = p
		default:
			first.Others = append(first.Others, p)
		}
	}
	for i := range r.states {
		add(r.states[i].out.panic)
	}
	if coordinator != nil {
		add(coordinator.panic)
	}
	if first != nil {
		panic(first)
	}
	for i := range r.states {
		if st := &r.states[i]; st.out.err != nil && !st.started {
			return &ExecutorError{Lane: Lane(i), Err: st.out.err}
		}
	}
	for i := range r.states {
		if err := r.states[i].out.err; err != nil && !r.ctl.echoes(err) {
			return &LaneError{Lane: Lane(i), Err: err}
		}
	}
	if coordinator != nil && coordinator.err != nil {
		return &CoordinatorError{Err: coordinator.err}
	}
	return nil
}
