package hataori

import (
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/lanes"
)

// errTurn ends a call whose coordination did not come to its end, because a
// codec of the caller's panicked or called Goexit where neither may.
var errTurn = errors.New("a turn of the coordinator was cut short")

// turns is who coordinates a rank. One turn moves the messages that wait, lets
// the machine decide, and says what it decided. Turns are made one at a time,
// by whoever is awake anyway: a lane that has an item to begin, now and then; a
// lane without one, until it gets one; and the coordinator's own goroutine when
// no lane has made one for a while, or no lane may. So a message costs no
// switch between goroutines as long as a lane looks at the right moment, and
// nobody is woken to find nothing.
type turns struct {
	one     func() (moved, done bool, err error)
	hauls   func() bool   // whether a long message is on its way, which moves only while it is looked at
	soon    func() int64  // when somebody may ask who waits for the answer without work; nil: nobody does
	left    func() int64  // items in store
	base    time.Time     // of last
	last    atomic.Int64  // when the last turn ended
	enough  atomic.Int64  // with more items than this in store lanes look seldom
	crowd   atomic.Bool   // messages came together
	uneven  atomic.Bool   // the gaps between looks are
	lead    atomic.Bool   // somebody polls without rest
	yielder               // whoever leads
	most    int           // bound of the polls of a lane, in tests; 0: none
	rec     *recorder     // of the time that turns take
	bell    bell          // wakes the coordinator's goroutine
	mu      sync.Mutex    // held for one turn, and for the rest
	over    bool          // there will not be another
	err     error         // why, if it is not that all is done
	speak   bool          // this turn is for what there is to say, not for messages
	hot     bool          // whoever makes the turns does not nap between two
	fed     bool          // lanes were woken
	calm    bool          // the last turn came to nothing, and no lane worked
	polls   int           // turns since a full one
	looked  int64         // last, when a lane made a turn
	sawAt   time.Duration // when a lane last looked after a long gap
	gap     float64       // mean long gap between looks of lanes, in ns
	square  float64       // mean square
	span    float64       // and mean time from one to the next
	made    uint          // turns
	own     farm.Local    // how the lanes fared at the last turn
}

const (
	// lookEvery is how often lanes that begin one item after the other look for
	// messages: a look costs some two hundredths of it, more if its code is out of the
	// caches. Where nobody can need an answer soon they look as seldom as that between
	// items that are longer, if it is a small part of the time that the call has taken:
	// who is asked at its end to give items back answers so much later. Of shorter
	// items a rank has many in store, and sending them takes long in one piece.
	lookEvery  = 100 * time.Microsecond
	seldom     = 2200 * time.Microsecond
	partOfCall = 128

	// The coordinator looks itself after latest without a look of a lane. It leaves
	// lanes alone that do look for as long as leave, and the longer they have done so
	// up to longest; hurried, if their gaps are uneven: an item that takes long may
	// begin at any time. A wake-up takes some 30 µs from the lanes.
	latest  = 2 * time.Millisecond
	leave   = 8 * time.Millisecond
	longest = 24 * time.Millisecond
	hurried = 500 * time.Microsecond

	// giveWay is how often a lane offers its processor to other goroutines where one is
	// kept for the coordinator. After 10 ms without, the monitor of the Go scheduler
	// interrupts it by a signal and, if it is in C at the moment, takes the processor
	// away: then it looks every few dozen microseconds for a while.
	giveWay = 6 * time.Millisecond

	// What a rank asks that has nothing in store is different, since its lanes wait
	// for the answer. When such a rank may have asked the coordinator looks every
	// soonest, which the system makes twice as long, and then, the longer it
	// was wrong, every sixteenth of that time.
	soonest = 50 * time.Microsecond
)

// now is the time on the clock of last.
func (t *turns) now() int64 { return int64(time.Since(t.base)) }

// take makes a turn and says whether something came of it. The caller holds mu.
func (t *turns) take() (moved bool) {
	if t.over {
		return false
	}
	t.over, t.err = true, errTurn
	since := t.rec.turn()
	moved, done, err := t.one()
	if moved {
		t.rec.worked(since)
	}
	t.over, t.err = done || err != nil, err
	rest := t.own.Idle == t.own.Healthy // no lane works
	if t.made++; !rest || t.made%fullEvery == 0 {
		t.last.Store(t.now())
	}
	t.calm = !moved && rest
	return moved
}

// resting reports whether a turn that found no message has nothing else to look
// at, as no lane works and none has since the last turn, which came to nothing.
// Now and then it is false, for the sake of what nobody announces: contexts and
// clocks.
func (t *turns) resting() bool {
	if !t.calm {
		t.polls = 0
		return false
	}
	t.polls = (t.polls + 1) % fullEvery
	return t.polls > 0
}

// fullEvery is how many turns go by between two full ones while no lane works.
const fullEvery = 16

// try makes a turn unless somebody else is making one.
func (t *turns) try(speak bool) (moved, over bool) {
	if !t.mu.TryLock() {
		return false, false
	}
	defer t.mu.Unlock()
	t.speak, t.hot = speak, true
	moved = t.take()
	t.looked = t.last.Load()
	t.speak = false
	if t.over {
		t.bell.ring()
	}
	return moved, t.over
}

