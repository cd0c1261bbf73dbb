package hataori

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/transport"
)

// keepBuffer is the size up to which a buffer is kept for the next message.
const keepBuffer = 1 << 20

// coordinator is what the loops of the root and of the other ranks share: they
// move bytes, and leave every decision to the machines of package farm.
type coordinator struct {
	*call
	*crew
	*turns
	shared bool // lanes make turns, too
	pace   pace
	since  int // turns since the lanes' clocks were read
	start  time.Time

	sends []sending
	echo  [][]byte // messages to this rank itself
	free  [][]byte
	recv  receiving
	stats Stats

	stuck overdue // lanes after a cancellation

	ctl      *lanes.Control
	startErr error  // why the executor did not even start
	ended    *fault // what made this rank give up the call
	err      error  // the world broke
}

type sending struct {
	req transport.Request
	buf []byte
}

type receiving struct {
	req    transport.Request
	buf    []byte
	source int
	keep   bool // the last message was kept by its receiver
}

// buffer returns an empty buffer for a message.
func (c *coordinator) buffer() []byte {
	if n := len(c.free) - 1; n >= 0 {
		b := c.free[n]
		c.free = c.free[:n]
		return b[:0]
	}
	return make([]byte, 0, 512)
}

func (c *coordinator) recycle(b []byte) {
	if cap(b) <= keepBuffer && len(c.free) < 64 {
		c.free = append(c.free, b)
	}
}

// send starts to send a message to a rank; buf belongs to the transport until
// it is done.
func (c *coordinator) send(buf []byte, rank int) error {
	buf = wire.Finish(buf)
	if rank == c.w.rank {
		c.echo = append(c.echo, buf)
		return nil
	}
	req, err := c.w.express.Give(buf, rank, tagWork)
	if err != nil {
		return fmt.Errorf("sending to rank %d: %w", rank, err)
	}
	c.stats.Messages++
	c.stats.Sent += int64(len(buf))
	if req == nil {
		c.recycle(buf)
		return nil
	}
	c.sends = append(c.sends, sending{req, buf}) // tested while the other rank works
	return nil
}

// flush makes progress with what is being sent.
func (c *coordinator) flush() error {
	kept := c.sends[:0]
	for i, s := range c.sends {
		done, _, err := s.req.Test()
		switch {
		case err != nil:
			c.sends = append(kept, c.sends[i+1:]...)
			return fmt.Errorf("sending: %w", err)
		case done:
			c.recycle(s.buf)
		default:
			kept = append(kept, s)
		}
	}
	clear(c.sends[len(kept):])
	c.sends = kept
	return nil
}

// poll returns the next message of the call, if there is one. It is valid until
// the next call of poll, unless recv.keep is set meanwhile.
func (c *coordinator) poll() (source int, h wire.Header, body []byte, ok bool, err error) {
	r := &c.recv
	if len(c.echo) > 0 {
		buf := c.echo[0]
		c.echo = c.echo[1:]
		h, body, err = wire.ParseHeader(buf)
		return c.w.rank, h, body, err == nil, err
	}
	if ok, err = c.receive(); err != nil || !ok {
		return 0, h, nil, false, err
	}
	c.stats.Messages++
	c.stats.Received += int64(len(r.buf))
	h, body, err = wire.ParseHeader(r.buf)
	if err == nil && h.Epoch != c.w.epoch {
		err = fmt.Errorf("message of call %d during call %d", h.Epoch, c.w.epoch)
	}
	if err != nil {
		return 0, h, nil, false, fmt.Errorf("from rank %d: %w", r.source, err)
	}
	return r.source, h, body, true, nil
}

