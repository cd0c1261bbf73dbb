package hataori

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hataori/hataori-go/lanes"
)

func TestMap(t *testing.T) {
	got, err := Map([]int{1, 2, 3}, func(x int) (string, error) { return fmt.Sprint(x), nil })
	if err != nil || strings.Join(got, ",") != "1,2,3" {
		t.Error(got, err)
	}
	n := 0
	_, err = Map([]int{1, 2, 3}, func(x int) (int, error) {
		n++
		if x == 2 {
			return 0, errSpecial
		}
		return 0, nil
	})
	var item *ItemError
	if !errors.Is(err, errSpecial) || !errors.As(err, &item) || item.Index != 1 || n != 2 {
		t.Error(n, err)
	}
	if got, err := Map(nil, func(x int) (int, error) { return x, nil }); got == nil || len(got) != 0 || err != nil {
		t.Error(got, err)
	}
	if _, err := Map[int, int]([]int{1}, nil); !errors.Is(err, ErrNilFunc) {
		t.Error(err)
	}
	func() {
		defer func() {
			if r := recover(); r != "through" {
				t.Error(r)
			}
		}()
		_, _ = Map([]int{1}, func(int) (int, error) { panic("through") })
	}()
}

func TestMapLanesRefusals(t *testing.T) {
	ctx := context.Background()
	if _, err := MapLanes[lanes.Lane, int, int](ctx, lanes.New(1), nil, nil); !errors.Is(err, ErrNilFunc) {
		t.Error(err)
	}
	for _, ex := range []lanes.Executor[lanes.Lane]{nil, (*lanes.Set[lanes.Lane])(nil), lanes.New(0)} {
		if _, err := MapLanes(ctx, ex, []int{1}, same); !errors.Is(err, lanes.ErrNoLanes) {
			t.Error(err)
		}
	}
	if _, err := MapLanes(ctx, lanes.Failed[lanes.Lane](errSpecial), []int{1}, same); !errors.Is(err, errSpecial) {
		t.Error(err)
	}
	ex := lanes.New(1)
	_, err := MapLanes(ctx, ex, []int{1}, func(ctx context.Context, _ lanes.Lane, _ int) (int, error) {
		return 0, func() error { _, err := MapLanes(ctx, ex, []int{1}, same); return err }()
	})
	if !errors.Is(err, lanes.ErrReentrant) {
		t.Error(err)
	}
}

// MapLanes decides between error and panic by the lowest failing index.
func TestMapLanesFailures(t *testing.T) {
	fail := func(low, high func() error) (raised any, err error) {
		defer func() { raised = recover() }()
		_, err = MapLanes(context.Background(), lanes.New(3), make([]int, 50), func(ctx context.Context, lane lanes.Lane, _ int) (int, error) {
			return 0, nil
		})
		if err != nil {
			return nil, err
		}
		items := make([]int, 50)
		for i := range items {
			items[i] = i
		}
		_, err = MapLanes(context.Background(), lanes.New(3), items, func(_ context.Context, _ lanes.Lane, x int) (int, error) {
			switch x {
			case 20:
				time.Sleep(time.Millisecond)
				return 0, low()
			case 21:
				return 0, high()
			}
			return x, nil
		})
		return nil, err
	}
	anError := func() error { return errSpecial }
	aPanic := func() error { panic(errSpecial) }
	aGoexit := func() error { runtime.Goexit(); return nil }
	var item *ItemError
	if raised, err := fail(anError, aPanic); raised != nil || !errors.As(err, &item) || item.Index != 20 || !errors.Is(err, errSpecial) || item.Local() != errSpecial {
		t.Error(err, raised)
	}
	if raised, err := fail(aGoexit, aPanic); raised != nil || !errors.As(err, &item) || item.Index != 20 || !errors.Is(err, ErrGoexit) {
		t.Error(err, raised)
	}
	raised, _ := fail(aPanic, anError)
	if p, ok := raised.(*ItemPanic); !ok || p.Index != 20 || p.Value != errSpecial || !errors.Is(p, errSpecial) || !strings.Contains(p.Error(), "map_test.go") {
		t.Errorf("%T %v", raised, raised)
	}
}

// Many items that end their goroutine: none is lost, and lanes keep their
// resource and goroutine.
func TestGoexitLosesNothing(t *testing.T) {
	const n = 200
	var ran [n]atomic.Int32
	items := make([]int, n)
	for i := range items {
		items[i] = n - 1 - i // the lowest index fails last
	}
	_, err := MapLanes(context.Background(), lanes.New(2), items, func(_ context.Context, _ lanes.Lane, x int) (int, error) {
		ran[x].Add(1)
		if x < n/2 {
			runtime.Goexit()
		}
		return x, nil
	})
	var item *ItemError
	if !errors.As(err, &item) || item.Index != n/2 {
		t.Fatal(err)
	}
	for x := n / 2; x < n; x++ {
		if ran[x].Load() != 1 {
			t.Errorf("item %d ran %d times", x, ran[x].Load())
		}
	}
}

func TestMapLanesCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	_, err := MapLanes(ctx, lanes.New(2), make([]int, 100), func(ctx context.Context, _ lanes.Lane, _ int) (int, error) {
		cancel(errSpecial)
		<-ctx.Done()
		return 0, ctx.Err()
	})
	var c *CancelError
	if !errors.As(err, &c) || !errors.Is(err, context.Canceled) || c.Local() != errSpecial {
		t.Error(err)
	}
	// A context that ends when everything is done changes nothing.
	ctx2, cancel2 := context.WithCancel(context.Background())
	if got, err := MapLanes(ctx2, lanes.New(1), []int{1}, func(_ context.Context, _ lanes.Lane, x int) (int, error) { cancel2(); return x, nil }); err != nil || got[0] != 1 {
		t.Error(got, err)
	}
	if _, err := MapLanes(ctx2, lanes.New(1), []int{1}, same); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// One context per lane, not per item.
func TestOneContextPerLane(t *testing.T) {
	seen := make([]map[context.Context]bool, 2)
	for i := range seen {
		seen[i] = map[context.Context]bool{}
	}
	_, err := MapLanes(context.Background(), lanes.New(2), make([]int, 100), func(ctx context.Context, lane lanes.Lane, x int) (int, error) {
		seen[lane][ctx] = true
		return 0, ctx.Err()
	})
	if err != nil || len(seen[0]) > 1 || len(seen[1]) > 1 {
		t.Error(err, len(seen[0]), len(seen[1]))
	}
}

// Equal and NaN items are items like any other.
func TestEqualItems(t *testing.T) {
	var n atomic.Int32
	items := []float64{math.NaN(), math.NaN(), 1, 1, math.Inf(1)}
	got, err := MapLanes(context.Background(), lanes.New(2), items, func(_ context.Context, _ lanes.Lane, x float64) (float64, error) { n.Add(1); return -x, nil })
	if err != nil || n.Load() != 5 || !math.IsNaN(got[1]) || got[2] != -1 || got[4] != math.Inf(-1) {
		t.Error(got, err)
	}
}

func FuzzFault(f *testing.F) {
	f.Add((&fault{class: classItem, kind: KindPanic, index: 7, rank: 3, lane: 1, host: "node", message: "boom", stack: "stack", err: errSpecial}).marshal(Sentinels(errSpecial)))
	f.Add((&fault{class: classCancel, lane: lanes.NoLane, timeout: true, err: context.DeadlineExceeded}).marshal(nil))
	f.Add([]byte{1, 2, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		var g fault
		codec := Sentinels(errSpecial)
		if g.unmarshal(data, codec) != nil {
			return
		}
		if err := g.public(nil); err == nil || err.Error() == "" {
			t.Errorf("%+v is no error", g)
		}
		var again fault
		if err := again.unmarshal(g.marshal(codec), codec); err != nil {
			t.Errorf("%v: %+v", err, g)
		}
	})
}

func TestFaultCrosses(t *testing.T) {
	f := &fault{class: classItem, kind: KindPanic, index: 1 << 39, rank: 1<<20 - 1, lane: 12, host: "node", message: strings.Repeat("m", maxMessage+5),
		stack: strings.Repeat("s", maxStack+5), err: fmt.Errorf("w: %w", errSpecial)}
	var item *ItemError
	if !errors.As(f.crossed(Sentinels(errSpecial)), &item) {
		t.Fatal("no ItemError")
	}
	if item.Index != 1<<39 || item.Rank != 1<<20-1 || item.Lane != 12 || item.Host != "node" || len(item.Message) != maxMessage || len(item.Stack) != maxStack || !errors.Is(item, errSpecial) {
		t.Errorf("%d %d %v %d %d", item.Index, item.Rank, item.Lane, len(item.Message), len(item.Stack))
	}
	if k := f.key(); rankOf(k) != f.rank || k < 0 {
		t.Errorf("key %x", k)
	}
	if errors.Is(f.crossed(nil), errSpecial) {
		t.Error("an error crossed without a codec")
	}
	if errors.Is(f.crossed(brokenCodec{}), errSpecial) {
		t.Error("an error crossed through a codec that panics")
	}
}

type brokenCodec struct{}

func (brokenCodec) EncodeError(error) []byte { panic("no") }
func (brokenCodec) DecodeError([]byte) error { panic("no") }
