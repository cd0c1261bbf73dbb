package mpitest

import (
	"bytes"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/transport"
)

// Comm is one rank's handle. It implements transport.Comm.
type Comm struct {
	g     *group
	rank  int // on this communicator
	proc  int // on the world
	host  string
	busy  atomic.Bool
	round int // collective calls started on this rank
	takes int // calls of Take
	freed bool
}

var (
	_ transport.Comm     = (*Comm)(nil)
	_ transport.Express  = (*Comm)(nil)
	_ transport.Splitter = (*Comm)(nil)
)

// Rank returns the number of this rank.
func (c *Comm) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Comm) Size() int { return c.g.size() }

// Host returns the name that Options.Host gives this rank.
func (c *Comm) Host() string { return c.host }

// MaxTag returns Options.MaxTag.
func (c *Comm) MaxTag() int { return c.g.net.opts.MaxTag }

// AnyThread reports whether any goroutine may call, see Options.Funneled.
func (c *Comm) AnyThread() bool { return !c.g.net.opts.Funneled }

// enter opens a call: it takes the net's lock, which leave gives back, unless
// it returns an error. As in MPI, any call of a rank makes progress for all
// that the rank has posted.
func (c *Comm) enter(op string) error {
	if !c.busy.CompareAndSwap(false, true) {
		panic("mpitest: two goroutines call into one communicator at the same time")
	}
	net := c.g.net
	net.mu.Lock()
	err := c.usable(op)
	if err != nil {
		c.leave()
		return err
	}
	for _, g := range net.live {
		if rank := g.place[c.proc]; rank >= 0 {
			g.match(rank)
		}
	}
	return nil
}

func (c *Comm) leave() {
	c.g.net.mu.Unlock()
	c.busy.Store(false)
}

func (c *Comm) usable(op string) error {
	net := c.g.net
	if net.opts.Funneled {
		id := goroutineID()
		if net.owner[c.proc] == 0 {
			net.owner[c.proc] = id
		} else if net.owner[c.proc] != id {
			return c.fail(op, transport.ErrArgument, "called from another goroutine than the first call of this rank, and AnyThread is false")
		}
	}
	switch {
	case net.aborted != nil:
		return c.fail(op, ErrAborted, fmt.Sprintf("by rank %d with status %d", net.aborted.rank, net.aborted.status))
	case net.dead[c.proc]:
		return c.fail(op, ErrDead, "")
	case c.freed:
		return c.fail(op, transport.ErrFreed, "")
	}
	return nil
}

func (c *Comm) fail(op string, err error, text string) error {
	return &Error{Op: op, Rank: c.rank, Err: err, Text: text}
}

// checkPeer refuses a rank or tag out of range.
func (c *Comm) checkPeer(op string, rank, tag int, wild bool) error {
	if rank < 0 && !(wild && rank == transport.AnySource) || rank >= c.Size() {
		return c.fail(op, transport.ErrArgument, fmt.Sprintf("rank %d of %d", rank, c.Size()))
	}
	if tag < 0 && !(wild && tag == transport.AnyTag) || tag > c.MaxTag() {
		return c.fail(op, transport.ErrArgument, fmt.Sprintf("tag %d, largest is %d", tag, c.MaxTag()))
	}
	return nil
}

// Isend starts a send, see transport.Comm.
func (c *Comm) Isend(p []byte, dest, tag int) (transport.Request, error) {
	if err := c.enter("Isend"); err != nil {
		return nil, err
	}
	defer c.leave()
	if err := c.checkPeer("Isend", dest, tag, false); err != nil {
		return nil, err
	}
	net, g := c.g.net, c.g
	m := Message{Comm: g.id, Source: c.rank, Dest: dest, Tag: tag, Seq: g.seqs[[2]int{c.rank, dest}], Bytes: p}
	if net.opts.OnSend != nil {
		if err := net.opts.OnSend(m); err != nil {
			return nil, c.fail("Isend", err, m.String())
		}
	}
	if g.dead(dest) && net.opts.ReportDead {
		return nil, c.fail("Isend", ErrDead, fmt.Sprintf("rank %d", dest))
	}
	g.seqs[[2]int{c.rank, dest}]++
	msg := &message{Message: m, late: net.chance(4, g.id, c.rank, dest, m.Seq)}
	if net.opts.Delay != nil {
		msg.due = time.Now().Add(net.opts.Delay(m))
	}
	if len(p) <= net.opts.Eager {
		msg.Bytes = bytes.Clone(p)
		msg.eager = true
	}
	b := &g.boxes[dest]
	b.msgs = append(b.msgs, msg)
	net.open[c.proc]++
	return &sendRequest{request: request{c: c, late: net.chance(3, g.id, dest, c.rank, m.Seq)}, msg: msg}, nil
}

