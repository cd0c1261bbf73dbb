package hataori

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/lanes"
)

// Source gives the items of [PmapStream], one after the other.
type Source[T any] interface {
	// Next returns the next item, or io.EOF itself after the last one; any
	// other error ends the stream too. It is called by one goroutine of the
	// call's own. It may block, but should return when ctx ends, for the call
	// cannot return before it does.
	Next(ctx context.Context) (T, error)
}

// Sink takes the results of [PmapStream].
//
// A sink that also has the method
//
//	Has(index int64) bool
//
// says which results it has already: those items are read from the source and not
// evaluated. It may be called while Put is.
type Sink[U any] interface {
	// Put takes the result of an item. It is called by one goroutine of the
	// call's own, at most once for an index. An error ends the call. ctx
	// outlives that of the call by half a second, so that what was computed
	// before a cancellation can still be kept.
	Put(ctx context.Context, index int64, value U) error
}

// SourceFunc is a function as a [Source].
type SourceFunc[T any] func(ctx context.Context) (T, error)

// Next calls f.
func (f SourceFunc[T]) Next(ctx context.Context) (T, error) { return f(ctx) }

// SinkFunc is a function as a [Sink].
type SinkFunc[U any] func(ctx context.Context, index int64, value U) error

// Put calls f.
func (f SinkFunc[U]) Put(ctx context.Context, index int64, value U) error {
	return f(ctx, index, value)
}

// FromSeq is a sequence as a [Source], for one call. A sequence that blocks
// keeps the call from returning, for it does not see the context.
func FromSeq[T any](seq iter.Seq[T]) Source[T] {
	return FromSeq2(func(yield func(T, error) bool) {
		for v := range seq {
			if !yield(v, nil) {
				return
			}
		}
	})
}

// FromSeq2 is a sequence of items and errors as a [Source], for one call. The
// first error that is not nil ends the stream.
func FromSeq2[T any](seq iter.Seq2[T, error]) Source[T] { return &seqSource[T]{seq: seq} }

type seqSource[T any] struct {
	seq  iter.Seq2[T, error]
	next func() (T, error, bool)
	end  func()
}

func (s *seqSource[T]) Next(context.Context) (T, error) {
	if s.next == nil {
		s.next, s.end = iter.Pull2(s.seq)
	}
	v, err, ok := s.next()
	if !ok {
		return v, io.EOF
	}
	return v, err
}

// stop lets the sequence clean up. The reader calls it after its last Next.
func (s *seqSource[T]) stop() {
	if s.end != nil {
		s.end()
	}
}

// defaultWindow is the window per lane of the world, within bounds.
const (
	windowPerLane = 256
	leastWindow   = 1 << 10
	mostWindow    = 1 << 16
)

// PmapStream evaluates f for every item that the source gives, on the lanes of
// all ranks, and hands the results to the sink. It is [PmapLanes] for inputs and
// outputs that are not to be held in memory, or that have no end. Only the root
// passes a source and a sink; the others pass nil.
//
// The item that the source gives as the n-th, from 0 on, has index n. The source
// is read ahead by Options.Window items that are not yet in the sink, and no
// further: a slow sink slows the source. The root holds that many items and
// results, and nothing that grows with the length of the stream. Results go to
// the sink as they come, or with Options.Ordered by ascending index; one item that
// takes long then holds up those behind it, and in time the source.
//
// Source and sink run on a goroutine each, which end before PmapStream returns.
//
// Errors are those of [PmapLanes], and behind all others a [*RankError] that is
// [ErrSource] or [ErrSink], with the original at hand by Local on the root.
//
//   - The source fails: the items before are evaluated and handed to the sink.
//   - The sink fails: the call ends, items are cancelled.
//   - An item fails: the source is not read any further. All items of lower
//     index are evaluated and handed to the sink. With Options.Collect the stream
//     goes on without the item's result; at its end every rank gets an
//     [*ItemErrors], for which the root holds the errors until then.
//   - A context ends: what was computed until then is handed to the sink, of an
//     ordered one those results before which none is missing.
func PmapStream[L, T, U any](ctx context.Context, w *World, ex lanes.Executor[L], opts Options, source Source[T], sink Sink[U], f func(ctx context.Context, lane L, item T) (U, error)) error {
	if opts.Collect {
		return collectStream(ctx, w, ex, opts, source, sink, f)
	}
	if err := w.begin(ctx, "PmapStream"); err != nil {
		return err
	}
	s := &stream[L, T, U]{pmap: &pmap[L, T, U]{call: newCall(w, &opts), ctx: ctx, ex: ex, f: f}, outer: ctx, kind: "PmapStream"}
	if isNil(ex) {
		s.ex = nil
	}
	_, err := within(s.call, func() (none struct{}, _ error) { return none, s.run(source, sink) })
	return err
}

