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
	if b.fits(out, in) {
		return nil
	}
	return b.misfit(out, in)
}

// fits is Check without the reasons, which small operations have no time for.
func (b *Binding) fits(out, in []*Tensor) bool {
	ins, outs := b.in, b.out
	if len(in) != len(ins) || len(out) != len(outs) {
		return false
	}
	for i, t := range in {
		if t == nil || !t.usable(&ins[i]) {
			return false
		}
	}
	for o, t := range out {
		if t == nil || !t.usable(&outs[o]) {
			return false
		}
		for i, u := range in {
			if t.end > u.begin && u.end > t.begin && b.clash(o, i, t, u) {
				return false
			}
		}
		for _, u := range out[:o] {
			if t.end > u.begin && u.end > t.begin && t.Overlaps(u) {
				return false
			}
		}
	}
	return true
}

// clash says whether output o, t, shares elements with input i, u, in a way that is
// not allowed.
func (b *Binding) clash(o, i int, t, u *Tensor) bool {
	return !(i < 64 && b.alias[o]&(1<<i) != 0 && same(t, u)) && t.Overlaps(u)
}

// misfit is the error about the first of the arguments that do not fit.
func (b *Binding) misfit(out, in []*Tensor) error {
	if len(in) != len(b.in) || len(out) != len(b.out) {
		return &ArgError{Op: b.op.Name(), Operand: NoOperand, Reason: fmt.Sprintf(
			"%d inputs and %d outputs given, the kernel takes %d and %d", len(in), len(out), len(b.in), len(b.out))}
	}
	for i, t := range in {
		if t == nil || !t.usable(&b.in[i]) {
			return b.argError(Input(i), t, b.in[i])
		}
	}
	for o, t := range out {
		if t == nil || !t.usable(&b.out[o]) {
			return b.argError(Output(o), t, b.out[o])
		}
		for i, u := range in {
			if b.clash(o, i, t, u) {
				return &AliasError{Op: b.op.Name(), Output: Output(o), Other: Input(i)}
			}
		}
		for p, u := range out[:o] {
			if t.Overlaps(u) {
				return &AliasError{Op: b.op.Name(), Output: Output(o), Other: Output(p)}
			}
		}
	}
	// Released between the two looks: not again.
	return &ArgError{Op: b.op.Name(), Operand: NoOperand, Reason: "the arguments changed during the call"}
}

func (b *Binding) argError(o Operand, t *Tensor, want Spec) error {
	e := &ArgError{Op: b.op.Name(), Operand: o}
	switch {
	case t == nil:
		e.Reason = "no tensor given"
	case t.ended.Load() != 0:
		e.Reason, e.Err = ErrReleased.Error(), ErrReleased
	default:
		e.Reason = fmt.Sprintf("the kernel was bound for %v, the tensor is %v: bind again", want, t.spec)
	}
	return e
}
