package einsum

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hataori/hataori-go/engine"
)

// Cost is what a contraction takes, in elements and multiply-adds, so that it
// holds for every element type.
type Cost struct {
	// Operations counts the multiply-adds of all slices together. Work that
	// is the same in every slice is counted once.
	Operations float64
	// Shared is the part of Operations that is the same in every slice, 0 for
	// a plan without cuts. Each engine that takes part does it once.
	Shared float64
	// PerSlice counts the multiply-adds of one slice, without the shared ones.
	PerSlice float64
	// Largest is the number of elements of the largest tensor that a step of
	// one slice makes.
	Largest int
	// Peak is the number of elements that an engine holds for intermediates:
	// the arena, and the scratch that products of tensors need which do not
	// lie as matrices. Operands and output are the caller's. It holds for
	// operands that lie compact, to within 5 %. Engines of one worker hold
	// a little less where others run branches at the same time.
	Peak int
}

// Plan is a contraction with its shapes and its order fixed: which tensors
// each step takes, which labels it sums, how the result lies in memory, and
// where in one arena it is kept. A Plan is immutable, depends on no engine
// and no element type, and may be shared by any number of goroutines.
//
// A plan has one slice, or, made by [Plan.Slice], many: contractions of the
// same form that together give the output.
type Plan struct {
	subscripts Subscripts
	path       Path
	tree       *tree
	cuts       []cut
	sizes      []int   // length of each label in one slice
	stages     []stage // in the order of execution
	fixed      int     // stages[:fixed] are the same in every slice
	orders     [][]int // labels of each node as they lie in memory
	places     []place // where each node lies in the arena
	wide       *wide   // the same for engines of more than one worker, where it differs
	arena      int     // elements of the arena
	cost       Cost
}

// NewPlan checks subscripts, shapes and path against one another and plans
// their contraction, in one slice or cut along labels as by [Plan.Slice]: of a path
// whose results are too large to be addressed there is no plan without cuts. Errors
// are an *[Error].
func NewPlan(s Subscripts, shapes [][]int, path Path, cuts ...Cut) (*Plan, error) {
	n, err := newNetwork(s, shapes)
	if err != nil {
		return nil, err
	}
	t, err := plannedTree(n, path)
	if err != nil {
		return nil, err
	}
	inner, err := t.numbered(cuts)
	if err != nil {
		return nil, err
	}
	return newPlan(s, slices.Clone(path), t, inner)
}

func newPlan(s Subscripts, path Path, t *tree, cuts []cut) (*Plan, error) {
	p := &Plan{subscripts: s, path: path, tree: t, cuts: cuts, sizes: slices.Clone(t.sizes)}
	for _, c := range cuts {
		p.sizes[c.label] /= c.parts
	}
	for i, nd := range t.nodes[len(t.operands):] {
		_, ok := t.elements(nd.kept, p.sizes)
		what := "elements"
		if len(p.long(nd.kept)) > engine.MaxRank {
			ok, what = false, "axes"
		}
		if !ok {
			return nil, tooLarge(i, what)
		}
	}
	p.layOut()
	p.schedule()
	p.branch()
	if p.arena > maxElements {
		return nil, wrong(ErrSize, "the intermediates have more elements than can be addressed; take another path or cut its labels")
	}
	p.cost.Operations, p.cost.Shared, p.cost.Largest = t.measure(p.sizes, cuts)
	p.cost.PerSlice = (p.cost.Operations - p.cost.Shared) / float64(p.Slices())
	p.cost.Peak = p.arena + p.mostScratch()
	return p, nil
}

// measure counts multiply-adds of all slices, those among them that are the
// same in every slice, and the elements of the largest result.
func (t *tree) measure(sizes []int, cuts []cut) (operations, shared float64, largest int) {
	count := 1.0
	for _, c := range cuts {
		count *= float64(c.parts)
	}
	varies := t.varying(cuts)
	for i := range t.nodes {
		nd := &t.nodes[i]
		if nd.left == None {
			continue
		}
		work := t.work(nd, sizes)
		if varies[i] || len(cuts) == 0 {
			operations += count * work
		} else {
			operations += work
			shared += work
		}
		elements, _ := t.elements(nd.kept, sizes)
		largest = max(largest, elements)
	}
	if len(t.nodes) == 1 {
		largest, _ = t.elements(t.output, sizes)
	}
	return operations, shared, largest
}

