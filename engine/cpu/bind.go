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
		return k, k.bindHost(h)
	}
	bd := binder{e: e, k: k, width: e.pool.width, next: k.NumIn() + k.NumOut()}
	a, o := k.In(0), k.Out(0)
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
		bd.elementwise(addRowOf(o.DType), [3]engine.Spec{o, a, k.In(1)}, [3]int{2, 0, 1}, 0)
	case engine.Mul:
		bd.elementwise(mulRowOf(o.DType), [3]engine.Spec{o, a, k.In(1)}, [3]int{2, 0, 1}, 0)
	case engine.Scale:
		by := op.By.Or(1)
		bd.elementwise(scaleRowOf(o.DType, by), [3]engine.Spec{o, a, a}, [3]int{1, 0, 0}, by)
	case engine.Conj:
		bd.conjCopy(o, a, 1, 0)
	case engine.ReduceSum:
		bd.reduceSum(op.Axes, o, a)
	case engine.DotGeneral:
		err = bd.dot(op, o, a, k.In(1))
	default:
		return nil, &engine.UnsupportedError{Op: op.Name(), Provider: "cpu"}
	}
	if err != nil {
		return nil, err
	}
	return k, nil
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
	next  int // the next free slot
}

func (b *binder) step(s step) { b.k.steps = append(b.k.steps, s) }

// scratch reserves a slot for a compact spec.
func (b *binder) scratch(s engine.Spec) (slot int) {
	const align = 64
	b.k.pieces = append(b.k.pieces, b.k.scratch)
	b.k.scratch += (max(s.Bytes(), 1) + align - 1) &^ (align - 1)
	b.next++
	return b.next - 1
}

// copyStep is out = in, or its conjugate.
type copyStep struct {
	plan    *native.CopyPlan
	cut     int
	out, in int // slots
}

func (s *copyStep) parts() int { return s.cut }

func (s *copyStep) run(r *run, _, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	s.plan.Run(r.base[s.out], r.base[s.in], lo, hi)
}

func (b *binder) copy(out, in engine.Spec, outSlot, inSlot int) {
	if in == out && inSlot == 0 && outSlot == 1 {
		if _, ok := b.k.Op().(engine.Copy); ok {
			b.step(&selfCopy{b.newCopy(native.NewCopy(out.DType.Size(), out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil)),
				out, outSlot, inSlot)})
			return
		}
	}
	b.step(b.newCopy(native.NewCopy(out.DType.Size(), out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil)), out, outSlot, inSlot))
}

func (b *binder) newCopy(p *native.CopyPlan, out engine.Spec, outSlot, inSlot int) *copyStep {
	return &copyStep{plan: p, cut: pieces(p.Items(), b.width, 0, float64(2*out.Bytes())), out: outSlot, in: inSlot}
}

// selfCopy is a copy whose output may be the input itself: nothing to do then.
type selfCopy struct{ *copyStep }

func (s *selfCopy) run(r *run, w, part int) {
	if r.base[s.out] != r.base[s.in] {
		s.copyStep.run(r, w, part)
	}
}

func (b *binder) conjCopy(out, in engine.Spec, outSlot, inSlot int) {
	p := native.NewConjCopy(out.DType, out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil))
	b.step(b.newCopy(p, out, outSlot, inSlot))
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

func (b *binder) elementwise(f row, specs [3]engine.Spec, slots [3]int, factor complex128) {
	b.step(newElementwise(f, specs[0], specs[1], specs[2], slots, b.width, factor))
}
