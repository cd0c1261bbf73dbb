package hataori

import (
	"fmt"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
)

// cargo is the typed side of the root: items into bytes, bytes into results.
type cargo interface {
	// load appends the body of a grant of the range to msg, ending it before
	// an item that cannot be encoded, or that would exceed max bytes and is
	// not the first. It returns where it ended and, if it was a fault, which.
	load(msg []byte, r farm.Range, max int) ([]byte, int64, *fault)

	// variable reports whether encoded items have different lengths.
	variable() bool

	// unload puts the results, of which account is told first, run by run. Those
	// that cannot be decoded are returned as faults.
	unload(results []byte, account func(farm.Range) error) ([]*fault, error)
}

// rootLoop is the coordinator of the rank that holds the items.
type rootLoop struct {
	coordinator
	m      *farm.Root
	cargo  cargo
	pace   pace
	byRank [][]LaneStats
	max    int
}

// run coordinates until every other rank has said good-bye.
func (r *rootLoop) run(ctl *lanes.Control) error {
	r.ctl = ctl
	err := r.loop()
	r.release(err)
	return nil
}

func (r *rootLoop) loop() error {
	for {
		turn := r.rec.turn()
		if err := r.flush(); err != nil {
			return err
		}
		got, err := r.mail()
		if err != nil {
			return err
		}
		failed, _ := r.collect()
		for _, i := range failed {
			r.m.OnFailed(i)
		}
		if r.gaveUp() {
			r.m.OnAbort()
		}
		own := r.snapshot()
		effects := r.m.Step(own)
		for _, e := range effects {
			if err := r.do(e); err != nil {
				return err
			}
		}
		r.lower(r.m.Limit())
		if r.opts.Progress != nil {
			lanes, busy := r.m.Crew()
			r.farLanes.Store(int64(lanes))
			r.farBusy.Store(busy)
		}
		if own.Idle > 0 {
			r.feed()
		}
		if r.m.Done() && len(r.sends) == 0 {
			return nil
		}
		if got || len(failed) > 0 || len(effects) > 0 {
			r.rec.worked(turn)
			r.ladder.reset()
			continue
		}
		r.pace.update(r.progress())
		r.rest(own, r.pace.item)
	}
}

// mail takes in a report and says whether there was one. The answer goes out
// before the next is looked for.
func (r *rootLoop) mail() (got bool, err error) {
	source, h, body, ok, err := r.poll()
	if err != nil || !ok {
		return false, err
	}
	if h.Kind != wire.Report {
		return true, fmt.Errorf("message of kind %d from rank %d at the root", h.Kind, source)
	}
	return true, r.onReport(source, h, body)
}

func (r *rootLoop) onReport(source int, h wire.Header, body []byte) error {
	rep, results, stats, err := wire.ParseReport(h, body)
	if err != nil {
		return fmt.Errorf("from rank %d: %w", source, err)
	}
	faults, err := r.cargo.unload(results, func(rg farm.Range) error { return r.m.OnResults(source, rg) })
	if err != nil {
		return fmt.Errorf("from rank %d: %w", source, err)
	}
	for _, f := range faults {
		r.fail(f) // the machine hears of it with the failures of the root's own lanes
	}
	if rep.Bye {
		if r.byRank[source], err = parseLaneStats(stats, source); err != nil {
			return err
		}
	}
	return r.m.OnReport(source, rep)
}

// do carries out what the machine decided.
func (r *rootLoop) do(e farm.Effect) error {
	h := wire.Header{Epoch: r.w.epoch}
	switch e.Kind {
	case farm.Grant:
		return r.grant(e, h)
	case farm.Notify:
		h.Kind, h.First, h.Count = wire.Notice, int64(e.Notice), e.N
	case farm.Stop:
		h.Kind = wire.Stop
		if r.m.NoLanes() {
			h.Count = 1
		}
	}
	return r.send(wire.AppendHeader(r.buffer(), h), e.Rank)
}

func (r *rootLoop) grant(e farm.Effect, h wire.Header) error {
	h.Kind, h.First, h.Count = wire.Grant, e.Range.First, e.Range.Len()
	if e.Pinned {
		h.Flags |= wire.Pinned
	}
	if r.cargo.variable() {
		h.Flags |= wire.Variable
	}
	msg, end, bad := r.cargo.load(wire.AppendHeader(r.buffer(), h), e.Range, r.max)
	if end < e.Range.End {
		r.m.OnShrunk(e.Rank, e.Range, end)
		wire.SetCount(msg, end-e.Range.First)
	}
	if bad != nil {
		r.fail(bad)
		r.m.OnFailed(bad.index)
	}
	if end == e.Range.First {
		r.recycle(msg)
		return nil
	}
	return r.send(msg, e.Rank)
}

// finish fills in the statistics after the lanes have ended.
func (r *rootLoop) finish(elapsed time.Duration) {
	s, g := &r.stats, &r.m.Granted
	s.Elapsed = elapsed
	s.Batches, s.Smallest, s.Largest = int(g.Batches), int(g.Smallest), int(g.Largest)
	for k, n := range g.ByPowerOfTwo {
		if n > 0 {
			s.Sizes = append(s.Sizes, make([]int, k+1-len(s.Sizes))...)
			s.Sizes[k] = int(n)
		}
	}
	s.Moved = int(g.TakenBack)
	r.byRank[r.w.rank] = r.crew.stats()
	for _, ls := range r.byRank {
		for _, l := range ls {
			s.Items += l.Items
		}
		s.Lanes = append(s.Lanes, ls...)
	}
}
