package native

import "slices"

// maxOperands is the number of operands that a loop nest goes over at most.
const maxOperands = 4

// axis is one loop: its extent and what a step costs each operand.
type axis struct {
	n    int
	step [maxOperands]int
}

// nest is a loop nest over operands: loops from the outermost to the innermost,
// and how far the first element visited lies from each operand's element
// (0, 0, …). It visits the same elements as the axes it was made from, in an
// order of its own.
type nest struct {
	axes  []axis
	base  [maxOperands]int
	empty bool
}

// newNest makes the nest over extents in which operand 0 is walked in the order
// of its memory. strides lists each operand's. Steps are strides × scale.
func newNest(extents []int, scale int, strides ...[]int) nest {
	var x nest
	for i, n := range extents {
		if n == 0 {
			return nest{empty: true}
		}
		if n == 1 {
			continue
		}
		a := axis{n: n}
		for o, s := range strides {
			a.step[o] = s[i] * scale
		}
		if lead := a.step[0]; lead < 0 || lead == 0 && a.step[1] < 0 { // walk it backwards
			for o := range strides {
				x.base[o] += a.step[o] * (n - 1)
				a.step[o] = -a.step[o]
			}
		}
		x.axes = append(x.axes, a)
	}
	slices.SortStableFunc(x.axes, func(a, b axis) int {
		for o := range maxOperands {
			if d := abs(b.step[o]) - abs(a.step[o]); d != 0 {
				return d
			}
		}
		return 0
	})
	x.merge()
	return x
}

// merge joins neighbouring loops that are one loop for every operand.
func (x *nest) merge() {
	out := x.axes[:0]
	for _, a := range x.axes {
		if len(out) > 0 {
			last, joined := &out[len(out)-1], true
			for o := range maxOperands {
				joined = joined && last.step[o] == a.n*a.step[o]
			}
			if joined {
				last.n *= a.n
				last.step = a.step
				continue
			}
		}
		out = append(out, a)
	}
	x.axes = out
}

func abs(x int) int { return max(x, -x) }

// extent is the product of the extents of axes.
func extent(axes []axis) int {
	n := 1
	for _, a := range axes {
		n *= a.n
	}
	return n
}

// maxAxes is as many axes as a tensor has.
const maxAxes = 64

// odometer counts through loops and keeps each operand's position.
type odometer struct {
	axes []axis
	at   [maxAxes]int
	pos  [maxOperands]int
}

// seek goes to the item-th turn of the nest of loops.
func (o *odometer) seek(axes []axis, base [maxOperands]int, item int) {
	o.axes, o.pos = axes, base
	for i := len(axes) - 1; i >= 0; i-- {
		a := &axes[i]
		o.at[i] = item % a.n
		item /= a.n
		for k := range maxOperands {
			o.pos[k] += o.at[i] * a.step[k]
		}
	}
}

// next goes one turn on; after the last it starts again.
func (o *odometer) next() {
	for i := len(o.axes) - 1; i >= 0; i-- {
		a := &o.axes[i]
		if o.at[i]++; o.at[i] < a.n {
			for k := range maxOperands {
				o.pos[k] += a.step[k]
			}
			return
		}
		o.at[i] = 0
		for k := range maxOperands {
			o.pos[k] -= (a.n - 1) * a.step[k]
		}
	}
}
