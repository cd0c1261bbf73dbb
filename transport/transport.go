// Package transport is the contract between the scheduler and whatever moves
// bytes between ranks. Package mpi implements it over an MPI library,
// mpi/mpitest over goroutines of one process; a code with a communicator of
// its own may implement it too.
//
// It holds interfaces and values only. Every method that starts something
// returns at once; completion is learnt by testing the [Request]. Nothing in
// this contract blocks, except [Comm.Private], [Comm.Free] and [Splitter.Part],
// which are collective.
package transport

import "errors"

// Errors that every implementation reports by errors.Is, so that code written
// against this contract can tell them apart.
var (
	// ErrArgument is returned, before anything is sent, by a call with a rank,
	// tag, root, length or operator that is out of range.
	ErrArgument = errors.New("transport: argument out of range")

	// ErrTruncated ends a receive whose buffer is shorter than the message.
	// The message is lost.
	ErrTruncated = errors.New("transport: message longer than the buffer")

	// ErrFreed is returned by a call on a communicator after its Free, or
	// after the library below it has ended.
	ErrFreed = errors.New("transport: communicator used after it was freed")
)

// Wildcards for [Comm.Iprobe].
const (
	AnySource = -1 // match a message from any rank
	AnyTag    = -1 // match a message with any tag
)

// Op is a reduction operator.
type Op int

// The operators of [Comm.Iallreduce]. Reductions are over signed numbers
// only: unsigned minima are wrong in widely installed MPI libraries.
const (
	Min Op = iota + 1
	Max
	Sum
)

// Status describes a message that was found or received.
type Status struct {
	Source int // rank that sent it
	Tag    int
	Count  int // length in bytes

	// Cancelled says that the receive ended by Cancel and holds no message.
	Cancelled bool
}

// Comm is one rank's handle on a fixed group of ranks that exchange bytes.
//
// Messages between two ranks with the same tag arrive in the order in which
// they were sent. Collective calls must be started in the same order on all
// ranks. At most one goroutine calls into a Comm at a time; where
// [Comm.AnyThread] is false it must be the goroutine, locked to its thread,
// that initialised the library.
type Comm interface {
	Rank() int    // 0 ≤ Rank < Size
	Size() int    // number of ranks
	Host() string // name of the host this rank runs on, for messages
	MaxTag() int  // largest tag allowed, at least 32767

	// AnyThread reports whether calls may come from any goroutine, one at a
	// time.
	AnyThread() bool

	// Private returns a duplicate of the communicator whose traffic never
	// meets that of the original. It is collective, blocks until every rank
	// has called it, and the result is owned by the caller, who calls Free.
	Private() (Comm, error)

	// Free gives up a communicator made by Private or [Splitter.Part]. It is
	// collective.
	Free() error

	// Isend starts to send p to rank dest. The transport reads p until the
	// request is done; until then the caller must not write to it. Length 0
	// is allowed. Messages of any length are allowed: the transport moves
	// long ones in pieces.
	Isend(p []byte, dest, tag int) (Request, error)

	// Irecv starts to receive the next message from source (not a wildcard)
	// with the given tag into p, which belongs to the transport until the
	// request is done. A message longer than p is an error.
	Irecv(p []byte, source, tag int) (Request, error)

	// Iprobe reports, without receiving it, the next message that matches
	// source and tag, each of which may be a wildcard. Count is the length
	// of the whole message.
	Iprobe(source, tag int) (Status, bool, error)

	// Iallreduce combines send element by element over all ranks and puts
	// the result into recv on every rank. Both have the same length on all
	// ranks, do not overlap, and belong to the transport until done.
	Iallreduce(send, recv []int64, op Op) (Request, error)

	// Ibcast sends p on rank root into p, of the same length, on the others.
	Ibcast(p []byte, root int) (Request, error)

	// Ibarrier is done once every rank has started it.
	Ibarrier() (Request, error)

	// Abort ends all processes of the job with the given exit status,
	// 1..255, and does not return.
	Abort(status int)
}

// OwnProcess is implemented by a Comm that may know that its rank has its
// process to itself, as ranks of MPI have. Whoever waits for messages may then
// sleep without handing its processor to other goroutines: there are none but
// those of this rank.
type OwnProcess interface {
	OwnProcess() bool
}

// Splitter is implemented by a Comm whose ranks can be parted into smaller groups.
type Splitter interface {
	// Part makes new communicators of the ranks: those that pass the same color
	// share one, in which their order is that of key, and of rank where keys are
	// equal. It is collective, blocks until every rank has called it, and the
	// result is owned by the caller, who calls Free.
	//
	// Color is 0..2³¹−1, key any number of 32 bits. If a rank passes another every
	// rank gets ErrArgument, and none a communicator. There is no color for being
	// in no group: ranks that are not wanted pass one of their own, and free what
	// they get.
	Part(color, key int) (Comm, error)
}

// Express is implemented by a Comm in which two steps cost little more than one:
// with a library below it, the way there and back is what costs.
type Express interface {
	// Take looks for a message of any source and tag, like Iprobe, up to that many
	// times. One that fits into p may be received at once: then taken is true, and
	// p holds st.Count bytes. Else it is left for Irecv.
	Take(p []byte, looks int) (st Status, found, taken bool, err error)

	// Give is Isend, but returns no request for a message that has left p.
	Give(p []byte, dest, tag int) (Request, error)
}

// Request is an operation in flight. It must be tested until it is done (or
// has failed); after that it must not be used again.
type Request interface {
	// Test makes progress and reports whether the operation is complete.
	// The status is meaningful for receives. An error ends the request.
	Test() (done bool, st Status, err error)

	// Cancel asks a receive that has not been matched to end. The request
	// must still be tested until done; its status then says whether it was
	// cancelled or had received a message after all. Sends and collective
	// operations cannot be cancelled: Cancel returns ErrArgument.
	Cancel() error
}
