package einsum

import (
	"errors"
	"fmt"
	"math"

	"github.com/hataori/hataori-go/engine"
)

// scaling is what RunScaled needs besides a run's: the exponents of tensors, and
// kernels that measure and rescale them.
type scaling struct {
	reach    int // tensors of a magnitude within 2^±reach are left as they are
	most     int // 2^±most are numbers of the type
	norm     *engine.Tensor
	factor   *engine.Tensor
	hostNorm *engine.Tensor
	hostBy   *engine.Tensor
	read     func() float64
	write    func(float64)
	in       [2]*engine.Tensor
	out      [1]*engine.Tensor

	steps    []rescale
	operands []rescale
	copies   []*engine.Tensor // what was allocated for operands out of reach
	raised   []int            // exponent of each operand as it is read
	exponent []int            // of each node as it lies in the arena
}

// rescale measures a tensor of one spec and multiplies it by a factor.
type rescale struct {
	norm, times engine.Kernel
	by          *engine.Tensor // the factor, as a tensor of the shape
}

// RunScaled is [Prepared.Run] for contractions whose values leave the range of
// the element type, such as long chains: the value of the slice is
//
//	out · 2^exponent
//
// with the largest modulus in out in [½, 1), or 0 and an exponent of 0 where all
// is zero. Every tensor on the way whose largest modulus has left 2^±200 (2^±24 for
// float32 and complex64) is multiplied by a power of two, so nothing is rounded
// that Run would not round, and a contraction that stays within that reach has the
// bits of Run. What is smaller than the largest modulus of its tensor by more than
// the type's range, is lost. Operands out of reach are copied by the first run
// after Load. NaN and infinities propagate; the exponent has no meaning then.
//
// The first call binds further kernels. From the second run on it allocates
// nothing. It reads each intermediate once more than Run does.
func (r *Prepared) RunScaled(out *engine.Tensor, i int) (exponent int, err error) {
	if !r.inUse.TryLock() {
		return 0, errInUse
	}
	defer r.inUse.Unlock()
	if err := r.ready(i); err != nil {
		return 0, err
	}
	if r.scaling == nil {
		if err := r.newScaling(); err != nil {
			return 0, fmt.Errorf("einsum: exponents: %w", err)
		}
	}
	if !r.scaled {
		if err := r.raise(); err != nil {
			return 0, fmt.Errorf("einsum: exponents: %w", err)
		}
		r.scaled, r.shared = true, false
		if err := r.point(None); err != nil {
			return 0, err
		}
	}
	if err := r.aim(out, i); err != nil {
		return 0, err
	}
	if r.zero != nil {
		r.zeroOut[0] = out
		if err := r.engine.Run(r.zero, r.zeroOut[:], nil); err != nil {
			return 0, fmt.Errorf("einsum: output: %w", err)
		}
	}
	first := 0
	if r.shared {
		first = r.plan.fixed
	}
	for at := first; at < len(r.steps); at++ {
		if err := r.runScaled(at); err != nil {
			return 0, fmt.Errorf("einsum: %v: %w", r.stageName(at), err)
		}
	}
	r.shared = true
	return r.scaling.exponent[len(r.plan.tree.nodes)-1], nil
}

// runScaled runs a step, rescales what it made and notes the exponent.
func (r *Prepared) runScaled(at int) error {
	st, sc := &r.steps[at], r.scaling
	if err := r.engine.Run(st.kernel, st.out, st.in); err != nil {
		return err
	}
	stage := &r.stages[at]
	total := 0
	for _, from := range [2]int{stage.left, stage.right} {
		switch {
		case from == None:
		case from == stage.node || !r.inArena(from):
			total += sc.raised[from]
		default:
			total += sc.exponent[from]
		}
	}
	reach := sc.reach
	if at == len(r.steps)-1 {
		reach = 0
	}
	norm, err := r.norm(&sc.steps[at], st.out[0])
	if err != nil {
		return err
	}
	own := excess(norm, reach)
	if norm == 0 {
		total = 0
	}
	sc.exponent[stage.node] = total + own
	if own == 0 {
		return nil
	}
	return r.multiply(&sc.steps[at], st.out[0], st.out[0], -own)
}

// norm is the largest modulus of a tensor.
func (r *Prepared) norm(k *rescale, t *engine.Tensor) (float64, error) {
	sc := r.scaling
	sc.out[0], sc.in[0] = sc.norm, t
	if err := r.engine.Run(k.norm, sc.out[:], sc.in[:1]); err != nil {
		return 0, err
	}
	if err := r.engine.CopyOut(sc.hostNorm, sc.norm); err != nil {
		return 0, err
	}
	return sc.read(), nil
}

// excess is the exponent by which a tensor of the given largest modulus is out of
// reach, or 0.
func excess(norm float64, reach int) int {
	if norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return 0
	}
	if _, exponent := math.Frexp(norm); exponent < -reach || exponent > reach {
		return exponent
	}
	return 0
}

