package cpu

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// gemmProvider says whose products a step uses.
type gemmProvider struct {
	kind providerKind
	p    engine.Provider // nil for integers
}

type providerKind uint8

const (
	chosen providerKind = iota // Options.Provider
	own                        // engine/native
	plain                      // loops, for integers
)

// Where the engine's own kernels beat a call into a library, by measurement
// (bench.sh engine, contraction): small products and thin ones. With AVX-512 they
// beat OpenBLAS, which has no complex kernels of that kind and treats real
// products specially up to 100³ only, until its blocking pays: for float64 on one
// worker first. Several workers share its products in as many parts, of which the
// slowest counts, our own in more.
const (
	smallProduct  = 20. * 20 * 20 // multiply-adds
	treatedBetter = 100. * 100 * 100
	middleProduct = 600. * 600 * 600
	largeProduct  = 1500. * 1500 * 1500
	smallExtent   = 8
)

// providerFor chooses by dtype, size and width, under FixedTiles by dtype and size alone.
func (b *binder) providerFor(d engine.DType, c *contraction) gemmProvider {
	e, size := b.e, float64(c.sizeM)*float64(c.sizeN)*float64(c.sizeK)
	until := largeProduct
	if d == engine.Float64 && (b.width == 1 || e.opts.FixedTiles) {
		until = middleProduct
	}
	switch {
	case !d.IsFloat():
		return gemmProvider{kind: plain}
	case e.provider.Name() == e.native.Name():
		return gemmProvider{chosen, e.provider}
	case !e.provider.Supports(d), size < smallProduct, min(c.sizeM, c.sizeN, c.sizeK) < smallExtent,
		(d.IsComplex() || size > treatedBetter) && size <= until && e.native.Level() == native.AVX512 && e.provider.Name() == "openblas":
		return gemmProvider{own, e.native}
	}
	return gemmProvider{chosen, b.e.provider}
}

func (p gemmProvider) fit(g *engine.Gemm) engine.Misfit {
	if p.kind == plain {
		return 0
	}
	return p.p.Fit(g)
}

func (p gemmProvider) products(w *products) engine.Products {
	switch p.kind {
	case chosen:
		return w.provider
	case own:
		return w.native
	}
	return plainProducts{}
}

// gemmStep is the step of a contraction's products. Members of the batch are
// numbered 0 … units−1; each may be cut into panels of rows or columns.
type gemmStep struct {
	provider gemmProvider
	g        engine.Gemm // with Batch and batch strides of the run dimension
	outer    []dim       // the other batch dimensions
	size     int
	slots    [operands]int
	units    int
	panels   panels // of a unit; above 1 only when every unit is a part or more
	cut      int
	plan     engine.GemmPlan // of g, if there is one and units are whole
	blocks   []blockPlan     // of the panels of a unit, if each has one
}

// blockPlan is the plan of a panel, and how far from those of its product its operands lie.
type blockPlan struct {
	engine.GemmPlan
	from [operands]int // bytes
}

func newGemmStep(b *binder, c *contraction, ops [operands]operand, g engine.Gemm, p gemmProvider) *gemmStep {
	s := &gemmStep{provider: p, g: g, size: g.DType.Size(), panels: whole,
		slots: [operands]int{ops[opC].slot, ops[opA].slot, ops[opB].slot}}
	dims := make([]dim, len(c.batch))
	for i, d := range c.batch {
		dims[i] = dim{d.n, [operands]int{ops[opC].batch[i], ops[opA].batch[i], ops[opB].batch[i]}}
	}
	sortBy(dims, opC)
	dims = fuse(dims)
	run := dim{n: 1}
	if len(dims) > 0 { // the longest dimension is the provider's loop
		long := 0
		for i, d := range dims {
			if d.n > dims[long].n {
				long = i
			}
		}
		run = dims[long]
		s.outer = append(append([]dim{}, dims[:long]...), dims[long+1:]...)
	}
	s.g.Batch, s.g.C.Batch, s.g.A.Batch, s.g.B.Batch = run.n, run.s[opC], run.s[opA], run.s[opB]
	s.units = run.n * product(s.outer)
	s.split(b)
	if p.kind != plain && s.panels.count() == 1 {
		s.plan = p.p.Plan(&s.g)
	}
	return s
}

// solo says whether the step is one call of its plan on inputs 0 and 1.
func (s *gemmStep) solo() bool {
	return s.plan != nil && s.cut == 1 && s.units == s.g.Batch && s.slots == [operands]int{opC: 2, opA: 0, opB: 1}
}

