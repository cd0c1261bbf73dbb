package native

import (
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// MapPlan computes each element of a strided tensor from the elements of one or
// two others of its shape. It is immutable: any number of goroutines may run it
// at once.
//
// Contiguous operands are computed in rows. Others are gathered into rows of
// some hundred elements, over as many axes as that takes.
type MapPlan struct {
	size  int
	f     row
	by    factor
	outer []axis
	base  [maxOperands]int
	items int

	n    int                // elements of a row
	off  [maxOperands][]int // their offsets in bytes, nil where contiguous
	cut  int                // index in outer of the loop over parts of an axis, or -1
	tail int                // elements of the last part
}

const (
	longRow = 4096 // elements of a row that is contiguous in all operands
	tileRow = 128  // of one that is gathered
	minRow  = 32   // contiguous rows below this are gathered with their neighbours
)

// NewAdd plans dst = x + y for tensors of numeric type d and the given extents.
// Strides are in elements. Integers wrap. dst may be x or y itself, but not
// overlap them otherwise.
func NewAdd(d engine.DType, extents, dst, x, y []int) *MapPlan {
	return newMap(d, rows(d).add, 0, extents, dst, x, y)
}

// NewMul plans dst = x · y, element by element, as NewAdd does.
func NewMul(d engine.DType, extents, dst, x, y []int) *MapPlan {
	return newMap(d, rows(d).mul, 0, extents, dst, x, y)
}

// NewScale plans dst = by · x, as NewAdd does. by is rounded to d.
func NewScale(d engine.DType, by complex128, extents, dst, x []int) *MapPlan {
	return newMap(d, rows(d).scale, by, extents, dst, x)
}

// NewConj plans dst = the complex conjugate of x for a complex d, as NewAdd
// does. Where dst is another tensor, NewConjCopy is faster.
func NewConj(d engine.DType, extents, dst, x []int) *MapPlan {
	f := rows(d).conj
	if f == nil {
		panic("native: conjugate of a real dtype")
	}
	return newMap(d, f, 0, extents, dst, x)
}

func newMap(d engine.DType, f row, by complex128, extents []int, strides ...[]int) *MapPlan {
	p := &MapPlan{size: d.Size(), f: f, by: newFactor(by), cut: -1}
	x := newNest(extents, p.size, strides...)
	if x.empty {
		return p
	}
	p.base = x.base
	p.row(x.axes, len(strides))
	p.items = extent(p.outer)
	return p
}

// row splits the nest into rows and loops over rows.
func (p *MapPlan) row(axes []axis, operands int) {
	p.n = 1
	last := len(axes) - 1
	if last < 0 {
		return
	}
	packed := true
	for o := range operands {
		packed = packed && axes[last].step[o] == p.size
	}
	if packed && axes[last].n >= minRow {
		p.outer = p.part(axes[:last], axes[last], longRow)
		return
	}
	var off [maxOperands][]int
	for o := range off {
		off[o] = []int{0}
	}
	for ; last >= 0 && 2*p.n <= tileRow; last-- {
		a := axes[last]
		had := p.n
		p.outer = p.part(axes[:last], a, (tileRow+had-1)/had)
		n := p.n // of a, or of a part of it
		for o := range off {
			for i := 1; i < n; i++ {
				for _, v := range off[o][:had] {
					off[o] = append(off[o], v+i*a.step[o])
				}
			}
		}
		p.n, p.tail = n*had, p.tail*had
	}
	for o := range operands {
		if !contiguous(off[o], p.size) {
			p.off[o] = off[o]
		}
	}
}

// part makes a, or a part of it of about limit steps, the row, and returns the
// loops over rows.
func (p *MapPlan) part(outer []axis, a axis, limit int) []axis {
	outer = slices.Clone(outer)
	p.n = a.n
	if a.n <= limit {
		return outer
	}
	count := (a.n + limit - 1) / limit
	p.n = (a.n + count - 1) / count
	count = (a.n + p.n - 1) / p.n
	p.cut, p.tail = len(outer), a.n-(count-1)*p.n
	parts := axis{n: count}
	for o := range maxOperands {
		parts.step[o] = p.n * a.step[o]
	}
	return append(outer, parts)
}

// Items is the number of pieces that the work can be cut into. It depends on
// shapes and strides alone.
func (p *MapPlan) Items() int { return p.items }

// Run computes items lo ≤ i < hi. The pointers are to the elements (0, 0, …);
// y is nil for operations of one input.
func (p *MapPlan) Run(ws *Workspace, dst, x, y unsafe.Pointer, lo, hi int) {
	if lo >= hi {
		return
	}
	if p.off[0] != nil || p.off[1] != nil || p.off[2] != nil {
		switch p.size {
		case 4:
			runGathered[uint32](p, ws, dst, x, y, lo, hi)
		case 8:
			runGathered[uint64](p, ws, dst, x, y, lo, hi)
		default:
			runGathered[[2]uint64](p, ws, dst, x, y, lo, hi)
		}
		return
	}
	var o odometer
	o.seek(p.outer, p.base, lo)
	for item := lo; item < hi; item++ {
		p.f(unsafe.Add(dst, o.pos[0]), unsafe.Add(x, o.pos[1]), unsafe.Add(y, o.pos[2]), p.count(&o), &p.by)
		o.next()
	}
}

// count is the length of the row that the odometer shows.
func (p *MapPlan) count(o *odometer) int {
	if p.cut >= 0 && o.at[p.cut] == o.axes[p.cut].n-1 {
		return p.tail
	}
	return p.n
}

// runGathered computes rows by way of buffers.
func runGathered[T cell](p *MapPlan, ws *Workspace, dst, x, y unsafe.Pointer, lo, hi int) {
	// In the workspace: on the stack they would escape through p.f.
	bufs := (*[maxOperands][2 * tileRow]T)(ws.rows())
	var o odometer
	o.seek(p.outer, p.base, lo)
	for item := lo; item < hi; item++ {
		n := p.count(&o)
		d, a, b := unsafe.Add(dst, o.pos[0]), unsafe.Add(x, o.pos[1]), unsafe.Add(y, o.pos[2])
		out := d
		if p.off[0] != nil {
			out = unsafe.Pointer(&bufs[0])
		}
		if off := p.off[1]; off != nil {
			for i, v := range off[:n] {
				bufs[1][i] = *(*T)(unsafe.Add(a, v))
			}
			a = unsafe.Pointer(&bufs[1])
		}
		if off := p.off[2]; off != nil {
			for i, v := range off[:n] {
				bufs[2][i] = *(*T)(unsafe.Add(b, v))
			}
			b = unsafe.Pointer(&bufs[2])
		}
		p.f(out, a, b, n, &p.by)
		if off := p.off[0]; off != nil {
			for i, v := range off[:n] {
				*(*T)(unsafe.Add(d, v)) = bufs[0][i]
			}
		}
		o.next()
	}
}
