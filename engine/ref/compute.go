package ref

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// value is one element: z for floating types, n for integers. A sum or product
// of values is one of the same kind.
type value struct {
	z complex128
	n int64
}

func (a value) add(b value) value { return value{a.z + b.z, a.n + b.n} }
func (a value) mul(b value) value {
	ar, ai, br, bi := real(a.z), imag(a.z), real(b.z), imag(b.z)
	return value{complex(ar*br-ai*bi, ar*bi+ai*br), a.n * b.n}
}

// times is f · a; a real f scales both parts.
func (a value) times(f complex128) value {
	n := int64(real(f)) * a.n
	if imag(f) == 0 {
		return value{complex(real(f)*real(a.z), real(f)*imag(a.z)), n}
	}
	return value{complex(real(f)*real(a.z)-imag(f)*imag(a.z), real(f)*imag(a.z)+imag(f)*real(a.z)), n}
}

// array is a strided array in host memory, as a tensor or a Gemm sees it.
type array struct {
	p       unsafe.Pointer
	dtype   engine.DType
	extents []int
	strides []int
}

func arrayOf(t *engine.Tensor) array {
	s := t.Spec()
	return array{t.HostPointer(), s.DType, s.Shape.Ints(), s.AppendStrides(nil)}
}

func (a array) at(index []int) unsafe.Pointer {
	pos := 0
	for i, x := range index {
		pos += x * a.strides[i]
	}
	return unsafe.Add(a.p, pos*a.dtype.Size())
}

func (a array) load(index []int) value {
	p := a.at(index)
	switch a.dtype {
	case engine.Bool:
		return boolean(*(*bool)(p))
	case engine.Int32:
		return value{n: int64(*(*int32)(p))}
	case engine.Int64:
		return value{n: *(*int64)(p)}
	case engine.Float32:
		return value{z: complex(float64(*(*float32)(p)), 0)}
	case engine.Float64:
		return value{z: complex(*(*float64)(p), 0)}
	case engine.Complex64:
		return value{z: complex128(*(*complex64)(p))}
	case engine.Complex128:
		return value{z: *(*complex128)(p)}
	}
	panic(fmt.Sprintf("ref: no value of %v", a.dtype))
}

// loadConj is the conjugate for complex types, the element itself for others.
func (a array) loadConj(index []int) value {
	v := a.load(index)
	if a.dtype.IsComplex() {
		v.z = complex(real(v.z), -imag(v.z))
	}
	return v
}

func (a array) store(index []int, v value) {
	p := a.at(index)
	switch a.dtype {
	case engine.Bool:
		*(*bool)(p) = v.n != 0
	case engine.Int32:
		*(*int32)(p) = int32(v.n)
	case engine.Int64:
		*(*int64)(p) = v.n
	case engine.Float32:
		*(*float32)(p) = float32(real(v.z))
	case engine.Float64:
		*(*float64)(p) = real(v.z)
	case engine.Complex64:
		*(*complex64)(p) = complex64(v.z)
	case engine.Complex128:
		*(*complex128)(p) = v.z
	default:
		panic(fmt.Sprintf("ref: no value of %v", a.dtype))
	}
}

