package hataori

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// drainTime is how long after the end of a call the sink may still take what was
// computed, when a context ended it. It leaves some of the second that launchers
// grant between the signal that asks and the one that kills.
const drainTime = 500 * time.Millisecond

// belt brings items from the source to the lanes, and results from there to the
// sink. It holds no more than window items and results together: each counts
// from the moment at which it is read until the sink has taken its result.
//
// The reader and the writer each run on a goroutine of the belt's own, so that
// neither the coordinator nor a lane ever waits for the caller's code in them.
type belt[T, U any] struct {
	call   *call
	crew   *crew
	source Source[T]
	sink   Sink[U]
	has    func(index int64) bool // may be nil
	cancel context.CancelCauseFunc
	window int
	local  bool // no coordinator: the belt itself closes the crew

	stopRead, stopWrite context.CancelFunc
	ended               sync.WaitGroup
	room, more          chan struct{} // something changed for the reader, the writer

	mu      sync.Mutex // the rest
	items   map[int64]*T
	ready   []finished[U] // for the sink, as they came
	held    map[int64]U   // ordered: finished, behind a gap
	order   []int64       // ordered: read and not taken by the sink, from head on
	head    int
	out     int  // read and not taken by the sink
	eof     bool // the source has ended by itself
	over    bool // nothing more comes to the writer
	drain   *time.Timer
	srcFail *fault
	dstFail *fault

	skipped, stalls, gaps int
	stalled               time.Duration
}

type finished[U any] struct {
	index int64
	value U
}

func newBelt[T, U any](c *call, crew *crew, source Source[T], sink Sink[U], cancel context.CancelCauseFunc) *belt[T, U] {
	b := &belt[T, U]{call: c, crew: crew, source: source, sink: sink, cancel: cancel,
		room: make(chan struct{}, 1), more: make(chan struct{}, 1), items: map[int64]*T{}}
	if h, ok := sink.(interface{ Has(index int64) bool }); ok {
		b.has = h.Has
	}
	if c.opts.Ordered {
		b.held = map[int64]U{}
	}
	return b
}

// start starts the reader and the writer.
func (b *belt[T, U]) start(ctx context.Context) {
	b.crew.q.SetOpen(true)
	var read, write context.Context
	read, b.stopRead = context.WithCancel(ctx)
	write, b.stopWrite = context.WithCancel(context.WithoutCancel(ctx))
	b.ended.Add(2)
	go b.read(read)
	go b.write(write)
}

// finish ends both after the lanes have, and waits for them.
func (b *belt[T, U]) finish() {
	b.stopRead()
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
	signal(b.more)
	b.ended.Wait()
	b.stopWrite()
	if b.drain != nil {
		b.drain.Stop()
	}
}

// fault is what went wrong at the ends, after finish.
func (b *belt[T, U]) fault() *fault {
	if b.dstFail != nil {
		return b.dstFail
	}
	return b.srcFail
}

// whole reports whether every item that there is has reached the sink.
func (b *belt[T, U]) whole() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.eof && b.out == 0
}

// onLimit takes in that items above the limit are not needed, and with that
// none that is not read yet.
func (b *belt[T, U]) onLimit(limit int64) {
	b.stopRead()
	b.close()
	if limit >= 0 {
		return
	}
	b.mu.Lock()
	if b.drain == nil {
		b.drain = time.AfterFunc(drainTime, b.stopWrite)
	}
	b.mu.Unlock()
}

