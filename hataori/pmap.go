package hataori

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"runtime"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/transport"
)

// Pmap is [PmapLanes] with plain lanes: Options.Lanes of them on this rank.
func Pmap[T, U any](ctx context.Context, w *World, opts Options, items []T, f func(ctx context.Context, item T) (U, error)) ([]U, error) {
	n := opts.Lanes
	if n == 0 {
		n = max(runtime.GOMAXPROCS(0)-1, 1)
	}
	var ex lanes.Executor[lanes.Lane]
	if n > 0 && n <= maxLanes { // else refused
		ex = lanes.New(n)
	}
	var g func(context.Context, lanes.Lane, T) (U, error)
	if f != nil {
		g = func(ctx context.Context, _ lanes.Lane, item T) (U, error) { return f(ctx, item) }
	}
	return PmapLanes(ctx, w, ex, opts, items, g)
}

// PmapLanes returns f(items[0]), f(items[1]), …, evaluated by the lanes of all
// ranks of the world. It is collective: every rank calls it with the same
// options. Only the root passes items, and only the root gets results, in the
// order of the items; the others pass nil and get nil. A nil executor is a rank
// that only coordinates.
//
// The error is equal on every rank: of the lowest precedence number in
//
//  1. [*BrokenError]: the transport or the protocol failed, the world is broken
//  2. [*PreflightError]: the call was refused before any item ran
//  3. [*CancelError]: a context ended on some rank
//  4. [*RankError]: a rank's lanes could not run, or no healthy lane was left
//  5. [*ItemError]: items failed; that of the lowest index. With
//     Options.Collect: [*ItemErrors], beside the results of the others
//
// But for the first the world can be used again at once. ErrWorldBusy, ErrNested
// and ErrClosed are this rank's own and returned at once.
//
// f gets a context that is valid until it returns, derived from this rank's ctx
// and cancelled when the item is not needed any more. It must not keep the
// item's memory if the codec is the caller's and aliases it. A panic or Goexit
// in f fails the item.
func PmapLanes[L, T, U any](ctx context.Context, w *World, ex lanes.Executor[L], opts Options, items []T, f func(ctx context.Context, lane L, item T) (U, error)) ([]U, error) {
	if opts.Collect {
		return collect(ctx, w, ex, opts, items, f)
	}
	if err := w.begin(ctx, "PmapLanes"); err != nil {
		return nil, err
	}
	p := &pmap[L, T, U]{call: newCall(w, &opts), ctx: ctx, ex: ex, f: f}
	if isNil(ex) {
		p.ex = nil
	}
	return within(p.call, func() ([]U, error) { return p.evaluate(items) })
}

// evaluate makes the call.
func (p *pmap[L, T, U]) evaluate(items []T) ([]U, error) {
	ag, err := p.preflight(p.terms(items))
	if err != nil {
		p.log(slog.LevelWarn, "refused", "err", err)
		return nil, err
	}
	if err := p.startRecorder("PmapLanes"); err != nil {
		return nil, err
	}
	var results []U
	if p.w.rank == p.opts.Root {
		results = make([]U, len(items))
	}
	own, item, err := p.work(ag, items, sliceSink[U](results))
	if err == nil {
		err = p.settle(own, item)
	}
	err = p.rec.finish(err)
	if err != nil {
		p.log(slog.LevelWarn, "ended early", "err", err)
		return nil, err
	}
	return results, nil
}

// isNil also finds the typed nil that an unset variable of a concrete executor
// type becomes.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}

// pmap is one call of PmapLanes on one rank.
type pmap[L, T, U any] struct {
	*call
	ctx context.Context
	ex  lanes.Executor[L]
	f   func(ctx context.Context, lane L, item T) (U, error)
	in  *typed[T]
	out *typed[U]

	lanes int   // of this rank
	order order // at the root
	ends  bool  // a source and a sink run beside the lanes

	// Of calls whose results are not what f gives, else nil.
	types  string
	codecs func() (*typed[T], error, *typed[U], error)
	absorb func(f *fault) U
}

