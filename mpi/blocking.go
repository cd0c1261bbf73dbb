package mpi

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/hataori/hataori-go/transport"
)

// ladder waits between polls: first by giving way to other goroutines, then by
// ever longer sleeps, so that a rank that waits leaves its processor to others.
type ladder struct{ polls int }

const (
	hotPolls     = 200
	longestSleep = 500 * time.Microsecond
)

func (l *ladder) wait() {
	l.polls++
	if l.polls <= hotPolls {
		runtime.Gosched()
		return
	}
	time.Sleep(min(longestSleep, time.Duration(l.polls-hotPolls)*5*time.Microsecond))
}

func gaveUp(op string, ctx context.Context) error {
	e := &Error{Op: op, Err: ctx.Err()}
	if cause := context.Cause(ctx); cause != ctx.Err() {
		e.Text = sound(cause).Error()
	}
	return e
}

// await tests a request until it is done or ctx is.
func (c *Comm) await(ctx context.Context, op string, r *request, err error) (Status, error) {
	if err != nil {
		return Status{}, err
	}
	for idle := (ladder{}); ; idle.wait() {
		if done, st, err := r.Test(); done || err != nil {
			return st, err
		}
		if ctx.Err() != nil {
			return c.abandon(ctx, op, r)
		}
		c.completeOrphans()
	}
}

// abandonPatience is how long a cancelled receive may take to end.
const abandonPatience = 100 * time.Millisecond

// abandon ends the wait for a request. A receive is cancelled, unless its
// message is already on the way. Whatever cannot be ended at once is completed
// by later calls.
func (c *Comm) abandon(ctx context.Context, op string, r *request) (Status, error) {
	if r.kind == kindReceive {
		if err := r.Cancel(); err != nil {
			return Status{}, err
		}
		end := time.Now().Add(abandonPatience)
		for idle := (ladder{}); time.Now().Before(end); idle.wait() {
			done, st, err := r.Test()
			if err != nil || done && !st.Cancelled {
				return st, err // it was received after all
			}
			if done {
				return Status{}, gaveUp(op, ctx)
			}
		}
	}
	if c.lib != nil {
		gate.Lock()
		c.lib.flying.orphans = append(c.lib.flying.orphans, r)
		gate.Unlock()
	}
	return Status{}, gaveUp(op, ctx)
}

// settleOrphans completes what has been given up, as far as that goes.
func (c *Comm) settleOrphans(patience time.Duration) {
	end := time.Now().Add(patience)
	for idle := (ladder{}); c.completeOrphans() > 0 && time.Now().Before(end); {
		idle.wait()
	}
}

// completeOrphans makes progress for requests whose callers have left, and
// returns how many are left. Their errors have nobody to go to.
func (c *Comm) completeOrphans() int {
	if c.lib == nil {
		return 0
	}
	gate.Lock()
	defer gate.Unlock()
	f := &c.lib.flying
	kept := f.orphans[:0]
	for _, r := range f.orphans {
		if done, _, err := r.test(); !done && err == nil && c.lib.live {
			kept = append(kept, r)
		}
	}
	clear(f.orphans[len(kept):])
	f.orphans = kept
	return len(kept)
}

// The blocking forms below poll, with growing pauses, until they are done or ctx
// is; then they return an error for which errors.Is(err, ctx.Err()) holds. A
// receive given up so takes no message. A send or a collective call given up
// stays in flight, because MPI cannot take it back: its buffer must not be
// written to any more, and for collective calls the communicator must be given
// up on all ranks.

// Send sends p to rank dest and returns when p may be used again.
func (c *Comm) Send(ctx context.Context, p []byte, dest, tag int) error {
	r, err := c.isend(p, dest, tag)
	_, err = c.await(ctx, "Send", r, err)
	return err
}

// Recv receives the next message that matches source and tag, which may be
// wildcards, into p. The status says who sent it and how many bytes of p it
// fills.
func (c *Comm) Recv(ctx context.Context, p []byte, source, tag int) (Status, error) {
	if source == AnySource || tag == AnyTag {
		st, err := c.Probe(ctx, source, tag)
		if err != nil {
			return st, err
		}
		source, tag = st.Source, st.Tag
	}
	r, err := c.irecv(p, source, tag)
	return c.await(ctx, "Recv", r, err)
}

// RecvBytes receives the next message that matches source and tag, which may
// be wildcards, into memory of its own.
func (c *Comm) RecvBytes(ctx context.Context, source, tag int) ([]byte, Status, error) {
	st, err := c.Probe(ctx, source, tag)
	if err != nil {
		return nil, st, err
	}
	p := make([]byte, st.Count)
	st, err = c.Recv(ctx, p, st.Source, st.Tag)
	if err != nil {
		return nil, st, err
	}
	return p, st, nil
}