// stream is one call of PmapStream on one rank.
type stream[L, T, U any] struct {
	*pmap[L, T, U]
	outer context.Context // the caller's; pmap.ctx also ends when the sink fails
	kind  string
	loop  context.Context // of PmapSeq, at the root: outer, but ends with a *loopEnd when the loop is left
}

// run makes the call.
func (s *stream[L, T, U]) run(source Source[T], sink Sink[U]) error {
	s.ends = source != nil
	ag, err := s.preflight(s.streamTerms(source, sink))
	if err != nil {
		s.log(slog.LevelWarn, "refused", "err", err)
		return err
	}
	if err := s.startRecorder("PmapStream"); err != nil {
		return err
	}
	own, item, err := s.flow(ag, source, sink)
	if err == nil {
		err = s.settle(own, item)
	}
	err = s.rec.finish(err)
	if err != nil {
		s.log(slog.LevelWarn, "ended early", "err", err)
	}
	return err
}

func (s *stream[L, T, U]) streamTerms(source Source[T], sink Sink[U]) terms {
	t := s.terms(nil)
	t.kind, t.items = s.kind, -1
	if t.objection != nil {
		return t
	}
	if s.kind == "PmapSeq" && !s.w.comm.AnyThread() {
		t.objection = s.object(errors.ErrUnsupported, nil, "PmapSeq needs a transport that any thread may call (MPI_THREAD_SERIALIZED); use PmapStream")
		return t
	}
	if s.opts.Cost != nil {
		t.objection = s.object(ErrOptions, nil, "option Cost is for PmapLanes and Pmap: a stream is read in its own order")
		return t
	}
	if s.opts.Copies > 0 {
		t.objection = s.object(ErrOptions, nil, "option Copies is for PmapLanes and Pmap: the items of a stream are not kept")
		return t
	}
	root := s.w.rank == s.opts.Root
	for _, end := range []struct {
		name  string
		isNil bool
	}{{"source", isNil(source)}, {"sink", isNil(sink)}} {
		switch {
		case root && end.isNil:
			t.objection = s.object(ErrNilFunc, nil, "the %s is nil on the root, %d", end.name, s.opts.Root)
			return t
		case !root && !end.isNil:
			t.objection = s.object(ErrItemsOffRoot, nil, "a %s passed, pass nil on all ranks but the root, %d", end.name, s.opts.Root)
			return t
		}
	}
	return t
}

// flow does what the preflight agreed on, see work.
func (s *stream[L, T, U]) flow(ag agreed, source Source[T], sink Sink[U]) (own, item *fault, err error) {
	root := s.w.rank == s.opts.Root
	start := time.Now()
	switch {
	case ag.cancelled:
		if s.outer.Err() != nil {
			own = s.fault(cancelFault(s.outer))
		}
	case ag.lanes == 0:
		if root {
			own = s.object(ErrNoLanes, nil, "the executor is nil on all ranks")
		}
	case root:
		return s.root(ag, source, sink, start)
	default:
		return s.serve(ag, start)
	}
	if s.opts.Stats != nil {
		*s.opts.Stats = Stats{Elapsed: time.Since(start)}
	}
	return own, nil, nil
}

