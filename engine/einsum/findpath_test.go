package einsum

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// fewest tries every order of contraction, for the best score.
func fewest(t *testing.T, n *network, operands int, o Objective) score {
	best := score{math.Inf(1), math.Inf(1)}
	var try func(path Path, left int)
	try = func(path Path, left int) {
		if left == 1 {
			tr, err := newTree(n, path)
			if err != nil {
				t.Fatal(err)
			}
			operations, _, largest := tr.measure(n.sizes, nil)
			if here := o.score(operations, float64(largest)); here.compare(best) < 0 {
				best = here
			}
			return
		}
		for j := range left {
			for i := range j {
				try(append(path[:len(path):len(path)], [2]int{i, j}), left-1)
			}
		}
	}
	try(nil, operands)
	return best
}

// randomNetwork draws labels for some operands; labels are shared by any number
// of them.
func randomNetwork(rng *rand.Rand, operands, labels int) (Subscripts, [][]int) {
	sizes := make([]int, labels)
	for l := range sizes {
		sizes[l] = 1 + rng.IntN(6)
	}
	inputs, shapes, used := make([][]Label, operands), make([][]int, operands), map[Label]bool{}
	for k := range inputs {
		for range 1 + rng.IntN(3) {
			l := rng.IntN(labels)
			inputs[k], shapes[k] = append(inputs[k], Label(l)), append(shapes[k], sizes[l])
			used[Label(l)] = true
		}
	}
	var output []Label
	for l := range Label(labels) {
		if used[l] && rng.IntN(4) == 0 {
			output = append(output, l)
		}
	}
	s, err := NewSubscripts(inputs, output)
	if err != nil {
		panic(err)
	}
	return s, shapes
}

func operations(t *testing.T, s Subscripts, shapes [][]int, path Path) float64 {
	t.Helper()
	p, err := NewPlan(s, shapes, path)
	if err != nil {
		t.Fatal(err)
	}
	return p.Cost().Operations
}

func TestSmallNetworksGetTheFewestOperations(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		operands := 1 + rng.IntN(6)
		s, shapes := randomNetwork(rng, operands, 2+rng.IntN(7))
		path, err := FindPath(context.Background(), s, shapes, PathOptions{Trials: 1})
		if err != nil {
			t.Fatal(err)
		}
		n, err := newNetwork(s, shapes)
		if err != nil {
			t.Fatal(err)
		}
		got, want := operations(t, s, shapes, path), fewest(t, n, operands, FewestOperations)[0]
		if math.Abs(got-want) > 1e-9*want {
			t.Errorf("%v %v: %g operations, %g are enough", s, shapes, got, want)
		}
	}
}

func TestSmallNetworksGetTheSmallestIntermediates(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 2))
	for range 60 {
		operands := 1 + rng.IntN(6)
		s, shapes := randomNetwork(rng, operands, 2+rng.IntN(7))
		for _, shape := range shapes { // so unequal that it matters
			for axis := range shape {
				shape[axis] *= shape[axis]
			}
		}
		path, err := FindPath(context.Background(), s, shapes, PathOptions{Trials: 1, Objective: SmallestIntermediate})
		if err != nil {
			t.Fatal(err)
		}
		n, err := newNetwork(s, shapes)
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(s, shapes, path)
		if err != nil {
			t.Fatal(err)
		}
		got, want := SmallestIntermediate.score(p.cost.Operations, float64(p.cost.Largest)), fewest(t, n, operands, SmallestIntermediate)
		if got[0] != want[0] || math.Abs(got[1]-want[1]) > 1e-9*want[1] {
			t.Errorf("%v %v: %v elements and operations, %v are enough", s, shapes, got, want)
		}
	}
	// (ab)c makes 1·100 elements in 1800 multiply-adds, a(bc) 9·9 in 8181.
	s, shapes := mustParse(t, "ab,bc,cd->ad"), [][]int{{1, 9}, {9, 100}, {100, 9}}
	for o, want := range map[Objective]Cost{FewestOperations: {Operations: 1800, Largest: 100}, SmallestIntermediate: {Operations: 8181, Largest: 81}} {
		p, err := FindPlan(context.Background(), s, shapes, PlanOptions{PathOptions: PathOptions{Objective: o}})
		if err != nil {
			t.Fatal(err)
		}
		if c := p.Cost(); c.Operations != want.Operations || c.Largest != want.Largest {
			t.Errorf("objective %d: %+v, want %+v", o, c, want)
		}
	}
}

