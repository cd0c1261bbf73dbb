package hataori

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/hataori/hataori-go/lanes"
)

// ItemInFlight is an item that a lane was evaluating when its call was cancelled.
type ItemInFlight struct {
	Index int
	Rank  int
	Lane  lanes.Lane
	Ran   time.Duration // from its begin to its return; behind items of a few µs at most that
	Late  time.Duration // how much of it after the cancellation had come to the rank
}

// inFlightFrom is how long an item must have run to be worth naming.
const inFlightFrom = 100 * time.Millisecond

// What a CancelError holds and tells of items in flight, in a world of any size.
const (
	flightsKept = 16
	flightsTold = 4
)

// flew takes in that the item of the index, which the lane was at when the call was
// cancelled, has returned. It is the lane's to call, after tick.
func (c *crew) flew(l *laneState, i int64) {
	stopped := c.stopped.Load()
	if stopped == 0 && c.ctx.Err() == nil {
		return // cancelled, but not because of the call
	}
	k := &l.clock
	now := time.Since(c.base)
	f := ItemInFlight{Index: int(i), Rank: c.rank, Lane: l.number, Ran: now - k.last}
	if k.since == 0 {
		f.Ran += k.took // the clock was read at its end
	}
	if stopped > 0 {
		f.Late = max(now-time.Duration(stopped), 0)
	}
	if f.Ran >= inFlightFrom {
		l.flight.Store(&f)
	}
}

// flights are the items that the lanes were at when the call was cancelled.
type flights struct {
	count int
	list  []ItemInFlight // those that the call waited for longest, then those that ran longest
}

// flightsOf looks for them in what the lanes did.
func flightsOf(all []LaneStats) (f flights) {
	for _, l := range all {
		if l.InFlight != nil {
			f.list = append(f.list, *l.InFlight)
		}
	}
	f.count = len(f.list)
	slices.SortFunc(f.list, func(a, b ItemInFlight) int {
		return cmp.Or(cmp.Compare(b.Late/inFlightFrom, a.Late/inFlightFrom), cmp.Compare(b.Ran, a.Ran), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Rank, b.Rank))
	})
	if f.count > flightsKept {
		f.list = slices.Clone(f.list[:flightsKept])
	}
	return f
}

// tell puts them into the error.
func (f *flights) tell(e *CancelError) { e.InFlight, e.InFlightCount = f.list, f.count }

// shareFlights puts into the error, on every rank, what the root knows. It is
// collective.
func (c *call) shareFlights(e *CancelError) error {
	var data []byte
	if c.w.rank == c.opts.Root {
		data = c.flights.marshal()
	}
	data, err := c.bcast(data, c.opts.Root)
	if err != nil {
		return err
	}
	var f flights
	if err := f.unmarshal(data); err != nil {
		return c.breakdown(fmt.Errorf("from rank %d: %w", c.opts.Root, err))
	}
	f.tell(e)
	return nil
}

func (f *flights) marshal() []byte {
	b := binary.AppendUvarint(nil, uint64(f.count))
	for _, i := range f.list {
		for _, v := range [...]int64{int64(i.Index), int64(i.Rank), int64(i.Lane), int64(i.Ran), int64(i.Late)} {
			b = binary.AppendUvarint(b, uint64(v))
		}
	}
	return b
}

func (f *flights) unmarshal(b []byte) error {
	next := func() int64 {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > math.MaxInt64 {
			b = nil
			return -1
		}
		b = b[n:]
		return int64(v)
	}
	*f = flights{count: int(next())}
	for len(b) > 0 {
		v := [...]int64{next(), next(), next(), next(), next()}
		if slices.Min(v[:]) < 0 || max(v[1], v[2]) > math.MaxInt32 {
			return errFault
		}
		f.list = append(f.list, ItemInFlight{Index: int(v[0]), Rank: int(v[1]), Lane: lanes.Lane(v[2]), Ran: time.Duration(v[3]), Late: time.Duration(v[4])})
	}
	if f.count < 0 || len(f.list) != min(f.count, flightsKept) {
		return errFault
	}
	return nil
}

// inFlightText tells the items in flight, for the text of an error.
func (e *CancelError) inFlightText() string {
	var b strings.Builder
	switch {
	case len(e.InFlight) == 0:
		return ""
	case e.InFlightCount == 1:
		b.WriteString("; an item was in flight: ")
	default:
		fmt.Fprintf(&b, "; %d items were in flight: ", e.InFlightCount)
	}
	for k, i := range e.InFlight[:min(len(e.InFlight), flightsTold)] {
		if k > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "item %d (rank %d lane %d) for %v", i.Index, i.Rank, i.Lane, tenths(i.Ran))
		if i.Late >= inFlightFrom {
			fmt.Fprintf(&b, ", the last %v after the cancellation", tenths(i.Late))
		}
	}
	if more := e.InFlightCount - flightsTold; more > 0 {
		fmt.Fprintf(&b, " and %d more", more)
	}
	return b.String()
}

func tenths(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// flying tells the items that lanes are at, which may go on meanwhile.
func (c *crew) flying() string {
	var parts []string
	more := 0
	now := time.Since(c.base)
	for k := range c.lanes {
		l := &c.lanes[k]
		i := l.cur.Load()
		if i == cancelled {
			i = l.was.Load()
		}
		switch {
		case i < 0:
		case len(parts) == overdueLanes:
			more++
		default:
			parts = append(parts, fmt.Sprintf("item %d on lane %d for %v", i, l.number, tenths(now-time.Duration(l.clock.seen.Load()))))
		}
	}
	if more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, ", ")
}

// What flying names at most.
const overdueLanes = 8

const stillThere = "the call was cancelled, but lanes of this rank have not let go of their items"

// watchLanes says, some time after the call was cancelled, at which items lanes
// still are.
func (c *coordinator) watchLanes() {
	if c.stuck.due(c.call, c.limit.Load()) {
		if s := c.flying(); s != "" {
			c.log(slog.LevelWarn, stillThere, "items", s)
		}
	}
}

// runAttended runs the lanes where there is no coordinator.
func (j *job[L, T, U]) runAttended() error {
	defer j.attend()()
	return runLanes(j.ex, j.crew, j.body, nil)
}

// attend cancels the lanes' items when the context of the rank ends, and says some
// time later at which items lanes still are. The function that it returns ends that,
// and waits for it.
func (j *job[L, T, U]) attend() (leave func()) {
	left, ended := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(j.ctx, func() {
		defer close(ended)
		j.lower(-1)
		if j.tell == nil {
			return
		}
		late := time.NewTimer(overdueAfter)
		defer late.Stop()
		select {
		case <-left:
		case <-late.C:
			if s := j.flying(); s != "" {
				j.tell(slog.LevelWarn, stillThere, []any{"items", s, "rank", j.rank})
			}
		}
	})
	return func() {
		close(left)
		if !stop() {
			<-ended
		}
	}
}
