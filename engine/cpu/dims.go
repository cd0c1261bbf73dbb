package cpu

import (
	"cmp"
	"slices"
)

// operands is how many strides a dim has: of the output, then of the inputs.
const operands = 3

// dim is one dimension of a contraction: its extent and its stride in each
// operand, in elements.
type dim struct {
	n int
	s [operands]int
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
