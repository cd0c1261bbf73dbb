package einsum

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/engine"
)

func mustParse(t testing.TB, text string) Subscripts {
	t.Helper()
	s, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustPlan(t testing.TB, text string, path Path, shapes ...[]int) *Plan {
	t.Helper()
	p, err := NewPlan(mustParse(t, text), shapes, path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestNewPlanRefuses(t *testing.T) {
	big := 1 << 40
	for _, c := range []struct {
		name, text          string
		shapes              [][]int
		path                Path
		kind                error
		operand, axis, step int
		says                string
	}{
		{"missing shape", "ij,jk->ik", [][]int{{2, 3}}, Path{{0, 1}}, ErrShape, None, None, None, "1 shapes"},
		{"rank", "ij,jk->ik", [][]int{{2, 3}, {3}}, Path{{0, 1}}, ErrShape, 1, None, None, "2 labels"},
		{"sizes", "ij,jk->ik", [][]int{{2, 3}, {4, 5}}, Path{{0, 1}}, ErrShape, 1, 0, None, "operand 0, axis 1"},
		{"diagonal", "ii->i", [][]int{{2, 3}}, nil, ErrShape, 0, 1, None, "label i"},
		{"stretch", "ij,jk->ik", [][]int{{2, 3}, {1, 5}}, Path{{0, 1}}, ErrShape, 1, 0, None, "not stretched"},
		{"negative", "i->i", [][]int{{-2}}, nil, ErrShape, 0, 0, None, "negative"},
		{"operand too large", "ij->", [][]int{{big, big}}, nil, ErrSize, 0, None, None, "addressed"},
		{"output too large", "i,j->ij", [][]int{{big}, {big}}, Path{{0, 1}}, ErrSize, None, None, None, "output"},
		{"result too large", "ia,jb,abi,j->", [][]int{{1 << 20, 1 << 10}, {1 << 20, 1 << 11}, {1 << 10, 1 << 11, 1 << 20}, {1 << 20}}, Path{{0, 1}, {0, 1}, {0, 1}}, ErrSize, None, None, 0, "result"},
		{"short path", "i,i,i->", [][]int{{2}, {2}, {2}}, Path{{0, 1}}, ErrPath, None, None, None, "2 tensors are left"},
		{"no path", "i,i->", [][]int{{2}, {2}}, nil, ErrPath, None, None, None, "need 1 steps"},
		{"long path", "i,i->", [][]int{{2}, {2}}, Path{{0, 1}, {0, 1}}, ErrPath, None, None, 1, "consumed"},
		{"out of range", "i,i->", [][]int{{2}, {2}}, Path{{0, 2}}, ErrPath, None, None, 0, "position 2"},
		{"numbered as made", "i,i,i->", [][]int{{2}, {2}, {2}}, Path{{0, 1}, {2, 3}}, ErrPath, None, None, 1, "ssa_to_linear"},
		{"below range", "i,i->", [][]int{{2}, {2}}, Path{{-1, 0}}, ErrPath, None, None, 0, "position -1"},
		{"twice", "i,i->", [][]int{{2}, {2}}, Path{{1, 1}}, ErrPath, None, None, 0, "twice"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := NewPlan(mustParse(t, c.text), c.shapes, c.path)
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, c.kind) {
				t.Fatalf("%v, want an *Error of %v", err, c.kind)
			}
			if e.Operand != c.operand || e.Axis != c.axis || e.Step != c.step {
				t.Errorf("%v: names operand %d, axis %d, step %d, want %d, %d, %d", err, e.Operand, e.Axis, e.Step, c.operand, c.axis, c.step)
			}
			if !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q does not say %q on one line", err, c.says)
			}
		})
	}
	if _, err := NewPlan(Subscripts{}, nil, nil); !errors.Is(err, ErrSyntax) {
		t.Errorf("the zero subscripts: %v", err)
	}
}

