package lanes

import (
	"context"
	"errors"
	"sync"
)

// Control connects the lanes and the coordinator of one run. An executor lends
// a fresh one to each run; after the run it stays cancelled. All methods may be
// called from any goroutine. The zero value is not usable.
type Control struct {
	done      chan struct{}
	lanesDone chan struct{}

	mu    sync.Mutex
	cause error
	// own says that the cause is the record of a failure or of the end of the
	// run, made by the executor, so that a body that returns it adds nothing.
	own bool
}

// NewControl is for executors implemented outside this package: it returns a
// control that is not cancelled, and the function that closes its LanesDone,
// which must be called once.
func NewControl() (ctl *Control, lanesEnded func()) {
	c := new(Control)
	c.init()
	return c, func() { close(c.lanesDone) }
}

func (c *Control) init() {
	c.done = make(chan struct{})
	c.lanesDone = make(chan struct{})
}

// Cancel ends the run early: it closes Done with the given cause. The first
// call wins. A nil cause stands for [context.Canceled]. It does not by itself
// make the run fail: that is for the bodies and the coordinator to return.
func (c *Control) Cancel(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	c.cancel(cause, false)
}

func (c *Control) cancel(cause error, own bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cause == nil {
		c.cause, c.own = cause, own
		close(c.done)
	}
}

// Done is closed when the run is cancelled: by Cancel, by a body that
// returned an error or panicked, by a lane that could not start, or by the
// coordinator leaving in any way; at the latest when the run returns.
func (c *Control) Done() <-chan struct{} { return c.done }

// Cause is nil before Done is closed, then the cause (never nil): what Cancel
// was given, or the [*LaneError], [*CoordinatorError], [*ExecutorError] or
// [*Panic] of whoever failed first, or [ErrEnded].
func (c *Control) Cause() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cause
}

// LanesDone is closed when every lane has ended. The coordinator may still be
// running then.
func (c *Control) LanesDone() <-chan struct{} { return c.lanesDone }

// echoes reports whether err only repeats a cause that the executor recorded.
func (c *Control) echoes(err error) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.own && errors.Is(err, c.cause)
}
