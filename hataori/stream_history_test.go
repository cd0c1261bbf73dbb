package hataori

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// TestStreamHistories runs random streams in virtual time, against what the
// rules allow.
func TestStreamHistories(t *testing.T) {
	base := uint64(time.Now().UnixNano())
	n := max(number()/16, 1) // each takes several times as long as one of a slice
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
	ranks, n := 1+r.IntN(6), r.IntN(200)
	o := Options{Root: r.IntN(ranks), Window: r.IntN(30), Batch: r.IntN(4), Ordered: r.IntN(2) == 0, RoundTrip: r.IntN(2) == 0,
		Group: []int{0, 1, 2, 3, GroupByHost}[r.IntN(5)]}
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
	hot := []int{1, 1, 4, 20, 400}[r.IntN(5)]
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
		w.hot = hot
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
