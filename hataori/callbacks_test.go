package hataori

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// ways in which a callback may not return.
var ways = map[string]func(){
	"panic":  func() { panic("callback at fault") },
	"goexit": runtime.Goexit,
}

// escapingCodec carries ints, and does not return where it is told so.
type escapingCodec struct {
	leave                func()
	name, encode, decode bool
}

func (c escapingCodec) Name() string {
	if c.name {
		c.leave()
	}
	return "escaping"
}

func (c escapingCodec) Append(dst []byte, v any) ([]byte, error) {
	x := *v.(*int)
	if c.encode && x == 3 {
		c.leave()
	}
	return binary.AppendVarint(dst, int64(x)), nil
}

func (c escapingCodec) Decode(src []byte, v any) error {
	x, _ := binary.Varint(src)
	if c.decode && x == 3 {
		c.leave()
	}
	*v.(*int) = int(x)
	return nil
}

// escapingOwn is a type that marshals itself.
type escapingOwn struct{ x int }

var escapeOwn struct{ encode, decode func() }

func (v escapingOwn) MarshalBinary() ([]byte, error) {
	if v.x == 3 && escapeOwn.encode != nil {
		escapeOwn.encode()
	}
	return []byte{byte(v.x)}, nil
}

func (v *escapingOwn) UnmarshalBinary(b []byte) error {
	if v.x = int(b[0]); v.x == 3 && escapeOwn.decode != nil {
		escapeOwn.decode()
	}
	return nil
}

// escapingErrors is an ErrorCodec.
type escapingErrors struct {
	leave          func()
	encode, decode bool
}

func (c escapingErrors) EncodeError(error) []byte {
	if c.encode {
		c.leave()
	}
	return []byte{1}
}

func (c escapingErrors) DecodeError([]byte) error {
	if c.decode {
		c.leave()
	}
	return errSpecial
}

// escapingText is an error whose methods do not return.
type escapingText struct{ leave func() }

func (e escapingText) Error() string { e.leave(); return "" }

// escapingRetry is an error that does not say whether it may be tried again.
type escapingRetry struct{ leave func() }

func (e escapingRetry) Error() string   { return "perhaps" }
func (e escapingRetry) Retryable() bool { e.leave(); return true }

// escapingExecutor is an executor of the caller's own making.
type escapingExecutor struct {
	*lanes.Set[lanes.Lane]
	leave                      func()
	lanes, ready, healthy, run bool
}

func (e escapingExecutor) Lanes() int {
	if e.lanes {
		e.leave()
	}
	return e.Set.Lanes()
}

func (e escapingExecutor) Ready() error {
	if e.ready {
		e.leave()
	}
	return e.Set.Ready()
}

func (e escapingExecutor) Healthy(l lanes.Lane) error {
	if e.healthy {
		e.leave()
	}
	return e.Set.Healthy(l)
}

func (e escapingExecutor) Run(b lanes.Body[lanes.Lane]) error {
	if e.run {
		e.leave()
	}
	return e.Set.Run(b)
}

func (e escapingExecutor) RunWithCoordinator(b lanes.Body[lanes.Lane], c lanes.Coordinator) error {
	if e.run {
		e.leave()
	}
	return e.Set.RunWithCoordinator(b, c)
}

// escapingHandler is a slog.Handler.
type escapingHandler struct {
	slog.Handler
	leave           func()
	enabled, handle bool
}

func (h escapingHandler) Enabled(context.Context, slog.Level) bool {
	if h.enabled {
		h.leave()
	}
	return true
}

func (h escapingHandler) Handle(context.Context, slog.Record) error {
	if h.handle {
		h.leave()
	}
	return nil
}

// escape is a call with a callback that does not return.
type escape struct {
	name string
	call func(ctx context.Context, w *World, leave func()) error
	want []error // errors.Is finds one of them on every rank, and ItemError if there is none
}

func (e *escape) check(err error) bool {
	if len(e.want) == 0 {
		var item *ItemError
		return errors.As(err, &item) && (item.Index == 3 || item.Index == 0)
	}
	return slices.ContainsFunc(e.want, func(w error) bool { return errors.Is(err, w) })
}

