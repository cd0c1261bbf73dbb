package einsum

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/ref"
)

// everyPlan calls f with every path of a small network, and every way to cut it.
func everyPlan(t *testing.T, n *network, f func(path Path, tr *tree, sizes []int, cuts []cut)) {
	t.Helper()
	var cutAll func(path Path, tr *tree, parts []int, l int)
	cutAll = func(path Path, tr *tree, parts []int, l int) {
		if l == len(parts) {
			sizes, cuts := tr.divide(parts)
			f(path, tr, sizes, cuts)
			return
		}
		for n := 1; n <= tr.sizes[l]; n++ {
			if tr.sizes[l]%n == 0 {
				parts[l] = n
				cutAll(path, tr, parts, l+1)
			}
		}
		parts[l] = 1
	}
	var try func(path Path, left int)
	try = func(path Path, left int) {
		if left > 1 {
			for j := range left {
				for i := range j {
					try(append(path[:len(path):len(path)], [2]int{i, j}), left-1)
				}
			}
			return
		}
		tr, err := newTree(n, path)
		if err != nil {
			t.Fatal(err)
		}
		cutAll(path, tr, slices.Repeat([]int{1}, len(n.labels)), 0)
	}
	try(nil, len(n.operands))
}

// cheapestCut is the fewest multiply-adds under a bound on the largest intermediate.
func cheapestCut(t *testing.T, n *network, bound int) float64 {
	t.Helper()
	best := math.Inf(1)
	everyPlan(t, n, func(_ Path, tr *tree, sizes []int, cuts []cut) {
		if operations, _, largest := tr.measure(sizes, cuts); largest <= bound {
			best = min(best, operations)
		}
	})
	return best
}

// The limit on the peak that is said to be the least is met, and nearly always the least
// of all paths and cuts: scratch alone may cost another line.
func TestLeastPeakBesideEveryPlan(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 5))
	networks, exact := 0, 0
	for range 100 {
		s, shapes := randomNetwork(rng, 2+rng.IntN(3), 2+rng.IntN(3))
		n, err := newNetwork(s, shapes)
		if err != nil {
			t.Fatal(err)
		}
		least := math.MaxInt
		everyPlan(t, n, func(path Path, tr *tree, _ []int, cuts []cut) {
			p, err := newPlan(s, path, tr, cuts)
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, p.cost.Peak)
		})
		if least == 0 {
			continue // nothing to bound
		}
		var e *LimitError
		if _, err := FindPlan(context.Background(), s, shapes, PlanOptions{Limits: Limits{Peak: 1}}); !errors.As(err, &e) {
			t.Fatalf("%v %v: %v, where %d is the least", s, shapes, err, least)
		}
		if e.Least < least || e.Least > least+lineElements {
			t.Errorf("%v %v: %d is said to be the least, %d is", s, shapes, e.Least, least)
		}
		if p, err := FindPlan(context.Background(), s, shapes, PlanOptions{Limits: Limits{Peak: e.Least}}); err != nil || p.cost.Peak > e.Least {
			t.Errorf("%v %v: the least is not met: %v", s, shapes, err)
		}
		if networks++; e.Least == least {
			exact++
		}
	}
	if networks < 30 || exact < networks*9/10 {
		t.Errorf("the least of %d networks was found %d times", networks, exact)
	}
}

// Operands are summed right before the step that reads them: of a product of many
// vectors' sums two results and a sum are there at once.
func TestSumsDoNotWait(t *testing.T) {
	const n, length = 20, 7
	inputs, shapes, path := make([][]Label, n), make([][]int, n), Path{{0, 1}}
	for k := range inputs {
		inputs[k], shapes[k] = []Label{0, Label(k + 1)}, []int{64, length}
	}
	for live := n - 1; live > 1; live-- {
		path = append(path, [2]int{0, live - 1})
	}
	s, err := NewSubscripts(inputs, []Label{0})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, shapes, path)
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Cost(); c.Peak != 3*64 {
		t.Errorf("a peak of %d, %d is enough", c.Peak, 3*64)
	}
}

