package hataori

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

type oddCodec struct {
	name                     string
	badIn, badOut            int64 // values that cannot be encoded
	undecodable              int64
	panicOnEncode, panicOnDe int64
}

func (c oddCodec) Name() string { return c.name }

func (c oddCodec) Append(dst []byte, v any) ([]byte, error) {
	x := *v.(*int64)
	switch x {
	case c.badIn, c.badOut:
		return nil, errors.New("cannot encode it")
	case c.panicOnEncode:
		panic("encoder panics")
	}
	return binary.AppendVarint(dst, x), nil
}

func (c oddCodec) Decode(src []byte, v any) error {
	x, n := binary.Varint(src)
	switch {
	case n != len(src):
		return errors.New("trailing bytes")
	case x == c.undecodable:
		return errors.New("cannot decode it")
	case x == c.panicOnDe:
		panic("decoder panics")
	}
	*v.(*int64) = x
	return nil
}

// opaque holds what no codec can carry.
type opaque struct{ Any any }

func TestRefusals(t *testing.T) {
	at := func(who int, good, bad Options) func(int) Options {
		return func(r int) Options {
			if r == who {
				return bad
			}
			return good
		}
	}
	type setup struct {
		name    string
		opts    func(rank int) Options
		ex      func(rank int) lanes.Executor[lanes.Lane]
		items   func(w *World) []int
		f       func(rank int) ctxLane
		reason  error
		rank    int // who objects; −1: the only rank there is, or any
		text    string
		oneRank bool // shows on a world of one too
	}
	for _, s := range []setup{
		{name: "root out of range", opts: func(int) Options { return Options{Root: 9} }, reason: ErrRootRange, text: "9", oneRank: true},
		{name: "negative root", opts: func(int) Options { return Options{Root: -1} }, reason: ErrRootRange, text: "-1", oneRank: true},
		{name: "too many lanes", opts: func(int) Options { return Options{Lanes: 1 << 40} }, reason: ErrOptions, text: "Lanes is 1099511627776", oneRank: true},
		{name: "bad options, all told", opts: func(int) Options { return Options{Batch: -1, Depth: -2, PreflightTimeout: -1} }, reason: ErrOptions, text: "Depth is -2", oneRank: true},
		{name: "negative retries", opts: func(int) Options { return Options{Retries: -1, ItemTimeout: 1} }, reason: ErrOptions, text: "Retries is -1", oneRank: true},
		{name: "negative deadline", opts: func(int) Options { return Options{ItemTimeout: -1} }, reason: ErrOptions, text: "ItemTimeout is -1ns", oneRank: true},
		{name: "negative period", opts: func(int) Options { return Options{ProgressEvery: -1} }, reason: ErrOptions, text: "ProgressEvery is -1ns", oneRank: true},
		{name: "retries differ", opts: at(2, Options{Retries: 1}, Options{}), reason: ErrMismatch, rank: 2, text: "Retries"},
		{name: "items off root", items: func(w *World) []int { return make([]int, 5) }, reason: ErrItemsOffRoot, rank: 1, text: "5 items"},
		{name: "nil function", f: func(int) ctxLane { return nil }, reason: ErrNilFunc, oneRank: true},
		{name: "engine that could not be built", ex: func(r int) lanes.Executor[lanes.Lane] {
			if r == 2 {
				return lanes.Failed[lanes.Lane](errors.New("no GPU here"))
			}
			return lanes.New(2)
		}, reason: ErrNotReady, rank: 2, text: "no GPU here"},
		{name: "no engine anywhere", ex: func(int) lanes.Executor[lanes.Lane] { return lanes.Failed[lanes.Lane](errors.New("no GPU")) }, reason: ErrNotReady, text: "no GPU", oneRank: true},
		{name: "executor without lanes", ex: func(int) lanes.Executor[lanes.Lane] { return lanes.New(0) }, reason: ErrNotReady, text: "no lanes", oneRank: true},
		{name: "nobody has a lane", ex: func(int) lanes.Executor[lanes.Lane] { return nil }, reason: ErrNoLanes, text: "20 items", oneRank: true},
		{name: "roots differ", opts: at(1, Options{}, Options{Root: 2}), items: func(*World) []int { return nil }, reason: ErrMismatch, rank: 1, text: `Options.Root: "2" here, "0" on rank 0`},
		{name: "batches differ", opts: at(2, Options{Batch: 3}, Options{Batch: 4}), reason: ErrMismatch, rank: 2, text: "Options.Batch"},
		{name: "options differ", opts: at(2, Options{FirstSeen: true}, Options{}), reason: ErrMismatch, rank: 2, text: "FirstSeen"},
		{name: "codecs differ", opts: at(1, Options{}, Options{Codec: oddCodec{name: "a"}}), reason: ErrMismatch, rank: 1, text: "codec"},
		{name: "codec names differ", opts: at(1, Options{Codec: oddCodec{name: "b"}}, Options{Codec: oddCodec{name: "a"}}), reason: ErrMismatch, rank: 1, text: "codec"},
		{name: "two objections, the lowest rank", opts: at(1, Options{}, Options{Root: 77}), ex: func(r int) lanes.Executor[lanes.Lane] {
			if r == 2 {
				return lanes.Failed[lanes.Lane](errors.New("no GPU here"))
			}
			return lanes.New(1)
		}, reason: ErrRootRange, rank: 1, text: "77"},
	} {
		for _, ranks := range []int{1, 3} {
			if ranks == 1 && !s.oneRank {
				continue
			}
			t.Run(fmt.Sprintf("%s,ranks=%d", s.name, ranks), func(t *testing.T) {
				var a agreement
				var ran atomic.Int32
				onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
					var o Options
					if s.opts != nil {
						o = s.opts(w.Rank())
					}
					ex := lanes.Executor[lanes.Lane](lanes.New(2))
					if s.ex != nil {
						ex = s.ex(w.Rank())
					}
					items := count(w, 0, 20)
					if s.items != nil {
						items = s.items(w)
					}
					f := ctxLane(func(_ context.Context, _ lanes.Lane, x int) (int, error) { ran.Add(1); return x, nil })
					if s.f != nil {
						f = s.f(w.Rank())
					}
					_, err := PmapLanes(context.Background(), w, ex, o, items, f)
					a.add(w.Rank(), err)
					return again(w)
				})
				err := a.check(t, ranks, s.reason)
				var p *PreflightError
				if !errors.As(err, &p) || p.Rank != s.rank || !strings.Contains(err.Error(), s.text) {
					t.Errorf("%T %v", err, err)
				}
				if ran.Load() != 0 {
					t.Errorf("%d items ran", ran.Load())
				}
			})
		}
	}
}