// farEnd is an executor that makes every item and result travel if there are ranks.
func farEnd(w *World) lanes.Executor[lanes.Lane] {
	if w.Rank() == 0 && w.Size() > 1 {
		return nil
	}
	return lanes.New(1)
}

func pmapEscape(opts func(leave func()) Options, f func(leave func(), x int) (int, error)) func(context.Context, *World, func()) error {
	return func(ctx context.Context, w *World, leave func()) error {
		_, err := PmapLanes(ctx, w, farEnd(w), opts(leave), count(w, 0, 6), func(_ context.Context, _ lanes.Lane, x int) (int, error) {
			if f == nil {
				return x, nil
			}
			return f(leave, x)
		})
		return err
	}
}

func atThree(x int, f func() error) (int, error) {
	if x == 3 {
		return x, f()
	}
	return x, nil
}

func streamEscape(opts Options, source func(leave func()) Source[int], sink func(leave func()) Sink[int]) func(context.Context, *World, func()) error {
	return func(ctx context.Context, w *World, leave func()) error {
		var src Source[int]
		var dst Sink[int]
		if w.Rank() == 0 {
			src, dst = source(leave), sink(leave)
		}
		return PmapStream(ctx, w, farEnd(w), opts, src, dst, same)
	}
}

func ints(n int) Source[int] {
	return FromSeq(func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	})
}

// hasSink has a method Has that does not return.
type hasSink struct {
	SinkFunc[int]
	leave func()
}

func (s hasSink) Has(int64) bool { s.leave(); return false }

func keepAll(func()) Sink[int] {
	return SinkFunc[int](func(context.Context, int64, int) error { return nil })
}

