package cpu

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// copyStep is out = in, or its conjugate.
type copyStep struct {
	plan    *native.CopyPlan
	cut     int
	out, in int // slots
}

func (s *copyStep) parts() int { return s.cut }

func (s *copyStep) run(r *run, w, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	s.plan.Run(&r.e.workers[w].space, r.base[s.out], r.base[s.in], lo, hi)
}

func (b *binder) copyPlan(p *native.CopyPlan, bytes, outSlot, inSlot int) *copyStep {
	return &copyStep{plan: p, cut: pieces(p.Items(), b.width, 0, float64(2*bytes)), out: outSlot, in: inSlot}
}

func (b *binder) copy(out, in engine.Spec, outSlot, inSlot int) {
	p := native.NewCopy(out.DType.Size(), out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil))
	s := b.copyPlan(p, out.Bytes(), outSlot, inSlot)
	if out == in { // the output may be the input itself
		b.step(&selfCopy{s})
		return
	}
	b.step(s)
}

// selfCopy is a copy with nothing to do when the output is the input.
type selfCopy struct{ *copyStep }

func (s *selfCopy) run(r *run, w, part int) {
	if r.base[s.out] != r.base[s.in] {
		s.copyStep.run(r, w, part)
	}
}

// mapStep is out = f(x, y), element by element; y is x's slot for one input.
type mapStep struct {
	plan      *native.MapPlan
	cut       int
	out, x, y int // slots
	one       bool
}

func (s *mapStep) parts() int { return s.cut }

func (s *mapStep) run(r *run, w, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	var y unsafe.Pointer
	if !s.one {
		y = r.base[s.y]
	}
	s.plan.Run(&r.e.workers[w].space, r.base[s.out], r.base[s.x], y, lo, hi)
}

// binary makes the step of a plan over inputs 0 and 1 of out's shape.
func (b *binder) binary(p *native.MapPlan, out engine.Spec) {
	n := out.Elements()
	b.step(&mapStep{plan: p, cut: pieces(p.Items(), b.width, float64(n), float64(3*n*out.DType.Size())), out: 2, x: 0, y: 1})
}

// unary makes the step of a plan over input 0.
func (b *binder) unary(p *native.MapPlan, out engine.Spec) {
	n := out.Elements()
	b.step(&mapStep{plan: p, cut: pieces(p.Items(), b.width, float64(n), float64(2*n*out.DType.Size())), out: 1, x: 0, one: true})
}

// sumStep is out = Σ in, outputs shared out.
type sumStep struct {
	plan *native.SumPlan
	cut  int
}

func (s *sumStep) parts() int { return s.cut }

func (s *sumStep) run(r *run, w, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	s.plan.Run(&r.e.workers[w].space, r.base[1], r.base[0], lo, hi)
}

// partStep computes the parts of long sums of few outputs into scratch; joinStep
// adds them up. The bits are those of sumStep.
type partStep struct {
	plan *native.SumPlan
	cut  int
	slot int
}

func (s *partStep) parts() int { return s.cut }

func (s *partStep) run(r *run, w, part int) {
	n := s.plan.Parts()
	lo, hi := share(s.plan.Items()*n, s.cut, part)
	for i := lo; i < hi; i++ {
		to := unsafe.Add(r.base[s.slot], i*s.plan.PartialBytes())
		s.plan.RunPart(&r.e.workers[w].space, to, r.base[0], i/n, i%n)
	}
}

type joinStep struct {
	plan *native.SumPlan
	slot int
}

func (s *joinStep) parts() int { return 1 }

func (s *joinStep) run(r *run, w, _ int) {
	for i := range s.plan.Items() {
		from := unsafe.Add(r.base[s.slot], i*s.plan.Parts()*s.plan.PartialBytes())
		s.plan.Join(&r.e.workers[w].space, r.base[1], from, i)
	}
}

func (b *binder) reduceSum(axes engine.Axes, out, in engine.Spec) {
	gone := make([]bool, in.Rank())
	for i := range axes.Len() {
		gone[axes.At(i)] = true
	}
	var kept, src, summed, srcSummed []int
	for i, stride := range in.AppendStrides(nil) {
		if gone[i] {
			summed, srcSummed = append(summed, in.Shape.At(i)), append(srcSummed, stride)
		} else {
			kept, src = append(kept, in.Shape.At(i)), append(src, stride)
		}
	}
	p := native.NewSum(out.DType, kept, out.AppendStrides(nil), src, summed, srcSummed)
	n := in.Elements()
	flops, bytes := float64(n), float64(n*in.DType.Size())
	if b.width > 1 && p.Items() < 2*b.width && p.Parts() > 1 && pays(flops, bytes) {
		total := p.Items() * p.Parts()
		slot := b.scratchBytes(total * p.PartialBytes())
		b.step(&partStep{plan: p, cut: pieces(total, b.width, flops, bytes), slot: slot})
		b.step(&joinStep{plan: p, slot: slot})
		return
	}
	b.step(&sumStep{plan: p, cut: pieces(p.Items(), b.width, flops, bytes)})
}
