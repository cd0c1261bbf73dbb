package simulate

import (
	"container/heap"
	"time"
)

// Greedy is the makespan of list scheduling without any cost: the items in order,
// each to the lane that is free first, the fastest one among equals. slow holds a
// factor for each lane.
func Greedy(items []time.Duration, slow []float64) time.Duration {
	h := make(freeLanes, len(slow))
	for i, s := range slow {
		h[i] = freeLane{0, s, i}
	}
	heap.Init(&h)
	var end time.Duration
	for _, d := range items {
		h[0].at += time.Duration(float64(d) * h[0].slow)
		end = max(end, h[0].at)
		heap.Fix(&h, 0)
	}
	return end
}

type freeLane struct {
	at   time.Duration
	slow float64
	id   int
}

type freeLanes []freeLane

func (h freeLanes) Len() int      { return len(h) }
func (h freeLanes) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h freeLanes) Less(i, j int) bool {
	a, b := &h[i], &h[j]
	switch {
	case a.at != b.at:
		return a.at < b.at
	case a.slow != b.slow:
		return a.slow < b.slow
	}
	return a.id < b.id
}
func (h *freeLanes) Push(any) { panic("simulate: a world does not grow") }
func (h *freeLanes) Pop() any { panic("simulate: a world does not shrink") }

// Lanes returns the factor of each lane of the ranks.
func Lanes(ranks []Rank) (slow []float64) {
	for _, r := range ranks {
		for range r.Lanes {
			if r.Slow == 0 {
				slow = append(slow, 1)
			} else {
				slow = append(slow, r.Slow)
			}
		}
	}
	return slow
}