func escapes() []escape {
	plain := func(func()) Options { return Options{} }
	codec := func(c escapingCodec, more Options) func(func()) Options {
		return func(leave func()) Options {
			c, o := c, more
			c.leave = leave
			o.Codec, o.RoundTrip = c, true
			return o
		}
	}
	errCodec := func(encode, decode, collect bool) func(func()) Options {
		return func(leave func()) Options {
			return Options{ErrorCodec: escapingErrors{leave, encode, decode}, Collect: collect}
		}
	}
	logger := func(h escapingHandler, more Options) func(func()) Options {
		return func(leave func()) Options {
			h, o := h, more
			h.leave = leave
			o.Logger = slog.New(h)
			return o
		}
	}
	fails := func(_ func(), x int) (int, error) { return atThree(x, func() error { return errSpecial }) }
	again := func(_ func(), x int) (int, error) { return atThree(x, func() error { return Retryable(errSpecial) }) }
	overdue := func(_ func(), x int) (int, error) {
		return atThree(x, func() error { time.Sleep(overdueGrace + 200*time.Millisecond); return nil })
	}
	executor := func(e escapingExecutor) func(context.Context, *World, func()) error {
		return func(ctx context.Context, w *World, leave func()) error {
			e := e
			e.Set, e.leave = lanes.New(1), leave
			if w.Rank() != w.Size()-1 { // one is at fault
				e.lanes, e.ready, e.healthy, e.run = false, false, false, false
			}
			var ex lanes.Executor[lanes.Lane] = e
			if e.healthy && w.Rank() == 0 && w.Size() > 1 {
				ex = nil
			}
			_, err := PmapLanes(ctx, w, ex, Options{}, count(w, 0, 6), same)
			return err
		}
	}
	own := func(encode, decode bool) func(context.Context, *World, func()) error {
		return func(ctx context.Context, w *World, leave func()) error {
			var items []escapingOwn
			if w.Rank() == 0 {
				items = make([]escapingOwn, 6)
				for i := range items {
					items[i].x = i
				}
			}
			_, err := PmapLanes(ctx, w, farEnd(w), Options{RoundTrip: true}, items,
				func(_ context.Context, _ lanes.Lane, x escapingOwn) (escapingOwn, error) { return x, nil })
			return err
		}
	}
	exchange := func(c escapingCodec, call func(ctx context.Context, w *World, o Options) error) func(context.Context, *World, func()) error {
		return func(ctx context.Context, w *World, leave func()) error {
			c := c
			c.leave = leave
			return call(ctx, w, Options{Codec: c, RoundTrip: true})
		}
	}
	broadcast := func(ctx context.Context, w *World, o Options) error {
		_, err := Broadcast(ctx, w, o, 3)
		return err
	}
	scatter := func(ctx context.Context, w *World, o Options) error {
		var values []int
		if w.Rank() == 0 {
			values = []int{3, 3, 3}[:w.Size()]
		}
		_, err := Scatter(ctx, w, o, values)
		return err
	}
	gather := func(ctx context.Context, w *World, o Options) error {
		_, err := Gather(ctx, w, o, 3)
		return err
	}
	enc, dec := escapingCodec{encode: true}, escapingCodec{decode: true}
	item := []error(nil)
	return []escape{
		{"item", pmapEscape(plain, func(leave func(), x int) (int, error) { return atThree(x, func() error { leave(); return nil }) }), item},
		{"text of an item's error", pmapEscape(plain, func(leave func(), x int) (int, error) { return atThree(x, func() error { return escapingText{leave} }) }), item},
		{"Retryable", pmapEscape(func(func()) Options { return Options{Retries: 1} },
			func(leave func(), x int) (int, error) {
				return atThree(x, func() error { return escapingRetry{leave} })
			}), item},
		{"cost", pmapEscape(func(leave func()) Options {
			return Options{Cost: func(i int) float64 {
				if i == 3 {
					leave()
				}
				return float64(i)
			}}
		}, nil), []error{ErrOptions}},
		{"codec's name", pmapEscape(codec(escapingCodec{name: true}, Options{}), nil), []error{ErrType}},
		{"encoding", pmapEscape(codec(enc, Options{}), nil), item},
		{"decoding", pmapEscape(codec(dec, Options{}), nil), item},
		{"encoding in groups", pmapEscape(codec(enc, Options{Group: 2}), nil), item},
		{"encoding of copies", pmapEscape(codec(enc, Options{Copies: 1}), nil), item},
		{"decoding of copies", pmapEscape(codec(dec, Options{Copies: 1}), nil), item},
		{"encoding, collected", pmapEscape(codec(enc, Options{Collect: true}), nil), item},
		{"decoding, collected", pmapEscape(codec(dec, Options{Collect: true}), nil), item},
		{"MarshalBinary", own(true, false), item},
		{"UnmarshalBinary", own(false, true), item},
		{"Broadcast encodes", exchange(enc, broadcast), []error{ErrEncode}},
		{"Broadcast decodes", exchange(dec, broadcast), []error{errDecode}},
		{"Scatter encodes", exchange(enc, scatter), []error{ErrEncode}},
		{"Scatter decodes", exchange(dec, scatter), []error{errDecode}},
		{"Gather encodes", exchange(enc, gather), []error{ErrEncode}},
		{"Gather decodes", exchange(dec, gather), []error{errDecode}},
		{"EncodeError", pmapEscape(errCodec(true, false, false), fails), item},
		{"DecodeError", pmapEscape(errCodec(false, true, false), fails), item},
		{"EncodeError, collected", pmapEscape(errCodec(true, false, true), fails), item},
		{"DecodeError, collected", pmapEscape(errCodec(false, true, true), fails), item},
		{"executor's Lanes", executor(escapingExecutor{lanes: true}), []error{ErrNotReady}},
		{"executor's Ready", executor(escapingExecutor{ready: true}), []error{ErrNotReady}},
		{"source", streamEscape(Options{}, func(leave func()) Source[int] {
			return SourceFunc[int](func(context.Context) (int, error) { leave(); return 0, io.EOF })
		}, keepAll), []error{ErrSource}},
		{"sequence", streamEscape(Options{}, func(leave func()) Source[int] {
			return FromSeq(func(yield func(int) bool) { yield(1); leave() })
		}, keepAll), []error{ErrSource}},
		{"end of a sequence", streamEscape(Options{}, func(leave func()) Source[int] {
			return FromSeq(func(yield func(int) bool) {
				for yield(1) {
				}
				leave()
			})
		}, func(func()) Sink[int] {
			return SinkFunc[int](func(context.Context, int64, int) error { return errSpecial })
		}), []error{ErrSource, ErrSink}},
		{"sink", streamEscape(Options{}, func(func()) Source[int] { return ints(6) }, func(leave func()) Sink[int] {
			return SinkFunc[int](func(context.Context, int64, int) error { leave(); return nil })
		}), []error{ErrSink}},
		{"sink, collected", streamEscape(Options{Collect: true}, func(func()) Source[int] { return ints(6) }, func(leave func()) Sink[int] {
			return SinkFunc[int](func(context.Context, int64, int) error { leave(); return nil })
		}), []error{ErrSink}},
		{"sink's Has", streamEscape(Options{}, func(func()) Source[int] { return ints(6) }, func(leave func()) Sink[int] {
			return hasSink{func(context.Context, int64, int) error { return nil }, leave}
		}), []error{ErrSink}},
		{"progress", pmapEscape(func(leave func()) Options { return Options{Progress: func(Progress) { leave() }} }, nil), []error{ErrCallback}},
		{"progress meanwhile", pmapEscape(func(leave func()) Options {
			return Options{Progress: func(Progress) { leave() }, ProgressEvery: time.Millisecond}
		}, func(_ func(), x int) (int, error) { time.Sleep(10 * time.Millisecond); return x, nil }), []error{ErrCallback}},
		{"progress, collected", pmapEscape(func(leave func()) Options {
			return Options{Progress: func(Progress) { leave() }, Collect: true}
		}, nil), []error{ErrCallback}},
		{"progress of a stream", func(ctx context.Context, w *World, leave func()) error {
			return streamEscape(Options{Progress: func(Progress) { leave() }, ProgressEvery: time.Millisecond},
				func(func()) Source[int] { return ints(1 << 40) }, keepAll)(ctx, w, leave)
		}, []error{ErrCallback}},
		{"logger of retries", pmapEscape(logger(escapingHandler{handle: true}, Options{Retries: 1}), again), []error{ErrCallback}},
		{"logger's Enabled", pmapEscape(logger(escapingHandler{enabled: true}, Options{Retries: 1}), again), []error{ErrCallback}},
		{"logger of late items", pmapEscape(logger(escapingHandler{handle: true}, Options{ItemTimeout: time.Millisecond}), overdue), []error{ErrCallback}},
		{"logger of refusals", pmapEscape(logger(escapingHandler{handle: true}, Options{Root: 9}), nil), []error{ErrRootRange}},
		{"logger of ends", pmapEscape(logger(escapingHandler{handle: true}, Options{}), fails), item},
		{"logger of failures", pmapEscape(logger(escapingHandler{handle: true}, Options{Collect: true}), fails), item},
		{"Agree", func(ctx context.Context, w *World, leave func()) error {
			if w.Rank() == w.Size()-1 {
				return w.Agree(ctx, escapingText{leave})
			}
			return w.Agree(ctx, nil)
		}, []error{errRank}},
		{"cause of a context", func(ctx context.Context, w *World, leave func()) error {
			ctx, cancel := context.WithCancelCause(ctx)
			cancel(escapingText{leave})
			_, err := PmapLanes(ctx, w, farEnd(w), Options{}, count(w, 0, 6), same)
			return err
		}, []error{context.Canceled}},
	}
}

