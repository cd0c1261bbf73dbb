package farm

import (
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"testing"
)

// A world is a call in one state, whose space is explored.
type world interface {
	key() []byte // identifies the state
	moves() []move
	done() bool   // the call is over
	final() error // then: a broken rule, or nil
}

// A move is one thing that happens. What do returns is another world; an error is
// a broken rule.
type move struct {
	name string
	do   func() (world, error)
}

// explorer visits every state once, depth first. A cycle would be a run without
// end; a state without a move that leads elsewhere, a hang.
type explorer struct {
	seen  map[[2]uint64]bool // false: on the path
	seeds [2]maphash.Seed
	path  []string
	ends  int
}

func (x *explorer) id(s world) [2]uint64 {
	k := s.key()
	return [2]uint64{maphash.Bytes(x.seeds[0], k), maphash.Bytes(x.seeds[1], k)}
}

func (x *explorer) visit(s world, id [2]uint64) error {
	x.seen[id] = false
	moved := false
	for _, m := range s.moves() {
		x.path = append(x.path, m.name)
		t, err := m.do()
		if err != nil {
			return err
		}
		next := x.id(t)
		if next != id {
			moved = true
			left, known := x.seen[next]
			if known && !left {
				return fmt.Errorf("rule: a run that may go on for ever")
			}
			if !known {
				if err := x.visit(t, next); err != nil {
					return err
				}
			}
		}
		x.path = x.path[:len(x.path)-1]
	}
	if !moved {
		if !s.done() {
			return fmt.Errorf("rule: nothing can happen, and the call is not over")
		}
		x.ends++
		if err := s.final(); err != nil {
			return err
		}
	}
	x.seen[id] = true
	return nil
}

// explore visits the states that can be reached from s and returns their number.
func explore(t *testing.T, name string, s world) int {
	x := &explorer{seen: map[[2]uint64]bool{}, seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}}
	if err := x.visit(s, x.id(s)); err != nil {
		t.Errorf("%s: %v", name, err)
		for i, p := range x.path {
			t.Logf("%3d %s", i, p)
		}
	}
	t.Logf("%-40s %9d states, %d ends", name, len(x.seen), x.ends)
	return len(x.seen)
}

// keyer appends what a state consists of.
type keyer []byte

func (b *keyer) num(xs ...int64) {
	for _, x := range xs {
		if x == maxIndex {
			x = 99
		}
		*b = binary.AppendVarint(*b, x)
	}
}

func (b *keyer) flag(fs ...bool) {
	for _, f := range fs {
		if f {
			*b = append(*b, 1)
		} else {
			*b = append(*b, 0)
		}
	}
}

func (b *keyer) list(xs []int64) {
	b.num(int64(len(xs)))
	b.num(xs...)
}

func (b *keyer) sorted(xs []int64) {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	b.list(xs)
}

func (b *keyer) ranges(rs []Range) {
	b.num(int64(len(rs)))
	for _, r := range rs {
		b.num(r.First, r.End)
	}
}

func (b *keyer) queue(q *Queue) {
	for _, g := range q.state() {
		b.num(g.First, g.End)
		b.flag(g.Pinned)
	}
	b.num(-1)
	b.flag(q.Open(), q.cut)
	b.num(q.limit)
}

func (b *keyer) load(l Load) {
	b.num(int64(l.Lanes), int64(l.Idle), int64(l.Item))
	b.flag(l.Group)
}

func (b *keyer) root(r *Root) {
	for _, i := range slices.Sorted(maps.Keys(r.copies)) {
		c := r.copies[i]
		b.num(i, int64(len(c.had)))
		for _, k := range c.had {
			b.num(int64(k))
		}
		for _, k := range slices.Sorted(slices.Values(c.live)) {
			b.num(int64(k))
		}
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

func (b *keyer) worker(w *Worker) {
	b.num(int64(w.asked), w.last, w.held, w.limit, int64(w.lanesTold), int64(w.idleTold))
	b.list(w.failed)
	b.flag(w.aborted, w.stopped, w.tellAbort, w.answer, w.byed)
	b.ranges(w.dropped)
	b.ranges(w.back)
}

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

// What the root sums up is what its peers have.
func (r *Root) checkSums() error {
	var lanes, ranks, waiting, candidates int
	var held int64
	for i := range r.peers {
		p := &r.peers[i]
		lanes += p.load.Lanes
		ranks += min(p.load.Lanes, 1)
		held += p.held
		var movable int64
		for _, g := range p.grants {
			if !g.pinned {
				movable += g.left
			}
		}
		if movable != p.movable {
			return fmt.Errorf("rank %d: %d indices are movable, counted %d", i, movable, p.movable)
		}
		if p.waiting {
			waiting++
		}
		if !p.asked && worthMoving(movable-int64(p.load.Lanes), p.load) {
			candidates++
		}
	}
	if lanes != r.lanes || ranks != r.ranks || held != r.held || waiting != r.waiting || candidates != r.candidates {
		return fmt.Errorf("%d lanes on %d ranks hold %d, %d waited for, %d candidates; summed up %d, %d, %d, %d, %d",
			lanes, ranks, held, waiting, candidates, r.lanes, r.ranks, r.held, r.waiting, r.candidates)
	}
	return nil
}