// Pmap makes the lanes that it is told to, but not any number.
func TestPmapWithTooManyLanes(t *testing.T) {
	var a agreement
	onRanks(t, 3, mpitest.Options{}, func(w *World) error {
		_, err := Pmap(context.Background(), w, Options{Lanes: 1 << 40}, count(w, 0, 9), func(_ context.Context, x int) (int, error) { return x, nil })
		a.add(w.Rank(), err)
		return again(w)
	})
	a.check(t, 3, ErrOptions)
}

func TestRanksDisagreeAboutTypesOrCall(t *testing.T) {
	for name, odd := range map[string]func(w *World) error{
		"types": func(w *World) error {
			_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{}, nil,
				func(_ context.Context, _ lanes.Lane, x string) (int, error) { return len(x), nil })
			return err
		},
		"agree": func(w *World) error { return w.Agree(context.Background(), nil) },
		"close": func(w *World) error { return w.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			var a agreement
			onRanks(t, 3, mpitest.Options{}, func(w *World) error {
				var err error
				if w.Rank() == 2 {
					err = odd(w)
				} else {
					_, err = PmapLanes(context.Background(), w, lanes.New(1), Options{}, count(w, 0, 9), same)
				}
				a.add(w.Rank(), err)
				return again(w)
			})
			a.check(t, 3, ErrMismatch)
		})
	}
}

func TestTypeThatWouldBeDamaged(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var in, out agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			var items []opaque
			if w.Rank() == 0 {
				items = []opaque{{1}, {2}}
			}
			_, err := Pmap(context.Background(), w, Options{}, items, func(_ context.Context, x opaque) (int, error) { return 0, nil })
			in.add(w.Rank(), err)
			_, err = Pmap(context.Background(), w, Options{}, count(w, 0, 3), func(_ context.Context, x int) (opaque, error) { return opaque{x}, nil })
			out.add(w.Rank(), err)
			return again(w)
		})
		in.check(t, ranks, ErrType)
		out.check(t, ranks, ErrType)
	}
}

