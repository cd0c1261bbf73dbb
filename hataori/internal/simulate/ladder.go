package simulate

import "time"

// The ladder on which a coordinator waits: the steps of package hataori.
const (
	hotStarving = 400
	hotBusy     = 64
	hotLong     = 4
	firstNap    = 20 * time.Microsecond
	busyNap     = 100 * time.Microsecond
	idleNap     = 500 * time.Microsecond
	hotTime     = 20 * time.Microsecond
	burst       = 16
)

type ladder struct {
	clock   time.Duration // of the last poll
	polls   int
	nap     time.Duration
	hot     int // polls before the first nap, as long as nothing happens
	longest time.Duration
}

func (l *ladder) reset() { l.polls, l.nap = 0, 0 }

// rest starts waiting at the time now.
func (l *ladder) rest(now time.Duration, idle, healthy int, item time.Duration) {
	l.clock = now
	switch {
	case idle > 0 || healthy == 0:
		l.hot, l.longest = hotStarving, idleNap
	case item > hotTime:
		l.hot, l.longest = hotLong, busyNap
	default:
		l.hot, l.longest = hotBusy, busyNap
	}
}

// until goes on waiting until the first poll at or after t, and returns when
// that is.
func (l *ladder) until(t time.Duration, c *Costs) time.Duration {
	if l.polls < l.hot {
		k := min(l.hot-l.polls, max(int((t-l.clock+c.Poll-1)/c.Poll), 1))
		l.polls += k
		l.clock += time.Duration(k) * c.Poll
	}
	for l.clock < t {
		l.nap = min(max(l.nap+l.nap/4, firstNap), l.longest)
		k := time.Duration(1)
		if l.nap == l.longest {
			step := l.nap + c.Nap
			k = (t - l.clock + step - 1) / step
		}
		l.clock += k * (l.nap + c.Nap)
	}
	return l.clock
}
