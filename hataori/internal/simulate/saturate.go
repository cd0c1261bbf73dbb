package simulate

import (
	"math"
	"time"
)

// Load is how a root fares in a world of ranks with one lane each that evaluate
// equal items.
type Load struct {
	Ranks  int
	PerRun int // items of one rank
	Result *Result
	Relay  float64 // share of the time that the busiest other coordinator was busy
}

// Saturate runs items of time d on that many ranks, each as often as the
// budget of items allows, but no longer than length.
func Saturate(ranks int, d, length time.Duration, batch int64, group, budget int) (*Load, error) {
	per := max(min(int(length/d), budget/ranks), 20)
	r, err := Run(Config{Ranks: Uniform(ranks, 1), Items: Constant(ranks*per, d), Batch: batch, Group: group, Costs: Typical})
	if err != nil {
		return nil, err
	}
	l := &Load{Ranks: ranks, PerRun: per, Result: r}
	for _, x := range r.Ranks[1:] {
		l.Relay = max(l.Relay, float64(x.CPU)/float64(r.Elapsed))
	}
	return l, nil
}

// Saturated is the number of ranks, to a few per cent, from which on the root's
// coordinator is busy all the time while the call is in full swing, or most+1
// if that is more than most.
func Saturated(most int, d, length time.Duration, batch int64, group, budget int) (int, error) {
	busy := func(ranks int) (bool, error) {
		l, err := Saturate(ranks, d, length, batch, group, budget)
		return err == nil && l.Result.Steady.Root > 0.97, err
	}
	if b, err := busy(most); err != nil || !b {
		return most + 1, err
	}
	lo, hi := 2, most // lo: not
	for hi*100 > lo*105 {
		mid := max(lo+1, int(float64(lo)*math.Sqrt(float64(hi)/float64(lo))))
		b, err := busy(mid)
		if err != nil {
			return 0, err
		}
		if b {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, nil
}