// A codec that fails on one value, in each place, with items of the root's own
// lanes encoded too on a world of one.
func TestCodecFailures(t *testing.T) {
	const none = 1 << 40
	base := oddCodec{name: "odd", badIn: none, badOut: none, undecodable: none, panicOnEncode: none, panicOnDe: none}
	for name, c := range map[string]struct {
		change func(*oddCodec)
		kind   Kind
		text   string
		index  int
	}{
		"item cannot be encoded":    {func(c *oddCodec) { c.badIn = 7 }, KindEncode, "item: cannot encode it", 7},
		"item cannot be decoded":    {func(c *oddCodec) { c.undecodable = 7 }, KindDecode, "item: cannot decode it", 7},
		"result cannot be encoded":  {func(c *oddCodec) { c.badOut = 1007 }, KindEncode, "result: cannot encode it", 7},
		"result cannot be decoded":  {func(c *oddCodec) { c.undecodable = 1007 }, KindDecode, "result: cannot decode it", 7},
		"encoder panics on an item": {func(c *oddCodec) { c.panicOnEncode = 7 }, KindEncode, "encoder panics", 7},
		"decoder panics on an item": {func(c *oddCodec) { c.panicOnDe = 7 }, KindDecode, "decoder panics", 7},
		"encoder panics on result":  {func(c *oddCodec) { c.panicOnEncode = 1007 }, KindEncode, "encoder panics", 7},
		"decoder panics on result":  {func(c *oddCodec) { c.panicOnDe = 1007 }, KindDecode, "decoder panics", 7},
	} {
		for _, ranks := range []int{1, 3} {
			for _, batch := range []int{1, 4, 20} {
				t.Run(fmt.Sprintf("%s,ranks=%d,batch=%d", name, ranks, batch), func(t *testing.T) {
					codec := base
					c.change(&codec)
					var a agreement
					onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
						var items []int64
						var ex lanes.Executor[lanes.Lane]
						if w.Rank() == 0 {
							for i := range 20 {
								items = append(items, int64(i))
							}
						}
						if w.Rank() != 0 || ranks == 1 {
							ex = lanes.New(2)
						}
						_, err := PmapLanes(context.Background(), w, ex, Options{Codec: codec, RoundTrip: true, Batch: batch}, items,
							func(_ context.Context, _ lanes.Lane, x int64) (int64, error) { return x + 1000, nil })
						a.add(w.Rank(), err)
						return again(w)
					})
					err := a.check(t, ranks)
					var item *ItemError
					if !errors.As(err, &item) || item.Index != c.index || item.Kind != c.kind || !strings.Contains(item.Message, c.text) {
						t.Errorf("%+v", err)
					}
				})
			}
		}
	}
}

func TestBusyNestedClosed(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var everywhere sync.WaitGroup // an item runs on every rank
		everywhere.Add(ranks)
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			var first sync.Once
			inside, release := make(chan struct{}, 100), make(chan struct{})
			second := make(chan error, 1)
			go func() {
				<-inside
				_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{}, count(w, 0, 3), same)
				second <- err
				close(release)
			}()
			_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{Batch: 1, Depth: 1}, count(w, 0, 3*ranks),
				func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
					_, err := PmapLanes(ctx, w, lanes.New(1), Options{}, nil, same)
					if !errors.Is(err, ErrWorldBusy) {
						return 0, fmt.Errorf("nested: %v", err)
					}
					inside <- struct{}{}
					first.Do(everywhere.Done)
					everywhere.Wait()
					<-release
					return x, nil
				})
			if err != nil {
				return err
			}
			if err := <-second; !errors.Is(err, ErrWorldBusy) {
				return fmt.Errorf("concurrent: %v", err)
			}
			return again(w)
		})
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			if err := w.Close(); err != nil {
				return err
			}
			if _, err := Pmap(context.Background(), w, Options{}, nil, func(context.Context, int) (int, error) { return 0, nil }); !errors.Is(err, ErrClosed) {
				return fmt.Errorf("Pmap after Close: %v", err)
			}
			if err := w.Agree(context.Background(), nil); !errors.Is(err, ErrClosed) {
				return fmt.Errorf("Agree after Close: %v", err)
			}
			return w.Close()
		})
	}
}

