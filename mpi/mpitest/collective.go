package mpitest

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hataori/hataori-go/transport"
)

// round is one collective call, from the first rank that starts it to the last
// that completes it.
type round struct {
	call    string // what all ranks must agree on
	first   int    // rank that started it
	here    []bool
	arrived int
	ended   int
	err     error
	sum     []int64
	data    []byte
	parts   []part  // what Part was told, by rank
	made    []*Comm // by Private or Part, by rank
}

// join enters the next round of this rank.
func (c *Comm) join(call string) *round {
	g, k := c.g, c.round
	c.round++
	rd := g.rounds[k]
	if rd == nil {
		rd = &round{call: call, first: c.rank, here: make([]bool, g.size())}
		g.rounds[k] = rd
	}
	rd.here[c.rank] = true
	rd.arrived++
	if rd.call != call && rd.err == nil {
		rd.err = c.fail(call, ErrMismatch, fmt.Sprintf("collective call %d of communicator %d: rank %d called %s, rank %d called %s", k, g.id, rd.first, rd.call, c.rank, call))
		g.net.cond.Broadcast()
	}
	return rd
}

// missing returns a dead rank that the round still waits for.
func (g *group) missing(rd *round) (int, bool) {
	for i, here := range rd.here {
		if !here && g.dead(i) {
			return i, true
		}
	}
	return 0, false
}

func (c *Comm) leaveRound(k int, rd *round) {
	rd.ended++
	if rd.ended == c.Size() {
		delete(c.g.rounds, k)
	}
}

// collRequest is a collective operation in flight.
type collRequest struct {
	request
	rd    *round
	k     int
	ready func() bool // all that this rank needs has happened
	take  func()      // copies the result to this rank
}

func (c *Comm) collective(rd *round, ready func() bool, take func()) transport.Request {
	net := c.g.net
	net.open[c.proc]++
	k := c.round - 1
	return &collRequest{request: request{c: c, late: net.chance(4, c.g.id, c.rank, k)}, rd: rd, k: k, ready: ready, take: take}
}

func (r *collRequest) Test() (bool, transport.Status, error) {
	var st transport.Status
	if err := r.enter("Test"); err != nil {
		return false, st, err
	}
	defer r.c.leave()
	err := r.rd.err
	switch {
	case err != nil:
	case r.ready():
		if r.held() {
			return false, st, nil
		}
		r.take()
	default:
		dead, gone := r.c.g.missing(r.rd)
		if !gone || !r.c.g.net.opts.ReportDead {
			return false, st, nil
		}
		err = r.c.fail(r.rd.call, ErrDead, fmt.Sprintf("rank %d", dead))
	}
	r.c.leaveRound(r.k, r.rd)
	r.end()
	return err == nil, st, err
}

func (r *collRequest) Cancel() error {
	return r.c.fail("Cancel", transport.ErrArgument, "a collective operation cannot be cancelled")
}

// Iallreduce starts a reduction, see transport.Comm.
func (c *Comm) Iallreduce(send, recv []int64, op transport.Op) (transport.Request, error) {
	if err := c.enter("Iallreduce"); err != nil {
		return nil, err
	}
	defer c.leave()
	if len(send) != len(recv) {
		return nil, c.fail("Iallreduce", transport.ErrArgument, fmt.Sprintf("%d numbers to send, room for %d", len(send), len(recv)))
	}
	if op < transport.Min || op > transport.Sum {
		return nil, c.fail("Iallreduce", transport.ErrArgument, fmt.Sprintf("operator %d", op))
	}
	rd := c.join(fmt.Sprintf("Iallreduce(len %d, op %d)", len(send), op))
	if rd.err == nil {
		if rd.sum == nil {
			rd.sum = slices.Clone(send)
		} else {
			combine(rd.sum, send, op)
		}
	}
	return c.collective(rd, func() bool { return rd.arrived == c.Size() }, func() { copy(recv, rd.sum) }), nil
}

func combine(acc, x []int64, op transport.Op) {
	for i, v := range x {
		switch op {
		case transport.Min:
			acc[i] = min(acc[i], v)
		case transport.Max:
			acc[i] = max(acc[i], v)
		case transport.Sum:
			acc[i] += v
		}
	}
}

