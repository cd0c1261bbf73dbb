package engine

import "slices"

// overlapBudget bounds the search of [Tensor.Overlaps]. Layouts made by views of
// compact tensors need far fewer steps; where it runs out, the answer is yes.
const overlapBudget = 2000

// same says whether a and b are exactly the same elements in the same order.
func same(a, b *Tensor) bool {
	return a.buf.host == b.buf.host && a.buf.device == b.buf.device &&
		a.spec == b.spec && a.offset == b.offset
}

// Overlaps says whether t and u share an element. Buffers are told apart by
// their addresses, so two tensors over one slice, or over overlapping
// slices, are seen. For layouts that no views of compact tensors have it may
// say yes where it would take too long to find out.
func (t *Tensor) Overlaps(u *Tensor) bool {
	if t.end <= u.begin || u.end <= t.begin || t.spec.Domain != u.spec.Domain {
		return false // their spans do not meet; so it is for tensors without elements
	}
	st, su := t.spec.DType.Size(), u.spec.DType.Size()
	d := int(u.addr(u.offset) - t.addr(t.offset))
	if st != su || d%st != 0 {
		return true
	}
	// Σ stride_t·x − Σ stride_u·y = d, each index within its extent.
	var p strideProblem
	p.add(t.spec, 1)
	p.add(u.spec, -1)
	return p.solvable(d / st)
}

func (t *Tensor) addr(element int) uintptr {
	base := t.buf.device
	if t.buf.host != nil {
		base = uintptr(t.buf.host)
	}
	return base + uintptr(element)*uintptr(t.spec.DType.Size())
}

// selfOverlaps says whether two indices of s mean the same element. It is exact
// for layouts whose strides nest, as those of all views of compact tensors do,
// and says yes to the others.
func selfOverlaps(s Spec) bool {
	if s.IsCompact() {
		return false
	}
	type axis struct{ stride, extent int }
	var buf [MaxRank]axis
	axes := buf[:0]
	for i := range s.Rank() {
		if n := s.Shape.At(i); n > 1 {
			axes = append(axes, axis{abs(s.Strides.At(i)), n})
		}
	}
	slices.SortFunc(axes, func(x, y axis) int { return x.stride - y.stride })
	reach := 0
	for _, x := range axes {
		if x.stride <= reach {
			return true
		}
		reach += x.stride * (x.extent - 1)
	}
	return false
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

// strideProblem asks whether Σ stride·x = d has a solution with lo ≤ x ≤ hi.
type strideProblem struct {
	term [2 * MaxRank]strideTerm
	n    int
	left int // search steps left
}

type strideTerm struct{ stride, lo, hi int }

func (p *strideProblem) add(s Spec, sign int) {
	var buf [MaxRank]int
	for i, st := range s.AppendStrides(buf[:0]) {
		n := s.Shape.At(i)
		if st *= sign; st == 0 || n == 1 {
			continue
		}
		lo, hi := 0, n-1
		if st < 0 {
			st, lo, hi = -st, -hi, 0
		}
		p.merge(st, lo, hi)
	}
}

func (p *strideProblem) merge(st, lo, hi int) {
	for i := range p.term[:p.n] {
		if t := &p.term[i]; t.stride == st {
			t.lo, t.hi = t.lo+lo, t.hi+hi
			return
		}
	}
	p.term[p.n] = strideTerm{st, lo, hi}
	p.n++
}

func (p *strideProblem) solvable(d int) bool {
	slices.SortFunc(p.term[:p.n], func(x, y strideTerm) int { return y.stride - x.stride })
	p.left = overlapBudget
	return p.from(0, d)
}

// from looks for a solution with the terms i, i+1, …: strides fall, so few
// values of x_i leave a rest within what the later terms reach.
func (p *strideProblem) from(i, d int) bool {
	if i == p.n {
		return d == 0
	}
	if p.left--; p.left < 0 {
		return true
	}
	t, lo, hi := p.term[i], 0, 0 // the later terms reach lo … hi
	for _, u := range p.term[i+1 : p.n] {
		lo, hi = lo+u.stride*u.lo, hi+u.stride*u.hi
	}
	first := max(t.lo, -floorDiv(hi-d, t.stride)) // ceil((d-hi)/stride)
	last := min(t.hi, floorDiv(d-lo, t.stride))
	for x := first; x <= last; x++ {
		if p.from(i+1, d-t.stride*x) {
			return true
		}
		if p.left < 0 {
			return true
		}
	}
	return false
}

func floorDiv(a, b int) int { // b > 0
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