// A call inside an item on another world, where the transport allows it.
func TestNestedOnAnotherWorld(t *testing.T) {
	for _, funneled := range []bool{false, true} {
		outer := mpitest.New(2, mpitest.Options{Funneled: funneled})
		inner := mpitest.New(1, mpitest.Options{Funneled: funneled})
		err := outer.Run(func(c transport.Comm) error {
			w, err := NewWorld(c)
			if err != nil {
				return err
			}
			_, err = PmapLanes(context.Background(), w, lanes.New(1), Options{}, count(w, 0, 1),
				func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
					in, err := NewWorld(inner.Rank(0))
					if err != nil {
						return 0, err
					}
					_, err = PmapLanes(ctx, in, lanes.New(1), Options{}, []int{1, 2}, same)
					return 0, errors.Join(err, in.Close())
				})
			if funneled {
				if !strings.Contains(fmt.Sprint(err), "nested call") || !strings.Contains(fmt.Sprint(err), "PmapLanes on rank 0") || !errors.Is(err, ErrNested) {
					return fmt.Errorf("nested: %v", err)
				}
				err = nil
			}
			return errors.Join(err, w.Close())
		})
		if err := errors.Join(err, outer.Check(), inner.Check()); err != nil {
			t.Errorf("funneled %v: %v", funneled, err)
		}
	}
}

func TestSickLanes(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		// One sick lane per rank: the others do the work.
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			var broken atomic.Bool
			ex := lanes.Of([]int{0, 1}, lanes.Options[int]{Healthy: func(lane lanes.Lane, _ int) error {
				if lane == 1 && broken.Load() {
					return errors.New("engine broke")
				}
				return nil
			}})
			got, err := PmapLanes(context.Background(), w, ex, Options{Batch: 5}, count(w, 0, 60),
				func(_ context.Context, lane int, x int) (int, error) {
					if lane == 1 {
						if broken.Swap(true) {
							return 0, errors.New("item on a broken engine")
						}
					}
					runtime.Gosched()
					return x, nil
				})
			if err != nil {
				return err
			}
			for i := range got {
				if got[i] != i {
					return fmt.Errorf("item %d: %d", i, got[i])
				}
			}
			return again(w)
		})
		// All lanes of all ranks get sick.
		var a agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			var done atomic.Int32
			ex := lanes.Of([]int{0, 1}, lanes.Options[int]{Healthy: func(lanes.Lane, int) error {
				if done.Load() > 3 {
					return errors.New("engine broke")
				}
				return nil
			}})
			_, err := PmapLanes(context.Background(), w, ex, Options{}, count(w, 0, 500),
				func(_ context.Context, _ int, x int) (int, error) { done.Add(1); return x, nil })
			a.add(w.Rank(), err)
			return again(w)
		})
		err := a.check(t, ranks, ErrNoHealthyLane)
		if !strings.Contains(err.Error(), "engine broke") {
			t.Error(err)
		}
	}
}

func TestExecutorFailsLate(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		who := ranks - 1
		var hook, busy agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			ex := lanes.Of([]int{0, 1}, lanes.Options[int]{OnStart: func(lane lanes.Lane, _ int) error {
				if w.Rank() == who && lane == 1 {
					return errors.New("cannot pin")
				}
				return nil
			}})
			_, err := PmapLanes(context.Background(), w, ex, Options{}, count(w, 0, 50),
				func(_ context.Context, _ int, x int) (int, error) { return x, nil })
			hook.add(w.Rank(), err)

			plain := lanes.New(1)
			started, release := make(chan struct{}), make(chan struct{})
			ran := make(chan error, 1)
			if w.Rank() == who {
				go func() {
					ran <- plain.Run(func(*lanes.Control, lanes.Lane, lanes.Lane) error {
						close(started)
						<-release
						return nil
					})
				}()
				<-started
			}
			_, err = PmapLanes(context.Background(), w, plain, Options{}, count(w, 0, 50), same)
			busy.add(w.Rank(), err)
			if w.Rank() == who {
				close(release)
				if err := <-ran; err != nil {
					return err
				}
			}
			return again(w)
		})
		for _, c := range []struct {
			a    *agreement
			text string
		}{{&hook, "cannot pin"}, {&busy, "busy"}} {
			err := c.a.check(t, ranks)
			var re *RankError
			if !errors.As(err, &re) || re.Rank != who || !strings.Contains(re.Message, c.text) {
				t.Errorf("%v", err)
			}
		}
		busy.check(t, ranks, lanes.ErrBusy)
	}
}

