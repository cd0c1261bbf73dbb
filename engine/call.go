package engine

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine/internal/trylock"
)

// Frame holds the argument arrays of the convenience forms for one engine.
// The zero value is ready. An engine has one and returns it from Frame.
type Frame struct {
	busy trylock.Lock
	in   [frameIn]*Tensor
	out  [frameOut]*Tensor
	ins  [frameIn]Spec
	outs [frameOut]Spec

	// The last operations with parameters, boxed once.
	scale, dot, matmul Op
	matmulRank         int

	// The kernels of the last Into forms: finding one here costs less than to
	// hash the key of the plan cache, whose counters do not see it. They
	// replace each other in turn.
	memo [4]memo
	next int
}

// A frame holds so many inputs and outputs.
const (
	frameIn  = 4
	frameOut = 2
)

// memo is a kernel and what it was bound for.
type memo struct {
	op     Op // comparable: it has been bound
	n, m   int
	in     [frameIn]Spec
	out    [frameOut]Spec
	kernel Kernel
}

func (x *memo) is(f *Frame, op Op, n, m int) bool {
	if x.kernel == nil || x.n != n || x.m != m {
		return false
	}
	for i, t := range f.out[:m] {
		if !x.out[i].equal(&t.spec) {
			return false
		}
	}
	for i, t := range f.in[:n] {
		if !x.in[i].equal(&t.spec) {
			return false
		}
	}
	return x.op == op
}

// bind returns the kernel of op for the n inputs and m outputs set in f.
func (f *Frame) bind(e Engine, op Op, n, m int) (Kernel, error) {
	for i := range f.memo {
		if x := &f.memo[i]; x.is(f, op, n, m) {
			return x.kernel, nil
		}
	}
	for i, t := range f.in[:n] {
		f.ins[i] = t.spec
	}
	for i, t := range f.out[:m] {
		f.outs[i] = t.spec
	}
	k, err := e.Bind(op, f.ins[:n], f.outs[:m])
	if err != nil {
		return nil, err
	}
	f.memo[f.next] = memo{op, n, m, f.ins, f.outs, k}
	f.next = (f.next + 1) % len(f.memo)
	return k, nil
}

func (f *Frame) acquire() error {
	if !f.busy.TryLock() {
		return &CallError{On: "its frame: two calls at a time", Err: ErrBusy}
	}
	return nil
}

func (f *Frame) release() {
	// One by one: to clear an array of pointers is a call.
	f.in[0], f.in[1], f.out[0] = nil, nil, nil
	if f.in[2] != nil || f.out[1] != nil {
		f.in[2], f.in[3], f.out[1] = nil, nil, nil
	}
	f.busy.Unlock()
}

// into runs op on the n inputs in f.in into dst.
func (f *Frame) into(e Engine, op Op, dst *Tensor, n int) error {
	if dst == nil {
		return noTensor(op.Name(), Output(0))
	}
	if i := f.missing(n); i >= 0 {
		return noTensor(op.Name(), Input(i))
	}
	f.out[0] = dst
	k, err := f.bind(e, op, n, 1)
	if err != nil {
		return err
	}
	return e.Run(k, f.out[:1], f.in[:n])
}

// missing is the first of the n inputs that is not set, or −1.
func (f *Frame) missing(n int) int {
	for i, t := range f.in[:n] {
		if t == nil {
			return i
		}
	}
	return -1
}

func noTensor(op string, o Operand) error {
	return &ArgError{Op: op, Operand: o, Reason: "no tensor given"}
}

// fresh runs op on the n inputs in f.in into a new tensor of e's.
func (f *Frame) fresh(e Execution, op Op, n int) (*Tensor, error) {
	if i := f.missing(n); i >= 0 {
		return nil, noTensor(op.Name(), Input(i))
	}
	for i, t := range f.in[:n] {
		f.ins[i] = t.spec
	}
	k, err := e.Bind(op, f.ins[:n], nil)
	if err != nil {
		return nil, err
	}
	dst, err := e.Alloc(k.Out(0))
	if err != nil {
		return nil, err
	}
	f.out[0] = dst
	if err := e.Run(k, f.out[:1], f.in[:n]); err != nil {
		_ = e.Release(dst) // ours, without views: cannot fail
		return nil, err
	}
	return dst, nil
}

// Apply runs op, which has one output and one or two inputs (b nil for one),
// into a new compact tensor that e owns: give it back with Release.
func Apply(e Execution, op Op, a, b *Tensor) (*Tensor, error) {
	f := e.Frame()
	if err := f.acquire(); err != nil {
		return nil, err
	}
	defer f.release()
	return f.fresh(e, op, f.set(a, b))
}

