package lanes

import (
	"errors"
	"fmt"

	"github.com/hataori/hataori-go/internal/where"
)

var (
	// ErrBusy is returned at once by a run started while another is going on.
	ErrBusy = errors.New("lanes: executor busy: another run is going on; wait for its end, or make another executor")

	// ErrReentrant is returned at once by a run that a lane of the same
	// executor started: it could never begin.
	ErrReentrant = errors.New("lanes: executor driven from one of its own lanes; make another for nested runs")

	// ErrSingleLane is returned by an executor that cannot run a coordinator
	// beside its lanes. The executors of this package always can.
	ErrSingleLane = errors.New("lanes: executor cannot overlap a coordinator with its lanes")

	// ErrNoLanes is what an executor without resources is not ready for.
	ErrNoLanes = errors.New("lanes: executor has no lanes: give it at least one resource")

	// ErrGoexit is the failure of a body, hook or coordinator that ended its
	// goroutine by [runtime.Goexit], as testing's FailNow does.
	ErrGoexit = errors.New("lanes: goroutine ended by runtime.Goexit")

	// ErrEnded is the cause of a control whose coordinator returned nil, or
	// whose run is over.
	ErrEnded = errors.New("lanes: the run has ended")
)

// LaneError tells that the body of a lane returned an error: of several, the
// one of the lowest lane.
type LaneError struct {
	Lane Lane
	Err  error
}

func (e *LaneError) Error() string { return fmt.Sprintf("lanes: lane %d: %v", e.Lane, e.Err) }

// Unwrap returns what the body returned.
func (e *LaneError) Unwrap() error { return e.Err }

// CoordinatorError tells that the coordinator returned an error while every
// lane ended cleanly.
type CoordinatorError struct{ Err error }

func (e *CoordinatorError) Error() string { return fmt.Sprintf("lanes: coordinator: %v", e.Err) }

// Unwrap returns what the coordinator returned.
func (e *CoordinatorError) Unwrap() error { return e.Err }

// ExecutorError tells that the lanes could not be started. No body has run.
type ExecutorError struct {
	Lane Lane // whose start hook failed, the lowest of several; NoLane: the executor has no resources
	Err  error
}

func (e *ExecutorError) Error() string {
	if e.Lane == NoLane {
		return fmt.Sprintf("lanes: cannot start: %v", e.Err)
	}
	return fmt.Sprintf("lanes: cannot start lane %d: %v", e.Lane, e.Err)
}

// Unwrap returns what the start hook returned, or why there are no resources.
func (e *ExecutorError) Unwrap() error { return e.Err }

// UnhealthyError is the answer of [Executor.Healthy] for a lane whose resource
// can take no more work.
type UnhealthyError struct {
	Lane Lane
	Err  error
}

func (e *UnhealthyError) Error() string {
	return fmt.Sprintf("lanes: lane %d is not healthy: %v", e.Lane, e.Err)
}

// Unwrap returns the reason.
func (e *UnhealthyError) Unwrap() error { return e.Err }

// Panic carries a panic of a body, a start hook or the coordinator to the
// goroutine that called Run, where it is re-raised after every lane ended: the
// panic of the lowest lane, else the coordinator's.
type Panic struct {
	Value  any      // what panic was called with
	Stack  []byte   // stack of the goroutine that panicked, as debug.Stack formats it
	Lane   Lane     // which lane; NoLane: the coordinator
	Others []*Panic // the other panics of the run, lanes in order, the coordinator last
}

// Error tells who panicked, with what, and where. It includes the stack, for
// the runtime prints it when nobody recovers.
func (p *Panic) Error() string {
	who := "the coordinator"
	if p.Lane != NoLane {
		who = fmt.Sprintf("lane %d", p.Lane)
	}
	s := fmt.Sprintf("lanes: panic in %s%s: %v\n\n%s", who, where.In(string(p.Stack)), p.Value, p.Stack)
	for _, o := range p.Others {
		s += "\n" + o.Error()
	}
	return s
}

// Unwrap returns the value if it is an error, else nil.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}
