package hataori

import (
	"runtime"
	"time"
)

// The steps of the ladder.
const (
	hotStarving = 3000 // polls before the first nap while lanes have nothing to do
	hotBusy     = 64   // while they work on short items
	hotLong     = 4    // while they work on long ones

	firstNap = 20 * time.Microsecond
	busyNap  = 100 * time.Microsecond // longest nap while lanes work: what an answer may wait
	idleNap  = 840 * time.Microsecond // longest nap otherwise

	partOfWait = 512 // naps of a five-hundredth of a wait harm nobody
)

// yielder offers the processor to other goroutines now and then. Where a
// processor is idle, each offer also wakes a thread to look for work, which finds
// none and has cost a message's time.
type yielder struct{ polls, every int }

// How many polls go by between two offers.
const (
	yieldOften  = 8    // where all processors may be busy
	yieldSeldom = 8192 // where one is to spare
)

func (y *yielder) yield() {
	if y.polls++; y.polls >= y.every {
		y.polls = 0
		runtime.Gosched()
	}
}

// ladder is how a coordinator waits for messages, which nothing announces: hot
// at first, giving the processor to any lane that can run, then by longer and
// longer naps.
type ladder struct {
	pause func(time.Duration)
	most  int // bound of the hot polls, in tests; 0: none
	polls int // since something happened
	nap   time.Duration
	slept time.Duration // so far
	yielder
}

// reset starts again from the hot end, after something happened.
func (l *ladder) reset() { l.polls, l.nap, l.slept = 0, 0, 0 }

// wait takes the next step; hot is the number of polls before the first nap. Naps
// get longer than longest where they stay a small part of the wait.
func (l *ladder) wait(hot int, longest time.Duration) {
	if l.most > 0 {
		hot = min(hot, l.most)
	}
	if l.polls++; l.polls <= hot {
		l.yield()
		return
	}
	l.nap = min(max(l.nap+l.nap/4, firstNap), max(longest, l.slept/partOfWait))
	l.slept += l.nap
	l.pause(l.nap)
}

// longMessage is the length above which a message is hauled: MPI libraries copy a part
// of it in each call, some dozen KiB, and nothing between two.
const longMessage = 1 << 20

// haul is the step while a long message is on its way.
func (l *ladder) haul() {
	if l.most > 0 {
		l.wait(l.most, idleNap)
		return
	}
	runtime.Gosched()
}

// bell ends the wait of one goroutine early. It is the coordinator's own ladder
// that says how long to wait.
type bell interface {
	// wait returns true at once if the bell was rung since the last wait, as
	// soon as it is rung, or false after d, or a little later.
	wait(d time.Duration) bool

	// ring may be called by any goroutine. It does not wait.
	ring()
}

// chime is the bell that works everywhere.
type chime chan struct{}

func newChime() bell { return make(chime, 1) }

func (c chime) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

func (c chime) ring() { signal(c) }

// muffled is a pause of any kind, which nothing ends early.
type muffled func(time.Duration)

func (m muffled) wait(d time.Duration) bool {
	m(d)
	return false
}

func (m muffled) ring() {}
