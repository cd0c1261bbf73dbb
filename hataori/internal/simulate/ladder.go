package simulate

import "time"

// How a rank looks for messages: the steps of package hataori.
const (
	hotStarving = 3000
	firstNap    = 20 * time.Microsecond
	idleNap     = 840 * time.Microsecond
	burst       = 16

	lookEvery = 100 * time.Microsecond
	latest    = time.Millisecond
	soonest   = 100 * time.Microsecond
)

// ladder is how whoever polls for a rank with idle lanes waits.
type ladder struct {
	clock time.Duration // of the last poll
	polls int
	nap   time.Duration
}

func (l *ladder) reset() { l.polls, l.nap = 0, 0 }

// until goes on waiting until the first poll at or after t, and returns when
// that is.
func (l *ladder) until(t time.Duration, c *Costs) time.Duration {
	if l.polls < hotStarving {
		k := min(hotStarving-l.polls, max(int((t-l.clock+c.Poll-1)/c.Poll), 1))
		l.polls += k
		l.clock += time.Duration(k) * c.Poll
	}
	for l.clock < t {
		l.nap = min(max(l.nap+l.nap/4, firstNap), idleNap)
		k := time.Duration(1)
		if l.nap == idleNap {
			step := l.nap + c.Nap
			k = (t - l.clock + step - 1) / step
		}
		l.clock += k * (l.nap + c.Nap)
	}
	return l.clock
}

// poke says that something happened at a node which it sees when it looks next: a
// lane without an item polls, lanes with one look between items, and where those
// are long the coordinator does.
func (s *sim) poke(n *node, at time.Duration) {
	switch {
	case n.done || n.wakeAt != never:
	case len(n.idle) > 0 || len(n.lanes) == 0:
		s.wake(n, n.ladder.until(at, &s.cfg.Costs))
	default:
		s.wake(n, max(at, n.looked+max(n.nap, soonest)))
	}
}

// glance is the look of a lane between two items, or after its last one.
func (s *sim) glance(n *node, at time.Duration) {
	if !n.done && n.wakeAt > at && (at-n.looked >= lookEvery || len(n.idle) > 0) {
		n.glanced = true
		s.wake(n, at)
	}
}

// settle takes in whether a look found messages, and with that after which time
// the coordinator looks if no lane does before.
func (n *node) settle(found bool) {
	switch {
	case n.glanced: // by a lane
	case found:
		n.nap = max(n.nap/2, soonest)
	default:
		n.nap = min(max(n.nap+n.nap/4, soonest), latest)
	}
	n.glanced = false
}

func (s *sim) wake(n *node, at time.Duration) {
	n.wakeAt = at
	s.ev.add(at, wakeUp, n.id, 0)
}
