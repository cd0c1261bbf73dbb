package mpi

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// apart calls f, which runs code of the caller's, on a goroutine of its own and
// waits for it, so that neither a panic nor a runtime.Goexit in it ends this one.
// It returns what was wrong, "" if nothing was.
func apart(f func()) (wrong string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if returned {
				return
			}
			wrong = "runtime.Goexit was called"
			if v := recover(); v != nil {
				wrong = fmt.Sprintf("panic: %v", v)
			}
		}()
		f()
		returned = true
	}()
	<-done
	return wrong
}

// sound returns an error of the caller's as it is, or, if it panics when it is
// asked what Text asks it, as a nil pointer does that was returned as an error, one
// that says so.
func sound(err error) error {
	if err == nil {
		return nil
	}
	wrong := apart(func() {
		_ = err.Error()
		var t tracer
		if errors.As(err, &t) {
			t.Trace()
		}
		var a adviser
		if errors.As(err, &a) {
			a.Advice()
		}
	})
	if wrong == "" {
		return err
	}
	return fmt.Errorf("error of type %T, which cannot be asked for its text (%s): if it is a nil pointer, return nil instead", err, wrong)
}

type (
	tracer  interface{ Trace() string }
	adviser interface{ Advice() string }
)

// sureWriter writes to os.Stderr what the caller's writer does not take.
type sureWriter struct{ w io.Writer }

func (s sureWriter) Write(b []byte) (n int, err error) {
	if wrong := apart(func() { n, err = s.w.Write(b) }); wrong != "" {
		fmt.Fprintln(os.Stderr, "Program.Stderr:", wrong)
		return os.Stderr.Write(b)
	}
	return n, err
}
