package mpi

import (
	"errors"
	"fmt"

	"github.com/hataori/hataori-go/transport"
)

// Errors of this package, besides those of package transport. They arrive
// inside an *[Error] or an *[InitError].
var (
	// ErrNoLibrary is returned by Init when a library is wanted and none can
	// be loaded.
	ErrNoLibrary = errors.New("mpi: no MPI library")

	// ErrMismatch is returned by Init when launcher and library do not belong
	// together, so that each process would believe to be alone.
	ErrMismatch = errors.New("mpi: launcher and library do not belong together")

	// ErrThreadLevel is returned by Init when the library grants less than
	// MPI_THREAD_FUNNELED.
	ErrThreadLevel = errors.New("mpi: thread level too low")

	// ErrWrongThread is returned by calls from another thread than the one
	// that initialised a library which grants only MPI_THREAD_FUNNELED.
	ErrWrongThread = errors.New("mpi: called from the wrong thread")

	// ErrSetting is returned by Init for an option or environment variable
	// whose value means nothing.
	ErrSetting = errors.New("mpi: bad setting")

	// ErrBusy is returned by Free and Finalize while requests are in flight.
	ErrBusy = errors.New("mpi: requests in flight")

	// ErrEnded is returned by a request that is used after it was done.
	ErrEnded = errors.New("mpi: request used after it was done")

	// ErrProtocol is returned when bytes of another rank make no sense, as
	// when its program is built from another version of this package.
	ErrProtocol = errors.New("mpi: malformed header of a long message")
)

// Error says which operation failed and why.
type Error struct {
	Op    string // the MPI function or the method
	Class int    // MPI error class, 0 if the library was not asked
	Code  int    // what the library returned
	Text  string // the library's words, or ours
	Err   error  // cause for errors.Is, may be nil
}

func (e *Error) Error() string {
	s := e.Op
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	if e.Text != "" {
		s += ": " + e.Text
	}
	if e.Code != 0 {
		s += fmt.Sprintf(" (class %d, code %d)", e.Class, e.Code)
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// InitError says why Init failed and what to do about it.
type InitError struct {
	Err      error  // ErrNoLibrary, ErrMismatch, ErrThreadLevel, ErrSetting, or an *Error of the library
	Launcher string // the variables that tell of a launcher, as NAME=value, or ""
	Library  string // file name of the library, or ""
	Detail   string // what was found
	Hint     string // what to do

	everywhere bool // every process of the job has it, word for word
}

func (e *InitError) Error() string {
	s := e.Err.Error()
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Library != "" {
		s += "; library " + e.Library
	}
	if e.Launcher != "" {
		s += "; launcher " + e.Launcher
	}
	if e.Hint != "" {
		s += "; " + e.Hint
	}
	return s
}

func (e *InitError) Unwrap() error { return e.Err }

func badArgument(op, format string, args ...any) error {
	return &Error{Op: op, Err: transport.ErrArgument, Text: fmt.Sprintf(format, args...)}
}

func usedAfterEnd(op, text string) error {
	return &Error{Op: op, Err: transport.ErrFreed, Text: text}
}
