package hataori

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/hataori/hataori-go/lanes"
)

// ItemErrors tells which items failed in a call with Options.Collect.
type ItemErrors struct {
	// Count is the number of items that failed, the same on every rank.
	Count int

	// Errors are those of the lowest indices, at most 100 and about 1 MiB of
	// them, by index. They are equal on every rank.
	Errors []*ItemError

	// All are the errors of all items that failed, by index, on the root. It is
	// nil elsewhere.
	All []*ItemError
}

func (e *ItemErrors) Error() string {
	return fmt.Sprintf("hataori: %d items failed; the lowest: %s", e.Count, e.Errors[0].text())
}

// Unwrap returns Errors.
func (e *ItemErrors) Unwrap() []error {
	errs := make([]error, len(e.Errors))
	for k, err := range e.Errors {
		errs[k] = err
	}
	return errs
}

// Bounds on the errors that every rank gets.
const (
	sharedErrors = 100
	sharedBytes  = 1 << 20
)

// attempt is a result, or in raw the fault of an item.
type attempt[U any] struct {
	val U
	raw []byte
}

// errUnsent is what an item decodes to that the root could not encode.
type errUnsent struct{ text string }

func (e *errUnsent) Error() string { return e.text }

// collect is PmapLanes with Options.Collect.
func collect[L, T, U any](ctx context.Context, w *World, ex lanes.Executor[L], opts Options, items []T, f func(ctx context.Context, lane L, item T) (U, error)) ([]U, error) {
	if err := w.begin(ctx, "PmapLanes"); err != nil {
		return nil, err
	}
	dst := &collected[U]{}
	p := collecting(ctx, w, ex, &opts, f, &dst.failures)
	return within(p.call, func() ([]U, error) { return collectInto(p, dst, items) })
}

// collectInto makes the call.
func collectInto[L, T, U any](p *pmap[L, T, attempt[U]], dst *collected[U], items []T) ([]U, error) {
	ag, err := p.preflight(p.terms(items))
	if err != nil {
		p.log(slog.LevelWarn, "refused", "err", err)
		return nil, err
	}
	if err := p.startRecorder("PmapLanes"); err != nil {
		return nil, err
	}
	if p.w.rank == p.opts.Root {
		dst.results = make([]U, len(items))
	}
	own, item, err := p.work(ag, items, dst)
	if err == nil {
		err = p.settle(own, item)
	}
	err = p.rec.finish(err)
	if err != nil {
		p.log(slog.LevelWarn, "ended early", "err", err)
		return nil, err
	}
	failed, err := dst.tell()
	if err != nil && failed == nil {
		return nil, err
	}
	return dst.results, err
}

// collecting is a call to whose machines no item fails, for its failure is a
// result. The failures of this rank's lanes are remembered in mem.
func collecting[L, T, U any](ctx context.Context, w *World, ex lanes.Executor[L], opts *Options, f func(ctx context.Context, lane L, item T) (U, error), mem *failures) *pmap[L, T, attempt[U]] {
	p := &pmap[L, T, attempt[U]]{call: newCall(w, opts), ctx: ctx, ex: ex, types: typeName[T]() + " → " + typeName[U]()}
	*mem = failures{call: p.call, raw: map[int64][]byte{}, mine: map[int64]*fault{}}
	if isNil(ex) {
		p.ex = nil
	}
	if f != nil {
		p.f = func(ctx context.Context, lane L, item T) (attempt[U], error) {
			v, err := f(ctx, lane, item)
			return attempt[U]{val: v}, err
		}
	}
	p.codecs = func() (*typed[T], error, *typed[attempt[U]], error) {
		in, inErr := codecFor[T](opts)
		out, outErr := codecFor[U](opts)
		return tolerantItems(in), inErr, tolerantResults(p.call, out), outErr
	}
	p.absorb = func(f *fault) attempt[U] { return attempt[U]{raw: mem.absorb(f)} }
	return p
}

