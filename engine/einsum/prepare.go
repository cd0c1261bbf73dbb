package einsum

import (
	"errors"
	"fmt"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/internal/trylock"
)

// Prepared is a plan made ready for one engine and one element type: kernels
// bound, intermediates allocated in one arena of the engine's memory. It
// borrows the engine, belongs to one goroutine at a time like it, and runs
// warm without binding or allocating intermediates again. A method that is
// called while another goes on is refused with [engine.ErrBusy].
type Prepared struct {
	inUse  trylock.Lock
	plan   *Plan
	engine engine.Execution
	dtype  engine.DType
	specs  []engine.Spec // of the whole operands
	out    engine.Spec   // of a slice's output
	stages []stage       // the plan's, in the order for this engine
	places []place
	arena  *engine.Tensor
	steps  []step
	// The first steps as branches, which run at the same time.
	branches [][]engine.Call
	trunk    int // steps in them
	reads    []read
	shared   bool // the stages that are the same in every slice have run
	closed   bool
	loaded   []*engine.Tensor // whole operands
	// What is read of them: they, or copies that RunScaled made.
	sources []*engine.Tensor
	scaling *scaling       // nil until RunScaled
	scaled  bool           // the last run was RunScaled
	result  *engine.Tensor // the tensor of the last run
	start   []int          // of a slice, for each label

	// Where the output repeats a label: what is off its diagonal.
	zero    engine.Kernel
	zeroOut [1]*engine.Tensor
}

// step is a stage bound to the engine.
type step struct {
	kernel  engine.Kernel
	out, in []*engine.Tensor
}

// read is an argument of a step that lies in an operand.
type read struct {
	step, arg, operand int
	spec               engine.Spec
	moves              []move // with the slice
}

// move is how far an operand is walked for each value of a label.
type move struct{ label, stride int }

// Prepare binds the plan to an engine, for operands of the given specs (whole
// operands, any layout, in the engine's memory domain). Errors are an *[Error],
// or those of the engine. The caller closes the result before the engine.
func (p *Plan) Prepare(e engine.Execution, operands ...engine.Spec) (*Prepared, error) {
	if e == nil {
		return nil, wrong(ErrOperand, "there is no engine to prepare the plan for; give one")
	}
	if err := p.checkSpecs(operands, e.Target().Domain); err != nil {
		return nil, err
	}
	r := &Prepared{plan: p, engine: e, dtype: operands[0].DType, specs: make([]engine.Spec, len(operands)), start: make([]int, len(p.sizes)),
		stages: p.stages, places: p.places}
	branching := p.wide != nil && e.Target().Width > 1
	if branching {
		r.stages, r.places = p.wide.stages, p.wide.places
	}
	for k, s := range operands {
		r.specs[k] = s.Canonical()
	}
	r.out = engine.Spec{DType: r.dtype, Domain: e.Target().Domain, Shape: engine.ShapeOf(p.SliceShape()...)}
	arena := engine.Spec{DType: r.dtype, Domain: e.Target().Domain, Shape: engine.ShapeOf(p.arena)}
	var err error
	if r.arena, err = e.Alloc(arena); err != nil {
		return nil, fmt.Errorf("einsum: memory for the intermediates: %w", err)
	}
	for i := range r.stages {
		if err := r.bind(i); err != nil {
			return nil, errors.Join(fmt.Errorf("einsum: %v: %w", r.stageName(i), err), r.Close())
		}
	}
	if branching {
		r.branch(p.wide.ends)
	}
	if len(distinct(p.tree.output)) < len(p.tree.output) {
		if r.zero, err = e.Bind(engine.Fill{Spec: r.out}, nil, []engine.Spec{r.out}); err != nil {
			return nil, errors.Join(fmt.Errorf("einsum: output: %w", err), r.Close())
		}
	}
	return r, nil
}

// branch makes calls of the steps that are in branches.
func (r *Prepared) branch(ends []int) {
	for _, end := range ends {
		var calls []engine.Call
		for ; r.trunk < end; r.trunk++ {
			st := &r.steps[r.trunk]
			calls = append(calls, engine.Call{Kernel: st.kernel, Out: st.out, In: st.in})
		}
		r.branches = append(r.branches, calls)
	}
}

