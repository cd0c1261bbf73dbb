package hataori

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/hataori/hataori-go/hataori/internal/farm"
	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
)

// source is where the root's items are while they are wanted.
type source[T any] interface {
	// item returns a pointer to the item, valid until its result is put.
	item(i int64) *T
}

// sink is where the results go.
type sink[U any] interface {
	// put takes the result. It may be called concurrently for different
	// indices.
	put(i int64, v *U)
}

type sliceSource[T any] []T

func (s sliceSource[T]) item(i int64) *T { return &s[i] }

type sliceSink[U any] []U

func (s sliceSink[U]) put(i int64, v *U) { s[i] = *v }

// job is the typed side of a call on one rank: it turns indices into items,
// items into results, and both into bytes where they cross ranks.
type job[L, T, U any] struct {
	*crew
	ex   lanes.Executor[L]
	f    func(ctx context.Context, lane L, item T) (U, error)
	src  source[T] // nil where items come encoded
	dst  sink[U]   // nil where results leave encoded
	in   *typed[T] // nil in local calls
	out  *typed[U] // nil in local calls
	opts *Options

	shelf *shelf // where a relay's items are, else nil: with their indices

	tell func(level slog.Level, msg string, args []any) // the caller's logger; nil in local calls

	// absorb makes a result of the failure of an item; nil: items may fail.
	absorb func(f *fault) U

	rt bool // encode and decode although nothing crosses
}

// lane is one lane's life in the call.
type lane[L, T, U any] struct {
	*job[L, T, U]
	st    *laneState
	res   L
	item  *T // decoded into
	val   *U // result
	buf   []byte
	index int64 // of the item being evaluated
	place int64 // and what the machines call it
	phase Kind  // what would have failed
	inOut bool  // outMu is held

	asking bool // the executor is asked whether the lane is healthy
}

// body serves the lane until there is nothing left for it to do.
func (j *job[L, T, U]) body(_ *lanes.Control, number lanes.Lane, res L) error {
	l := &lane[L, T, U]{job: j, st: &j.lanes[number], res: res, item: new(T), val: new(U)}
	if j.out != nil {
		l.st.out.Size = j.out.Size
	}
	defer func() {
		l.st.pause()
		if l.st.cancel != nil {
			l.st.cancel(nil)
		}
	}()
	l.st.clock.start()
	l.serve()
	return nil
}

// serve evaluates items. A Goexit in one unwinds this goroutine, and nothing can
// stop that; the items that are left are served from the deferred function,
// still on the lane's own goroutine and thread.
func (l *lane[L, T, U]) serve() {
	returned := false
	defer func() {
		switch r := recover(); {
		case returned:
		case r != nil && !l.asking:
			panic(r)
		case r != nil:
			l.retire(l.st, fmt.Errorf("Healthy(%d) panicked: %v", l.st.number, r))
		case l.asking:
			l.retire(l.st, fmt.Errorf("Healthy(%d): %w", l.st.number, ErrGoexit))
		case l.st.turning: // the call ends with errTurn
		default:
			f := &fault{kind: KindGoexit, err: ErrGoexit, message: ErrGoexit.Error()}
			if l.phase != KindError {
				f.kind, f.message = l.phase, text(inCodec(ErrGoexit))
			}
			l.failed(f)
			l.serve()
		}
	}()
	for {
		l.asking = true
		err := l.ex.Healthy(l.st.number)
		l.asking = false
		if err != nil {
			l.retire(l.st, err)
			break
		}
		seg, i, ok := l.next(l.st)
		if !ok {
			break
		}
		if seg == nil {
			continue
		}
		l.place, l.index = i, i
		if l.key != nil {
			l.index = l.key(seg, i)
		}
		if l.begin(l.st, l.place, l.index) {
			l.one(seg)
		}
	}
	returned = true
}

// one evaluates the item that was begun.
func (l *lane[L, T, U]) one(seg *farm.Segment) {
	if err := l.evaluate(seg, l.place); err != nil {
		l.failed(err)
		return
	}
	l.st.tick()
	l.end(l.st, l.index)
}

