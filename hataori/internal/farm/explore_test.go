package farm

import (
	"slices"
	"testing"
	"time"
)

// TestExplore visits the whole reachable state space of small worlds; with -short,
// of the smaller ones among them.
func TestExplore(t *testing.T) {
	worlds := []config{
		{name: "batch 1, depth 1", large: true, items: 4, lanes: []int{2, 2, 2}, batch: 1, depth: 1},
		{name: "coordinating root, prefetch", items: 3, lanes: []int{0, 2, 2}, item: time.Microsecond},
		{name: "prefetch, late lanes", items: 3, lanes: []int{0, 1, 1}, item: time.Microsecond, late: true},
		{name: "prefetch, late lanes, failure", items: 3, lanes: []int{1, 2}, item: time.Microsecond, late: true, fail: 0b010},
		{name: "copies, prefetch, late lanes", large: true, items: 2, lanes: []int{0, 1, 1}, item: time.Microsecond, late: true, copies: 1, failOn: []uint64{0, 0, 0}},
		{name: "prefetch, batch 2, returns", large: true, items: 4, lanes: []int{1, 1, 1}, batch: 2, item: time.Microsecond},
		{name: "root is rank 1, failures", large: true, items: 5, lanes: []int{1, 1, 2}, root: 1, fail: 0b11010, batch: 2},
		{name: "longest first, failures", large: true, items: 4, lanes: []int{1, 1, 1}, fail: 0b1101, batch: 2, keys: []int64{2, 0, 3, 1}},
		{name: "longest first, cut, cannot be encoded", large: true, items: 4, lanes: []int{1, 1, 1}, fail: 0b0010, badEncode: 0b0100, cut: true, batch: 3, keys: []int64{3, 2, 1, 0}},
		{name: "longest first, sick lane", large: true, items: 3, lanes: []int{1, 1, 1}, fail: 0b011, sick: 1, batch: 2, keys: []int64{1, 2, 0}},
		{name: "copies", items: 3, lanes: []int{0, 1, 1}, batch: 1, copies: 1, failOn: []uint64{0, 0, 0}},
		{name: "copies that fail", items: 2, lanes: []int{0, 1, 1}, batch: 1, copies: 1, failOn: []uint64{0, 0b11, 0b10}},
		{name: "one copy, three ranks", large: true, items: 2, lanes: []int{0, 1, 1, 1}, batch: 1, copies: 1, failOn: []uint64{0, 0b01, 0b01, 0b10}},
		{name: "two copies, failures, batch 2", large: true, items: 2, lanes: []int{0, 1, 1, 1}, batch: 2, copies: 2, failOn: []uint64{0, 0b11, 0b10, 0b11}},
		{name: "copies, sick lanes", large: true, items: 2, lanes: []int{0, 1, 2}, batch: 1, copies: 1, sick: 2, failOn: []uint64{0, 0b10, 0}},
		{name: "copies, cancel, longest first", items: 2, lanes: []int{0, 1, 1}, batch: 1, copies: 1, cancel: []int{1}, keys: []int64{1, 0}, failOn: []uint64{0, 0b01, 0b10}},
		{name: "first seen", large: true, items: 4, lanes: []int{1, 1, 1}, fail: 0b1010, first: true, batch: 2},
		{name: "cannot be encoded, cut", items: 4, lanes: []int{1, 1, 1}, fail: 0b1000, badEncode: 0b0100, cut: true, batch: 3},
		{name: "cancel and failure", large: true, items: 3, lanes: []int{1, 1, 1}, cancel: []int{1}, fail: 0b010, batch: 2},
		{name: "sick lanes", large: true, items: 3, lanes: []int{1, 1, 1}, sick: 2, batch: 2},
		{name: "all lanes sick", large: true, items: 2, lanes: []int{1, 1, 1}, sick: 3, batch: 2},
		{name: "source", large: true, items: 3, lanes: []int{1, 1, 1}, source: true, item: time.Microsecond},
		{name: "source, failure", items: 3, lanes: []int{1, 1, 1}, source: true, fail: 0b110, batch: 2},
		{name: "source, cancel, sick lanes", items: 2, lanes: []int{1, 1}, source: true, sick: 2, cancel: []int{1}},
		{name: "sick lanes and failure, flushes", items: 3, lanes: []int{0, 1, 1}, sick: 2, fail: 0b110, flush: true, batch: 1},
	}
	worlds = slices.DeleteFunc(worlds, func(c config) bool { return c.large && testing.Short() })
	total := explore(t, worlds, func(c *config) (string, *system) { return c.name, newSystem(c) })
	if total < 100_000 {
		t.Errorf("only %d states: the worlds are too small to show anything", total)
	}
}
