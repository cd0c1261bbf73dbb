package hataori

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
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
