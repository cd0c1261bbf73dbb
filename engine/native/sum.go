package native

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// SumPlan sums a strided tensor over some of its axes. It is immutable: any
// number of goroutines may run it at once.
//
// The elements that add up to one output are numbered in an order fixed by the
// plan and cut into parts of partLength, those into blocks of blockLength.
// A block is summed in order, blocks and parts are summed in pairs of
// neighbours, those in pairs, and so on. So the error grows with the logarithm
// of the number of elements, and the bits depend on shapes and strides alone:
// not on how items and parts are shared out.
//
// Outputs whose elements lie side by side are summed together, many at a
// time, where that is the better way through memory.
type SumPlan struct {
	d      engine.DType
	add    row
	blocks func(sums, x unsafe.Pointer, n int) // nil: block by block
	reduction
}

// reduction is how the elements of a tensor are walked that is reduced over
// some of its axes.
type reduction struct {
	size   int
	kept   []axis // over items; operand 0 is the destination, 1 the source; steps in bytes
	base   [maxOperands]int
	items  int
	wide   axis // outputs that are summed together
	cut    int  // index in kept of the loop over parts of wide's axis, or -1
	tail   int
	summed []axis // operand 1 only; the last is the fastest
	count  int    // elements per output
	parts  int
}

const (
	partLength  = 1 << 14
	blockLength = 128
	wideLimit   = 256
	wideLeast   = 8
	lanes       = 8 // running sums of a block along a contiguous axis
)

// NewSum plans dst[k…] = Σ src[k…, s…] over s for numeric type d. kept and
// summed are the extents of the axes, dst and src the strides of the kept ones
// in the two tensors, srcSummed those of the summed ones in the source, in
// elements. Integers wrap. The empty sum is 0.
func (l Level) NewSum(d engine.DType, kept, dst, src, summed, srcSummed []int) *SumPlan {
	return &SumPlan{d, rows(l, d).add, blocksOf(l, d), newReduction(d.Size(), d.Size(), kept, dst, src, summed, srcSummed)}
}

// newReduction plans the loops over elements of size bytes, to outputs of out
// bytes.
func newReduction(size, out int, kept, dst, src, summed, srcSummed []int) reduction {
	p := reduction{size: size, cut: -1, wide: axis{n: 1}}
	k := newNest(kept, 1, scaled(dst, out), scaled(src, size))
	if k.empty {
		return p
	}
	s := newNest(summed, size, srcSummed)
	for i := range s.axes {
		s.axes[i].step = [maxOperands]int{1: s.axes[i].step[0]}
	}
	p.base = k.base
	p.base[1] += s.base[0]
	p.kept, p.summed = k.axes, s.axes
	p.count = extent(s.axes)
	if s.empty {
		p.count, p.summed = 0, nil
	}
	p.parts = max((p.count+partLength-1)/partLength, 1)
	p.widen()
	p.items = extent(p.kept)
	return p
}

func scaled(v []int, by int) []int {
	o := make([]int, len(v))
	for i, x := range v {
		o[i] = x * by
	}
	return o
}

// widen takes outputs together if their elements are nearer to each other than
// those of one output, or if an output's elements come in short rows.
func (p *reduction) widen() {
	if len(p.kept) == 0 || len(p.summed) == 0 {
		return
	}
	best := slices.MinFunc(p.kept, func(a, b axis) int { return cmp.Compare(abs(a.step[1]), abs(b.step[1])) })
	inner := p.summed[len(p.summed)-1]
	if best.n < wideLeast || abs(best.step[1]) > abs(inner.step[1]) && inner.n >= 2*lanes {
		return
	}
	p.kept = slices.Clone(p.kept)
	i := slices.Index(p.kept, best)
	p.wide = best
	if best.n <= wideLimit {
		p.kept = slices.Delete(p.kept, i, i+1)
		return
	}
	count := (best.n + wideLimit - 1) / wideLimit
	p.wide.n = (best.n + count - 1) / count
	count = (best.n + p.wide.n - 1) / p.wide.n
	p.cut, p.tail = i, best.n-(count-1)*p.wide.n
	p.kept[i] = axis{n: count, step: [maxOperands]int{p.wide.n * best.step[0], p.wide.n * best.step[1]}}
}

// Items is the number of pieces that the outputs can be cut into.
func (p *reduction) Items() int { return p.items }

// Parts is the number of parts of each item's sums, for long sums of few items.
func (p *reduction) Parts() int { return p.parts }

// PartialBytes is the size of the result of RunPart.
func (p *SumPlan) PartialBytes() int { return p.wide.n * p.size }