// look makes a turn if none was made for a while, for a lane that read the time
// at now and begins an item that will take as long as lasts; or if the rank may have
// to ask for more, because the lane was idle.
func (t *turns) look(now, lasts time.Duration, idle bool) {
	switch since := now - time.Duration(t.last.Load()); {
	case since < lookEvery && !idle, !idle && lasts >= lookEvery && since+lasts < min(seldom, now/partOfCall) && t.easy():
		return
	case since >= lookEvery:
		t.saw(now)
	}
	k := 0
	for ; k < burst; k++ {
		if moved, _ := t.try(false); !moved {
			break
		}
	}
	t.crowd.Store(k > 1)
}

// easy reports whether lanes may look seldom.
func (t *turns) easy() bool {
	return t.left() > t.enough.Load() && !t.crowd.Load() && !t.uneven.Load()
}

// saw takes in that a lane looks after a long gap. The gap in which a moment chosen
// at random falls is as long as the squares of gaps divided by the time they are
// from: gaps are uneven where that is longer than a nap, and twice a gap.
func (t *turns) saw(now time.Duration) {
	if !t.mu.TryLock() {
		return
	}
	defer t.mu.Unlock()
	gap, span := float64(min(int64(now)-t.looked, int64(leave))), float64(now-t.sawAt)
	first := t.looked == 0 || t.sawAt == 0
	if t.sawAt = now; first || gap <= 0 {
		return
	}
	t.gap += (gap - t.gap) / 256
	t.square += (gap*gap - t.square) / 256
	t.span += (span - t.span) / 256
	t.uneven.Store(t.square > max(float64(latest)*t.span, 2*t.gap*t.gap))
}

// drive makes turns until a lane that waits is woken, and reports false if that
// takes long: then it is the coordinator's to wait for messages.
func (t *turns) drive(woken <-chan struct{}) (ok bool) {
	if !t.lead.CompareAndSwap(false, true) {
		t.bell.ring() // it naps perhaps, and a lane is waiting
		return false
	}
	defer func() {
		t.lead.Store(false)
		if !ok {
			t.bell.ring() // the coordinator's turn
		}
	}()
	hot := hotStarving
	if t.most > 0 {
		hot = min(hot, t.most)
	}
	speak := true // the lane's last result comes before messages
	for polls := 0; polls < hot; polls++ {
		moved, over := t.try(speak)
		speak = false
		select {
		case <-woken:
			return true
		default:
		}
		if over {
			return false
		}
		if moved {
			polls = 0
		}
		t.yield()
	}
	return false
}

// must makes a turn, after that of somebody else if need be.
func (t *turns) must(hot bool) (moved, over, fed, starving, hauls bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hot = hot
	moved = t.take()
	fed, t.fed = t.fed, false
	return moved, t.over, fed, t.own.Idle > 0 || t.own.Healthy == 0, t.hauls != nil && t.hauls()
}

// awaited is how long nobody will ask who has no work until the answer comes, or
// how long ago that was to happen, as a negative time.
func (t *turns) awaited() time.Duration {
	if t.soon == nil {
		return math.MaxInt64
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Duration(t.soon() - t.now())
}

// coordinate makes turns on the coordinator's goroutine until all is done, and
// lets the lanes go then, or if it is unwound by a panic.
func (c *coordinator) coordinate(ctl *lanes.Control) {
	err := errTurn
	defer func() { c.release(err) }()
	c.turns.mu.Lock() // lanes make turns already
	c.ctl = ctl
	c.turns.mu.Unlock()
	err = c.makeTurns()
}

func (c *coordinator) makeTurns() error {
	t := c.turns
	leads := false
	for {
		moved, over, fed, starving, hauls := t.must(c.ladder.nap == 0)
		if over {
			return t.err
		}
		if moved {
			c.ladder.reset()
			if fed {
				runtime.Gosched() // the lanes that were woken go first, the last of them on this processor
			}
			continue
		}
		switch {
		case hauls:
			c.ladder.haul()
		case !c.shared:
			c.alone(starving)
		case starving && (leads || t.lead.CompareAndSwap(false, true)):
			leads = true
			c.ladder.wait(hotStarving, idleNap)
		default:
			if leads {
				leads = false
				t.lead.Store(false)
			}
			c.leave()
		}
	}
}

// alone waits where lanes make no turns.
func (c *coordinator) alone(starving bool) {
	switch {
	case starving:
		c.ladder.wait(hotStarving, idleNap)
	case c.pace.item > hotTime:
		c.ladder.wait(hotLong, busyNap)
	default:
		c.ladder.wait(hotBusy, busyNap)
	}
}

// leave waits until no lane has looked for messages for a while, or until somebody
// may have asked for whom that is too long.
func (c *coordinator) leave() {
	t := c.turns
	for patience := latest; ; {
		seen, nap := t.last.Load(), patience
		left := t.awaited()
		if left <= 0 {
			nap = min(max(-left/16, soonest), patience)
		} else {
			nap = min(left, patience)
		}
		if t.bell.wait(nap) || nap < patience || t.last.Load() == seen {
			return
		}
		switch {
		case t.uneven.Load():
			patience = hurried
		case patience < leave:
			patience *= 2
		default:
			patience = min(patience+patience/8, longest)
		}
	}
}