// multiply writes to = from · 2^exponent. to may be from.
func (r *Prepared) multiply(k *rescale, to, from *engine.Tensor, exponent int) error {
	sc := r.scaling
	for exponent != 0 {
		part := min(max(exponent, -sc.most), sc.most)
		sc.write(math.Ldexp(1, part))
		if err := r.engine.CopyIn(sc.factor, sc.hostBy); err != nil {
			return err
		}
		sc.out[0], sc.in[0], sc.in[1] = to, from, k.by
		if err := r.engine.Run(k.times, sc.out[:], sc.in[:]); err != nil {
			return err
		}
		from, exponent = to, exponent-part
	}
	return nil
}

// raise looks at the loaded operands and copies those that are out of reach.
func (r *Prepared) raise() error {
	sc := r.scaling
	for len(sc.copies) > 0 {
		last := len(sc.copies) - 1
		if err := r.engine.Release(sc.copies[last]); err != nil {
			return err
		}
		sc.copies = sc.copies[:last]
	}
	for k := range r.loaded {
		if err := r.raiseOperand(k); err != nil {
			copy(r.sources, r.loaded) // nobody reads copies whose exponents are not known
			return err
		}
	}
	return nil
}

// raiseOperand notes the exponent of operand k as it will be read.
func (r *Prepared) raiseOperand(k int) error {
	sc, from := r.scaling, r.loaded[k]
	r.sources[k], sc.raised[k] = from, 0
	v, err := r.norm(&sc.operands[k], from)
	if err != nil {
		return err
	}
	if math.IsInf(v, 0) && r.dtype.IsComplex() { // of numbers, perhaps, whose modulus is none
		const room = 2
		if r.sources[k], err = r.copyOf(k); err != nil {
			return err
		}
		if err := r.multiplyOperand(k, r.sources[k], from, -room); err != nil {
			return err
		}
		if v, err = r.norm(&sc.operands[k], r.sources[k]); err != nil {
			return err
		}
		if math.IsInf(v, 0) { // they are infinite: as Run has them
			r.sources[k] = from
			return nil
		}
		from, sc.raised[k] = r.sources[k], room
	}
	exponent := excess(v, sc.reach)
	if exponent == 0 {
		return nil
	}
	if from == r.loaded[k] {
		if r.sources[k], err = r.copyOf(k); err != nil {
			return err
		}
	}
	sc.raised[k] += exponent
	return r.multiplyOperand(k, r.sources[k], from, -exponent)
}

// copyOf allocates a tensor of operand k's spec, whose layout the steps are bound
// to.
func (r *Prepared) copyOf(k int) (*engine.Tensor, error) {
	spec := r.specs[k]
	low, high := 0, 0
	for axis, stride := range spec.AppendStrides(nil) {
		d := stride * (spec.Shape.At(axis) - 1)
		low, high = low+min(d, 0), high+max(d, 0)
	}
	t, err := r.engine.Alloc(engine.Spec{DType: spec.DType, Domain: spec.Domain, Shape: engine.ShapeOf(high - low + 1)})
	if err != nil {
		return nil, err
	}
	r.scaling.copies = append(r.scaling.copies, t)
	return engine.NewTensor(spec, t.Offset()-low, t.Buffer())
}

// multiplyOperand is multiply for tensors of operand k's spec. Axes along which that
// is repeated it walks once.
func (r *Prepared) multiplyOperand(k int, to, from *engine.Tensor, exponent int) error {
	spec, by := r.specs[k], &r.scaling.operands[k]
	extents := spec.Shape.Ints()
	for axis, stride := range spec.AppendStrides(nil) {
		if stride == 0 {
			extents[axis] = 1
		}
	}
	spec.Shape = engine.ShapeOf(extents...)
	spec = spec.Canonical()
	if err := r.bindTimes(by, spec); errors.As(err, new(*engine.AliasError)) {
		return wrongOperand(ErrOperand, k, None, "it has to be scaled, and axes of %v share elements: copy it to a tensor of its own", r.specs[k])
	} else if err != nil {
		return err
	}
	var once [2]*engine.Tensor
	for i, t := range [2]*engine.Tensor{to, from} {
		var err error
		if once[i], err = engine.NewTensor(spec, t.Offset(), t.Buffer()); err != nil {
			return err
		}
	}
	return r.multiply(by, once[0], once[1], exponent)
}

func (r *Prepared) newScaling() error {
	nodes, operands := len(r.plan.tree.nodes), len(r.specs)
	sc := &scaling{
		reach: 200, most: 1000, steps: make([]rescale, len(r.steps)), operands: make([]rescale, operands),
		raised: make([]int, operands), exponent: make([]int, nodes),
	}
	real := engine.Float64
	var err error
	switch r.dtype {
	case engine.Float64:
		sc.scalars(make([]float64, 1), make([]float64, 1))
	case engine.Complex128:
		sc.scalars(make([]float64, 1), make([]complex128, 1))
	case engine.Float32:
		real, sc.reach, sc.most = engine.Float32, 24, 120
		sc.scalars(make([]float32, 1), make([]float32, 1))
	case engine.Complex64:
		real, sc.reach, sc.most = engine.Float32, 24, 120
		sc.scalars(make([]float32, 1), make([]complex64, 1))
	default:
		return wrong(ErrOperand, "%v has no exponent; floating types have", r.dtype)
	}
	scalar := engine.Spec{DType: real, Domain: r.engine.Target().Domain}
	r.scaling = sc
	if sc.norm, err = r.engine.Alloc(scalar); err == nil {
		scalar.DType = r.dtype
		sc.factor, err = r.engine.Alloc(scalar)
	}
	for k := 0; k < operands && err == nil; k++ {
		err = r.bindNorm(&sc.operands[k], r.specs[k])
	}
	for at := 0; at < len(r.steps) && err == nil; at++ {
		out := r.steps[at].kernel.Out(0)
		if err = r.bindNorm(&sc.steps[at], out); err == nil {
			err = r.bindTimes(&sc.steps[at], out)
		}
	}
	if err != nil {
		err = errors.Join(err, r.endScaling())
		r.scaling = nil
	}
	return err
}

