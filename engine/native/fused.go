package native

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// smallWork is the multiply-adds of a product that gains by being planned: that
// is computed from operands where they lie, by calls that are known beforehand.
const smallWork = 64 * 64 * 64

// gemmPlan is a small product, or a batch of them, as the calls of micro-kernels
// that compute it. It is immutable and has the bits of [Gemm].
type gemmPlan struct {
	calls    []smallCall
	turned   bool // it computes Cᵀ = Bᵀ·Aᵀ
	together int  // members of which a call computes its tiles
	step     [3]int
}

// smallCall is one call: tiles one below the other, of members of the batch.
type smallCall struct {
	kernel  func(*tile)
	shape   tileShape
	a, b, c int // bytes from the operands to the first tile
}

func planOf[T Number](l Level, g *engine.Gemm, p *gemmPlan) bool {
	w := productOf[T](l, nil, g)
	w.plan()
	return w.small(p)
}

// Run implements [engine.GemmPlan].
func (p *gemmPlan) Run(of engine.Products, c, a, b unsafe.Pointer, n int) {
	if p.turned {
		a, b = b, a
	}
	t := &of.(*products).ws.small
	for i := 0; i < n; i += p.together {
		p.members(t, unsafe.Add(c, i*p.step[2]), unsafe.Add(a, i*p.step[0]), unsafe.Add(b, i*p.step[1]), min(p.together, n-i))
	}
	t.a, t.b, t.c = nil, nil, nil
}

func (p *gemmPlan) members(t *tile, c, a, b unsafe.Pointer, n int) {
	for i := range p.calls {
		call := &p.calls[i]
		t.tileShape = call.shape
		t.left = n
		t.a, t.b, t.c = unsafe.Add(a, call.a), unsafe.Add(b, call.b), unsafe.Add(c, call.c)
		call.kernel(t)
	}
}

// small sets p to the calls for a product that has been planned, and says
// whether it could. Members of a batch are computed one after the other, so that
// operands come from memory once and in the order in which they lie there.
func (g *product[T]) small(p *gemmPlan) bool {
	if !g.set.masked || g.alpha != 1 || g.beta != 0 && g.beta != 1 || !within(smallWork, g.m, g.n, g.k) || g.k > g.kc ||
		!g.directA || !g.directB || g.c.cs != 1 {
		return false
	}
	size, set := sizeOf[T](), g.set
	p.turned, p.step = g.turned, [3]int{g.a.batch * size, g.b.batch * size, g.c.batch * size}
	p.calls = p.calls[:0]
	t := tileShape{one: 1, one32: 1, k: g.k, ars: g.a.rs * size, acs: g.a.cs * size, brs: g.b.rs * size, crs: g.c.rs * size}
	if g.beta != 0 {
		t.add = 1
	}
	rows, tiles, down := g.rowTiles(set.mr())
	work, lines := 0, 0 // of a member
	for j, cols := 0, 0; j < g.n; j += cols {
		cols = set.tileCols(g.n - j)
		set.setMask(&t, cols)
		t.rows = rows
		each, eachLines := set.tileWork(rows, cols, g.k), t.lines(cols, size)
		work, lines = work+tiles*each, lines+tiles*eachLines
		together := 1 // tiles of a call
		if rows+(tiles-1)*down == g.m {
			together = max(min(callWork/each, callLines/eachLines, tiles), 1)
		}
		for first := 0; first < tiles; first += together {
			n, i := min(together, tiles-first), first*down
			t.rows = min(rows, g.m-i)
			t.tiles, t.below, t.down = n, n, [3]int{down * t.ars, 0, down * t.crs}
			t.step = [3]int{p.step[0] - (n-1)*t.down[0], p.step[1], p.step[2] - (n-1)*t.down[2]}
			p.calls = append(p.calls, smallCall{set.pick(t.rows, cols), t, i * t.ars, j * size, i*t.crs + j*size})
		}
	}
	p.together = 1
	if len(p.calls) == 1 { // operands of the next member travel while this one is computed
		p.together = max(min(callWork/work, callLines/lines), 1)
		p.calls[0].shape.ahead = [2]int{p.step[0], p.step[1]}
	}
	return true
}

// within says whether the product of extents is from 1 to limit. The product
// itself may be more than an int can count.
func within(limit int, extents ...int) bool {
	for _, n := range extents {
		if n < 1 || n > limit {
			return false
		}
		limit /= n
	}
	return true
}

// rowTiles divides the rows of C into tiles of a height, each so many rows down
// from the one before. Tiles may overlap where C is set, not added to. Where no
// equal steps do, the last is lower.
func (g *product[T]) rowTiles(mr int) (rows, tiles, down int) {
	tiles = (g.m + mr - 1) / mr
	if rows = g.m / tiles; rows*tiles == g.m {
		return rows, tiles, rows
	}
	if g.beta == 0 && (g.m-mr)%(tiles-1) == 0 {
		return mr, tiles, (g.m - mr) / (tiles - 1)
	}
	return mr, tiles, mr
}
