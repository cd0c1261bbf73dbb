package farm

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// clone copies the machine, for tests.
func (r *Relay) clone() *Relay {
	c := &Relay{up: r.up.clone(), down: r.down.clone(), firstSeen: r.firstSeen}
	c.q, c.down.q = c.up.q, c.up.q
	return c
}

func (t *tree) clone() *tree {
	c := *t
	c.ran, c.result, c.nodes = slices.Clone(t.ran), slices.Clone(t.result), slices.Clone(t.nodes)
	for i := range c.nodes {
		x := &c.nodes[i]
		switch {
		case x.root != nil:
			x.root = x.root.clone()
			x.q = x.root.q
		case x.relay != nil:
			x.relay = x.relay.clone()
			x.q = x.relay.q
		default:
			x.w = x.w.clone()
			x.q = x.w.q
		}
		x.lanes = slices.Clone(x.lanes)
		x.finished, x.failed, x.dropped = slices.Clone(x.finished), slices.Clone(x.failed), slices.Clone(x.dropped)
		x.up, x.down = slices.Clone(x.up), slices.Clone(x.down)
	}
	return &c
}

func (t *tree) key() []byte {
	var b keyer
	b.flag(t.ended)
	b.num(int64(t.sick), t.lowest)
	for i := range t.ran {
		b.num(int64(t.ran[i]))
		b.flag(t.result[i])
	}
	for i := range t.nodes {
		x := &t.nodes[i]
		b.queue(x.q)
		switch {
		case x.root != nil:
			b.root(x.root)
		case x.relay != nil:
			b.root(x.relay.down)
			b.worker(x.relay.up)
		default:
			b.worker(x.w)
		}
		b.sorted(x.lanes)
		b.num(x.limit)
		b.sorted(x.finished)
		b.list(x.failed)
		b.ranges(x.dropped)
		b.flag(x.aborted, x.told)
		b.messages(x.up, x.down)
	}
	return b
}

// moves is everything that can happen.
func (t *tree) moves() (out []move) {
	add := func(do func(c *tree) error, format string, args ...any) {
		out = append(out, move{fmt.Sprintf(format, args...), func() (world, error) {
			c := t.clone()
			return c, do(c)
		}})
	}
	for n := range t.nodes {
		x := &t.nodes[n]
		t.laneMoves(n, add)
		if slices.Contains(t.c.cancel, n) && !x.aborted && !t.done() {
			add(func(c *tree) error { c.nodes[n].aborted, c.ended = true, true; return nil }, "rank %d: context ends", n)
		}
		add(func(c *tree) error { return c.step(n, false, false) }, "rank %d: step", n)
		if x.root == nil {
			add(func(c *tree) error { return c.step(n, true, false) }, "rank %d: step, flush", n)
		}
		if t.c.cut && x.w == nil {
			add(func(c *tree) error { return c.step(n, false, true) }, "rank %d: step, batches cut", n)
		}
		if len(x.up) > 0 {
			add(func(c *tree) error { return c.arriveUp(n) }, "rank %d: report arrives", n)
		}
		if len(x.down) > 0 {
			add(func(c *tree) error { return c.arriveDown(n) }, "rank %d: message arrives", n)
		}
	}
	return out
}

func (t *tree) laneMoves(n int, add func(do func(c *tree) error, format string, args ...any)) {
	x := &t.nodes[n]
	seen := map[int64]bool{}
	for l, cur := range x.lanes {
		if seen[cur] {
			continue // an idle lane is like another
		}
		seen[cur] = true
		switch {
		case cur == idleLane:
			if t.sick > 0 {
				add(func(c *tree) error { c.nodes[n].lanes[l] = deadLane; c.sick--; return nil }, "rank %d: lane gets sick", n)
			}
			if x.q.Left() > 0 {
				add(func(c *tree) error { return c.claim(n, l) }, "rank %d: lane claims", n)
			}
		case cur >= 0:
			add(func(c *tree) error { return c.end(n, l, false) }, "rank %d: item %d ends", n, cur)
			if x.mayGiveUp(cur) {
				add(func(c *tree) error { return c.end(n, l, true) }, "rank %d: item %d gives up", n, cur)
			}
		}
	}
}

// TestExploreRelay visits the whole reachable state space of small worlds in two
// levels; with -short, of the smaller ones among them.
func TestExploreRelay(t *testing.T) {
	const us = time.Microsecond
	chain := []int{0, 1} // the root, a relay, one rank behind it
	total := 0
	for _, c := range []treeConfig{
		{name: "prefetch", items: 3, parents: chain, lanes: []int{1, 1, 1}, item: us},
		{name: "two lanes each", large: true, items: 4, parents: chain, lanes: []int{0, 2, 2}},
		{name: "failures", items: 3, parents: chain, lanes: []int{1, 1, 1}, fail: 0b110},
		{name: "failures, batch 2", large: true, items: 4, parents: chain, lanes: []int{1, 1, 1}, fail: 0b1010, batch: 2, item: us},
		{name: "first seen", items: 3, parents: chain, lanes: []int{1, 1, 1}, fail: 0b110, first: true},
		{name: "cut", large: true, items: 3, parents: chain, lanes: []int{0, 1, 1}, cut: true, batch: 3, item: us},
		{name: "cancelled behind the relay", items: 3, parents: chain, lanes: []int{0, 1, 1}, cancel: []int{2}},
		{name: "cancelled at root or relay, failure", large: true, items: 2, parents: chain, lanes: []int{0, 1, 1}, cancel: []int{0, 1}, fail: 0b10},
		{name: "sick lanes", large: true, items: 2, parents: chain, lanes: []int{1, 1, 1}, sick: 2},
		{name: "sick lanes and failure", items: 2, parents: chain, lanes: []int{0, 1, 1}, sick: 1, fail: 0b01},
		{name: "all lanes sick", items: 2, parents: chain, lanes: []int{0, 1, 1}, sick: 2},
		{name: "two behind a relay without lanes", items: 4, parents: []int{0, 1, 1}, lanes: []int{0, 0, 1, 1}, item: us},
	} {
		if c.large && testing.Short() {
			continue
		}
		c.relays = []int{1}
		total += explore(t, c.name, newTree(&c))
	}
	t.Logf("%d states in all", total)
	if total < 50_000 {
		t.Errorf("only %d states: the worlds are too small to show anything", total)
	}
}
