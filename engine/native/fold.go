package native

import (
	"fmt"
	"math"
	"math/cmplx"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// FoldPlan reduces a strided tensor over some of its axes by any function of two
// elements that has a row. It is immutable: any number of goroutines may run it
// at once.
//
// Elements are taken in blocks: foldLanes running results of one output, or
// those of many outputs side by side. As for sums, the order depends on shapes
// and strides alone. Parts of partLength elements are joined in their order.
type FoldPlan struct {
	reduction
	acc     int // bytes of a running result
	combine row
	pre     row // from elements to running results, or nil
	empty   func(acc unsafe.Pointer)
	span    func(found, x unsafe.Pointer, n int) // the extreme of groups of 128 bytes, see folder.extreme; or nil
	// post stores running results; scale is what pre multiplied by.
	post func(dst unsafe.Pointer, step int, acc unsafe.Pointer, n int, scale float64)
	// retry asks for another pass with elements scaled, 1 for none.
	retry func(acc unsafe.Pointer, n int) (scale float64)
}

const foldLanes = 256

// NewFold plans dst[k…] = f over s of src[k…, s…], for elements of dtype d, as
// NewSum does.
func (l Level) NewFold(f engine.Reduction, d engine.DType, kept, dst, src, summed, srcSummed []int) *FoldPlan {
	p := foldOf(l, f, d)
	if p == nil {
		panic(fmt.Sprintf("native: reduction %d of %v", f, d))
	}
	out, err := engine.Reduce{F: f}.Infer([]engine.Spec{engine.SpecOf(d)})
	if err != nil {
		panic(err)
	}
	p.span = spanOf(l, d, f)
	p.reduction = newReduction(d.Size(), out[0].DType.Size(), kept, dst, src, summed, srcSummed)
	return p
}

func foldOf(l Level, f engine.Reduction, d engine.DType) *FoldPlan {
	switch d {
	case engine.Bool:
		if f == engine.ReduceAll {
			return plainFold(boolPair(engine.And), true)
		}
		return plainFold(boolPair(engine.Or), false)
	case engine.Int32:
		return realFold[int32](l, f, d)
	case engine.Int64:
		return realFold[int64](l, f, d)
	case engine.Float32:
		if p := normFold(l, f, func(x float32) float64 { return math.Abs(float64(x)) }, func(x float64) float32 { return float32(x) }); p != nil {
			return p
		}
		if f == engine.LogSumExp {
			return logSumExp[float32](l)
		}
		return realFold[float32](l, f, d)
	case engine.Float64:
		if p := normFold(l, f, math.Abs, func(x float64) float64 { return x }); p != nil {
			return p
		}
		if f == engine.LogSumExp {
			return logSumExp[float64](l)
		}
		return realFold[float64](l, f, d)
	case engine.Complex64:
		if p := normFold(l, f, func(z complex64) float64 { return cmplx.Abs(complex128(z)) }, func(x float64) float32 { return float32(x) }); p != nil {
			return p
		}
		return plainFold(rows(l, d).mul, complex64(1))
	case engine.Complex128:
		if p := normFold(l, f, cmplx.Abs, func(x float64) float64 { return x }); p != nil {
			return p
		}
		return plainFold(rows(l, d).mul, complex128(1))
	}
	return nil
}

func realFold[T realNumber](l Level, f engine.Reduction, d engine.DType) *FoldPlan {
	switch f {
	case engine.ReduceProd:
		return plainFold(rows(l, d).mul, T(1))
	case engine.ReduceMax:
		return plainFold(rows(l, d).max, T(0)) // never of nothing
	case engine.ReduceMin:
		return plainFold(rows(l, d).min, T(0))
	}
	return nil
}

// plainFold folds elements as they are.
func plainFold[T any](combine row, empty T) *FoldPlan {
	return &FoldPlan{acc: int(unsafe.Sizeof(empty)), combine: combine,
		empty: func(acc unsafe.Pointer) { *(*T)(acc) = empty },
		post: func(dst unsafe.Pointer, step int, acc unsafe.Pointer, n int, _ float64) {
			for i, v := range unsafe.Slice((*T)(acc), n) {
				*(*T)(unsafe.Add(dst, i*step)) = v
			}
		}}
}

// doubleFold folds float64 values made of the elements.
func doubleFold[R any](combine, pre row, empty float64, last func(x, scale float64) R) *FoldPlan {
	return &FoldPlan{acc: 8, combine: combine, pre: pre,
		empty: func(acc unsafe.Pointer) { *(*float64)(acc) = empty },
		post: func(dst unsafe.Pointer, step int, acc unsafe.Pointer, n int, scale float64) {
			for i, v := range unsafe.Slice((*float64)(acc), n) {
				*(*R)(unsafe.Add(dst, i*step)) = last(v, scale)
			}
		}}
}

func logSumExp[T float](l Level) *FoldPlan {
	add, _ := binaryRows(l, engine.LogAddExp, engine.Float64)
	return doubleFold(add, map1(func(x T) float64 { return float64(x) }), math.Inf(-1), func(x, _ float64) T { return T(x) })
}

// Where a sum of squares leaves [tiny, huge], elements are scaled.
const (
	tiny, huge = 0x1p-900, 0x1p+1000
	up, down   = 0x1p+600, 0x1p-600
)

func normFold[T any, R float](l Level, f engine.Reduction, abs func(T) float64, round func(float64) R) *FoldPlan {
	plain := func(x, _ float64) R { return round(x) }
	switch f {
	case engine.Norm1:
		return doubleFold(rows(l, engine.Float64).add, map1(abs), 0, plain)
	case engine.NormInf:
		return doubleFold(rows(l, engine.Float64).max, map1(abs), 0, plain)
	case engine.Norm2:
		square := func(dst, x, _ unsafe.Pointer, n int, by *factor) {
			d, a := unsafe.Slice((*float64)(dst), n), unsafe.Slice((*T)(x), n)
			for i, v := range a {
				y := abs(v) * by.f64
				d[i] = y * y
			}
		}
		p := doubleFold(rows(l, engine.Float64).add, square, 0, func(x, scale float64) R { return round(math.Sqrt(x) / scale) })
		p.retry = func(acc unsafe.Pointer, n int) float64 {
			for _, v := range unsafe.Slice((*float64)(acc), n) {
				switch {
				case v > huge:
					return down
				case v < tiny:
					return up
				}
			}
			return 1
		}
		return p
	}
	return nil
}

// PartialBytes is the size of the result of RunPart.
func (p *FoldPlan) PartialBytes() int { return p.wide.n * p.acc }

// folder is what a fold under way needs.
type folder struct {
	p                       *FoldPlan
	acc, gathered, made, to unsafe.Pointer
	by                      factor
	o                       odometer
	again                   *folder // for one output once more
	x                       [2]float64
}

// foldRow is room for a row of any type.
const foldRow = max(foldLanes, wideLimit) * 16

// open returns the workspace's folder: on the stack it would escape through
// rows.
func (p *FoldPlan) open(ws *Workspace) *folder {
	f := &ws.fold
	if f.again == nil {
		f.again = new(folder)
	}
	mem := scratch[uint8](&ws.sums, 4*foldRow)
	f.p, f.by = p, newFactor(1)
	f.acc, f.gathered = unsafe.Pointer(&mem[0]), unsafe.Pointer(&mem[foldRow])
	f.made, f.to = unsafe.Pointer(&mem[2*foldRow]), unsafe.Pointer(&mem[3*foldRow])
	return f
}

// Run computes items lo ≤ i < hi. The pointers are to the elements (0, 0, …).
func (p *FoldPlan) Run(ws *Workspace, dst, src unsafe.Pointer, lo, hi int) {
	if lo >= hi {
		return
	}
	f := p.open(ws)
	var o odometer
	o.seek(p.kept, p.base, lo)
	for item := lo; item < hi; item++ {
		n, at := p.width(&o), unsafe.Pointer(nil)
		if p.count > 0 {
			at = unsafe.Add(src, o.pos[1])
		}
		f.item(at, n)
		f.store(unsafe.Add(dst, o.pos[0]), at, n)
		o.next()
	}
}

// item leaves the results of n outputs in f.to.
func (f *folder) item(src unsafe.Pointer, n int) {
	for part := range f.p.parts {
		f.part(src, part, n)
		f.join(f.acc, part, n)
	}
}

// join takes up the results of a part.
func (f *folder) join(from unsafe.Pointer, part, n int) {
	if part == 0 {
		f.copy(f.to, from, n)
		return
	}
	f.p.combine(f.to, f.to, from, n, &f.by)
}

func (f *folder) copy(dst, src unsafe.Pointer, n int) {
	copy(unsafe.Slice((*byte)(dst), n*f.p.acc), unsafe.Slice((*byte)(src), n*f.p.acc))
}

// store writes the results in f.to, after another pass if they ask for it.
func (f *folder) store(dst, src unsafe.Pointer, n int) {
	p := f.p
	for i := 0; p.retry != nil && p.count > 0 && i < n; i++ {
		x := unsafe.Add(f.to, i*p.acc)
		scale := p.retry(x, 1)
		if scale == 1 {
			p.post(unsafe.Add(dst, i*p.wide.step[0]), 0, x, 1, 1)
			continue
		}
		f.one(unsafe.Add(dst, i*p.wide.step[0]), unsafe.Add(src, i*p.wide.step[1]), scale)
	}
	if p.retry == nil || p.count == 0 {
		p.post(dst, p.wide.step[0], f.to, n, 1)
	}
}

// one computes a single output with scaled elements.
func (f *folder) one(dst, src unsafe.Pointer, scale float64) {
	g := f.again
	g.p, g.by = f.p, newFactor(complex(scale, 0))
	g.acc, g.gathered, g.made = f.acc, f.gathered, f.made
	g.to = unsafe.Pointer(&g.x)
	for part := range f.p.parts {
		lo := part * partLength
		g.along(src, lo, min(lo+partLength, f.p.count))
		g.join(g.acc, part, 1)
	}
	f.p.post(dst, 0, g.to, 1, scale)
}

// RunPart computes one part of one item into PartialBytes at partial.
func (p *FoldPlan) RunPart(ws *Workspace, partial, src unsafe.Pointer, item, part int) {
	f := p.open(ws)
	f.o.seek(p.kept, p.base, item)
	n := p.width(&f.o)
	f.part(unsafe.Add(src, f.o.pos[1]), part, n)
	f.copy(partial, f.acc, n)
}

// Join folds the parts of one item, which lie one after another at partials, and
// sets its outputs to what Run sets, bit for bit.
func (p *FoldPlan) Join(ws *Workspace, dst, src, partials unsafe.Pointer, item int) {
	f := p.open(ws)
	f.o.seek(p.kept, p.base, item)
	n := p.width(&f.o)
	to, from := unsafe.Add(dst, f.o.pos[0]), unsafe.Add(src, f.o.pos[1])
	for part := range p.parts {
		f.join(unsafe.Add(partials, part*p.PartialBytes()), part, n)
	}
	f.store(to, from, n)
}

// part leaves the results of a part in f.acc.
func (f *folder) part(src unsafe.Pointer, part, n int) {
	lo := part * partLength
	hi := min(lo+partLength, f.p.count)
	switch {
	case lo >= hi:
		for i := range n {
			f.p.empty(unsafe.Add(f.acc, i*f.p.acc))
		}
	case f.p.wide.n > 1:
		f.across(src, lo, hi, n)
	default:
		f.along(src, lo, hi)
	}
}

// values returns n running results made of the elements at src, step apart.
func (f *folder) values(src unsafe.Pointer, n, step int) unsafe.Pointer {
	if step != f.p.size && n > 1 {
		gatherSteps(f.gathered, src, n, step, f.p.size)
		src = f.gathered
	}
	if f.p.pre != nil {
		f.p.pre(f.made, src, nil, n, &f.by)
		src = f.made
	}
	return src
}

// extreme folds whole groups of n elements that lie together at x into the first
// running result, and returns how many. It leaves zeros, which have signs, and
// NaN to the rows. The result does not depend on the order.
func (f *folder) extreme(x unsafe.Pointer, n, have int) int {
	const group, found = 128, 32
	p := f.p
	groups := min(n*p.size, callBytes) / group
	if groups < 2 {
		return 0
	}
	p.span(f.made, x, groups)
	for _, v := range unsafe.Slice((*uint64)(unsafe.Add(f.made, found)), found/8) {
		if v != 0 {
			return 0
		}
	}
	for m := found / p.size / 2; m > 0; m /= 2 {
		p.combine(f.made, f.made, unsafe.Add(f.made, m*p.size), m, &f.by)
	}
	if p.size == 8 && *(*uint64)(f.made)<<1 == 0 || p.size == 4 && *(*uint32)(f.made)<<1 == 0 {
		return 0
	}
	if have == 0 {
		f.copy(f.acc, f.made, 1)
	} else {
		p.combine(f.acc, f.acc, f.made, 1, &f.by)
	}
	return groups * group / p.size
}

// across folds n outputs side by side.
func (f *folder) across(src unsafe.Pointer, lo, hi, n int) {
	f.o.seek(f.p.summed, [maxOperands]int{}, lo)
	for i := lo; i < hi; i++ {
		v := f.values(unsafe.Add(src, f.o.pos[1]), n, f.p.wide.step[1])
		if i == lo {
			f.copy(f.acc, v, n)
		} else {
			f.p.combine(f.acc, f.acc, v, n, &f.by)
		}
		f.o.next()
	}
}

// along folds one output, in foldLanes running results that are then folded in
// halves.
func (f *folder) along(src unsafe.Pointer, lo, hi int) {
	p := f.p
	inner := axis{n: 1}
	outer := p.summed
	if k := len(p.summed) - 1; k >= 0 {
		inner, outer = p.summed[k], p.summed[:k]
	}
	f.o.seek(outer, [maxOperands]int{}, lo/inner.n)
	have := 0
	for i, at := lo, lo%inner.n; i < hi; {
		n := min(inner.n-at, hi-i)
		if p.span != nil && inner.step[1] == p.size {
			if k := f.extreme(unsafe.Add(src, f.o.pos[1]+at*p.size), n, have); k > 0 {
				have = max(have, 1)
				if i, at = i+k, at+k; at == inner.n {
					at = 0
					f.o.next()
				}
				continue
			}
		}
		n = min(n, foldLanes)
		v := f.values(unsafe.Add(src, f.o.pos[1]+at*inner.step[1]), n, inner.step[1])
		if k := min(n, have); k > 0 {
			p.combine(f.acc, f.acc, v, k, &f.by)
		}
		if n > have {
			f.copy(unsafe.Add(f.acc, have*p.acc), unsafe.Add(v, have*p.acc), n-have)
			have = n
		}
		i += n
		if at += n; at == inner.n {
			at = 0
			f.o.next()
		}
	}
	for have > 1 {
		half := (have + 1) / 2
		p.combine(f.acc, f.acc, unsafe.Add(f.acc, half*p.acc), have-half, &f.by)
		have = half
	}
}

// gatherSteps makes n elements, step bytes apart, contiguous.
func gatherSteps(dst, src unsafe.Pointer, n, step, size int) {
	switch size {
	case 1:
		gatherStepCells[uint8](dst, src, n, step)
	case 4:
		gatherStepCells[uint32](dst, src, n, step)
	case 8:
		gatherStepCells[uint64](dst, src, n, step)
	default:
		gatherStepCells[[2]uint64](dst, src, n, step)
	}
}

func gatherStepCells[T cell](dst, src unsafe.Pointer, n, step int) {
	d := unsafe.Slice((*T)(dst), n)
	for i := range d {
		d[i] = *(*T)(unsafe.Add(src, i*step))
	}
}

// NewDivide plans dst = x / by, for floating d and a real by, as NewAdd does.
func (l Level) NewDivide(d engine.DType, by float64, extents, dst, x []int) *MapPlan {
	var f row
	switch d {
	case engine.Float32:
		f = map1(func(x float32) float32 { return float32(float64(x) / by) })
	case engine.Float64:
		f = map1(func(x float64) float64 { return x / by })
	case engine.Complex64:
		f = map1(func(z complex64) complex64 {
			return complex(float32(float64(real(z))/by), float32(float64(imag(z))/by))
		})
	default:
		f = map1(func(z complex128) complex128 { return complex(real(z)/by, imag(z)/by) })
	}
	return newMap(d, f, nil, 0, extents, dst, x)
}