// Bytes is the memory of the engine that the plan holds or borrows for
// intermediates: the arena, and the most scratch that one of its kernels takes.
// It is what [Cost].Peak says in elements.
func (r *Prepared) Bytes() int {
	if r.arena == nil {
		return 0
	}
	scratch := 0
	for _, st := range r.steps {
		scratch = max(scratch, st.kernel.Workspace())
	}
	beside := 0
	for _, calls := range r.branches {
		most := 0
		for _, c := range calls {
			most = max(most, c.Kernel.Workspace())
		}
		beside += most
	}
	return r.arena.Spec().Bytes() + max(scratch, beside)
}

func (p *Plan) checkSpecs(specs []engine.Spec, domain engine.Domain) error {
	if p.tree == nil {
		return noPlan(ErrOperand)
	}
	if len(specs) != len(p.tree.operands) {
		return wrong(ErrOperand, "%d operands given, the plan has %d", len(specs), len(p.tree.operands))
	}
	for k, s := range specs {
		want := engine.ShapeOf(p.OperandShape(k)...)
		switch {
		case s.Shape != want:
			return wrongOperand(ErrOperand, k, None, "shape %v, the plan was made for %v", s.Shape, want)
		case s.DType != specs[0].DType:
			return wrongOperand(ErrOperand, k, None, "dtype %v, operand 0 has %v; convert one", s.DType, specs[0].DType)
		case s.Domain != domain:
			return wrongOperand(ErrOperand, k, None, "it is in memory of %v, the engine's is of %v; copy it there", s.Domain, domain)
		}
	}
	return nil
}

// stageName says in an error which stage failed.
func (r *Prepared) stageName(i int) string {
	s := &r.stages[i]
	if s.right != None {
		return fmt.Sprintf("step %d", s.node-len(r.plan.tree.operands))
	}
	return fmt.Sprintf("operand %d", s.node)
}

// bind turns stage i into a step.
func (r *Prepared) bind(i int) error {
	s := &r.stages[i]
	op, outOrder, inOrders := s.operation()
	from := []int{s.left, s.right}[:len(inOrders)]
	st := step{in: make([]*engine.Tensor, len(from)), out: make([]*engine.Tensor, 1)}
	ins := make([]engine.Spec, len(from))
	for arg, node := range from {
		ins[arg] = r.view(node, inOrders[arg], s.node != node)
		if r.inArena(node) && s.node != node {
			var err error
			if st.in[arg], err = r.place(node, ins[arg]); err != nil {
				return err
			}
			continue
		}
		r.reads = append(r.reads, read{step: len(r.steps), arg: arg, operand: node, spec: ins[arg], moves: r.moves(i, node)})
	}
	out := r.view(s.node, outOrder, true)
	if s.node != len(r.plan.tree.nodes)-1 {
		var err error
		if st.out[0], err = r.place(s.node, out); err != nil {
			return err
		}
	}
	var err error
	st.kernel, err = r.engine.Bind(op, ins, []engine.Spec{out})
	r.steps = append(r.steps, st)
	return err
}

// operation is the engine's form of a stage, with the order of labels in which
// it sees its output and its inputs. A label that a multiply's input lacks is
// seen with stride 0.
func (s *stage) operation() (op engine.Op, out []int, in [][]int) {
	switch s.kind {
	case reduction:
		axes := make([]int, len(s.summed))
		for i := range axes {
			axes[i] = len(s.batch) + i
		}
		if len(axes) == 0 {
			return engine.Copy{}, s.batch, [][]int{s.batch}
		}
		return engine.ReduceSum{Axes: engine.AxesOf(axes...)}, s.batch, [][]int{join(s.batch, s.summed)}
	case multiply:
		return engine.Mul{}, s.batch, [][]int{s.batch, s.batch}
	}
	b, l, k := len(s.batch), len(s.leftFree), len(s.summed)
	return engine.DotGeneral{
		BatchL: count(0, b), BatchR: count(0, b),
		ContractL: count(b+l, k), ContractR: count(b, k),
	}, join(s.batch, s.leftFree, s.rightFree), [][]int{join(s.batch, s.leftFree, s.summed), join(s.batch, s.summed, s.rightFree)}
}

func count(from, n int) engine.Axes {
	axes := make([]int, n)
	for i := range axes {
		axes[i] = from + i
	}
	return engine.AxesOf(axes...)
}

// inArena reports whether the tensor of a node lies in the arena. Operands
// without private labels are read where they are.
func (r *Prepared) inArena(node int) bool { return r.places[node].elements > 0 }

