package ref

import (
	"errors"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

const extensionEntries = 128

// Engine is the reference engine. Make it with New. It runs on the calling
// goroutine.
type Engine struct {
	admitted atomic.Bool
	broken   atomic.Pointer[engine.BrokenError]
	closed   atomic.Bool
	frame    engine.Frame

	mu         sync.Mutex
	extensions map[string]*engine.ExtensionCache
}

var _ engine.Execution = (*Engine)(nil)

// New returns a reference engine.
func New() *Engine { return &Engine{extensions: make(map[string]*engine.ExtensionCache)} }

// kernel is a bound operation and how to compute it.
type kernel struct {
	engine.Binding
	host engine.HostKernel // of a HostOp, else nil
}

// Workspace implements engine.Kernel.
func (k *kernel) Workspace() int {
	if k.host != nil {
		return k.host.Work().Scratch
	}
	return 0
}

// Target implements engine.Execution.
func (e *Engine) Target() engine.Target {
	return engine.Target{Kind: "ref", Width: 1, Provider: "ref", Detail: "loops"}
}

// Supports implements engine.Engine.
func (e *Engine) Supports(op engine.Op, in []engine.Spec) error {
	_, err := e.Bind(op, in, nil)
	return err
}

// Bind implements engine.Engine.
func (e *Engine) Bind(op engine.Op, in, out []engine.Spec) (engine.Kernel, error) {
	b, err := engine.NewBinding(op, in, out, e.Target())
	if err != nil {
		return nil, err
	}
	k := &kernel{Binding: b}
	if h, ok := op.(engine.HostOp); ok {
		ins, outs := make([]engine.Spec, k.NumIn()), make([]engine.Spec, k.NumOut())
		for i := range ins {
			ins[i] = k.In(i)
		}
		for i := range outs {
			outs[i] = k.Out(i)
		}
		k.host, err = h.HostKernel(ins, outs)
		return k, err
	}
	switch op.(type) {
	case engine.Copy, engine.Permute, engine.Reshape, engine.Diagonal, engine.Add, engine.Mul,
		engine.Scale, engine.Conj, engine.ReduceSum, engine.DotGeneral,
		engine.ApplyMatrix, engine.GroupedDot,
		engine.Unary, engine.Binary, engine.Ternary, engine.Cast, engine.Convert,
		engine.Reduce, engine.CumSum, engine.CumProd,
		engine.Gather, engine.TakeAlong, engine.Scatter, engine.Sort, engine.ArgSort, engine.TopK, engine.Mover, engine.Tril, engine.Triu,
		engine.Fill, engine.Iota, engine.Random:
		return k, nil
	}
	return nil, &engine.UnsupportedError{Op: op.Name(), Provider: "ref"}
}

// Run implements engine.Engine.
func (e *Engine) Run(k engine.Kernel, out, in []*engine.Tensor) error {
	p, err := e.begin(engine.KernelName(k))
	if err != nil {
		return err
	}
	defer p.End()
	return p.Run(k, out, in)
}

// Frame implements engine.Engine.
func (e *Engine) Frame() *engine.Frame { return &e.frame }

// Err implements engine.Execution.
func (e *Engine) Err() error {
	if b := e.broken.Load(); b != nil {
		return b
	}
	if e.closed.Load() {
		return refused("", engine.ErrClosed)
	}
	return nil
}

// err is Err for a call, which the error then names.
func (e *Engine) err(op string) error {
	err := e.Err()
	if errors.Is(err, engine.ErrClosed) {
		return refused(op, engine.ErrClosed)
	}
	return err
}

func refused(op string, why error) error {
	return &engine.CallError{Op: op, On: "reference engine", Err: why}
}

// Begin implements engine.Execution.
func (e *Engine) Begin() (engine.Pass, error) { return e.begin("Begin") }

func (e *Engine) begin(op string) (engine.Pass, error) {
	if err := e.err(op); err != nil {
		return nil, err
	}
	if !e.admitted.CompareAndSwap(false, true) {
		return nil, refused(op, engine.ErrBusy)
	}
	return &pass{e: e}, nil
}

type pass struct{ e *Engine }

// End implements engine.Pass.
func (p *pass) End() {
	if p.e != nil {
		p.e.admitted.Store(false)
		p.e = nil
	}
}

// Run implements engine.Pass.
func (p *pass) Run(k engine.Kernel, out, in []*engine.Tensor) error {
	if p.e == nil {
		return refused(engine.KernelName(k), engine.ErrPassEnded)
	}
	if err := p.e.err(engine.KernelName(k)); err != nil {
		return err
	}
	rk, ok := k.(*kernel)
	if !ok {
		return refused(engine.KernelName(k), engine.ErrForeignKernel)
	}
	if err := rk.Check(out, in); err != nil {
		return err
	}
	return p.e.execute(rk, out, in)
}

func (e *Engine) execute(k *kernel, out, in []*engine.Tensor) (err error) {
	defer func() {
		if v := recover(); v != nil {
			b := &engine.BrokenError{Op: k.Op().Name(), Value: v, Stack: debug.Stack()}
			e.broken.Store(b)
			err = b
		}
	}()
	if k.host != nil {
		l := lease{scratch: engine.AlignedBytes(k.host.Work().Scratch)}
		return k.host.RunHost(l, out, in)
	}
	return compute(k.Op(), out, in)
}

// lease lends width 1 on the calling goroutine.
type lease struct{ scratch []byte }

func (l lease) Width() int { return 1 }
func (l lease) For(n int, body func(worker, lo, hi int)) {
	if n > 0 {
		body(0, 0, n)
	}
}
func (l lease) Scratch() []byte              { return l.scratch }
func (l lease) Products(int) engine.Products { return Products{} }

// Alloc implements engine.Execution. The elements are all bits one: NaN.
func (e *Engine) Alloc(spec engine.Spec) (*engine.Tensor, error) {
	if err := e.err("Alloc"); err != nil {
		return nil, err
	}
	if err := spec.Validate("Alloc", engine.NoOperand); err != nil {
		return nil, err
	}
	if spec.Domain != (engine.Domain{}) {
		return nil, &engine.DomainError{Op: "Alloc", Operand: engine.NoOperand, Got: spec.Domain}
	}
	if !spec.IsCompact() {
		return nil, &engine.ShapeError{Op: "Alloc", Operand: engine.NoOperand, Axis: engine.NoAxis, Reason: "a spec with strides: allocate compact and view it"}
	}
	b := engine.AlignedBytes(spec.Bytes())
	if spec.DType != engine.Bool {
		for i := range b {
			b[i] = 0xff
		}
	}
	return engine.NewTensor(spec, 0, engine.NewHostBuffer(unsafe.Pointer(unsafe.SliceData(b)), len(b), e))
}

// Release implements engine.Execution. The memory is left to the garbage
// collector.
func (e *Engine) Release(t *engine.Tensor) error {
	_, err := engine.TakeBack(t, e)
	return err
}

// CopyIn implements engine.Execution.
func (e *Engine) CopyIn(dst, src *engine.Tensor) error { return engine.CopyInto(e, dst, src) }

// CopyOut implements engine.Execution.
func (e *Engine) CopyOut(dst, src *engine.Tensor) error { return engine.CopyInto(e, dst, src) }

// Extension implements engine.Execution.
func (e *Engine) Extension(family string) *engine.ExtensionCache {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.extensions[family]
	if c == nil {
		c = engine.NewExtensionCache(extensionEntries)
		e.extensions[family] = c
	}
	return c
}

// WarmUp implements engine.Execution: nothing is deferred.
func (e *Engine) WarmUp() error { return e.err("WarmUp") }

// Synchronize implements engine.Execution: nothing is queued.
func (e *Engine) Synchronize() error { return nil }

// Close implements engine.Execution.
func (e *Engine) Close() error {
	if e.closed.Load() {
		return nil
	}
	if !e.admitted.CompareAndSwap(false, true) {
		return refused("Close", engine.ErrBusy)
	}
	e.closed.Store(true)
	e.admitted.Store(false)
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.extensions {
		c.Clear()
	}
	return nil
}
