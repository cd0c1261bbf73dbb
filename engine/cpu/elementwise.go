package cpu

import (
	"sync/atomic"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// transcendental is the work of an elementary function, in arithmetic operations
// of the work model.
const transcendental = 100

func unaryWork(u engine.Unary) float64 {
	switch u {
	case engine.Neg, engine.Abs, engine.Sign, engine.Not, engine.IsFinite, engine.IsNaN, engine.Real, engine.Imag:
		return 8
	}
	return transcendental
}

func binaryWork(f engine.Binary) float64 {
	switch f {
	case engine.Rem, engine.Pow, engine.Atan2, engine.LogAddExp:
		return transcendental
	}
	return 8
}

func (b *binder) unaryOp(u engine.Unary, out, in engine.Spec) {
	p := b.level.NewUnary(u, in.DType, out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil))
	b.mapTo(p, unaryWork(u), wider(out, in), 1, 0)
}

func (b *binder) binaryOp(f engine.Binary, out, x, y engine.Spec) {
	if (f == engine.Div || f == engine.Rem) && !x.DType.IsFloat() {
		b.check(1, engine.ErrDivideByZero, native.Zero(x.DType))
	}
	p := b.level.NewBinary(f, x.DType, out.Shape.Ints(), out.AppendStrides(nil), x.AppendStrides(nil), y.AppendStrides(nil))
	b.mapTo(p, binaryWork(f), wider(out, x), 2, 0, 1)
}

func (b *binder) ternaryOp(f engine.Ternary, out, x, y, z engine.Spec) {
	p := b.level.NewTernary(f, y.DType, out.Shape.Ints(), out.AppendStrides(nil), x.AppendStrides(nil), y.AppendStrides(nil), z.AppendStrides(nil))
	b.mapTo(p, 8, out, 3, 0, 1, 2)
}

func (b *binder) cast(out, in engine.Spec, exact bool) {
	if out.DType == in.DType {
		b.copy(out, in, 1, 0)
		return
	}
	if exact {
		b.check(0, engine.ErrInexact, native.Inexact(in.DType, out.DType))
	}
	p := native.NewCast(in.DType, out.DType, out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil))
	b.mapTo(p, 8, wider(out, in), 1, 0)
}

func wider(a, b engine.Spec) engine.Spec {
	if a.DType.Size() < b.DType.Size() {
		return b
	}
	return a
}

// checkStep looks for the first element of an input that has no result. Checks
// are the first steps of a kernel: nothing has been written yet.
type checkStep struct {
	scan  *native.Scan
	cut   int
	input int
	cause error
}

func (s *checkStep) parts() int { return s.cut }

func (s *checkStep) run(r *run, _, part int) {
	lo, hi := share(s.scan.Items(), s.cut, part)
	if i := s.scan.Run(r.base[s.input], lo, hi); i >= 0 {
		lower(&r.bad, int64(i))
	}
}

// lower sets v to i if that is lower.
func lower(v *atomic.Int64, i int64) {
	for {
		old := v.Load()
		if old >= 0 && old <= i || v.CompareAndSwap(old, i) {
			return
		}
	}
}

// check appends a check of an input.
func (b *binder) check(input int, cause error, bad native.Bad) {
	in := b.k.In(input)
	s := &checkStep{scan: native.NewScan(in.DType.Size(), in.Shape.Ints(), in.AppendStrides(nil), bad), input: input, cause: cause}
	s.cut = pieces(s.scan.Items(), b.width, 16*float64(in.Elements()), float64(in.Bytes()))
	b.step(s)
	b.k.checks++
}

// failure is the error of a check that found element bad.
func (k *kernel) failure(s *checkStep, bad int) error {
	return &engine.NumericalError{Op: k.Op().Name(), Operand: engine.Input(s.input), Index: unravel(bad, k.In(s.input).Shape), Err: s.cause}
}

func unravel(pos int, shape engine.Shape) []int {
	index := shape.Ints()
	for i := len(index) - 1; i >= 0; i-- {
		n := index[i]
		index[i] = pos % n
		pos /= n
	}
	return index
}
