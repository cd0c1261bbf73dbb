package hataori

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// numbers gives 0, 1, …, n−1; n < 0: without end.
func numbers(n int) Source[int] {
	return FromSeq(func(yield func(int) bool) {
		for i := 0; i != n && yield(i); i++ {
		}
	})
}

// book is a sink that checks what it gets: squares, each once.
type book struct {
	mu      sync.Mutex
	ordered bool
	seen    map[int64]bool
	last    int64
	have    map[int64]bool // from before
	before  func(ctx context.Context, index int64) error
}

func (b *book) Put(ctx context.Context, index int64, value int) error {
	if b.before != nil {
		if err := b.before(ctx, index); err != nil {
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case int64(value) != index*index:
		return fmt.Errorf("result %d is %d", index, value)
	case b.seen[index] || b.have[index]:
		return fmt.Errorf("result %d came twice", index)
	case b.ordered && index < b.last:
		return fmt.Errorf("result %d came after %d", index, b.last)
	}
	if b.seen == nil {
		b.seen = map[int64]bool{}
	}
	b.seen[index], b.last = true, index
	return nil
}

func (b *book) Has(index int64) bool { return b.have[index] }

// prefix fails unless the book has exactly the results below n.
func (b *book) prefix(n int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range n {
		if !b.seen[int64(i)] && !b.have[int64(i)] {
			return fmt.Errorf("result %d is missing", i)
		}
	}
	if got := len(b.seen) + len(b.have); got != n {
		return fmt.Errorf("%d results, want %d", got, n)
	}
	return nil
}

func square(_ context.Context, _ lanes.Lane, x int) (int, error) { return x * x, nil }

// pmapStream passes source and sink on the root only.
func pmapStream(ctx context.Context, w *World, o Options, src Source[int], dst Sink[int], f ctxLane) error {
	if w.Rank() != o.Root {
		src, dst = nil, nil
	}
	return PmapStream(ctx, w, lanes.New(2), o, src, dst, f)
}

func TestStreams(t *testing.T) {
	for _, ranks := range []int{1, 2, 3} {
		for _, ordered := range []bool{false, true} {
			for _, window := range []int{0, 1, 7} {
				for _, n := range []int{0, 1, 10, 500} {
					t.Run(fmt.Sprintf("ranks=%d,ordered=%v,window=%d,items=%d", ranks, ordered, window, n), func(t *testing.T) {
						onRanks(t, ranks, mpitest.Options{Seed: uint64(n)}, func(w *World) error {
							for root := range ranks {
								var read, put, most atomic.Int64
								b := &book{ordered: ordered, before: func(context.Context, int64) error { put.Add(1); return nil }}
								src := SourceFunc[int](func(context.Context) (int, error) {
									i := read.Add(1) - 1
									most.Store(max(most.Load(), i+1-put.Load()))
									if i == int64(n) {
										return 0, io.EOF
									}
									return int(i), nil
								})
								var st Stats
								o := Options{Root: root, Ordered: ordered, Window: window, Stats: &st, RoundTrip: true}
								if err := pmapStream(context.Background(), w, o, src, b, square); err != nil {
									return err
								}
								if w.Rank() != root {
									continue
								}
								// What is wrong is told without leaving the loop, in which
								// the other ranks go on.
								if window > 0 && most.Load() > int64(window) {
									t.Errorf("%d items at a time in a window of %d", most.Load(), window)
								}
								if st.Items != n {
									t.Errorf("%d items counted", st.Items)
								}
								if err := b.prefix(n); err != nil {
									t.Error(err)
								}
							}
							return nil
						})
					})
				}
			}
		}
	}
}

func TestStreamEndsThatFail(t *testing.T) {
	at := func(k int, fail func() error) Source[int] {
		i := -1
		return SourceFunc[int](func(context.Context) (int, error) {
			if i++; i == k {
				if err := fail(); err != nil {
					return 0, err
				}
			}
			return i, nil
		})
	}
	fails := map[string]struct {
		do   func() error
		text string
		is   error
	}{
		"error":  {func() error { return fmt.Errorf("disk: %w", io.ErrUnexpectedEOF) }, "disk: unexpected EOF", io.ErrUnexpectedEOF},
		"panic":  {func() error { panic("ouch") }, "ouch", nil},
		"goexit": {func() error { runtime.Goexit(); return nil }, "Goexit", ErrGoexit},
	}
	for name, s := range fails {
		for _, ranks := range []int{1, 3} {
			for _, ordered := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s,ranks=%d,ordered=%v", name, ranks, ordered), func(t *testing.T) {
					var source, sink agreement
					onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
						b := &book{ordered: ordered}
						o := Options{Root: ranks - 1, Ordered: ordered, Window: 20}
						source.add(w.Rank(), pmapStream(context.Background(), w, o, at(30, s.do), b, square))
						if w.Rank() == o.Root {
							if err := b.prefix(30); err != nil {
								return fmt.Errorf("source: %w", err)
							}
						}
						b = &book{ordered: ordered, before: func(_ context.Context, i int64) error {
							if i == 5 {
								return s.do()
							}
							return nil
						}}
						sink.add(w.Rank(), pmapStream(context.Background(), w, o, numbers(-1), b, square))
						if ordered && w.Rank() == o.Root {
							if err := b.prefix(5); err != nil {
								return fmt.Errorf("sink: %w", err)
							}
						}
						return again(w)
					})
					targets := func(kind error) []error {
						if s.is == nil {
							return []error{kind}
						}
						return []error{kind, s.is}
					}
					for what, err := range map[string]error{"item 30": source.check(t, ranks, targets(ErrSource)...), "item 5": sink.check(t, ranks, targets(ErrSink)...)} {
						var r *RankError
						if !errors.As(err, &r) || r.Rank != ranks-1 || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), s.text) {
							t.Errorf("%T %v", err, err)
						}
					}
				})
			}
		}
	}
}

