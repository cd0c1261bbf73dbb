package hataori

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hataori/hataori-go/internal/where"
	"github.com/hataori/hataori-go/lanes"
)

// Sentinels. Those from ErrOptions to ErrAbsent are the reasons of a
// [*PreflightError] and hold on every rank.
var (
	// ErrClosed is returned by calls on a world after its Close.
	ErrClosed = errors.New("hataori: world is closed: close it after the last call, or make another")

	// ErrWorldBusy is returned at once by a call on a world on which another
	// call is going on, from another goroutine or from inside an item.
	ErrWorldBusy = errors.New("hataori: world is busy, another call is going on: one call at a time; make another world for calls from items or from other goroutines")

	// ErrWorldBroken is returned by the call during which the transport or
	// the protocol failed, and by every later call on that world.
	ErrWorldBroken = errors.New("hataori: world is broken")

	// ErrNested is returned at once by a call from inside an item where the
	// transport may be used by one thread only.
	ErrNested = errors.New("hataori: nested call, but the transport may be used by one thread only: call outside of items, or with an MPI library that grants MPI_THREAD_SERIALIZED")

	// ErrGoexit is the cause where an item, or another function of the caller's,
	// called [runtime.Goexit].
	ErrGoexit = errors.New("hataori: runtime.Goexit was called")

	// ErrCallback: Options.Progress or Options.Logger panicked or called
	// [runtime.Goexit], which ended the call.
	ErrCallback = errors.New("hataori: a callback of the options did not return")

	// ErrNoHealthyLane ends a call when items are left and no lane anywhere
	// can take one.
	ErrNoHealthyLane = errors.New("hataori: items are left and no lane is healthy")

	// ErrItemTimeout: an item failed because Options.ItemTimeout ended it.
	ErrItemTimeout = errors.New("hataori: item took longer than Options.ItemTimeout")

	// ErrCopiesDiffer: two evaluations of an item, with Options.Copies, had different
	// results, so the function is not a pure one.
	ErrCopiesDiffer = errors.New("hataori: copies of an item have different results")

	// ErrSource: the source of a stream failed.
	ErrSource = errors.New("hataori: source failed")

	// ErrSink: the sink of a stream failed.
	ErrSink = errors.New("hataori: sink failed")

	// ErrOptions: the options are out of range or contradict each other.
	ErrOptions = errors.New("hataori: bad options")

	// ErrRootRange: Options.Root is not a rank of the world.
	ErrRootRange = errors.New("hataori: root is not a rank of the world")

	// ErrItemsOffRoot: a rank that is not the root passed items.
	ErrItemsOffRoot = errors.New("hataori: items on a rank that is not the root")

	// ErrNilFunc: the function, or the source or sink of a stream, is nil.
	ErrNilFunc = errors.New("hataori: nil function")

	// ErrNotReady: a rank's executor has no resources.
	ErrNotReady = errors.New("hataori: executor is not ready")

	// ErrNoLanes: there are items, and no rank has a lane.
	ErrNoLanes = errors.New("hataori: no rank has a lane")

	// ErrType: the codec would damage or cannot carry the type.
	ErrType = errors.New("hataori: type cannot be sent")

	// ErrEncode: the value of a Broadcast, Scatter or Gather cannot be encoded.
	ErrEncode = errors.New("hataori: value cannot be encoded")

	// ErrValues: the root does not pass one value for each rank to Scatter.
	ErrValues = errors.New("hataori: not one value for each rank")

	// ErrMismatch: the ranks disagree about the call, its types or options.
	ErrMismatch = errors.New("hataori: ranks disagree about the call")

	// ErrAbsent: ranks did not come to the call in time. The world is broken.
	ErrAbsent = errors.New("hataori: ranks did not come to the call")
)

// reasons numbers the causes of a PreflightError on the wire. The order must
// not change.
var reasons = [...]error{nil, ErrOptions, ErrRootRange, ErrItemsOffRoot, ErrNilFunc, ErrNotReady, ErrNoLanes, ErrType, ErrMismatch, ErrAbsent,
	ErrEncode, ErrValues, errors.ErrUnsupported}

// Kind says how an item failed.
type Kind uint8

// The kinds of failure.
const (
	KindError  Kind = iota + 1 // the function returned an error
	KindPanic                  // the function panicked
	KindGoexit                 // the function called runtime.Goexit
	KindEncode                 // the item or its result could not be encoded
	KindDecode                 // the item or its result could not be decoded
	KindDiffer                 // copies of the item have different results
)

