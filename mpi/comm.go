package mpi

import (
	"time"
	"unsafe"

	"github.com/hataori/hataori-go/transport"
)

// The operators of reductions and the wildcards, from package transport.
const (
	Min = transport.Min
	Max = transport.Max
	Sum = transport.Sum

	AnySource = transport.AnySource
	AnyTag    = transport.AnyTag
)

// Status describes a message, see [transport.Status].
type Status = transport.Status

// Comm is this rank's handle on a group of ranks. It implements
// [transport.Comm]. Its methods may be called by one goroutine at a time, any
// if AnyThread is true; different communicators may be used at the same time.
type Comm struct {
	rank, size int
	host       string
	maxTag     int
	piece      int // bytes of the pieces of a long message
	short      int // bytes of the longest message that is not long

	// With a library; guarded by the gate.
	lib    *library
	h      uintptr // carries messages and collective calls
	bulk   uintptr // carries the pieces of long messages, and gathers
	has    bool    // bulk was made
	serial int     // of the next long message
	active int     // requests in flight
	stash  []stashed
	ahead  ahead
	probed Status // the message that the last probe found, if not received since
	freed  bool

	// Without a library.
	solo  *solo
	ended *bool // by Finalize
}

var _ transport.Comm = (*Comm)(nil)

// newComm describes a communicator of the library. The gate is held.
func newComm(lib *library, h uintptr, host string, piece int) (*Comm, error) {
	c := &Comm{lib: lib, h: h, host: host, maxTag: 32767, probed: Status{Source: AnySource}}
	c.cut(piece)
	if err := lib.call(fnCommRank, h, lib.outAddr(0)); err != nil {
		return nil, err
	}
	c.rank = lib.outInt(0)
	if err := lib.call(fnCommSize, h, lib.outAddr(0)); err != nil {
		return nil, err
	}
	c.size = lib.outInt(0)
	if err := lib.call(fnCommGetAttr, lib.abi.commWorld, num(lib.abi.tagUB), lib.outAddr(0), lib.outAddr(1)); err != nil {
		return nil, err
	}
	if lib.outInt(1) != 0 && lib.out[0] != 0 {
		c.maxTag = int(*(*int32)(foreignPointer(lib.out[0])))
	}
	return c, nil
}

// cut sets the length of pieces, which must be the same on all ranks.
func (c *Comm) cut(piece int) {
	c.piece, c.short = piece, min(piece, longestShort)
}

// foreignPointer makes a pointer of an address outside the Go heap.
func foreignPointer(addr uintptr) unsafe.Pointer {
	return *(*unsafe.Pointer)(unsafe.Pointer(&addr))
}

// returnErrors makes the library report errors instead of ending the process.
// The gate is held.
func (l *library) returnErrors(h uintptr) error {
	return l.call(fnCommSetErrhandler, h, l.abi.errorsReturn)
}

// Rank returns the number of this rank, 0 ≤ Rank < Size.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Comm) Size() int { return c.size }

// Host returns the name of the host that this rank runs on.
func (c *Comm) Host() string { return c.host }

// MaxTag returns the largest tag allowed, at least 32767.
func (c *Comm) MaxTag() int { return c.maxTag }

// AnyThread reports whether any goroutine may call, one at a time. If not, only
// the goroutine that called Init may, which is locked to its thread.
func (c *Comm) AnyThread() bool { return c.lib == nil || c.lib.level >= ThreadSerialized }

// OwnProcess implements [transport.OwnProcess].
func (c *Comm) OwnProcess() bool { return true }

// enter takes the gate if a call may be made, and returns an error, without the
// gate, if not.
func (c *Comm) enter(op string) error {
	gate.Lock()
	if err := c.usable(op); err != nil {
		gate.Unlock()
		return err
	}
	return nil
}

