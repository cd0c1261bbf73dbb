package blas

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// gemmPlan is a product that is one call of the library for each member of the
// batch, all but the addresses.
type gemmPlan struct {
	fn      uintptr
	by      values
	swapped bool
	brief   bool
	step    [3]int // bytes from member to member: C, A, B
}

// Plan returns the plan of g, or nil where a product has nothing to sum or is
// more than one call.
func (p *Provider) Plan(g *engine.Gemm) engine.GemmPlan {
	w, bad := p.layout(g)
	i := index(g.DType)
	if bad != 0 || i < 0 || min(g.M, g.N, g.K) < 1 || max(g.M, g.N, g.K) > p.max || g.Alpha == 0 {
		return nil
	}
	size := g.DType.Size()
	plan := &gemmPlan{fn: p.gemm[i], swapped: w.swapped, brief: brief(i, g.M, g.N, g.K),
		step: [3]int{g.C.Batch * size, g.A.Batch * size, g.B.Batch * size}}
	plan.by.shape(w, g.M, g.N, g.K)
	plan.by.scalars(g)
	return plan
}

// Run implements [engine.GemmPlan].
func (w *gemmPlan) Run(of engine.Products, out, a, b unsafe.Pointer, n int) {
	c := of.(*products)
	c.by = w.by
	for {
		c.a, c.b, c.c = a, b, out
		if w.swapped {
			a, b = b, a
		}
		c.cross(w.fn, w.brief, a, b, out)
		if n--; n == 0 {
			break
		}
		a, b, out = unsafe.Add(c.a, w.step[1]), unsafe.Add(c.b, w.step[2]), unsafe.Add(out, w.step[0])
	}
	c.a, c.b, c.c = nil, nil, nil
}