// scalars makes the host's ends of the two scalars.
func (sc *scaling) scalars(norm, by any) {
	sc.hostNorm, sc.read = scalarOf(norm)
	sc.hostBy, _ = scalarOf(by)
	switch x := by.(type) {
	case []float32:
		sc.write = func(f float64) { x[0] = float32(f) }
	case []float64:
		sc.write = func(f float64) { x[0] = f }
	case []complex64:
		sc.write = func(f float64) { x[0] = complex(float32(f), 0) }
	case []complex128:
		sc.write = func(f float64) { x[0] = complex(f, 0) }
	}
}

func scalarOf(x any) (t *engine.Tensor, read func() float64) {
	switch x := x.(type) {
	case []float32:
		t, _ = engine.FromSlice(x) // one element fits rank 0
		read = func() float64 { return float64(x[0]) }
	case []float64:
		t, _ = engine.FromSlice(x)
		read = func() float64 { return x[0] }
	case []complex64:
		t, _ = engine.FromSlice(x)
	case []complex128:
		t, _ = engine.FromSlice(x)
	}
	return t, read
}

func (r *Prepared) bindNorm(k *rescale, spec engine.Spec) (err error) {
	axes := make([]int, spec.Rank())
	for i := range axes {
		axes[i] = i
	}
	k.norm, err = r.engine.Bind(engine.Reduce{F: engine.NormInf, Axes: engine.AxesOf(axes...)}, []engine.Spec{spec}, nil)
	return err
}

func (r *Prepared) bindTimes(k *rescale, spec engine.Spec) (err error) {
	if k.times != nil {
		return nil
	}
	by := spec
	by.Strides = engine.StridesOf(make([]int, spec.Rank())...)
	if k.by, err = engine.NewTensor(by, r.scaling.factor.Offset(), r.scaling.factor.Buffer()); err != nil {
		return err
	}
	k.times, err = r.engine.Bind(engine.Mul{}, []engine.Spec{spec, k.by.Spec()}, []engine.Spec{spec})
	return err
}

// endScaling gives back what scaling allocated.
func (r *Prepared) endScaling() (err error) {
	if r.scaling == nil {
		return nil
	}
	for _, t := range append([]*engine.Tensor{r.scaling.norm, r.scaling.factor}, r.scaling.copies...) {
		if t != nil {
			err = errors.Join(err, r.engine.Release(t))
		}
	}
	r.scaling.copies = nil
	return err
}

// AddSliceScaled is [AddSlice] for slices of [Prepared.RunScaled]: it adds
// part · 2^partExponent to whole · 2^exponent and returns the new exponent of whole,
// which it scales where the exponents differ. Into zeros, in the order of i, it
// gives the output; its largest modulus is not brought into [½, 1) again.
func AddSliceScaled[T float32 | float64 | complex64 | complex128](p *Plan, whole []T, exponent, i int, part []T, partExponent int) (int, error) {
	var zero T
	nothing := func(x []T) bool {
		for _, v := range x {
			if v != zero {
				return false
			}
		}
		return true
	}
	if err := p.checkSlice(len(whole), i, len(part)); err != nil {
		return exponent, err
	}
	switch {
	case nothing(part):
	case nothing(whole):
		exponent = partExponent
	case partExponent < exponent:
		part = append([]T(nil), part...)
		lower(part, partExponent-exponent)
	case partExponent > exponent:
		lower(whole, exponent-partExponent)
		exponent = partExponent
	}
	return exponent, AddSlice(p, whole, i, part)
}

// lower multiplies x by 2^exponent, exponent negative.
func lower[T float32 | float64 | complex64 | complex128](x []T, exponent int) {
	for exponent < 0 {
		part := max(exponent, -120) // a number of every type
		f := math.Ldexp(1, part)
		switch x := any(x).(type) {
		case []float32:
			times(x, float32(f))
		case []float64:
			times(x, f)
		case []complex64:
			times(x, complex(float32(f), 0))
		case []complex128:
			times(x, complex(f, 0))
		}
		if exponent -= part; exponent < -3000 {
			exponent = -3000 // nothing is left of any number
		}
	}
}

func times[T float32 | float64 | complex64 | complex128](x []T, f T) {
	for i := range x {
		x[i] *= f
	}
}