// receive goes on with the message that comes, or looks for one, and reports
// whether recv.buf holds one of the call.
func (c *coordinator) receive() (bool, error) {
	r := &c.recv
	if r.req == nil {
		if r.keep || r.buf == nil || cap(r.buf) > keepBuffer {
			// The next is likely to be about as long. A longer one gets a buffer of its own.
			r.buf, r.keep = make([]byte, min(max(2*len(r.buf), shortest), 1024)), false
		}
		looks := 1
		if c.turns != nil && c.calm && c.hot {
			looks = looksCalm
		}
		st, found, taken, err := c.w.express.Take(r.buf[:cap(r.buf)], looks)
		switch {
		case err != nil || !found:
			return false, err
		case taken && st.Tag == tagWorld:
			return false, c.onWorldMail(st.Source, bytes.Clone(r.buf[:st.Count]))
		case st.Tag == tagWorld:
			return false, c.worldMail()
		}
		if r.source = st.Source; taken {
			r.buf = r.buf[:st.Count]
			return true, nil
		}
		if cap(r.buf) < st.Count {
			r.buf = make([]byte, st.Count)
		}
		r.buf = r.buf[:st.Count]
		if r.req, err = c.w.comm.Irecv(r.buf, st.Source, st.Tag); err != nil {
			r.req = nil
			return false, fmt.Errorf("receiving from rank %d: %w", st.Source, err)
		}
	}
	done, _, err := r.req.Test()
	if done || err != nil {
		r.req = nil
	}
	if err != nil {
		return false, fmt.Errorf("receiving from rank %d: %w", r.source, err)
	}
	return done, nil
}

// hauling reports whether a long message is on its way.
func (c *coordinator) hauling() bool {
	return c.recv.req != nil && len(c.recv.buf) > longMessage ||
		slices.ContainsFunc(c.sends, func(s sending) bool { return len(s.buf) > longMessage })
}

// shortest is the length of the smallest buffer for messages.
const shortest = 64

// looksCalm is how often a turn looks for a message while no lane works and nobody
// naps: a few times as long as the rest of the turn takes.
const looksCalm = 16

// gaveUp notices that this rank's context ended or that its executor failed,
// once.
func (c *coordinator) gaveUp() bool {
	if c.ended != nil {
		return false
	}
	if c.startErr != nil {
		c.noExecutor(c.startErr)
		return true
	}
	if f := c.blamed.Load(); f != nil {
		c.ended = f
		return true
	}
	if c.ctl != nil {
		select {
		case <-c.ctl.Done():
			var ee *lanes.ExecutorError
			if err := c.ctl.Cause(); errors.As(err, &ee) {
				c.noExecutor(err)
				return true
			}
			c.ctl = nil // a lane ended with a Goexit of its item
		default:
		}
	}
	select {
	case <-c.ctx.Done():
		c.ended = c.fault(cancelFault(c.ctx))
		return true
	default:
		return false
	}
}

// noExecutor records that the lanes of this rank do not run.
func (c *coordinator) noExecutor(err error) {
	c.lost(err)
	c.ended = c.call.noExecutor(err)
}

// hotTime is the time per item above which polling hot for the end of one would
// cost more than it brings.
const hotTime = 20 * time.Microsecond

// release lets the lanes go after the loop has ended, in whatever way.
func (c *coordinator) release(err error) {
	if err != nil {
		c.err = err
		var b *BrokenError
		var p *PreflightError
		if !errors.As(err, &b) && !errors.As(err, &p) {
			c.err = c.breakdown(err)
		}
		for _, s := range c.sends {
			c.w.orphans = append(c.w.orphans, s.req, s.buf)
		}
		if c.recv.req != nil {
			c.w.orphans = append(c.w.orphans, c.recv.req, c.recv.buf)
		}
		c.lower(-1)
		c.q.Clip(0)
	}
	c.close()
}

// measure returns the time per item of the lanes, looked at now and then.
func (c *coordinator) measure() time.Duration {
	if c.since++; c.pace.item == 0 || c.since >= measureEvery {
		c.since = 0
		c.pace.update(c.progress())
	}
	return c.pace.item
}

// measureEvery is how many turns go by between two looks at the lanes' clocks.
const measureEvery = 8

// pace measures the time per item of a rank's lanes.
type pace struct {
	items int64
	busy  time.Duration
	item  time.Duration
}

// update takes in the lanes' progress, new measurements counting half.
func (p *pace) update(items int64, busy time.Duration) {
	if items == p.items {
		return
	}
	now := max((busy-p.busy)/time.Duration(items-p.items), 1)
	if p.item > 0 {
		now = (now + p.item + 1) / 2
	}
	p.items, p.busy, p.item = items, busy, now
}