func TestStreamItemFails(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, ordered := range []bool{false, true} {
			for _, n := range []int{-1, 100} {
				var a agreement
				onRanks(t, ranks, mpitest.Options{Seed: 5}, func(w *World) error {
					b := &book{ordered: ordered}
					o := Options{Ordered: ordered, Batch: 3, Window: 40}
					a.add(w.Rank(), pmapStream(context.Background(), w, o, numbers(n), b, func(_ context.Context, _ lanes.Lane, x int) (int, error) {
						switch {
						case x == 37:
							time.Sleep(5 * time.Millisecond)
							return 0, errSpecial
						case x >= 38:
							return 0, errors.New("too high")
						}
						return x * x, nil
					}))
					if w.Rank() == 0 {
						if err := b.prefix(37); err != nil {
							return err
						}
					}
					return again(w)
				})
				var item *ItemError
				if err := a.check(t, ranks); !errors.As(err, &item) || item.Index != 37 || item.Message != "special" {
					t.Errorf("%T %v", err, err)
				}
			}
		}
	}
}

func TestStreamSkipsWhatTheSinkHas(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, ordered := range []bool{false, true} {
			onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
				b := &book{ordered: ordered, have: map[int64]bool{}}
				for i := range int64(100) {
					if i < 20 || i%3 == 0 || i > 90 {
						b.have[i] = true
					}
				}
				var st Stats
				err := pmapStream(context.Background(), w, Options{Ordered: ordered, Window: 5, Stats: &st}, numbers(100), b, square)
				if w.Rank() == 0 && err == nil {
					err = b.prefix(100)
					if st.Skipped != len(b.have) || st.Items != 100-len(b.have) {
						err = fmt.Errorf("%d skipped and %d evaluated, the sink had %d", st.Skipped, st.Items, len(b.have))
					}
				}
				return err
			})
		}
	}
}