func (k Kind) String() string {
	switch k {
	case KindError:
		return "error"
	case KindPanic:
		return "panic"
	case KindGoexit:
		return "goexit"
	case KindEncode:
		return "encode"
	case KindDecode:
		return "decode"
	case KindDiffer:
		return "copies differ"
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// ItemError tells that an item failed: of all items that fail, the one with the
// lowest index. It is equal on every rank of a collective call. In a local
// call Rank is 0 and Host is empty.
type ItemError struct {
	Index   int
	Rank    int        // where it failed
	Host    string     // host of that rank
	Lane    lanes.Lane // lanes.NoLane: on the root, while it was sent or received
	Kind    Kind
	Message string // text of the error or panic, at most 16 KiB
	Stack   string // of a panic, at most 64 KiB

	err   error // what Unwrap gives, equal on all ranks
	local error // the original, on the rank of origin
	value any   // what panic was called with, on the rank of origin
}

// Error tells index, rank, host, lane and message, and of a panic the function, file
// and line of the caller's where it arose, but not the stack.
func (e *ItemError) Error() string { return "hataori: " + e.text() }

// text is Error without the prefix, for errors that tell of an item.
func (e *ItemError) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "item %d failed on rank %d", e.Index, e.Rank)
	if e.Host != "" {
		fmt.Fprintf(&b, " (%s)", e.Host)
	}
	if e.Lane != lanes.NoLane {
		fmt.Fprintf(&b, " lane %d", e.Lane)
	}
	if e.Kind != KindError {
		fmt.Fprintf(&b, ": %v%s", e.Kind, where.In(e.Stack))
	}
	fmt.Fprintf(&b, ": %s", strings.TrimPrefix(e.Message, "hataori: "))
	return b.String()
}

// Trace returns Stack. Programs that print an error look for this method along
// the chain of what it wraps.
func (e *ItemError) Trace() string { return e.Stack }

// Advice says what to do, if that can be said. Programs that tell an error in a
// line look for this method along the chain of what it wraps.
func (e *ItemError) Advice() string {
	switch e.Kind {
	case KindPanic, KindGoexit:
		return "the function has a defect there"
	case KindEncode, KindDecode:
		return "use values that can be sent, or pass Options.Codec"
	}
	if errors.Is(e.err, ErrItemTimeout) {
		return "raise Options.ItemTimeout, or let f return its context's error as Retryable and set Options.Retries"
	}
	return ""
}

// Unwrap returns the item's error as far as it crossed the wire: what the
// [ErrorCodec] made of it, and a few errors of the standard library. In a local
// call it is the error itself.
func (e *ItemError) Unwrap() error { return e.err }

// Local returns the original error on the rank where the item failed, nil on
// the others. For a panic with an error it is that error.
func (e *ItemError) Local() error { return e.local }

// ItemPanic is what a local call re-raises when its lowest failing item
// panicked, after all lanes ended.
type ItemPanic struct {
	Index int
	Lane  lanes.Lane
	Value any    // what panic was called with
	Stack []byte // of the goroutine that panicked
}

// Error tells who panicked, with what, and where. It includes the stack, for
// the runtime prints it when nobody recovers.
func (p *ItemPanic) Error() string {
	return fmt.Sprintf("hataori: panic in item %d on lane %d%s: %v\n\n%s", p.Index, p.Lane, where.In(string(p.Stack)), p.Value, p.Stack)
}

