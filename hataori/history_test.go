package hataori

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

var (
	histories = flag.Int("histories", 10_000, "random histories to run")
	seedFlag  = flag.Uint64("seed", 0, "seed of the one history to run; 0: -histories fresh ones")
)

func TestMain(m *testing.M) {
	flag.Parse()
	goleak.VerifyTestMain(m)
}

// history is one random call.
type history struct {
	seed   uint64
	ranks  int
	opts   Options
	lanes  []int // by rank; 0: nil executor
	sickAt []int // by rank: lane 0 gets sick after so many items, −1: never
	cost   []time.Duration
	fail   map[int]string // how an item fails
	cancel map[int]time.Duration
	obey   bool // items look at their context
	calls  int
	scale  time.Duration // of what takes time
	hot    int           // polls before a coordinator sleeps
	nap    time.Duration // least that it sleeps then
	net    mpitest.Options
}

func newHistory(seed uint64) *history {
	r := rand.New(rand.NewPCG(seed, 1))
	h := &history{seed: seed, ranks: 1 + r.IntN(6), fail: map[int]string{}, cancel: map[int]time.Duration{}, calls: 1 + r.IntN(2)}
	n := []int{0, 1, 2, r.IntN(10), r.IntN(20), r.IntN(20), r.IntN(20), r.IntN(201)}[r.IntN(8)]
	h.opts = Options{Root: r.IntN(h.ranks), Batch: []int{0, 0, 1, 2, 7, max(n, 1)}[r.IntN(6)], Depth: []int{0, 0, 1, 2}[r.IntN(4)],
		FirstSeen: r.IntN(10) == 0, RoundTrip: r.IntN(3) == 0, MaxBytes: []int{0, 1, 50}[r.IntN(3)]}
	for rank := range h.ranks {
		k := 1 + r.IntN(4)
		if rank > 0 && r.IntN(5) == 0 {
			k = 0
		}
		h.lanes = append(h.lanes, k)
		h.sickAt = append(h.sickAt, -1)
		if r.IntN(12) == 0 {
			h.sickAt[rank] = r.IntN(10)
		}
	}
	slices.Sort(h.lanes)
	rand.New(rand.NewPCG(seed, 2)).Shuffle(h.ranks, func(i, j int) { h.lanes[i], h.lanes[j] = h.lanes[j], h.lanes[i] })
	scale := []time.Duration{0, time.Microsecond, time.Millisecond, time.Second}[r.IntN(4)]
	h.scale = scale
	for range n {
		h.cost = append(h.cost, time.Duration(r.ExpFloat64()*float64(scale)))
	}
	if n > 0 && r.IntN(2) == 0 {
		for range 1 + r.IntN(4) {
			h.fail[r.IntN(n)] = []string{"error", "panic", "goexit", "late"}[r.IntN(4)]
		}
	}
	if r.IntN(4) == 0 {
		for range 1 + r.IntN(2) {
			h.cancel[r.IntN(h.ranks)] = time.Duration(r.Float64() * float64(scale) * float64(n+1) / 3)
		}
	}
	h.obey = r.IntN(3) > 0
	h.hot = []int{1, 1, 1, 1, 1, 1, 4, 4, 20, 400 / (1 + r.IntN(40))}[r.IntN(10)]
	h.nap = scale
	h.net = mpitest.Options{Eager: []int{0, -1, 64}[r.IntN(3)]}
	if r.IntN(2) == 0 {
		h.net.Seed = seed | 1
	}
	if r.IntN(2) == 0 {
		limit := []time.Duration{10 * time.Microsecond, time.Millisecond, 100 * time.Millisecond}[r.IntN(3)]
		h.nap = max(h.nap, limit)
		dr := rand.New(rand.NewPCG(seed, 3))
		h.net.Delay = func(mpitest.Message) time.Duration { return time.Duration(dr.Int64N(int64(limit))) }
	}
	h.nap /= []time.Duration{2, 5, 20}[r.IntN(3)] // it may be late for most, or for none
	if r.IntN(4) == 0 {
		hint := r.Perm(n)
		h.opts.Cost = func(i int) float64 { return float64(hint[i] / 2) }
	}
	if r.IntN(4) == 0 {
		h.opts.Copies = 1 + r.IntN(2)
	}
	return h
}

