package cpu

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// Sums are cut into segments by the shape alone, so that their bits do not
// depend on the width: each segment is summed into scratch, then the segments
// in order.
const (
	segmentElements = 1 << 16
	fewOutputs      = 256 // from so many outputs on, outputs are shared out instead
)

// sumStep is the step out[segment, kept] = Σ in over the segment's part of the
// summed dimensions; there is one segment in most sums.
type sumStep struct {
	kept     nest // operand 0: out, 1: in
	summed   nest // operand 1: in
	across   bool // in runs along kept.inner: sum row by row
	segments int
	segItems int // items of summed in a segment
	cut      int
	f        sumFunc
	size     int
	out, in  int // slots
}

// sumFunc computes count neighbouring outputs at position at from the items
// lo … hi−1 of the summed nest.
type sumFunc func(s *sumStep, dst, src unsafe.Pointer, at [operands]int, count, lo, hi int)

func (s *sumStep) parts() int { return s.cut }

func (s *sumStep) run(r *run, _, part int) {
	lo, hi := share(s.segments*s.kept.items, s.cut, part)
	for lo < hi {
		seg, first := lo/s.kept.items, lo%s.kept.items
		last := min(s.kept.items, first+hi-lo)
		dst, src := unsafe.Add(r.base[s.out], seg*s.kept.total*s.size), r.base[s.in]
		from, to := seg*s.segItems, min((seg+1)*s.segItems, s.summed.items)
		s.kept.each(first, last, func(at [operands]int, count int) { s.f(s, dst, src, at, count, from, to) })
		lo += last - first
	}
}

func (b *binder) reduceSum(axes engine.Axes, out, in engine.Spec) {
	gone := make([]bool, in.Rank())
	for i := range axes.Len() {
		gone[axes.At(i)] = true
	}
	strides := in.AppendStrides(nil)
	var keptExt, keptStr, sumExt, sumStr []int
	for i, g := range gone {
		if g {
			sumExt, sumStr = append(sumExt, in.Shape.At(i)), append(sumStr, strides[i])
		} else {
			keptExt, keptStr = append(keptExt, in.Shape.At(i)), append(keptStr, strides[i])
		}
	}
	kept, none := dimsOf(keptExt, out.AppendStrides(nil), keptStr)
	if none {
		return
	}
	dims, nothing := dimsOf(sumExt, make([]int, len(sumExt)), sumStr)
	sortBy(dims, 1)
	summed, outputs := nestOf(dims, nothing), product(kept)
	if outputs >= fewOutputs || summed.total < 2*segmentElements {
		b.step(b.sum(kept, summed, summed.items, out, 1, 0))
		return
	}
	per := max(segmentElements/summed.block, 1)
	segments := (summed.items + per - 1) / per
	slot := b.scratch(engine.SpecOf(out.DType, segments, outputs))
	// Partials lie compact, in the order of kept.
	partial, final := append([]dim{}, kept...), append([]dim{}, kept...)
	step := 1
	for i := len(kept) - 1; i >= 0; i-- {
		partial[i].s[0], final[i].s[1] = step, step
		step *= kept[i].n
	}
	b.step(b.sum(partial, summed, per, out, slot, 0))
	over := nestOf([]dim{{n: segments, s: [operands]int{0, outputs, 0}}}, false)
	b.step(b.sum(final, over, over.items, out, 1, slot))
}

// sum makes the step that sums segItems items at a time of the summed nest.
func (b *binder) sum(kept []dim, summed nest, segItems int, out engine.Spec, outSlot, inSlot int) *sumStep {
	s := &sumStep{size: out.DType.Size(), out: outSlot, in: inSlot, f: sumOf(out.DType), summed: summed, segments: 1, segItems: segItems}
	if segItems < summed.items {
		s.segments = (summed.items + segItems - 1) / segItems
	}
	kept = append([]dim{}, kept...)
	sortBy(kept, 0)
	s.kept = nestOf(kept, false)
	along, ownStep := magnitude(s.kept.inner.s[1]), magnitude(summed.inner.s[1])
	s.across = s.kept.inner.n >= 4 && summed.total > 1 && along < ownStep
	n := s.kept.total * max(summed.total, 1)
	s.cut = pieces(s.segments*s.kept.items, b.width, float64(n), float64(n*s.size))
	return s
}

