package main

import (
	"runtime"
	"testing"
)

// flat are samples of two ranks in thirty rounds, the first ones of the warm-up.
func flat() [][]Sample {
	var all [][]Sample
	for range 2 {
		var one []Sample
		for i := range 30 {
			s := Sample{Rest: 30 << 20, Heap: 4 << 20, Peak: 40 << 20, Goroutines: 3, Files: 20}
			if i < 6 {
				s.Rest, s.Peak = 10<<20, 10<<20 // growth of the warm-up does not count
			}
			if i == 20 {
				s.Peak *= 3 // nor does one round
			}
			one = append(one, s)
		}
		all = append(all, one)
	}
	return all
}

func TestJudge(t *testing.T) {
	if g := judge(flat()); !g.holds() || g.rest != 0 || g.heap != 0 || g.peak != 0 {
		t.Errorf("flat memory: %v", g)
	}
	for what, spoil := range map[string]func(s *Sample, round int64){
		"rest":       func(s *Sample, k int64) { s.Rest += k * (s.Rest / 250) },
		"heap":       func(s *Sample, k int64) { s.Heap += k * (s.Heap / 250) },
		"peak":       func(s *Sample, k int64) { s.Peak += k * (s.Peak / 250) },
		"goroutines": func(s *Sample, k int64) { s.Goroutines += k / 10 },
		"files":      func(s *Sample, k int64) { s.Files += k / 10 },
		"unknown":    func(s *Sample, _ int64) { s.Rest = 0 },
	} {
		all := flat()
		for k := range all[1] {
			spoil(&all[1][k], int64(k))
		}
		if g := judge(all); g.holds() {
			t.Errorf("%s of one rank grows: %v", what, g)
		}
	}
}

// TestWatch makes memory resident during a round and lets it go.
func TestWatch(t *testing.T) {
	if resident() == 0 {
		t.Skip("the system does not tell what a process has in memory")
	}
	const size = 64 << 20
	w := newWatch()
	round := func(n int) Sample {
		w.begin()
		b := make([]byte, n)
		for i := range b {
			b[i] = 1
		}
		for range 5 { // until the watcher has looked, which it does at the end, too
			runtime.Gosched()
		}
		runtime.KeepAlive(b)
		w.end()
		return w.samples[len(w.samples)-1]
	}
	small := round(1)
	large := round(size)
	if large.Heap > small.Heap+size/2 || !raceDetector && large.Rest > small.Rest+size/2 {
		t.Errorf("memory that was let go is counted: %+v, before %+v", large, small)
	}
	if small.Goroutines < 2 || small.Files < 3 {
		t.Errorf("%+v", small)
	}
}

// TestWatchIsBounded keeps samples that are evenly spread over all rounds.
func TestWatchIsBounded(t *testing.T) {
	w := newWatch()
	const rounds = 10 * mostSamples
	for i := range rounds {
		w.add(Sample{Rest: int64(i)})
	}
	n := len(w.samples)
	if n > mostSamples || n < mostSamples/2 || w.rounds != rounds {
		t.Fatalf("%d samples of %d rounds", n, w.rounds)
	}
	for i := 1; i < n; i++ {
		if d := w.samples[i].Rest - w.samples[i-1].Rest; d != int64(w.stride) {
			t.Fatalf("samples %d and %d are %d rounds apart, not %d", i-1, i, d, w.stride)
		}
	}
	if last := w.samples[n-1].Rest; last < rounds-1-int64(w.stride) {
		t.Errorf("the last sample is of round %d", last)
	}
}