// view is the spec of a node seen in an order of labels: as it was made by its
// stage, or, for an operand that is read in place, as the caller has it.
func (r *Prepared) view(node int, order []int, made bool) engine.Spec {
	p := r.plan
	var strides map[int]int
	if made && (r.inArena(node) || node == len(p.tree.nodes)-1) {
		strides = p.strides(node)
	} else {
		strides = make(map[int]int, len(order))
		axes := r.specs[node].AppendStrides(nil)
		for axis, l := range p.tree.operands[node] {
			strides[l] += axes[axis] // a repeated label walks the diagonal
		}
	}
	list := make([]int, len(order))
	for i, l := range order {
		list[i] = strides[l]
	}
	return engine.Spec{
		DType: r.dtype, Domain: r.engine.Target().Domain,
		Shape: engine.ShapeOf(p.tree.shape(order, p.sizes)...), Strides: engine.StridesOf(list...),
	}.Canonical()
}

// place is the tensor of a node in the arena.
func (r *Prepared) place(node int, spec engine.Spec) (*engine.Tensor, error) {
	return engine.NewTensor(spec, r.arena.Offset()+r.places[node].offset, r.arena.Buffer())
}

// Load gives the operands that the following runs read, of the specs that the
// plan was prepared for. They stay the caller's, who must not change or
// release them before the last run: one that was released is
// [engine.ErrReleased].
func (r *Prepared) Load(operands ...*engine.Tensor) error {
	if !r.inUse.TryLock() {
		return errInUse
	}
	defer r.inUse.Unlock()
	return r.load(operands)
}

var errInUse = fmt.Errorf("einsum: a method of the prepared plan goes on: %w", engine.ErrBusy)

func (r *Prepared) load(operands []*engine.Tensor) error {
	if r.plan == nil || r.closed {
		return r.unusable()
	}
	if len(operands) != len(r.specs) {
		return wrong(ErrOperand, "%d operands given, the plan has %d", len(operands), len(r.specs))
	}
	for k, t := range operands {
		if t == nil {
			return wrongOperand(ErrOperand, k, None, "there is no tensor; give one of %v", r.specs[k])
		}
		if t.Spec() != r.specs[k] {
			return wrongOperand(ErrOperand, k, None, "it is %v, the plan was prepared for %v", t.Spec(), r.specs[k])
		}
	}
	if err := live(operands); err != nil {
		return err
	}
	r.loaded, r.sources = append(r.loaded[:0], operands...), append(r.sources[:0], operands...)
	r.shared, r.scaled, r.result = false, false, nil
	return r.point(None)
}

// live says which operand was released.
func live(operands []*engine.Tensor) error {
	for k, t := range operands {
		if err := t.Live(); err != nil {
			return fmt.Errorf("einsum: operand %d: %w", k, err)
		}
	}
	return nil
}

// moves says how the argument that stage i reads of operand k depends on the
// slice.
func (r *Prepared) moves(i, k int) (list []move) {
	if i < r.plan.fixed {
		return nil
	}
	strides := r.specs[k].AppendStrides(nil)
	for _, c := range r.plan.cuts {
		m := move{label: c.label}
		for axis, l := range r.plan.tree.operands[k] {
			if l == c.label {
				m.stride += strides[axis]
			}
		}
		if m.stride != 0 {
			list = append(list, m)
		}
	}
	return list
}

// point makes the arguments that lie in operands: those of slice i, or, for
// None, all as slice 0 has them.
func (r *Prepared) point(i int) error {
	clear(r.start)
	if i != None {
		r.plan.origin(r.start, i)
	}
	for at := range r.reads {
		rd := &r.reads[at]
		if i != None && len(rd.moves) == 0 {
			continue
		}
		t := r.sources[rd.operand]
		offset := t.Offset()
		for _, m := range rd.moves {
			offset += r.start[m.label] * m.stride
		}
		if err := retarget(&r.steps[rd.step].in[rd.arg], rd.spec, offset, t.Buffer()); err != nil {
			return err
		}
	}
	return nil
}

// retarget makes t show a place of a buffer.
func retarget(t **engine.Tensor, spec engine.Spec, offset int, buf *engine.Buffer) (err error) {
	if *t != nil {
		return (*t).Retarget(offset, buf)
	}
	*t, err = engine.NewTensor(spec, offset, buf)
	return err
}