// tolerantItems encodes an item that cannot be encoded as the reason why.
func tolerantItems[T any](c *typed[T]) *typed[T] {
	if c == nil {
		return nil
	}
	return &typed[T]{Name: c.Name, Size: -1,
		Append: func(dst []byte, v *T) ([]byte, error) {
			out, err := encodeWith(c, append(dst, 0), v)
			if err != nil {
				return append(append(dst, 1), cut(text(err), maxMessage)...), nil
			}
			return out, nil
		},
		Decode: func(src []byte, v *T) error {
			switch {
			case len(src) > 0 && src[0] == 0:
				return c.Decode(src[1:], v)
			case len(src) > 0 && src[0] == 1:
				return &errUnsent{string(src[1:])}
			}
			return errors.New("malformed item")
		}}
}

// tolerantResults carries attempts; a result that cannot be decoded becomes a
// fault.
func tolerantResults[U any](call *call, c *typed[U]) *typed[attempt[U]] {
	if c == nil {
		return nil
	}
	return &typed[attempt[U]]{Name: c.Name, Size: -1,
		Append: func(dst []byte, v *attempt[U]) ([]byte, error) {
			if v.raw != nil {
				return append(append(dst, 1), v.raw...), nil
			}
			return c.Append(append(dst, 0), &v.val)
		},
		Decode: func(src []byte, v *attempt[U]) error {
			switch {
			case len(src) > 0 && src[0] == 0:
				if err := decodeWith(c, src[1:], &v.val); err != nil {
					f := call.fault(&fault{class: classItem, kind: KindDecode, err: err, message: "result: " + text(err)})
					*v = attempt[U]{raw: f.marshal(call.opts.ErrorCodec)}
				}
				return nil
			case len(src) > 1 && src[0] == 1:
				v.raw = slices.Clone(src[1:])
				return nil
			}
			return errors.New("malformed result")
		}}
}

// failures are those of a call: at the root of all ranks, encoded; elsewhere of
// this rank only.
type failures struct {
	call *call

	mu   sync.Mutex
	raw  map[int64][]byte // at the root
	mine map[int64]*fault // of this rank's lanes, with what cannot cross
}

// collected is a [sink] for attempts.
type collected[U any] struct {
	failures
	results []U
}

func (c *collected[U]) put(i int64, v *attempt[U]) {
	if v.raw == nil {
		c.results[i] = v.val
		return
	}
	c.keep(i, v.raw)
}

// collectedStream is a [Sink] for attempts.
type collectedStream[U any] struct {
	*failures
	sink Sink[U]
}

func (c *collectedStream[U]) Put(ctx context.Context, i int64, v attempt[U]) error {
	if v.raw == nil {
		return c.sink.Put(ctx, i, v.val)
	}
	c.keep(i, v.raw)
	return nil
}

// Has is the caller's sink's.
func (c *collectedStream[U]) Has(i int64) bool {
	h, ok := c.sink.(interface{ Has(index int64) bool })
	return ok && h.Has(i)
}

// collectStream is PmapStream with Options.Collect.
func collectStream[L, T, U any](ctx context.Context, w *World, ex lanes.Executor[L], opts Options, source Source[T], sink Sink[U], f func(ctx context.Context, lane L, item T) (U, error)) error {
	if err := w.begin(ctx, "PmapStream"); err != nil {
		return err
	}
	var mem failures
	s := &stream[L, T, attempt[U]]{pmap: collecting(ctx, w, ex, &opts, f, &mem), outer: ctx, kind: "PmapStream"}
	var dst Sink[attempt[U]]
	if !isNil(sink) {
		dst = &collectedStream[U]{&mem, sink}
	}
	_, err := within(s.call, func() (*ItemErrors, error) {
		if err := s.run(source, dst); err != nil {
			return nil, err
		}
		return mem.tell()
	})
	return err
}