// ApplyInto runs op, which has one output and one or two inputs (b nil for
// one), into dst. Warm and with an op that is already boxed, it allocates nothing.
func ApplyInto(e Engine, op Op, dst, a, b *Tensor) error {
	f := e.Frame()
	if err := f.acquire(); err != nil {
		return err
	}
	defer f.release()
	return f.into(e, op, dst, f.set(a, b))
}

// Eval runs op, of any number of inputs and outputs, into new compact tensors
// that e owns.
func Eval(e Execution, op Op, in ...*Tensor) ([]*Tensor, error) {
	specs, err := specsOf(op, in)
	if err != nil {
		return nil, err
	}
	k, err := e.Bind(op, specs, nil)
	if err != nil {
		return nil, err
	}
	out := make([]*Tensor, k.NumOut())
	for i := range out {
		if out[i], err = e.Alloc(k.Out(i)); err != nil {
			break
		}
	}
	if err == nil {
		err = e.Run(k, out, in)
	}
	if err != nil {
		for _, t := range out {
			if t != nil {
				_ = e.Release(t) // ours, without views: cannot fail
			}
		}
		return nil, err
	}
	return out, nil
}

// EvalInto runs op, of any number of inputs and outputs, into out. Warm, with an
// op that is already boxed and at most four inputs and one or two outputs, it
// allocates nothing.
func EvalInto(e Engine, op Op, out []*Tensor, in ...*Tensor) error {
	if len(in) > frameIn || len(out) > frameOut || len(out) == 0 {
		return evalMany(e, op, append([]*Tensor(nil), out...), append([]*Tensor(nil), in...))
	}
	f := e.Frame()
	if err := f.acquire(); err != nil {
		return err
	}
	defer f.release()
	copy(f.in[:], in)
	if i := f.missing(len(in)); i >= 0 {
		return noTensor(op.Name(), Input(i))
	}
	for i, t := range out {
		if t == nil {
			return noTensor(op.Name(), Output(i))
		}
		f.out[i] = t
	}
	k, err := f.bind(e, op, len(in), len(out))
	if err != nil {
		return err
	}
	return e.Run(k, f.out[:len(out)], f.in[:len(in)])
}

func evalMany(e Engine, op Op, out, in []*Tensor) error {
	specs, err := specsOf(op, in)
	if err != nil {
		return err
	}
	outs := make([]Spec, len(out))
	for i, t := range out {
		if t == nil {
			return noTensor(op.Name(), Output(i))
		}
		outs[i] = t.spec
	}
	k, err := e.Bind(op, specs, outs)
	if err != nil {
		return err
	}
	return e.Run(k, out, in)
}

func specsOf(op Op, in []*Tensor) ([]Spec, error) {
	specs := make([]Spec, len(in))
	for i, t := range in {
		if t == nil {
			return nil, noTensor(op.Name(), Input(i))
		}
		specs[i] = t.spec
	}
	return specs, nil
}

func (f *Frame) set(a, b *Tensor) int {
	f.in[0], f.in[1] = a, b
	if b == nil {
		return 1
	}
	return 2
}

// Clone returns a compact copy of a in e's memory.
func Clone(e Execution, a *Tensor) (*Tensor, error) { return Apply(e, Copy{}, a, nil) }

// Sum returns Σ a over axes, or over all axes when none are given.
func Sum(e Execution, a *Tensor, axes ...int) (*Tensor, error) {
	if a != nil && len(axes) == 0 {
		for i := range a.Rank() {
			axes = append(axes, i)
		}
	}
	return Apply(e, ReduceSum{AxesOf(axes...)}, a, nil)
}

// CopyInto writes dst = a, of equal shape, whatever the layouts.
func CopyInto(e Engine, dst, a *Tensor) error { return ApplyInto(e, Copy{}, dst, a, nil) }

// ConjInto writes dst = the complex conjugate of a.
func ConjInto(e Engine, dst, a *Tensor) error { return ApplyInto(e, Conj{}, dst, a, nil) }

// AddInto writes dst = a + b. dst may be a or b.
func AddInto(e Engine, dst, a, b *Tensor) error { return into2(e, Add{}, dst, a, b) }

// MulInto writes dst = a · b, element by element. dst may be a or b.
func MulInto(e Engine, dst, a, b *Tensor) error { return into2(e, Mul{}, dst, a, b) }

func into2(e Engine, op Op, dst, a, b *Tensor) error {
	f := e.Frame()
	if err := f.acquire(); err != nil {
		return err
	}
	defer f.release()
	f.in[0], f.in[1] = a, b
	return f.into(e, op, dst, 2)
}