// Run contracts slice i of the loaded operands into out, a compact tensor of
// the plan's SliceShape in the engine's memory domain. What out holds is not
// read. An output that shares elements with an operand is refused before
// anything is written, with [ErrOperand] and the operand's number, whichever step
// reads it: later runs and slices read it again. It allocates nothing from the second run
// on. The first run after [Prepared.Load] also does the work that all
// slices share. Errors are an *[Error], or those of the engine.
func (r *Prepared) Run(out *engine.Tensor, i int) error {
	if !r.inUse.TryLock() {
		return errInUse
	}
	defer r.inUse.Unlock()
	if err := r.ready(i); err != nil {
		return err
	}
	if r.scaled {
		if err := r.load(r.loaded); err != nil {
			return err
		}
	}
	if err := r.aim(out, i); err != nil {
		return err
	}
	pass, err := r.engine.Begin()
	if err != nil {
		return err
	}
	defer pass.End()
	if r.zero != nil {
		r.zeroOut[0] = out
		if err := pass.Run(r.zero, r.zeroOut[:], nil); err != nil {
			return fmt.Errorf("einsum: output: %w", err)
		}
	}
	first := 0
	if r.shared {
		first = r.plan.fixed
	}
	if p, ok := pass.(engine.BranchPass); ok && r.branches != nil {
		if err := p.RunBranches(r.branches); err != nil {
			return r.branchFailed(err)
		}
		first = r.trunk
	}
	for i := first; i < len(r.steps); i++ {
		st := &r.steps[i]
		if err := pass.Run(st.kernel, st.out, st.in); err != nil {
			return fmt.Errorf("einsum: %v: %w", r.stageName(i), err)
		}
	}
	r.shared = true
	return nil
}

// branchFailed names the step whose call failed.
func (r *Prepared) branchFailed(err error) error {
	if e := (*engine.BranchError)(nil); errors.As(err, &e) {
		i := e.Call
		for _, calls := range r.branches[:e.Branch] {
			i += len(calls)
		}
		return fmt.Errorf("einsum: %v: %w", r.stageName(i), e.Err)
	}
	return fmt.Errorf("einsum: %w", err)
}

// ready says whether slice i can be run. A released operand is told here: its
// memory may be another tensor's by now.
func (r *Prepared) ready(i int) error {
	switch {
	case r.plan == nil || r.closed:
		return r.unusable()
	case r.loaded == nil:
		return wrong(ErrOperand, "no operands are loaded; call Load first")
	case i < 0 || i >= r.plan.Slices():
		return wrong(ErrSlice, "slice %d is out of range; the plan has %d", i, r.plan.Slices())
	}
	return live(r.loaded)
}

func (r *Prepared) unusable() error {
	if r.closed {
		return wrong(ErrOperand, "the prepared plan was closed; prepare it again")
	}
	return wrong(ErrOperand, "the prepared plan is the zero value; make it with Plan.Prepare")
}

// aim makes the steps read slice i and the last one write to out.
func (r *Prepared) aim(out *engine.Tensor, i int) error {
	if err := r.pointOut(out); err != nil || len(r.plan.cuts) == 0 {
		return err
	}
	return r.point(i)
}

// pointOut makes the last step write to out.
func (r *Prepared) pointOut(out *engine.Tensor) error {
	last := &r.steps[len(r.steps)-1]
	if out != nil && out == r.result && out.Live() == nil {
		return nil
	}
	switch {
	case out == nil:
		return wrong(ErrOperand, "there is no output; give a tensor of %v", r.out)
	case out.Spec() != r.out:
		return wrong(ErrOperand, "the output is %v, the plan makes %v", out.Spec(), r.out)
	}
	if err := out.Live(); err != nil {
		return err
	}
	for k, t := range r.loaded {
		if out.Overlaps(t) {
			return wrongOperand(ErrOperand, k, None, "the output shares elements with it; give an output of its own")
		}
	}
	if err := retarget(&last.out[0], last.kernel.Out(0), out.Offset(), out.Buffer()); err != nil {
		return err
	}
	r.result = out
	return nil
}

// Close gives the intermediates back to the engine. A second call does
// nothing. While a run goes on it is refused, and can be called again.
func (r *Prepared) Close() error {
	if !r.inUse.TryLock() {
		return errInUse
	}
	defer r.inUse.Unlock()
	if r.plan == nil || r.closed {
		return nil
	}
	r.closed = true
	return errors.Join(r.endScaling(), r.engine.Release(r.arena))
}
