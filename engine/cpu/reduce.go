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
	d, ds, ss := unsafe.Add(dst, at[0]*size), s.kept.inner.s[0]*size, s.kept.inner.s[1]*size
	if lo == hi { // nothing to sum; src may be nil
		for i := range count {
			*(*T)(unsafe.Add(d, i*ds)) = 0
		}
		return
	}
	a := unsafe.Add(src, at[1]*size)
	if s.across {
		for i := 0; i < count; i += acrossWidth {
			sumAcross[T](s, unsafe.Add(d, i*ds), unsafe.Add(a, i*ss), min(count-i, acrossWidth), ds, ss, lo, hi)
		}
		return
	}
	for i := range count { // never a pointer past the last element: the collector would see it
		*(*T)(unsafe.Add(d, i*ds)) = sumOne[T](s, unsafe.Add(a, i*ss), lo, hi)
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
		for i := 0; i < count; i += 128 {
			tree.push(sumBlock[T](unsafe.Add(p, i*step), min(count-i, 128), step))
		}
	})
	return tree.sum()
}

// sumBlock sums n elements at a distance of step bytes in four strands.
func sumBlock[T number](p unsafe.Pointer, n, step int) T {
	var s0, s1, s2, s3 T
	i := 0
	for ; i+4 <= n; i += 4 {
		q := unsafe.Add(p, i*step)
		s0 += *(*T)(q)
		s1 += *(*T)(unsafe.Add(q, step))
		s2 += *(*T)(unsafe.Add(q, 2*step))
		s3 += *(*T)(unsafe.Add(q, 3*step))
	}
	for ; i < n; i++ {
		s0 += *(*T)(unsafe.Add(p, i*step))
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
		for i := range count {
			addInto(block, unsafe.Add(p, i*step), ss)
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
		*(*T)(unsafe.Add(d, j*ds)) = acc[j] + block[j]
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
		block[j] += *(*T)(unsafe.Add(p, j*step))
	}
}
