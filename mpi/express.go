package mpi

import (
	"bytes"
	"runtime"
	"time"
	"unsafe"

	"github.com/hataori/hataori-go/transport"
)

// crossing is two MPI functions that are called on one way to C and back, which
// takes longer than either of them: one that starts an operation, and MPI_Test. It
// lies in the Go heap, so that they may write to it.
type crossing struct {
	start, test     uintptr // the functions
	buf, count      uintptr
	dataType, comm  uintptr
	peer, tag       uintptr
	request, status uintptr // addresses
	looks           uintptr // tests that may come to nothing
	flag            int32   // of MPI_Test
	stage           int32   // 1: the second function was called
}

// ahead is a receive of any message, which is always posted once somebody takes
// messages: the library then puts what comes where it belongs, and finds out by
// looking at one place. No message is longer than its buffer, see message.go.
type ahead struct {
	h    uintptr // MPI request, written by the library
	on   bool
	ends bool      // it was cancelled, and has not ended
	land [2][]byte // where this one lands, and the next
}

var _ transport.Express = (*Comm)(nil)

// Take implements [transport.Express]. From its first call on a receive is posted that
// gets every message of c, until an Irecv that finds none: what Take does not return
// is kept for Iprobe and Irecv.
func (c *Comm) Take(p []byte, looks int) (st Status, found, taken bool, err error) {
	if err := c.enter("Take"); err != nil {
		return st, false, false, err
	}
	defer gate.Unlock()
	if c.solo != nil {
		st, found = c.soloProbe(AnyTag)
		return st, found, false, nil
	}
	if len(c.stash) == 0 {
		got, st, err := c.pull(looks)
		switch {
		case err != nil:
			return st, false, false, err
		case got == nil:
			c.lib.progress()
			return st, false, false, nil
		case len(got) <= len(p) && !looksLikeHeader(got):
			copy(p, got)
			return st, true, true, nil
		}
		c.keep(got, st)
	}
	st, err = c.stash[0].status()
	if err == nil && st.Count <= len(p) && !looksLikeHeader(c.stash[0].bytes) {
		copy(p, c.stash[0].bytes)
		c.stash = c.stash[1:]
		return st, true, true, nil
	}
	return st, err == nil, false, err
}

// pull returns the next message that has come, or nil. It is valid until the next
// call. The gate is held.
func (c *Comm) pull(looks int) ([]byte, Status, error) {
	a, l := &c.ahead, c.lib
	if a.ends {
		if err := c.withdraw(); err != nil {
			return nil, Status{}, err
		}
	}
	if !a.on {
		if a.land[0] == nil {
			a.land = [2][]byte{make([]byte, c.short), make([]byte, c.short)}
		}
		from, with := l.wild(AnySource, AnyTag)
		if err := l.call(fnIrecv, addr(a.land[0]), num(c.short), l.abi.byteType, from, with, c.h, word(&a.h)); err != nil {
			return nil, Status{}, err
		}
		a.on = true
		c.probed.Source = AnySource // it may be taken
		l.ahead = append(l.ahead, c)
	}
	x := c.cross(fnIrecv, a.land[1][:c.short], &a.h)
	x.peer, x.tag = l.wild(AnySource, AnyTag)
	x.looks = uintptr(max(looks, 1))
	rc := l.crossTake()
	switch {
	case rc != 0 && x.stage == 0:
		c.forgo()
		return nil, Status{}, l.failed(fnTest, rc)
	case rc != 0:
		c.forgo()
		return nil, Status{}, l.failed(fnIrecv, rc)
	case x.flag == 0:
		return nil, Status{}, nil
	}
	n, err := l.count()
	if err != nil {
		return nil, Status{}, err
	}
	a.land[0], a.land[1] = a.land[1], a.land[0]
	return a.land[1][:n], l.found(n), nil
}

// pullAll keeps what has come for those who look for a message of their own.
func (c *Comm) pullAll() error {
	for c.ahead.on {
		got, st, err := c.pull(1)
		if got == nil || err != nil {
			return err
		}
		c.keep(got, st)
	}
	return nil
}

func (c *Comm) keep(got []byte, st Status) {
	c.stash = append(c.stash, stashed{st.Source, st.Tag, bytes.Clone(got)})
}

// forgo notes that no receive is posted ahead any more.
func (c *Comm) forgo() {
	c.ahead.on, c.ahead.ends = false, false
	for i, d := range c.lib.ahead {
		if d == c {
			c.lib.ahead = append(c.lib.ahead[:i], c.lib.ahead[i+1:]...)
			return
		}
	}
}

// withdraw ends the receive that is posted ahead, and keeps the message that it got
// after all. The end is local and comes at once, unless a message is half here: that
// is waited for, but no longer than abandonPatience, as the gate is held; then it may
// be called again.
func (c *Comm) withdraw() error {
	a, l := &c.ahead, c.lib
	if !a.on {
		return nil
	}
	if !a.ends {
		if err := l.call(fnCancel, word(&a.h)); err != nil {
			return err
		}
		a.ends = true
	}
	for end := time.Now().Add(abandonPatience); ; {
		if err := l.call(fnTest, word(&a.h), l.outAddr(0), l.statusAddr()); err != nil {
			c.forgo()
			return err
		}
		if l.outInt(0) != 0 {
			break
		}
		if time.Now().After(end) {
			return &Error{Op: "Cancel", Err: ErrBusy, Text: "a message is coming and does not end; try again once its sender goes on"}
		}
	}
	c.forgo()
	if err := l.call(fnTestCancelled, l.statusAddr(), l.outAddr(0)); err != nil || l.outInt(0) != 0 {
		return err
	}
	n, err := l.count()
	if err == nil {
		c.keep(a.land[0][:n], l.found(n))
	}
	return err
}

// Give implements [transport.Express].
func (c *Comm) Give(p []byte, dest, tag int) (transport.Request, error) {
	if c.solo != nil || len(p) > min(atOnce, c.short) || looksLikeHeader(p) {
		return c.Isend(p, dest, tag)
	}
	if err := c.checkPeer("Give", dest, tag, false); err != nil {
		return nil, err
	}
	if err := c.enter("Give"); err != nil {
		return nil, err
	}
	defer gate.Unlock()
	l := c.lib
	x := c.cross(fnIsend, p, &l.given)
	x.peer, x.tag = num(dest), num(tag)
	rc := l.crossGive()
	runtime.KeepAlive(p)
	switch {
	case rc != 0 && x.stage == 0:
		return nil, l.failed(fnIsend, rc)
	case rc == 0 && x.flag != 0:
		return nil, nil
	}
	r := c.request(kindSend)
	r.buf, r.peer, r.h = p, dest, l.given
	if rc != 0 {
		r.err, r.stage = l.failed(fnTest, rc), stageReady
	}
	return r, nil
}

// cross prepares a crossing that starts an operation on p.
func (c *Comm) cross(start fn, p []byte, request *uintptr) *crossing {
	l := c.lib
	x := &l.cross
	x.start, x.test, x.stage = l.fns[start], l.fns[fnTest], 0
	x.buf, x.count, x.dataType, x.comm = addr(p), uintptr(len(p)), l.abi.byteType, c.h
	x.request, x.status = uintptr(unsafe.Pointer(request)), l.statusAddr()
	return x
}
