package native

import (
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// MapPlan computes each element of a strided tensor from the elements of one to
// three others of its shape, which may have other dtypes. It is immutable: any number of goroutines may run it
// at once.
//
// Contiguous operands are computed in rows. Others are gathered into rows of
// some hundred elements, over as many axes as that takes.
type MapPlan struct {
	size  [maxOperands]int // bytes of an element of each operand; 0 for none
	f     row
	past  row  // f into whole lines past the caches; nil where there is none
	f3    row3 // of operations of three inputs, else nil
	by    factor
	outer []axis
	base  [maxOperands]int
	items int

	n      int                // elements of a row
	off    [maxOperands][]int // their offsets in bytes, nil where contiguous
	gather bool               // some of them are not
	cut    int                // index in outer of the loop over parts of an axis, or -1
	tail   int                // elements of the last part
	stream bool               // the output may go past the caches
}

const (
	longRow = 4096 // elements of a row that is contiguous in all operands
	lineRow = 64   // elements that surely fill lines
	tileRow = 128  // of one that is gathered
	minRow  = 32   // contiguous rows below this are gathered with their neighbours

	vectorBytes = 32 // of the narrowest vectors
)

// NewAdd plans dst = x + y for tensors of numeric type d and the given extents,
// with kernels of level l at most. Strides are in elements. Integers wrap. dst may be x or y itself, but not
// overlap them otherwise.
func (l Level) NewAdd(d engine.DType, extents, dst, x, y []int) *MapPlan {
	r := rowsFor(l, d, extents)
	return newMap(d, r.add, r.past.add, 0, extents, dst, x, y)
}

// NewMul plans dst = x · y, element by element, as NewAdd does.
func (l Level) NewMul(d engine.DType, extents, dst, x, y []int) *MapPlan {
	r := rowsFor(l, d, extents)
	return newMap(d, r.mul, r.past.mul, 0, extents, dst, x, y)
}

// NewScale plans dst = by · x, as NewAdd does. by is rounded to d.
func (l Level) NewScale(d engine.DType, by complex128, extents, dst, x []int) *MapPlan {
	return newMap(d, rowsFor(l, d, extents).scale, nil, by, extents, dst, x)
}

// rowsFor are the rows for a tensor of the given extents: what fills no vector is
// not offered to any.
func rowsFor(l Level, d engine.DType, extents []int) rowsOf {
	bytes := d.Size()
	for _, n := range extents {
		if bytes *= n; bytes >= vectorBytes {
			return rows(l, d)
		}
	}
	return portableRows(d)
}

// NewConj plans dst = the complex conjugate of x for a complex d, as NewAdd
// does. Where dst is another tensor, NewConjCopy is faster.
func (l Level) NewConj(d engine.DType, extents, dst, x []int) *MapPlan {
	f := rows(l, d).conj
	if f == nil {
		panic("native: conjugate of a real dtype")
	}
	return newMap(d, f, nil, 0, extents, dst, x)
}

func newMap(d engine.DType, f, past row, by complex128, extents []int, strides ...[]int) *MapPlan {
	p := &MapPlan{f: f, past: past, by: newFactor(by)}
	for o := range strides {
		p.size[o] = d.Size()
	}
	return p.over(extents, strides...)
}

// over plans the loops.
func (p *MapPlan) over(extents []int, strides ...[]int) *MapPlan {
	p.cut = -1
	steps := make([][]int, len(strides))
	for o, s := range strides {
		steps[o] = make([]int, len(s))
		for i := range s {
			steps[o][i] = s[i] * p.size[o]
		}
	}
	x := newNest(extents, 1, steps...)
	if x.empty {
		return p
	}
	p.base = x.base
	p.row(x.axes, len(strides))
	p.items = extent(p.outer)
	p.stream = p.past != nil && !p.gather && extent(x.axes)*p.size[0] >= streamBytes && p.n*p.size[0] >= rowBytes
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
		packed = packed && axes[last].step[o] == p.size[o]
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
		if !contiguous(off[o], p.size[o]) {
			p.off[o], p.gather = off[o], true
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
	if limit == longRow {
		p.n = (p.n + lineRow - 1) &^ (lineRow - 1)
	}
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

// Run computes items lo ≤ i < hi. The pointers are to the elements (0, 0, …) of
// the output and of each input that the operation has.
func (p *MapPlan) Run(ws *Workspace, at Operands, lo, hi int) {
	if lo >= hi {
		return
	}
	if p.SingleRow() {
		if p.f3 != nil {
			p.RunRow3(at[0], at[1], at[2], at[3])
		} else {
			p.RunRow(at[0], at[1], at[2])
		}
		return
	}
	var bufs *[maxOperands][2 * tileRow]complex128
	if p.gather {
		bufs = ws.rows()
	}
	stream := p.stream && at[0] != at[1] && at[0] != at[2] && at[0] != at[3]
	var o odometer
	o.seek(p.outer, p.base, lo)
	for item := lo; item < hi; item++ {
		n := p.count(&o)
		var q Operands
		for k := range maxOperands {
			if p.size[k] == 0 {
				break
			}
			q[k] = unsafe.Add(at[k], o.pos[k])
		}
		switch {
		case p.gather:
			p.gathered(bufs, q, n)
		case stream:
			p.streamed(q, n)
		default:
			p.call(q, n)
		}
		o.next()
	}
	if stream {
		storeFence()
	}
}

// SingleRow says that the plan is one contiguous row.
func (p *MapPlan) SingleRow() bool { return p.items == 1 && len(p.outer) == 0 && !p.gather }

// RunRow is Run for a plan that is a single row of an operation of one input, y nil,
// or two. The pointers come apart from each other because to read an
// array back that has just been written takes as long as a small operation.
func (p *MapPlan) RunRow(dst, x, y unsafe.Pointer) {
	p.f(unsafe.Add(dst, p.base[0]), unsafe.Add(x, p.base[1]), unsafe.Add(y, p.base[2]), p.n, &p.by)
}

// RunRow3 is RunRow for an operation of three inputs.
func (p *MapPlan) RunRow3(dst, x, y, z unsafe.Pointer) {
	p.f3(unsafe.Add(dst, p.base[0]), unsafe.Add(x, p.base[1]), unsafe.Add(y, p.base[2]), unsafe.Add(z, p.base[3]), p.n)
}

func (p *MapPlan) call(q Operands, n int) {
	if p.f3 != nil {
		p.f3(q[0], q[1], q[2], q[3], n)
		return
	}
	p.f(q[0], q[1], q[2], n, &p.by)
}

// count is the length of the row that the odometer shows.
func (p *MapPlan) count(o *odometer) int {
	if p.cut >= 0 && o.at[p.cut] == o.axes[p.cut].n-1 {
		return p.tail
	}
	return p.n
}

// streamed computes a row and writes its whole lines past the caches.
func (p *MapPlan) streamed(q Operands, n int) {
	size := p.size[0]
	skip := int(-uintptr(q[0]) & 63)
	head := min(skip/size, n)
	m := (n - head) * size &^ 63 / size
	if skip%size != 0 || m == 0 {
		p.call(q, n)
		return
	}
	if head > 0 {
		p.call(q, head)
		q, n = p.after(q, head), n-head
	}
	p.past(q[0], q[1], q[2], m, &p.by)
	if n > m { // no pointer may lie behind its tensor
		p.call(p.after(q, m), n-m)
	}
}

// after is where the operands go on after n elements.
func (p *MapPlan) after(q Operands, n int) Operands {
	for k := range q {
		q[k] = unsafe.Add(q[k], n*p.size[k])
	}
	return q
}

// gathered computes a row by way of buffers, which lie in the workspace: on the
// stack they would escape through p.f.
func (p *MapPlan) gathered(bufs *[maxOperands][2 * tileRow]complex128, q Operands, n int) {
	out := q[0]
	if p.off[0] != nil {
		q[0] = unsafe.Pointer(&bufs[0])
	}
	for k := 1; k < maxOperands; k++ {
		if off := p.off[k]; off != nil {
			gatherRow(unsafe.Pointer(&bufs[k]), q[k], off[:n], p.size[k])
			q[k] = unsafe.Pointer(&bufs[k])
		}
	}
	p.call(q, n)
	if off := p.off[0]; off != nil {
		scatterRow(out, q[0], off[:n], p.size[0])
	}
}

// gatherRow makes the elements of src at offsets off contiguous in dst; scatterRow is
// the way back.
func gatherRow(dst, src unsafe.Pointer, off []int, size int) {
	switch size {
	case 1:
		gatherCells[uint8](dst, src, off)
	case 4:
		gatherCells[uint32](dst, src, off)
	case 8:
		gatherCells[uint64](dst, src, off)
	default:
		gatherCells[[2]uint64](dst, src, off)
	}
}

func gatherCells[T cell](dst, src unsafe.Pointer, off []int) {
	d := unsafe.Slice((*T)(dst), len(off))
	for i, v := range off {
		d[i] = *(*T)(unsafe.Add(src, v))
	}
}

func scatterRow(dst, src unsafe.Pointer, off []int, size int) {
	switch size {
	case 1:
		scatterCells[uint8](dst, src, off)
	case 4:
		scatterCells[uint32](dst, src, off)
	case 8:
		scatterCells[uint64](dst, src, off)
	default:
		scatterCells[[2]uint64](dst, src, off)
	}
}

func scatterCells[T cell](dst, src unsafe.Pointer, off []int) {
	s := unsafe.Slice((*T)(src), len(off))
	for i, v := range off {
		*(*T)(unsafe.Add(dst, v)) = s[i]
	}
}
