package hataori

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hataori/hataori-go/lanes"
)

// Outcome is what became of one item of [PmapSeq].
type Outcome[U any] struct {
	Value U
	Err   error // an [*ItemError] if the item failed, else nil
}

// PmapSeq is [PmapStream] for a range loop:
//
//	results, end := hataori.PmapSeq(ctx, w, ex, opts, source, f)
//	for index, r := range results {
//		// on the root: r.Value, or r.Err
//	}
//	err := end()
//
// It is collective: every rank ranges over results, once. The call is made by the
// loop. On the root the body runs for every item, on the goroutine of the caller, as
// results come or with Options.Ordered by ascending index; on the other ranks the
// loop takes part in the work and its body never runs. A slow body slows the
// source, as a slow sink does.
//
// An item that fails does not end the call, and its error comes in its place; who
// wants to stop leaves the loop. A loop that is left, by break or return, ends the
// call: items are cancelled, the loop is over when all ranks have let go of
// theirs, and nothing is left behind. A panic in the body goes on after that.
//
// end returns, after the loop, what else ended the call: nil after a loop that was
// left, else an error of [PmapStream], equal on every rank; if the body panicked
// the other ranks get [ErrSink].
//
// Options.Collect is implied, but no [*ItemErrors] is made. The transport must
// allow calls from any thread, for the root's coordinator runs beside the body.
func PmapSeq[L, T, U any](ctx context.Context, w *World, ex lanes.Executor[L], opts Options, source Source[T], f func(ctx context.Context, lane L, item T) (U, error)) (results iter.Seq2[int64, Outcome[U]], end func() error) {
	opts.Collect = true
	l := &loop[L, T, U]{ctx: ctx, w: w, ex: ex, opts: opts, source: source, f: f, err: errNotRanged}
	return l.run, func() error { return l.err }
}

var errNotRanged = errors.New("hataori: nobody ranged over the results of PmapSeq yet")

// errLoopLeft ends the call on all ranks, and is nobody's error.
var errLoopLeft = errors.New("hataori: the loop over the results was left")

// loop is one call of PmapSeq on one rank.
type loop[L, T, U any] struct {
	ctx    context.Context
	w      *World
	ex     lanes.Executor[L]
	opts   Options
	source Source[T]
	f      func(ctx context.Context, lane L, item T) (U, error)

	used     bool
	err      error
	panicked any
}

type entry[U any] struct {
	index int64
	Outcome[U]
}

func (l *loop[L, T, U]) run(yield func(int64, Outcome[U]) bool) {
	if l.used {
		panic("hataori: a second loop over the results of one PmapSeq")
	}
	l.used, l.err = true, nil
	if l.w.rank != l.opts.Root || !l.w.comm.AnyThread() { // which is refused, but by a call on this thread
		l.err = l.call(l.ctx, nil)
		return
	}
	ctx, leave := context.WithCancelCause(l.ctx)
	feed, left, done := make(chan entry[U]), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ended := false
		defer func() {
			l.panicked = recover()
			if !ended {
				l.err = l.w.unwound()
			}
		}()
		l.err = l.call(ctx, &feeder[U]{left: left, feed: feed})
		ended = true
	}()
	// Whatever ends the loop, a panic or Goexit of the body too, the call ends first.
	how := fmt.Errorf("%w: the body of the loop panicked or called Goexit", ErrSink)
	defer func() {
		leave(&loopEnd{how}) // first, for it tells the end from a failing sink
		close(left)
		<-done
		if l.panicked != nil {
			panic(l.panicked)
		}
	}()
	for {
		select {
		case e := <-feed:
			if !yield(e.index, e.Outcome) {
				how = errLoopLeft
				return
			}
		case <-done:
			return
		}
	}
}

// call is the collective call, with a feeder at the root.
func (l *loop[L, T, U]) call(ctx context.Context, feed *feeder[U]) error {
	if err := l.w.begin(l.ctx, "PmapSeq"); err != nil {
		return err
	}
	var mem failures
	s := &stream[L, T, attempt[U]]{pmap: collecting(l.ctx, l.w, l.ex, &l.opts, l.f, &mem), outer: l.ctx, kind: "PmapSeq"}
	var sink Sink[attempt[U]]
	if feed != nil {
		feed.mem, sink, s.loop = &mem, feed, ctx
	}
	_, err := within(s.call, func() (none struct{}, _ error) { return none, s.run(l.source, sink) })
	if errors.Is(err, errLoopLeft) {
		return nil
	}
	return err
}

// loopEnd is the cause of a context that ended because the loop was left.
type loopEnd struct{ err error }

func (e *loopEnd) Error() string { return e.err.Error() }

// feeder is a [Sink] that hands attempts to the loop.
type feeder[U any] struct {
	mem  *failures
	left <-chan struct{}
	feed chan<- entry[U]
}

func (s *feeder[U]) Put(ctx context.Context, index int64, v attempt[U]) error {
	e := entry[U]{index: index, Outcome: Outcome[U]{Value: v.val}}
	if v.raw != nil {
		s.mem.call.absorbed.Add(1)
		one, err := s.mem.public(s.mem.call, index, v.raw)
		if err != nil {
			return err
		}
		s.mem.forget(index)
		e.Err = one
	}
	select {
	case s.feed <- e:
		return nil
	case <-s.left:
		return errLoopLeft
	case <-ctx.Done():
		return ctx.Err()
	}
}
