package simulate

import (
	"testing"
	"time"
)

// Relays: nothing is lost of the balance, and the root hears less.
func TestRelays(t *testing.T) {
	w := Uniform(64, 1)
	for _, c := range []struct {
		name  string
		items []time.Duration
	}{
		{"constant, 1 ms", Constant(64*200, ms)},
		{"constant, 100 ms", Constant(64*50, 100*ms)},
		{"ascending to 2 ms", Ascending(64*200, ms)},
		{"descending from 2 ms", Descending(64*200, ms)},
		{"Pareto 1.5, 0.3 ms up", Pareto(64*400, 300*us, 1.5, 1)},
		{"Pareto 1.5, 3 ms up", Pareto(64*200, 3*ms, 1.5, 2)},
		{"1 ms and one of 3 s", WithOne(64*200, ms, 5000, 3*time.Second)},
	} {
		one := run(t, Config{Ranks: w, Items: c.items})
		two := run(t, Config{Ranks: w, Items: c.items, Group: 8})
		g := Greedy(c.items, Lanes(w))
		ratio := float64(two.Elapsed) / float64(g)
		t.Logf("%-22s %.4f × greedy in one level, %.4f in two; %d and %d messages at the root", c.name, float64(one.Elapsed)/float64(g), ratio,
			one.Ranks[0].Messages, two.Ranks[0].Messages)
		if ratio > 1.03 {
			t.Errorf("%s: %.4f × greedy in two levels", c.name, ratio)
		}
	}
}

// Where each item travels alone, the number of ranks that one root can serve is
// at least ten times as large with relays.
func TestRelaysLiftSaturation(t *testing.T) {
	const d = 200 * us
	busy := func(ranks, group int) float64 {
		l, err := Saturate(ranks, d, 20*ms, 1, group, 100_000)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%d ranks in groups of %d: root %.2f of the time busy, %.0f messages/s, lanes %.2f", ranks, group, l.Result.Steady.Root,
			l.Result.Steady.Messages, l.Result.Steady.Lanes)
		return l.Result.Steady.Root
	}
	const few = 80
	if b := busy(few, 0); b < 0.97 {
		t.Errorf("one level, %d ranks: the root is only %.2f of the time busy", few, b)
	}
	if b := busy(10*few, 32); b > 0.9 {
		t.Errorf("two levels, %d ranks: the root is %.2f of the time busy", 10*few, b)
	}
}