// root is the part of the root: the belt moves items and results, the lanes and
// the coordinator do as they do for a slice.
func (s *stream[L, T, U]) root(ag agreed, source Source[T], sink Sink[U], start time.Time) (own, item *fault, err error) {
	var cancel context.CancelCauseFunc
	base := s.outer
	if s.loop != nil {
		base = s.loop
	}
	s.ctx, cancel = context.WithCancelCause(base)
	defer cancel(nil)
	j := s.newJob(true, ag)
	b := newBelt(s.call, j.crew, source, sink, cancel)
	if b.window = s.opts.Window; b.window == 0 {
		b.window = min(max(windowPerLane*ag.lanes*s.w.size, leastWindow), mostWindow)
	}
	b.local = s.w.size == 1
	j.src, j.dst = b, b
	j.lowered = b.onLimit
	b.start(s.outer)
	ended := false
	defer func() {
		if !ended { // unwound by a panic or Goexit
			b.finish()
		}
	}()
	if b.local {
		own, err = s.local(j)
		s.localStats(j, start)
	} else {
		own, item, err = s.coordinate(j, ag, start)
	}
	b.finish()
	ended = true
	s.rec.stalled(b.stalls, b.stalled)
	if st := s.opts.Stats; st != nil {
		st.Skipped, st.Stalls, st.Stalled, st.Gaps = b.skipped, b.stalls, b.stalled, b.gaps
	}
	if err != nil {
		return nil, nil, err
	}
	var left *loopEnd
	switch {
	case own == nil && s.loop != nil && errors.As(context.Cause(s.loop), &left), own != nil && own.class == classCancel && errors.As(own.err, &left):
		own = s.fault(&fault{class: classEnds, err: left.err, message: text(left.err)})
	case own != nil && own.class == classCancel && s.outer.Err() == nil, own == nil:
		own = b.fault()
	case own.class == classCancel:
		own = s.fault(cancelFault(s.outer))
	}
	return own, j.failure(), nil
}

// local evaluates on the lanes of this process what the belt brings.
func (s *stream[L, T, U]) local(j *job[L, T, U]) (own *fault, err error) {
	s.onBlame = func() { j.lower(-1) }
	m := s.startMeter(j.crew, -1)
	ran := j.runAttended()
	m.stop()
	b := j.src.(interface{ whole() bool })
	switch {
	case ran != nil:
		j.lower(-1)
		return s.noExecutor(ran), nil
	case j.ctx.Err() != nil && !b.whole():
		return s.fault(cancelFault(j.ctx)), nil
	case j.failure() != nil && j.q.Left() == 0:
		return nil, nil
	case j.sick != nil && !b.whole():
		j.lower(-1)
		return s.leftOver(j.crew), nil
	}
	return nil, nil
}

func (c *call) noExecutor(err error) *fault {
	return c.fault(&fault{class: classRank, err: err, message: "the executor could not run its lanes: " + text(err)})
}

// streamEnd is the fault of a source or sink.
func (c *call) streamEnd(kind error, what string, index int64, err error) *fault {
	err = sound(err)
	return c.fault(&fault{class: classEnds, err: fmt.Errorf("%w: %w", kind, err), message: fmt.Sprintf("%s, item %d: %v", what, index, err), stack: stackOf(err)})
}

// errSinkFailed is the cause with which the work ends when the sink fails.
var errSinkFailed = errors.New("hataori: the sink failed")

// push brings an index that a source gave to the lanes and says whether it is
// wanted.
func (c *crew) push(i int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.q.Push(farm.Range{First: i, End: i + 1}, false, nil)) > 0 {
		return false
	}
	c.wake(1)
	return true
}