// failed ends an item that did not come to a result: it failed, unless it only
// says that its context was cancelled.
func (l *lane[L, T, U]) failed(f *fault) {
	ctx := l.st.ctx
	f.err = sound(f.err)
	gaveUp := f.kind == KindError && ctx.Err() != nil &&
		(errors.Is(f.err, context.Canceled) || errors.Is(f.err, ctx.Err()) || errors.Is(f.err, context.Cause(ctx)))
	if gaveUp {
		l.st.gaveUp.Add(1)
	} else {
		l.st.failed.Add(1)
		l.st.log.fail(l.index)
	}
	l.st.tick()
	if l.inOut {
		l.inOut = false
		l.st.out.Undo()
		l.st.outMu.Unlock()
	}
	f.index, f.place, f.lane = l.index, l.place, l.st.number
	switch {
	case gaveUp:
		l.flew(l.st, l.index)
		l.drop(l.place)
	case l.absorb != nil:
		l.settleFor(f)
	default:
		l.fail(f)
	}
	l.end(l.st, l.index)
}

// settleFor puts out a failure in the place of the result.
func (l *lane[L, T, U]) settleFor(f *fault) {
	l.sign(f).class = classItem
	*l.val = l.absorb(f)
	if l.dst != nil {
		l.dst.put(l.place, l.val)
	} else if err := l.send(l.place, l.val); err != nil {
		l.fail(&fault{index: l.index, place: l.place, lane: l.st.number, kind: KindEncode, err: err, message: "error: " + text(err)})
	}
}

// evaluate brings one item through decoding, the function and encoding.
func (l *lane[L, T, U]) evaluate(seg *farm.Segment, i int64) (failure *fault) {
	done := false
	defer func() {
		if done {
			return
		}
		if r := recover(); r != nil {
			failure = panicked(r, l.phase)
		}
	}()
	item := l.item
	switch {
	case l.src != nil && !l.rt:
		item = l.src.item(i)
	default:
		l.phase = KindDecode
		*item = *new(T)
		if err := l.receive(seg, i); err != nil {
			done = true
			return &fault{kind: l.phase, err: err, message: "item: " + text(err)}
		}
	}
	l.phase = KindError
	err := l.call(*item)
	if err != nil {
		done = true
		return &fault{kind: KindError, err: err, message: err.Error()}
	}
	switch {
	case l.dst == nil:
		err = l.send(i, l.val)
	case l.rt:
		err = l.roundTrip(i)
	default:
		l.dst.put(i, l.val)
	}
	done = true
	if err != nil {
		return &fault{kind: l.phase, err: err, message: "result: " + text(err)}
	}
	return nil
}

// panicked is the failure of an item during which something panicked.
func panicked(r any, phase Kind) *fault {
	f := &fault{kind: KindPanic, value: r, message: fmt.Sprint(r), stack: string(debug.Stack())}
	f.err, _ = r.(error)
	if phase != KindError {
		f.kind = phase
		f.message = "in the codec: panic: " + f.message
	}
	return f
}

// receive decodes the item of the index into l.item.
func (l *lane[L, T, U]) receive(seg *farm.Segment, i int64) error {
	switch {
	case l.shelf != nil:
		return l.in.Decode(l.shelf.at(i), l.item)
	case l.src == nil:
		return l.in.Decode(seg.Load.(*wire.Items).At(i), l.item)
	}
	l.phase = KindEncode
	b, err := l.in.Append(l.buf[:0], l.src.item(i))
	if err != nil {
		return err
	}
	l.buf = b
	l.phase = KindDecode
	return l.in.Decode(b, l.item)
}

// send puts the encoded result where the coordinator finds it.
func (l *lane[L, T, U]) send(i int64, v *U) error {
	l.phase = KindEncode
	st := l.st
	st.outMu.Lock()
	l.inOut = true
	st.out.Begin(i)
	b, err := l.out.Append(st.out.Buf, v)
	if err == nil {
		st.out.Buf = b
		if !st.out.End(i) {
			err = fmt.Errorf("the codec promised %d bytes and appended another number", l.out.Size)
		}
	} else {
		st.out.Undo()
	}
	st.bytes.Store(int64(len(st.out.Buf)))
	l.inOut = false
	st.outMu.Unlock()
	return err
}

// roundTrip puts what is left of the result after encoding and decoding.
func (l *lane[L, T, U]) roundTrip(i int64) error {
	l.phase = KindEncode
	b, err := l.out.Append(l.buf[:0], l.val)
	if err != nil {
		return err
	}
	l.buf = b
	l.phase = KindDecode
	*l.val = *new(U)
	if err := l.out.Decode(b, l.val); err != nil {
		return err
	}
	l.dst.put(i, l.val)
	return nil
}
