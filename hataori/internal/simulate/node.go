package simulate

import (
	"fmt"
	"math"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
)

const never = time.Duration(math.MaxInt64)

// node is one rank: its lanes, and the coordinator that drives its machine.
type node struct {
	id     int
	parent int   // who grants to it
	place  int   // among the peers of that
	peers  []int // whom it grants to, by place; itself first
	slow   float64
	q      *farm.Queue
	r      *farm.Root // the root's
	relay  *farm.Relay
	w      *farm.Worker // another rank's
	lanes  []lane
	idle   []int
	limit  int64

	inbox    []int32
	finished []farm.Range // not yet reported
	dropped  []farm.Range
	pace     pace
	ladder   ladder
	enough   int64         // with more items than this in store lanes look seldom
	looked   time.Duration // when it looked for messages last
	wakeAt   time.Duration // when it does next, if it has a reason
	told     time.Duration
	flush    time.Duration // how long results wait
	flushAt  time.Duration
	done     bool

	busy     time.Duration
	cpu      time.Duration
	messages int64
	maxStore int64
}

func (n *node) finish(s *sim, i int64) {
	if n.r != nil {
		if err := s.learn(farm.Range{First: i, End: i + 1}, s.lastEnd); err != nil {
			panic(err)
		}
		return
	}
	n.finished = appendIndex(n.finished, i)
}

// dry reports whether the sender of the message has nothing in store, as far as
// the receiver knows, and is to get something from there.
func (n *node) dry(m *message) bool {
	switch {
	case m.kind != report:
		return false
	case n.relay != nil:
		return n.relay.Dry(m.from) > 0
	}
	return n.r.Dry(m.from) > 0
}

func (n *node) drop(i int64) {
	if n.r == nil {
		n.dropped = appendIndex(n.dropped, i)
	}
}

// pass is one turn of a coordinator's loop, from now on.
func (s *sim) pass(n *node, now time.Duration) error {
	c := &s.cfg.Costs
	at := now
	n.looked = now
	crowd := len(n.inbox) > 1
	got := false
	for k := 0; k < burst && len(n.inbox) > 0; k++ {
		m := &s.mail[n.inbox[0]]
		s.freeMail = append(s.freeMail, n.inbox[0])
		n.inbox = n.inbox[1:]
		got = true
		n.messages++
		at += c.Receive
		var err error
		if m.kind == report {
			at, err = s.onReport(n, m, at)
		} else {
			err = s.onOrder(n, m, at)
		}
		if err != nil {
			return err
		}
	}
	var said bool
	var err error
	switch {
	case n.r != nil:
		at, said = s.stepRoot(n, at)
	case n.relay != nil:
		at, said = s.stepRelay(n, at)
	default:
		at, said = s.stepWorker(n, at)
	}
	n.cpu += at - now
	n.enough = math.MaxInt64
	switch {
	case crowd, n.relay != nil:
	case n.r != nil:
		n.enough = n.r.Enough()
	default:
		n.enough = n.w.Enough()
	}
	if err != nil || n.done {
		return err
	}
	if got || said {
		n.ladder.reset()
		s.wake(n, max(at, now+c.Poll))
		return nil
	}
	if n.r != nil {
		n.measure()
	}
	n.ladder.clock = at
	if len(n.finished) > 0 && n.flushAt <= now {
		n.flushAt = max(n.told+n.flush+1, now+lookEvery)
		s.ev.add(n.flushAt, flush, n.id, 0)
	}
	return nil
}

func (s *sim) onReport(n *node, m *message, at time.Duration) (time.Duration, error) {
	if n.relay != nil {
		return s.passOn(n, m, at)
	}
	for _, r := range m.finished {
		at += time.Duration(r.Len()) * s.cfg.Costs.Item
		if err := n.r.OnResults(m.from, r); err != nil {
			return at, err
		}
		if err := s.learn(r, at); err != nil {
			return at, err
		}
	}
	return at, n.r.OnReport(m.from, m.rep)
}

// passOn is what a relay does with a report of its group.
func (s *sim) passOn(n *node, m *message, at time.Duration) (time.Duration, error) {
	for _, r := range m.finished {
		at += time.Duration(r.Len()) * s.cfg.Costs.Item
		if err := n.relay.OnResults(m.from, r); err != nil {
			return at, err
		}
		n.finished = append(n.finished, r)
	}
	return at, n.relay.OnReport(m.from, m.rep)
}

