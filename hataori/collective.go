package hataori

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/hataori/hataori-go/hataori/internal/wire"
	"github.com/hataori/hataori-go/lanes"
)

// Broadcast returns the root's v on every rank; the v of the others is not
// looked at. It is collective. Large input that all items share goes to each
// rank once by it, and not with each item.
//
// The bytes go down the transport's own tree. On a world of one v itself is
// returned, and nothing is encoded unless Options.RoundTrip is set; elsewhere
// the root gets its v back and the others decode. Of the options Root, Codec,
// ErrorCodec, RoundTrip, PreflightTimeout, Logger, OnFatal and Stats are used.
//
// The error is equal on every rank: a [*PreflightError], with [ErrEncode] if the
// root cannot encode v, before anything is sent; a [*CancelError] if a context
// has ended when the ranks meet, but not if one ends later; a [*RankError] of the
// lowest rank that cannot decode; a [*BrokenError].
func Broadcast[T any](ctx context.Context, w *World, opts Options, v T) (T, error) {
	if err := w.begin(ctx, "Broadcast"); err != nil {
		return *new(T), err
	}
	x := newExchange[T](ctx, w, &opts)
	return within(x.call, func() (T, error) { return x.broadcast(v) })
}

func (x *exchange[T]) broadcast(v T) (T, error) {
	var none T
	w, opts := x.w, x.opts
	t := x.terms("Broadcast")
	var data []byte
	if w.rank == opts.Root && x.crosses(&t) {
		data = x.pack(&t, nil, &v)
		t.items = int64(len(data))
	}
	ag, err := x.meetAt(t)
	if err != nil {
		return none, err
	}
	var own *fault
	switch {
	case ag.cancelled:
		own = x.cancelled()
	case w.size == 1 && !opts.RoundTrip:
	case w.size == 1:
		own = x.unpack(data, &v, w.rank)
	default:
		if w.rank != opts.Root {
			data = make([]byte, ag.items)
		}
		if err := x.bcastFixed(data, opts.Root); err != nil {
			return none, err
		}
		if w.rank == opts.Root {
			x.stats.Sent += int64(len(data))
		} else {
			x.stats.Received += int64(len(data))
			own = x.unpack(data, &v, opts.Root)
		}
	}
	if err := x.conclude(own); err != nil {
		return none, err
	}
	return v, nil
}

// Scatter returns values[r] on each rank r. The root passes one value for each
// rank, the others pass nil. It is collective; options and errors are those of
// [Broadcast], with [ErrValues] if the root passes another number of values. The
// root's own value is not encoded.
func Scatter[T any](ctx context.Context, w *World, opts Options, values []T) (T, error) {
	if err := w.begin(ctx, "Scatter"); err != nil {
		return *new(T), err
	}
	x := newExchange[T](ctx, w, &opts)
	return within(x.call, func() (T, error) { return x.scatter(values) })
}

func (x *exchange[T]) scatter(values []T) (v T, err error) {
	w, opts := x.w, x.opts
	t := x.terms("Scatter")
	root := w.rank == opts.Root
	var msgs [][]byte
	switch {
	case t.objection != nil:
	case !root && len(values) > 0:
		t.objection = x.object(ErrItemsOffRoot, nil, "%d values passed, pass nil on all ranks but the root, %d", len(values), opts.Root)
	case root && len(values) != w.size:
		t.objection = x.object(ErrValues, nil, "%d values for %d ranks", len(values), w.size)
	case root:
		msgs = x.packAll(&t, values)
	}
	ag, err := x.meetAt(t)
	if err != nil {
		return v, err
	}
	var own *fault
	switch {
	case ag.cancelled:
		own = x.cancelled()
	case root:
		v = values[w.rank]
		if w.size == 1 && opts.RoundTrip {
			own = x.unpack(msgs[0][wire.HeaderSize:], &v, w.rank)
		} else if err := x.sendAll(msgs); err != nil {
			return *new(T), x.broke(err)
		}
	default:
		_, body, err := x.receive()
		if err != nil {
			return v, x.broke(err)
		}
		own = x.unpack(body, &v, opts.Root)
	}
	if err := x.conclude(own); err != nil {
		return *new(T), err
	}
	return v, nil
}

