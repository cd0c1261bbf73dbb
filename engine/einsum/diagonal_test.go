package einsum

import (
	"math"
	"slices"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/ref"
)

// ramp holds (7k+3) mod 11 − 5 at row-major position k.
func ramp(n int) []float64 {
	x := make([]float64, n)
	for k := range x {
		x[k] = float64((7*k+3)%11 - 5)
	}
	return x
}

// Tables made with numpy: zeros whose diagonal is assigned the contraction with
// every output label once.
func TestRepeatedOutputLabels(t *testing.T) {
	turned := ramp(6) // the rows of a ramp of 2×3 exchanged, doubled
	turned = append(turned[3:6:6], turned[:3]...)
	for i := range turned {
		turned[i] *= 2
	}
	for _, c := range []struct {
		text   string
		shapes [][]int
		data   [][]float64
		cut    []Cut
		want   []float64
	}{
		{"i->ii", [][]int{{3}}, [][]float64{ramp(3)}, []Cut{{'i', 3}}, []float64{-2, 0, 0, 0, 5, 0, 0, 0, 1}},
		{"ij,jk->iki", [][]int{{2, 3}, {3, 4}}, [][]float64{ramp(6), ramp(12)}, []Cut{{'i', 2}, {'k', 2}},
			[]float64{23, 0, -15, 0, -20, 0, 19, 0, 0, 22, 0, -15, 0, -19, 0, 21}},
		{"ij->jiij", [][]int{{2, 3}}, [][]float64{ramp(6)}, []Cut{{'j', 3}},
			[]float64{-2, 0, 0, 0, 0, 0, 0, 0, 0, -3, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"ab,ab->aab", [][]int{{2, 3}, {2, 3}}, [][]float64{ramp(6), turned}, []Cut{{'a', 2}}, []float64{12, 40, 0, 0, 0, 0, 0, 0, 0, 12, 40, 0}},
	} {
		s := mustParse(t, c.text)
		if s.String() != c.text {
			t.Errorf("%s is written as %v", c.text, s)
		}
		path, err := Greedy(s, c.shapes, GreedyOptions{})
		if err != nil {
			t.Fatal(err)
		}
		operands := make([]*engine.Tensor, len(c.data))
		for k, x := range c.data {
			operands[k] = floats(t, x, c.shapes[k]...)
		}
		whole := mustPlan(t, c.text, path, c.shapes...)
		sliced, err := whole.Slice(c.cut...)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*Plan{whole, sliced} {
			for _, e := range []engine.Execution{ref.New(), engines(t, false)["native1"](t)} {
				if got := contract[float64](t, e, p, operands); !slices.Equal(got, c.want) {
					t.Errorf("%s in %d slices on %s: %v, want %v", c.text, p.Slices(), e.Target().Kind, got, c.want)
				}
			}
		}
	}
}

// NaN and infinities reach what depends on them and nothing else, through
// intermediates too; what the output held is not read.
func TestNaNAndInfinitiesPropagate(t *testing.T) {
	const n = 3
	p := mustPlan(t, "ij,jk,kl->il", Path{{0, 1}, {0, 1}}, []int{n, n}, []int{n, n}, []int{n, n})
	ones := func() []float64 { return slices.Repeat([]float64{1}, n*n) }
	a, b, c := ones(), ones(), ones()
	a[1*n+2], c[0*n+1] = math.NaN(), math.Inf(-1)
	operands := []*engine.Tensor{floats(t, a, n, n), floats(t, b, n, n), floats(t, c, n, n)}
	for _, e := range []engine.Execution{ref.New(), engines(t, false)["native1"](t)} {
		got := contract[float64](t, e, p, operands) // into NaN
		for at, x := range got {
			i, l := at/n, at%n
			switch {
			case i == 1:
				if !math.IsNaN(x) {
					t.Errorf("%s: element %d,%d is %v; NaN is in its sum", e.Target().Kind, i, l, x)
				}
			case l == 1:
				if !math.IsInf(x, -1) {
					t.Errorf("%s: element %d,%d is %v; −∞ is in its sum", e.Target().Kind, i, l, x)
				}
			case x != n*n:
				t.Errorf("%s: element %d,%d is %v, want %d", e.Target().Kind, i, l, x, n*n)
			}
		}
	}
}