func (c *Comm) usable(op string) error {
	if c.freed {
		return usedAfterEnd(op, "after Free")
	}
	if c.lib != nil {
		return c.lib.usable(op)
	}
	if *c.ended {
		return usedAfterEnd(op, "after Finalize")
	}
	return nil
}

// Dup returns a duplicate whose traffic never meets that of c. It is
// collective and returns when every rank has called it. The caller owns the
// result and calls Free.
func (c *Comm) Dup() (*Comm, error) {
	if c.lib == nil {
		if err := c.enter("Dup"); err != nil {
			return nil, err
		}
		defer gate.Unlock()
		return newSolo(c.host, c.ended), nil
	}
	h, err := c.idup()
	if err != nil {
		return nil, err
	}
	d := &Comm{rank: c.rank, size: c.size, host: c.host, maxTag: c.maxTag, lib: c.lib, h: h, probed: Status{Source: AnySource}}
	d.cut(c.piece)
	if err := d.makeBulk(); err != nil {
		return nil, err
	}
	return d, nil
}

// makeBulk gives a communicator the handle for long messages. It is collective.
func (c *Comm) makeBulk() error {
	bulk, err := c.idup()
	if err != nil {
		return err
	}
	c.bulk, c.has = bulk, true
	return nil
}

// idup duplicates the handle without holding the gate while others are awaited.
func (c *Comm) idup() (uintptr, error) {
	if err := c.enter("Dup"); err != nil {
		return 0, err
	}
	r := c.request(kindCollective)
	err := c.lib.call(fnCommIdup, c.h, word(&r.made), word(&r.h))
	if err != nil {
		c.drop(r)
	}
	gate.Unlock()
	if err != nil {
		return 0, err
	}
	var idle ladder
	for {
		if done, made, err := r.testMade(); done || err != nil {
			return made, err
		}
		idle.wait()
	}
}

// Private is Dup for code written against [transport.Comm].
func (c *Comm) Private() (transport.Comm, error) {
	d, err := c.Dup()
	if err != nil {
		return nil, err // not a nil *Comm in an interface
	}
	return d, nil
}

// Free gives up a communicator made by Dup or Private. It is collective. It
// returns ErrBusy, and does nothing, while requests of this communicator are in
// flight on this rank.
func (c *Comm) Free() error {
	c.settleOrphans(abandonPatience)
	if err := c.enter("Free"); err != nil {
		return err
	}
	defer gate.Unlock()
	if c.active > 0 {
		return &Error{Op: "Free", Err: ErrBusy}
	}
	return c.release()
}

// release frees the handles. The gate is held.
func (c *Comm) release() error {
	if c.lib != nil {
		if err := c.withdraw(); err != nil {
			return err
		}
	}
	c.freed = true
	c.stash = nil
	if c.lib == nil {
		c.solo = nil
		return nil
	}
	c.lib.out[0] = c.h
	err := c.lib.call(fnCommFree, word(&c.lib.out[0]))
	if c.has {
		c.lib.out[0] = c.bulk
		if err2 := c.lib.call(fnCommFree, word(&c.lib.out[0])); err == nil {
			err = err2
		}
	}
	return err
}

// Abort ends all processes of the job with the given exit status and does not
// return. A status outside 1..255 becomes 1: 0 and multiples of 256 would look
// like success. Without a library it ends this process.
func (c *Comm) Abort(status int) {
	if status < 1 || status > 255 {
		status = 1
	}
	// The library may hang, or may return (it does when told not to clean up).
	time.AfterFunc(abortPatience, func() { exitProcess(status) })
	if c.lib != nil {
		// Another goroutine may sit in a call that will never end.
		for end := time.Now().Add(abortPatience / 4); !gate.TryLock() && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		if c.lib.live {
			// The error cannot matter: the process ends in any case.
			_ = c.lib.call(fnAbort, c.lib.abi.commWorld, num(status))
		}
	}
	exitProcess(status)
}

// abortPatience is how long MPI_Abort may take to end this process.
const abortPatience = 4 * time.Second
