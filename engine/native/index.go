package native

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// IndexPlan moves or adds elements to or from positions that an index tensor
// names. It is immutable.
type IndexPlan struct {
	d       engine.DType
	size    int
	loops   []axis // over indices, row-major; operands: to, from, index
	items   int
	rest    []axis // over the elements of one index
	operand int    // which of to and from the index displaces
	step    int    // by how much per position, in bytes
	long    bool   // int64 indices
	add     row    // nil: elements are copied
	ordered int    // loops that may be shared out: items is their product
	past    bool   // gathered elements may go past the caches
}

// Axes of an index plan: their extents and strides in elements of the
// destination, the source, and the index tensor.
type Axes struct{ Extents, To, From, Index []int }

// NewGather plans to[i…, r…] = from[i…, r…] displaced by step elements times
// index[i…], over the axes i of loops and r of rest. Indices are in range.
func (l Level) NewGather(d, index engine.DType, step int, loops, rest Axes) *IndexPlan {
	p := newIndex(d, index, step, loops, rest)
	p.operand = 1
	p.items = extent(p.loops)
	p.ordered = len(p.loops)
	p.past = canStream(Best(l)) && p.size == 8 && p.items*p.size >= streamBytes
	return p
}

// NewScatter plans to[i…, r…], displaced, = or += from[i…, r…], in row-major
// order of the loops from the shared-th on; the ones before may be shared out.
func (l Level) NewScatter(d, index engine.DType, add bool, step, shared int, loops, rest Axes) *IndexPlan {
	p := newIndex(d, index, step, loops, rest)
	if p.ordered = min(shared, len(p.loops)); extent(p.loops) > 0 {
		p.items = extent(p.loops[:p.ordered])
	}
	if add {
		p.add = rows(l, d).add
	}
	return p
}

func newIndex(d, index engine.DType, step int, loops, rest Axes) *IndexPlan {
	p := &IndexPlan{d: d, size: d.Size(), step: step * d.Size(), long: index == engine.Int64}
	for i, n := range loops.Extents {
		p.loops = append(p.loops, axis{n: n, step: [maxOperands]int{loops.To[i] * p.size, loops.From[i] * p.size, loops.Index[i] * index.Size()}})
	}
	for i, n := range rest.Extents {
		if n != 1 {
			p.rest = append(p.rest, axis{n: n, step: [maxOperands]int{rest.To[i] * p.size, rest.From[i] * p.size}})
		}
	}
	joined := nest{axes: p.rest}
	joined.merge()
	p.rest = joined.axes
	if extent(p.rest) == 0 {
		p.loops = []axis{{n: 0}}
	}
	return p
}

// Items is the number of pieces that the work can be cut into.
func (p *IndexPlan) Items() int { return p.items }

// Run computes items lo ≤ i < hi. The pointers are to the elements (0, 0, …).
func (p *IndexPlan) Run(to, from, index unsafe.Pointer, lo, hi int) {
	if lo >= hi {
		return
	}
	each := extent(p.loops[p.ordered:])
	inner, outer := axis{n: 1}, p.loops
	if k := len(p.loops) - 1; k >= 0 {
		inner, outer = p.loops[k], p.loops[:k]
	}
	var o odometer
	o.seek(outer, [maxOperands]int{}, lo*each/inner.n)
	for i, at := lo*each, lo*each%inner.n; i < hi*each; {
		n := min(inner.n-at, hi*each-i)
		q := indexLine{unsafe.Add(to, o.pos[0]+at*inner.step[0]), unsafe.Add(from, o.pos[1]+at*inner.step[1]),
			unsafe.Add(index, o.pos[2]+at*inner.step[2]), inner, n}
		if p.long {
			indexed[int64](p, q)
		} else {
			indexed[int32](p, q)
		}
		i += n
		if at += n; at == inner.n {
			at = 0
			o.next()
		}
	}
}

// indexLine is n steps of the innermost loop over indices.
type indexLine struct {
	to, from, index unsafe.Pointer
	a               axis
	n               int
}

func indexed[I integer](p *IndexPlan, q indexLine) {
	if len(p.rest) == 0 {
		switch {
		case p.operand == 1:
			if p.past && p.step == 8 && q.a.step == [maxOperands]int{8, 0, indexSize[I]()} {
				gatherStream[I](&q)
			}
			gatherBySize[I](q, p.step, p.size)
			return
		case p.add == nil:
			scatterBySize[I](q, p.step, p.size)
			return
		}
		if addByType[I](q, p.step, p.d) {
			return
		}
	}
	for i := range q.n {
		k := int(*(*I)(unsafe.Add(q.index, i*q.a.step[2]))) * p.step
		x, y := unsafe.Add(q.to, i*q.a.step[0]), unsafe.Add(q.from, i*q.a.step[1])
		if p.operand == 1 {
			y = unsafe.Add(y, k)
		} else {
			x = unsafe.Add(x, k)
		}
		p.move(x, y)
	}
}

func indexSize[I integer]() int {
	var k I
	return int(unsafe.Sizeof(k))
}

const gatherAhead = 40 // entries of the index that gatherPast looks ahead

