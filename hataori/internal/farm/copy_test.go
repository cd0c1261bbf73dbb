package farm

import "iter"

// The machines copied, for tests that look at states. copyTo makes c a copy and uses
// what c has allocated; what messages hold is shared, for nobody writes to it.

// parts are the unclaimed parts in order.
//
//go:norace
func (q *Queue) parts() iter.Seq2[*Segment, Range] {
	return func(yield func(*Segment, Range) bool) {
		if s := q.cur.Load(); s != nil && s.left().Len() > 0 && !yield(s, s.left()) {
			return
		}
		for _, s := range q.rest {
			if s.left().Len() > 0 && !yield(s, s.left()) {
				return
			}
		}
	}
}

//go:norace
func (q *Queue) copyTo(c *Queue) {
	c.cur.Store(nil)
	c.rest = c.rest[:0]
	c.limit, c.cut, c.key, c.place = q.limit, q.cut, q.key, q.place
	c.open.Store(q.Open())
	for s, left := range q.parts() {
		c.insert(newSegment(left, s.Pinned, s.Load))
	}
}

// copyTo leaves the queue to the caller: machines share it.
//
//go:norace
func (w *Worker) copyTo(c *Worker, q *Queue) {
	old := *c
	*c = *w
	c.q = q
	c.failed = append(old.failed[:0], w.failed...)
	c.dropped = append(old.dropped[:0], w.dropped...)
	c.back = append(old.back[:0], w.back...)
}

//go:norace
func (r *Root) copyTo(c *Root, q *Queue) {
	old := *c
	*c = *r
	c.q = q
	c.effects, c.spare = old.effects[:0], old.spare
	c.parked = append(old.parked[:0], r.parked...)
	c.losers = append(old.losers[:0], r.losers...)
	c.peers = old.peers
	if len(c.peers) != len(r.peers) {
		c.peers = make([]peer, len(r.peers))
	}
	for i := range c.peers {
		grants := c.peers[i].grants
		for _, g := range grants {
			c.spare = append(c.spare, g.done)
		}
		grants = append(grants[:0], r.peers[i].grants...)
		for j := range grants {
			done := c.bitmap(grants[j].Len())
			copy(done, grants[j].done)
			grants[j].done = done
		}
		c.peers[i] = r.peers[i]
		c.peers[i].grants = grants
	}
	c.copies = copyCopies(old.copies, r.copies)
}

//go:norace
func copyCopies(to, from map[int64]*copies) map[int64]*copies {
	for i := range to {
		if from[i] == nil {
			delete(to, i)
		}
	}
	if to == nil && len(from) > 0 {
		to = map[int64]*copies{}
	}
	for i, k := range from {
		c := to[i]
		if c == nil {
			c = new(copies)
			to[i] = c
		}
		c.had, c.live = append(c.had[:0], k.had...), append(c.live[:0], k.live...)
		c.failed, c.done = k.failed, k.done
	}
	return to
}

//go:norace
func (r *Relay) copyTo(c *Relay, q *Queue) {
	if c.up == nil {
		c.up, c.down = new(Worker), new(Root)
	}
	c.q, c.firstSeen = q, r.firstSeen
	r.up.copyTo(c.up, q)
	r.down.copyTo(c.down, q)
}