// Gather returns, on the root, the v of every rank by rank, and nil elsewhere.
// It is collective; options and errors are those of [Broadcast], but that any
// rank may be the one that cannot encode, and only the root decodes. The root's
// own value is not encoded.
func Gather[T any](ctx context.Context, w *World, opts Options, v T) ([]T, error) {
	if err := w.begin(ctx, "Gather"); err != nil {
		return nil, err
	}
	x := newExchange[T](ctx, w, &opts)
	return within(x.call, func() ([]T, error) { return x.gather(v) })
}

func (x *exchange[T]) gather(v T) ([]T, error) {
	w, opts := x.w, x.opts
	t := x.terms("Gather")
	root := w.rank == opts.Root
	var msg []byte
	if t.objection == nil && (!root || w.size == 1 && opts.RoundTrip) {
		msg = x.pack(&t, x.header(), &v)
	}
	ag, err := x.meetAt(t)
	if err != nil {
		return nil, err
	}
	var own *fault
	var all []T
	switch {
	case ag.cancelled:
		own = x.cancelled()
	case root:
		all = make([]T, w.size)
		all[w.rank] = v
		if msg != nil {
			own = x.unpack(msg[wire.HeaderSize:], &all[0], w.rank)
		}
		if own, err = x.receiveAll(all, own); err != nil {
			return nil, x.broke(err)
		}
	default:
		if err := x.send(msg, opts.Root); err != nil {
			return nil, x.broke(err)
		}
		if err := x.complete(0); err != nil {
			return nil, x.broke(err)
		}
	}
	if err := x.conclude(own); err != nil {
		return nil, err
	}
	return all, nil
}

// exchange is one call that moves values of type T and evaluates nothing.
type exchange[T any] struct {
	coordinator
	codec *typed[T]
}

func newExchange[T any](ctx context.Context, w *World, opts *Options) *exchange[T] {
	x := &exchange[T]{coordinator: coordinator{call: newCall(w, opts), crew: newCrew(ctx, 0, false, opts), start: time.Now()}}
	return x
}

func (x *exchange[T]) terms(kind string) terms {
	o, w := x.opts, x.w
	t := terms{kind: kind, cancelled: x.ctx.Err() != nil, items: -1}
	var err error
	x.codec, err = codecFor[T](o)
	bad := o.check()
	switch {
	case bad != nil:
		t.objection = x.object(ErrOptions, bad, "%v", bad)
	case o.Root < 0 || o.Root >= w.size:
		t.objection = x.object(ErrRootRange, nil, "Options.Root is %d, the world has ranks 0 to %d", o.Root, w.size-1)
	case err != nil:
		t.objection = x.object(ErrType, err, "%v", err)
	}
	name := ""
	if x.codec != nil {
		name = x.codec.Name
	}
	t.fields = []field{
		{"type", typeName[T]()},
		{"codec", name},
		{"Options.Root", fmt.Sprint(o.Root)},
		{"options", fmt.Sprintf("RoundTrip %v, ErrorCodec %T", o.RoundTrip, o.ErrorCodec)},
	}
	return t
}

// crosses reports whether a value has to be encoded.
func (x *exchange[T]) crosses(t *terms) bool {
	return t.objection == nil && (x.w.size > 1 || x.opts.RoundTrip)
}

func (x *exchange[T]) header() []byte {
	return wire.AppendHeader(nil, wire.Header{Kind: wire.Value, Epoch: x.w.epoch})
}

// pack appends the encoding of *v to msg, or makes an objection of why it
// cannot.
func (x *exchange[T]) pack(t *terms, msg []byte, v *T) []byte {
	out, err := encodeWith(x.codec, msg, v)
	if err != nil {
		t.objection = x.object(ErrEncode, err, "%v", err)
	}
	return out
}

func (x *exchange[T]) packAll(t *terms, values []T) [][]byte {
	if !x.crosses(t) {
		return nil
	}
	msgs := make([][]byte, len(values))
	for r := range values {
		if r == x.w.rank && x.w.size > 1 {
			continue
		}
		if msgs[r] = x.pack(t, x.header(), &values[r]); t.objection != nil {
			t.objection.message = fmt.Sprintf("value for rank %d: %s", r, t.objection.message)
			return nil
		}
	}
	return msgs
}

