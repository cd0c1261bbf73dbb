package hataori

import (
	"fmt"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
)

// relayLoop is the coordinator of a rank that stands for a group: it gets its
// items from the root, lets its own lanes and the group have them, and passes on
// what becomes of them.
type relayLoop struct {
	upward
	m     *farm.Relay
	cargo *transit
	deal  dealer
}

// run coordinates until the group is gone and the root knows all of it.
func (l *relayLoop) run(ctl *lanes.Control) error {
	l.coordinate(ctl)
	return nil
}

// turn is one turn, see turns.
func (l *relayLoop) turn() (moved, done bool, err error) {
	if err := l.flush(); err != nil {
		return false, false, err
	}
	got := false
	if !l.speak {
		if got, err = l.mail(); err != nil {
			return false, false, err
		}
	}
	if !got && !l.speak && len(l.sends) == 0 && len(l.cargo.results) == 0 && l.resting() {
		return false, false, nil
	}
	failed, dropped := l.collect()
	for _, i := range failed {
		l.m.OnFailed(i.place)
	}
	for _, d := range dropped {
		l.m.OnDropped(d)
	}
	if l.gaveUp() {
		l.m.OnAbort()
	}
	l.lower(l.m.Limit())
	l.own = l.snapshot()
	said, err := l.step(l.own)
	if l.own.Idle > 0 {
		l.feed()
	}
	l.deal.watch()
	l.watchLanes()
	return got || said || len(failed) > 0, l.m.Done() && len(l.sends) == 0, err
}

// mail takes in a message and says whether there was one. The answer goes out
// before the next is looked for.
func (l *relayLoop) mail() (got bool, err error) {
	source, h, body, ok, err := l.poll()
	switch {
	case err != nil || !ok:
		return false, err
	case source != l.parent:
		return true, l.deal.onReport(source, h, body)
	}
	if err := l.on(h, body); err != nil {
		return true, fmt.Errorf("from rank %d: %w", source, err)
	}
	return true, nil
}

func (l *relayLoop) on(h wire.Header, body []byte) error {
	if h.Kind != wire.Grant {
		return l.onOrder(h, l.m)
	}
	items := new(wire.Items)
	g, err := l.onGrant(items, h, body)
	if err != nil {
		return err
	}
	if items.Keyed() && !l.keyed {
		l.keyed = true
		l.q.SetOrder(func(_ any, i int64) int64 { return l.cargo.key(i) }, nil)
	}
	l.cargo.add(g, items)
	return l.m.OnGrant(g, h.Flags&wire.Pinned != 0)
}

// step lets the machine decide what to tell the group and the root, and does it.
func (l *relayLoop) step(own farm.Local) (said bool, err error) {
	pending := l.pending() + int64(len(l.cargo.results))
	p := farm.Pulse{Lanes: own.Healthy, Idle: own.Idle, Finished: pending > 0, Item: l.measure(),
		// What was given up waits as results do, and the group need not be idle.
		Flush: pending > flushBytes || l.waited()}
	effects, rep, say := l.m.Step(p)
	for _, e := range effects {
		if err := l.deal.do(e, l.noLanes); err != nil {
			return true, err
		}
	}
	if !say {
		return len(effects) > 0, nil
	}
	return true, l.report(rep)
}

// report passes on what came together since the last one.
func (l *relayLoop) report(rep farm.Report) error {
	n := l.drain()
	for _, part := range l.parts {
		if _, err := l.cargo.leave(part, nil); err != nil {
			return err
		}
	}
	c := l.cargo
	l.m.OnFinished(n + c.count)
	for _, i := range rep.Failed {
		if err := c.take(farm.Range{First: i, End: i + 1}); err != nil {
			return err
		}
	}
	for _, rs := range [][]farm.Range{rep.Dropped, rep.Back} {
		for _, r := range rs {
			if err := c.take(r); err != nil {
				return err
			}
		}
	}
	var stats []byte
	if rep.Bye {
		if left := c.list(); len(left) > 0 {
			return fmt.Errorf("the call ends, and %d items of the grant [%d, %d) are at this relay", left[0].left, left[0].First, left[0].End)
		}
		stats = appendLaneStats(appendLaneStats(nil, l.crew.stats()), l.deal.gone)
	}
	if len(c.results) > 0 {
		l.parts = append(l.parts, c.results)
	}
	err := l.say(rep, stats)
	c.results, c.count = c.results[:0], 0
	if cap(c.results) > keepBuffer {
		c.results = nil
	}
	return err
}
