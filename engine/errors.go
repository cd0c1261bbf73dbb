package engine

import (
	"errors"
	"fmt"
	"strconv"
)

// Sentinels. Compare with errors.Is.
var (
	// ErrBusy: another call is running on this engine, or a pass is open.
	ErrBusy = errors.New("engine: busy: one run at a time; concurrent computations take one engine each")
	// ErrPassEnded: a Pass was run after its End.
	ErrPassEnded = errors.New("engine: the pass has ended: Begin another")
	// ErrBroken: an operation panicked or the device failed; the engine
	// runs nothing any more. Release, Synchronize and Close still work.
	ErrBroken = errors.New("engine: broken by an earlier failure")
	// ErrClosed: the engine was closed.
	ErrClosed = errors.New("engine: closed: close an engine after its last use, or make another")
	// ErrCallerInOwnPool: the caller is a worker of the engine's own pool.
	ErrCallerInOwnPool = errors.New("engine: called from a worker of its own pool: compute there with what the body is lent")
	// ErrUnsupported: matched by every *UnsupportedError.
	ErrUnsupported = errors.New("engine: unsupported")
	// ErrViewsLive: a tensor was released while views of it live.
	ErrViewsLive = errors.New("engine: views of the tensor are still live: release them first")
	// ErrReleased: a tensor was used, viewed or released after its release.
	ErrReleased = errors.New("engine: tensor used after its release: release it after its last use")
	// ErrNotOwned: a tensor was released to an engine that did not allocate it.
	ErrNotOwned = errors.New("engine: tensor was not allocated by this engine: release it to the one that did")
	// ErrForeignKernel: a kernel was run on an engine of another target
	// than it was bound for.
	ErrForeignKernel = errors.New("engine: kernel was bound for another target: bind it on the engine that runs it")
	// ErrMemory: matched by every *MemoryError.
	ErrMemory = errors.New("engine: out of memory")
	// ErrNumerical: matched by every *NumericalError.
	ErrNumerical = errors.New("engine: a value has no result")
	// ErrDivideByZero: an integer was divided by zero.
	ErrDivideByZero = errors.New("integer division by zero")
	// ErrInexact: Convert met a value that the dtype asked for cannot hold.
	ErrInexact = errors.New("the value changes in the conversion: use Cast to accept that")
	// ErrIndexRange: an index tensor holds a position outside the axis.
	ErrIndexRange = errors.New("the index is outside the extent of the axis")
)

// Operand names an argument of an operation in errors.
type Operand int

// NoOperand stands for an error that is not about one argument.
const NoOperand Operand = 1 << 30

// Input is the i-th input.
func Input(i int) Operand { return Operand(i) }

// Output is the i-th output.
func Output(i int) Operand { return Operand(-1 - i) }

func (o Operand) String() string {
	switch {
	case o == NoOperand:
		return "arguments"
	case o < 0:
		return "output " + strconv.Itoa(int(-1-o))
	}
	return "input " + strconv.Itoa(int(o))
}

// tensor is the argument in errors that are about one tensor.
func (o Operand) tensor() string {
	if o == NoOperand {
		return "the tensor"
	}
	return o.String()
}

// NoAxis stands for an error that is not about one axis.
const NoAxis = -1

// CallError says which call was refused, on which engine or tensor, and why:
// errors.Is finds ErrBusy, ErrClosed, ErrPassEnded, ErrCallerInOwnPool,
// ErrForeignKernel, ErrReleased, ErrNotOwned or ErrViewsLive, whichever it is.
type CallError struct {
	Op  string // the operation or method; "" if it was not one call
	On  string // what it was called on
	Err error
}

func (e *CallError) Error() string {
	if e.Op == "" {
		return fmt.Sprintf("%v (%s)", e.Err, e.On)
	}
	return fmt.Sprintf("%v (%s on %s)", e.Err, e.Op, e.On)
}

// Unwrap returns the reason.
func (e *CallError) Unwrap() error { return e.Err }

// KernelName is the operation of a kernel, for errors of engines. Where it cannot be
// asked, being nil or of another's making, it is its type.
func KernelName(k Kernel) (name string) {
	defer func() {
		if recover() != nil {
			name = fmt.Sprintf("kernel of type %T", k)
		}
	}()
	return k.Op().Name()
}

// ShapeError says which axis of which argument of which operation does not
// fit, and what would.
type ShapeError struct {
	Op      string
	Operand Operand
	Axis    int // NoAxis when not about one axis
	Reason  string
}

