package main

import (
	"fmt"
	"math"
	"math/cmplx"

	"github.com/hataori/hataori-go/engine/einsum"
)

// circuit is a random quantum circuit on a square lattice of qubits, of the
// kind used to compare quantum processors with classical machines (Boixo et
// al., Nature Physics 14, 595, 2018; gates as in Arute et al., Nature 574,
// 505, 2019). Each cycle applies to every qubit one of √X, √Y, √W, never the
// one it had before, and then CZ along one of four alternating sets of bonds.
type circuit struct {
	rows, columns, depth int
	seed                 uint64
	open                 int // qubits, from the last one back, whose output is not fixed

	gates [][]int // gates[cycle][qubit] is an index of roots
	bits  []int   // the output asked for, of the qubits that are not open
}

// roots are √X, √Y and √W with W = (X + Y)/√2, row by row.
var roots = [3][4]complex128{
	halve(1, -1i, -1i, 1),
	halve(1, -1, 1, 1),
	halve(1, -cmplx.Rect(1, math.Pi/4), cmplx.Rect(1, -math.Pi/4), 1),
}

func halve(a, b, c, d complex128) [4]complex128 {
	s := complex(math.Sqrt2/2, 0)
	return [4]complex128{s * a, s * b, s * c, s * d}
}

// Limits that keep a mistyped circuit from filling the machine.
const (
	maxQubits = 1 << 10
	maxGates  = 1 << 16
)

// newCircuit draws the gates and the output bits of "RxCxD" from the seed.
func newCircuit(text string, seed uint64, open int) (*circuit, error) {
	c := &circuit{seed: seed, open: open}
	var rest string
	n, _ := fmt.Sscanf(text+" .", "%dx%dx%d %s", &c.rows, &c.columns, &c.depth, &rest)
	if n != 4 || rest != "." {
		return nil, fmt.Errorf("circuit %q: give rows, columns and depth as RxCxD, for example 4x5x16", text)
	}
	if c.rows < 1 || c.columns < 1 || c.depth < 1 {
		return nil, fmt.Errorf("circuit %q: rows, columns and depth must be at least 1", text)
	}
	if c.rows > maxQubits || c.columns > maxQubits/c.rows || c.depth > maxGates/c.qubits() {
		return nil, fmt.Errorf("circuit %q: more than %d qubits or %d gates; make it smaller", text, maxQubits, maxGates)
	}
	if open < 0 || open > c.qubits() {
		return nil, fmt.Errorf("circuit %q: %d open qubits; it has %d", text, open, c.qubits())
	}
	s := stream(seed)
	for cycle := range c.depth {
		layer := make([]int, c.qubits())
		for q := range layer {
			if cycle == 0 {
				layer[q] = s.below(len(roots))
			} else {
				layer[q] = (c.gates[cycle-1][q] + 1 + s.below(len(roots)-1)) % len(roots)
			}
		}
		c.gates = append(c.gates, layer)
	}
	for range c.qubits() - open {
		c.bits = append(c.bits, s.below(2))
	}
	return c, nil
}

func (c *circuit) name() string {
	return fmt.Sprintf("circuit_%dx%dx%d_seed%d_open%d", c.rows, c.columns, c.depth, c.seed, c.open)
}

func (c *circuit) qubits() int { return c.rows * c.columns }

// bonds lists the pairs of neighbours that a cycle couples: horizontal ones
// from even columns, vertical ones from even rows, then the same from odd ones.
func (c *circuit) bonds(cycle int) [][2]int {
	var pairs [][2]int
	odd := cycle / 2 % 2
	for r := range c.rows {
		for col := range c.columns {
			q := r*c.columns + col
			if horizontal := cycle%2 == 0; horizontal && col%2 == odd && col+1 < c.columns {
				pairs = append(pairs, [2]int{q, q + 1})
			} else if !horizontal && r%2 == odd && r+1 < c.rows {
				pairs = append(pairs, [2]int{q, q + c.columns})
			}
		}
	}
	return pairs
}

// network writes the amplitudes ⟨bits, open| circuit |0…0⟩ as one contraction.
// A wire carries one label between two gates of its qubit. CZ is diagonal, so
// it leaves the labels of its wires as they are: a label then sits in as many
// tensors as touch its wire. The open qubits' last labels are the output, in
// the order of the qubits.
func (c *circuit) network() (einsum.Subscripts, [][]int, [][]complex128, error) {
	var (
		inputs  [][]einsum.Label
		shapes  [][]int
		tensors [][]complex128
		labels  einsum.Label
	)
	fresh := func() einsum.Label { labels++; return labels - 1 }
	put := func(values []complex128, on ...einsum.Label) {
		shape := make([]int, len(on))
		for i := range shape {
			shape[i] = 2
		}
		inputs, shapes, tensors = append(inputs, on), append(shapes, shape), append(tensors, values)
	}

	wire := make([]einsum.Label, c.qubits())
	for q := range wire {
		wire[q] = fresh()
		put([]complex128{1, 0}, wire[q])
	}
	for cycle, layer := range c.gates {
		for q, g := range layer {
			next := fresh()
			put(roots[g][:], next, wire[q])
			wire[q] = next
		}
		for _, b := range c.bonds(cycle) {
			put([]complex128{1, 1, 1, -1}, wire[b[0]], wire[b[1]])
		}
	}
	for q, bit := range c.bits {
		values := make([]complex128, 2)
		values[bit] = 1
		put(values, wire[q])
	}
	s, err := einsum.NewSubscripts(inputs, wire[len(c.bits):])
	return s, shapes, tensors, err
}

// amplitudes computes what the network stands for in the other way: it keeps
// the state of all qubits, 2ⁿ amplitudes with qubit 0 in the highest bit of
// the index, and applies gate by gate to it.
func (c *circuit) amplitudes() []complex128 {
	state := c.evolve()
	fixed := 0
	for _, bit := range c.bits {
		fixed = fixed<<1 | bit
	}
	return state[fixed<<c.open : (fixed+1)<<c.open]
}

func (c *circuit) evolve() []complex128 {
	n := c.qubits()
	state := make([]complex128, 1<<n)
	state[0] = 1
	for cycle, layer := range c.gates {
		for q, g := range layer {
			rotate(state, 1<<(n-1-q), roots[g])
		}
		for _, b := range c.bonds(cycle) {
			flip(state, 1<<(n-1-b[0]), 1<<(n-1-b[1]))
		}
	}
	return state
}

// rotate applies a gate to the qubit whose bit of the index is given.
func rotate(state []complex128, bit int, g [4]complex128) {
	for base := 0; base < len(state); base += 2 * bit {
		low, high := state[base:base+bit], state[base+bit:base+2*bit]
		for i, a := range low {
			b := high[i]
			low[i], high[i] = g[0]*a+g[1]*b, g[2]*a+g[3]*b
		}
	}
}

// flip applies CZ: it changes the sign where both bits are set.
func flip(state []complex128, bit0, bit1 int) {
	for i := range state {
		if i&bit0 != 0 && i&bit1 != 0 {
			state[i] = -state[i]
		}
	}
}
