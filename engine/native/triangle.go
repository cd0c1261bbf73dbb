package native

import "unsafe"

// TrianglePlan copies the matrices of a tensor's last two axes on one side of a
// diagonal, and writes zeros on the other. It is immutable.
type TrianglePlan struct {
	size  int
	lower bool
	k     int    // the diagonal
	outer []axis // over rows; the last is that of the rows of one matrix
	line  axis
	items int
}

// NewTriangle plans dst[…, i, j] = src[…, i, j] where j ≤ i + k, if lower, or j ≥ i + k,
// else 0, for elements of size bytes and tensors of the given extents, of two axes
// or more. Strides are in elements.
func NewTriangle(size int, lower bool, k int, extents, dst, src []int) *TrianglePlan {
	p := &TrianglePlan{size: size, lower: lower, items: 1}
	last := len(extents) - 1
	for i, n := range extents {
		a := axis{n: n, step: [maxOperands]int{dst[i] * size, src[i] * size}}
		if i == last {
			p.line = a
			break
		}
		p.outer = append(p.outer, a)
		p.items *= n
	}
	if p.line.n == 0 {
		p.items = 0
	}
	p.k = min(max(k, -extents[last-1]), extents[last]) // as good as any further out
	return p
}

// Items is the number of rows.
func (p *TrianglePlan) Items() int { return p.items }

// Run computes rows lo ≤ i < hi. The pointers are to the elements (0, 0, …).
func (p *TrianglePlan) Run(dst, src unsafe.Pointer, lo, hi int) {
	if lo >= hi {
		return
	}
	rows := p.outer[len(p.outer)-1].n
	var o odometer
	o.seek(p.outer, [maxOperands]int{}, lo)
	for item := lo; item < hi; item++ {
		to, from, n, row := unsafe.Add(dst, o.pos[0]), unsafe.Add(src, o.pos[1]), p.line.n, item%rows
		if p.lower {
			kept := min(max(row+p.k+1, 0), n)
			p.copy(to, from, 0, kept)
			p.zero(to, kept, n)
		} else {
			first := min(max(row+p.k, 0), n)
			p.zero(to, 0, first)
			p.copy(to, from, first, n)
		}
		o.next()
	}
}

// copy and zero write the columns lo ≤ j < hi of a row.
func (p *TrianglePlan) copy(to, from unsafe.Pointer, lo, hi int) {
	if lo >= hi {
		return
	}
	a := axis{n: hi - lo, step: p.line.step}
	to, from = unsafe.Add(to, lo*a.step[0]), unsafe.Add(from, lo*a.step[1])
	if a.step[0] == p.size && a.step[1] == p.size {
		copy(unsafe.Slice((*byte)(to), a.n*p.size), unsafe.Slice((*byte)(from), a.n*p.size))
		return
	}
	copySteps(to, from, a, p.size)
}

func (p *TrianglePlan) zero(to unsafe.Pointer, lo, hi int) {
	if lo >= hi {
		return
	}
	a := axis{n: hi - lo, step: [maxOperands]int{p.line.step[0]}}
	to = unsafe.Add(to, lo*a.step[0])
	if a.step[0] == p.size {
		clear(unsafe.Slice((*byte)(to), a.n*p.size))
		return
	}
	var none [2]uint64
	copySteps(to, unsafe.Pointer(&none), a, p.size)
}