// Probe waits for a message that matches and describes it without receiving it.
func (c *Comm) Probe(ctx context.Context, source, tag int) (Status, error) {
	for idle := (ladder{}); ; idle.wait() {
		st, found, err := c.Iprobe(source, tag)
		if found || err != nil {
			return st, err
		}
		if ctx.Err() != nil {
			return Status{}, gaveUp("Probe", ctx)
		}
		c.completeOrphans()
	}
}

// finish is await for a request in the contract's form.
func (c *Comm) finish(ctx context.Context, op string, t transport.Request, err error) error {
	r, _ := t.(*request)
	_, err = c.await(ctx, op, r, err)
	return err
}

// Barrier returns when every rank has called it.
func (c *Comm) Barrier(ctx context.Context) error {
	r, err := c.Ibarrier()
	return c.finish(ctx, "Barrier", r, err)
}

// Bcast sends p on rank root into p, of the same length, on the others.
func (c *Comm) Bcast(ctx context.Context, p []byte, root int) error {
	r, err := c.Ibcast(p, root)
	return c.finish(ctx, "Bcast", r, err)
}

// Allreduce replaces x by the combination of all ranks' x, element by element.
func (c *Comm) Allreduce(ctx context.Context, x []int64, op transport.Op) error {
	recv := make([]int64, len(x))
	r, err := c.Iallreduce(append([]int64(nil), x...), recv, op)
	if err := c.finish(ctx, "Allreduce", r, err); err != nil {
		return err
	}
	copy(x, recv)
	return nil
}

// AllreduceFloat64 is Allreduce for floating-point numbers, see
// [Comm.IallreduceFloat64].
func (c *Comm) AllreduceFloat64(ctx context.Context, x []float64, op transport.Op) error {
	recv := make([]float64, len(x))
	r, err := c.IallreduceFloat64(append([]float64(nil), x...), recv, op)
	if err := c.finish(ctx, "Allreduce", r, err); err != nil {
		return err
	}
	copy(x, recv)
	return nil
}

// Gather collects p, whose length may differ, from every rank on root. There it
// returns one slice per rank, in rank order; elsewhere nil.
func (c *Comm) Gather(ctx context.Context, p []byte, root int) ([][]byte, error) {
	if root < 0 || root >= c.size {
		return nil, badArgument("Gather", "root %d of %d", root, c.size)
	}
	lengths, err := c.lengths(ctx, len(p))
	if err != nil {
		return nil, err
	}
	parts, err := c.gather(ctx, p, root, lengths)
	if err != nil {
		return nil, fmt.Errorf("Gather: %w", err)
	}
	return parts, nil
}

// lengths tells every rank the length of everybody's part.
func (c *Comm) lengths(ctx context.Context, mine int) ([]int64, error) {
	all := make([]int64, c.size)
	all[c.rank] = int64(mine)
	return all, c.Allreduce(ctx, all, Sum)
}

func (c *Comm) gather(ctx context.Context, p []byte, root int, lengths []int64) ([][]byte, error) {
	if c.rank != root {
		if len(p) == 0 {
			return nil, nil
		}
		r, err := c.part(kindSend, p, root)
		_, err = c.await(ctx, "send", r, err)
		return nil, err
	}
	parts := make([][]byte, c.size)
	requests := make([]*request, c.size)
	for i, n := range lengths {
		parts[i] = make([]byte, n)
		if i == root || n == 0 {
			continue
		}
		var err error
		if requests[i], err = c.part(kindReceive, parts[i], i); err != nil {
			return nil, err
		}
	}
	copy(parts[root], p)
	for _, r := range requests {
		if r == nil {
			continue
		}
		if _, err := c.await(ctx, "receive", r, nil); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// part starts to send or receive bytes whose length both sides know. Tag 0 of
// the bulk communicator is kept for them.
func (c *Comm) part(k kind, p []byte, peer int) (*request, error) {
	if err := c.enter("Gather"); err != nil {
		return nil, err
	}
	defer gate.Unlock()
	r := c.request(k)
	r.buf, r.peer = p, peer
	if k == kindSend {
		return r, r.sendPieces()
	}
	r.total, r.piece = len(p), c.piece
	r.countLong()
	if err := r.startPiece(); err != nil {
		c.drop(r)
		return nil, err
	}
	return r, nil
}

// Allgather collects p, whose length may differ, from every rank on every rank:
// one slice per rank, in rank order.
func (c *Comm) Allgather(ctx context.Context, p []byte) ([][]byte, error) {
	lengths, err := c.lengths(ctx, len(p))
	if err != nil {
		return nil, err
	}
	parts, err := c.gather(ctx, p, 0, lengths)
	if err != nil {
		return nil, fmt.Errorf("Allgather: %w", err)
	}
	total := 0
	for _, n := range lengths {
		total += int(n)
	}
	all := make([]byte, 0, total)
	for _, part := range parts {
		all = append(all, part...)
	}
	all = all[:total]
	if err := c.Bcast(ctx, all, 0); err != nil {
		return nil, err
	}
	parts = make([][]byte, c.size)
	for i, n := range lengths {
		parts[i], all = all[:n:n], all[n:]
	}
	return parts, nil
}
