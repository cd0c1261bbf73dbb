package engine

import (
	"fmt"
	"reflect"
)

// Binding is the part of a Kernel that is the same for every engine: the
// checked specs, and the checks of a run. Engines embed it. It is immutable.
type Binding struct {
	op      Op
	in, out []Spec
	target  Target
	alias   []uint64 // per output: bit i set when it may equal input i
}

// NewBinding validates op for inputs and outputs of the given specs, which are
// not kept. out nil means compact. Every tensor must lie in the target's
// domain, and no output may overlap itself. For engines.
func NewBinding(op Op, in, out []Spec, target Target) (Binding, error) {
	b := Binding{target: target}
	if op == nil || !reflect.TypeOf(op).Comparable() {
		return b, &UnsupportedError{Op: fmt.Sprintf("%T", op), Provider: target.Kind, Reason: "an operation is a comparable value"}
	}
	b.op, b.in = op, make([]Spec, len(in))
	for i, s := range in {
		if err := s.Validate(op.Name(), Input(i)); err != nil {
			return b, err
		}
		if s.Domain != target.Domain {
			return b, &DomainError{Op: op.Name(), Operand: Input(i), Got: s.Domain, Want: target.Domain}
		}
		b.in[i] = s.Canonical()
	}
	specs, err := op.Infer(b.in)
	if err == nil {
		specs, err = inferred(op.Name(), specs...)
	}
	if err != nil {
		return b, err
	}
	b.out = specs
	if out != nil {
		if b.out, err = checkOutputs(op.Name(), specs, out); err != nil {
			return b, err
		}
	}
	b.alias = make([]uint64, len(b.out))
	for o := range b.out {
		for i := range b.in {
			if i < 64 && op.MayAlias(o, i) {
				b.alias[o] |= 1 << i
			}
		}
	}
	return b, nil
}

func checkOutputs(op string, inferred, out []Spec) ([]Spec, error) {
	if len(out) != len(inferred) {
		return nil, shapeErr(op, NoOperand, NoAxis, "%d outputs given, the operation has %d", len(out), len(inferred))
	}
	checked := make([]Spec, len(out))
	for i, s := range out {
		w := inferred[i]
		if err := s.Validate(op, Output(i)); err != nil {
			return nil, err
		}
		switch {
		case s.DType != w.DType:
			return nil, &DTypeError{Op: op, Operand: Output(i), Got: s.DType, Want: w.DType.String()}
		case s.Domain != w.Domain:
			return nil, &DomainError{Op: op, Operand: Output(i), Got: s.Domain, Want: w.Domain}
		case s.Shape != w.Shape:
			return nil, shapeErr(op, Output(i), NoAxis, "shape %v given, the operation yields %v", s.Shape, w.Shape)
		}
		s = s.Canonical()
		if selfOverlaps(s) {
			return nil, &AliasError{Op: op, Output: Output(i), Other: Output(i)}
		}
		checked[i] = s
	}
	return checked, nil
}

// Op implements Kernel.
func (b *Binding) Op() Op { return b.op }

// NumIn implements Kernel.
func (b *Binding) NumIn() int { return len(b.in) }

// NumOut implements Kernel.
func (b *Binding) NumOut() int { return len(b.out) }

// In implements Kernel.
func (b *Binding) In(i int) Spec { return b.in[i] }

// Out implements Kernel.
func (b *Binding) Out(i int) Spec { return b.out[i] }

// Target implements Kernel.
func (b *Binding) Target() Target { return b.target }

// Check says whether the arguments are what the kernel was bound for: as many,
// live, of the bound specs, and without a forbidden overlap. It touches no
// element and allocates only to report an error. For engines.
func (b *Binding) Check(out, in []*Tensor) error {
	ins, outs := b.in, b.out
	if len(in) != len(ins) || len(out) != len(outs) {
		return b.countError(out, in)
	}
	for i, t := range in {
		if t == nil || !t.spec.equal(&ins[i]) || t.ended.Load() {
			return b.argError(Input(i), t, ins[i])
		}
	}
	for o, t := range out {
		if t == nil || !t.spec.equal(&outs[o]) || t.ended.Load() {
			return b.argError(Output(o), t, outs[o])
		}
		for i, u := range in {
			if t.end > u.begin && u.end > t.begin && !(i < 64 && b.alias[o]&(1<<i) != 0 && same(t, u)) && t.Overlaps(u) {
				return &AliasError{Op: b.op.Name(), Output: Output(o), Other: Input(i)}
			}
		}
		for p, u := range out[:o] {
			if t.Overlaps(u) {
				return &AliasError{Op: b.op.Name(), Output: Output(o), Other: Output(p)}
			}
		}
	}
	return nil
}

func (b *Binding) countError(out, in []*Tensor) error {
	return &ArgError{Op: b.op.Name(), Operand: NoOperand, Reason: fmt.Sprintf(
		"%d inputs and %d outputs given, the kernel takes %d and %d", len(in), len(out), len(b.in), len(b.out))}
}

func (b *Binding) argError(o Operand, t *Tensor, want Spec) error {
	e := &ArgError{Op: b.op.Name(), Operand: o}
	switch {
	case t == nil:
		e.Reason = "no tensor given"
	case t.ended.Load():
		e.Reason, e.Err = ErrReleased.Error(), ErrReleased
	default:
		e.Reason = fmt.Sprintf("the kernel was bound for %v, the tensor is %v: bind again", want, t.spec)
	}
	return e
}
