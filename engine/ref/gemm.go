package ref

import "github.com/hataori/hataori-go/engine"

// Products computes products by the definition: the oracle for providers.
// The zero value is ready.
type Products struct{}

var _ engine.Products = Products{}

// Gemm implements engine.Products for every numeric dtype and any strides.
func (Products) Gemm(g *engine.Gemm) {
	matrix := func(m engine.Matrix) array {
		return array{m.P, g.DType, nil, []int{m.Batch, m.Row, m.Col}}
	}
	a, b, c := matrix(g.A), matrix(g.B), matrix(g.C)
	alpha, beta := rounded(g.Alpha, g.DType), rounded(g.Beta, g.DType)
	each([]int{g.Batch, g.M, g.N}, func(i []int) {
		var sum value
		some := alpha != 0 && g.K > 0
		for k := 0; k < g.K && some; k++ {
			x, y := a.load([]int{i[0], i[1], k}), b.load([]int{i[0], k, i[2]})
			if g.ConjA {
				x = a.loadConj([]int{i[0], i[1], k})
			}
			if g.ConjB {
				y = b.loadConj([]int{i[0], k, i[2]})
			}
			sum = sum.add(x.mul(y))
		}
		c.store(i, finish(sum, some, alpha, beta, func() value { return c.load(i) }))
	})
}