func sumOf(d engine.DType) sumFunc {
	switch d {
	case engine.Int32:
		return sumRow[int32]
	case engine.Int64:
		return sumRow[int64]
	case engine.Float32:
		return sumRow[float32]
	case engine.Float64:
		return sumRow[float64]
	case engine.Complex64:
		return sumRow[complex64]
	}
	return sumRow[complex128]
}

// sumRow computes count neighbouring outputs along kept.inner.
func sumRow[T number](s *sumStep, dst, src unsafe.Pointer, at [operands]int, count, lo, hi int) {
	size := int(unsafe.Sizeof(*new(T)))
	d, a := unsafe.Add(dst, at[0]*size), unsafe.Add(src, at[1]*size)
	ds, ss := s.kept.inner.s[0]*size, s.kept.inner.s[1]*size
	if s.across {
		for count > 0 {
			n := min(count, acrossWidth)
			sumAcross[T](s, d, a, n, ds, ss, lo, hi)
			d, a = unsafe.Add(d, n*ds), unsafe.Add(a, n*ss)
			count -= n
		}
		return
	}
	for range count {
		*(*T)(d) = sumOne[T](s, a, lo, hi)
		d, a = unsafe.Add(d, ds), unsafe.Add(a, ss)
	}
}

// sumOne sums blocks of up to 128 elements and adds the blocks pairwise, so
// that the error grows with the logarithm of their number.
func sumOne[T number](s *sumStep, a unsafe.Pointer, lo, hi int) T {
	var tree pairwise[T]
	size := int(unsafe.Sizeof(*new(T)))
	step := s.summed.inner.s[1] * size
	s.summed.each(lo, hi, func(at [operands]int, count int) {
		p := unsafe.Add(a, at[1]*size)
		for count > 0 {
			n := min(count, 128)
			tree.push(sumBlock[T](p, n, step))
			p = unsafe.Add(p, n*step)
			count -= n
		}
	})
	return tree.sum()
}

// sumBlock sums n elements at a distance of step bytes in four strands.
func sumBlock[T number](p unsafe.Pointer, n, step int) T {
	var s0, s1, s2, s3 T
	for ; n >= 4; n -= 4 {
		s0 += *(*T)(p)
		s1 += *(*T)(unsafe.Add(p, step))
		s2 += *(*T)(unsafe.Add(p, 2*step))
		s3 += *(*T)(unsafe.Add(p, 3*step))
		p = unsafe.Add(p, 4*step)
	}
	for ; n > 0; n-- {
		s0 += *(*T)(p)
		p = unsafe.Add(p, step)
	}
	return (s0 + s1) + (s2 + s3)
}

// pairwise adds a sequence as a binary counter does: level i holds the sum of
// 2^i values.
type pairwise[T number] struct {
	level [48]T
	count uint64
}

func (t *pairwise[T]) push(v T) {
	i := 0
	for c := t.count; c&1 != 0; c >>= 1 {
		v = t.level[i] + v
		i++
	}
	t.level[i] = v
	t.count++
}

func (t *pairwise[T]) sum() T {
	var v T
	for i, c := 0, t.count; c != 0; i, c = i+1, c>>1 {
		if c&1 != 0 {
			v = t.level[i] + v
		}
	}
	return v
}

const acrossWidth = 256

// sumAcross sums n neighbouring outputs at once, row by row, in blocks of 128
// rows.
func sumAcross[T number](s *sumStep, d, a unsafe.Pointer, n, ds, ss, lo, hi int) {
	var accBuf, blockBuf [acrossWidth]T
	acc, block := accBuf[:n], blockBuf[:n]
	size := int(unsafe.Sizeof(*new(T)))
	step, rows := s.summed.inner.s[1]*size, 0
	s.summed.each(lo, hi, func(at [operands]int, count int) {
		p := unsafe.Add(a, at[1]*size)
		for range count {
			addInto(block, p, ss)
			p = unsafe.Add(p, step)
			if rows++; rows == 128 {
				for j := range acc {
					acc[j] += block[j]
				}
				clear(block)
				rows = 0
			}
		}
	})
	for j := range acc {
		*(*T)(d) = acc[j] + block[j]
		d = unsafe.Add(d, ds)
	}
}

func addInto[T number](block []T, p unsafe.Pointer, step int) {
	if size := int(unsafe.Sizeof(*new(T))); step == size {
		for j, x := range unsafe.Slice((*T)(p), len(block)) {
			block[j] += x
		}
		return
	}
	for j := range block {
		block[j] += *(*T)(p)
		p = unsafe.Add(p, step)
	}
}