// A source that blocks until its context ends, and a sink that does: the
// context of any rank ends the call, and the time that the sink is left is
// bounded.
func TestStreamsThatBlockAreCancelled(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		for _, what := range []string{"source", "sink", "nothing"} {
			t.Run(fmt.Sprintf("%s,ranks=%d", what, ranks), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					var a agreement
					onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
						w.pause = time.Sleep
						ctx := context.Background()
						if w.Rank() == ranks-1 {
							var cancel context.CancelFunc
							ctx, cancel = context.WithTimeout(ctx, 10*time.Second)
							defer cancel()
						}
						b := &book{}
						src := numbers(-1)
						var evaluated atomic.Int64
						switch what {
						case "source":
							i := -1
							src = SourceFunc[int](func(ctx context.Context) (int, error) {
								if i++; i == 9 {
									<-ctx.Done()
									return 0, ctx.Err()
								}
								return i, nil
							})
						case "sink":
							b.before = func(ctx context.Context, i int64) error { <-ctx.Done(); return ctx.Err() }
						}
						start := time.Now()
						a.add(w.Rank(), pmapStream(ctx, w, Options{Window: 50}, src, b, func(_ context.Context, _ lanes.Lane, x int) (int, error) {
							time.Sleep(time.Millisecond)
							evaluated.Add(1)
							return x * x, nil
						}))
						if d := time.Since(start) - 10*time.Second; d < 0 || d > time.Second {
							return fmt.Errorf("returned %v after the deadline", d)
						}
						if w.Rank() == 0 && ranks == 1 && what != "sink" {
							if n := int64(len(b.seen)); n != evaluated.Load() {
								return fmt.Errorf("%d of %d results in the sink", n, evaluated.Load())
							}
						}
						return nil
					})
					var c *CancelError
					if err := a.check(t, ranks, context.Canceled, context.DeadlineExceeded); !errors.As(err, &c) || c.Rank != ranks-1 {
						t.Errorf("%T %v", err, err)
					}
				})
			})
		}
	}
}

// One item takes three seconds, the others a millisecond. Unordered, it delays
// nobody; ordered, it stops the source, which is counted.
func TestStreamWithOneLongItem(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			onRanks(t, 3, mpitest.Options{}, func(w *World) error {
				w.pause = time.Sleep
				start := time.Now()
				var early int
				b := &book{ordered: ordered, before: func(context.Context, int64) error {
					if time.Since(start) < 2*time.Second {
						early++
					}
					return nil
				}}
				var st Stats
				err := pmapStream(context.Background(), w, Options{Ordered: ordered, Window: 32, Stats: &st, Batch: 1}, numbers(1000), b,
					func(_ context.Context, _ lanes.Lane, x int) (int, error) {
						if x == 10 {
							time.Sleep(3 * time.Second)
						}
						time.Sleep(time.Millisecond)
						return x * x, nil
					})
				if err != nil || w.Rank() != 0 {
					return err
				}
				if ordered && (early != 10 || st.Gaps == 0 || st.Stalled < 2*time.Second) {
					return fmt.Errorf("%d results before the long item, %d gaps, stalled %v", early, st.Gaps, st.Stalled)
				}
				if !ordered && (early < 990 || st.Gaps != 0) {
					return fmt.Errorf("%d results before the long item, %d gaps", early, st.Gaps)
				}
				return b.prefix(1000)
			})
		})
	}
}

func TestStreamsAreRefused(t *testing.T) {
	src, dst := numbers(3), Sink[int](&book{})
	for _, s := range []struct {
		name   string
		opts   Options
		src    func(r int) Source[int]
		dst    func(r int) Sink[int]
		f      ctxLane
		ex     func(r int) lanes.Executor[lanes.Lane]
		reason error
		text   string
		one    bool
	}{
		{name: "nil source", src: func(int) Source[int] { return nil }, reason: ErrNilFunc, text: "source is nil", one: true},
		{name: "nil sink", dst: func(int) Sink[int] { return nil }, reason: ErrNilFunc, text: "sink is nil", one: true},
		{name: "typed nil sink", dst: func(r int) Sink[int] { var b *book; return b }, reason: ErrNilFunc, text: "sink is nil", one: true},
		{name: "source off root", src: func(int) Source[int] { return src }, reason: ErrItemsOffRoot, text: "source passed"},
		{name: "sink off root", dst: func(int) Sink[int] { return dst }, reason: ErrItemsOffRoot, text: "sink passed"},
		{name: "nil function", f: nil, reason: ErrNilFunc, one: true},
		{name: "negative window", opts: Options{Window: -1}, f: square, reason: ErrOptions, text: "Window is -1", one: true},
		{name: "root", opts: Options{Root: 7}, f: square, reason: ErrRootRange, text: "7", one: true},
		{name: "no lanes", ex: func(int) lanes.Executor[lanes.Lane] { return nil }, f: square, reason: ErrNoLanes, one: true},
		{name: "not ready", ex: func(int) lanes.Executor[lanes.Lane] { return lanes.Failed[lanes.Lane](errSpecial) }, f: square, reason: ErrNotReady, text: "special", one: true},
	} {
		for _, ranks := range []int{1, 3} {
			if ranks == 1 && !s.one {
				continue
			}
			t.Run(fmt.Sprintf("%s,ranks=%d", s.name, ranks), func(t *testing.T) {
				var a agreement
				onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
					in, out, f, ex := src, dst, s.f, lanes.Executor[lanes.Lane](lanes.New(1))
					if w.Rank() > 0 {
						in, out = nil, nil
					}
					if s.src != nil {
						in, f = s.src(w.Rank()), square
					}
					if s.dst != nil {
						out, f = s.dst(w.Rank()), square
					}
					if s.ex != nil {
						ex = s.ex(w.Rank())
					}
					a.add(w.Rank(), PmapStream(context.Background(), w, ex, s.opts, in, out, f))
					return again(w)
				})
				var p *PreflightError
				if err := a.check(t, ranks, s.reason); !errors.As(err, &p) || !strings.Contains(err.Error(), s.text) {
					t.Errorf("%T %v", err, err)
				}
			})
		}
	}
}

