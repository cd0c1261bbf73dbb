package farm

import (
	"slices"
	"testing"
	"time"
)

// copyTo makes a copy, in the memory of c unless it is nil.
//
//go:norace
func (t *tree) copyTo(c *tree) *tree {
	if c == nil {
		c = &tree{nodes: make([]treeNode, len(t.nodes))}
	}
	old := *c
	*c = *t
	c.ran, c.result, c.nodes = append(old.ran[:0], t.ran...), append(old.result[:0], t.result...), old.nodes
	for i := range c.nodes {
		t.nodes[i].copyTo(&c.nodes[i])
	}
	return c
}

//go:norace
func (x *treeNode) copyTo(c *treeNode) {
	old := *c
	if old.q == nil {
		old.q, old.root, old.relay, old.w = new(Queue), new(Root), new(Relay), new(Worker)
	}
	*c = *x
	c.q = old.q
	x.q.copyTo(c.q)
	switch {
	case x.root != nil:
		c.root = old.root
		x.root.copyTo(c.root, c.q)
	case x.relay != nil:
		c.relay = old.relay
		x.relay.copyTo(c.relay, c.q)
	default:
		c.w = old.w
		x.w.copyTo(c.w, c.q)
	}
	c.lanes, c.finished = append(old.lanes[:0], x.lanes...), append(old.finished[:0], x.finished...)
	c.failed, c.dropped = append(old.failed[:0], x.failed...), append(old.dropped[:0], x.dropped...)
	c.up, c.down = append(old.up[:0], x.up...), append(old.down[:0], x.down...)
}

//go:norace
func (t *tree) key(b *keyer) {
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
}

// moves is everything that can happen.
func (t *tree) moves(to []move[*tree]) []move[*tree] {
	add := func(rank int, what string, item int64, do func(c *tree) error) {
		to = append(to, move[*tree]{rank, what, item, do})
	}
	for n := range t.nodes {
		x := &t.nodes[n]
		t.laneMoves(n, add)
		if slices.Contains(t.c.cancel, n) && !x.aborted && !t.done() {
			add(n, "context ends", noItem, func(c *tree) error { c.nodes[n].aborted, c.ended = true, true; return nil })
		}
		add(n, "step", noItem, func(c *tree) error { return c.step(n, false, false) })
		if x.root == nil {
			add(n, "step, flush", noItem, func(c *tree) error { return c.step(n, true, false) })
		}
		if t.c.cut && x.w == nil {
			add(n, "step, batches cut", noItem, func(c *tree) error { return c.step(n, false, true) })
		}
		if len(x.up) > 0 {
			add(n, "report arrives", noItem, func(c *tree) error { return c.arriveUp(n) })
		}
		if len(x.down) > 0 {
			add(n, "message arrives", noItem, func(c *tree) error { return c.arriveDown(n) })
		}
	}
	return to
}

func (t *tree) laneMoves(n int, add func(rank int, what string, item int64, do func(c *tree) error)) {
	x := &t.nodes[n]
	for l, cur := range x.lanes {
		if slices.Contains(x.lanes[:l], cur) {
			continue // an idle lane is like another
		}
		switch {
		case cur == idleLane:
			if t.sick > 0 {
				add(n, "lane gets sick", noItem, func(c *tree) error { c.nodes[n].lanes[l] = deadLane; c.sick--; return nil })
			}
			if x.q.Left() > 0 {
				add(n, "lane claims", noItem, func(c *tree) error { return c.claim(n, l) })
			}
		case cur >= 0:
			add(n, "item %d ends", cur, func(c *tree) error { return c.end(n, l, false) })
			if x.mayGiveUp(cur) {
				add(n, "item %d gives up", cur, func(c *tree) error { return c.end(n, l, true) })
			}
		}
	}
}

// TestExploreRelay visits the whole reachable state space of small worlds in two
// levels; with -short, of the smaller ones among them.
func TestExploreRelay(t *testing.T) {
	const us = time.Microsecond
	chain := []int{0, 1} // the root, a relay, one rank behind it
	worlds := []treeConfig{
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
		{name: "two behind a relay without lanes", large: true, items: 4, parents: []int{0, 1, 1}, lanes: []int{0, 0, 1, 1}, item: us},
	}
	worlds = slices.DeleteFunc(worlds, func(c treeConfig) bool { return c.large && testing.Short() })
	total := explore(t, worlds, func(c *treeConfig) (string, *tree) {
		c.relays = []int{1}
		return c.name, newTree(c)
	})
	if total < 50_000 {
		t.Errorf("only %d states: the worlds are too small to show anything", total)
	}
}
