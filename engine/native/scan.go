package native

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// Scan looks for elements of a strided tensor in row-major order.
type Scan struct {
	axes []axis
	n    int
	bad  func(unsafe.Pointer) bool
}

// NewScan plans a search for the first element that is bad, in a tensor whose
// elements have size bytes.
func NewScan(size int, extents, strides []int, bad func(p unsafe.Pointer) bool) *Scan {
	s := &Scan{n: 1, bad: bad}
	for i, n := range extents {
		s.axes = append(s.axes, axis{n: n, step: [maxOperands]int{strides[i] * size}})
		s.n *= n
	}
	return s
}

// Items is the number of elements.
func (s *Scan) Items() int { return s.n }

// Run returns the row-major position of the first bad element in [lo, hi), or −1.
func (s *Scan) Run(p unsafe.Pointer, lo, hi int) int {
	if lo >= hi {
		return -1
	}
	var o odometer
	o.seek(s.axes, [maxOperands]int{}, lo)
	for i := lo; i < hi; i++ {
		if s.bad(unsafe.Add(p, o.pos[0])) {
			return i
		}
		o.next()
	}
	return -1
}

// Zero returns whether the integer of dtype d at p is 0.
func Zero(d engine.DType) func(p unsafe.Pointer) bool {
	if d == engine.Int32 {
		return func(p unsafe.Pointer) bool { return *(*int32)(p) == 0 }
	}
	return func(p unsafe.Pointer) bool { return *(*int64)(p) == 0 }
}

// Outside returns whether the integer of dtype d at p is no position on an axis
// of extent n.
func Outside(d engine.DType, n int) func(p unsafe.Pointer) bool {
	if d == engine.Int32 {
		return func(p unsafe.Pointer) bool { x := int(*(*int32)(p)); return x < 0 || x >= n }
	}
	return func(p unsafe.Pointer) bool { x := *(*int64)(p); return x < 0 || x >= int64(n) }
}
