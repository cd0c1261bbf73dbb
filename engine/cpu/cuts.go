package cpu

import (
	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// panels is how products are cut among workers: into a grid of blocks of C.
type panels struct {
	down, across int // blocks
	rows, cols   int // of a tile: blocks consist of whole ones
}

// whole is a product that is not cut.
var whole = panels{down: 1, across: 1, rows: 1, cols: 1}

func (p panels) count() int { return p.down * p.across }

const (
	// fixedPanel is about how many rows or columns a panel has under FixedTiles.
	fixedPanel = 192
	// leastPanel is about how many rows or columns a library wants at once, which
	// packs the whole of the other operand for them. More parts than workers gain
	// less than that costs (bench.sh contraction, workers).
	leastPanel = 512
	// leastTiles is how many tiles across a panel has at least where it packs
	// nothing that another one packs too: a narrower one reads the other operand
	// more often than it computes.
	leastTiles = 4
)

// fixedPanels cuts independently of the width.
func fixedPanels(p gemmProvider, g *engine.Gemm) panels {
	c := tiles(p, g.DType)
	if g.M >= g.N {
		return c.times((g.M+fixedPanel-1)/fixedPanel, 1, g)
	}
	return c.times(1, (g.N+fixedPanel-1)/fixedPanel, g)
}

// panelsFor cuts for width workers, into more parts than workers, since cores are not
// equally fast all the time. A cut across the rows makes each part pack all of B,
// where products pack it at all, and one across the columns all of A: of an operand
// that is packed each part gets its own share, or where those would be narrow, each
// worker.
func panelsFor(p gemmProvider, g *engine.Gemm, width int) panels {
	c, n := tiles(p, g.DType), 2*width
	least := leastTiles * n * max(c.rows, c.cols) // which is the wider one, turned products have across
	packsA, packsB := false, false
	switch x := p.p.(type) {
	case nil:
	case *native.Provider:
		packsA, packsB = x.Packs(g)
	default:
		if max(g.M, g.N) < leastPanel*n {
			n = width
		}
	}
	switch {
	case packsB && !packsA && g.N >= least:
		return c.times(1, n, g)
	case packsA && !packsB && g.M >= least:
		return c.times(n, 1, g)
	case packsB && !packsA && g.N >= width*c.cols:
		return c.times(n/width, width, g)
	case packsA && !packsB && g.M >= width*c.rows:
		return c.times(width, n/width, g)
	case g.M >= g.N:
		return c.times(n, 1, g)
	}
	return c.times(1, n, g)
}

func tiles(p gemmProvider, t engine.DType) panels {
	c := whole
	if p.kind != plain {
		c.rows, c.cols = p.p.Tile(t)
	}
	return c
}

// times is a grid of so many blocks, but of at least a tile each.
func (p panels) times(down, across int, g *engine.Gemm) panels {
	p.down, p.across = min(down, (g.M+p.rows-1)/p.rows), min(across, (g.N+p.cols-1)/p.cols)
	return p
}

// cut reduces g, of elements of a size, to one of its blocks, and returns how many
// bytes further the operands lie.
func (p panels) cut(g *engine.Gemm, size, block int) (by [operands]int) {
	i, j := p.rows, p.cols
	lo, hi := share((g.M+i-1)/i, p.down, block/p.across)
	left, right := share((g.N+j-1)/j, p.across, block%p.across)
	i, g.M = lo*i, min(hi*i, g.M)-lo*i
	j, g.N = left*j, min(right*j, g.N)-left*j
	by[opC] = (i*g.C.Row + j*g.C.Col) * size
	if g.K > 0 {
		by[opA], by[opB] = i*g.A.Row*size, j*g.B.Col*size
	}
	return by
}
