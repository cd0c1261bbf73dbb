package hataori

import (
	"context"
	"errors"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
)

// errUnneeded is the cause of an item's context that was cancelled because an
// item of lower index failed.
var errUnneeded = errors.New("hataori: item is not needed: one of lower index failed")

// What laneState.cur holds besides an index.
const (
	noItem    = -1 // no item
	taken     = -2 // another goroutine is cancelling the lane's context
	cancelled = -3 // it has done so
)

// crew is what the lanes of one rank share during one call: the queue they
// claim from, what happened to their items, and who waits.
type crew struct {
	ctx   context.Context
	owner bool // the queue holds all indices, not only those granted to this rank
	first bool // Options.FirstSeen
	rank  int
	host  string

	q     farm.Queue
	limit atomic.Int64 // indices above it are not evaluated
	lanes []laneState

	mu      sync.Mutex // what follows; whoever adds indices holds it
	idle    []*laneState
	healthy int
	closed  bool // an empty queue will not be filled again
	sick    error

	// With copies of items a failure here is not yet one of the item: the root
	// judges, and tells at the end which index failed, −1 for none.
	defers bool
	final  int64

	fmu     sync.Mutex // what follows
	lowest  *fault
	faults  map[int64]*fault   // with defers: all, by index
	settled map[int64]struct{} // with defers: places whose results came from elsewhere
	failed  []failedItem
	dropped []farm.Range
	news    atomic.Bool // failed or dropped is not empty

	key func(s *farm.Segment, place int64) int64 // index of an item; nil: its place

	skipped atomic.Bool // the owner's: an index was given up

	stopped atomic.Int64 // when the limit became negative, by the lanes' clocks; 0: not yet

	base  time.Time // of the lanes' clocks
	help  *turns    // made by lanes, too; nil: not
	eager bool      // a rank may ask for items before a lane needs them

	lowered func(limit int64) // told of a new limit, by any goroutine; may be nil
}

// failedItem is an item that failed: what the machines call it, and its index.
type failedItem struct{ place, index int64 }

// laneState is one lane's. Lanes do not share cache lines.
type laneState struct {
	cur    atomic.Int64 // index that is evaluated, or noItem, taken, cancelled
	place  atomic.Int64 // with defers: its place, or that of an earlier one
	was    atomic.Int64 // with cancelled: the index
	ctx    context.Context
	cancel context.CancelCauseFunc
	wake   chan struct{}
	number lanes.Lane

	hold hold // claimed, but not begun

	items, busy, longest atomic.Int64 // published now and then
	retries, overdue     atomic.Int64
	failed, gaveUp       atomic.Int64
	wait, longestIndex   atomic.Int64
	bytes                atomic.Int64 // length of out.Buf
	flight               atomic.Pointer[ItemInFlight]

	outMu sync.Mutex
	out   wire.ResultWriter

	gaveWay time.Duration // when it last did

	turning bool // it makes a turn of the coordinator
	fresh   bool // it waited before the item it claims now
	clock   laneClock
	log     *laneLog // nil: nobody wants to know
	_       [64]byte
}

func newCrew(ctx context.Context, n int, owner bool, opts *Options) *crew {
	c := &crew{ctx: ctx, owner: owner, first: opts.FirstSeen, lanes: make([]laneState, n), healthy: n, base: time.Now(), eager: opts.Depth != 1, final: -1}
	c.limit.Store(math.MaxInt64)
	for i := range c.lanes {
		l := &c.lanes[i]
		l.clock.base = c.base
		l.number, l.wake = lanes.Lane(i), make(chan struct{}, 1)
		l.cur.Store(noItem)
		l.longestIndex.Store(-1)
	}
	return c
}

