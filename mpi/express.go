package mpi

import (
	"bytes"
	"runtime"
	"time"

	"github.com/hataori/hataori-go/transport"
)

// crossing is MPI functions that are called on one way to C and back, which takes
// longer than any of them: what starts an operation, and MPI_Test. It lies in the Go
// heap, so that they may write to it.
type crossing struct {
	fns        [3]uintptr // the functions, by step
	send, recv transfer   // arguments of MPI_Isend and MPI_Irecv
	status     uintptr    // address
	looks      uintptr    // tests that may come to nothing
	post       int32      // 1: MPI_Irecv is called, too
	flag       int32      // of MPI_Test
	step       int32      // which function was called last
}

// transfer are the arguments of MPI_Isend or MPI_Irecv.
type transfer struct{ buf, count, dataType, peer, tag, comm, request uintptr }

// The functions of a crossing.
const (
	stepSend = iota
	stepPost
	stepTest
)

var crossed = [...]fn{stepSend: fnIsend, stepPost: fnIrecv, stepTest: fnTest}

// ahead is a receive of any message, which is posted before anybody looks for one:
// the library then puts what comes where it belongs, and finds out by looking at one
// place. No message is longer than its buffer, see message.go. Once it has got one, the
// next is posted on the way of the answer, whose receiver need not wait for that.
type ahead struct {
	h       uintptr // MPI request, written by the library
	wanted  bool    // somebody takes messages
	on      bool    // it is posted
	ends    bool    // it was cancelled, and has not ended
	landing []byte
}

var _ transport.Express = (*Comm)(nil)

// Take implements [transport.Express]. From its first call on receives are posted that
// get every message of c, until an Irecv that finds none: what Take does not return
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
	if !a.wanted {
		if a.landing == nil {
			a.landing = make([]byte, c.short)
		}
		a.wanted = true
		l.ahead = append(l.ahead, c)
	}
	x := c.cross()
	x.looks = uintptr(max(looks, 1))
	rc := l.crossTake()
	if rc != 0 {
		if x.step == stepTest {
			c.lose()
		}
		c.forgo()
		return nil, Status{}, l.failed(crossed[x.step], rc)
	}
	if a.on = x.flag == 0; a.on {
		return nil, Status{}, nil
	}
	n, err := l.count()
	if err != nil {
		return nil, Status{}, err
	}
	return a.landing[:n], l.found(n), nil
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

// forgo notes that no receive is posted ahead any more, and none to be.
func (c *Comm) forgo() {
	c.ahead.wanted, c.ahead.on, c.ahead.ends = false, false, false
	for i, d := range c.lib.ahead {
		if d == c {
			c.lib.ahead = append(c.lib.ahead[:i], c.lib.ahead[i+1:]...)
			return
		}
	}
}

// lose keeps the buffer of a receive whose test has failed: the library may still
// write to it.
func (c *Comm) lose() {
	c.lib.flying.lost = append(c.lib.flying.lost, c.ahead.landing)
	c.ahead.landing = nil
}

// withdraw ends the receive that is posted ahead, and keeps the message that it got
// after all. The end is local and comes at once, unless a message is half here: that
// is waited for, but no longer than abandonPatience, as the gate is held; then it may
// be called again.
func (c *Comm) withdraw() error {
	a, l := &c.ahead, c.lib
	if !a.on {
		c.forgo()
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
			c.lose()
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
		c.keep(a.landing[:n], l.found(n))
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
	x := c.cross()
	x.send = transfer{addr(p), uintptr(len(p)), l.abi.byteType, num(dest), num(tag), c.h, word(&l.given)}
	rc := l.crossGive()
	runtime.KeepAlive(p)
	if x.post != 0 {
		c.ahead.on = x.step == stepTest
	}
	switch {
	case rc != 0 && x.step == stepSend:
		return nil, l.failed(fnIsend, rc)
	case rc == 0 && x.flag != 0:
		return nil, nil
	}
	r := c.request(kindSend)
	r.buf, r.peer, r.h = p, dest, l.given
	if rc != 0 && x.step == stepTest { // that no receive could be posted is Take's to say
		r.err, r.stage, r.lost = l.failed(fnTest, rc), stageReady, true
	}
	return r, nil
}

// cross prepares a crossing, which posts a receive if one is wanted.
func (c *Comm) cross() *crossing {
	l, a := c.lib, &c.ahead
	x := &l.cross
	x.fns = [...]uintptr{l.fns[fnIsend], l.fns[fnIrecv], l.fns[fnTest]}
	x.status, x.post = l.statusAddr(), 0
	x.recv.request = word(&a.h)
	if a.wanted && !a.on {
		from, with := l.wild(AnySource, AnyTag)
		x.recv = transfer{addr(a.landing), num(c.short), l.abi.byteType, from, with, c.h, word(&a.h)}
		x.post = 1
		c.probed.Source = AnySource // it may be taken
	}
	return x
}
