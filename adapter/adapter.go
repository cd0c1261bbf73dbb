package adapter

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/lanes"
)

// ErrNoEngine is returned by New for an empty list.
var ErrNoEngine = errors.New("adapter: no engine: a lane needs one")

// Engine is what a lane can be lent: any engine that can say whether it still
// runs. Every [engine.Execution] is one.
type Engine interface {
	engine.Engine

	// Err returns nil while the engine can run, else why not. It may be called
	// at any time, from any goroutine, and does not wait.
	Err() error
}

// Options of an executor. The zero value is the default.
type Options[E Engine] struct {
	// LockOSThread gives each lane an operating-system thread to itself for
	// the length of a run, as engines bound to a thread's state need it.
	// Default: false.
	LockOSThread bool

	// OnStart, if not nil, is called on each lane's goroutine (and thread) at
	// the start of each run, before any item; it may pin the thread. An error
	// fails the run.
	OnStart func(lane lanes.Lane, e E) error
}

// New returns an executor with one lane for each engine, in the given order. The
// engines stay the caller's. It returns [ErrNoEngine] for an empty list and an
// [*EngineError] for a nil engine or one that is listed twice.
//
// To drive engines of several types, list them as []engine.Execution.
func New[E Engine](engines []E, opts Options[E]) (*lanes.Set[E], error) {
	if len(engines) == 0 {
		return nil, ErrNoEngine
	}
	first := make(map[uintptr]int, len(engines))
	for i, e := range engines {
		v := reflect.ValueOf(e)
		if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, &EngineError{Index: i, Err: errors.New("is nil")}
		}
		if v.Kind() != reflect.Pointer {
			continue // a value has no identity to compare
		}
		if k, twice := first[v.Pointer()]; twice {
			return nil, &EngineError{Index: i, Err: fmt.Errorf("is engine %d again: each lane needs one of its own", k)}
		}
		first[v.Pointer()] = i
	}
	return lanes.Of(engines, lanes.Options[E]{
		LockOSThread: opts.LockOSThread,
		OnStart:      opts.OnStart,
		Healthy:      func(_ lanes.Lane, e E) error { return e.Err() },
	}), nil
}

// EngineError tells which engine of the list cannot be lent, and why.
type EngineError struct {
	Index int // position in the list
	Err   error
}

func (e *EngineError) Error() string { return fmt.Sprintf("adapter: engine %d %v", e.Index, e.Err) }

// Unwrap returns the reason.
func (e *EngineError) Unwrap() error { return e.Err }