// split decides how the products are shared out.
func (s *gemmStep) split(b *binder) {
	g := &s.g
	flops := 2 * float64(g.M) * float64(g.N) * float64(g.K)
	if g.DType.IsComplex() {
		flops *= 4
	}
	if s.provider.kind != plain { // products are faster than other work
		flops *= flopsPerNs / productFlopsPerNs(b.level)
	}
	moved := float64(s.size) * (float64(g.M)*float64(g.K) + float64(g.K)*float64(g.N) + float64(g.M)*float64(g.N))
	invariant := s.provider.kind == plain || s.provider.p.SplitInvariant()
	fixed := b.e.opts.FixedTiles && !invariant
	s.cut = pieces(s.units, b.width, flops*float64(s.units), moved*float64(s.units))
	if !fixed && (b.width == 1 || !productPays(flops*float64(s.units), moved*float64(s.units)) || s.units >= 2*b.width) {
		return
	}
	if fixed {
		s.panels = fixedPanels(s.provider, g)
	} else {
		s.panels = panelsFor(s.provider, g, b.width)
	}
	s.cut = 1
	if productPays(flops*float64(s.units), moved*float64(s.units)) {
		s.cut = s.units * s.panels.count()
	}
	s.planBlocks()
}

// planBlocks plans the panels, or none if one has no plan.
func (s *gemmStep) planBlocks() {
	n := s.panels.count()
	if n == 1 || s.provider.kind == plain {
		return
	}
	blocks := make([]blockPlan, n)
	for i := range blocks {
		g := s.g
		g.Batch = 1
		from := s.panels.cut(&g, s.size, i)
		if blocks[i] = (blockPlan{s.provider.p.Plan(&g), from}); blocks[i].GemmPlan == nil {
			return
		}
	}
	s.blocks = blocks
}

func (s *gemmStep) parts() int { return s.cut }

func (s *gemmStep) run(r *run, w, part int) {
	n := s.panels.count()
	lo, hi := share(s.units*n, s.cut, part)
	me := &r.e.workers[w]
	p := s.provider.products(me)
	g := &me.gemm
	if n == 1 {
		for lo < hi {
			first := lo % s.g.Batch
			n := min(hi-lo, s.g.Batch-first)
			if s.plan != nil {
				at := s.at(r, lo)
				s.plan.Run(p, at[opC], at[opA], at[opB], n)
				lo += n
				continue
			}
			s.unit(r, g, lo)
			g.Batch = n
			p.Gemm(g)
			lo += n
		}
	} else {
		for ; lo < hi; lo++ {
			if s.blocks != nil {
				at, b := s.at(r, lo/n), &s.blocks[lo%n]
				b.Run(p, unsafe.Add(at[opC], b.from[opC]), unsafe.Add(at[opA], b.from[opA]), unsafe.Add(at[opB], b.from[opB]), 1)
				continue
			}
			s.unit(r, g, lo/n)
			g.Batch = 1
			by := s.panels.cut(g, s.size, lo%n)
			g.C.P, g.A.P, g.B.P = unsafe.Add(g.C.P, by[opC]), unsafe.Add(g.A.P, by[opA]), unsafe.Add(g.B.P, by[opB])
			p.Gemm(g)
		}
	}
	g.A.P, g.B.P, g.C.P = nil, nil, nil
}

// unit sets g to the products from the given member of the batch on.
func (s *gemmStep) unit(r *run, g *engine.Gemm, unit int) {
	*g = s.g
	at := s.at(r, unit)
	g.C.P, g.A.P, g.B.P = at[opC], at[opA], at[opB]
}

// at is where the operands of a member of the batch lie; nil where they have no
// elements.
func (s *gemmStep) at(r *run, unit int) (p [operands]unsafe.Pointer) {
	run, rest := unit%s.g.Batch, unit/s.g.Batch
	at := [operands]int{opC: run * s.g.C.Batch, opA: run * s.g.A.Batch, opB: run * s.g.B.Batch}
	for i := len(s.outer) - 1; i >= 0; i-- {
		d := &s.outer[i]
		x := rest % d.n
		rest /= d.n
		for o := range operands {
			at[o] += x * d.s[o]
		}
	}
	p[opC] = unsafe.Add(r.base[s.slots[opC]], at[opC]*s.size)
	if s.g.K > 0 {
		p[opA] = unsafe.Add(r.base[s.slots[opA]], at[opA]*s.size)
		p[opB] = unsafe.Add(r.base[s.slots[opB]], at[opB]*s.size)
	}
	return p
}

// plainProducts computes integer products by the definition.
type plainProducts struct{}

// Gemm implements engine.Products.
func (plainProducts) Gemm(g *engine.Gemm) {
	if g.DType == engine.Int32 {
		plainGemm[int32](g)
		return
	}
	plainGemm[int64](g)
}

func plainGemm[T int32 | int64](g *engine.Gemm) {
	alpha, beta := T(real(g.Alpha)), T(real(g.Beta))
	at := func(m *engine.Matrix, b, i, j int) *T {
		return (*T)(unsafe.Add(m.P, (b*m.Batch+i*m.Row+j*m.Col)*int(unsafe.Sizeof(T(0)))))
	}
	for b := range g.Batch {
		for i := range g.M {
			for j := range g.N {
				var sum T
				for k := range g.K {
					sum += *at(&g.A, b, i, k) * *at(&g.B, b, k, j)
				}
				c := at(&g.C, b, i, j)
				if sum *= alpha; beta != 0 {
					sum += beta * *c
				}
				*c = sum
			}
		}
	}
}
