package hataori

import (
	"runtime"
	"time"
)

// The steps of the ladder.
const (
	hotStarving = 400 // polls before the first nap while lanes have nothing to do
	hotBusy     = 64  // while they work on short items
	hotLong     = 4   // while they work on long ones

	firstNap = 20 * time.Microsecond
	busyNap  = 100 * time.Microsecond // longest nap while lanes work: what an answer may wait
	idleNap  = 500 * time.Microsecond // longest nap otherwise
)

// ladder is how a coordinator waits for messages, which nothing announces: hot
// at first, giving the processor to any lane that can run, then by longer and
// longer naps.
type ladder struct {
	pause func(time.Duration)
	most  int // bound of the hot polls, in tests; 0: none
	polls int // since something happened
	nap   time.Duration
}

// reset starts again from the hot end, after something happened.
func (l *ladder) reset() { l.polls, l.nap = 0, 0 }

// wait takes the next step; hot is the number of polls before the first nap.
func (l *ladder) wait(hot int, longest time.Duration) {
	if l.most > 0 {
		hot = min(hot, l.most)
	}
	if l.polls++; l.polls <= hot {
		runtime.Gosched()
		return
	}
	l.nap = min(max(l.nap+l.nap/4, firstNap), longest)
	l.pause(l.nap)
}