// begin announces that the lane evaluates the item of the index, which the machines
// know by its place, and returns false if that is not wanted. The order, announce
// then look, and the opposite one in lower make sure that one of the two sees the
// other.
func (c *crew) begin(l *laneState, place, i int64) bool {
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(c.ctx)
	}
	if c.defers {
		l.place.Store(place)
	}
	l.cur.Store(i)
	if i <= c.limit.Load() && c.ctx.Err() == nil && (!c.defers || !c.superseded(place)) {
		return true
	}
	if !l.cur.CompareAndSwap(i, noItem) {
		c.renew(l)
	}
	c.drop(place)
	return false
}

// end announces that the lane is done with the index.
func (c *crew) end(l *laneState, i int64) {
	if l.cur.CompareAndSwap(i, noItem) {
		return
	}
	c.flew(l, i)
	c.renew(l)
}

// renew gives up a context that was cancelled.
func (c *crew) renew(l *laneState) {
	for l.cur.Load() == taken {
		runtime.Gosched()
	}
	l.ctx, l.cancel = nil, nil
	l.cur.Store(noItem)
}

// lower sets the limit, if that is news, and cancels the items above it.
func (c *crew) lower(limit int64) {
	for {
		old := c.limit.Load()
		if limit >= old {
			return
		}
		if c.limit.CompareAndSwap(old, limit) {
			break
		}
	}
	if limit < 0 {
		c.stopped.Store(max(int64(time.Since(c.base)), 1))
	}
	for k := range c.lanes {
		l := &c.lanes[k]
		if i := l.cur.Load(); i > limit && i >= 0 && l.cur.CompareAndSwap(i, taken) {
			l.cancel(errUnneeded)
			l.was.Store(i)
			l.cur.Store(cancelled)
		}
	}
	if c.owner && len(c.q.Clip(max(limit, 0))) > 0 {
		c.skipped.Store(true)
	}
	if c.lowered != nil {
		c.lowered(limit)
	}
}

// fail records the failure of an item.
func (c *crew) fail(f *fault) {
	c.sign(f).class = classItem
	if c.defers {
		c.note(f)
		c.fmu.Lock()
		c.failed = append(c.failed, failedItem{f.place, f.index})
		c.news.Store(true)
		c.fmu.Unlock()
		return
	}
	c.fmu.Lock()
	if c.lowest == nil || f.index < c.lowest.index {
		c.lowest = f
	}
	c.failed = append(c.failed, failedItem{f.place, f.index})
	c.news.Store(true)
	c.fmu.Unlock()
	if c.help != nil {
		c.help.last.Store(0) // overdue
	}
	if c.first {
		c.lower(-1)
	} else {
		c.lower(f.index)
	}
}

// note remembers a failure in case it is the index's, with defers.
func (c *crew) note(f *fault) {
	c.sign(f).class = classItem
	c.fmu.Lock()
	if c.faults == nil {
		c.faults = map[int64]*fault{}
	}
	c.faults[f.index] = f
	c.fmu.Unlock()
}

// supersede cancels the item at a place, wherever it is on this rank.
func (c *crew) supersede(place int64) {
	c.fmu.Lock()
	if c.settled == nil {
		c.settled = map[int64]struct{}{}
	}
	c.settled[place] = struct{}{}
	c.fmu.Unlock()
	for k := range c.lanes {
		l := &c.lanes[k]
		if l.place.Load() != place {
			continue
		}
		if i := l.cur.Load(); i >= 0 && l.place.Load() == place && l.cur.CompareAndSwap(i, taken) {
			l.cancel(errSuperseded)
			l.was.Store(i)
			l.cur.Store(cancelled)
		}
	}
}

// superseded reports whether the item at the place has its result from elsewhere.
func (c *crew) superseded(place int64) bool {
	c.fmu.Lock()
	defer c.fmu.Unlock()
	_, is := c.settled[place]
	return is
}

// drop records that the item at a place was given up or skipped.
func (c *crew) drop(i int64) {
	if c.owner {
		c.skipped.Store(true)
		return
	}
	c.fmu.Lock()
	if n := len(c.dropped); n > 0 && c.dropped[n-1].End == i {
		c.dropped[n-1].End++
	} else {
		c.dropped = append(c.dropped, farm.Range{First: i, End: i + 1})
	}
	c.news.Store(true)
	c.fmu.Unlock()
}