// Labels without values make sums over nothing, whatever is cut beside them.
func TestEmptyLabelsArePlanned(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 6))
	for range 60 {
		s, shapes := drawCase(rng, 1+rng.IntN(5), []int{2, 3, 0, 1, 4, 0, 6})
		p, err := FindPlan(context.Background(), s, shapes, PlanOptions{PathOptions: PathOptions{Trials: 2}, Limits: Limits{Largest: 1 + rng.IntN(20), Slices: rng.IntN(8)}})
		if err != nil {
			t.Fatalf("%v %v: %v", s, shapes, err)
		}
		if _, err := FindPlan(context.Background(), s, shapes, PlanOptions{Limits: Limits{Peak: 1}}); err != nil && !errors.Is(err, ErrLimit) {
			t.Fatalf("%v %v: %v", s, shapes, err)
		}
		values, operands := make([][]complex128, len(shapes)), make([]*engine.Tensor, len(shapes))
		for k, shape := range shapes {
			values[k] = make([]complex128, product(shape))
			for i := range values[k] {
				values[k][i] = complex(float64(rng.IntN(9)-4), 0)
			}
			operands[k] = tensorOf[float64](t, values[k], shape, false)
		}
		want := oracle(s, shapes, values)
		for _, e := range []engine.Execution{ref.New(), engines(t, false)["native1"](t)} {
			for i, x := range contract[float64](t, e, p, operands) {
				if x != real(want[i]) {
					t.Fatalf("%v %v, cuts %v: element %d is %v, want %v", s, shapes, p.Cuts(), i, x, want[i])
				}
			}
			for i, x := range scaledValues(t, e, p, operands) {
				if x != real(want[i]) {
					t.Fatalf("%v %v, cuts %v, scaled: element %d is %v, want %v", s, shapes, p.Cuts(), i, x, want[i])
				}
			}
		}
	}
}

func scaledValues(t *testing.T, e engine.Execution, p *Plan, operands []*engine.Tensor) []float64 {
	t.Helper()
	x, exponent := contractScaled[float64](t, e, p, operands)
	for i := range x {
		x[i] = math.Ldexp(x[i], exponent)
	}
	return x
}

func TestFindPlanBesideTheCheapestCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 4))
	sum, worst, cases := 0.0, 0.0, 0
	for range 60 {
		s, shapes := randomNetwork(rng, 2+rng.IntN(3), 2+rng.IntN(4))
		n, err := newNetwork(s, shapes)
		if err != nil {
			t.Fatal(err)
		}
		whole, err := FindPlan(context.Background(), s, shapes, PlanOptions{})
		if err != nil {
			t.Fatal(err)
		}
		bound := 1 + rng.IntN(max(1, whole.cost.Largest))
		p, err := FindPlan(context.Background(), s, shapes, PlanOptions{Limits: Limits{Largest: bound}})
		if err != nil {
			t.Fatalf("%v %v, at most %d elements: %v", s, shapes, bound, err)
		}
		if p.cost.Largest > bound {
			t.Fatalf("%v %v: %d elements, the bound is %d", s, shapes, p.cost.Largest, bound)
		}
		ratio := p.cost.Operations / cheapestCut(t, n, bound)
		if ratio < 1-1e-9 {
			t.Fatalf("%v %v: %g times the fewest multiply-adds", s, shapes, ratio)
		}
		sum, worst, cases = sum+math.Log(ratio), max(worst, ratio), cases+1
	}
	mean := math.Exp(sum / float64(cases))
	t.Logf("multiply-adds beside the fewest: %.3f, at worst %.3f", mean, worst)
	if mean > 1.15 || worst > 3 {
		t.Errorf("multiply-adds are %.3f times the fewest, at worst %.3f", mean, worst)
	}
}

func TestFindPlanMeetsLimits(t *testing.T) {
	s, shapes, err := lattice(5, 5)
	if err != nil {
		t.Fatal(err)
	}
	few := PathOptions{Trials: 8, Refined: 1}
	whole, err := FindPlan(context.Background(), s, shapes, PlanOptions{PathOptions: few})
	if err != nil {
		t.Fatal(err)
	}
	if whole.Slices() != 1 {
		t.Errorf("%d slices without limits", whole.Slices())
	}
	for _, limits := range []Limits{
		{Largest: whole.cost.Largest / 8}, {Peak: whole.cost.Peak / 2}, {Slices: 16},
		{Largest: whole.cost.Largest / 2, Peak: whole.cost.Peak / 2, Slices: 8},
	} {
		o := PlanOptions{Limits: limits, PathOptions: few}
		p, err := FindPlan(context.Background(), s, shapes, o)
		if err != nil {
			t.Fatalf("%+v: %v", limits, err)
		}
		c := p.Cost()
		if limits.Largest > 0 && c.Largest > limits.Largest || limits.Peak > 0 && c.Peak > limits.Peak || p.Slices() < limits.Slices {
			t.Errorf("%+v: %d slices, largest %d, peak %d", limits, p.Slices(), c.Largest, c.Peak)
		}
		if got := c.Shared + c.PerSlice*float64(p.Slices()); math.Abs(got-c.Operations) > 1e-9*got {
			t.Errorf("%+v: %g multiply-adds shared and by slice, %g in all", limits, got, c.Operations)
		}
		again, err := FindPlan(context.Background(), s, shapes, o)
		if err != nil || !bytes.Equal(mustMarshal(t, p), mustMarshal(t, again)) {
			t.Errorf("%+v: two plans from the same arguments (%v)", limits, err)
		}
	}
}