// Run computes items lo ≤ i < hi. The pointers are to the elements (0, 0, …).
func (p *SumPlan) Run(ws *Workspace, dst, src unsafe.Pointer, lo, hi int) {
	if lo >= hi {
		return
	}
	switch p.d {
	case engine.Int32:
		sumItems[int32](p, ws, dst, src, lo, hi)
	case engine.Int64:
		sumItems[int64](p, ws, dst, src, lo, hi)
	case engine.Float32:
		sumItems[float32](p, ws, dst, src, lo, hi)
	case engine.Float64:
		sumItems[float64](p, ws, dst, src, lo, hi)
	case engine.Complex64:
		sumItems[complex64](p, ws, dst, src, lo, hi)
	case engine.Complex128:
		sumItems[complex128](p, ws, dst, src, lo, hi)
	default:
		panic("native: sum of a dtype that has none")
	}
}

// RunPart computes one part of one item's sums into PartialBytes at partial,
// which must be aligned for the type.
func (p *SumPlan) RunPart(ws *Workspace, partial, src unsafe.Pointer, item, part int) {
	switch p.d {
	case engine.Int32:
		sumPart[int32](p, ws, partial, src, item, part)
	case engine.Int64:
		sumPart[int64](p, ws, partial, src, item, part)
	case engine.Float32:
		sumPart[float32](p, ws, partial, src, item, part)
	case engine.Float64:
		sumPart[float64](p, ws, partial, src, item, part)
	case engine.Complex64:
		sumPart[complex64](p, ws, partial, src, item, part)
	case engine.Complex128:
		sumPart[complex128](p, ws, partial, src, item, part)
	default:
		panic("native: sum of a dtype that has none")
	}
}

// Join adds up the parts of one item, which lie one after another at partials,
// and sets its outputs. They are those that Run sets, bit for bit.
func (p *SumPlan) Join(ws *Workspace, dst, partials unsafe.Pointer, item int) {
	switch p.d {
	case engine.Int32:
		joinParts[int32](p, ws, dst, partials, item)
	case engine.Int64:
		joinParts[int64](p, ws, dst, partials, item)
	case engine.Float32:
		joinParts[float32](p, ws, dst, partials, item)
	case engine.Float64:
		joinParts[float64](p, ws, dst, partials, item)
	case engine.Complex64:
		joinParts[complex64](p, ws, dst, partials, item)
	case engine.Complex128:
		joinParts[complex128](p, ws, dst, partials, item)
	default:
		panic("native: sum of a dtype that has none")
	}
}

// tower adds vectors in pairs of neighbours: level i holds the sum of 2^i
// vectors if bit i of the count is set.
type tower[T numeric] struct {
	levels []T
	width  int
	count  uint
}

// height is the number of levels for n vectors.
func height(n int) int { return bits.Len(uint(n)) + 1 }

// push adds v, which it overwrites.
func (t *tower[T]) push(v []T) {
	level := 0
	for m := t.count; m&1 != 0; m >>= 1 {
		for i, x := range t.levels[level*t.width:][:len(v)] {
			v[i] = x + v[i]
		}
		level++
	}
	copy(t.levels[level*t.width:], v)
	t.count++
}

// sum puts the sum into v and empties the tower.
func (t *tower[T]) sum(v []T) {
	clear(v)
	for level, first := 0, true; t.count>>level != 0; level++ {
		if t.count>>level&1 == 0 {
			continue
		}
		x := t.levels[level*t.width:][:len(v)]
		if first {
			copy(v, x)
			first = false
			continue
		}
		for i := range v {
			v[i] = x[i] + v[i]
		}
	}
	t.count = 0
}

// adder is what a sum under way needs.
type adder[T numeric] struct {
	p             *SumPlan
	acc, part     []T // running sums of a block, sum of a part
	sums          []T // of blocks
	blocks, parts tower[T]
	o             odometer
}

func (a *adder[T]) open(p *SumPlan, ws *Workspace) {
	w := p.wide.n
	hb, hp := height(partLength), height(p.parts)
	mem := scratch[T](&ws.sums, w*(2+hb+hp)+partLength/blockLength)
	*a = adder[T]{
		p: p, acc: mem[:w:w], part: mem[w : 2*w : 2*w],
		blocks: tower[T]{levels: mem[2*w : (2+hb)*w], width: w},
		parts:  tower[T]{levels: mem[(2+hb)*w : (2+hb+hp)*w], width: w},
		sums:   mem[(2+hb+hp)*w:],
	}
}

func sumItems[T numeric](p *SumPlan, ws *Workspace, dst, src unsafe.Pointer, lo, hi int) {
	var a adder[T]
	a.open(p, ws)
	var o odometer
	o.seek(p.kept, p.base, lo)
	for item := lo; item < hi; item++ {
		n := p.width(&o)
		at := src // nil without elements
		if p.count > 0 {
			at = unsafe.Add(src, o.pos[1])
		}
		if p.parts == 1 {
			a.sumPart(at, 0, n)
		} else {
			for part := range p.parts {
				a.sumPart(at, part, n)
				a.parts.push(a.part[:n])
			}
			a.parts.sum(a.part[:n])
		}
		a.store(unsafe.Add(dst, o.pos[0]), n)
		o.next()
	}
}

// width is the number of outputs of the item that the odometer shows.
func (p *reduction) width(o *odometer) int {
	if p.cut >= 0 && o.at[p.cut] == o.axes[p.cut].n-1 {
		return p.tail
	}
	return p.wide.n
}