func (h *history) String() string {
	return fmt.Sprintf("seed %d: %d ranks, lanes %v, sick %v, %d items, fail %v, cancel %v, opts {Root %d Batch %d Depth %d FirstSeen %v RoundTrip %v MaxBytes %d Cost %v Copies %d}",
		h.seed, h.ranks, h.lanes, h.sickAt, len(h.cost), h.fail, h.cancel, h.opts.Root, h.opts.Batch, h.opts.Depth, h.opts.FirstSeen, h.opts.RoundTrip, h.opts.MaxBytes, h.opts.Cost != nil, h.opts.Copies)
}

// outcome is what one rank got from one call.
type outcome struct {
	results []string
	err     error
	counted int // Stats.Items
}

// run makes the calls of the history on one rank.
func (h *history) run(w *World, ran []atomic.Int32, out []outcome) error {
	w.hot = h.hot
	w.pause = func(d time.Duration) { time.Sleep(max(d, h.nap)) } // the bubble's time
	for call := range out {
		h.call(w, ran, &out[call])
		if call < len(out)-1 { // forget who was evaluated, between two agreements
			for k := range 2 {
				if err := w.Agree(context.Background(), nil); err != nil {
					return err
				}
				for i := 0; k == 0 && w.Rank() == 0 && i < len(ran); i++ {
					ran[i].Store(0)
				}
			}
		}
	}
	return nil
}

func (h *history) call(w *World, ran []atomic.Int32, out *outcome) {
	me := w.Rank()
	ctx := context.Background()
	if d, ok := h.cancel[me]; ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	var ex lanes.Executor[int]
	if k := h.lanes[me]; k > 0 {
		var done atomic.Int32
		res := make([]int, k)
		for i := range res {
			res[i] = i
		}
		ex = lanes.Of(res, lanes.Options[int]{Healthy: func(lane lanes.Lane, _ int) error {
			if lane == 0 && h.sickAt[me] >= 0 && int(done.Add(1)) > h.sickAt[me] {
				return errors.New("sick")
			}
			return nil
		}})
	}
	var items []string
	if me == h.opts.Root {
		items = make([]string, len(h.cost))
		for i := range items {
			items[i] = fmt.Sprint(i)
		}
	}
	var st Stats
	o := h.opts
	o.Stats = &st
	out.results, out.err = PmapLanes(ctx, w, ex, o, items, func(ctx context.Context, _ int, item string) (string, error) {
		var i int
		if _, err := fmt.Sscan(item, &i); err != nil {
			return "", err
		}
		ran[i].Add(1)
		if h.obey {
			select {
			case <-ctx.Done():
				return "", fmt.Errorf("item %d: %w", i, context.Cause(ctx))
			case <-time.After(h.cost[i]):
			}
		} else {
			time.Sleep(h.cost[i])
		}
		switch h.fail[i] {
		case "error":
			return "", fmt.Errorf("item %d fails", i)
		case "panic":
			panic(fmt.Sprintf("item %d fails", i))
		case "goexit":
			runtime.Goexit()
		case "late":
			time.Sleep(time.Millisecond)
			return "", fmt.Errorf("item %d fails", i)
		}
		return item + "!", nil
	})
	out.counted = st.Items
}

// check compares what the ranks got with a serial evaluation.
func (h *history) check(ran []atomic.Int32, outs [][]outcome) error {
	lowest := -1
	for i := range h.cost {
		if h.fail[i] != "" && (lowest < 0 || i < lowest) {
			lowest = i
		}
	}
	for i := range ran {
		if n := ran[i].Load(); int(n) > 1+h.opts.Copies {
			return fmt.Errorf("item %d evaluated %d times", i, n)
		}
	}
	for call := range h.calls {
		first := outs[0][call].err
		for r := range outs {
			o := outs[r][call]
			if fmt.Sprint(o.err) != fmt.Sprint(first) {
				return fmt.Errorf("call %d: rank %d got %v, rank 0 %v", call, r, o.err, first)
			}
			if o.err != nil && o.results != nil || r != h.opts.Root && o.results != nil {
				return fmt.Errorf("call %d: rank %d got results", call, r)
			}
		}
		n := len(h.cost)
		if c := outs[h.opts.Root][call].counted; first == nil && (c < n || c > n*(1+h.opts.Copies)) {
			return fmt.Errorf("call %d: statistics count %d of %d items", call, c, n)
		}
		if err := h.judge(first, lowest, outs[h.opts.Root][call].results); err != nil {
			return fmt.Errorf("call %d: %w", call, err)
		}
		if call == h.calls-1 && first == nil {
			for i := range ran {
				if n := int(ran[i].Load()); n < 1 || n > 1+h.opts.Copies {
					return fmt.Errorf("item %d evaluated %d times", i, ran[i].Load())
				}
			}
		}
	}
	return nil
}

