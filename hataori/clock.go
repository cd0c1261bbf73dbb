package hataori

import (
	"sync/atomic"
	"time"
)

// laneClock measures a lane's items without reading the time for each of them
// when they are short.
type laneClock struct {
	base  time.Time
	last  time.Duration
	seen  atomic.Int64  // last, for others
	took  time.Duration // from the reading before to that
	group int32         // items between readings
	since int32         // items since the last
}

const maxGroup = 64

func (k *laneClock) start() {
	k.group = max(k.group, 1)
	k.last = time.Since(k.base)
	k.seen.Store(int64(k.last))
}

// tick counts an item that was evaluated.
func (l *laneState) tick() {
	k := &l.clock
	if k.since++; k.since >= k.group {
		l.publish()
	}
}

func (l *laneState) publish() {
	k := &l.clock
	now := time.Since(k.base)
	d := now - k.last
	if l.log != nil {
		l.log.add(k, now, max(l.cur.Load(), -1))
	}
	k.last, k.took = now, d
	k.seen.Store(int64(now))
	l.busy.Store(l.busy.Load() + int64(d))
	l.items.Store(l.items.Load() + int64(k.since))
	if k.group == 1 && k.since == 1 && int64(d) > l.longest.Load() {
		l.longest.Store(int64(d))
		l.longestIndex.Store(max(l.cur.Load(), -1)) // the item has not ended yet
	}
	k.since = 0
	switch {
	case d < 4*time.Microsecond && k.group < maxGroup:
		k.group *= 2
	case d > 16*time.Microsecond && k.group > 1:
		k.group /= 2
	}
}

// pause is called before the lane waits or ends.
func (l *laneState) pause() {
	if l.clock.since > 0 {
		l.publish()
	}
}