// Of larger networks the objectives give what they are for.
func TestObjectives(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 3))
	for range 12 {
		operands := 14 + rng.IntN(20)
		s, shapes := randomNetwork(rng, operands, operands)
		var costs [2]Cost
		for o := range costs {
			p, err := FindPlan(context.Background(), s, shapes, PlanOptions{PathOptions: PathOptions{Objective: Objective(o), Trials: 8}})
			if err != nil {
				t.Fatal(err)
			}
			costs[o] = p.Cost()
		}
		if costs[1].Largest > costs[0].Largest || costs[0].Operations > costs[1].Operations*(1+1e-9) {
			t.Errorf("%v %v: fewest operations %+v, smallest intermediate %+v", s, shapes, costs[0], costs[1])
		}
	}
	s, shapes := mustParse(t, "ab,bc->ac"), [][]int{{2, 3}, {3, 4}}
	if _, err := FindPath(context.Background(), s, shapes, PathOptions{Objective: 2}); !errors.Is(err, ErrPath) || !strings.Contains(err.Error(), "no objective 2") {
		t.Errorf("objective 2: %v", err)
	}
	if _, err := FindPlan(context.Background(), s, shapes, PlanOptions{PathOptions: PathOptions{Objective: 7}}); !errors.Is(err, ErrPath) {
		t.Errorf("objective 7: %v", err)
	}
	// Under a bound on memory.
	s, shapes, err := lattice(4, 5)
	if err != nil {
		t.Fatal(err)
	}
	bound := Limits{Largest: 64, Peak: 4096}
	p, err := FindPlan(context.Background(), s, shapes, PlanOptions{PathOptions: PathOptions{Objective: SmallestIntermediate, Trials: 4}, Limits: bound})
	if err != nil {
		t.Fatal(err)
	}
	if c := p.Cost(); c.Largest > bound.Largest || c.Peak > bound.Peak {
		t.Errorf("%+v: %+v", bound, c)
	}
}

func TestImproveNeverMakesWorse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 30 {
		operands := 12 + rng.IntN(40)
		s, shapes := randomNetwork(rng, operands, operands)
		path := make(Path, 0, operands)
		for left := operands; left > 1; left-- {
			j := 1 + rng.IntN(left-1)
			path = append(path, [2]int{rng.IntN(j), j})
		}
		better, err := Improve(s, shapes, path)
		if err != nil {
			t.Fatal(err)
		}
		before, after := operations(t, s, shapes, path), operations(t, s, shapes, better)
		if after > before*(1+1e-9) {
			t.Errorf("%v: %g operations became %g", s, before, after)
		}
		again, err := Improve(s, shapes, path)
		if err != nil || !reflect.DeepEqual(better, again) {
			t.Errorf("%v: two paths from the same arguments (%v)", s, err)
		}
	}
}

// The planner keeps up with the paths that others stored for public problems.
func TestFindPathBesideStoredPaths(t *testing.T) {
	for name, f := range fileProblems(t) {
		s := mustParse(t, f.Format)
		best := math.Inf(1)
		for _, p := range f.Paths {
			best = min(best, operations(t, s, f.Shapes, p.Path))
		}
		path, err := FindPath(context.Background(), s, f.Shapes, PathOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ratio := operations(t, s, f.Shapes, path) / best
		t.Logf("%s: %.4f of the operations of the better stored path", name, ratio)
		if ratio > 1.1 {
			t.Errorf("%s: %.3f times the operations of the better stored path", name, ratio)
		}
	}
}

func TestImproveErrors(t *testing.T) {
	s, err := Parse("ab,bc->ac")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Improve(s, [][]int{{2, 3}}, nil); err == nil {
		t.Error("one shape for two operands")
	}
	if _, err := Improve(s, [][]int{{2, 3}, {3, 4}}, Path{{0, 2}}); err == nil {
		t.Error("a path to a tensor that is not there")
	}
	if _, err := FindPath(context.Background(), s, [][]int{{2, 3}, {4, 4}}, PathOptions{}); err == nil {
		t.Error("shapes that disagree")
	}
}