// judge says whether the outcome of a call is one that the rules allow.
func (h *history) judge(err error, lowest int, results []string) error {
	var item *ItemError
	var cancel *CancelError
	var rank *RankError
	var pre *PreflightError
	sick, lanes := 0, 0
	for r := range h.ranks {
		lanes += h.lanes[r]
		if h.lanes[r] == 0 || h.lanes[r] == 1 && h.sickAt[r] >= 0 {
			sick++
		}
	}
	switch {
	case err == nil:
		if lowest >= 0 {
			return fmt.Errorf("item %d failed and nobody noticed", lowest)
		}
		if len(results) != len(h.cost) {
			return fmt.Errorf("%d of %d results", len(results), len(h.cost))
		}
		for i, s := range results {
			if s != fmt.Sprintf("%d!", i) {
				return fmt.Errorf("result %d is %q", i, s)
			}
		}
	case errors.As(err, &cancel):
		if len(h.cancel) == 0 || !errors.Is(err, context.Canceled) {
			return fmt.Errorf("nobody cancelled: %v", err)
		}
		if _, ok := h.cancel[cancel.Rank]; !ok {
			return fmt.Errorf("not cancelled on rank %d: %v", cancel.Rank, err)
		}
	case errors.As(err, &item):
		if h.fail[item.Index] == "" || !h.opts.FirstSeen && item.Index != lowest {
			return fmt.Errorf("lowest failure is %d, got %v", lowest, err)
		}
	case errors.As(err, &rank):
		if sick < h.ranks || !errors.Is(err, ErrNoHealthyLane) {
			return err
		}
	case errors.As(err, &pre):
		if lanes > 0 || len(h.cost) == 0 || !errors.Is(err, ErrNoLanes) {
			return err
		}
	default:
		return err
	}
	return nil
}

// number is how many histories to run, less with -short.
func number() int {
	if testing.Short() {
		return max(*histories/8, 1)
	}
	return *histories
}

func TestHistories(t *testing.T) {
	n, base := number(), uint64(time.Now().UnixNano())
	if *seedFlag != 0 {
		n, base = 1, *seedFlag
	}
	t.Logf("%d random histories from seed %d on", n, base)
	var failed atomic.Bool
	const parts = 2 // side by side
	for part := range parts {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			for k := part; k < n && !failed.Load(); k += parts {
				h := newHistory(base + uint64(k))
				synctest.Test(t, func(t *testing.T) {
					if err := h.try(); err != nil {
						failed.Store(true)
						t.Errorf("%v\n%v", h, err)
					}
				})
			}
		})
	}
}

// try runs the history on ranks of its own, inside a bubble.
func (h *history) try() error {
	late := time.AfterFunc(100*time.Second+1000*h.scale, func() { panic(fmt.Sprint("hangs: ", h)) })
	defer late.Stop()
	net := mpitest.New(h.ranks, h.net)
	ran := make([]atomic.Int32, len(h.cost))
	outs := make([][]outcome, h.ranks)
	err := net.Run(func(c transport.Comm) error {
		w, err := NewWorld(c)
		if err != nil {
			return err
		}
		outs[w.Rank()] = make([]outcome, h.calls)
		if err := h.run(w, ran, outs[w.Rank()]); err != nil {
			return err
		}
		return w.Close()
	})
	if err != nil {
		return err
	}
	return errors.Join(net.Check(), h.check(ran, outs))
}
