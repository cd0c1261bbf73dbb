package cpu

import (
	"fmt"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// moves executes a structural operation.
func (b *binder) moves(op engine.Mover) {
	in, out := make([]engine.Spec, b.k.NumIn()), make([]engine.Spec, b.k.NumOut())
	for i := range in {
		in[i] = b.k.In(i)
	}
	for i := range out {
		out[i] = b.k.Out(i)
	}
	for _, m := range op.Moves(in, out) {
		size := m.To.DType.Size()
		ext, to := m.To.Shape.Ints(), m.To.AppendStrides(nil)
		s := &moveStep{out: len(in) + m.Out, in: m.In, outShift: m.OutShift * size, inShift: m.InShift * size}
		if m.In < 0 {
			s.value = bitsOf(op.Fill(), m.To.DType)
			s.plan = b.level.NewCopy(size, ext, to, make([]int, len(ext)))
		} else {
			s.plan = b.level.NewCopy(size, ext, to, m.From.AppendStrides(nil))
		}
		s.cut = pieces(s.plan.Items(), b.width, 0, float64(2*m.To.Bytes()))
		b.step(s)
	}
}

// moveStep copies a part of an input, or a value, to a part of an output.
type moveStep struct {
	plan              *native.CopyPlan
	cut               int
	out, in           int // slots; in −1: the value
	outShift, inShift int // bytes
	value             [2]uint64
}

func (s *moveStep) parts() int { return s.cut }

func (s *moveStep) run(r *run, w, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	src := unsafe.Pointer(&s.value)
	if s.in >= 0 {
		src = unsafe.Add(r.base[s.in], s.inShift)
	}
	s.plan.Run(&r.e.workers[w].space, unsafe.Add(r.base[s.out], s.outShift), src, lo, hi)
}

// triangleStep is Tril or Triu, rows shared out.
type triangleStep struct {
	plan *native.TrianglePlan
	cut  int
}

func (s *triangleStep) parts() int { return s.cut }

func (s *triangleStep) run(r *run, _, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	s.plan.Run(r.base[1], r.base[0], lo, hi)
}

func (b *binder) triangle(lower bool, k int, out, in engine.Spec) {
	p := native.NewTriangle(out.DType.Size(), lower, k, out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil))
	b.step(&triangleStep{plan: p, cut: pieces(p.Items(), b.width, 0, float64(2*out.Bytes()))})
}

// bitsOf is a factor as an element of dtype d.
func bitsOf(f engine.Factor, d engine.DType) (bits [2]uint64) {
	z := f.Or(0)
	p := unsafe.Pointer(&bits)
	switch d {
	case engine.Bool:
		*(*bool)(p) = z != 0
	case engine.Int32:
		*(*int32)(p) = int32(real(z))
	case engine.Int64:
		*(*int64)(p) = int64(real(z))
	case engine.Float32:
		*(*float32)(p) = float32(real(z))
	case engine.Float64:
		*(*float64)(p) = real(z)
	case engine.Complex64:
		*(*complex64)(p) = complex64(z)
	case engine.Complex128:
		*(*complex128)(p) = z
	default:
		panic(fmt.Sprintf("cpu: no value of %v", d))
	}
	return bits
}

// indexStep runs an index plan over slots.
type indexStep struct {
	plan            *native.IndexPlan
	cut             int
	to, from, index int
}

func (s *indexStep) parts() int { return s.cut }

func (s *indexStep) run(r *run, _, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	s.plan.Run(r.base[s.to], r.base[s.from], r.base[s.index], lo, hi)
}

func (b *binder) indexed(p *native.IndexPlan, moved engine.Spec, to, from int) {
	n := float64(moved.Elements())
	b.step(&indexStep{plan: p, cut: pieces(p.Items(), b.width, 16*n, 2*float64(moved.Bytes())), to: to, from: from, index: 1})
}

// gatherAxes are the loops of Gather{axis} between what is gathered (whose
// strides are g) and x, and those over the elements of one index.
func gatherAxes(axis int, x, index engine.Spec, g []int) (loops, rest native.Axes) {
	xs, is, r := x.AppendStrides(nil), index.AppendStrides(nil), index.Rank()
	add := func(a *native.Axes, n, g, x, i int) {
		a.Extents, a.To, a.From, a.Index = append(a.Extents, n), append(a.To, g), append(a.From, x), append(a.Index, i)
	}
	for i := range axis {
		add(&loops, x.Shape.At(i), g[i], xs[i], 0)
	}
	for i := range r {
		add(&loops, index.Shape.At(i), g[axis+i], 0, is[i])
	}
	for i := axis + 1; i < x.Rank(); i++ {
		add(&rest, x.Shape.At(i), g[i-1+r], xs[i], 0)
	}
	return loops, rest
}

func (b *binder) gather(axis int, out, x, index engine.Spec) {
	b.check(1, engine.ErrIndexRange, native.Outside(index.DType, x.Shape.At(axis)))
	loops, rest := gatherAxes(axis, x, index, out.AppendStrides(nil))
	b.indexed(b.level.NewGather(x.DType, index.DType, x.AppendStrides(nil)[axis], loops, rest), out, 2, 0)
}

func (b *binder) takeAlong(axis int, out, x, index engine.Spec) {
	b.check(1, engine.ErrIndexRange, native.Outside(index.DType, x.Shape.At(axis)))
	xs := x.AppendStrides(nil)
	step := xs[axis]
	xs[axis] = 0
	loops := native.Axes{Extents: out.Shape.Ints(), To: out.AppendStrides(nil), From: xs, Index: index.AppendStrides(nil)}
	b.indexed(b.level.NewGather(x.DType, index.DType, step, loops, native.Axes{}), out, 2, 0)
}

func (b *binder) scatter(op engine.Scatter, out, x, index, updates engine.Spec) {
	b.check(1, engine.ErrIndexRange, native.Outside(index.DType, x.Shape.At(op.Axis)))
	b.copy(out, x, 3, 0)
	loops, rest := gatherAxes(op.Axis, out, index, updates.AppendStrides(nil))
	loops.To, loops.From, rest.To, rest.From = loops.From, loops.To, rest.From, rest.To
	p := b.level.NewScatter(x.DType, index.DType, op.Add, out.AppendStrides(nil)[op.Axis], op.Axis, loops, rest)
	b.indexed(p, updates, 3, 2)
}

// sort appends Sort, ArgSort or TopK.
func (b *binder) sort(axis, count int, descending, values, positions bool) {
	in := b.k.In(0)
	at, strides := []int{}, [][]int{}
	for i := range b.k.NumOut() {
		at, strides = append(at, 1+i), append(strides, b.k.Out(i).AppendStrides(nil))
	}
	if count == 0 {
		return
	}
	b.work = native.SortBytes(in.Shape.At(axis))
	p := native.NewSort(in.DType, descending, values, positions, axis, count, in.Shape.Ints(), append(strides, in.AppendStrides(nil))...)
	b.lines(p, transcendental, in, append(at, 0)...)
}
