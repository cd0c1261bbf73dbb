package einsum

import (
	"errors"
	"fmt"
	"math"
)

// What can be wrong with a contraction. Every error of this package about its
// input is a *[Error] that wraps one of these.
var (
	// ErrSyntax: the text of the subscripts cannot be read.
	ErrSyntax = errors.New("einsum: cannot read the subscripts")
	// ErrLabel: the output names a label that no operand has; or a label is
	// negative.
	ErrLabel = errors.New("einsum: wrong label")
	// ErrShape: a shape contradicts the labels or another shape.
	ErrShape = errors.New("einsum: shapes do not fit the labels")
	// ErrPath: a step of the path names an operand that is not there, or the
	// path does not consume all operands.
	ErrPath = errors.New("einsum: wrong path")
	// ErrSize: a tensor would have more elements, or more axes, than can be
	// addressed.
	ErrSize = errors.New("einsum: tensor too large")
	// ErrSlice: a cut does not fit its label, or there is no such slice.
	ErrSlice = errors.New("einsum: cannot slice")
	// ErrLimit: no cuts meet a limit on memory. Matched by every *LimitError.
	ErrLimit = errors.New("einsum: no slices are small enough")
	// ErrEncoding: bytes are not the encoding of a plan.
	ErrEncoding = errors.New("einsum: not an encoded plan")
	// ErrOperand: a tensor given to a run is not the one that was planned.
	ErrOperand = errors.New("einsum: operand does not fit the plan")
)

// None stands for an operand, axis or step that an [Error] is not about.
const None = -1

// Error says what is wrong with a contraction and where.
type Error struct {
	Operand int    // number of the operand, or None
	Axis    int    // axis of that operand, or None
	Step    int    // number of the path's step, or None
	Detail  string // what was found and what to do about it
	Err     error  // one of the sentinels of this package
}

// Error names the kind, the place and the cure, on one line.
func (e *Error) Error() string {
	where := ""
	if e.Operand != None {
		where = fmt.Sprintf("operand %d: ", e.Operand)
	}
	if e.Axis != None {
		where = fmt.Sprintf("operand %d, axis %d: ", e.Operand, e.Axis)
	}
	if e.Step != None {
		where = fmt.Sprintf("step %d: ", e.Step)
	}
	return fmt.Sprintf("%v: %s%s", e.Err, where, e.Detail)
}

// Unwrap returns the sentinel.
func (e *Error) Unwrap() error { return e.Err }

func wrong(kind error, format string, args ...any) *Error {
	return &Error{Operand: None, Axis: None, Step: None, Detail: fmt.Sprintf(format, args...), Err: kind}
}

func noPlan(kind error) *Error {
	return wrong(kind, "the plan is the zero value; make it with NewPlan or FindPlan")
}

func wrongOperand(kind error, operand, axis int, format string, args ...any) *Error {
	e := wrong(kind, format, args...)
	e.Operand, e.Axis = operand, axis
	return e
}

func wrongStep(step int, format string, args ...any) *Error {
	e := wrong(ErrPath, format, args...)
	e.Step = step
	return e
}

// LimitError says that a limit on memory was set too low, and what would do.
// errors.Is finds [ErrLimit].
type LimitError struct {
	What  string // "largest intermediate" or "peak"
	Limit int    // what was asked for, in elements
	Least int    // the smallest limit that was found to be met, in elements; math.MaxInt: none
}

// Error names the limit, and the one to set instead.
func (e *LimitError) Error() string {
	if e.Least == math.MaxInt {
		return fmt.Sprintf("%v: the %s of a slice cannot be brought down to %d elements, nor to any number that can be addressed: take another path",
			ErrLimit, e.What, e.Limit)
	}
	return fmt.Sprintf("%v: the %s of a slice cannot be brought down to %d elements; %d is the least that cutting reaches: "+
		"raise the limit to that, or take another path", ErrLimit, e.What, e.Limit, e.Least)
}

// Unwrap returns ErrLimit.
func (e *LimitError) Unwrap() error { return ErrLimit }