// close lets the work end once the queue is empty.
func (b *belt[T, U]) close() {
	b.crew.q.SetOpen(false)
	if b.local {
		b.crew.close()
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// item is a [source] for lanes and coordinator.
func (b *belt[T, U]) item(i int64) *T {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.items[i]
}

// put is a [sink] for lanes and coordinator. It does not wait.
func (b *belt[T, U]) put(i int64, v *U) {
	b.mu.Lock()
	delete(b.items, i)
	news := true
	if b.held == nil {
		b.ready = append(b.ready, finished[U]{i, *v})
		news = len(b.ready) == 1
	} else {
		b.held[i] = *v
		news = b.order[b.head] == i
	}
	b.mu.Unlock()
	if news {
		signal(b.more)
	}
}

// read reads the source to its end, as far as the window allows.
func (b *belt[T, U]) read(ctx context.Context) {
	defer b.ended.Done()
	var i int64
	done, inHas := false, false
	defer func() {
		switch err := recover(); { // a Goexit goes on, but nobody waits for more than this
		case done:
		case inHas:
			b.end()
			b.sinkFailed(i, unreturned(err))
		default:
			b.sourceFailed(i, unreturned(err))
		}
	}()
	if s, ok := b.source.(interface{ stop() }); ok {
		defer func() {
			if err := apart(s.stop); err != nil && b.srcFail == nil {
				b.sourceFailed(i, err)
			}
		}()
	}
	for b.waitRoom(ctx) {
		v, err := b.source.Next(ctx)
		if err == nil && i >= MaxItems {
			err = fmt.Errorf("more than %d items", int64(MaxItems))
		}
		switch {
		case err == io.EOF:
			b.end()
			done = true
			return
		case err != nil && ctx.Err() != nil: // it says that it was told to stop
			done = true
			return
		case err != nil:
			done = true
			b.sourceFailed(i, err)
			return
		}
		has := false
		if b.has != nil {
			inHas = true
			has = b.has(i)
			inHas = false
		}
		if has {
			b.skipped++
		} else if !b.enter(i, v) {
			break
		}
		i++
	}
	done = true
}

func (b *belt[T, U]) sourceFailed(i int64, err error) {
	b.srcFail = b.call.streamEnd(ErrSource, "source", i, err)
	b.end()
}

// end takes in that the source has ended. What was read goes its way.
func (b *belt[T, U]) end() {
	b.mu.Lock()
	b.eof = true
	last := b.out == 0
	b.mu.Unlock()
	if last {
		b.close()
	}
}

// waitRoom waits until the window lets another item in. It returns false if none
// is wanted any more.
func (b *belt[T, U]) waitRoom(ctx context.Context) bool {
	var since time.Time
	for {
		b.mu.Lock()
		full := b.out >= b.window
		if full && since.IsZero() {
			since = time.Now()
			b.stalls++
			if len(b.held) > 0 {
				b.gaps++
			}
		}
		if !full && !since.IsZero() {
			b.stalled += time.Since(since)
		}
		b.mu.Unlock()
		if !full {
			return ctx.Err() == nil
		}
		select {
		case <-b.room:
		case <-ctx.Done():
			return false
		}
	}
}

// enter puts the item on the belt and says whether it is wanted.
func (b *belt[T, U]) enter(i int64, v T) bool {
	b.mu.Lock()
	b.items[i] = &v
	if b.held != nil {
		if b.head > b.window && b.head > len(b.order)/2 { // forget what was taken
			b.order = b.order[:copy(b.order, b.order[b.head:])]
			b.head = 0
		}
		b.order = append(b.order, i)
	}
	b.out++
	b.mu.Unlock()
	return b.crew.push(i)
}

// write hands results to the sink.
func (b *belt[T, U]) write(ctx context.Context) {
	defer b.ended.Done()
	var i int64
	done := false
	defer func() {
		if !done {
			b.sinkFailed(i, unreturned(recover()))
		}
	}()
	var batch []finished[U]
	for {
		var over bool
		batch, over = b.take(batch)
		for k := range batch {
			i = batch[k].index
			if err := b.sink.Put(ctx, i, batch[k].value); err != nil {
				done = true
				b.sinkFailed(i, err)
				return
			}
			b.taken()
		}
		clear(batch)
		if over {
			break
		}
	}
	done = true
}

// take waits for results. over says that there will be no others.
func (b *belt[T, U]) take(old []finished[U]) (batch []finished[U], over bool) {
	for {
		b.mu.Lock()
		batch = old[:0]
		if len(b.ready) > 0 {
			batch, b.ready = b.ready, batch
		} else {
			for b.head < len(b.order) {
				i := b.order[b.head]
				v, ok := b.held[i]
				if !ok {
					break
				}
				delete(b.held, i)
				b.head++
				batch = append(batch, finished[U]{i, v})
			}
		}
		over = b.over
		b.mu.Unlock()
		if len(batch) > 0 || over {
			return batch, over
		}
		<-b.more
	}
}

// taken takes in that the sink has a result.
func (b *belt[T, U]) taken() {
	b.mu.Lock()
	b.out--
	last := b.eof && b.out == 0
	wait := b.out == b.window-1
	b.mu.Unlock()
	if wait {
		signal(b.room)
	}
	if last {
		b.close()
	}
}

func (b *belt[T, U]) sinkFailed(i int64, err error) {
	f := b.call.streamEnd(ErrSink, "sink", i, err)
	b.mu.Lock()
	if b.dstFail == nil { // the reader asks it, too, which results it has
		b.dstFail = f
	}
	b.mu.Unlock()
	b.cancel(errors.Join(errSinkFailed, err))
}