// Ibcast starts a broadcast, see transport.Comm. The root's part is done at
// once; another rank's when the root has come.
func (c *Comm) Ibcast(p []byte, root int) (transport.Request, error) {
	if err := c.enter("Ibcast"); err != nil {
		return nil, err
	}
	defer c.leave()
	if root < 0 || root >= c.Size() {
		return nil, c.fail("Ibcast", transport.ErrArgument, fmt.Sprintf("root %d of %d", root, c.Size()))
	}
	rd := c.join(fmt.Sprintf("Ibcast(len %d, root %d)", len(p), root))
	if c.rank == root {
		rd.data = bytes.Clone(p)
		return c.collective(rd, func() bool { return true }, func() {}), nil
	}
	return c.collective(rd, func() bool { return rd.here[root] }, func() { copy(p, rd.data) }), nil
}

// Ibarrier starts a barrier, see transport.Comm.
func (c *Comm) Ibarrier() (transport.Request, error) {
	if err := c.enter("Ibarrier"); err != nil {
		return nil, err
	}
	defer c.leave()
	rd := c.join("Ibarrier")
	return c.collective(rd, func() bool { return rd.arrived == c.Size() }, func() {}), nil
}

// Private duplicates the communicator, see transport.Comm.
func (c *Comm) Private() (transport.Comm, error) {
	if err := c.enter("Private"); err != nil {
		return nil, err
	}
	defer c.leave()
	rd := c.join("Private")
	if rd.made == nil && rd.err == nil {
		rd.made = c.g.net.newGroup(c.g.procs()).comms
	}
	if err := c.meet(rd); err != nil {
		return nil, err
	}
	return rd.made[c.rank], nil
}

// part is what one rank tells Part.
type part struct{ color, key, rank int }

// Part parts the ranks into new communicators, see transport.Splitter.
func (c *Comm) Part(color, key int) (transport.Comm, error) {
	if err := c.enter("Part"); err != nil {
		return nil, err
	}
	defer c.leave()
	rd := c.join("Part")
	if rd.parts == nil {
		rd.parts = make([]part, c.Size())
	}
	rd.parts[c.rank] = part{color, key, c.rank}
	if rd.arrived == c.Size() && rd.err == nil {
		rd.made, rd.err = c.g.split(rd.parts)
	}
	if err := c.meet(rd); err != nil {
		return nil, err
	}
	return rd.made[c.rank], nil
}

// split makes the communicators of a Part that every rank has called.
func (g *group) split(parts []part) ([]*Comm, error) {
	for _, p := range parts {
		if p.color < 0 || p.color > math.MaxInt32 || p.key < math.MinInt32 || p.key > math.MaxInt32 {
			return nil, g.comms[p.rank].fail("Part", transport.ErrArgument, fmt.Sprintf("rank %d passed color %d and key %d", p.rank, p.color, p.key))
		}
	}
	made := make([]*Comm, len(parts))
	sorted := slices.SortedFunc(slices.Values(parts), func(a, b part) int {
		return cmp.Or(a.color-b.color, a.key-b.key, a.rank-b.rank)
	})
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && sorted[n].color == sorted[0].color {
			n++
		}
		procs := make([]int, n)
		for i, p := range sorted[:n] {
			procs[i] = g.comms[p.rank].proc
		}
		for i, d := range g.net.newGroup(procs).comms {
			made[sorted[i].rank] = d
		}
		sorted = sorted[n:]
	}
	return made, nil
}

// meet waits until every rank has joined the round.
func (c *Comm) meet(rd *round) error {
	net, g, k := c.g.net, c.g, c.round-1
	net.cond.Broadcast()
	defer func() { c.leaveRound(k, rd) }()
	for rd.arrived < c.Size() && rd.err == nil {
		if err := c.usable(rd.call); err != nil {
			return err
		}
		if dead, gone := g.missing(rd); gone && net.opts.ReportDead {
			return c.fail(rd.call, ErrDead, fmt.Sprintf("rank %d", dead))
		}
		net.cond.Wait()
	}
	return rd.err
}

// Free gives up what Private or Part made, see transport.Comm. The world cannot be freed.
func (c *Comm) Free() error {
	if err := c.enter("Free"); err != nil {
		return err
	}
	defer c.leave()
	g, net := c.g, c.g.net
	if g == net.world {
		return c.fail("Free", transport.ErrArgument, "the world cannot be freed")
	}
	c.freed = true
	g.freed++
	if g.freed == g.size() {
		net.lost = append(net.lost, g.unmatched()...)
		net.live = slices.DeleteFunc(net.live, func(x *group) bool { return x == g })
	}
	return nil
}