func TestStreamWithoutHealthyLane(t *testing.T) {
	for _, ranks := range []int{1, 3} {
		var a agreement
		onRanks(t, ranks, mpitest.Options{}, func(w *World) error {
			var asked atomic.Int64
			ex := lanes.Of([]int{0}, lanes.Options[int]{Healthy: func(lanes.Lane, int) error {
				if asked.Add(1) > 5 {
					return errSpecial
				}
				return nil
			}})
			src, dst := numbers(-1), Sink[int](&book{})
			if w.Rank() != 0 {
				src, dst = nil, nil
			}
			a.add(w.Rank(), PmapStream(context.Background(), w, ex, Options{}, src, dst, func(_ context.Context, _ int, x int) (int, error) { return x * x, nil }))
			return again(w)
		})
		a.check(t, ranks, ErrNoHealthyLane)
	}
}

// What the root holds does not grow with the stream.
func TestStreamMemory(t *testing.T) {
	const n = 40_000
	onRanks(t, 2, mpitest.Options{}, func(w *World) error {
		var heap [2]uint64
		measure := func(k int) {
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			heap[k] = m.HeapAlloc
		}
		var src Source[[]byte]
		var dst Sink[[]byte]
		puts := 0
		if w.Rank() == 0 {
			src = FromSeq(func(yield func([]byte) bool) {
				for i := 0; i < n && yield(make([]byte, 1024)); i++ {
				}
			})
			dst = SinkFunc[[]byte](func(_ context.Context, _ int64, b []byte) error {
				switch puts++; puts {
				case n / 4:
					measure(0)
				case n - n/10:
					measure(1)
				}
				return nil
			})
		}
		err := PmapStream(context.Background(), w, lanes.New(1), Options{Window: 500, Ordered: true}, src, dst,
			func(_ context.Context, _ lanes.Lane, b []byte) ([]byte, error) { return b, nil })
		if err == nil && w.Rank() == 0 && (puts != n || heap[1] > heap[0]+4<<20) {
			return fmt.Errorf("%d results, heap of %d and then %d bytes", puts, heap[0], heap[1])
		}
		return err
	})
}

func TestFromSeq2(t *testing.T) {
	var cleaned bool
	var seq iter.Seq2[int, error] = func(yield func(int, error) bool) {
		defer func() { cleaned = true }()
		for i := range 5 {
			if !yield(i, nil) {
				return
			}
		}
		yield(0, errSpecial)
	}
	b := &book{}
	onRanks(t, 1, mpitest.Options{}, func(w *World) error {
		if err := pmapStream(context.Background(), w, Options{}, FromSeq2(seq), b, square); !errors.Is(err, ErrSource) {
			return fmt.Errorf("got %v", err)
		}
		return b.prefix(5)
	})
	if !cleaned {
		t.Error("the sequence was not ended")
	}
}