// each calls f with every index of the extents, in row-major order.
func each(extents []int, f func(index []int)) {
	for _, n := range extents {
		if n == 0 {
			return
		}
	}
	index := make([]int, len(extents))
	for {
		f(index)
		i := len(extents) - 1
		for ; i >= 0; i-- {
			if index[i]++; index[i] < extents[i] {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			return
		}
	}
}

func compute(op engine.Op, outs, in []*engine.Tensor) error {
	o := arrayOf(outs[0])
	if len(in) == 0 {
		create(op, o)
		return nil
	}
	a := arrayOf(in[0])
	all, results := make([]array, len(in)), make([]array, len(outs))
	for i, t := range outs {
		results[i] = arrayOf(t)
	}
	for i, t := range in {
		all[i] = arrayOf(t)
	}
	switch op := op.(type) {
	case engine.Copy:
		copyFrom(o, a, func(index []int) []int { return index })
	case engine.Permute:
		copyFrom(o, a, func(index []int) []int {
			from := make([]int, len(index))
			for k, i := range index {
				from[op.Axes.At(k)] = i
			}
			return from
		})
	case engine.Reshape:
		copyFrom(o, a, func(index []int) []int { return unravel(ravel(index, o.extents), a.extents) })
	case engine.Diagonal:
		copyFrom(o, a, func(index []int) []int {
			at := op.A
			if op.A > op.B {
				at--
			}
			d := index[at]
			from := append([]int{}, index[:op.B]...)
			return append(append(from, d), index[op.B:]...)
		})
	case engine.Add:
		b := arrayOf(in[1])
		each(o.extents, func(i []int) { o.store(i, a.load(i).add(b.load(i))) })
	case engine.Mul:
		b := arrayOf(in[1])
		each(o.extents, func(i []int) { o.store(i, a.load(i).mul(b.load(i))) })
	case engine.Scale:
		f := rounded(op.By.Or(0), a.dtype)
		each(o.extents, func(i []int) { o.store(i, a.load(i).times(f)) })
	case engine.Conj:
		each(o.extents, func(i []int) { o.store(i, a.loadConj(i)) })
	case engine.ReduceSum:
		reduceSum(op, o, a)
	case engine.DotGeneral:
		dotGeneral(op, o, a, arrayOf(in[1]))
	case engine.ApplyMatrix:
		applyMatrix(op, o, a, arrayOf(in[1]))
	case engine.GroupedDot:
		groupedDot(op, o, a, arrayOf(in[1]))
	case engine.Unary, engine.Binary, engine.Ternary, engine.Cast, engine.Convert:
		return elementwise(op, o, all)
	case engine.Reduce:
		reduce(op.Axes, o, a, func(_ []int, v []value) value { return reduction(op.F, a.dtype, v) })
	case engine.CumSum:
		cumulative(op.Axis, o, a, value.add)
	case engine.CumProd:
		cumulative(op.Axis, o, a, value.mul)
	case engine.Gather, engine.TakeAlong, engine.Scatter:
		return indexing(op, o, all)
	case engine.Sort, engine.ArgSort, engine.TopK:
		sorting(op, results, a)
	case engine.Mover, engine.Tril, engine.Triu:
		structure(op, results, all)
	default:
		panic("ref: operation without a loop")
	}
	return nil
}

// rounded is f as dtype d holds it.
func rounded(f complex128, d engine.DType) complex128 {
	if d == engine.Float32 || d == engine.Complex64 {
		return complex128(complex64(f))
	}
	return f
}

// copyFrom copies bytes, so that every bit pattern survives.
func copyFrom(o, a array, from func(index []int) []int) {
	n := a.dtype.Size()
	each(o.extents, func(i []int) {
		copy(unsafe.Slice((*byte)(o.at(i)), n), unsafe.Slice((*byte)(a.at(from(i))), n))
	})
}

func ravel(index, extents []int) int {
	pos := 0
	for k, n := range extents {
		pos = pos*n + index[k]
	}
	return pos
}

func unravel(pos int, extents []int) []int {
	index := make([]int, len(extents))
	for k := len(extents) - 1; k >= 0; k-- {
		index[k] = pos % extents[k]
		pos /= extents[k]
	}
	return index
}

func reduceSum(op engine.ReduceSum, o, a array) {
	reduce(op.Axes, o, a, func(_ []int, values []value) value {
		var sum value
		for _, v := range values {
			sum = sum.add(v)
		}
		return sum
	})
}

// reduce calls f with the elements of a along axes, in row-major order, for each
// element of o.
func reduce(axes engine.Axes, o, a array, f func(index []int, values []value) value) {
	gone := make([]bool, len(a.extents))
	for i := range axes.Len() {
		gone[axes.At(i)] = true
	}
	var summed, kept []int
	for i := range a.extents {
		if gone[i] {
			summed = append(summed, i)
		} else {
			kept = append(kept, i)
		}
	}
	from := make([]int, len(a.extents))
	each(o.extents, func(i []int) {
		put(from, kept, i)
		var values []value
		each(pick(a.extents, summed), func(s []int) {
			put(from, summed, s)
			values = append(values, a.load(from))
		})
		o.store(i, f(i, values))
	})
}

func pick(v, which []int) []int {
	p := make([]int, len(which))
	for k, i := range which {
		p[k] = v[i]
	}
	return p
}

func put(v, which, values []int) {
	for k, i := range which {
		v[i] = values[k]
	}
}

func dotGeneral(d engine.DotGeneral, o, l, r array) {
	freeLeft, freeRight := d.Free(len(l.extents), len(r.extents))
	bl, br, cl, cr := d.BatchL.Ints(), d.BatchR.Ints(), d.ContractL.Ints(), d.ContractR.Ints()
	fl, fr := freeLeft.Ints(), freeRight.Ints()
	alpha, beta := rounded(d.Alpha.Or(1), o.dtype), rounded(d.Beta.Or(0), o.dtype)
	li, ri := make([]int, len(l.extents)), make([]int, len(r.extents))
	some := alpha != 0 && !slices.Contains(pick(l.extents, cl), 0)
	each(o.extents, func(i []int) {
		nb, nl := len(bl), len(fl)
		put(li, bl, i[:nb])
		put(ri, br, i[:nb])
		put(li, fl, i[nb:nb+nl])
		put(ri, fr, i[nb+nl:])
		var sum value
		if some {
			each(pick(l.extents, cl), func(c []int) {
				put(li, cl, c)
				put(ri, cr, c)
				x, y := l.load(li), r.load(ri)
				if d.ConjL {
					x = l.loadConj(li)
				}
				if d.ConjR {
					y = r.loadConj(ri)
				}
				sum = sum.add(x.mul(y))
			})
		}
		o.store(i, finish(sum, some, alpha, beta, func() value { return o.load(i) }))
	})
}

func applyMatrix(op engine.ApplyMatrix, o, a, m array) {
	each(o.extents, func(i []int) {
		var sum value
		from := append([]int{}, i...)
		for k := range a.extents[op.Axis] {
			from[op.Axis] = k
			x := m.load([]int{i[op.Axis], k})
			if op.Conj {
				x = m.loadConj([]int{i[op.Axis], k})
			}
			sum = sum.add(x.mul(a.load(from)))
		}
		o.store(i, sum)
	})
}

func groupedDot(op engine.GroupedDot, o, l, r array) {
	alpha, beta := rounded(op.Alpha.Or(1), o.dtype), rounded(op.Beta.Or(0), o.dtype)
	for n := range op.Jobs.Len() {
		job := op.Jobs.At(n)
		at := func(b engine.Block, i, j int) []int { return []int{b.Offset + i*b.Row + j*b.Col} }
		each([]int{job.M, job.N}, func(i []int) {
			var sum value
			some := alpha != 0 && job.K > 0
			for k := 0; k < job.K && some; k++ {
				x, y := l.load(at(job.A, i[0], k)), r.load(at(job.B, k, i[1]))
				if op.ConjA {
					x = l.loadConj(at(job.A, i[0], k))
				}
				if op.ConjB {
					y = r.loadConj(at(job.B, k, i[1]))
				}
				sum = sum.add(x.mul(y))
			}
			c := at(job.C, i[0], i[1])
			o.store(c, finish(sum, some, alpha, beta, func() value { return o.load(c) }))
		})
	}
}

// finish is alpha · sum + beta · old, or beta · old where there is not some sum; old
// is read only for beta ≠ 0.
func finish(sum value, some bool, alpha, beta complex128, old func() value) value {
	if some && alpha != 1 {
		sum = sum.times(alpha)
	}
	if beta != 0 {
		sum = sum.add(old().times(beta))
	}
	return sum
}
