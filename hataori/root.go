package hataori

import (
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/lanes"
)

// rootLoop is the coordinator of the rank that holds the items.
type rootLoop struct {
	coordinator
	m    *farm.Root
	deal dealer
}

// run coordinates until every other rank has said good-bye.
func (r *rootLoop) run(ctl *lanes.Control) error {
	r.coordinate(ctl)
	return nil
}

// turn is one turn, see turns.
func (r *rootLoop) turn() (moved, done bool, err error) {
	if err := r.flush(); err != nil {
		return false, false, err
	}
	got := false
	if !r.speak {
		if got, err = r.mail(); err != nil {
			return false, false, err
		}
	}
	if !got && !r.speak && len(r.sends) == 0 && !r.q.Open() && r.resting() {
		return false, false, nil
	}
	failed, _ := r.collect()
	for _, i := range failed {
		r.m.OnFailed(i.index)
	}
	if r.gaveUp() {
		r.m.OnAbort()
	}
	r.own = r.snapshot()
	effects := r.m.Step(r.own)
	for _, e := range effects {
		if err := r.deal.do(e, r.m.NoLanes()); err != nil {
			return false, false, err
		}
	}
	r.lower(r.m.Limit())
	if r.opts.Progress != nil {
		lanes, busy := r.m.Crew()
		r.farLanes.Store(int64(lanes))
		r.farBusy.Store(busy)
	}
	if r.own.Idle > 0 {
		r.feed()
	}
	r.deal.watch()
	r.watchLanes()
	r.measure()
	r.enough.Store(r.m.Enough())
	return got || len(failed) > 0 || len(effects) > 0, r.m.Done() && len(r.sends) == 0, nil
}

// mail takes in a report and says whether there was one. The answer goes out
// before the next is looked for.
func (r *rootLoop) mail() (got bool, err error) {
	source, h, body, ok, err := r.poll()
	if err != nil || !ok {
		return false, err
	}
	return true, r.deal.onReport(source, h, body)
}

// finish fills in the statistics after the lanes have ended.
func (r *rootLoop) finish(elapsed time.Duration) {
	s := &r.stats
	s.Elapsed = elapsed
	s.granted(&r.m.Granted)
	s.ran(append(r.crew.stats(), r.deal.gone...))
}
