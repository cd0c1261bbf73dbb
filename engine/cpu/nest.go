package cpu

import (
	"cmp"
	"slices"

	"github.com/hataori/hataori-go/engine"
)

// operands is how many strides a dimension of a nest has: the output's first.
const operands = 3

// dim is one dimension of a nest: its extent and its stride in each operand, in
// elements.
type dim struct {
	n int
	s [operands]int
}

// nest is a loop nest over operands of one shape: dimensions ordered by the
// output's strides, fused where all operands allow. Immutable.
type nest struct {
	outer  []dim // outermost first
	inner  dim
	block  int // the inner dimension is cut into blocks of so many elements
	blocks int
	items  int // rows × blocks; 0 without elements
	total  int // elements
}

// blockElements bounds a block of the inner dimension, so that long vectors can
// be shared by workers.
const blockElements = 8192

// dimsOf lists the dimensions of a shape with more than one index; empty is true
// if there are no elements.
func dimsOf(extents []int, strides ...[]int) (dims []dim, empty bool) {
	for i, n := range extents {
		if n == 0 {
			empty = true
		}
		if n <= 1 {
			continue
		}
		d := dim{n: n}
		for o, s := range strides {
			d.s[o] = s[i]
		}
		dims = append(dims, d)
	}
	return dims, empty
}

// sortBy orders dims by falling |stride| of operand o, then of the others.
func sortBy(dims []dim, o int) {
	slices.SortStableFunc(dims, func(x, y dim) int {
		for _, i := range [...]int{o, 0, 1, 2} {
			if c := cmp.Compare(magnitude(y.s[i]), magnitude(x.s[i])); c != 0 {
				return c
			}
		}
		return 0
	})
}

func magnitude(x int) int {
	if x < 0 {
		return -x
	}
	return x
}

// fuse merges neighbours that all operands see as one dimension.
func fuse(dims []dim) []dim {
	out := dims[:0:0]
	for _, d := range dims {
		if k := len(out) - 1; k >= 0 {
			p, ok := &out[k], true
			for o := range operands {
				ok = ok && p.s[o] == d.n*d.s[o]
			}
			if ok {
				p.n, p.s = p.n*d.n, d.s
				continue
			}
		}
		out = append(out, d)
	}
	return out
}

func product(dims []dim) int {
	n := 1
	for _, d := range dims {
		n *= d.n
	}
	return n
}

// newNest makes a nest for the given extents and the strides of up to three
// operands, the output first.
func newNest(extents []int, strides ...[]int) nest {
	dims, empty := dimsOf(extents, strides...)
	sortBy(dims, 0)
	return nestOf(dims, empty)
}

// nestOf makes a nest of dims in the given order.
func nestOf(dims []dim, empty bool) nest {
	if empty {
		return nest{}
	}
	dims = fuse(dims)
	n := nest{inner: dim{n: 1, s: [operands]int{1, 1, 1}}}
	if k := len(dims) - 1; k >= 0 {
		n.outer, n.inner = dims[:k], dims[k]
	}
	n.block = min(n.inner.n, blockElements)
	n.blocks = (n.inner.n + n.block - 1) / n.block
	rows := product(n.outer)
	n.items, n.total = rows*n.blocks, rows*n.inner.n
	return n
}

// cursor walks the rows of some dimensions.
type cursor struct {
	dims  []dim
	index [engine.MaxRank]int
	at    [operands]int
}

// seek moves to a row by its number.
func (c *cursor) seek(row int) {
	c.at = [operands]int{}
	for i := len(c.dims) - 1; i >= 0; i-- {
		d := &c.dims[i]
		x := row % d.n
		row /= d.n
		c.index[i] = x
		for o := range operands {
			c.at[o] += x * d.s[o]
		}
	}
}

// next moves to the next row.
func (c *cursor) next() {
	for i := len(c.dims) - 1; i >= 0; i-- {
		d := &c.dims[i]
		if c.index[i]++; c.index[i] < d.n {
			for o := range operands {
				c.at[o] += d.s[o]
			}
			return
		}
		c.index[i] = 0
		for o := range operands {
			c.at[o] -= (d.n - 1) * d.s[o]
		}
	}
}

// each calls f for the items lo … hi−1: the operands' positions and the number
// of elements along the inner dimension.
func (n *nest) each(lo, hi int, f func(at [operands]int, count int)) {
	if lo >= hi {
		return
	}
	c := cursor{dims: n.outer}
	if lo > 0 {
		c.seek(lo / n.blocks)
	}
	b := lo % n.blocks
	for ; lo < hi; lo++ {
		at := c.at
		first := b * n.block
		for o := range operands {
			at[o] += first * n.inner.s[o]
		}
		f(at, min(n.block, n.inner.n-first))
		if b++; b == n.blocks {
			b = 0
			c.next()
		}
	}
}