// Unwrap returns the value if it is an error, else nil.
func (p *ItemPanic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// CancelError tells that a context ended the call. It is [context.Canceled], and
// [context.DeadlineExceeded] if a deadline was the reason.
type CancelError struct {
	Rank    int    // the lowest rank whose context ended
	Host    string // its host; empty in a local call
	Cause   string // text of that context's cause
	Timeout bool   // a deadline passed
	Item    *ItemError

	// InFlight are items that lanes were at when the call was cancelled and that
	// ran for a tenth of a second or more: at most 16, those first for which the
	// call had to wait longest. InFlightCount is how many there were.
	InFlight      []ItemInFlight
	InFlightCount int

	err error // the cause, in a local call or on the rank of origin
}

func (e *CancelError) Error() string {
	s := fmt.Sprintf("hataori: call cancelled on rank %d", e.Rank)
	if e.Host != "" {
		s += " (" + e.Host + ")"
	}
	s += ": " + e.Cause + e.inFlightText()
	if e.Item != nil {
		s += "; lowest failure seen: " + e.Item.text()
	}
	return s
}

// Is reports that the error is context.Canceled, and context.DeadlineExceeded
// if a deadline passed.
func (e *CancelError) Is(target error) bool {
	return target == context.Canceled || e.Timeout && target == context.DeadlineExceeded
}

// Advice says what to do, see [ItemError.Advice].
func (e *CancelError) Advice() string {
	var advice []string
	if len(e.InFlight) > 0 && e.InFlight[0].Late >= overdueAfter {
		advice = append(advice, "let items return when their context ends")
	}
	if e.Timeout {
		advice = append(advice, "give it more time, or keep results in a file from which the next job goes on")
	}
	return strings.Join(advice, "; ")
}

// Unwrap returns the lowest item failure seen before the end, or nil.
func (e *CancelError) Unwrap() error {
	if e.Item == nil {
		return nil
	}
	return e.Item
}

// Local returns the cause of the context on the rank it belongs to, else nil.
func (e *CancelError) Local() error { return e.err }

// PreflightError tells that a call was refused before any item ran, with the
// objection of the lowest rank that had one. It is equal on every rank.
type PreflightError struct {
	Rank    int    // who objects
	Host    string // its host
	Reason  error  // one of the sentinels; what Unwrap gives
	Message string // details

	local error
}

func (e *PreflightError) Error() string {
	s := fmt.Sprintf("%v: rank %d", e.Reason, e.Rank)
	if e.Host != "" {
		s += " (" + e.Host + ")"
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

// Advice says what to do, see [ItemError.Advice].
func (e *PreflightError) Advice() string {
	switch e.Reason {
	case ErrMismatch:
		return "start all ranks with the same program and flags, and let all make the same calls in the same order"
	case ErrAbsent:
		return "look at the ranks that did not come: they have ended, they hang, or they make another call"
	case ErrNoLanes:
		return "give an executor to one rank at least"
	case ErrType:
		return "use a type that can be sent, or pass Options.Codec"
	}
	return ""
}

// Unwrap returns Reason.
func (e *PreflightError) Unwrap() error { return e.Reason }

// Local returns the original error on the rank that objects, else nil.
func (e *PreflightError) Local() error { return e.local }

// RankError tells that a rank failed outside of any item: its executor could not
// start its lanes, no healthy lane was left, it called [World.Agree] with an error,
// or a callback of its options did not return ([ErrCallback]). It is equal on every rank.
type RankError struct {
	Rank    int // the lowest rank that failed
	Host    string
	Message string
	Stack   string // of a panic, at most 64 KiB

	err   error
	local error
}

func (e *RankError) Error() string {
	s := fmt.Sprintf("hataori: rank %d", e.Rank)
	if e.Host != "" {
		s += " (" + e.Host + ")"
	}
	return s + ": " + e.Message + where.In(e.Stack)
}

// Trace returns Stack, see [ItemError.Trace].
func (e *RankError) Trace() string { return e.Stack }

// Unwrap returns the error as far as it crossed the wire, see
// [ItemError.Unwrap].
func (e *RankError) Unwrap() error { return e.err }

// Local returns the original error on the rank that failed, else nil.
func (e *RankError) Local() error { return e.local }

// CallError tells which call was refused at once, on this rank alone: errors.Is
// finds [ErrClosed], [ErrWorldBusy], [ErrNested], [ErrNilFunc] or
// [lanes.ErrNoLanes].
type CallError struct {
	Call string // PmapLanes, …
	Rank int    // of the world; −1: a call without one
	Err  error
}

func (e *CallError) Error() string {
	if e.Rank < 0 {
		return fmt.Sprintf("%v (%s)", e.Err, e.Call)
	}
	return fmt.Sprintf("%v (%s on rank %d)", e.Err, e.Call, e.Rank)
}

// Unwrap returns the reason.
func (e *CallError) Unwrap() error { return e.Err }

// BrokenError tells what broke a world. It is [ErrWorldBroken].
type BrokenError struct {
	Rank int    // where it was noticed
	Host string // its host
	Err  error  // what happened
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("%v: rank %d (%s): %v", ErrWorldBroken, e.Rank, e.Host, e.Err)
}

// Advice says what to do, see [ItemError.Advice].
func (e *BrokenError) Advice() string {
	return "a rank or the network was lost: the first message of any rank says more; start again, hataori doctor examines the machines"
}

// Unwrap returns ErrWorldBroken and the cause.
func (e *BrokenError) Unwrap() []error { return []error{ErrWorldBroken, e.Err} }
