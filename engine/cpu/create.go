package cpu

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

func (b *binder) fill(op engine.Fill, out engine.Spec) {
	p := b.level.NewCopy(out.DType.Size(), out.Shape.Ints(), out.AppendStrides(nil), make([]int, out.Rank()))
	b.step(&moveStep{plan: p, in: -1, value: bitsOf(op.Value, out.DType), cut: pieces(p.Items(), b.width, 0, float64(out.Bytes()))})
}

// createStep writes elements made from their row-major positions.
type createStep struct {
	n, cut int
	size   int
	out    engine.Spec
	make   func(p unsafe.Pointer, i int)
}

func (s *createStep) parts() int { return s.cut }

func (s *createStep) run(r *run, _, part int) {
	lo, hi := share(s.n, s.cut, part)
	if s.out.IsCompact() {
		for i := lo; i < hi; i++ {
			s.make(unsafe.Add(r.base[0], i*s.size), i)
		}
		return
	}
	for i := lo; i < hi; i++ {
		at, rest := 0, i
		for k := s.out.Rank() - 1; k >= 0; k-- {
			n := s.out.Shape.At(k)
			at += rest % n * s.out.Strides.At(k)
			rest /= n
		}
		s.make(unsafe.Add(r.base[0], at*s.size), i)
	}
}

func (b *binder) create(out engine.Spec, flops float64, make func(p unsafe.Pointer, i int)) {
	n := out.Elements()
	b.step(&createStep{n: n, cut: pieces(n, b.width, flops*float64(n), float64(out.Bytes())), size: out.DType.Size(), out: out, make: make})
}

func (b *binder) iota(op engine.Iota, out engine.Spec) {
	inner := 1
	for k := op.Axis + 1; k < out.Rank(); k++ {
		inner *= out.Shape.At(k)
	}
	n := max(out.Shape.At(op.Axis), 1)
	b.create(out, 16, writer(out.DType, func(i int) int64 { return int64(i / inner % n) }, func(i int) (float64, float64) { return float64(i / inner % n), 0 }))
}

func (b *binder) random(op engine.Random, out engine.Spec) {
	word := func(i int) int64 { a, _ := op.At(i); return int64(a) }
	b.create(out, transcendental, writer(out.DType, word, op.Float))
}

// writer stores an element made by integer or by float, as dtype d asks for.
func writer(d engine.DType, integer func(int) int64, float func(int) (re, im float64)) func(p unsafe.Pointer, i int) {
	switch d {
	case engine.Bool:
		return func(p unsafe.Pointer, i int) { *(*bool)(p) = integer(i)&1 != 0 }
	case engine.Int32:
		return func(p unsafe.Pointer, i int) { *(*int32)(p) = int32(integer(i)) }
	case engine.Int64:
		return func(p unsafe.Pointer, i int) { *(*int64)(p) = integer(i) }
	case engine.Float32:
		return func(p unsafe.Pointer, i int) { x, _ := float(i); *(*float32)(p) = float32(x) }
	case engine.Float64:
		return func(p unsafe.Pointer, i int) { x, _ := float(i); *(*float64)(p) = x }
	case engine.Complex64:
		return func(p unsafe.Pointer, i int) { x, y := float(i); *(*complex64)(p) = complex(float32(x), float32(y)) }
	}
	return func(p unsafe.Pointer, i int) { x, y := float(i); *(*complex128)(p) = complex(x, y) }
}
