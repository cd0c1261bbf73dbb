package cpu

import (
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"unique"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// Options configure an engine. The zero value is the default; the struct is
// copied.
type Options struct {
	// Provider supplies matrix products. nil means engine/native's, which
	// also computes the products too small to be worth another's call.
	Provider engine.Provider

	// Native limits the instruction set of the engine's own kernels; zero is
	// the best that the processor has.
	Native native.Options

	// Plans is the plan cache, which engines may share. nil means one of the
	// engine's own, with engine.DefaultPlans entries.
	Plans *engine.PlanCache

	// FixedTiles cuts products into panels by shape alone, so that bits do
	// not depend on the width whatever the provider. It costs some speed
	// with providers that are not split-invariant.
	FixedTiles bool

	// KeepBytes is how many bytes of released tensors are kept for later
	// ones. 0 means 512 MiB, negative none.
	KeepBytes int64

	// MaxBytes limits the bytes of the engine's live tensors: Alloc returns
	// an *engine.MemoryError above it. 0 means no limit.
	MaxBytes int64
}

const (
	defaultKeep      = 512 << 20
	extensionEntries = 128
	maxPasses        = 256
)

// Engine is the CPU engine. Make it with Serial or New.
type Engine struct {
	pool     *Pool
	target   engine.Target
	id       unique.Handle[engine.Target]
	opts     Options
	provider engine.Provider
	native   *native.Provider
	binder   engine.Binder
	frame    engine.Frame
	broken   atomic.Pointer[engine.BrokenError]
	buffers  buffers
	open     atomic.Pointer[pass] // nil between passes

	mu         sync.Mutex
	extensions map[string]*engine.ExtensionCache

	// What follows belongs to whoever is admitted.
	inside   bool // a kernel runs: who leaves then has panicked
	passes   [maxPasses]pass
	begun    uint64
	workers  []products
	run      run
	branches branches
	scratch  []byte
}

var _ engine.Execution = (*Engine)(nil)

// products are one worker's: of the provider, of the engine's own kernels, and
// of integers.
type products struct {
	provider, native engine.Products
	gemm             engine.Gemm
	space            native.Workspace
	branch           run // of the branch that it runs
	_                [64]byte
}

// Serial returns an engine of width 1. It runs on the calling goroutine and
// is safe inside any pool.
func Serial(opts Options) (*Engine, error) {
	pool, err := NewPool(PoolOptions{Workers: 1})
	if err != nil {
		return nil, err
	}
	return New(pool, opts)
}

// New returns an engine over pool, which it owns from then on: Close ends the
// pool. A pool that backs an engine already is refused with ErrPoolTaken, a
// closed one with ErrPoolClosed.
func New(pool *Pool, opts Options) (*Engine, error) {
	if pool == nil {
		return nil, errors.New("cpu: New without a pool: build one with NewPool, or use Serial")
	}
	if opts.MaxBytes < 0 {
		return nil, fmt.Errorf("cpu: Options.MaxBytes is %d: give a limit in bytes, or 0 for none", opts.MaxBytes)
	}
	if pool.closed.Load() {
		return nil, ErrPoolClosed
	}
	if !pool.taken.CompareAndSwap(false, true) {
		return nil, ErrPoolTaken
	}
	e := &Engine{pool: pool, opts: opts, provider: opts.Provider, native: native.New(opts.Native),
		extensions: make(map[string]*engine.ExtensionCache), workers: make([]products, pool.width)}
	if e.provider == nil {
		e.provider = e.native
	}
	if e.opts.Plans == nil {
		e.opts.Plans = engine.NewPlanCache(0)
	}
	if e.opts.KeepBytes == 0 {
		e.opts.KeepBytes = defaultKeep
	}
	for w := range e.workers {
		e.workers[w].provider, e.workers[w].native = e.provider.Open(), e.native.Open()
	}
	e.target = engine.Target{Kind: "cpu", Width: pool.width, Provider: e.provider.Name(), Detail: e.detail()}
	e.id = unique.Make(e.target)
	e.binder = e.bind
	e.run.e, e.branches.e = e, e
	for i := range e.passes {
		e.passes[i].e = e
	}
	e.buffers.keep, e.buffers.limit = e.opts.KeepBytes, e.opts.MaxBytes
	return e, nil
}

// detail names all that kernels bound for one engine must share with another.
func (e *Engine) detail() string {
	d := e.provider.Kernel()
	if own := e.native.Kernel(); e.provider.Name() != e.native.Name() {
		d += " with native " + own
	}
	if e.opts.FixedTiles {
		d += ", fixed tiles"
	}
	return d
}

// Target implements engine.Execution.
func (e *Engine) Target() engine.Target { return e.target }

// Width is the number of workers that one operation may use.
func (e *Engine) Width() int { return e.pool.width }

// Plans is the engine's plan cache.
func (e *Engine) Plans() *engine.PlanCache { return e.opts.Plans }

// Supports implements engine.Engine.
func (e *Engine) Supports(op engine.Op, in []engine.Spec) error {
	_, err := e.Bind(op, in, nil)
	return err
}

// Bind implements engine.Engine.
func (e *Engine) Bind(op engine.Op, in, out []engine.Spec) (engine.Kernel, error) {
	return e.opts.Plans.Bind(e.id, op, in, out, e.binder)
}

// Frame implements engine.Engine.
func (e *Engine) Frame() *engine.Frame { return &e.frame }

// Err implements engine.Execution.
func (e *Engine) Err() error {
	if b := e.broken.Load(); b != nil {
		return b
	}
	if e.pool.closed.Load() {
		return e.refused("", engine.ErrClosed)
	}
	return nil
}

// err is Err for a call, which the error then names.
func (e *Engine) err(op string) error {
	if b := e.broken.Load(); b != nil {
		return b
	}
	if e.pool.closed.Load() {
		return e.refused(op, engine.ErrClosed)
	}
	return nil
}

func (e *Engine) refused(op string, why error) error {
	return &engine.CallError{Op: op, On: fmt.Sprintf("cpu engine of width %d, %s", e.pool.width, e.provider.Name()), Err: why}
}

// admit makes the caller the engine's only one.
func (e *Engine) admit(op string) error {
	free := e.pool.busy.TryLock()
	if free && e.broken.Load() == nil && !e.pool.closed.Load() {
		return nil
	}
	return e.refuse(free, op)
}

// refuse says why the caller is not let in, who may have been admitted already.
func (e *Engine) refuse(admitted bool, op string) error {
	if !admitted {
		return e.refused(op, e.pool.refusal())
	}
	e.pool.busy.Unlock()
	return e.err(op)
}

// Run implements engine.Engine.
func (e *Engine) Run(k engine.Kernel, out, in []*engine.Tensor) (err error) {
	if !e.pool.busy.TryLock() {
		return e.refuse(false, engine.KernelName(k))
	}
	if e.broken.Load() != nil || e.pool.closed.Load() {
		return e.refuse(true, engine.KernelName(k))
	}
	e.inside = true
	defer func() { // of a panic or a Goexit too
		if e.inside {
			err = e.fail(k.Op().Name(), recover())
		}
		e.pool.busy.Unlock()
	}()
	err = e.compute(k, out, in)
	e.inside = false
	return err
}

// compute checks and runs a kernel for a caller who is admitted.
func (e *Engine) compute(k engine.Kernel, out, in []*engine.Tensor) error {
	ck, ok := k.(*kernel)
	if !ok || ck.id != e.id {
		return e.refused(engine.KernelName(k), engine.ErrForeignKernel)
	}
	if err := ck.Check(out, in); err != nil {
		return err
	}
	if ck.solo != nil && len(in) == 2 {
		ck.solo.RunRow(out[0].HostPointer(), in[0].HostPointer(), in[1].HostPointer()) // what row does, a call less
		return nil
	}
	return e.run.kernel(ck, out, in)
}

// Begin implements engine.Execution.
func (e *Engine) Begin() (engine.Pass, error) {
	if err := e.admit("Begin"); err != nil {
		return nil, err
	}
	p := &e.passes[e.begun%maxPasses]
	e.begun++
	e.open.Store(p)
	return p, nil
}

// pass is an engine.Pass: one of the engine's, which take turns, so that none is
// allocated and one that has ended is told apart from the maxPasses−1 after it.
type pass struct{ e *Engine }

// Run implements engine.Pass.
func (p *pass) Run(k engine.Kernel, out, in []*engine.Tensor) error {
	if !p.open() {
		return p.err(engine.KernelName(k))
	}
	return p.e.execute(k, out, in)
}

// RunBranches implements engine.BranchPass.
func (p *pass) RunBranches(branches [][]engine.Call) error {
	if !p.open() {
		return p.err("RunBranches")
	}
	return p.e.branches.run(branches)
}

// open reports whether the pass can run, err why not.
func (p *pass) open() bool {
	return p.e.broken.Load() == nil && !p.e.pool.closed.Load() && p.e.open.Load() == p
}

func (p *pass) err(op string) error {
	if err := p.e.err(op); err != nil {
		return err
	}
	return p.e.refused(op, engine.ErrPassEnded)
}

// End implements engine.Pass.
func (p *pass) End() {
	if p.e.open.CompareAndSwap(p, nil) {
		p.e.pool.busy.Unlock()
	}
}

// execute is Run for a caller who is admitted.
func (e *Engine) execute(k engine.Kernel, out, in []*engine.Tensor) (err error) {
	e.inside = true
	defer func() {
		if e.inside {
			err = e.fail(k.Op().Name(), recover())
		}
	}()
	err = e.compute(k, out, in)
	e.inside = false
	return err
}

// fail breaks the engine after a panic v, or a Goexit if v is nil.
func (e *Engine) fail(op string, v any) error {
	b := &engine.BrokenError{Op: op, Value: v, Stack: debug.Stack()}
	if p, ok := v.(*Panic); ok {
		b.Value, b.Stack = p.Value, p.Stack
	}
	if v == nil {
		b.Value = ErrGoexit
	}
	e.broken.Store(b)
	e.inside = false
	e.run.clear()
	return b
}

// scratchFor returns n bytes of scratch, aligned to 64.
func (e *Engine) scratchFor(n int) []byte {
	if len(e.scratch) < n {
		e.scratch = engine.AlignedBytes(n)
	}
	return e.scratch[:n]
}

// Alloc implements engine.Execution. Elements are not initialised.
func (e *Engine) Alloc(spec engine.Spec) (*engine.Tensor, error) {
	if err := e.err("Alloc"); err != nil {
		return nil, err
	}
	if err := spec.Validate("Alloc", engine.NoOperand); err != nil {
		return nil, err
	}
	if spec.Domain != e.target.Domain {
		return nil, &engine.DomainError{Op: "Alloc", Operand: engine.NoOperand, Got: spec.Domain, Want: e.target.Domain}
	}
	if spec = spec.Canonical(); !spec.IsCompact() {
		return nil, &engine.ShapeError{Op: "Alloc", Operand: engine.NoOperand, Axis: engine.NoAxis,
			Reason: "a spec with strides: allocate compact and view it"}
	}
	b, err := e.buffers.get(spec.Bytes())
	if err != nil {
		return nil, err
	}
	return engine.NewTensor(spec, 0, engine.NewHostBuffer(unsafe.Pointer(unsafe.SliceData(b)), len(b), e))
}

// Release implements engine.Execution.
func (e *Engine) Release(t *engine.Tensor) error {
	b, err := engine.TakeBack(t, e)
	if b != nil {
		e.buffers.put(unsafe.Slice((*byte)(b.Host()), b.Bytes()))
	}
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

// Close implements engine.Execution. It ends and joins the pool's threads.
func (e *Engine) Close() error {
	if e.pool.closed.Load() {
		return nil
	}
	if !e.pool.busy.TryLock() {
		return e.refused("Close", e.pool.refusal())
	}
	e.pool.stop()
	e.pool.busy.Unlock()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.extensions {
		c.Clear()
	}
	e.buffers.drop()
	return nil
}
