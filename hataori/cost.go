package hataori

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hataori/hataori-go/hataori/internal/farm"
)

// An order is the items in the order in which they are handed out: the machines
// count places in it, and an item's index is the key by which failures compare. nil:
// as they are in the list.
type order []int64

// costOrder sorts n items by falling cost, those of equal cost by index.
func costOrder(cost func(index int) float64, n int) (order, error) {
	at := 0
	costs := make([]float64, n)
	if err := apart(func() {
		for ; at < n; at++ {
			costs[at] = cost(at)
		}
	}); err != nil {
		return nil, fmt.Errorf("option Cost did not return for item %d: %w", at, err)
	}
	sorted := true
	for i, c := range costs {
		if math.IsNaN(c) {
			return nil, fmt.Errorf("option Cost is NaN for item %d", i)
		}
		sorted = sorted && (i == 0 || c <= costs[i-1])
	}
	if sorted {
		return nil, nil
	}
	o := make(order, n)
	for i := range o {
		o[i] = int64(i)
	}
	slices.SortFunc(o, func(a, b int64) int { return cmp.Or(cmp.Compare(costs[b], costs[a]), cmp.Compare(a, b)) })
	return o, nil
}

// index is that of the item at the place.
func (o order) index(place int64) int64 {
	if o == nil {
		return place
	}
	return o[place]
}

// lay gives the queue the order.
func (o order) lay(q *farm.Queue) {
	if o == nil {
		return
	}
	place := make([]int64, len(o))
	for p, i := range o {
		place[i] = int64(p)
	}
	q.SetOrder(func(_ any, p int64) int64 { return o[p] }, place)
}

// orderedSource and orderedSink are what they hold, by place.
type orderedSource[T any] struct {
	items []T
	order order
}

func (s *orderedSource[T]) item(place int64) *T { return &s.items[s.order[place]] }

type orderedSink[U any] struct {
	sink[U]
	order order
}

func (s *orderedSink[U]) put(place int64, v *U) { s.sink.put(s.order[place], v) }
