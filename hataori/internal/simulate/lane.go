package simulate

import (
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
)

// lane evaluates one item after the other, and measures them as the lanes of
// package hataori do: several short ones at a time.
type lane struct {
	item  int64
	last  time.Duration // when the clock was read
	took  time.Duration // since it was read before
	group int32
	since int32

	items int64 // all, busy and so far published
	busy  time.Duration
	count int64
}

const maxGroup = 64

// begin makes the lane look for an item. woken says that it waited.
func (s *sim) begin(n *node, k int, now time.Duration) {
	l := &n.lanes[k]
	for {
		seg, i := n.q.Claim()
		if seg == nil {
			l.publish(now)
			n.idle = append(n.idle, k)
			return
		}
		if i > n.limit {
			n.drop(i)
			continue
		}
		l.item = i
		d := time.Duration(float64(s.items[i])*n.slow) + s.cfg.Costs.Claim
		s.evaluated[i]++
		s.res.Ends[i] = now + d
		n.busy += d
		s.ev.add(now+d, itemEnd, n.id, k)
		return
	}
}

// end takes in that the lane's item is done.
func (s *sim) end(n *node, k int, now time.Duration) {
	l := &n.lanes[k]
	l.count++
	if l.since++; l.since >= l.group {
		l.publish(now)
	}
	if now > s.res.Work {
		s.res.Work = now
	}
	n.finish(s, l.item)
	s.begin(n, k, now)
	s.glance(n, now, l.took)
	s.poke(n, now, false)
}

func (l *lane) publish(now time.Duration) {
	if l.since == 0 {
		return
	}
	d := now - l.last
	l.last, l.took = now, d
	l.busy += d
	l.items += int64(l.since)
	l.since = 0
	switch {
	case d < 4*time.Microsecond && l.group < maxGroup:
		l.group *= 2
	case d > 16*time.Microsecond && l.group > 1:
		l.group /= 2
	}
}

// feed wakes lanes for what is in the queue.
func (s *sim) feed(n *node, now time.Duration) {
	for left := n.q.Left(); left > 0 && len(n.idle) > 0; left-- {
		k := n.idle[len(n.idle)-1]
		n.idle = n.idle[:len(n.idle)-1]
		at := now + s.cfg.Costs.Wake
		l := &n.lanes[k]
		l.last = at
		s.begin(n, k, at)
	}
}

// pace measures the time per item of a node's lanes.
type pace struct {
	items int64
	busy  time.Duration
	item  time.Duration
}

func (n *node) measure() {
	var items int64
	var busy time.Duration
	for k := range n.lanes {
		items += n.lanes[k].items
		busy += n.lanes[k].busy
	}
	p := &n.pace
	if items == p.items {
		return
	}
	now := max((busy-p.busy)/time.Duration(items-p.items), 1)
	if p.item > 0 {
		now = (now + p.item + 1) / 2
	}
	p.items, p.busy, p.item = items, busy, now
}

func appendIndex(rs []farm.Range, i int64) []farm.Range {
	if n := len(rs); n > 0 && rs[n-1].End == i {
		rs[n-1].End++
		return rs
	}
	return append(rs, farm.Range{First: i, End: i + 1})
}