// terms checks what this rank brings and says it to the preflight.
func (p *pmap[L, T, U]) terms(items []T) terms {
	o, w := p.opts, p.w
	t := terms{kind: "PmapLanes", cancelled: p.ctx.Err() != nil, items: -1}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultMaxBytes
	}
	if w.rank == o.Root {
		t.items = int64(len(items))
	}
	var ready, inErr, outErr error
	if p.ex != nil {
		t.lanes, ready = readiness(p.ex)
		p.lanes = t.lanes
	}
	types := typeName[T]() + " → " + typeName[U]()
	if p.codecs != nil {
		types = p.types
		p.in, inErr, p.out, outErr = p.codecs()
	} else {
		p.in, inErr = codecFor[T](o)
		p.out, outErr = codecFor[U](o)
	}
	bad := o.check()
	if bad == nil && w.rank == o.Root && o.Cost != nil {
		p.order, bad = costOrder(o.Cost, len(items))
	}
	switch {
	case bad != nil:
		t.objection = p.object(ErrOptions, bad, "%v", bad)
	case o.Root < 0 || o.Root >= w.size:
		t.objection = p.object(ErrRootRange, nil, "Options.Root is %d, the world has ranks 0 to %d", o.Root, w.size-1)
	case w.rank != o.Root && len(items) > 0:
		t.objection = p.object(ErrItemsOffRoot, nil, "%d items passed, pass nil on all ranks but the root, %d", len(items), o.Root)
	case t.items > MaxItems:
		t.objection = p.object(ErrOptions, nil, "%d items, at most %d are possible", t.items, int64(MaxItems))
	case p.f == nil:
		t.objection = p.object(ErrNilFunc, nil, "pass the function on every rank")
	case ready != nil:
		t.objection = p.object(ErrNotReady, ready, "%v", ready)
	case inErr != nil:
		t.objection = p.object(ErrType, inErr, "items: %v", inErr)
	case outErr != nil:
		t.objection = p.object(ErrType, outErr, "results: %v", outErr)
	}
	codec := ""
	if p.in != nil && p.out != nil {
		codec = p.in.Name + " → " + p.out.Name
	}
	t.fields = []field{
		{"types", types},
		{"codec", codec},
		{"Options.Root", fmt.Sprint(o.Root)},
		{"Options.Batch", fmt.Sprint(o.Batch)},
		{"options", fmt.Sprintf("Group %d, Copies %d, Depth %d, Collect %v, FirstSeen %v, RoundTrip %v, MaxBytes %d, Retries %d, ItemTimeout %v, Trace %v, ErrorCodec %T",
			o.Group, o.Copies, o.Depth, o.Collect, o.FirstSeen, o.RoundTrip, o.MaxBytes, o.Retries, o.ItemTimeout, o.Trace != nil, o.ErrorCodec)},
	}
	return t
}

func typeName[T any]() string {
	t := reflect.TypeFor[T]()
	if t.PkgPath() != "" {
		return t.PkgPath() + "." + t.Name()
	}
	return t.String()
}

// work does what the preflight agreed on and returns what ended it early: own
// if it was this rank, and the lowest failure that it knows of.
func (p *pmap[L, T, U]) work(ag agreed, items []T, dst sink[U]) (own, item *fault, err error) {
	root := p.w.rank == p.opts.Root
	start := time.Now()
	switch {
	case ag.cancelled: // what all ranks know; a context that ended since does not count here
		if p.ctx.Err() != nil {
			own = p.fault(cancelFault(p.ctx))
		}
	case ag.items == 0:
	case ag.lanes == 0:
		if root {
			own = p.object(ErrNoLanes, nil, "%d items, and the executor is nil on all ranks", ag.items)
		}
	case p.w.size == 1:
		return p.alone(ag, items, dst)
	case root && p.opts.Copies > 0:
		return p.coordinateCopies(ag, items, dst, start)
	case root:
		return p.lead(ag, items, dst, start)
	default:
		return p.serve(ag, start)
	}
	if p.opts.Stats != nil {
		*p.opts.Stats = Stats{Elapsed: time.Since(start)}
	}
	return own, nil, nil
}

func (p *pmap[L, T, U]) newJob(owner bool, ag agreed) *job[L, T, U] {
	ctx := context.WithValue(p.ctx, inItem{}, true)
	j := &job[L, T, U]{crew: newCrew(ctx, p.lanes, owner, p.opts), opts: p.opts, absorb: p.absorb, tell: p.tell, ex: p.ex, f: p.f, in: p.in, out: p.out, rt: p.opts.RoundTrip && p.w.size == 1}
	j.rank, j.host = p.w.rank, p.w.host
	p.rec.follow(j.crew, ag.lanes*p.w.size)
	return j
}