// unpack decodes the value that came from a rank.
func (x *exchange[T]) unpack(data []byte, v *T, from int) *fault {
	var got T
	if err := decodeWith(x.codec, data, &got); err != nil {
		return x.fault(&fault{class: classRank, err: err, message: fmt.Sprintf("value from rank %d: %v", from, err)})
	}
	*v = got
	return nil
}

// encodeWith appends the encoding of *v. A codec that does not return is an error.
func encodeWith[T any](c *typed[T], dst []byte, v *T) (out []byte, err error) {
	if !c.Own {
		return c.Append(dst, v)
	}
	if e := apart(func() { out, err = c.Append(dst, v) }); e != nil {
		return dst, inCodec(e)
	}
	return out, err
}

func decodeWith[T any](c *typed[T], src []byte, v *T) (err error) {
	if !c.Own {
		return c.Decode(src, v)
	}
	if e := apart(func() { err = c.Decode(src, v) }); e != nil {
		return inCodec(e)
	}
	return err
}

// inCodec says where something did not return.
func inCodec(err error) error { return fmt.Errorf("in the codec: %w", err) }

func (x *exchange[T]) meetAt(t terms) (agreed, error) {
	ag, err := x.preflight(t)
	if err != nil {
		x.log(slog.LevelWarn, "refused", "kind", t.kind, "err", err)
	}
	x.start = time.Now()
	x.ladder.reset()
	return ag, err
}

// cancelled is what a rank brings to a call that was cancelled before it began.
func (x *exchange[T]) cancelled() *fault {
	if x.ctx.Err() == nil {
		return nil
	}
	return x.call.fault(cancelFault(x.ctx))
}

// inFlightMax bounds the values that the root sends at a time.
const inFlightMax = 64

// sendAll sends each other rank its message.
func (x *exchange[T]) sendAll(msgs [][]byte) error {
	for r := range x.w.size {
		if r == x.w.rank {
			continue
		}
		if err := x.complete(inFlightMax - 1); err != nil {
			return err
		}
		if err := x.send(msgs[r], r); err != nil {
			return err
		}
		msgs[r] = nil
	}
	return x.complete(0)
}

// complete waits until no more than so many sends are going on.
func (x *exchange[T]) complete(most int) error {
	x.ladder.reset()
	for {
		if err := x.flush(); err != nil || len(x.sends) <= most {
			return err
		}
		if err := x.worldMail(); err != nil {
			return err
		}
		x.rest()
	}
}

// rest is the step between two looks at messages.
func (x *exchange[T]) rest() {
	if x.hauling() {
		x.ladder.haul()
		return
	}
	x.ladder.wait(hotStarving, idleNap)
}

// receive waits for a value.
func (x *exchange[T]) receive() (source int, body []byte, err error) {
	x.ladder.reset()
	for {
		source, h, body, ok, err := x.poll()
		switch {
		case err != nil:
			return 0, nil, err
		case ok && h.Kind != wire.Value:
			return 0, nil, fmt.Errorf("message of kind %d from rank %d while values are exchanged", h.Kind, source)
		case ok:
			return source, body, nil
		}
		x.rest()
	}
}

// receiveAll receives the value of each other rank, and returns the fault of the
// lowest one that cannot be decoded.
func (x *exchange[T]) receiveAll(all []T, own *fault) (*fault, error) {
	seen := make([]bool, len(all))
	seen[x.w.rank] = true
	lowest := len(all)
	for range len(all) - 1 {
		source, body, err := x.receive()
		if err != nil {
			return nil, err
		}
		if seen[source] {
			return nil, fmt.Errorf("a second value from rank %d", source)
		}
		seen[source] = true
		if f := x.unpack(body, &all[source], source); f != nil && source < lowest {
			own, lowest = f, source
		}
	}
	return own, nil
}

// broke ends the exchange because of the transport or the protocol.
func (x *exchange[T]) broke(err error) error {
	x.release(err)
	return x.err
}

// conclude settles the exchange.
func (x *exchange[T]) conclude(own *fault) error {
	if s := x.opts.Stats; s != nil {
		*s = x.stats
		s.Elapsed = time.Since(x.start)
	}
	if own != nil {
		own.lane = lanes.NoLane
	}
	err := x.settle(own, nil)
	if err != nil {
		x.log(slog.LevelWarn, "ended early", "err", err)
	}
	return err
}