func (a *adder[T]) store(dst unsafe.Pointer, n int) {
	for i, v := range a.part[:n] {
		*(*T)(unsafe.Add(dst, i*a.p.wide.step[0])) = v
	}
}

func sumPart[T numeric](p *SumPlan, ws *Workspace, partial, src unsafe.Pointer, item, part int) {
	var a adder[T]
	a.open(p, ws)
	a.o.seek(p.kept, p.base, item)
	n := p.width(&a.o)
	a.sumPart(unsafe.Add(src, a.o.pos[1]), part, n)
	copy(unsafe.Slice((*T)(partial), n), a.part)
}

func joinParts[T numeric](p *SumPlan, ws *Workspace, dst, partials unsafe.Pointer, item int) {
	var a adder[T]
	a.open(p, ws)
	a.o.seek(p.kept, p.base, item)
	n, to := p.width(&a.o), unsafe.Add(dst, a.o.pos[0])
	for part := range p.parts {
		copy(a.part[:n], unsafe.Slice((*T)(unsafe.Add(partials, part*p.wide.n*p.size)), n))
		if p.parts > 1 {
			a.parts.push(a.part[:n])
		}
	}
	if p.parts > 1 {
		a.parts.sum(a.part[:n])
	}
	a.store(to, n)
}

// sumPart leaves the sums of a part, for n outputs whose first elements lie at
// src, in a.part.
func (a *adder[T]) sumPart(src unsafe.Pointer, part, n int) {
	lo := part * partLength
	hi := min(lo+partLength, a.p.count)
	if a.p.wide.n > 1 {
		a.across(src, lo, hi, n)
		return
	}
	a.along(src, lo, hi)
}

// along sums one output, row by row of the fastest summed axis.
func (a *adder[T]) along(src unsafe.Pointer, lo, hi int) {
	summed := a.p.summed
	if len(summed) == 0 {
		a.part[0] = 0
		if hi > lo {
			a.part[0] = *(*T)(src)
		}
		return
	}
	inner := summed[len(summed)-1]
	step := inner.step[1]
	a.o.seek(summed[:len(summed)-1], [maxOperands]int{}, lo/inner.n)
	for i, at := lo, lo%inner.n; i < hi; {
		n := min(inner.n-at, hi-i)
		if m := min(n/blockLength, callBytes/(blockLength*a.p.size)); m > 1 && step == a.p.size && a.p.blocks != nil {
			a.p.blocks(unsafe.Pointer(&a.sums[0]), unsafe.Add(src, a.o.pos[1]+at*step), m)
			for _, v := range a.sums[:m] {
				a.acc[0] = v
				a.blocks.push(a.acc)
			}
			i, at = i+m*blockLength, at+m*blockLength
			if at == inner.n {
				at = 0
				a.o.next()
			}
			continue
		}
		n = min(n, blockLength)
		a.acc[0] = sumRow[T](unsafe.Add(src, a.o.pos[1]+at*step), n, step)
		i += n
		if at += n; at == inner.n {
			at = 0
			a.o.next()
		}
		if i >= hi && a.blocks.count == 0 {
			a.part[0] = a.acc[0]
			return
		}
		a.blocks.push(a.acc)
	}
	a.blocks.sum(a.part)
}

// sumRow adds up to blockLength elements: lanes running sums, added in pairs.
func sumRow[T numeric](p unsafe.Pointer, n, step int) T {
	var s [lanes]T
	var z T
	if step == int(unsafe.Sizeof(z)) {
		x := unsafe.Slice((*T)(p), n)
		for ; len(x) >= lanes; x = x[lanes:] {
			s[0] += x[0]
			s[1] += x[1]
			s[2] += x[2]
			s[3] += x[3]
			s[4] += x[4]
			s[5] += x[5]
			s[6] += x[6]
			s[7] += x[7]
		}
		for i, v := range x {
			s[i] += v
		}
	} else {
		for i := range n {
			s[i%lanes] += *(*T)(unsafe.Add(p, i*step))
		}
	}
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}

// across sums n outputs side by side.
func (a *adder[T]) across(src unsafe.Pointer, lo, hi, n int) {
	acc, part := a.acc[:n], a.part[:n]
	step := a.p.wide.step[1]
	var z T
	packed := step == int(unsafe.Sizeof(z))
	a.o.seek(a.p.summed, [maxOperands]int{}, lo)
	for i := lo; i < hi; {
		end := min(i+blockLength, hi)
		clear(acc)
		for ; i < end; i++ {
			at := unsafe.Add(src, a.o.pos[1])
			if packed {
				a.p.add(unsafe.Pointer(&acc[0]), unsafe.Pointer(&acc[0]), at, n, nil)
			} else {
				for j := range acc {
					acc[j] += *(*T)(unsafe.Add(at, j*step))
				}
			}
			a.o.next()
		}
		a.blocks.push(acc)
	}
	a.blocks.sum(part)
}