// collect takes what fail and drop recorded. A drop is never seen before the
// failure that caused it.
func (c *crew) collect() (failed []failedItem, dropped []farm.Range) {
	if !c.news.Load() {
		return nil, nil
	}
	c.fmu.Lock()
	defer c.fmu.Unlock()
	failed, dropped = c.failed, c.dropped
	c.failed, c.dropped = nil, nil
	c.news.Store(false)
	return failed, dropped
}

// failure is the lowest failure recorded, or nil.
func (c *crew) failure() *fault {
	c.fmu.Lock()
	defer c.fmu.Unlock()
	if c.defers {
		return c.faults[c.final]
	}
	return c.lowest
}

// next claims an index for the lane, waiting for one if need be. It returns a
// nil segment after a wait, and ok false when there will be none.
func (c *crew) next(l *laneState) (s *farm.Segment, i int64, ok bool) {
	if s, i = l.hold.take(); s == nil {
		s, i = c.claim(l)
	}
	if s != nil {
		if c.help != nil {
			l.turning = true
			c.help.look(l.clock.last, l.clock.took, l.fresh)
			l.turning, l.fresh = false, false
			c.giveWay(l)
		}
		return s, i, true
	}
	l.pause() // before it counts as idle: the statistics of a rank go out once all its lanes are
	c.mu.Lock()
	if s, i = c.claim(l); s == nil {
		s, i = c.steal()
	}
	if s != nil || c.closed {
		c.mu.Unlock()
		return s, i, s != nil
	}
	c.idle = append(c.idle, l)
	c.mu.Unlock()
	since := l.clock.last
	l.turning = true
	woken := c.help != nil && c.help.drive(l.wake)
	l.turning = false
	if !woken {
		<-l.wake
	} else if c.snapshot().Idle > 0 {
		c.help.bell.ring() // who looks for messages now?
	}
	l.fresh = c.eager
	l.clock.start()
	l.wait.Add(int64(l.clock.last - since))
	return nil, 0, true
}

// giveWay lets other goroutines go first now and then, see there.
func (c *crew) giveWay(l *laneState) {
	if now := l.clock.last; now-l.gaveWay >= giveWay {
		l.gaveWay = now
		if c.help.every == yieldSeldom {
			runtime.Gosched()
		}
	}
}

// claim takes indices from the queue: as many at once as pass in a microsecond
// or so, because lanes that take single ones spend more time on the queue than
// on such items. It returns the first and keeps the others on hold.
func (c *crew) claim(l *laneState) (*farm.Segment, int64) {
	s, r := c.q.ClaimRun(int64(max(l.clock.group/4, 1)))
	if s != nil && r.Len() > 1 {
		l.hold.fill(s, r.First+1, r.End)
	}
	return s, r.First
}

// steal takes an index that another lane has on hold, perhaps behind an item
// that takes long.
func (c *crew) steal() (*farm.Segment, int64) {
	for k := range c.lanes {
		if s, i := c.lanes[k].hold.take(); s != nil {
			return s, i
		}
	}
	return nil, 0
}

// spill puts what the lanes have on hold back into the queue.
func (c *crew) spill() {
	for {
		s, i := c.steal()
		if s == nil {
			return
		}
		if len(c.q.Push(farm.Range{First: i, End: i + 1}, s.Pinned, s.Load)) > 0 {
			c.drop(i)
		}
	}
}

// wake lets up to n waiting lanes look at the queue. They count as busy from
// here on. The caller holds mu.
func (c *crew) wake(n int64) {
	for ; n > 0 && len(c.idle) > 0; n-- {
		k := len(c.idle) - 1
		l := c.idle[k]
		c.idle = c.idle[:k]
		l.wake <- struct{}{}
	}
}

