package hataori

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/transport"
)

// Transport is one rank's handle on a group of ranks, on which worlds are made.
type Transport = transport.Comm

// World is a private duplicate of a communicator, on which collective calls are
// made: all ranks make the same calls in the same order. One call at a time; a
// second is refused with [ErrWorldBusy]. Make one with [NewWorld].
type World struct {
	comm       Transport
	express    transport.Express // comm's own, if it has one
	rank, size int
	host       string
	build      int64               // tells programs apart
	pause      func(time.Duration) // how coordinators sleep, in tests; nil: as wait.go says
	hosts      []int64             // by rank, hashed; nil: not yet known
	hot        int                 // most hot polls before they do, in tests; 0: as many as elsewhere

	busy   atomic.Bool
	mu     sync.Mutex // closed and broken
	closed bool
	broken *BrokenError

	// The rest belongs to the call that is going on.
	epoch   uint64
	arrived map[uint64]map[int]bool // on rank 0: who announced itself for a call
	orphans []any                   // buffers that a broken transport may still hold
}

// NewWorld makes a world from a communicator, which stays the caller's. It is
// collective and blocks until every rank of t has called it. The caller calls
// Close on every rank.
func NewWorld(t Transport) (*World, error) {
	if t == nil {
		return nil, errors.New("hataori: NewWorld without a transport")
	}
	if n := t.Size(); n >= 1<<rankBits {
		return nil, fmt.Errorf("hataori: a world of %d ranks, fewer than %d are possible", n, 1<<rankBits)
	}
	c, err := t.Private()
	if err != nil {
		return nil, fmt.Errorf("hataori: duplicating the communicator: %w", err)
	}
	express, ok := c.(transport.Express)
	if !ok {
		express = plain{c}
	}
	return &World{comm: c, express: express, rank: c.Rank(), size: c.Size(), host: c.Host(), build: buildHash(),
		arrived: make(map[uint64]map[int]bool)}, nil
}

// plain is a transport without ways of its own to save steps.
type plain struct{ transport.Comm }

func (p plain) Take([]byte, int) (st transport.Status, found, taken bool, err error) {
	st, found, err = p.Iprobe(transport.AnySource, transport.AnyTag)
	return st, found, false, err
}

func (p plain) Give(b []byte, dest, tag int) (transport.Request, error) { return p.Isend(b, dest, tag) }

// isBroken reports whether the world is.
func (w *World) isBroken() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken != nil
}

// unwound is the error of a call that was unwound by a Goexit or a panic.
func (w *World) unwound() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken != nil {
		return w.broken
	}
	return ErrGoexit
}

// Rank is this process's, 0 ≤ Rank < Size.
func (w *World) Rank() int { return w.rank }

// Size is the number of ranks.
func (w *World) Size() int { return w.size }

// buildHash tells whether ranks run the same program.
func buildHash() int64 {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return 0
	}
	return hash(info.String())
}

// hash is not negative, so that it may be negated.
func hash(s string) int64 {
	h := fnv.New64a()
	h.Write([]byte(s)) // never fails
	return int64(h.Sum64() >> 2)
}

// inItem marks the contexts of items: a call from one is nested.
type inItem struct{}

// begin claims the world for one call, which its errors name.
func (w *World) begin(ctx context.Context, call string) error {
	refused := func(why error) error { return &CallError{call, w.rank, why} }
	if !w.comm.AnyThread() && ctx.Value(inItem{}) != nil {
		return refused(ErrNested)
	}
	if !w.busy.CompareAndSwap(false, true) {
		return refused(ErrWorldBusy)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var err error
	switch {
	case w.closed:
		err = refused(ErrClosed)
	case w.broken != nil:
		err = w.broken
	default:
		w.epoch++
		return nil
	}
	w.busy.Store(false)
	return err
}

func (w *World) end() { w.busy.Store(false) }

// Agree turns one rank's error into everybody's: it returns nil if every rank
// passes nil, else the [*RankError] of the lowest rank that did not, with the
// original at hand there by Local. It is collective. A context that ends does
// not keep the ranks from meeting; if it has ended on a rank that passes nil,
// the result is a [*CancelError].
func (w *World) Agree(ctx context.Context, err error) error {
	if berr := w.begin(ctx, "Agree"); berr != nil {
		return berr
	}
	c := newCall(w, &Options{})
	_, err = within(c, func() (none struct{}, _ error) {
		if _, err := c.preflight(terms{kind: "Agree"}); err != nil {
			return none, err
		}
		var own *fault
		switch {
		case err != nil:
			own = c.fault(&fault{class: classRank, err: err, message: text(err)})
		case ctx.Err() != nil:
			own = c.fault(cancelFault(ctx))
		}
		return none, c.settle(own, nil)
	})
	return err
}

// Close gives the world up. It is collective, and waits for the other ranks to
// call it. Calls after it return [ErrClosed]; a second Close does nothing and
// returns nil. The communicator that the world was made from is not touched.
func (w *World) Close() error {
	err := w.begin(context.Background(), "Close")
	switch {
	case errors.Is(err, ErrClosed):
		return nil
	case errors.Is(err, ErrWorldBroken):
		// The others may never come: nothing collective can be done.
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		return err
	case err != nil:
		return err
	}
	defer w.end()
	c := newCall(w, &Options{})
	if _, err := c.preflight(terms{kind: "Close"}); err != nil {
		return err
	}
	if err := c.settle(nil, nil); err != nil {
		return err
	}
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	if err := w.comm.Free(); err != nil {
		return fmt.Errorf("hataori: freeing the world's communicator: %w", err)
	}
	return nil
}

// breakdown marks the world as broken, tells the other ranks as far as that is
// possible, and returns the error of the call.
func (c *call) breakdown(cause error) *BrokenError {
	w := c.w
	b := &BrokenError{Rank: w.rank, Host: w.host, Err: cause}
	w.mu.Lock()
	w.broken = b
	w.mu.Unlock()
	w.orphans = append(w.orphans, c.inFlight...)
	if !errors.As(cause, new(*toldError)) {
		f := c.fault(&fault{class: classRank, message: cause.Error()})
		c.tellAll(f)
	}
	c.log(slog.LevelError, "world broken", "err", cause)
	if c.opts.OnFatal == nil {
		return b
	}
	if err := apart(func() { c.opts.OnFatal(b) }); err != nil {
		b = &BrokenError{Rank: b.Rank, Host: b.Host, Err: fmt.Errorf("%w; and Options.OnFatal did not return: %v", cause, err)}
		w.mu.Lock()
		w.broken = b
		w.mu.Unlock()
	}
	return b
}

// toldError is a breakdown that another rank told us about.
type toldError struct {
	rank int
	text string
}

func (e *toldError) Error() string { return fmt.Sprintf("rank %d says: %s", e.rank, e.text) }

// tellAll sends the fault to every other rank, without waiting: the world is
// not used again.
func (c *call) tellAll(f *fault) {
	w := c.w
	msg := wire.AppendHeader(nil, wire.Header{Kind: wire.Broken, Epoch: w.epoch})
	msg = wire.Finish(append(msg, f.marshal(nil)...))
	for r := range w.size {
		if r == w.rank {
			continue
		}
		req, err := w.comm.Isend(msg, r, tagWorld)
		if err != nil {
			continue // that rank, or the transport, is what broke
		}
		if done, _, _ := req.Test(); !done {
			w.orphans = append(w.orphans, req, msg)
		}
	}
}
