package native

import "unsafe"

// Small products of a batch are fused: a kernel computes the same tile of many
// members in one call, from operands where they lie.
const (
	fusedWork  = 32 * 32 * 32 // multiply-adds of a product that still gains
	fusedBytes = 24 << 10     // of operands that one call walks through
)

// fuses says whether a batch of products like g can be fused. Bits are those of
// single products: the kernels are the same.
func (g *product[T]) fuses() bool {
	return g.set.masked && g.alpha == 1 && (g.beta == 0 || g.beta == 1) && g.k > 0 && g.k <= g.kc &&
		g.m*g.n*g.k <= fusedWork && g.directA && g.directB && g.c.cs == 1
}

// fused computes the products of a batch.
func (g *product[T]) fused(batch int) {
	size, set := sizeOf[T](), g.set
	mr, nr := set.mr(), set.nr()
	t := &g.ws.full
	t.one, t.one32 = 1, 1
	t.k, t.ars, t.acs, t.brs, t.crs = g.k, g.a.rs*size, g.a.cs*size, g.b.rs*size, g.c.rs*size
	t.add = 0
	if g.beta != 0 {
		t.add = 1
	}
	t.step = [3]int{g.a.batch * size, g.b.batch * size, g.c.batch * size}
	member := size * (g.m*g.k + g.k*g.n + g.m*g.n)
	for first := 0; first < batch; {
		n := min(max(fusedBytes/member, 1), batch-first)
		for j := 0; j < g.n; j += nr {
			cols := min(nr, g.n-j)
			set.setMask(t, cols)
			for i := 0; i < g.m; i += mr {
				t.rows = min(mr, g.m-i)
				t.a = unsafe.Add(g.a.p, (first*g.a.batch+i*g.a.rs)*size)
				t.b = unsafe.Add(g.b.p, (first*g.b.batch+j)*size)
				t.c = unsafe.Add(g.c.p, (first*g.c.batch+i*g.c.rs+j)*size)
				t.left, t.at = n, [3]int{}
				set.pick(t.rows, set.width(cols))(t)
			}
		}
		first += n
	}
	t.left, t.at, t.a, t.b, t.c = 0, [3]int{}, nil, nil, nil
}