func (s *sim) onOrder(n *node, m *message, at time.Duration) (err error) {
	e := &m.effect
	switch {
	case e.Kind == farm.Grant && n.relay != nil:
		return n.relay.OnGrant(e.Range, e.Pinned)
	case e.Kind == farm.Grant:
		err = n.w.OnGrant(e.Range, e.Pinned, nil)
		s.feed(n, at)
		return err
	case e.Kind == farm.Notify && n.relay != nil:
		return n.relay.OnNotice(e.Notice, e.N)
	case e.Kind == farm.Notify:
		return n.w.OnNotice(e.Notice, e.N)
	case e.Kind == farm.Stop && n.relay != nil:
		return n.relay.OnStop()
	case e.Kind == farm.Stop:
		return n.w.OnStop()
	}
	return fmt.Errorf("effect of unknown kind %d", e.Kind)
}

// send puts a message on its way at the time at.
func (s *sim) send(n *node, to int, m message, at time.Duration) {
	n.messages++
	k := int32(len(s.mail))
	if f := len(s.freeMail) - 1; f >= 0 {
		k = s.freeMail[f]
		s.freeMail = s.freeMail[:f]
		s.mail[k] = m
	} else {
		s.mail = append(s.mail, m)
	}
	s.ev.add(at+s.cfg.Costs.Latency, arrival, to, int(k))
}

func (s *sim) stepRoot(n *node, at time.Duration) (time.Duration, bool) {
	own := farm.Local{Healthy: len(n.lanes), Idle: len(n.idle)}
	effects := n.r.Step(own)
	at = s.order(n, effects, at)
	if own.Idle > 0 {
		s.feed(n, at)
	}
	if n.r.Done() {
		n.done = true
		s.res.Elapsed = at
	}
	return at, len(effects) > 0
}

// order sends what a machine decided.
func (s *sim) order(n *node, effects []farm.Effect, at time.Duration) time.Duration {
	for _, e := range effects {
		at += s.cfg.Costs.Send
		if e.Kind == farm.Grant {
			at += time.Duration(e.Range.Len()) * s.cfg.Costs.Item
		}
		s.send(n, n.peers[e.Rank], message{kind: order, effect: e}, at)
	}
	return at
}

func (s *sim) stepRelay(n *node, at time.Duration) (time.Duration, bool) {
	for _, d := range n.dropped {
		n.relay.OnDropped(d)
	}
	n.dropped = n.dropped[:0]
	n.limit = min(n.limit, n.relay.Limit())
	effects, rep, say := n.relay.Step(s.pulse(n, at))
	at = s.order(n, effects, at)
	if len(n.idle) > 0 {
		s.feed(n, at)
	}
	if say {
		n.relay.OnFinished(n.pending())
		at = s.report(n, rep, at)
	}
	return at, say || len(effects) > 0
}

// pulse is how a node's lanes fare.
func (s *sim) pulse(n *node, at time.Duration) farm.Pulse {
	idle := len(n.idle)
	p := farm.Pulse{Lanes: len(n.lanes), Idle: idle, Finished: len(n.finished) > 0}
	if p.Finished && (n.relay != nil || idle == 0 && n.ladder.nap > 0) {
		p.Flush = at-n.told > n.flush
	}
	if n.pace.item == 0 || n.ladder.polls == 0 {
		n.measure()
	}
	p.Item = n.pace.item
	return p
}

// pending is the number of results not yet reported.
func (n *node) pending() (k int64) {
	for _, r := range n.finished {
		k += r.Len()
	}
	return k
}

func (s *sim) report(n *node, rep farm.Report, at time.Duration) time.Duration {
	at += s.cfg.Costs.Send
	s.send(n, n.parent, message{from: n.place, kind: report, finished: n.finished, rep: rep}, at)
	n.finished, n.told = nil, at
	n.done = rep.Bye
	return at
}

func (s *sim) stepWorker(n *node, at time.Duration) (time.Duration, bool) {
	for _, d := range n.dropped {
		n.w.OnDropped(d)
	}
	n.dropped = n.dropped[:0]
	n.limit = min(n.limit, n.w.Limit())
	idle := len(n.idle)
	if idle == 0 {
		n.maxStore = max(n.maxStore, n.q.Left())
	}
	rep, say := n.w.Step(s.pulse(n, at))
	if !say {
		return at, false
	}
	n.w.OnFinished(n.pending())
	return s.report(n, rep, at), true
}