// Markers for errors that have a type, but no sentinel.
var errDecode, errRank = errors.New("a *RankError"), errors.New("a *RankError")

// A callback that panics or calls Goexit gives every rank the same error, of the
// type that its fault has, and the world can be used again.
func TestCallbacksThatDoNotReturn(t *testing.T) {
	for _, e := range escapes() {
		for how, leave := range ways {
			t.Run(e.name+"/"+how, func(t *testing.T) {
				if !strings.HasSuffix(strings.ToLower(e.name), "marshalbinary") {
					t.Parallel() // some wait for the grace of late items
				}
				for _, n := range []int{1, 3} {
					e.run(t, n, leave)
				}
			})
		}
	}
}

func (e *escape) run(t *testing.T, n int, leave func()) {
	switch e.name {
	case "MarshalBinary":
		escapeOwn.encode = leave
		defer func() { escapeOwn.encode = nil }()
	case "UnmarshalBinary":
		escapeOwn.decode = leave
		defer func() { escapeOwn.decode = nil }()
	}
	var a agreement
	onRanks(t, n, mpitest.Options{}, func(w *World) (err error) {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // for liveness only
		defer cancel()
		returned := false
		defer func() {
			if !returned { // instead of unwinding, which would hide what the others got
				err = fmt.Errorf("rank %d of %d did not return: %v", w.Rank(), n, recover())
				t.Error(err)
			}
		}()
		err = e.call(ctx, w, leave)
		returned = true
		a.add(w.Rank(), err)
		if !e.right(err) {
			t.Errorf("rank %d of %d: %v", w.Rank(), n, err)
		}
		return again(w)
	})
	a.check(t, n)
}

