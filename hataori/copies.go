package hataori

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
)

// copyAfter is how long lanes wait at least, with nothing left to hand out, before
// they evaluate copies of what others are at.
const copyAfter = time.Millisecond

// errSuperseded is the cause of an item's context that was cancelled because the
// item has its result from elsewhere.
var errSuperseded = errors.New("hataori: another rank has the result of this item")

// copiesLoop is the coordinator of the root in a call with Options.Copies. To the
// machine that holds the items the root's own lanes are one more rank, whose
// messages it sends to itself: every evaluation is accounted for, and encoded, in
// the same way.
type copiesLoop struct {
	workerLoop
	root    *farm.Root
	deal    dealer
	waiting time.Time // since when lanes wait
}

// run coordinates until every rank, this one too, has said good-bye.
func (l *copiesLoop) run(ctl *lanes.Control) error {
	l.coordinate(ctl)
	return nil
}

// turn is one turn, see turns.
func (l *copiesLoop) turn() (moved, done bool, err error) {
	if err := l.flush(); err != nil {
		return false, false, err
	}
	got := false
	if !l.speak || len(l.echo) > 0 {
		if got, err = l.mail(); err != nil {
			return false, false, err
		}
	}
	if !got && !l.speak && len(l.sends) == 0 && l.resting() {
		return false, false, nil
	}
	failed := l.takeIn()
	l.own = l.snapshot()
	said, err := l.step(l.own)
	if err != nil {
		return false, false, err
	}
	effects := l.root.Step(farm.Local{Patient: l.patient()})
	for _, e := range effects {
		if err := l.deal.do(e, l.root.NoLanes()); err != nil {
			return false, false, err
		}
	}
	if l.opts.Progress != nil {
		lanes, busy := l.root.Crew()
		l.farLanes.Store(int64(lanes))
		l.farBusy.Store(busy)
	}
	if l.own.Idle > 0 {
		l.feed()
	}
	l.deal.watch()
	l.watchLanes()
	return got || said || failed || len(effects) > 0, l.root.Done() && l.m.Done() && len(l.sends)+len(l.echo) == 0, nil
}

// mail takes in a message and says whether there was one.
func (l *copiesLoop) mail() (got bool, err error) {
	source, h, body, ok, err := l.poll()
	switch {
	case err != nil || !ok:
		return false, err
	case h.Kind == wire.Report:
		return true, l.deal.onReport(source, h, body)
	case source != l.w.rank:
		return true, fmt.Errorf("message of kind %d from rank %d at the root", h.Kind, source)
	}
	return true, l.on(h, body)
}

// patient reports whether lanes have been waiting for as long as an item takes.
func (l *copiesLoop) patient() bool {
	switch {
	case !l.root.Idle():
		l.waiting = time.Time{}
	case l.waiting.IsZero():
		l.waiting = time.Now()
	default:
		return time.Since(l.waiting) >= max(copyAfter, l.root.Mean())
	}
	return false
}

// finish fills in the statistics after the lanes have ended.
func (l *copiesLoop) finish(elapsed time.Duration) {
	l.stats.Elapsed = elapsed
	l.stats.granted(&l.root.Granted)
	l.stats.ran(l.deal.gone)
}

// granted takes in what the root's machine counted.
func (s *Stats) granted(g *farm.Sizes) {
	s.Batches, s.Smallest, s.Largest = int(g.Batches), int(g.Smallest), int(g.Largest)
	for k, n := range g.ByPowerOfTwo {
		if n > 0 {
			s.Sizes = append(s.Sizes, make([]int, k+1-len(s.Sizes))...)
			s.Sizes[k] = int(n)
		}
	}
	s.Moved, s.Copies = int(g.TakenBack), int(g.Copies)
}

// ran takes in what the lanes did.
func (s *Stats) ran(all []LaneStats) {
	s.Lanes = all
	slices.SortFunc(s.Lanes, func(a, b LaneStats) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Lane, b.Lane)) })
	for _, l := range s.Lanes {
		s.Items += l.Items
		s.Failed += l.Failed
		s.Cancelled += l.Cancelled
	}
}

// coordinateCopies is coordinate for calls with Options.Copies.
func (p *pmap[L, T, U]) coordinateCopies(ag agreed, items []T, dst sink[U], start time.Time) (own, item *fault, err error) {
	j := p.newJob(false, ag)
	j.defers = true
	j.key = func(s *farm.Segment, i int64) int64 { return s.Load.(*wire.Items).Key(i) }
	t := tree{root: p.w.rank}
	peers := t.peers(p.w.rank, p.w.size)
	up := upward{coordinator: p.newCoordinator(j, start), size: p.in.Size, spare: make([][]byte, len(j.lanes)), parent: p.w.rank, ranks: p.w.size}
	l := &copiesLoop{workerLoop: workerLoop{upward: up, m: farm.NewWorker(&j.q, int64(p.opts.Batch), p.opts.Depth)}}
	l.m.Defer()
	q := new(farm.Queue)
	p.order.lay(q)
	q.Push(farm.Range{End: ag.items}, false, nil)
	o := p.machine(ag, peers)
	o.Me, o.Copies = -1, p.opts.Copies
	l.root = farm.NewRoot(q, o)
	cargo := &packer[T, U]{in: p.in, out: p.out, order: p.order, count: &p.remote, watched: map[int64]*watched{}, from: &l.deal.source}
	cargo.src, cargo.dst = p.places(items, dst)
	l.deal = dealer{c: &l.coordinator, m: l.root, root: l.root, cargo: cargo, tree: &t, peers: peers, max: p.opts.MaxBytes}
	l.one, l.hauls = l.turn, l.hauling
	m := p.startMeter(newCrew(p.ctx, 0, false, p.opts), ag.items) // all results come by messages
	p.drive(j, &l.coordinator, l.run)
	m.stop()
	if l.err != nil {
		return nil, nil, l.err
	}
	if l.root.NoLanes() && l.ended == nil {
		l.ended = p.leftOver(j.crew)
	}
	l.finish(time.Since(start))
	p.flights = flightsOf(l.coordinator.stats.Lanes)
	p.rec.note(l.coordinator.stats)
	if p.opts.Stats != nil {
		*p.opts.Stats = l.coordinator.stats
	}
	return l.ended, j.failure(), nil
}

// watched is the first result of an item of which there are copies.
type watched struct {
	rank int
	form []byte // nil: not here yet
}

// again reports whether the result of an item is not its first, and what is
// wrong if the two differ.
func (p *packer[T, U]) again(i int64, form []byte) (bool, *fault) {
	w := p.watched[i]
	switch {
	case w == nil:
		return false, nil
	case w.form == nil:
		w.rank, w.form = *p.from, append(make([]byte, 0, len(form)+1), form...)
		return false, nil
	}
	p.count.Add(-1)
	if bytes.Equal(w.form, form) {
		return true, nil
	}
	f := p.fault(KindDiffer, i, "copies", ErrCopiesDiffer)
	f.message = fmt.Sprintf("ranks %d and %d have different results, of %d and %d bytes", min(w.rank, *p.from), max(w.rank, *p.from), len(w.form), len(form))
	return true, f
}
