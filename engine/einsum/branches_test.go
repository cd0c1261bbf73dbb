package einsum

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/ref"
)

// pairwise is the path that joins neighbours, then the results' neighbours.
func pairwise(operands int) Path {
	path := Path{}
	for live := operands; live > 1; live-- {
		path = append(path, [2]int{0, 1})
	}
	return path
}

// bushy is a product of n matrices of some extents, contracted in pairs.
func bushy(t *testing.T, n int, extents ...int) *Plan {
	t.Helper()
	inputs, shapes := make([][]Label, n), make([][]int, n)
	for k := range inputs {
		inputs[k], shapes[k] = []Label{Label(k), Label(k + 1)}, []int{extents[k%len(extents)], extents[(k+1)%len(extents)]}
	}
	s, err := NewSubscripts(inputs, []Label{0, Label(n)})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, shapes, pairwise(n))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// fewNumbers fills operands with numbers whose products keep their size.
func fewNumbers[T float32 | float64 | complex64 | complex128](t *testing.T, rng *rand.Rand, p *Plan) []*engine.Tensor {
	t.Helper()
	operands := make([]*engine.Tensor, p.Subscripts().Operands())
	for k := range operands {
		shape := p.OperandShape(k)
		values := make([]complex128, product(shape))
		for i := range values {
			values[i] = complex(2*rng.Float64()/float64(shape[len(shape)-1]), 0)
		}
		operands[k] = tensorOf[T](t, values, shape, rng.IntN(3) == 0)
	}
	return operands
}

// Branches have the bits of the same steps one by one, where products have.
func TestBranches(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 52))
	for _, p := range []*Plan{bushy(t, 32, 40), bushy(t, 32, 60, 47, 30), bushy(t, 64, 25, 33)} {
		if p.wide == nil {
			t.Fatalf("%v: no branches", p)
		}
		operands := fewNumbers[float64](t, rng, p)
		all := engines(t, true)
		for _, provider := range []string{"native", "blas"} {
			if all[provider+"1"] == nil {
				continue // there is no BLAS
			}
			want := contract[float64](t, all[provider+"1"](t), p, operands)
			for range 5 {
				if got := contract[float64](t, all[provider+"2"](t), p, operands); !slices.Equal(got, want) {
					t.Fatalf("%s: %v: two workers make other bits", provider, p)
				}
			}
		}
		if n := warmAllocations(t, all["native2"](t), p); n != 0 {
			t.Errorf("%v: %v allocations", p, n)
		}
	}
}

// No tensor of a branch lies where one of another does, nor, within a branch and
// after all branches, where one lies that is read later.
func TestBranchesLieApart(t *testing.T) {
	rng := rand.New(rand.NewPCG(53, 54))
	found := 0
	for range 60 {
		operands := 20 + rng.IntN(30)
		s, shapes := randomNetwork(rng, operands, operands+8)
		for _, shape := range shapes {
			for axis := range shape {
				shape[axis] *= 2
			}
		}
		path, err := Greedy(s, shapes, GreedyOptions{Trials: 1})
		if err != nil {
			t.Fatal(err)
		}
		p, err := NewPlan(s, shapes, path)
		if err != nil || p.wide == nil {
			continue
		}
		found++
		checkBranches(t, p)
	}
	if found < 10 {
		t.Errorf("%d plans with branches", found)
	}
}

func checkBranches(t *testing.T, p *Plan) {
	t.Helper()
	w := p.wide
	branch := make([]int, len(p.tree.nodes)) // of the stage that makes a node, from 1 on; 0 where none does
	reader := make([]int, len(p.tree.nodes)) // the last stage that reads it
	maker := make([]int, len(p.tree.nodes))
	for i, s := range w.stages {
		b := 1
		for b <= len(w.ends) && i >= w.ends[b-1] {
			b++
		}
		branch[s.node], maker[s.node] = b, i
		for _, from := range [2]int{s.left, s.right} {
			if from == None || from == s.node {
				continue
			}
			reader[from] = i
			if made := branch[from]; made != 0 && made != b && b <= len(w.ends) {
				t.Fatalf("%v: branch %d reads what branch %d makes", p, b, made)
			}
			if p.tree.nodes[from].left != None && branch[from] == 0 {
				t.Fatalf("%v: stage %d reads node %d before it is made", p, i, from)
			}
		}
	}
	if len(w.stages) != len(p.stages) {
		t.Fatalf("%v: %d stages of %d", p, len(w.stages), len(p.stages))
	}
	for x, a := range w.places {
		for y, b := range w.places[:x] {
			if a.elements == 0 || b.elements == 0 || a.offset >= b.offset+b.elements || b.offset >= a.offset+a.elements {
				continue
			}
			inBranches := branch[x] <= len(w.ends) && branch[y] <= len(w.ends)
			if inBranches && branch[x] != branch[y] {
				t.Fatalf("%v: nodes %d and %d of two branches share memory", p, x, y)
			}
			if maker[x] <= reader[y] && maker[y] <= reader[x] {
				t.Fatalf("%v: nodes %d and %d live at the same time and share memory", p, x, y)
			}
		}
		if end := a.offset + a.elements; end > p.arena {
			t.Fatalf("%v: node %d ends at %d of %d", p, x, end, p.arena)
		}
	}
}

// Chains along which each step waits for the one before have no branches, nor
// have slices.
func TestNoBranches(t *testing.T) {
	if p := chainPlan(t, 40, 30, false); p.wide != nil && len(p.wide.ends) < 2 {
		t.Errorf("%v: one branch", p)
	}
	p := mustPlan(t, "a,ab,bc,cd,de,ef->f", Path{{0, 1}, {0, 4}, {0, 3}, {0, 2}, {0, 1}}, []int{60}, []int{60, 60}, []int{60, 60},
		[]int{60, 60}, []int{60, 60}, []int{60, 60})
	if p.wide != nil {
		t.Errorf("%v: branches of a chain", p)
	}
	p, err := bushy(t, 32, 40).Slice(Cut{Label(16), 8})
	if err != nil {
		t.Fatal(err)
	}
	if p.wide != nil {
		t.Error("branches of a slice")
	}
}

// A call that fails in a branch is named as the step that it is.
func TestBranchFails(t *testing.T) {
	p := bushy(t, 32, 40)
	e := engines(t, false)["native2"](t)
	operands := fewNumbers[float64](t, rand.New(rand.NewPCG(1, 1)), p)
	specs := make([]engine.Spec, len(operands))
	for k, x := range operands {
		specs[k] = x.Spec()
	}
	r, err := p.Prepare(e, specs...)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := r.Load(operands...); err != nil {
		t.Fatal(err)
	}
	out := floats(t, make([]float64, 1600), 40, 40)
	at := p.wide.ends[1] // the first of branch 2
	kernel, err := ref.New().Bind(engine.Copy{}, []engine.Spec{out.Spec()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.branches[2][0].Kernel = kernel
	want := "einsum: " + r.stageName(at) + ": " + engine.ErrForeignKernel.Error()
	if err := r.Run(out, 0); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
	r.branches[2][0].Kernel = r.steps[at].kernel
	if err := r.Run(out, 0); err != nil {
		t.Error(err)
	}
}
