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
	p := b.level.NewCopy(out.DType.Size(), out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil))
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

// mapStep is out = f(in…), element by element.
type mapStep struct {
	plan *native.MapPlan
	cut  int
	at   [4]int // slots of the output and of the inputs
	n    int    // how many
}

func (s *mapStep) parts() int { return s.cut }

func (s *mapStep) run(r *run, w, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	var p native.Operands
	for i, slot := range s.at[:s.n] {
		p[i] = r.base[slot]
	}
	s.plan.Run(&r.e.workers[w].space, p, lo, hi)
}

// mapTo appends a plan from the slots in to the slot out; flops is the work of
// an element.
func (b *binder) mapTo(p *native.MapPlan, flops float64, of engine.Spec, out int, in ...int) {
	n := of.Elements()
	s := &mapStep{plan: p, n: 1 + len(in)}
	s.cut = pieces(p.Items(), b.width, flops*float64(n), float64(s.n*n*of.DType.Size()))
	s.at[0] = out
	copy(s.at[1:], in)
	b.step(s)
}

// binary makes the step of a plan over inputs 0 and 1 of out's shape.
func (b *binder) binary(p *native.MapPlan, out engine.Spec) { b.mapTo(p, 1, out, 2, 0, 1) }

// unary makes the step of a plan over input 0.
func (b *binder) unary(p *native.MapPlan, out engine.Spec) { b.mapTo(p, 1, out, 1, 0) }

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
	kept, src, summed, srcSummed := splitAxes(axes, in)
	p := b.level.NewSum(out.DType, kept, out.AppendStrides(nil), src, summed, srcSummed)
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
