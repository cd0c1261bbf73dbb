package main

import (
	"context"
	"fmt"
	"math"
	"math/cmplx"
	"reflect"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/ref"
)

// TestStream compares with the published reference values of SplitMix64.
func TestStream(t *testing.T) {
	s := stream(1234567)
	for i, want := range []uint64{6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821} {
		if got := s.next(); got != want {
			t.Errorf("draw %d is %d, want %d", i, got, want)
		}
	}
	// FNV-1a of "a" is a published value too.
	if got := newStream("a", 3); got != 0xaf63dc4c8601ec8c+3 {
		t.Errorf("state %#x", uint64(got))
	}
}

// TestRoots squares the gates: each must give its Pauli matrix but for a phase.
func TestRoots(t *testing.T) {
	w := complex(math.Sqrt2/2, 0)
	paulis := [3][4]complex128{
		{0, 1, 1, 0},
		{0, -1i, 1i, 0},
		{0, w * (1 - 1i), w * (1 + 1i), 0},
	}
	for k, g := range roots {
		square := [4]complex128{
			g[0]*g[0] + g[1]*g[2], g[0]*g[1] + g[1]*g[3],
			g[2]*g[0] + g[3]*g[2], g[2]*g[1] + g[3]*g[3],
		}
		phase := square[1] / paulis[k][1]
		if math.Abs(cmplx.Abs(phase)-1) > 1e-15 {
			t.Errorf("gate %d is not unitary", k)
		}
		for i := range square {
			if cmplx.Abs(square[i]-phase*paulis[k][i]) > 1e-15 {
				t.Errorf("gate %d squared is %v, no multiple of %v", k, square, paulis[k])
			}
		}
	}
}

func TestBonds(t *testing.T) {
	c, err := newCircuit("3x4x4", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := [][][2]int{
		{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}},
		{{0, 4}, {1, 5}, {2, 6}, {3, 7}},
		{{1, 2}, {5, 6}, {9, 10}},
		{{4, 8}, {5, 9}, {6, 10}, {7, 11}},
	}
	for cycle := range want {
		if got := c.bonds(cycle); !reflect.DeepEqual(got, want[cycle]) {
			t.Errorf("cycle %d couples %v, want %v", cycle, got, want[cycle])
		}
	}
}

// TestOneQubit follows a single qubit by hand: its state is the first column of
// the product of its gates.
func TestOneQubit(t *testing.T) {
	c, err := newCircuit("1x1x2", 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, b := roots[c.gates[0][0]], roots[c.gates[1][0]]
	want := []complex128{b[0]*a[0] + b[1]*a[2], b[2]*a[0] + b[3]*a[2]}
	for i, got := range c.amplitudes() {
		if cmplx.Abs(got-want[i]) > 1e-15 {
			t.Errorf("amplitude %d is %v, want %v", i, got, want[i])
		}
	}
}

func TestNewCircuitRefuses(t *testing.T) {
	for _, text := range []string{"", "4x5", "4x5x", "4x5x6x7", "axbxc", "0x5x6", "4x-5x6", "4x5x6 7", "99999x99999x1", "4x5x99999999"} {
		if _, err := newCircuit(text, 1, 0); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := newCircuit("2x2x2", 1, 5); err == nil {
		t.Error("more open qubits than there are")
	}
}

// amplitudesByNetwork contracts the circuit on the reference engine.
func amplitudesByNetwork(t *testing.T, c *circuit, slices int) []complex128 {
	t.Helper()
	p, err := circuitProblem(c)
	if err != nil {
		t.Fatal(err)
	}
	return runSerial(t, ref.New(), p, slices)
}

// runSerial does the whole job on one engine.
func runSerial[T number](t *testing.T, e engine.Execution, p *problem[T], slices int) []T {
	t.Helper()
	plan, err := p.plan(context.Background(), &options{memory: 1 << 30, data: 1 << 33, slices: slices})
	if err != nil {
		t.Fatal(err)
	}
	j, err := newJob(p, plan)
	if err != nil {
		t.Fatal(err)
	}
	if n := j.plan.Slices(); n < slices {
		t.Fatalf("%d slices, asked for %d", n, slices)
	}
	c, err := j.newContractor(e)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	var parts [][]T
	for _, i := range j.items() {
		part, err := c.contract(i)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	output, err := j.assemble(parts)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// TestNetworkAgreesWithState compares amplitudes of several circuits, seeds and
// output bits with the state vector.
func TestNetworkAgreesWithState(t *testing.T) {
	sizes := []string{"1x2x3", "2x2x5", "2x3x6", "1x7x9", "3x3x8"}
	if testing.Short() {
		sizes = sizes[:4]
	}
	for _, size := range sizes {
		for seed := range uint64(3) {
			for _, open := range []int{0, 2} {
				t.Run(fmt.Sprintf("%s/%d/%d", size, seed, open), func(t *testing.T) {
					c, err := newCircuit(size, seed, open)
					if err != nil {
						t.Fatal(err)
					}
					norm := 0.0
					for _, a := range c.evolve() {
						norm += squared(a)
					}
					if math.Abs(norm-1) > 1e-13 {
						t.Errorf("the state has norm %v", norm)
					}
					got := amplitudesByNetwork(t, c, 1+int(seed)*4)
					for i, want := range c.amplitudes() {
						if cmplx.Abs(got[i]-want) > 1e-14 {
							t.Errorf("amplitude %d is %v, the state has %v", i, got[i], want)
						}
					}
				})
			}
		}
	}
}

func TestCircuitCheckFindsAWrongAmplitude(t *testing.T) {
	c, err := newCircuit("2x3x4", 1, 3)
	if err != nil {
		t.Fatal(err)
	}
	good := append([]complex128(nil), c.amplitudes()...)
	if _, err := c.check(good); err != nil {
		t.Error(err)
	}
	good[5] += 1e-9
	if _, err := c.check(good); err == nil {
		t.Error("an amplitude that is off by 1e-9 passes")
	}
}
