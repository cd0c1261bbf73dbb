package native

import "github.com/hataori/hataori-go/engine"

// Options configure a provider. The zero value is the default.
type Options struct {
	// Limit is the highest instruction set that kernels use; Auto (0) is the
	// best that the processor has. A level that it lacks is never used.
	Limit Level
}

// Provider is this package's [engine.Provider]: every dtype of floating point,
// any strides, either conjugation. It always works and starts no goroutine.
type Provider struct{ level Level }

var _ engine.Provider = (*Provider)(nil)

// New returns the provider.
func New(opts Options) *Provider { return &Provider{Best(opts.Limit)} }

// Name is "native".
func (p *Provider) Name() string { return "native" }

// Kernel is the name of the level in use.
func (p *Provider) Kernel() string { return p.level.String() }

// Level is the instruction set in use.
func (p *Provider) Level() Level { return p.level }

// Supports says whether d is floating point.
func (p *Provider) Supports(d engine.DType) bool { return d.IsFloat() }

// SplitInvariant is true: see [Gemm].
func (p *Provider) SplitInvariant() bool { return true }

// Tile is the shape of a micro-kernel's tile. Cuts elsewhere give the same bits
// too, at more cost.
func (p *Provider) Tile(d engine.DType) (rows, cols int) {
	var s *kernelSet
	switch d {
	case engine.Float32:
		s = kernelsOf[float32](p.level)
	case engine.Float64:
		s = kernelsOf[float64](p.level)
	case engine.Complex64:
		s = kernelsOf[complex64](p.level)
	case engine.Complex128:
		s = kernelsOf[complex128](p.level)
	default:
		return 1, 1
	}
	return s.mr(), s.nr()
}

// Packs says which operands of g a product copies into panels before it reads
// them, in each call anew: so cuts should go across the others. It looks at no
// pointer.
func (p *Provider) Packs(g *engine.Gemm) (a, b bool) {
	switch g.DType {
	case engine.Float32:
		return packsOf[float32](p.level, g)
	case engine.Float64:
		return packsOf[float64](p.level, g)
	case engine.Complex64:
		return packsOf[complex64](p.level, g)
	case engine.Complex128:
		return packsOf[complex128](p.level, g)
	}
	return false, false
}

func packsOf[T Number](l Level, g *engine.Gemm) (a, b bool) {
	w := productOf[T](l, nil, g)
	w.plan()
	if w.turned {
		return !w.directB, !w.directA
	}
	return !w.directA, !w.directB
}

// Fit is 0: operands are read and written as they lie.
func (p *Provider) Fit(*engine.Gemm) engine.Misfit { return 0 }

// Plan returns the plan of a small product whose operands can be read as they
// lie, and otherwise nil.
func (p *Provider) Plan(g *engine.Gemm) engine.GemmPlan {
	plan := new(gemmPlan)
	ok := false
	switch g.DType {
	case engine.Float32:
		ok = planOf[float32](p.level, g, plan)
	case engine.Float64:
		ok = planOf[float64](p.level, g, plan)
	case engine.Complex64:
		ok = planOf[complex64](p.level, g, plan)
	case engine.Complex128:
		ok = planOf[complex128](p.level, g, plan)
	}
	if !ok {
		return nil
	}
	return plan
}

// Open returns the products of one worker, with a workspace of its own.
func (p *Provider) Open() engine.Products { return &products{level: p.level} }

type products struct {
	level Level
	ws    Workspace
	plan  gemmPlan
}

// Gemm computes g.
func (p *products) Gemm(g *engine.Gemm) {
	switch g.DType {
	case engine.Float32:
		gemmBatch[float32](p, g)
	case engine.Float64:
		gemmBatch[float64](p, g)
	case engine.Complex64:
		gemmBatch[complex64](p, g)
	case engine.Complex128:
		gemmBatch[complex128](p, g)
	default:
		panic("native: product of a dtype that Supports denies")
	}
}

// productOf is the first member of g.
func productOf[T Number](l Level, ws *Workspace, g *engine.Gemm) product[T] {
	return product[T]{
		set: kernelsOf[T](l), ws: ws, m: g.M, n: g.N, k: g.K, alpha: number[T](g.Alpha), beta: number[T](g.Beta),
		a: matrix{p: g.A.P, rs: g.A.Row, cs: g.A.Col, batch: g.A.Batch, conj: g.ConjA && g.DType.IsComplex()},
		b: matrix{p: g.B.P, rs: g.B.Row, cs: g.B.Col, batch: g.B.Batch, conj: g.ConjB && g.DType.IsComplex()},
		c: matrix{p: g.C.P, rs: g.C.Row, cs: g.C.Col, batch: g.C.Batch},
	}
}

// number rounds x to T.
func number[T Number](x complex128) (v T) {
	switch p := any(&v).(type) {
	case *float32:
		*p = float32(real(x))
	case *float64:
		*p = real(x)
	case *complex64:
		*p = complex64(x)
	case *complex128:
		*p = x
	}
	return v
}

func gemmBatch[T Number](p *products, g *engine.Gemm) {
	w := productOf[T](p.level, &p.ws, g)
	w.plan()
	if w.small(&p.plan) {
		p.plan.Run(p, g.C.P, g.A.P, g.B.P, g.Batch)
		return
	}
	size := sizeOf[T]()
	for i := range g.Batch {
		w.run()
		if i+1 < g.Batch {
			w.a.step(size)
			w.b.step(size)
			w.c.step(size)
		}
	}
}