func (e *ShapeError) Error() string {
	if e.Axis == NoAxis {
		return fmt.Sprintf("engine: %s: %v: %s", e.Op, e.Operand, e.Reason)
	}
	return fmt.Sprintf("engine: %s: %v, axis %d: %s", e.Op, e.Operand, e.Axis, e.Reason)
}

func shapeErr(op string, operand Operand, axis int, format string, args ...any) error {
	return &ShapeError{Op: op, Operand: operand, Axis: axis, Reason: fmt.Sprintf(format, args...)}
}

// DTypeError says which argument has the wrong element type.
type DTypeError struct {
	Op      string
	Operand Operand
	Got     DType
	Want    string
}

func (e *DTypeError) Error() string {
	return fmt.Sprintf("engine: %s: %v is %v, want %s: convert it explicitly", e.Op, e.Operand.tensor(), e.Got, e.Want)
}

// DomainError says which argument lies in the wrong memory domain.
type DomainError struct {
	Op        string
	Operand   Operand
	Got, Want Domain
}

func (e *DomainError) Error() string {
	return fmt.Sprintf("engine: %s: %v lies in %v, want %v: copy it explicitly", e.Op, e.Operand.tensor(), e.Got, e.Want)
}

// AliasError says which output overlaps which other argument, or itself, in a
// way that the operation does not allow.
type AliasError struct {
	Op     string
	Output Operand
	Other  Operand // equal to Output: it overlaps itself
}

func (e *AliasError) Error() string {
	if e.Output == e.Other {
		return fmt.Sprintf("engine: %s: elements of %v overlap each other: write to a tensor of its own", e.Op, e.Output)
	}
	return fmt.Sprintf("engine: %s: %v overlaps %v: write to a tensor of its own", e.Op, e.Output, e.Other)
}

// ArgError says that the arguments of a Run are not those that its kernel was
// bound for. Err, if not nil, is the cause (ErrReleased).
type ArgError struct {
	Op      string
	Operand Operand
	Reason  string
	Err     error
}

func (e *ArgError) Error() string {
	return fmt.Sprintf("engine: %s: %v: %s", e.Op, e.Operand, e.Reason)
}

func (e *ArgError) Unwrap() error { return e.Err }

// UnsupportedError says what an engine or provider lacks. errors.Is finds
// ErrUnsupported.
type UnsupportedError struct {
	Op       string
	DType    DType  // NoDType: whatever the type
	Provider string // name of the engine or provider that lacks it
	Reason   string
}

func (e *UnsupportedError) Error() string {
	t := ""
	if e.DType != NoDType {
		t = " of " + e.DType.String()
	}
	s := fmt.Sprintf("engine: %s does not support %s%s", e.Provider, e.Op, t)
	if e.Reason != "" {
		s += ": " + e.Reason
	}
	return s
}

func (e *UnsupportedError) Unwrap() error { return ErrUnsupported }

// BrokenError is what a broken engine returns. errors.Is finds ErrBroken, and
// the panic value too if it is an error.
type BrokenError struct {
	Op    string // the operation that broke the engine
	Value any    // what it panicked with, or the device's error
	Stack []byte // of the panic; nil for a device's error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%v: %s: %v: close the engine and make another", ErrBroken, e.Op, e.Value)
}

func (e *BrokenError) Unwrap() []error {
	if err, ok := e.Value.(error); ok {
		return []error{ErrBroken, err}
	}
	return []error{ErrBroken}
}

// MemoryError says how much was asked for and what the limit is. errors.Is
// finds ErrMemory.
type MemoryError struct {
	Op           string
	Bytes, Limit int64
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("%v: %s needs %d bytes, limit %d", ErrMemory, e.Op, e.Bytes, e.Limit)
}

func (e *MemoryError) Unwrap() error { return ErrMemory }

// NumericalError says which element, or member of a batch, has no result, and
// why: errors.Is finds Err and ErrNumerical. Host engines look before they
// write: the outputs are untouched.
type NumericalError struct {
	Op      string
	Operand Operand
	Index   []int // position in the operand; the first such one in row-major order
	Err     error // ErrDivideByZero, ErrInexact, ErrIndexRange, …
}

func (e *NumericalError) Error() string {
	return fmt.Sprintf("engine: %s: %v, element %v: %v", e.Op, e.Operand, e.Index, e.Err)
}

func (e *NumericalError) Unwrap() []error { return []error{ErrNumerical, e.Err} }

// BranchError says which call of RunBranches failed.
type BranchError struct {
	Branch, Call int
	Err          error
}

func (e *BranchError) Error() string {
	return fmt.Sprintf("engine: call %d of branch %d: %v", e.Call, e.Branch, e.Err)
}

// Unwrap returns the error of the call.
func (e *BranchError) Unwrap() error { return e.Err }