// TestStreamHistories runs random streams in virtual time, against what the
// rules allow.
func TestStreamHistories(t *testing.T) {
	base := uint64(time.Now().UnixNano())
	n := max(*histories/4, 1)
	if *seedFlag != 0 {
		base, n = *seedFlag, 1
	}
	for k := range n {
		seed := base + uint64(k)
		synctest.Test(t, func(t *testing.T) {
			if err := streamHistory(seed); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
		if t.Failed() {
			return
		}
	}
}

func streamHistory(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 9))
	ranks, n := 1+r.IntN(4), r.IntN(200)
	o := Options{Root: r.IntN(ranks), Window: r.IntN(30), Batch: r.IntN(4), Ordered: r.IntN(2) == 0, RoundTrip: r.IntN(2) == 0}
	end := map[string]int{}
	for _, what := range []string{"item", "source", "sink"} {
		if r.IntN(3) == 0 {
			end[what] = r.IntN(n + 1)
		}
	}
	cancel, who := time.Duration(0), r.IntN(ranks)
	if r.IntN(3) == 0 {
		cancel = time.Duration(r.IntN(n+1)) * time.Millisecond
	}
	cost := make([]time.Duration, n)
	for i := range cost {
		cost[i] = time.Duration(r.ExpFloat64() * float64(time.Millisecond))
	}
	slow := time.Duration(r.IntN(2)) * time.Millisecond
	b := &book{ordered: o.Ordered}
	b.before = func(_ context.Context, i int64) error {
		time.Sleep(slow)
		if k, ok := end["sink"]; ok && int(i) == k {
			return errSpecial
		}
		return nil
	}
	i := -1
	src := SourceFunc[int](func(context.Context) (int, error) {
		i++
		if k, ok := end["source"]; ok && i == k {
			return 0, errSpecial
		}
		if i == n {
			return 0, io.EOF
		}
		if i%5 == 0 {
			time.Sleep(slow)
		}
		return i, nil
	})
	errs := make([]error, ranks)
	net := mpitest.New(ranks, mpitest.Options{Seed: seed | 1, Eager: []int{0, -1}[r.IntN(2)]})
	late := time.AfterFunc(time.Hour, func() { panic(fmt.Sprintf("seed %d hangs", seed)) })
	defer late.Stop()
	err := net.Run(func(c transport.Comm) error {
		w, err := NewWorld(c)
		if err != nil {
			return err
		}
		w.pause = func(d time.Duration) { time.Sleep(max(d, 50*time.Microsecond)) }
		ctx := context.Background()
		if cancel > 0 && w.Rank() == who {
			var stop context.CancelFunc
			ctx, stop = context.WithTimeout(ctx, cancel)
			defer stop()
		}
		errs[w.Rank()] = pmapStream(ctx, w, o, src, b, func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(cost[x]):
			}
			if k, ok := end["item"]; ok && x >= k {
				return 0, fmt.Errorf("item %d fails", x)
			}
			return x * x, nil
		})
		return w.Close()
	})
	if err = errors.Join(err, net.Check()); err != nil {
		return err
	}
	for r := range errs {
		if fmt.Sprint(errs[r]) != fmt.Sprint(errs[0]) {
			return fmt.Errorf("rank %d got %v, rank 0 %v", r, errs[r], errs[0])
		}
	}
	if err := judgeStream(errs[0], b, n, end, cancel > 0); err != nil {
		return fmt.Errorf("%v with %d items, ends %v, cancelled %v, %+v: %w", errs[0], n, end, cancel, o, err)
	}
	return nil
}

func judgeStream(err error, b *book, n int, end map[string]int, cancelled bool) error {
	get := func(what string) int {
		if k, ok := end[what]; ok {
			return min(k, n)
		}
		return n
	}
	item, source, sink := get("item"), get("source"), get("sink")
	_, sourceFails := end["source"]
	var ie *ItemError
	var ce *CancelError
	switch {
	case err == nil:
		if item < source || sourceFails || sink < source {
			return errors.New("nobody noticed a failure")
		}
		return b.prefix(n)
	case errors.As(err, &ce):
		if !cancelled {
			return errors.New("nobody cancelled")
		}
	case errors.As(err, &ie):
		if ie.Index < item || item >= source {
			return errors.New("that item does not fail")
		}
		if sink >= item { // else the sink may have ended the call
			if ie.Index != item {
				return fmt.Errorf("item %d is the lowest that fails", item)
			}
			for i := range item {
				if !b.seen[int64(i)] {
					return fmt.Errorf("result %d is missing", i)
				}
			}
		}
	case errors.Is(err, ErrSink):
		if sink >= min(item, source) {
			return errors.New("the sink does not fail")
		}
	case errors.Is(err, ErrSource):
		if !sourceFails || item < source {
			return errors.New("the source does not fail")
		}
		return b.prefix(source)
	default:
		return errors.New("unexpected")
	}
	if b.ordered {
		return b.prefix(len(b.seen))
	}
	return nil
}
