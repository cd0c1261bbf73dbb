package native

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// LinePlan does something with every line of elements along one axis: an
// output line for each input line. It is immutable.
type LinePlan struct {
	outer []axis // over lines; operands: outputs, then inputs; steps in bytes
	base  [maxOperands]int
	items int
	line  func(ws *Workspace, at Operands)
}

// Items is the number of lines.
func (p *LinePlan) Items() int { return p.items }

// Run computes lines lo ≤ i < hi. The pointers are to the elements (0, 0, …).
func (p *LinePlan) Run(ws *Workspace, at Operands, lo, hi int) {
	if lo >= hi {
		return
	}
	var o odometer
	o.seek(p.outer, p.base, lo)
	for i := lo; i < hi; i++ {
		var q Operands
		for k := range q {
			if at[k] != nil {
				q[k] = unsafe.Add(at[k], o.pos[k])
			}
		}
		p.line(ws, q)
		o.next()
	}
}

// newLines plans the loop over the lines of the extents other than axis; steps
// lists the strides of the operands in bytes.
func newLines(along int, extents []int, line func(ws *Workspace, at Operands), steps ...[]int) *LinePlan {
	others := func(v []int) []int { return append(append([]int{}, v[:along]...), v[along+1:]...) }
	rest := make([][]int, len(steps))
	for o := range steps {
		rest[o] = others(steps[o])
	}
	x := newNest(others(extents), 1, rest...)
	p := &LinePlan{line: line}
	if x.empty || extents[along] == 0 {
		return p
	}
	p.outer, p.base, p.items = x.axes, x.base, extent(x.axes)
	return p
}

// NewCumulative plans running sums, or products, along an axis, for elements of
// dtype d. Strides are in elements; dst may be src.
func NewCumulative(d engine.DType, product bool, along int, extents, dst, src []int) *LinePlan {
	size := d.Size()
	to, from := scaled(dst, size), scaled(src, size)
	n, ds, ss := extents[along], to[along], from[along]
	var line func(*Workspace, Operands)
	switch d {
	case engine.Int32:
		line = cumulative[int32](product, n, ds, ss)
	case engine.Int64:
		line = cumulative[int64](product, n, ds, ss)
	case engine.Float32:
		line = cumulative[float32](product, n, ds, ss)
	case engine.Float64:
		line = cumulative[float64](product, n, ds, ss)
	case engine.Complex64:
		line = cumulative[complex64](product, n, ds, ss)
	default:
		line = cumulative[complex128](product, n, ds, ss)
	}
	return newLines(along, extents, line, to, from)
}

func cumulative[T numeric](product bool, n, ds, ss int) func(*Workspace, Operands) {
	if product {
		return func(_ *Workspace, at Operands) {
			acc := T(1)
			for i := range n {
				acc *= *(*T)(unsafe.Add(at[1], i*ss))
				*(*T)(unsafe.Add(at[0], i*ds)) = acc
			}
		}
	}
	return func(_ *Workspace, at Operands) {
		acc := *(*T)(at[1]) // 0 + −0 would lose the sign
		*(*T)(at[0]) = acc
		for i := 1; i < n; i++ {
			acc += *(*T)(unsafe.Add(at[1], i*ss))
			*(*T)(unsafe.Add(at[0], i*ds)) = acc
		}
	}
}

// ArgPlan finds positions of the greatest or smallest elements. It is immutable.
type ArgPlan struct {
	reduction
	find func(src unsafe.Pointer, axes []axis, count int) int64
}

// NewArg plans dst[k…] = the row-major position over s of the first greatest, or
// least, of src[k…, s…], as NewSum does; dst is int64.
func NewArg(d engine.DType, least bool, kept, dst, src, summed, srcSummed []int) *ArgPlan {
	p := &ArgPlan{reduction: reduction{size: d.Size(), cut: -1, wide: axis{n: 1}}}
	k := newNest(kept, 1, scaled(dst, 8), scaled(src, p.size))
	if k.empty {
		return p
	}
	p.kept, p.base, p.items, p.count = k.axes, k.base, extent(k.axes), 1
	for i, n := range summed { // in row-major order, which newNest does not keep
		p.summed = append(p.summed, axis{n: n, step: [maxOperands]int{srcSummed[i] * p.size}})
		p.count *= n
	}
	joined := nest{axes: p.summed}
	joined.merge()
	p.summed = joined.axes
	switch d {
	case engine.Int32:
		p.find = findArg[int32](least)
	case engine.Int64:
		p.find = findArg[int64](least)
	case engine.Float32:
		p.find = findArg[float32](least)
	default:
		p.find = findArg[float64](least)
	}
	return p
}

// Run computes items lo ≤ i < hi.
func (p *ArgPlan) Run(dst, src unsafe.Pointer, lo, hi int) {
	if lo >= hi {
		return
	}
	var o odometer
	o.seek(p.kept, p.base, lo)
	for item := lo; item < hi; item++ {
		*(*int64)(unsafe.Add(dst, o.pos[0])) = p.find(unsafe.Add(src, o.pos[1]), p.summed, p.count)
		o.next()
	}
}

func findArg[T realNumber](least bool) func(unsafe.Pointer, []axis, int) int64 {
	return func(src unsafe.Pointer, axes []axis, count int) int64 {
		inner := axis{n: 1}
		outer := axes
		if k := len(axes) - 1; k >= 0 {
			inner, outer = axes[k], axes[:k]
		}
		var o odometer
		o.seek(outer, [maxOperands]int{}, 0)
		best, at := *(*T)(src), 0
		for base := 0; base < count; base += inner.n {
			p := unsafe.Add(src, o.pos[0])
			for i := range inner.n {
				v := *(*T)(unsafe.Add(p, i*inner.step[0]))
				if v > best && !least || v < best && least {
					best, at = v, base+i
				} else if v != v {
					return int64(base + i)
				}
			}
			o.next()
		}
		return int64(at)
	}
}