// ScaleInto writes dst = by · a. dst may be a.
func ScaleInto(e Engine, dst, a *Tensor, by complex128) error {
	f := e.Frame()
	if err := f.acquire(); err != nil {
		return err
	}
	defer f.release()
	if s := (Scale{By(by)}); f.scale != s {
		f.scale = s
	}
	return f.into(e, f.scale, dst, f.set(a, nil))
}

// DotInto writes dst = the contraction d of a and b.
func DotInto(e Engine, d DotGeneral, dst, a, b *Tensor) error {
	f := e.Frame()
	if err := f.acquire(); err != nil {
		return err
	}
	defer f.release()
	f.in[0], f.in[1] = a, b
	if f.dot != d {
		f.dot = d
	}
	return f.into(e, f.dot, dst, 2)
}

// Dot returns the contraction d of a and b.
func Dot(e Execution, d DotGeneral, a, b *Tensor) (*Tensor, error) {
	f := e.Frame()
	if err := f.acquire(); err != nil {
		return nil, err
	}
	defer f.release()
	f.in[0], f.in[1] = a, b
	return f.fresh(e, d, 2)
}

// MatMulInto writes dst[…, i, j] = Σ_k a[…, i, k] · b[…, k, j]. All three have
// the same rank ≥ 2 and the same leading batch extents. dst overlaps neither.
func MatMulInto(e Engine, dst, a, b *Tensor) error {
	f := e.Frame()
	if err := f.acquire(); err != nil {
		return err
	}
	defer f.release()
	op, err := f.matMul(a, b)
	if err != nil {
		return err
	}
	return f.into(e, op, dst, 2)
}

// MatMul returns the matrix product of MatMulInto.
func MatMul(e Execution, a, b *Tensor) (*Tensor, error) {
	f := e.Frame()
	if err := f.acquire(); err != nil {
		return nil, err
	}
	defer f.release()
	op, err := f.matMul(a, b)
	if err != nil {
		return nil, err
	}
	return f.fresh(e, op, 2)
}

// matMul sets the inputs and returns the boxed contraction for their rank.
func (f *Frame) matMul(a, b *Tensor) (Op, error) {
	f.in[0], f.in[1] = a, b
	if i := f.missing(2); i >= 0 {
		return nil, noTensor("MatMul", Input(i))
	}
	r := a.Rank()
	if r < 2 || b.Rank() != r {
		return nil, shapeErr("MatMul", Input(1), NoAxis, "ranks %d and %d: both must be the same, at least 2", r, b.Rank())
	}
	if f.matmul == nil || f.matmulRank != r {
		var buf [MaxRank]int
		for i := range r - 2 {
			buf[i] = i
		}
		batch := AxesOf(buf[:r-2]...)
		f.matmul = DotGeneral{BatchL: batch, BatchR: batch, ContractL: AxesOf(r - 1), ContractR: AxesOf(r - 2)}
		f.matmulRank = r
	}
	return f.matmul, nil
}

// Upload returns a tensor of e's with the values of data, row-major.
func Upload[T Element](e Execution, data []T, extents ...int) (*Tensor, error) {
	src, err := FromSlice(data, extents...)
	if err != nil {
		return nil, err
	}
	spec := src.spec
	spec.Domain = e.Target().Domain
	dst, err := e.Alloc(spec)
	if err != nil {
		return nil, err
	}
	if err := e.CopyIn(dst, src); err != nil {
		_ = e.Release(dst) // ours, without views: cannot fail
		return nil, err
	}
	return dst, nil
}

// Download returns the elements of t, of any layout, in row-major order in a
// new slice. It waits for the work that computes them.
func Download[T Element](e Execution, t *Tensor) ([]T, error) {
	if d := DTypeOf[T](); d != t.spec.DType {
		return nil, &DTypeError{Op: "Download", Operand: Input(0), Got: t.spec.DType, Want: d.String()}
	}
	data := make([]T, t.n)
	dst, err := FromStrided(data, 0, t.spec.Shape, Strides{})
	if err != nil {
		return nil, err
	}
	return data, e.CopyOut(dst, t)
}

// AlignedBytes returns n bytes of Go memory, not necessarily zero, aligned to
// 64, for engines' buffers and scratch.
func AlignedBytes(n int) []byte {
	const align = 64
	raw := make([]byte, n+align)
	skip := (align - int(uintptr(unsafe.Pointer(unsafe.SliceData(raw)))%align)) % align
	return raw[skip : skip+n : skip+n]
}
