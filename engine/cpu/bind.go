package cpu

import (
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// bind makes a kernel; the plan cache calls it on a miss.
func (e *Engine) bind(op engine.Op, in, out []engine.Spec) (engine.Kernel, error) {
	b, err := engine.NewBinding(op, in, out, e.target)
	if err != nil {
		return nil, err
	}
	k := &kernel{Binding: b, id: e.id}
	if h, ok := op.(engine.HostOp); ok {
		if err := k.bindHost(h); err != nil {
			return nil, err
		}
		return k, e.holds(k, 0)
	}
	bd := binder{e: e, k: k, width: e.pool.width, level: e.native.Level(), next: k.NumIn() + k.NumOut()}
	o := k.Out(0)
	var a engine.Spec
	if k.NumIn() > 0 {
		a = k.In(0)
	}
	ext := o.Shape.Ints()
	switch op := op.(type) {
	case engine.Copy:
		bd.copy(o, a, 1, 0)
	case engine.Permute:
		a, err = a.Permuted(op.Axes)
		bd.copy(o, a, 1, 0)
	case engine.Diagonal:
		a, err = a.DiagonalOf(op.A, op.B)
		bd.copy(o, a, 1, 0)
	case engine.Reshape:
		bd.reshape(o, a)
	case engine.Add:
		bd.binary(bd.level.NewAdd(o.DType, ext, o.AppendStrides(nil), a.AppendStrides(nil), k.In(1).AppendStrides(nil)), o)
	case engine.Mul:
		bd.binary(bd.level.NewMul(o.DType, ext, o.AppendStrides(nil), a.AppendStrides(nil), k.In(1).AppendStrides(nil)), o)
	case engine.Scale:
		bd.scale(op.By.Or(1), o, a)
	case engine.Conj:
		bd.conj(o, a)
	case engine.ReduceSum:
		bd.reduceSum(op.Axes, o, a)
	case engine.DotGeneral:
		err = bd.dot(op, o, a, k.In(1))
	case engine.ApplyMatrix:
		dot, order := op.Dot(a.Rank())
		if o, err = o.Permuted(order); err == nil {
			err = bd.dot(dot, o, a, k.In(1))
		}
	case engine.GroupedDot:
		bd.grouped(op, o, a, k.In(1))
	case engine.Unary:
		bd.unaryOp(op, o, a)
	case engine.Binary:
		bd.binaryOp(op, o, a, k.In(1))
	case engine.Ternary:
		bd.ternaryOp(op, o, a, k.In(1), k.In(2))
	case engine.Cast:
		bd.cast(o, a, false)
	case engine.Convert:
		bd.cast(o, a, true)
	case engine.Reduce:
		bd.reduce(op, o, a)
	case engine.CumSum:
		bd.cumulative(false, op.Axis, o, a)
	case engine.CumProd:
		bd.cumulative(true, op.Axis, o, a)
	case engine.Fill:
		bd.fill(op, o)
	case engine.Iota:
		bd.iota(op, o)
	case engine.Random:
		bd.random(op, o)
	case engine.Mover:
		bd.moves(op)
	case engine.Tril:
		bd.triangle(true, op.K, o, a)
	case engine.Triu:
		bd.triangle(false, op.K, o, a)
	case engine.Gather:
		bd.gather(op.Axis, o, a, k.In(1))
	case engine.TakeAlong:
		bd.takeAlong(op.Axis, o, a, k.In(1))
	case engine.Scatter:
		bd.scatter(op, o, a, k.In(1), k.In(2))
	case engine.Sort:
		bd.sort(op.Axis, a.Shape.At(op.Axis), op.Descending, true, false)
	case engine.ArgSort:
		bd.sort(op.Axis, a.Shape.At(op.Axis), op.Descending, false, true)
	case engine.TopK:
		bd.sort(op.Axis, op.K, true, true, true)
	default:
		return nil, &engine.UnsupportedError{Op: op.Name(), Provider: "cpu"}
	}
	if err != nil {
		return nil, err
	}
	if err := e.holds(k, bd.work); err != nil {
		return nil, err
	}
	k.simplify()
	return k, nil
}

// holds refuses a kernel whose scratch, with the workspaces of the workers, of a
// size each, is more than the machine holds.
func (e *Engine) holds(k *kernel, work int) error {
	most := func(n int) int64 { return int64(min(uint64(n), addressing)) } // also where n has overflown
	need := most(k.scratch) + most(work)*int64(e.pool.width)
	if need < muchBytes {
		return nil
	}
	if there := limit(); need > there {
		return &engine.MemoryError{Op: k.Op().Name(), Bytes: need, Limit: there}
	}
	return nil
}

func (k *kernel) bindHost(h engine.HostOp) error {
	in, out := make([]engine.Spec, k.NumIn()), make([]engine.Spec, k.NumOut())
	for i := range in {
		in[i] = k.In(i)
	}
	for i := range out {
		out[i] = k.Out(i)
	}
	var err error
	if k.host, err = h.HostKernel(in, out); err != nil {
		return err
	}
	k.scratch = k.host.Work().Scratch
	return nil
}

// binder appends steps to a kernel.
type binder struct {
	e     *Engine
	k     *kernel
	width int
	level native.Level // of the engine's own kernels
	next  int          // the next free slot
	work  int          // bytes of each worker's workspace, where they grow with the operands
}

func (b *binder) step(s step) { b.k.steps = append(b.k.steps, s) }

// scratch reserves a slot for a compact spec.
func (b *binder) scratch(s engine.Spec) (slot int) { return b.scratchBytes(s.Bytes()) }

func (b *binder) scratchBytes(n int) (slot int) {
	const align = 64
	b.k.pieces = append(b.k.pieces, b.k.scratch)
	b.k.scratch += (max(n, 1) + align - 1) &^ (align - 1)
	b.next++
	return b.next - 1
}

func (b *binder) conj(out, in engine.Spec) {
	if !out.DType.IsComplex() {
		b.copy(out, in, 1, 0)
		return
	}
	b.unary(b.level.NewConj(out.DType, out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil)), out)
}

// scale by a real factor scales both parts of complex elements: they are twice as
// many real ones.
func (b *binder) scale(by complex128, out, in engine.Spec) {
	d, ext, so, si := out.DType, out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil)
	if d.IsComplex() && imag(by) == 0 {
		d = engine.Float32
		if out.DType == engine.Complex128 {
			d = engine.Float64
		}
		for i := range ext {
			so[i], si[i] = 2*so[i], 2*si[i]
		}
		ext, so, si = append(ext, 2), append(so, 1), append(si, 1)
	}
	b.unary(b.level.NewScale(d, by, ext, so, si), out)
}

// reshape copies by way of whichever side can be viewed in the other's shape,
// or of scratch where neither can.
func (b *binder) reshape(out, in engine.Spec) {
	if v, err := in.Reshaped(out.Shape); err == nil {
		b.copy(out, v, 1, 0)
		return
	}
	if v, err := out.Reshaped(in.Shape); err == nil {
		b.copy(v, in, 1, 0)
		return
	}
	mid := in.Compact()
	slot := b.scratch(mid)
	b.copy(mid, in, slot, 0)
	mid.Shape = out.Shape
	b.copy(out, mid, 1, slot)
}
