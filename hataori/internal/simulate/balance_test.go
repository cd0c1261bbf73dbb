package simulate

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

const (
	us = time.Microsecond
	ms = time.Millisecond
)

func run(t *testing.T, cfg Config) *Result {
	t.Helper()
	if cfg.Costs == (Costs{}) {
		cfg.Costs = Typical
	}
	r, err := Run(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestGreedy holds whole runs against list scheduling without any cost.
func TestGreedy(t *testing.T) {
	for _, ranks := range []int{2, 3, 8, 16, 64} {
		for _, lanes := range []int{1, 4} {
			n := 200 * ranks * lanes
			for _, c := range []struct {
				name  string
				items []time.Duration
			}{
				{"constant, 10 ms", Constant(n, 10*ms)},
				{"constant, 1 ms", Constant(n, ms)},
				{"constant, 100 µs", Constant(10*n, 100*us)},
				{"constant, 50 µs", Constant(10*n, 50*us)},
				{"ascending to 2 ms", Ascending(n, ms)},
				{"descending from 2 ms", Descending(n, ms)},
				{"Pareto 1.5, 0.3 ms up", Pareto(n, 300*us, 1.5, 1)},
				{"Pareto 1.5, 3 ms up", Pareto(n, 3*ms, 1.5, 2)},
				{"Pareto 1.5, 30 µs up", Pareto(5*n, 30*us, 1.5, 3)},
				{"1 ms and one of 3 s", WithOne(n, ms, n/2, 3*time.Second)},
			} {
				w := Uniform(ranks, lanes)
				r := run(t, Config{Ranks: w, Items: c.items})
				g := Greedy(c.items, Lanes(w))
				ratio := float64(r.Elapsed) / float64(g)
				t.Logf("%3d × %d lanes  %-22s greedy %9.1f ms  %.4f × greedy, %5d batches of %d to %d, %d taken back by %d notices", ranks, lanes, c.name,
					g.Seconds()*1e3, ratio, r.Granted.Batches, r.Granted.Smallest, r.Granted.Largest, r.Granted.TakenBack, r.Granted.Notices)
				if ratio > 1.03 {
					t.Errorf("%d ranks of %d lanes, %s: %.4f × greedy", ranks, lanes, c.name, ratio)
				}
			}
		}
	}
}

// A long item delays nobody: the others end as if it occupied its lane alone.
func TestLongItem(t *testing.T) {
	for _, w := range [][]Rank{Uniform(2, 1), Uniform(4, 2), Uniform(64, 1)} {
		lanes := len(Lanes(w))
		n := 500 * lanes
		for _, at := range []int{0, 5, n / 2, n - 1} {
			items := WithOne(n, ms, at, 3*time.Second)
			r := run(t, Config{Ranks: w, Items: items})
			r.Ends[at] = 0
			last := slices.Max(r.Ends)
			least := time.Duration(n) * ms / time.Duration(lanes-1)
			if last > least*103/100 {
				t.Errorf("%d lanes, long item at %d of %d: the others end at %v, could at %v", lanes, at, n, last, least)
			}
		}
	}
}

// Ranks get work by their lanes and by their speed.
func TestShares(t *testing.T) {
	for _, c := range []struct {
		name  string
		ranks []Rank
		share []float64
	}{
		{"1 and 7 lanes", []Rank{{Lanes: 1}, {Lanes: 7}}, []float64{1, 7}},
		{"7 and 1 lanes", []Rank{{Lanes: 7}, {Lanes: 1}}, []float64{7, 1}},
		{"1 and 7 lanes below a root that only coordinates", []Rank{{}, {Lanes: 1}, {Lanes: 7}}, []float64{0, 1, 7}},
		{"one rank four times slower", []Rank{{Lanes: 1}, {Lanes: 1}, {Lanes: 1, Slow: 4}}, []float64{4, 4, 1}},
		{"the root four times slower", []Rank{{Lanes: 2, Slow: 4}, {Lanes: 2}, {Lanes: 2}}, []float64{1, 4, 4}},
	} {
		for _, d := range []time.Duration{20 * us, ms, 60 * ms} {
			n := max(4000, int(800*ms/d))
			r := run(t, Config{Ranks: c.ranks, Items: Constant(n, d)})
			var sum float64
			for _, x := range c.share {
				sum += x
			}
			for i, x := range c.share {
				got, want := float64(r.Ranks[i].Items), float64(n)*x/sum
				if got < 0.95*want || got > 1.05*want {
					t.Errorf("%s, items of %v: rank %d did %.0f of %d, want about %.0f", c.name, d, i, got, n, want)
				}
			}
			if g := Greedy(Constant(n, d), Lanes(c.ranks)); r.Elapsed > g*103/100 {
				t.Errorf("%s, items of %v: %v, greedy %v", c.name, d, r.Elapsed, g)
			}
		}
	}
}

// Equal items on 14 lanes: a lane is idle for less than one item.
func TestIdleAtEnd(t *testing.T) {
	for _, w := range [][]Rank{Uniform(14, 1), Uniform(7, 2), Uniform(2, 7)} {
		for _, d := range []time.Duration{10 * ms, 100 * ms} {
			r := run(t, Config{Ranks: w, Items: Constant(1000, d)})
			if idle := r.Work - 1000*d/14; idle >= d {
				t.Errorf("%d ranks, items of %v: a lane is idle for %v on average", len(w), d, idle)
			}
		}
	}
}

// Long items are not hoarded, short ones travel by the hundred.
func TestDepth(t *testing.T) {
	w := Uniform(4, 2)
	r := run(t, Config{Ranks: w, Items: Constant(400, time.Second)})
	for i := range r.Ranks {
		if r.Ranks[i].MaxStore > 0 {
			t.Errorf("rank %d has %d items of 1 s in store while its lanes work", i, r.Ranks[i].MaxStore)
		}
	}
	r = run(t, Config{Ranks: w, Items: Constant(400_000, us)})
	if mean := r.Granted.Items / r.Granted.Batches; mean < 100 {
		t.Errorf("items of 1 µs travel in batches of %d on average", mean)
	}
	for i := 1; i < len(w); i++ {
		if r.Ranks[i].MaxStore < 8 {
			t.Errorf("rank %d has at most %d items of 1 µs in store", i, r.Ranks[i].MaxStore)
		}
	}
}

// The longest first: what an order by a hint of the cost brings.
func TestLongestFirst(t *testing.T) {
	w := Uniform(16, 1)
	for seed := range uint64(3) {
		items := Pareto(16*50, ms, 1.5, seed+10)
		sorted := slices.Clone(items)
		slices.SortFunc(sorted, func(a, b time.Duration) int { return int(b - a) })
		var sum time.Duration
		for _, d := range items {
			sum += d
		}
		least := max(sorted[0], sum/16)
		a, b := run(t, Config{Ranks: w, Items: items}), run(t, Config{Ranks: w, Items: sorted})
		t.Logf("least possible %v: in order %.3f, longest first %.3f", least, float64(a.Elapsed)/float64(least), float64(b.Elapsed)/float64(least))
		if b.Elapsed > least*103/100 {
			t.Errorf("longest first takes %v, least possible is %v", b.Elapsed, least)
		}
	}
}

// The same run is the same to the nanosecond.
func TestDeterministic(t *testing.T) {
	cfg := Config{Ranks: Uniform(5, 3), Items: Pareto(3000, 100*us, 1.5, 9)}
	a, b := run(t, cfg), run(t, cfg)
	if fmt.Sprintf("%+v", a) != fmt.Sprintf("%+v", b) {
		t.Error("two runs differ")
	}
}

// Greedy by hand.
func TestGreedyItself(t *testing.T) {
	for _, c := range []struct {
		items []time.Duration
		slow  []float64
		want  time.Duration
	}{
		{nil, []float64{1}, 0},
		{[]time.Duration{3, 1, 1, 1, 2}, []float64{1, 1}, 5},
		{[]time.Duration{4, 4, 4, 4, 4}, []float64{1, 4}, 16},
		{[]time.Duration{7}, []float64{2, 1}, 7},
	} {
		if got := Greedy(c.items, c.slow); got != c.want {
			t.Errorf("%v on %v: %d, want %d", c.items, c.slow, got, c.want)
		}
	}
}
