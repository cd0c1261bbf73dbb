package hataori

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/hataori/hataori-go/lanes"
)

// apart calls f, which runs code of the caller's, on a goroutine of its own and
// waits for it. A panic in it comes back as an error, and a Goexit too, which
// would end the goroutine of the call, and leave the other ranks waiting, if it
// happened there: nothing stops a Goexit.
func apart(f func()) (err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if !returned {
				err = unreturned(recover())
			}
		}()
		f()
		returned = true
	}()
	<-done
	return err
}

// unreturned makes an error of what recover gave after a callback that did not return.
func unreturned(r any) error {
	if r == nil {
		return ErrGoexit
	}
	return &panicError{r, debug.Stack()}
}

// panicError is a panic of a callback of the caller's.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// stackOf is the stack of an error that is a panic.
func stackOf(err error) string {
	if p, ok := err.(*panicError); ok {
		return string(p.stack)
	}
	return ""
}

func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// blame takes in that a callback of Options did not return. The first one ends
// the call, on every rank, when this one has noticed.
func (c *call) blame(what string, err error) {
	f := c.fault(&fault{class: classRank, err: errors.Join(ErrCallback, err), message: fmt.Sprintf("%s did not return: %s", what, text(err)), stack: stackOf(err)})
	if c.blamed.CompareAndSwap(nil, f) && c.onBlame != nil {
		c.onBlame()
	}
}

// blamedOr is what the callbacks did wrong, unless own goes before it.
func (c *call) blamedOr(own *fault) *fault {
	if f := c.blamed.Load(); f != nil && f.key() <= own.key() {
		return f
	}
	return own
}

// tell gives the caller's logger an event.
func (c *call) tell(level slog.Level, msg string, args []any) {
	if c.opts.Logger == nil {
		return
	}
	if err := apart(func() { c.opts.Logger.Log(context.Background(), level, "hataori: "+msg, args...) }); err != nil {
		c.blame("Options.Logger", err)
	}
}

// within makes a collective call. If code of the caller's unwinds it all the same,
// as an executor may that calls Goexit, the world breaks and the other ranks hear
// of it: they would wait for this one for ever.
func within[R any](c *call, body func() (R, error)) (R, error) {
	returned := false
	defer func() {
		if !returned && !c.w.isBroken() {
			c.breakdown(errUnwound)
		}
		c.w.end()
	}()
	r, err := body()
	returned = true
	return r, err
}

var errUnwound = errors.New("a panic or runtime.Goexit unwound the call on this rank")

// readiness asks an executor how many lanes it has, and whether they can run.
func readiness[L any](ex lanes.Executor[L]) (n int, err error) {
	ask := func() {
		n, err = ex.Lanes(), ex.Ready()
	}
	if _, ours := ex.(*lanes.Set[L]); ours {
		ask()
	} else if e := apart(ask); e != nil {
		return n, fmt.Errorf("the executor did not say whether it is ready: %w", e)
	}
	if err = sound(err); err == nil && n < 1 {
		err = lanes.ErrNoLanes
	}
	return n, err
}