// No cut is left without which the limits are met as well.
func TestFindCutsTakesBack(t *testing.T) {
	s, shapes, err := lattice(4, 6)
	if err != nil {
		t.Fatal(err)
	}
	path, err := Greedy(s, shapes, GreedyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, shapes, path)
	if err != nil {
		t.Fatal(err)
	}
	for _, limits := range []Limits{{Largest: 4}, {Peak: p.cost.Peak / 2}} {
		cuts, err := p.FindCuts(t.Context(), limits)
		if err != nil {
			t.Fatal(err)
		}
		if len(cuts) == 0 {
			t.Fatalf("%+v: nothing is cut", limits)
		}
		for i := range cuts {
			q, err := p.Slice(slices.Delete(slices.Clone(cuts), i, i+1)...)
			if err != nil {
				t.Fatal(err)
			}
			c := q.Cost()
			if (limits.Largest == 0 || c.Largest <= limits.Largest) && (limits.Peak == 0 || c.Peak <= limits.Peak) {
				t.Errorf("%+v: %v is not needed: largest %d, peak %d", limits, cuts[i], c.Largest, c.Peak)
			}
		}
	}
}

// A limit that no cuts meet says which one would do, and that one does.
func TestLimitsThatCannotBeMet(t *testing.T) {
	outer := mustPlan(t, "i,j->ij", Path{{0, 1}}, []int{1 << 24}, []int{1 << 24})
	chain := mustPlan(t, "ij,jk,kl->il", Path{{0, 1}, {0, 1}}, []int{6, 6}, []int{6, 6}, []int{6, 6})
	for _, c := range []struct {
		p      *Plan
		limits Limits
		what   string
		least  int
	}{
		// 2⁴⁸ elements in fewer than 2³¹ slices.
		{outer, Limits{Largest: 1000}, "largest intermediate", 1 << 18},
		// One intermediate, which takes a line of the arena at least.
		{chain, Limits{Peak: 1}, "peak", lineElements},
		{chain, Limits{Peak: 5, Largest: 1}, "peak", lineElements},
	} {
		_, err := c.p.FindCuts(t.Context(), c.limits)
		var e *LimitError
		if !errors.As(err, &e) || !errors.Is(err, ErrLimit) {
			t.Fatalf("%+v: %v, want a *LimitError", c.limits, err)
		}
		if e.What != c.what || e.Least != c.least || e.Limit != max(c.limits.Peak, c.limits.Largest) {
			t.Errorf("%+v: %+v, want %s of %d", c.limits, e, c.what, c.least)
		}
		limits := c.limits
		if e.What == "peak" {
			limits.Peak = e.Least
		} else {
			limits.Largest = e.Least
		}
		p, err := c.p.SliceTo(t.Context(), limits)
		if err != nil {
			t.Fatalf("%+v, which is said to be met: %v", limits, err)
		}
		if got := p.Cost(); limits.Largest > 0 && got.Largest > limits.Largest || limits.Peak > 0 && got.Peak > limits.Peak {
			t.Errorf("%+v: %+v", limits, got)
		}
	}
	shapes := [][]int{{1 << 24}, {1 << 24}}
	var e *LimitError
	if _, err := FindPlan(context.Background(), mustParse(t, "i,j->ij"), shapes, PlanOptions{Limits: Limits{Largest: 1000}}); !errors.As(err, &e) || e.Least != 1<<18 {
		t.Errorf("FindPlan: %v", err)
	}
	if _, err := chain.FindCuts(t.Context(), Limits{Largest: -1}); !errors.Is(err, ErrLimit) {
		t.Errorf("a negative limit: %v", err)
	}
	if _, err := new(Plan).FindCuts(t.Context(), Limits{}); !errors.Is(err, ErrSlice) {
		t.Errorf("the zero plan: %v", err)
	}
	if _, err := new(Plan).Slice(); !errors.Is(err, ErrSlice) {
		t.Errorf("the zero plan: %v", err)
	}
	// Uncut the result could not be addressed.
	p, err := FindPlan(context.Background(), mustParse(t, "ia,jb,abi,j->"), [][]int{{1 << 20, 1 << 10}, {1 << 20, 1 << 11}, {1 << 10, 1 << 11, 1 << 20}, {1 << 20}},
		PlanOptions{Limits: Limits{Largest: 1 << 20}})
	if err != nil || p.Cost().Largest > 1<<20 {
		t.Errorf("a network with a large path: %v", err)
	}
}

