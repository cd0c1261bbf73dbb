package farm

import (
	"encoding/binary"
	"slices"
)

// keyer appends what a state consists of.
type keyer []byte

// Numbers are a byte, if they are small.
const (
	none = 254 + iota // the highest index
	long
)

//go:norace
func (b *keyer) num(xs ...int64) {
	k := *b
	for _, x := range xs {
		switch {
		case x == maxIndex:
			k = append(k, none)
		case uint64(x+1) < none:
			k = append(k, byte(x+1))
		default:
			k = binary.AppendVarint(append(k, long), x)
		}
	}
	*b = k
}

//go:norace
func (b *keyer) flag(fs ...bool) {
	k := *b
	for _, f := range fs {
		if f {
			k = append(k, 1)
		} else {
			k = append(k, 0)
		}
	}
	*b = k
}

//go:norace
func (b *keyer) list(xs []int64) {
	b.num(int64(len(xs)))
	b.num(xs...)
}

//go:norace
func (b *keyer) sorted(xs []int64) {
	var room [8]int64
	xs = append(room[:0], xs...)
	slices.Sort(xs)
	b.list(xs)
}

//go:norace
func (b *keyer) ranges(rs []Range) {
	b.num(int64(len(rs)))
	for _, r := range rs {
		b.num(r.First, r.End)
	}
}

//go:norace
func (b *keyer) queue(q *Queue) {
	for s, left := range q.parts() {
		b.num(left.First, left.End)
		b.flag(s.Pinned)
	}
	b.num(-1)
	b.flag(q.Open(), q.cut)
	b.num(q.limit)
}

//go:norace
func (b *keyer) load(l Load) {
	b.num(int64(l.Lanes), int64(l.Idle), int64(l.Item))
	b.flag(l.Group)
}

//go:norace
func (b *keyer) root(r *Root) {
	b.num(int64(len(r.copies)))
	for i, n := int64(0), len(r.copies); n > 0; i++ {
		c := r.copies[i]
		if c == nil {
			continue
		}
		n--
		b.num(i, int64(len(c.had)))
		for _, k := range c.had {
			b.num(int64(k))
		}
		var live int64
		for _, k := range c.live {
			live |= 1 << k
		}
		b.num(live)
		b.flag(c.failed, c.done)
	}
	b.list(r.losers)
	b.num(r.limit, r.scanned, int64(r.byes), int64(len(r.parked)))
	for _, p := range r.parked {
		b.num(int64(p))
	}
	b.flag(r.aborted, r.noLanes, r.stopped)
	for i := range r.peers {
		p := &r.peers[i]
		b.load(p.load)
		b.num(int64(p.credit), p.held, p.last, p.noticed, int64(len(p.grants)))
		b.flag(p.heard, p.asked, p.waiting, p.gone)
		for _, g := range p.grants {
			b.num(g.First, g.End, g.left, int64(g.done[0]), g.woke)
			b.flag(g.pinned)
		}
	}
}

//go:norace
func (b *keyer) worker(w *Worker) {
	b.num(int64(w.asked), w.last, w.held, w.limit, int64(w.lanesTold), int64(w.idleTold))
	b.list(w.failed)
	b.flag(w.aborted, w.stopped, w.tellAbort, w.answer, w.byed)
	b.ranges(w.dropped)
	b.ranges(w.back)
}

//go:norace
func (b *keyer) messages(up []upMsg, down []downMsg) {
	b.num(int64(len(up)))
	for _, m := range up {
		b.list(m.finished)
		b.num(int64(m.rep.Want))
		b.list(m.rep.Failed)
		b.load(m.rep.Load)
		b.ranges(m.rep.Dropped)
		b.ranges(m.rep.Back)
		b.flag(m.rep.Returned, m.rep.Abort, m.rep.Bye)
	}
	b.num(int64(len(down)))
	for _, m := range down {
		b.num(m.grant.First, m.grant.End, int64(m.notice), m.n)
		b.flag(m.pinned, m.stop)
	}
}