// keep takes in the failure of an item, at the root.
func (c *failures) keep(i int64, raw []byte) {
	c.call.absorbed.Add(1)
	c.mu.Lock()
	c.raw[i] = raw
	c.mu.Unlock()
}

// absorb turns the fault of an item into bytes.
func (c *failures) absorb(f *fault) []byte {
	if _, unsent := f.err.(*errUnsent); unsent {
		f.kind = KindEncode
	}
	c.mu.Lock()
	c.mine[f.index] = f
	c.mu.Unlock()
	return f.marshal(c.call.opts.ErrorCodec)
}

// forget lets go of a failure of which its error was made.
func (c *failures) forget(i int64) {
	c.mu.Lock()
	delete(c.mine, i)
	c.mu.Unlock()
}

// tell makes the error of the call that every rank gets. Beside a nil first
// result the error is that of the exchange. It is collective.
func (c *failures) tell() (*ItemErrors, error) {
	failed, err := c.share(c.call)
	if err != nil {
		return nil, err
	}
	if failed == nil {
		return nil, nil
	}
	c.call.log(slog.LevelWarn, "items failed", "failed", failed.Count, "lowest", failed.Errors[0])
	return failed, failed
}

// share tells every rank what failed. It is collective.
func (c *failures) share(call *call) (*ItemErrors, error) {
	var indices []int64
	for i := range c.raw {
		indices = append(indices, i)
	}
	slices.Sort(indices)
	msg := binary.AppendUvarint(nil, uint64(len(indices)))
	for k, i := range indices {
		if k == sharedErrors || len(msg) > sharedBytes {
			break
		}
		msg = binary.AppendUvarint(msg, uint64(i))
		msg = binary.AppendUvarint(msg, uint64(len(c.raw[i])))
		msg = append(msg, c.raw[i]...)
	}
	if call.w.size > 1 {
		var err error
		if msg, err = call.bcast(msg, call.opts.Root); err != nil {
			return nil, err
		}
	}
	e, err := c.parse(call, msg)
	if err != nil {
		return nil, call.breakdown(fmt.Errorf("failures from the root: %w", err))
	}
	if e == nil || call.w.rank != call.opts.Root {
		return e, nil
	}
	for _, i := range indices {
		one, err := c.public(call, i, c.raw[i])
		if err != nil {
			return nil, call.breakdown(err)
		}
		e.All = append(e.All, one)
	}
	return e, nil
}

func (c *failures) parse(call *call, msg []byte) (*ItemErrors, error) {
	next := func() (uint64, bool) {
		v, n := binary.Uvarint(msg)
		msg = msg[max(n, 0):]
		return v, n > 0
	}
	count, ok := next()
	if !ok || count > MaxItems {
		return nil, errFault
	}
	e := &ItemErrors{Count: int(count)}
	for len(msg) > 0 {
		i, ok1 := next()
		n, ok2 := next()
		if !ok1 || !ok2 || i > MaxItems || n > uint64(len(msg)) {
			return nil, errFault
		}
		one, err := c.public(call, int64(i), msg[:n])
		if err != nil {
			return nil, err
		}
		e.Errors, msg = append(e.Errors, one), msg[n:]
	}
	switch {
	case count == 0 && len(e.Errors) == 0:
		return nil, nil
	case len(e.Errors) == 0 || uint64(len(e.Errors)) > count:
		return nil, errFault
	}
	return e, nil
}

// public makes the error of the item i.
func (c *failures) public(call *call, i int64, raw []byte) (*ItemError, error) {
	var f fault
	if err := f.unmarshal(raw, call.opts.ErrorCodec); err != nil {
		return nil, err
	}
	f.index = i
	c.mu.Lock()
	mine := c.mine[i]
	c.mu.Unlock()
	e, ok := f.public(mine).(*ItemError)
	if !ok {
		return nil, errFault
	}
	return e, nil
}
