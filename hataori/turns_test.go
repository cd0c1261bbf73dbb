package hataori

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// A coordinator that lanes need leaves them alone for 8 ms only if their gaps allow.
func TestUnevenGaps(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, c := range []struct {
		name   string
		gap    func(k int) time.Duration // between a turn of a lane and the next look
		rest   time.Duration             // of turns after short gaps, which nobody sees
		uneven bool
	}{
		{"all 1 ms", func(int) time.Duration { return time.Millisecond }, 0, false},
		{"all 5 ms", func(int) time.Duration { return 5 * time.Millisecond }, 0, false},
		{"Pareto 1.5, 0.2 ms up", func(int) time.Duration {
			return time.Duration(2e5 * math.Pow(1-r.Float64(), -1/1.5))
		}, 0, true},
		{"1 ms, preempted for 4 ms now and then", func(k int) time.Duration {
			if k%100 == 0 {
				return 5 * time.Millisecond
			}
			return time.Millisecond
		}, 0, false},
		{"5 ms now and then among short ones", func(int) time.Duration { return 5 * time.Millisecond }, 100 * time.Millisecond, false},
		{"one long wait before the first", func(k int) time.Duration {
			if k == 0 {
				return time.Minute
			}
			return time.Millisecond
		}, 0, false},
	} {
		u := new(turns)
		at := time.Microsecond
		for k := range 2000 {
			u.looked = int64(at)
			at += c.gap(k)
			u.saw(at)
			at += c.rest
		}
		if u.uneven.Load() != c.uneven {
			t.Errorf("%s: uneven is %v", c.name, u.uneven.Load())
		}
	}
}
