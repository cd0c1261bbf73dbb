package mpi

import (
	"errors"
	"unsafe"

	"github.com/hataori/hataori-go/transport"
)

type kind uint8

const (
	kindSend kind = iota + 1
	kindReceive
	kindCollective
)

// stage says what the current MPI request of a request carries.
type stage uint8

const (
	stageWhole  stage = iota // the message, or the header of a long one
	stagePieces              // one piece of a long message
	stageReady               // nothing: the result is known
)

// request is an operation in flight. Until it is done it hangs in its library's
// list, which keeps it and the caller's buffer alive even if the caller forgets
// it, because the library may still write through their addresses.
type request struct {
	c          *Comm
	prev, next *request
	h          uintptr   // MPI request, written by the library
	more       []uintptr // further MPI requests that must be done too
	made       uintptr   // communicator made by idup, written by the library
	buf        []byte
	keep       [2]unsafe.Pointer // buffers of reductions
	land       []byte            // where a receive lands, unless direct
	direct     bool              // a receive lands in buf
	drain      []byte            // where the pieces of a message longer than buf go
	head       [headerLen]byte   // of a long message sent
	peer, tag  int
	total      int // bytes of a long message
	piece      int // bytes of each of its pieces but the last
	off        int // bytes of finished pieces
	serial     int // its tag on the bulk communicator
	kind       kind
	stage      stage
	cancel     bool
	staged     bool // counted in flight.long
	lost       bool // the library failed, and may go on with it
	st         Status
	err        error
	local      *soloMessage // sent in a world of one
}

// flight is the list of requests in flight, and those that can be used again.
// It is guarded by the gate.
type flight struct {
	head    *request
	count   int
	long    int // receives that may meet a long message
	idle    int // calls in a row that found nothing
	free    *request
	orphans []*request // given up by blocking forms, still to be completed
	lost    []any      // what the library may still read or write after it has failed
}

// request takes a request from the pool. The gate is held.
func (c *Comm) request(k kind) *request {
	f := &c.lib.flying
	r := f.free
	if r == nil {
		r = new(request)
	} else {
		f.free = r.next
	}
	r.c, r.kind = c, k
	r.prev, r.next = nil, f.head
	if f.head != nil {
		f.head.prev = r
	}
	f.head = r
	f.count++
	c.active++
	return r
}

// drop gives a request back to the pool, or keeps it with its buffers for good if
// the library may not be done with it. The gate is held.
func (c *Comm) drop(r *request) {
	f := &c.lib.flying
	if r.prev != nil {
		r.prev.next = r.next
	} else {
		f.head = r.next
	}
	if r.next != nil {
		r.next.prev = r.prev
	}
	f.count--
	c.active--
	if r.staged {
		f.long--
	}
	if r.lost {
		f.lost = append(f.lost, r)
		r.c = nil
		return
	}
	*r = request{next: f.free, more: r.more[:0], land: r.land[:0]}
	f.free = r
}

// Test implements [transport.Request].
func (r *request) Test() (bool, Status, error) {
	gate.Lock()
	defer gate.Unlock()
	return r.test()
}

// testMade is Test for idup.
func (r *request) testMade() (bool, uintptr, error) {
	gate.Lock()
	defer gate.Unlock()
	if err := r.c.lib.usable("Dup"); err != nil {
		return false, 0, err
	}
	if !r.poll() {
		return false, 0, nil
	}
	c, made, err := r.c, r.made, r.err
	c.drop(r)
	if err == nil {
		err = c.lib.returnErrors(made)
	}
	return err == nil, made, err
}

func (r *request) test() (bool, Status, error) {
	c := r.c
	if c == nil {
		return false, Status{}, &Error{Op: "Test", Err: ErrEnded}
	}
	if c.lib == nil {
		return r.testSolo()
	}
	if err := c.lib.usable("Test"); err != nil {
		return false, Status{}, err
	}
	if !r.poll() {
		c.lib.progress()
		return false, Status{}, nil
	}
	st, err := r.st, r.err
	c.drop(r)
	return err == nil, st, err
}

// progress is called by calls that found nothing. MPI promises that waiting for
// one operation lets all others go on; receives of long messages go on only when
// they are polled, so every few calls they are.
func (l *library) progress() {
	f := &l.flying
	f.idle++
	if f.long == 0 || f.idle%4 != 0 {
		return
	}
	for r := f.head; r != nil; r = r.next {
		if r.staged {
			r.poll()
		}
	}
}

// poll reports whether the request has ended; then st and err say how.
func (r *request) poll() bool {
	for r.stage != stageReady {
		done, err := r.complete()
		if err == nil {
			if !done {
				return false
			}
			err = r.advance()
		} else {
			r.lost = !errors.Is(err, transport.ErrTruncated) // which is an end
		}
		if err != nil {
			r.err, r.stage = err, stageReady
		}
	}
	return true
}

// complete tests the MPI requests.
func (r *request) complete() (bool, error) {
	l := r.c.lib
	if err := l.call(fnTest, word(&r.h), l.outAddr(0), l.statusAddr()); err != nil {
		return false, err
	}
	if l.outInt(0) == 0 {
		return false, nil
	}
	for n := len(r.more); n > 0; n = len(r.more) {
		r.h = r.more[n-1]
		r.more = r.more[:n-1]
		done, err := r.complete()
		if !done || err != nil {
			return done, err
		}
	}
	return true, nil
}

// advance goes on after the MPI requests have ended.
func (r *request) advance() error {
	switch {
	case r.kind == kindReceive && r.stage == stagePieces:
		return r.nextPiece()
	case r.kind == kindReceive:
		return r.received()
	}
	r.stage = stageReady
	return nil
}

// Cancel implements [transport.Request].
func (r *request) Cancel() error {
	gate.Lock()
	defer gate.Unlock()
	if r.c == nil {
		return &Error{Op: "Cancel", Err: ErrEnded}
	}
	if r.kind != kindReceive {
		return badArgument("Cancel", "only a receive can be cancelled")
	}
	if r.c.lib == nil {
		r.cancelSolo()
		return nil
	}
	if err := r.c.lib.usable("Cancel"); err != nil {
		return err
	}
	if r.stage != stageWhole || r.cancel {
		return nil // too late, or done before
	}
	r.cancel = true
	return r.c.lib.call(fnCancel, word(&r.h))
}

var _ transport.Request = (*request)(nil)
