package cpu

import (
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// Operand indices of the dims of a contraction.
const (
	opC = iota
	opA
	opB
)

// contraction is a DotGeneral as four groups of dims. Strides are those of the
// operands as they lie, 0 where a dim is not an operand's.
type contraction struct {
	batch, m, n, k []dim
	sizeM, sizeN   int
	sizeK, sizeB   int
}

// bindDot collects the dims; empty is true if the output has no elements.
func contractionOf(d engine.DotGeneral, out, l, r engine.Spec) (c contraction, empty bool) {
	freeL, freeR := d.Free(l.Rank(), r.Rank())
	so, sl, sr := out.AppendStrides(nil), l.AppendStrides(nil), r.AppendStrides(nil)
	o := 0
	for i := range d.BatchL.Len() {
		a, b := d.BatchL.At(i), d.BatchR.At(i)
		c.batch = append(c.batch, dim{l.Shape.At(a), [operands]int{so[o], sl[a], sr[b]}})
		o++
	}
	for i := range freeL.Len() {
		a := freeL.At(i)
		c.m = append(c.m, dim{l.Shape.At(a), [operands]int{so[o], sl[a], 0}})
		o++
	}
	for i := range freeR.Len() {
		b := freeR.At(i)
		c.n = append(c.n, dim{r.Shape.At(b), [operands]int{so[o], 0, sr[b]}})
		o++
	}
	for i := range d.ContractL.Len() {
		a, b := d.ContractL.At(i), d.ContractR.At(i)
		c.k = append(c.k, dim{l.Shape.At(a), [operands]int{0, sl[a], sr[b]}})
	}
	c.sizeB, c.sizeM, c.sizeN, c.sizeK = product(c.batch), product(c.m), product(c.n), product(c.k)
	for _, g := range []*[]dim{&c.batch, &c.m, &c.n, &c.k} {
		*g = dropOnes(*g)
	}
	return c, c.sizeB*c.sizeM*c.sizeN == 0
}

func dropOnes(dims []dim) []dim {
	out := dims[:0]
	for _, d := range dims {
		if d.n != 1 {
			out = append(out, d)
		}
	}
	return out
}

// oneStride says whether operand o sees dims as a single dim, and its stride.
func oneStride(dims []dim, o int) (stride int, ok bool) {
	for i := 0; i+1 < len(dims); i++ {
		if dims[i].s[o] != dims[i+1].n*dims[i+1].s[o] {
			return 0, false
		}
	}
	if len(dims) == 0 {
		return 0, true
	}
	return dims[len(dims)-1].s[o], true
}

func ordered(dims []dim, o int) []dim {
	out := append([]dim{}, dims...)
	sortBy(out, o)
	return out
}

// layoutPlan says in which order the groups are walked and which operands are
// copied to scratch first.
type layoutPlan struct {
	m, n, k []dim
	copied  [operands]bool
	cost    int // elements copied
}

// chooseOrders tries the orders in which the operands lie and takes the one
// that copies least.
func (c *contraction) chooseOrders(must [operands]bool) layoutPlan {
	best := layoutPlan{cost: -1}
	for bits := range 8 {
		pick := func(dims []dim, bit, zero, one int) []dim {
			if bits&bit != 0 {
				return ordered(dims, one)
			}
			return ordered(dims, zero)
		}
		p := layoutPlan{m: pick(c.m, 1, opC, opA), n: pick(c.n, 2, opC, opB), k: pick(c.k, 4, opA, opB)}
		for o, groups := range [operands][2][]dim{opC: {p.m, p.n}, opA: {p.m, p.k}, opB: {p.k, p.n}} {
			_, ok1 := oneStride(groups[0], o)
			_, ok2 := oneStride(groups[1], o)
			if p.copied[o] = must[o] || !ok1 || !ok2; !p.copied[o] {
				continue
			}
			switch o {
			case opA:
				p.cost += c.sizeB * c.sizeM * c.sizeK
			case opB:
				p.cost += c.sizeB * c.sizeK * c.sizeN
			case opC: // there and, for Beta ≠ 0, back
				p.cost += 2 * c.sizeB * c.sizeM * c.sizeN
			}
		}
		if best.cost < 0 || p.cost < best.cost {
			best = p
		}
	}
	return best
}

// operand is a matrix operand of the product as it will lie.
type operand struct {
	slot   int
	conj   bool
	copied bool
	layout []dim // of the copy: dims in memory order, outermost first
	matrix engine.Matrix
	batch  []int // stride per batch dim
}

// dot plans: copies where an operand cannot be read as matrices, the products,
// and the copy of the output where it cannot be written so.
func (b *binder) dot(d engine.DotGeneral, out, l, r engine.Spec) error {
	c, empty := contractionOf(d, out, l, r)
	if empty {
		return nil
	}
	alpha, beta := d.Alpha.Or(1), d.Beta.Or(0)
	if c.pointwise() && alpha == 1 && beta == 0 && !d.ConjL && !d.ConjR {
		b.pointwise(&c, out)
		return nil
	}
	provider := b.providerFor(out.DType, &c)
	var must [operands]bool
	var ops [operands]operand
	var g engine.Gemm
	for try := 0; ; try++ {
		p := c.chooseOrders(must)
		g = engine.Gemm{DType: out.DType, M: c.sizeM, N: c.sizeN, K: c.sizeK, Batch: 1, Alpha: alpha, Beta: beta}
		ops = c.operands(&p, d, out.DType)
		g.A, g.B, g.C = ops[opA].matrix, ops[opB].matrix, ops[opC].matrix
		g.ConjA, g.ConjB = ops[opA].conj, ops[opB].conj
		bad := provider.fit(&g)
		if bad == 0 {
			break
		}
		if try == operands {
			return &engine.UnsupportedError{Op: "DotGeneral", DType: out.DType, Provider: b.e.provider.Name(),
				Reason: "it takes no compact matrices of this size"}
		}
		must[opA] = must[opA] || bad&engine.MisfitA != 0
		must[opB] = must[opB] || bad&engine.MisfitB != 0
		must[opC] = must[opC] || bad&engine.MisfitC != 0
	}
	b.emitDot(&c, d, ops, g, provider, beta)
	return nil
}

// operands places the three operands for a plan.
func (c *contraction) operands(p *layoutPlan, d engine.DotGeneral, t engine.DType) (ops [operands]operand) {
	ops[opC] = c.place(opC, 2, p.m, p.n, p.copied[opC], false)
	ops[opA] = c.place(opA, 0, p.m, p.k, p.copied[opA], d.ConjL && t.IsComplex())
	ops[opB] = c.place(opB, 1, p.k, p.n, p.copied[opB], d.ConjR && t.IsComplex())
	return ops
}

// place puts operand o, whose matrices have the row and column dims given, at
// its own strides or, copied, compact: batch dims outermost, then whichever of
// rows and columns keeps the operand's shortest steps together.
func (c *contraction) place(o, slot int, rows, cols []dim, copied, conj bool) operand {
	x := operand{slot: slot, conj: conj, copied: copied}
	if !copied {
		x.matrix.Row, _ = oneStride(rows, o)
		x.matrix.Col, _ = oneStride(cols, o)
		for _, d := range c.batch {
			x.batch = append(x.batch, d.s[o])
		}
		return x
	}
	x.conj = false
	nr, nc := product(rows), product(cols)
	if shortest(rows, o) < shortest(cols, o) && o != opC {
		x.matrix.Row, x.matrix.Col = 1, nr
		x.layout = append(append(append(x.layout, c.batch...), cols...), rows...)
	} else {
		x.matrix.Row, x.matrix.Col = nc, 1
		x.layout = append(append(append(x.layout, c.batch...), rows...), cols...)
	}
	x.batch = make([]int, len(c.batch))
	step := nr * nc
	for i := len(c.batch) - 1; i >= 0; i-- {
		x.batch[i] = step
		step *= c.batch[i].n
	}
	return x
}

func shortest(dims []dim, o int) int {
	s := int(^uint(0) >> 1)
	for _, d := range dims {
		s = min(s, magnitude(d.s[o]))
	}
	return s
}

// emitDot appends the steps.
func (b *binder) emitDot(c *contraction, d engine.DotGeneral, ops [operands]operand, g engine.Gemm, p gemmProvider, beta complex128) {
	origC := ops[opC].slot
	for _, o := range [...]int{opA, opB, opC} {
		x := &ops[o]
		if !x.copied {
			continue
		}
		orig := x.slot
		x.slot = b.scratch(engine.SpecOf(g.DType, product(x.layout)))
		conj := o == opA && d.ConjL || o == opB && d.ConjR
		if o != opC || beta != 0 {
			b.copyDims(x.layout, o, g.DType, conj, x.slot, orig, false)
		}
	}
	b.step(newGemmStep(b, c, ops, g, p))
	if ops[opC].copied {
		b.copyDims(ops[opC].layout, opC, g.DType, false, origC, ops[opC].slot, true)
	}
}

// copyDims copies between an operand o as it lies and a compact layout of it:
// from the operand to the layout, or back.
func (b *binder) copyDims(layout []dim, o int, t engine.DType, conj bool, dst, src int, back bool) {
	ext, theirs, ours := make([]int, len(layout)), make([]int, len(layout)), make([]int, len(layout))
	step := 1
	for i := len(layout) - 1; i >= 0; i-- {
		ext[i], theirs[i], ours[i] = layout[i].n, layout[i].s[o], step
		step *= layout[i].n
	}
	to, from := ours, theirs
	if back {
		to, from = theirs, ours
	}
	var p *native.CopyPlan
	if conj {
		p = b.level.NewConjCopy(t, ext, to, from)
	} else {
		p = b.level.NewCopy(t.Size(), ext, to, from)
	}
	b.step(b.copyPlan(p, step*t.Size(), dst, src))
}

// pointwise says whether nothing is summed and every matrix is a number.
func (c *contraction) pointwise() bool { return c.sizeM == 1 && c.sizeN == 1 && c.sizeK == 1 }

// pointwise is a contraction of batch dims alone: an elementwise product.
func (b *binder) pointwise(c *contraction, out engine.Spec) {
	ext := make([]int, len(c.batch))
	var str [operands][]int
	for i, d := range c.batch {
		ext[i] = d.n
		for o := range operands {
			str[o] = append(str[o], d.s[o])
		}
	}
	b.binary(b.level.NewMul(out.DType, ext, str[opC], str[opA], str[opB]), engine.SpecOf(out.DType, ext...))
}