// The limit that an error names is met when it is given back: of one limit at once, of
// two one after the other. A peak without bound changes nothing.
func TestLimitsGivenBackAreMet(t *testing.T) {
	seeds := []uint64{18, 24}
	if testing.Short() {
		seeds = seeds[:1]
	}
	for _, n := range seeds {
		rng := rand.New(rand.NewPCG(n, 3))
		s, shapes := randomGraph(rng, 12+rng.IntN(18))
		o := PlanOptions{PathOptions: PathOptions{Trials: 8, Refined: 3, Seed: n, Objective: Objective(rng.IntN(2))}}
		whole, err := FindPlan(t.Context(), s, shapes, o)
		if err != nil {
			t.Fatal(err)
		}
		low := Limits{Largest: 1 + rng.IntN(3), Peak: 1 + rng.IntN(60)}
		for name, plan := range map[string]func(Limits) (*Plan, error){
			"SliceTo":  func(l Limits) (*Plan, error) { return whole.SliceTo(t.Context(), l) },
			"FindPlan": func(l Limits) (*Plan, error) { o := o; o.Limits = l; return FindPlan(t.Context(), s, shapes, o) },
		} {
			for _, limits := range []Limits{{Largest: low.Largest}, {Peak: low.Peak}, low} {
				tries, asked := 0, limits
				p, err := plan(limits)
				for e := (*LimitError)(nil); errors.As(err, &e) && tries < 3; tries++ {
					limits = e.raise(limits, e.Least)
					p, err = plan(limits)
				}
				if most := min(1, asked.Largest) + min(1, asked.Peak); err != nil || tries > most {
					t.Fatalf("network %d, %s, %+v: raised to %+v in %d times: %v", n, name, asked, limits, tries, err)
				}
				if c := p.Cost(); limits.Largest > 0 && c.Largest > limits.Largest || limits.Peak > 0 && c.Peak > limits.Peak {
					t.Errorf("network %d, %s, %+v: largest %d, peak %d", n, name, limits, c.Largest, c.Peak)
				}
				if asked.Peak > 0 || limits.Largest == 0 {
					continue
				}
				same, err := plan(Limits{Largest: limits.Largest, Peak: math.MaxInt})
				if err != nil || same.Cost().Largest > limits.Largest {
					t.Errorf("network %d, %s, %+v and no limit on the peak: %v", n, name, limits, err)
				}
			}
		}
	}
	if text := (&LimitError{What: "peak", Limit: 5, Least: math.MaxInt}).Error(); strings.Contains(text, fmt.Sprint(math.MaxInt)) || !strings.Contains(text, "another path") {
		t.Errorf("no limit at all: %s", text)
	}
}

// randomGraph is a closed network of tensors of at most 6 axes with about as many
// labels again.
func randomGraph(rng *rand.Rand, nodes int) (Subscripts, [][]int) {
	inputs, shapes := make([][]Label, nodes), make([][]int, nodes)
	for l := range 2 * nodes {
		size, ends := 2+rng.IntN(3), [2]int{rng.IntN(nodes), rng.IntN(nodes)}
		if ends[0] == ends[1] || len(inputs[ends[0]]) > 5 || len(inputs[ends[1]]) > 5 {
			continue
		}
		for _, k := range ends {
			inputs[k], shapes[k] = append(inputs[k], Label(l)), append(shapes[k], size)
		}
	}
	s, err := NewSubscripts(inputs, nil)
	if err != nil {
		panic(err)
	}
	return s, shapes
}

func TestPlanPrints(t *testing.T) {
	p := mustPlan(t, "ij,jk,kl->il", Path{{0, 1}, {0, 1}}, []int{2, 3}, []int{3, 5}, []int{5, 7})
	p, err := p.Slice(Cut{'l', 7})
	if err != nil {
		t.Fatal(err)
	}
	text := p.Details()
	for _, want := range []string{"7 slices of 10 multiply-adds", "step 0: ij,jk->ik  30 multiply-adds, 10 elements, shared",
		"step 1: ", "10 multiply-adds, 2 elements", "peak 16"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan's text lacks %q:\n%s", want, text)
		}
	}
	if text := new(Plan).String(); text != "no plan" {
		t.Errorf("the zero plan prints %q", text)
	}
}
