package cpu

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// Every element of C belongs to one block, whose rows of A and columns of B start
// where they should.
func TestPanelsCoverTheProduct(t *testing.T) {
	own := gemmProvider{kind: own, p: native.New(native.Options{})}
	const k = 3
	for _, p := range []gemmProvider{own, {kind: plain}} {
		for _, m := range []int{1, 7, 100, 257} {
			for _, n := range []int{1, 25, 96, 300} {
				for width := 2; width <= 4; width++ {
					c := make([]float64, m*n)
					g := engine.Gemm{DType: engine.Float64, M: m, N: n, K: k, Batch: 1,
						C: engine.Matrix{Row: n, Col: 1}, A: engine.Matrix{Row: k, Col: 1}, B: engine.Matrix{Row: n, Col: 1}}
					cuts := panelsFor(p, &g, width)
					for block := range cuts.count() {
						x := g
						by := cuts.cut(&x, 8, block)
						i, j := by[opC]/8/n, by[opC]/8%n
						if by[opA] != i*k*8 || by[opB] != j*8 {
							t.Errorf("%d×%d by %v: block %d at (%d, %d) has operands from elsewhere", m, n, cuts, block, i, j)
						}
						for row := range x.M {
							for col := range x.N {
								c[(i+row)*n+j+col]++
							}
						}
					}
					if at := slices.IndexFunc(c, func(v float64) bool { return v != 1 }); at >= 0 {
						t.Errorf("%d×%d by %v: element %d belongs to %v blocks", m, n, cuts, at, c[at])
					}
				}
			}
		}
	}
}

// A product whose B is packed is not cut so that every part packs all of it: each
// packs a share of its own, or, where that would be narrow, two parts pack the same.
func TestPanelsSharePacking(t *testing.T) {
	p := gemmProvider{kind: own, p: native.New(native.Options{Limit: native.Portable})}
	for _, c := range []struct {
		n    int
		want string
	}{{512, "1 8"}, {96, "2 4"}} {
		for _, turned := range []bool{false, true} {
			g := engine.Gemm{DType: engine.Float64, M: c.n, N: c.n, K: 1024, Batch: 1, Alpha: 1,
				C: engine.Matrix{Row: c.n, Col: 1}, A: engine.Matrix{Row: 1024, Col: 1}, B: engine.Matrix{Row: c.n, Col: 1}}
			want := c.want
			if turned {
				for _, m := range []*engine.Matrix{&g.C, &g.A, &g.B} {
					m.Row, m.Col = m.Col, m.Row
				}
				g.A, g.B = g.B, g.A
				want = want[2:] + " " + want[:1]
			}
			if got := panelsFor(p, &g, 4); fmt.Sprint(got.down, got.across) != want {
				t.Errorf("%d columns, turned %v: %d blocks down and %d across, want %s", c.n, turned, got.down, got.across, want)
			}
		}
	}
}