// attach gives the job its items and the place of its results.
func (p *pmap[L, T, U]) attach(j *job[L, T, U], items []T, dst sink[U]) {
	j.src, j.dst = p.places(items, dst)
	if p.order != nil {
		p.order.lay(&j.q)
		j.key = func(_ *farm.Segment, place int64) int64 { return p.order[place] }
	}
}

// places are the items and the place of their results in the order of the call.
func (p *pmap[L, T, U]) places(items []T, dst sink[U]) (source[T], sink[U]) {
	if p.order == nil {
		return sliceSource[T](items), dst
	}
	return &orderedSource[T]{items, p.order}, &orderedSink[U]{dst, p.order}
}

// alone evaluates all items on a world of one.
func (p *pmap[L, T, U]) alone(ag agreed, items []T, dst sink[U]) (own, item *fault, err error) {
	j := p.newJob(true, ag)
	p.attach(j, items, dst)
	start := time.Now()
	p.onBlame = func() { j.lower(-1) }
	m := p.startMeter(j.crew, int64(len(items)))
	end, err := j.runLocal(int64(len(items)))
	m.stop()
	if err != nil {
		own = p.noExecutor(err)
	} else if end != nil && end.class != classItem {
		own = end
	}
	p.localStats(j, start)
	return own, j.failure(), nil
}

func (p *pmap[L, T, U]) localStats(j *job[L, T, U], start time.Time) {
	s := Stats{Elapsed: time.Since(start)}
	s.ran(j.stats())
	p.flights = flightsOf(s.Lanes)
	if p.opts.Stats != nil {
		*p.opts.Stats = s
	}
}

func (p *pmap[L, T, U]) newCoordinator(j *job[L, T, U], start time.Time) coordinator {
	t := &turns{left: j.q.Left, base: j.base, rec: p.rec, most: p.w.hot, yielder: yielder{every: yieldOften}}
	t.enough.Store(math.MaxInt64)
	switch {
	case p.w.pause != nil:
		t.bell = muffled(p.w.pause)
	case p.ends || p.ctx.Value(inItem{}) != nil || !ownProcess(p.w.comm) || max(len(j.crew.lanes), 1) >= runtime.GOMAXPROCS(0):
		t.bell = newChime() // others need the processor
	default:
		t.bell, t.every = newGong(), yieldSeldom
	}
	c := coordinator{call: p.call, crew: j.crew, turns: t, start: start}
	if c.shared = p.w.comm.AnyThread(); c.shared {
		j.crew.help = t
		p.ladder.pause = func(d time.Duration) { t.bell.wait(d) }
	}
	p.ladder.every = t.every
	p.ladder.reset()
	return c
}

func ownProcess(t Transport) bool {
	o, ok := t.(transport.OwnProcess)
	return ok && o.OwnProcess()
}

// lead is the part of the root.
func (p *pmap[L, T, U]) lead(ag agreed, items []T, dst sink[U], start time.Time) (own, item *fault, err error) {
	j := p.newJob(true, ag)
	p.attach(j, items, dst)
	j.q.Push(farm.Range{End: ag.items}, false, nil)
	return p.coordinate(j, ag, start)
}

// coordinate runs the root's loop over the queue of the job.
func (p *pmap[L, T, U]) coordinate(j *job[L, T, U], ag agreed, start time.Time) (own, item *fault, err error) {
	t, err := p.arrange()
	if err != nil {
		return nil, nil, err
	}
	r := &rootLoop{coordinator: p.newCoordinator(j, start)}
	cargo := &packer[T, U]{src: j.src, dst: j.dst, in: p.in, out: p.out, order: p.order, count: &p.remote}
	peers := t.peers(p.w.rank, p.w.size)
	r.m = farm.NewRoot(&j.q, p.machine(ag, peers))
	r.deal = dealer{c: &r.coordinator, m: r.m, cargo: cargo, tree: &t, peers: peers, max: p.opts.MaxBytes, dry: make(dry, len(peers))}
	r.one, r.hauls, r.soon = r.turn, r.hauling, r.deal.soon
	m := p.startMeter(j.crew, ag.items)
	p.drive(j, &r.coordinator, r.run)
	m.stop()
	if r.err != nil {
		return nil, nil, r.err
	}
	if r.m.NoLanes() && r.ended == nil {
		r.ended = p.leftOver(j.crew)
	}
	r.finish(time.Since(start))
	p.flights = flightsOf(r.coordinator.stats.Lanes)
	p.rec.note(r.coordinator.stats)
	if p.opts.Stats != nil {
		*p.opts.Stats = r.coordinator.stats
	}
	return r.ended, j.failure(), nil
}