// The costs of these are counted by hand.
func TestCost(t *testing.T) {
	chain := mustPlan(t, "ij,jk,kl->il", Path{{0, 1}, {0, 1}}, []int{2, 3}, []int{3, 5}, []int{5, 7})
	if c := chain.Cost(); c.Operations != 2*3*5+2*5*7 || c.Largest != 14 || c.Shared != 0 {
		t.Errorf("chain: %+v", c)
	}
	// Label i is in three operands: it stays until the last of them.
	hyper := mustPlan(t, "ia,ib,i->ab", Path{{0, 1}, {0, 1}}, []int{4, 2}, []int{4, 3}, []int{4})
	if c := hyper.Cost(); c.Operations != 4*2*3+4*2*3 || c.Largest != 24 {
		t.Errorf("hyper-edge: %+v", c)
	}
	// Labels a and d are nowhere else: they are summed before the step.
	early := mustPlan(t, "ab,bcd->c", Path{{0, 1}}, []int{5, 2}, []int{2, 3, 7})
	if c := early.Cost(); c.Operations != 2*3 || len(early.stages) != 3 {
		t.Errorf("private labels: %+v in %d stages", c, len(early.stages))
	}
	// Label b ends with the first two, though a third step could sum it too.
	middle := mustPlan(t, "ab,bc,cd->ad", Path{{0, 1}, {0, 1}}, []int{2, 3}, []int{3, 4}, []int{4, 5})
	if st := middle.Steps(); slices.Contains(st[0].Result, 'b') || !slices.Contains(st[0].Result, 'c') {
		t.Errorf("step 0 makes %v", st[0].Result)
	}
	cut, err := chain.Slice(Cut{'l', 7})
	if err != nil {
		t.Fatal(err)
	}
	if c := cut.Cost(); c.Operations != 2*3*5+2*5*7 || c.Shared != 2*3*5 || c.Largest != 10 {
		t.Errorf("cut chain: %+v", c)
	}
	text := cut.String()
	for _, want := range []string{"3 operands", "7 slices", "l (7) in 7", "100 multiply-adds"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan's text lacks %q:\n%s", want, text)
		}
	}
}

func TestArenaHoldsLiveTensorsApart(t *testing.T) {
	shapes := make([][]int, 12)
	inputs := make([][]Label, 12)
	for k := range inputs {
		inputs[k] = []Label{Label(k), Label(k + 1)}
		shapes[k] = []int{3 + k%4, 3 + (k+1)%4}
	}
	s, err := NewSubscripts(inputs, []Label{0, 12})
	if err != nil {
		t.Fatal(err)
	}
	path := Path{{0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}, {0, 1}}
	p, err := NewPlan(s, shapes, path)
	if err != nil {
		t.Fatal(err)
	}
	p, err = p.Slice(Cut{Label(5), shapes[5][0]})
	if err != nil {
		t.Fatal(err)
	}
	live := map[int]place{}
	for i, st := range p.stages {
		made := p.places[st.node]
		if st.node != len(p.tree.nodes)-1 {
			for node, other := range live {
				if made.offset < other.offset+other.elements && other.offset < made.offset+made.elements {
					t.Fatalf("stage %d puts node %d at %+v over node %d at %+v", i, st.node, made, node, other)
				}
			}
			live[st.node] = made
		}
		for _, from := range []int{st.left, st.right} {
			kept := i >= p.fixed && slices.ContainsFunc(p.stages[:p.fixed], func(s stage) bool { return s.node == from })
			if !kept {
				delete(live, from)
			}
		}
	}
}