func TestAgree(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var a agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			if err := w.Agree(context.Background(), nil); err != nil {
				return err
			}
			var mine error
			if w.Rank() == ranks-1 {
				mine = fmt.Errorf("cannot write: %w", context.DeadlineExceeded)
			}
			a.add(w.Rank(), w.Agree(context.Background(), mine))
			return again(w)
		})
		err := a.check(t, ranks, context.DeadlineExceeded)
		var re *RankError
		if !errors.As(err, &re) || re.Rank != ranks-1 || re.Message != "cannot write: context deadline exceeded" {
			t.Error(err)
		}
	}
}

func TestAbsentRanksAreNamed(t *testing.T) {
	for _, absent := range []int{2, 0} {
		net := mpitest.New(4, mpitest.Options{})
		var a agreement
		gone := make(chan struct{})
		var once sync.Once
		err := net.Run(func(c transport.Comm) error {
			w, err := NewWorld(c)
			if err != nil {
				return err
			}
			o := Options{Root: 1, PreflightTimeout: 50 * time.Millisecond}
			if w.Rank() == absent {
				<-gone
				_, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 1, 9), same)
				if !errors.Is(err, ErrAbsent) && !errors.Is(err, ErrWorldBroken) {
					return fmt.Errorf("late rank: %v", err)
				}
				return nil
			}
			var fatal error
			o.OnFatal = func(err error) { fatal = err }
			_, err = PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 1, 9), same)
			a.add(w.Rank(), err)
			if !errors.Is(err, ErrAbsent) || !strings.Contains(err.Error(), fmt.Sprintf("for rank %d", absent)) {
				return fmt.Errorf("%v", err)
			}
			if !errors.Is(fatal, ErrWorldBroken) {
				return fmt.Errorf("OnFatal was told %v", fatal)
			}
			a.mu.Lock()
			if len(a.errs) == 3 {
				once.Do(func() { close(gone) })
			}
			a.mu.Unlock()
			if _, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 1, 9), same); !errors.Is(err, ErrWorldBroken) {
				return fmt.Errorf("next call: %v", err)
			}
			if err := w.Close(); !errors.Is(err, ErrWorldBroken) {
				return fmt.Errorf("Close: %v", err)
			}
			return w.Close()
		})
		if err != nil {
			t.Errorf("rank %d absent: %v", absent, err)
		}
	}
}

// Ranks that are late but come in time leave no announcement behind.
func TestLateRank(t *testing.T) {
	onRanks(t, 4, mpitest.Options{}, func(w *World) error {
		for late := range w.Size() {
			if w.Rank() == late {
				time.Sleep(40 * time.Millisecond)
			}
			got, err := PmapLanes(context.Background(), w, lanes.New(1), Options{PreflightTimeout: 60 * time.Millisecond}, count(w, 0, 9), same)
			if err != nil {
				return err
			}
			if w.Rank() == 0 && len(got) != 9 {
				return fmt.Errorf("%d results", len(got))
			}
		}
		return nil
	})
}

func TestFewLanesManyItems(t *testing.T) {
	onRanks(t, 3, mpitest.Options{}, func(w *World) error {
		for _, n := range []int{0, 1, 2, 3} {
			got, err := PmapLanes(context.Background(), w, lanes.New(8*runtime.NumCPU()), Options{Root: 1}, count(w, 1, n), same)
			if err != nil {
				return err
			}
			if w.Rank() == 1 && (got == nil || len(got) != n) || w.Rank() != 1 && got != nil {
				return fmt.Errorf("rank %d got %v", w.Rank(), got)
			}
		}
		return nil
	})
}
