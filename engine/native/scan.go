package native

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// Scan looks for elements of a strided tensor in row-major order.
type Scan struct {
	axes []axis
	n    int
	bad  Bad
}

// Bad finds the first bad one of n elements that lie step bytes apart from p
// on, or returns −1.
type Bad func(p unsafe.Pointer, n, step int) int

// badIf makes a Bad of a test of one element.
func badIf[T any](test func(x T) bool) Bad {
	return func(p unsafe.Pointer, n, step int) int {
		for i := range n {
			if test(*(*T)(unsafe.Add(p, i*step))) {
				return i
			}
		}
		return -1
	}
}

// NewScan plans a search for the first element that is bad, in a tensor whose
// elements have size bytes.
func NewScan(size int, extents, strides []int, bad Bad) *Scan {
	s := &Scan{n: 1, bad: bad}
	for i, n := range extents {
		s.axes = append(s.axes, axis{n: n, step: [maxOperands]int{strides[i] * size}})
		s.n *= n
	}
	joined := nest{axes: s.axes}
	joined.merge()
	s.axes = joined.axes
	return s
}

// Items is the number of elements.
func (s *Scan) Items() int { return s.n }

// Run returns the row-major position of the first bad element in [lo, hi), or −1.
func (s *Scan) Run(p unsafe.Pointer, lo, hi int) int {
	if lo >= hi {
		return -1
	}
	inner, outer := axis{n: 1}, s.axes
	if k := len(s.axes) - 1; k >= 0 {
		inner, outer = s.axes[k], s.axes[:k]
	}
	var o odometer
	o.seek(outer, [maxOperands]int{}, lo/inner.n)
	for i, at := lo, lo%inner.n; i < hi; {
		n := min(inner.n-at, hi-i)
		if k := s.bad(unsafe.Add(p, o.pos[0]+at*inner.step[0]), n, inner.step[0]); k >= 0 {
			return i + k
		}
		i, at = i+n, 0
		o.next()
	}
	return -1
}

// Zero finds an integer of dtype d that is 0.
func Zero(d engine.DType) Bad {
	if d == engine.Int32 {
		return badIf(func(x int32) bool { return x == 0 })
	}
	return badIf(func(x int64) bool { return x == 0 })
}

// Outside finds an integer of dtype d that is no position on an axis of extent n.
func Outside(d engine.DType, n int) Bad {
	if d == engine.Int32 {
		return outside[int32](n)
	}
	return outside[int64](n)
}

func outside[I integer](extent int) Bad {
	const chunk = 256
	return func(p unsafe.Pointer, n, step int) int {
		i := 0
		// Whole chunks by their greatest, without a branch for each.
		for ; step == int(unsafe.Sizeof(I(0))) && i+chunk <= n; i += chunk {
			var most uint64
			for _, k := range unsafe.Slice((*I)(unsafe.Add(p, i*step)), chunk) {
				most = max(most, uint64(k))
			}
			if most >= uint64(extent) {
				break
			}
		}
		for ; i < n; i++ {
			if uint64(*(*I)(unsafe.Add(p, i*step))) >= uint64(extent) { // negative ones too
				return i
			}
		}
		return -1
	}
}
