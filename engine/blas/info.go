package blas

import (
	"fmt"
	"strings"
)

// EnvLibrary is the environment variable that names a library.
const EnvLibrary = "HATAORI_BLAS_LIB"

// Options say what [Open] may load and change. The zero value is the default.
type Options struct {
	// Library is the path or the name of a shared library. Empty: the value
	// of HATAORI_BLAS_LIB, and if that is empty too, a search.
	Library string
	// KeepThreads leaves the number of threads of the library as it is. The
	// default is to limit it to one: workers come from the engine's pool.
	KeepThreads bool
	// KeepKernel leaves the kernels that OpenBLAS chose, even if they are
	// below what the processor has. The default is to correct the choice.
	KeepKernel bool
}

// Info is what Open found and did.
type Info struct {
	Name    string // "openblas", "mkl", "blis", or "blas" for any other
	Path    string // file of the library, as far as the system tells
	Version string // empty if the library does not tell
	Config  string // what the library says of its build; empty if nothing
	Kernel  string // kernels in use; empty if the library does not tell
	// BestKernel is what the processor's flags ask for; empty if the library
	// has no choice of kernels or this package no opinion.
	BestKernel string
	IntBits    int // width of the library's integers: 32 or 64
	Threads    int // threads that one call may use; 0 if the library does not tell

	// TakesTurns: calls from several workers or engines wait for one another.
	// An OpenBLAS built without threads has no locks: two calls at once may
	// use the same buffer and give wrong products, so they are kept apart.
	TakesTurns bool

	AlreadyLoaded bool     // it was in the process before Open
	Corrected     bool     // the kernels were put right
	Changes       []string // what was changed in the process
	Warnings      []string // what is wrong and was not put right, with the cure
}

// String is one line for a log.
func (i Info) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, kernel %s, %d-bit integers, %d thread(s), %s", i.Name, i.Version, i.Kernel, i.IntBits, i.Threads, i.Path)
	if i.Corrected {
		b.WriteString(", kernel corrected")
	}
	if i.TakesTurns {
		b.WriteString(", one call at a time")
	}
	for _, w := range i.Warnings {
		b.WriteString("; warning: " + w)
	}
	return b.String()
}

// Attempt is one library that was tried, and why it is not used.
type Attempt struct {
	Library string
	Err     error
}

// NotFoundError says that no usable library was found, what was tried, and
// what to do.
type NotFoundError struct {
	Asked    string // where a library was named: "Options.Library", the variable's name, or ""
	Attempts []Attempt
	Hint     string
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	b.WriteString("blas: no usable library")
	if e.Asked != "" {
		fmt.Fprintf(&b, " (named by %s)", e.Asked)
	}
	for i, a := range e.Attempts {
		sep := "; "
		if i == 0 {
			sep = ": "
		}
		fmt.Fprintf(&b, "%s%s: %v", sep, a.Library, a.Err)
	}
	b.WriteString(". " + e.Hint)
	return b.String()
}

// Unwrap returns the causes.
func (e *NotFoundError) Unwrap() []error {
	var out []error
	for _, a := range e.Attempts {
		out = append(out, a.Err)
	}
	return out
}