// feed wakes lanes for what is in the queue, and says whether there were any to
// wake.
func (c *crew) feed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.idle) == 0 {
		return false
	}
	c.wake(c.q.Left())
	return true
}

// close ends the lanes once the queue is empty.
func (c *crew) close() {
	c.mu.Lock()
	c.closed = true
	c.wake(int64(len(c.idle)))
	c.mu.Unlock()
}

// complete reports whether every index was evaluated, after the lanes ended.
func (c *crew) complete() bool { return !c.skipped.Load() && c.q.Left() == 0 }

// snapshot is how the lanes fare.
func (c *crew) snapshot() farm.Local {
	c.mu.Lock()
	s := farm.Local{Open: c.q.Open(), Healthy: c.healthy, Idle: len(c.idle)}
	c.mu.Unlock() // without defer: asked in every turn
	return s
}

// retire takes the lane out, whose resource is not healthy. If it had been woken
// for an index, another lane has to be.
func (c *crew) retire(l *laneState, err error) {
	l.pause() // before the rank may be done, as in next
	c.spill()
	c.mu.Lock()
	c.healthy--
	c.wake(c.q.Left())
	if c.sick == nil {
		c.sick = sound(err)
	}
	c.mu.Unlock()
}

// lost says that no lane will ever run, or run again.
func (c *crew) lost(err error) {
	c.mu.Lock()
	c.healthy, c.idle, c.sick = 0, nil, err
	c.mu.Unlock()
}

// pending is the number of result bytes that wait to be reported.
func (c *crew) pending() (n int64) {
	for k := range c.lanes {
		n += c.lanes[k].bytes.Load()
	}
	return n
}

// progress is the number of items evaluated and the time that took, as far as
// the lanes have published it.
func (c *crew) progress() (items int64, busy time.Duration) {
	for k := range c.lanes {
		items += c.lanes[k].items.Load()
		busy += time.Duration(c.lanes[k].busy.Load())
	}
	return items, busy
}

// cancelledItems is how many items only said that their context had ended.
func (c *crew) cancelledItems() (n int64) {
	for k := range c.lanes {
		n += c.lanes[k].gaveUp.Load()
	}
	return n
}

// stats are the lanes' own.
func (c *crew) stats() []LaneStats {
	all := make([]LaneStats, len(c.lanes))
	for k := range all {
		l := &c.lanes[k]
		all[k] = LaneStats{Rank: c.rank, Lane: l.number, Items: int(l.items.Load()), Failed: int(l.failed.Load()), Cancelled: int(l.gaveUp.Load()),
			Busy: time.Duration(l.busy.Load()), Longest: time.Duration(l.longest.Load()), Retries: int(l.retries.Load()), Overdue: int(l.overdue.Load()),
			Wait: time.Duration(l.wait.Load()), LongestIndex: l.longestIndex.Load(), InFlight: l.flight.Load()}
	}
	return all
}

// hold is a run of up to 2^16 indices of one segment. The lane it belongs to
// fills it; any lane may take from it.
type hold struct {
	seg  atomic.Pointer[farm.Segment]
	base atomic.Int64
	span atomic.Uint64 // times filled · 2^32 + first · 2^16 + end, both from base on
}

// fill sets the run, which must be empty.
func (h *hold) fill(s *farm.Segment, first, end int64) {
	h.seg.Store(s)
	h.base.Store(first)
	h.span.Store((h.span.Load()>>32+1)<<32 | uint64(end-first))
}

// take takes the first index, or returns a nil segment. Whoever looked at seg
// and base of an earlier filling fails at the exchange.
func (h *hold) take() (*farm.Segment, int64) {
	for {
		x := h.span.Load()
		first, end := x>>16&0xffff, x&0xffff
		if first == end {
			return nil, 0
		}
		s, i := h.seg.Load(), h.base.Load()+int64(first)
		if h.span.CompareAndSwap(x, x+1<<16) {
			return s, i
		}
	}
}