// Tensors take the places of those that were read for the last time: from left to
// right a chain needs two results at once, in pairs half of the first ones and one.
func TestArenaIsUsedAgain(t *testing.T) {
	const n, d = 32, 40
	leftToRight := Path{{0, 1}}
	for live := n - 1; live > 1; live-- {
		leftToRight = append(leftToRight, [2]int{0, live - 1})
	}
	pairs := bushy(t, n, d)
	chain, err := NewPlan(pairs.Subscripts(), slices.Repeat([][]int{{d, d}}, n), leftToRight)
	if err != nil {
		t.Fatal(err)
	}
	if chain.arena != 2*d*d || chain.Cost().Peak != 2*d*d {
		t.Errorf("a chain needs %d elements, peak %d, want %d", chain.arena, chain.Cost().Peak, 2*d*d)
	}
	end := 0
	for _, at := range pairs.places {
		end = max(end, at.offset+at.elements)
	}
	if want := (n/2 + 1) * d * d; end != want {
		t.Errorf("a chain in pairs needs %d elements, want %d", end, want)
	}
}

func TestSliceRefuses(t *testing.T) {
	p := mustPlan(t, "ij,jk->ik", Path{{0, 1}}, []int{4, 6}, []int{6, 5})
	for name, cuts := range map[string][]Cut{
		"unknown label": {{'z', 2}},
		"no divisor":    {{'i', 3}},
		"zero parts":    {{'i', 0}},
		"twice":         {{'i', 2}, {'i', 2}},
	} {
		if _, err := p.Slice(cuts...); !errors.Is(err, ErrSlice) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := p.FindCuts(t.Context(), Limits{Largest: 0, Slices: 10}); err != nil {
		t.Errorf("ten slices: %v", err)
	}
	stuck := mustPlan(t, "i,i->", Path{{0, 1}}, []int{7}, []int{7})
	if cuts, err := stuck.FindCuts(t.Context(), Limits{Slices: 1000}); err != nil || len(cuts) != 1 || cuts[0].Parts != 7 {
		t.Errorf("more slices than there can be: %v, %v", cuts, err)
	}
}

func TestFindCutsMeetsLimits(t *testing.T) {
	p := mustPlan(t, "abcd,cdef,efgh->abgh", Path{{0, 1}, {0, 1}},
		[]int{4, 6, 8, 5}, []int{8, 5, 9, 7}, []int{9, 7, 10, 4})
	for _, limits := range []Limits{{Largest: 500}, {Slices: 30}, {Largest: 100, Slices: 64}, {}} {
		cuts, err := p.FindCuts(t.Context(), limits)
		if err != nil {
			t.Fatal(err)
		}
		cut, err := p.Slice(cuts...)
		if err != nil {
			t.Fatal(err)
		}
		if limits.Largest > 0 && cut.Cost().Largest > limits.Largest || cut.Slices() < limits.Slices {
			t.Errorf("%+v gave %d slices of at most %d", limits, cut.Slices(), cut.Cost().Largest)
		}
		if again, _ := p.FindCuts(t.Context(), limits); !slices.Equal(cuts, again) {
			t.Errorf("%+v gave %v and then %v", limits, cuts, again)
		}
	}
}

func TestGreedyFindsTheCheapChainOrder(t *testing.T) {
	// A row vector times matrices: from the left it costs 3·64², from the
	// right 2·64³ + 64².
	s := mustParse(t, "a,ab,bc,cd->d")
	shapes := [][]int{{64}, {64, 64}, {64, 64}, {64, 64}}
	path, err := Greedy(s, shapes, GreedyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, shapes, path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := p.Cost().Operations, 3*math.Pow(64, 2); got != want {
		t.Errorf("%v costs %g, want %g", path, got, want)
	}
	again, _ := Greedy(s, shapes, GreedyOptions{})
	if !slices.Equal(path, again) {
		t.Errorf("two calls gave %v and %v", path, again)
	}
}

// chainOptimum is the least number of multiply-adds of a product of matrices,
// by the textbook's dynamic programme.
func chainOptimum(sizes []int) float64 {
	n := len(sizes) - 1
	cost := make([][]float64, n)
	for i := range cost {
		cost[i] = make([]float64, n)
	}
	for length := 2; length <= n; length++ {
		for i := 0; i+length <= n; i++ {
			j := i + length - 1
			cost[i][j] = math.Inf(1)
			for k := i; k < j; k++ {
				c := cost[i][k] + cost[k+1][j] + float64(sizes[i]*sizes[k+1]*sizes[j+1])
				cost[i][j] = min(cost[i][j], c)
			}
		}
	}
	return cost[0][n-1]
}

func TestGreedyAgainstTheOptimumOfChains(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	for range 20 {
		sizes := make([]int, 13)
		for i := range sizes {
			sizes[i] = 2 + rng.IntN(60)
		}
		inputs, shapes := make([][]Label, 12), make([][]int, 12)
		for k := range inputs {
			inputs[k], shapes[k] = []Label{Label(k), Label(k + 1)}, sizes[k:k+2]
		}
		s, err := NewSubscripts(inputs, []Label{0, 12})
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
		fromLeft := 0.0
		for k := 1; k < 12; k++ {
			fromLeft += float64(sizes[0] * sizes[k] * sizes[k+1])
		}
		got, least := p.Cost().Operations, chainOptimum(sizes)
		if got < least || got > 4*least || got > fromLeft {
			t.Errorf("%v costs %g; from left to right %g, the optimum is %g", sizes, got, fromLeft, least)
		}
	}
}

// Chains, their transposes and batched products lie so that each product is one
// of matrices as they are.
func TestLayoutNeedsNoCopies(t *testing.T) {
	all := map[string]engine.Execution{}
	for name, open := range engines(t, false) {
		all[name] = open(t)
	}
	for _, c := range []struct {
		text   string
		path   Path
		shapes [][]int
	}{
		{"ij,jk->ik", Path{{0, 1}}, [][]int{{2, 3}, {3, 4}}},
		{"ij,jk->ki", Path{{0, 1}}, [][]int{{2, 3}, {3, 4}}},
		{"ji,kj->ki", Path{{0, 1}}, [][]int{{3, 2}, {4, 3}}},
		{"bij,bjk->bik", Path{{0, 1}}, [][]int{{5, 2, 3}, {5, 3, 4}}},
		{"bij,bjk->bki", Path{{0, 1}}, [][]int{{5, 2, 3}, {5, 3, 4}}},
		{"ij,jk,kl,lm->mi", Path{{0, 1}, {0, 1}, {0, 1}}, [][]int{{2, 3}, {3, 4}, {4, 5}, {5, 6}}},
		{"abc,cde,efg->abdfg", Path{{0, 1}, {0, 1}}, [][]int{{2, 3, 4}, {4, 5, 6}, {6, 7, 8}}},
		{"abc,cde,efg->fgabd", Path{{0, 1}, {0, 1}}, [][]int{{8, 3, 30}, {30, 5, 20}, {20, 7, 18}}},
	} {
		p := mustPlan(t, c.text, c.path, c.shapes...)
		specs := make([]engine.Spec, len(c.shapes))
		for k, shape := range c.shapes {
			specs[k] = engine.SpecOf(engine.Complex64, shape...)
		}
		for name, e := range all {
			r, err := p.Prepare(e, specs...)
			if err != nil {
				t.Fatal(err)
			}
			for i, st := range r.steps {
				if n := st.kernel.Workspace(); n != 0 {
					t.Errorf("%s on %s: %s copies %d bytes", c.text, name, r.stageName(i), n)
				}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
		for _, s := range p.stages {
			for node, groups := range map[int][3][]int{
				s.left:  {s.batch, s.leftFree, s.summed},
				s.right: {s.batch, s.summed, s.rightFree},
				s.node:  {s.batch, s.leftFree, s.rightFree},
			} {
				order := p.orders[node]
				if !slices.Equal(order, join(groups[0], groups[1], groups[2])) && !slices.Equal(order, join(groups[0], groups[2], groups[1])) {
					t.Errorf("%s: node %d lies as %v, the product wants %v", c.text, node, order, groups)
				}
			}
		}
	}
}