// Irecv starts a receive, see transport.Comm.
func (c *Comm) Irecv(p []byte, source, tag int) (transport.Request, error) {
	if err := c.enter("Irecv"); err != nil {
		return nil, err
	}
	defer c.leave()
	if err := c.checkPeer("Irecv", source, tag, false); err != nil {
		return nil, err
	}
	r := &recvRequest{request: request{c: c}, p: p, source: source, tag: tag}
	b := &c.g.boxes[c.rank]
	b.posted = append(b.posted, r)
	c.g.net.open[c.proc]++
	c.g.match(c.rank)
	return r, nil
}

// Iprobe looks for a message, see transport.Comm.
func (c *Comm) Iprobe(source, tag int) (transport.Status, bool, error) {
	if err := c.enter("Iprobe"); err != nil {
		return transport.Status{}, false, err
	}
	defer c.leave()
	if err := c.checkPeer("Iprobe", source, tag, true); err != nil {
		return transport.Status{}, false, err
	}
	m := c.g.find(c.rank, source, tag)
	if m == nil {
		if source >= 0 && c.g.dead(source) && c.g.net.opts.ReportDead {
			return transport.Status{}, false, c.fail("Iprobe", ErrDead, fmt.Sprintf("rank %d", source))
		}
		return transport.Status{}, false, nil
	}
	return m.status(), true, nil
}

// Take looks for a message, and receives short ones, with Options.Seed some of
// them, see transport.Express.
func (c *Comm) Take(p []byte, _ int) (st transport.Status, found, taken bool, err error) {
	st, found, err = c.Iprobe(transport.AnySource, transport.AnyTag)
	c.takes++
	if !found || st.Count > len(p) || st.Count > c.g.net.opts.Eager || c.g.net.chance(3, c.rank, c.takes) == 1 {
		return st, found, false, err
	}
	r, err := c.Irecv(p, st.Source, st.Tag)
	if err != nil {
		return st, false, false, err
	}
	taken, st, err = r.Test() // what a probe sees is there
	return st, taken, taken, err
}

// Give starts a send, and ends some, see transport.Express.
func (c *Comm) Give(p []byte, dest, tag int) (transport.Request, error) {
	r, err := c.Isend(p, dest, tag)
	if err != nil || len(p) > c.g.net.opts.Eager {
		return r, err
	}
	if done, _, err := r.Test(); done || err != nil {
		return nil, err
	}
	return r, nil
}

// Abort marks the job as aborted, so that every later call of any rank fails
// with ErrAborted, and ends the calling goroutine as runtime.Goexit does.
func (c *Comm) Abort(status int) {
	net := c.g.net
	net.mu.Lock()
	if net.aborted == nil {
		net.aborted = &abortion{c.proc, status}
	}
	net.cond.Broadcast()
	net.mu.Unlock()
	runtime.Goexit()
}

// goroutineID reads the number of the calling goroutine from its stack trace.
func goroutineID() uint64 {
	var buf [64]byte
	s := buf[:runtime.Stack(buf[:], false)]
	s = bytes.TrimPrefix(s, []byte("goroutine "))
	id, _, _ := bytes.Cut(s, []byte(" "))
	n, err := strconv.ParseUint(string(id), 10, 64)
	if err != nil {
		panic("mpitest: stack trace without a goroutine number")
	}
	return n
}