// machine are the options of a machine that grants to the peers.
func (p *pmap[L, T, U]) machine(ag agreed, peers []int) farm.Options {
	return farm.Options{Me: 0, Size: len(peers), Batch: int64(p.opts.Batch), Lanes: ag.lanes, FirstSeen: p.opts.FirstSeen}
}

// leftOver is the end of a call in which no healthy lane was left. The ranks
// that know a cause go before those that do not.
func (p *pmap[L, T, U]) leftOver(c *crew) *fault {
	f := p.fault(noHealthyLane(c.sick))
	if c.sick == nil {
		f.index = 1
	}
	return f
}

// serve is the part of the other ranks.
func (p *pmap[L, T, U]) serve(ag agreed, start time.Time) (own, item *fault, err error) {
	t, err := p.arrange()
	if err != nil {
		return nil, nil, err
	}
	j := p.newJob(false, ag)
	up := upward{coordinator: p.newCoordinator(j, start), size: p.in.Size, spare: make([][]byte, len(j.lanes))}
	up.parent, up.ranks = t.parent(p.w.rank, p.w.size)
	var u *upward
	if peers := t.peers(p.w.rank, p.w.size); len(peers) > 1 {
		l := &relayLoop{upward: up, cargo: &transit{in: p.in.Size, out: p.out.Size}}
		l.m = farm.NewRelay(&j.q, p.machine(ag, peers))
		l.deal = dealer{c: &l.coordinator, m: l.m, cargo: l.cargo, tree: &t, peers: peers, max: p.opts.MaxBytes, dry: make(dry, len(peers))}
		l.one, l.hauls, l.soon = l.turn, l.hauling, l.deal.soon
		j.shelf = &l.cargo.shelf
		j.key = func(_ *farm.Segment, i int64) int64 { return l.cargo.key(i) }
		u = &l.upward
		p.drive(j, &l.coordinator, l.run)
	} else {
		l := &workerLoop{upward: up, m: farm.NewWorker(&j.q, int64(p.opts.Batch), p.opts.Depth)}
		j.key = func(s *farm.Segment, i int64) int64 { return s.Load.(*wire.Items).Key(i) }
		if p.opts.Copies > 0 {
			j.defers = true
			l.m.Defer()
		}
		u = &l.upward
		l.one, l.hauls = l.turn, l.hauling
		p.drive(j, &l.coordinator, l.run)
	}
	if u.err != nil {
		return nil, nil, u.err
	}
	if u.noLanes && u.ended == nil && j.sick != nil {
		u.ended = p.leftOver(j.crew)
	}
	p.rec.note(u.coordinator.stats)
	if s := p.opts.Stats; s != nil {
		*s = u.coordinator.stats
		s.Elapsed = time.Since(start)
		s.ran(j.stats())
	}
	return u.ended, j.failure(), nil
}

// drive runs the loop beside the lanes, or alone if there are none or if they
// cannot run: the other ranks wait for this one in any case.
func (p *pmap[L, T, U]) drive(j *job[L, T, U], c *coordinator, loop lanes.Coordinator) {
	if p.ex == nil {
		_ = loop(nil) // returns nil; what ended it is in the coordinator
		return
	}
	ran := false
	err := runLanes(p.ex, j.crew, j.body, func(ctl *lanes.Control) error {
		ran = true
		return loop(ctl)
	})
	switch {
	case !ran:
		c.startErr = err
		_ = loop(nil)
	case err != nil && c.ended == nil && c.err == nil:
		c.noExecutor(err)
	}
}