// gatherStream gathers whole lines past the caches and leaves the end of q.
func gatherStream[I integer](q *indexLine) {
	head := int(-uintptr(q.to)&63) / 8
	groups := (q.n - head - gatherAhead) / 8
	if groups <= 0 || uintptr(q.to)%8 != 0 {
		return
	}
	gatherLine[uint64, I](indexLine{q.to, q.from, q.index, q.a, head}, 8)
	q.skip(head)
	for groups > 0 {
		n := min(groups, callElements/8)
		gatherPast(indexSize[I](), q.to, q.from, q.index, n)
		q.skip(8 * n)
		groups -= n
	}
	storeFence()
}

func (q *indexLine) skip(n int) {
	q.to, q.index, q.n = unsafe.Add(q.to, n*q.a.step[0]), unsafe.Add(q.index, n*q.a.step[2]), q.n-n
}

func gatherBySize[I integer](q indexLine, step, size int) {
	switch size {
	case 1:
		gatherLine[uint8, I](q, step)
	case 4:
		gatherLine[uint32, I](q, step)
	case 8:
		gatherLine[uint64, I](q, step)
	default:
		gatherLine[[2]uint64, I](q, step)
	}
}

func gatherLine[T cell, I integer](q indexLine, step int) {
	var t T
	var k I
	if size := int(unsafe.Sizeof(t)); step == size && q.a.step == [maxOperands]int{size, 0, int(unsafe.Sizeof(k))} {
		to, at := unsafe.Slice((*T)(q.to), q.n), unsafe.Slice((*I)(q.index), q.n)
		for i, k := range at {
			to[i] = *(*T)(unsafe.Add(q.from, int(k)*int(unsafe.Sizeof(t))))
		}
		return
	}
	for i := range q.n {
		k := int(*(*I)(unsafe.Add(q.index, i*q.a.step[2])))
		*(*T)(unsafe.Add(q.to, i*q.a.step[0])) = *(*T)(unsafe.Add(q.from, i*q.a.step[1]+k*step))
	}
}

func scatterBySize[I integer](q indexLine, step, size int) {
	switch size {
	case 1:
		scatterLine[uint8, I](q, step)
	case 4:
		scatterLine[uint32, I](q, step)
	case 8:
		scatterLine[uint64, I](q, step)
	default:
		scatterLine[[2]uint64, I](q, step)
	}
}

func scatterLine[T cell, I integer](q indexLine, step int) {
	for i := range q.n {
		k := int(*(*I)(unsafe.Add(q.index, i*q.a.step[2])))
		*(*T)(unsafe.Add(q.to, i*q.a.step[0]+k*step)) = *(*T)(unsafe.Add(q.from, i*q.a.step[1]))
	}
}

func addByType[I integer](q indexLine, step int, d engine.DType) bool {
	switch d {
	case engine.Int32:
		addLine[int32, I](q, step)
	case engine.Int64:
		addLine[int64, I](q, step)
	case engine.Float32:
		addLine[float32, I](q, step)
	case engine.Float64:
		addLine[float64, I](q, step)
	case engine.Complex64:
		addLine[complex64, I](q, step)
	case engine.Complex128:
		addLine[complex128, I](q, step)
	default:
		return false
	}
	return true
}

func addLine[T numeric, I integer](q indexLine, step int) {
	for i := range q.n {
		k := int(*(*I)(unsafe.Add(q.index, i*q.a.step[2])))
		*(*T)(unsafe.Add(q.to, i*q.a.step[0]+k*step)) += *(*T)(unsafe.Add(q.from, i*q.a.step[1]))
	}
}

// move copies or adds the elements of one index.
func (p *IndexPlan) move(to, from unsafe.Pointer) {
	switch n := len(p.rest); n {
	case 0:
		p.run(to, from, axis{n: 1, step: [maxOperands]int{p.size, p.size}})
	case 1:
		p.run(to, from, p.rest[0])
	default:
		var o odometer
		o.seek(p.rest[:n-1], [maxOperands]int{}, 0)
		for range extent(p.rest[:n-1]) {
			p.run(unsafe.Add(to, o.pos[0]), unsafe.Add(from, o.pos[1]), p.rest[n-1])
			o.next()
		}
	}
}

func (p *IndexPlan) run(to, from unsafe.Pointer, a axis) {
	packed := a.step[0] == p.size && a.step[1] == p.size
	switch {
	case p.add != nil && packed:
		p.add(to, to, from, a.n, nil)
	case p.add != nil:
		for i := range a.n {
			x := unsafe.Add(to, i*a.step[0])
			p.add(x, x, unsafe.Add(from, i*a.step[1]), 1, nil)
		}
	case packed && a.n > 1:
		copyBytes(to, from, a.n*p.size)
	default:
		copySteps(to, from, a, p.size)
	}
}

func copySteps(to, from unsafe.Pointer, a axis, size int) {
	switch size {
	case 1:
		copyStepCells[uint8](to, from, a)
	case 4:
		copyStepCells[uint32](to, from, a)
	case 8:
		copyStepCells[uint64](to, from, a)
	default:
		copyStepCells[[2]uint64](to, from, a)
	}
}

func copyStepCells[T cell](to, from unsafe.Pointer, a axis) {
	for i := range a.n {
		*(*T)(unsafe.Add(to, i*a.step[0])) = *(*T)(unsafe.Add(from, i*a.step[1]))
	}
}