func (e *escape) right(err error) bool {
	var rank *RankError
	if len(e.want) > 0 && (e.want[0] == errDecode || e.want[0] == errRank) {
		return errors.As(err, &rank)
	}
	return e.check(err)
}

// What no error can come of, for it ends the goroutine of the call: an executor of
// the caller's that calls Goexit. The other ranks hear of it.
func TestExecutorThatDoesNotReturn(t *testing.T) {
	for how, leave := range ways {
		t.Run(how, func(t *testing.T) {
			net := mpitest.New(3, mpitest.Options{})
			var mu sync.Mutex
			errs := map[int]error{}
			err := net.Run(func(c transport.Comm) error {
				w, err := NewWorld(c)
				if err != nil {
					return err
				}
				e := escapingExecutor{Set: lanes.New(1), leave: leave, run: w.Rank() == 1}
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second) // for liveness only
					defer cancel()
					_, err := PmapLanes(ctx, w, lanes.Executor[lanes.Lane](e), Options{}, count(w, 0, 6), same)
					mu.Lock()
					errs[w.Rank()] = err
					mu.Unlock()
				}()
				<-ended
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			for r := range 3 {
				err, returned := errs[r]
				var rank *RankError
				switch {
				case how == "goexit" && r == 1:
					if returned {
						t.Errorf("rank 1: %v", err)
					}
				case how == "goexit" && !errors.Is(err, ErrWorldBroken), how == "panic" && (!errors.As(err, &rank) || rank.Rank != 1):
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

// OnFatal is told of a broken world; what it does wrong is told with the error.
func TestOnFatalThatDoesNotReturn(t *testing.T) {
	for how, leave := range ways {
		t.Run(how, func(t *testing.T) {
			broken := errors.New("cable cut")
			net := mpitest.New(3, mpitest.Options{OnSend: func(m mpitest.Message) error {
				if m.Source == 1 && m.Tag == tagWork {
					return broken
				}
				return nil
			}})
			err := net.Run(func(c transport.Comm) error {
				w, err := NewWorld(c)
				if err != nil {
					return err
				}
				_, err = PmapLanes(context.Background(), w, lanes.New(1), Options{OnFatal: func(error) { leave() }}, count(w, 0, 6), same)
				if !errors.Is(err, ErrWorldBroken) || !strings.Contains(err.Error(), "OnFatal") || w.Rank() == 1 && !errors.Is(err, broken) {
					return fmt.Errorf("rank %d: %w", w.Rank(), err)
				}
				if _, err = Gather(context.Background(), w, Options{}, 1); !errors.Is(err, ErrWorldBroken) {
					return fmt.Errorf("rank %d, afterwards: %w", w.Rank(), err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}
