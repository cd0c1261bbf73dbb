package cpu

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// splitAxes tells the kept axes of in from those that are reduced.
func splitAxes(axes engine.Axes, in engine.Spec) (kept, src, summed, srcSummed []int) {
	gone := make([]bool, in.Rank())
	for i := range axes.Len() {
		gone[axes.At(i)] = true
	}
	for i, stride := range in.AppendStrides(nil) {
		if gone[i] {
			summed, srcSummed = append(summed, in.Shape.At(i)), append(srcSummed, stride)
		} else {
			kept, src = append(kept, in.Shape.At(i)), append(src, stride)
		}
	}
	return kept, src, summed, srcSummed
}

func (b *binder) reduce(op engine.Reduce, out, in engine.Spec) {
	kept, src, summed, srcSummed := splitAxes(op.Axes, in)
	dst := out.AppendStrides(nil)
	n := in.Elements()
	flops, bytes := float64(2*n), float64(in.Bytes())
	switch op.F {
	case engine.ReduceMean:
		b.reduceSum(op.Axes, out, in)
		count := 1
		for _, m := range summed {
			count *= m
		}
		b.mapTo(b.level.NewDivide(out.DType, float64(count), out.Shape.Ints(), dst, dst), 8, out, 1, 1)
		return
	case engine.ArgMax, engine.ArgMin:
		p := native.NewArg(in.DType, op.F == engine.ArgMin, kept, dst, src, summed, srcSummed)
		b.step(&argStep{plan: p, cut: pieces(p.Items(), b.width, 8*flops, bytes)})
		return
	case engine.LogSumExp:
		flops *= transcendental
	case engine.Norm1, engine.Norm2, engine.NormInf:
		flops *= 4
	}
	p := b.level.NewFold(op.F, in.DType, kept, dst, src, summed, srcSummed)
	if b.width > 1 && p.Items() < 2*b.width && p.Parts() > 1 && pays(flops, bytes) {
		total := p.Items() * p.Parts()
		slot := b.scratchBytes(total * p.PartialBytes())
		b.step(&foldPartStep{plan: p, cut: pieces(total, b.width, flops, bytes), slot: slot})
		b.step(&foldJoinStep{plan: p, slot: slot})
		return
	}
	b.step(&foldStep{plan: p, cut: pieces(p.Items(), b.width, flops, bytes)})
}

// foldStep is out = F of in, outputs shared out.
type foldStep struct {
	plan *native.FoldPlan
	cut  int
}

func (s *foldStep) parts() int { return s.cut }

func (s *foldStep) run(r *run, w, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	s.plan.Run(&r.e.workers[w].space, r.base[1], r.base[0], lo, hi)
}

// foldPartStep folds the parts of long reductions to few outputs into scratch;
// foldJoinStep joins them. The bits are those of foldStep.
type foldPartStep struct {
	plan *native.FoldPlan
	cut  int
	slot int
}

func (s *foldPartStep) parts() int { return s.cut }

func (s *foldPartStep) run(r *run, w, part int) {
	n := s.plan.Parts()
	lo, hi := share(s.plan.Items()*n, s.cut, part)
	for i := lo; i < hi; i++ {
		to := unsafe.Add(r.base[s.slot], i*s.plan.PartialBytes())
		s.plan.RunPart(&r.e.workers[w].space, to, r.base[0], i/n, i%n)
	}
}

type foldJoinStep struct {
	plan *native.FoldPlan
	slot int
}

func (s *foldJoinStep) parts() int { return 1 }

func (s *foldJoinStep) run(r *run, w, _ int) {
	for i := range s.plan.Items() {
		from := unsafe.Add(r.base[s.slot], i*s.plan.Parts()*s.plan.PartialBytes())
		s.plan.Join(&r.e.workers[w].space, r.base[1], r.base[0], from, i)
	}
}

// argStep is ArgMax or ArgMin.
type argStep struct {
	plan *native.ArgPlan
	cut  int
}

func (s *argStep) parts() int { return s.cut }

func (s *argStep) run(r *run, _, part int) {
	lo, hi := share(s.plan.Items(), s.cut, part)
	s.plan.Run(r.base[1], r.base[0], lo, hi)
}

// lineStep runs a plan over lines.
type lineStep struct {
	plan *native.LinePlan
	cut  int
	at   []int // slots
}

func (s *lineStep) parts() int { return s.cut }

func (s *lineStep) run(r *run, w, part int) {
	var p native.Operands
	for i, slot := range s.at {
		p[i] = r.base[slot]
	}
	lo, hi := share(s.plan.Items(), s.cut, part)
	s.plan.Run(&r.e.workers[w].space, p, lo, hi)
}

func (b *binder) lines(p *native.LinePlan, flops float64, of engine.Spec, at ...int) {
	n := of.Elements()
	b.step(&lineStep{plan: p, cut: pieces(p.Items(), b.width, flops*float64(n), float64(2*of.Bytes())), at: at})
}

func (b *binder) cumulative(product bool, axis int, out, in engine.Spec) {
	p := native.NewCumulative(out.DType, product, axis, out.Shape.Ints(), out.AppendStrides(nil), in.AppendStrides(nil))
	b.lines(p, 8, out, 1, 0)
}
