package simulate

import "time"

// How a rank looks for messages: the steps of package hataori.
const (
	hotStarving = 3000
	firstNap    = 20 * time.Microsecond
	idleNap     = 840 * time.Microsecond
	partOfWait  = 512
	burst       = 16

	lookEvery  = 100 * time.Microsecond
	seldom     = 2200 * time.Microsecond
	partOfCall = 128
	latest     = 2 * time.Millisecond
	soonest    = 50 * time.Microsecond
)

// ladder is how whoever polls for a rank with idle lanes waits.
type ladder struct {
	clock time.Duration // of the last poll
	polls int
	nap   time.Duration
	slept time.Duration
}

func (l *ladder) reset() { l.polls, l.nap, l.slept = 0, 0, 0 }

// until goes on waiting until the first poll at or after t, and returns when
// that is.
func (l *ladder) until(t time.Duration, c *Costs) time.Duration {
	if l.polls < hotStarving {
		k := min(hotStarving-l.polls, max(int((t-l.clock+c.Poll-1)/c.Poll), 1))
		l.polls += k
		l.clock += time.Duration(k) * c.Poll
	}
	for l.clock < t {
		l.nap = min(max(l.nap+l.nap/4, firstNap), max(idleNap, l.slept/partOfWait))
		l.slept += l.nap
		l.clock += l.nap + c.Nap
	}
	return l.clock
}

// poke says that something happened at a node which it sees when it looks next: a
// lane without an item polls, lanes with one look between items, and where those
// are long the coordinator does, sooner if somebody waits for the answer without
// work.
func (s *sim) poke(n *node, at time.Duration, dry bool) {
	switch {
	case n.done || n.wakeAt != never:
	case len(n.idle) > 0 || len(n.lanes) == 0:
		s.wake(n, n.ladder.until(at, &s.cfg.Costs))
	case dry:
		s.wake(n, max(at, n.looked+soonest+s.cfg.Costs.Nap))
	default:
		s.wake(n, max(at, n.looked+latest))
	}
}

// glance is the look of a lane between two items of that length, or after its last one.
func (s *sim) glance(n *node, at, lasts time.Duration) {
	since := at - n.looked
	if n.done || n.wakeAt <= at || len(n.idle) == 0 && (since < lookEvery || lasts >= lookEvery && since+lasts < min(seldom, at/partOfCall) && n.q.Left() > n.enough) {
		return
	}
	s.wake(n, at)
}

func (s *sim) wake(n *node, at time.Duration) {
	n.wakeAt = at
	s.ev.add(at, wakeUp, n.id, 0)
}