// work counts the multiply-adds of a step.
func (t *tree) work(nd *node, sizes []int) float64 {
	work := 1.0
	for _, l := range nd.loops {
		work *= float64(sizes[l])
	}
	return work
}

// Subscripts returns what the plan contracts.
func (p *Plan) Subscripts() Subscripts { return p.subscripts }

// Path returns a copy of the order of contraction.
func (p *Plan) Path() Path { return slices.Clone(p.path) }

// Cost returns what the plan takes.
func (p *Plan) Cost() Cost { return p.cost }

// OperandShape is the shape of the whole operand k, 0 ≤ k < Operands() of the
// subscripts.
func (p *Plan) OperandShape(k int) []int {
	return p.tree.shape(p.tree.operands[k], p.tree.sizes)
}

// OutputShape is the shape of the whole output.
func (p *Plan) OutputShape() []int {
	if p.tree == nil {
		return nil
	}
	return p.tree.shape(p.tree.output, p.tree.sizes)
}

// SliceShape is the shape of the output of one slice.
func (p *Plan) SliceShape() []int {
	if p.tree == nil {
		return nil
	}
	return p.tree.shape(p.tree.output, p.sizes)
}

// String describes the plan in a few lines: sizes, slices, cost.
func (p *Plan) String() string {
	if p.tree == nil {
		return "no plan"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d operands, %d labels, output %v\n", len(p.tree.operands), len(p.tree.labels), p.OutputShape())
	for i, c := range p.cuts {
		if i == 0 {
			fmt.Fprintf(&b, "%d slices of %.4g multiply-adds: ", p.Slices(), p.cost.PerSlice)
		} else {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s (%d) in %d", p.tree.labels[c.label].text(p.subscripts.numbers()), p.tree.sizes[c.label], c.parts)
	}
	if len(p.cuts) > 0 {
		b.WriteByte('\n')
	}
	c := p.cost
	fmt.Fprintf(&b, "%.4g multiply-adds (10^%.2f), %.4g of them shared\n", c.Operations, log10(c.Operations), c.Shared)
	fmt.Fprintf(&b, "largest intermediate %d elements (2^%.2f), peak %d", c.Largest, math.Log2(max(1, float64(c.Largest))), c.Peak)
	return b.String()
}

func log10(x float64) float64 { return math.Log10(max(1, x)) }

// Step is a step of a plan's path, as one slice takes it.
type Step struct {
	Left, Right []Label // of the tensors it contracts
	Result      []Label
	Operations  float64 // multiply-adds
	Elements    int     // of the result
	Shared      bool    // it is the same in every slice

	numbers bool // tell labels by number
}

// String is a line: labels, multiply-adds, elements of the result.
func (s Step) String() string {
	var b strings.Builder
	writeLabels(&b, s.Left, s.numbers)
	b.WriteByte(',')
	writeLabels(&b, s.Right, s.numbers)
	b.WriteString("->")
	writeLabels(&b, s.Result, s.numbers)
	fmt.Fprintf(&b, "  %.4g multiply-adds, %d elements", s.Operations, s.Elements)
	if s.Shared {
		b.WriteString(", shared")
	}
	return b.String()
}

// Steps lists the steps of the path. Labels are in no particular order; those
// of operands that end there, in a diagonal or a sum over one operand, are
// left out.
func (p *Plan) Steps() []Step {
	t := p.tree
	if t == nil {
		return nil
	}
	varies, numbers := t.varying(p.cuts), p.subscripts.numbers()
	name := func(s set) []Label {
		labels := []Label{}
		for l := range s.all() {
			labels = append(labels, t.labels[l])
		}
		return labels
	}
	steps := make([]Step, 0, len(p.path))
	for i := len(t.operands); i < len(t.nodes); i++ {
		nd := &t.nodes[i]
		elements, _ := t.elements(nd.kept, p.sizes)
		steps = append(steps, Step{
			Left: name(t.nodes[nd.left].labels), Right: name(t.nodes[nd.right].labels), Result: name(nd.labels),
			Operations: t.work(nd, p.sizes), Elements: elements, Shared: len(p.cuts) > 0 && !varies[i],
			numbers: numbers,
		})
	}
	return steps
}

// Details is String and a line for each step.
func (p *Plan) Details() string {
	var b strings.Builder
	b.WriteString(p.String())
	for i, s := range p.Steps() {
		fmt.Fprintf(&b, "\nstep %d: %v", i, s)
	}
	return b.String()
}
