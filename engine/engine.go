package engine

// Engine executes operations. One run at a time: while a Run, a Pass or a
// convenience form is going on, another caller's Run gets ErrBusy at once.
// Bind and Supports may be called at any time from any goroutine.
type Engine interface {
	// Supports returns nil if Bind would succeed for these inputs and a
	// compact output, else why not (*UnsupportedError, or the error of
	// inference).
	Supports(op Op, in []Spec) error

	// Bind infers the outputs, chooses the kernel and sizes its workspace,
	// through the plan cache. out nil means the inferred compact specs;
	// otherwise it gives the layouts of the outputs, whose dtypes, shapes
	// and domains must be the inferred ones. The kernel is immutable and
	// runs on every engine of the same target.
	Bind(op Op, in, out []Spec) (Kernel, error)

	// Run executes a kernel: it reads in and writes out, tensors of exactly
	// the bound specs. A validation error (*ArgError, *AliasError) leaves
	// out untouched. A warm Run allocates nothing. The slices are not kept.
	Run(k Kernel, out, in []*Tensor) error

	// Frame returns the argument arrays that the convenience forms of this
	// package use, so that they allocate nothing.
	Frame() *Frame
}

// Kernel is an operation bound to specs and a target. It is immutable, holds no
// engine, and may be shared by goroutines.
type Kernel interface {
	Op() Op
	NumIn() int
	NumOut() int
	In(i int) Spec  // canonical spec of input i
	Out(i int) Spec // canonical spec of output i
	Target() Target
	Workspace() int // bytes of the engine's scratch that a run uses
}

// Target is the immutable description of an engine that kernels and prepared
// programs are made for. Comparable.
type Target struct {
	Kind     string // "cpu", "ref", "cuda"
	Device   int    // number of the device; 0 on the host
	Domain   Domain // where its tensors lie
	Width    int    // workers that one operation may use, 1 when serial
	Provider string // of contraction: "native", "openblas", …
	Detail   string // the provider's kernel in use: "SkylakeX", "avx512", …
}

// Execution is an engine as a program that owns it sees it.
type Execution interface {
	Engine

	// Target never changes.
	Target() Target

	// Err returns nil while the engine can run, else a *BrokenError or
	// ErrClosed. Any goroutine, any time; it never waits.
	Err() error

	// Alloc returns a tensor of the engine's own memory. The elements are
	// not initialised. spec's domain must be the target's; a spec with
	// strides is refused. A broken engine still allocates nothing.
	Alloc(spec Spec) (*Tensor, error)

	// Release gives back a tensor that Alloc returned, or ends a view. It
	// returns ErrViewsLive, ErrNotOwned or ErrReleased and changes nothing
	// then. It works on a broken engine, beside a run too. Using a tensor
	// that a run still uses is the caller's fault on the host; a device
	// engine retires the memory when the queued work is done.
	Release(t *Tensor) error

	// CopyIn copies a host tensor into one of the engine's domain, CopyOut
	// the other way; it waits until dst holds the values. Both tensors have
	// the same dtype and shape, any layout.
	CopyIn(dst, src *Tensor) error
	CopyOut(dst, src *Tensor) error

	// Begin admits one pass: a series of runs, by one goroutine at a time,
	// with one admission. ErrBusy and the others as Run.
	Begin() (Pass, error)

	// Extension returns the cache of an extension family (name of the
	// package that owns the entries), made at the first call, emptied by
	// Close.
	Extension(family string) *ExtensionCache

	// WarmUp creates whatever the engine defers to its first use.
	WarmUp() error

	// Synchronize waits for all queued work and returns its failures. At
	// once on the host. It works on a broken engine.
	Synchronize() error

	// Close ends the engine: ErrBusy while a run is going on, nil on a second
	// call. Tensors in host memory stay readable by [Data], and all can still be
	// released; what runs an operation, [Download] too, is ErrClosed.
	Close() error
}

// Pass is one admission to an engine. Between Begin and End nobody else runs on
// it. A Pass is used by one goroutine at a time.
type Pass interface {
	// Run is Engine.Run without its own admission. After End it is
	// ErrPassEnded, whoever is admitted by then.
	Run(k Kernel, out, in []*Tensor) error
	// End ends the admission. A second call does nothing, to a later pass
	// neither.
	End()
}

// Call is a kernel and what it is run on.
type Call struct {
	Kernel  Kernel
	Out, In []*Tensor
}

// BranchPass is a Pass of an engine that runs small kernels beside one another.
type BranchPass interface {
	Pass

	// RunBranches runs the calls of each branch one after the other, and the
	// branches in any order or at the same time, each on one worker. No call
	// may write what a call of another branch reads or writes. The bits are
	// those of Run. A call that fails ends its branch; the error is a
	// *BranchError about the first branch that failed. Warm it allocates
	// nothing. The slices are not kept.
	RunBranches(branches [][]Call) error
}

// HostOp is an operation outside the vocabulary that brings its own kernel for
// host engines. Its dynamic type must be comparable, like every Op's.
type HostOp interface {
	Op
	// HostKernel binds the operation; it may fail with a typed error. The
	// kernel is cached and shared, so it must be immutable.
	HostKernel(in, out []Spec) (HostKernel, error)
}

// HostKernel is what a HostOp runs.
type HostKernel interface {
	// Work is what a run costs, for the engine's decision how many workers
	// pay, and the scratch it needs.
	Work() Work
	// RunHost computes out from in. The lease and all it lends are valid
	// until it returns.
	RunHost(l Lease, out, in []*Tensor) error
}

// Work is the cost of a run: functions of the specs only.
type Work struct {
	Flops   float64 // arithmetic operations
	Bytes   float64 // memory read and written
	Scratch int     // bytes of scratch per run
}

// Lease is what an engine lends to a HostKernel for one run.
type Lease interface {
	// Width is the number of workers that For uses.
	Width() int
	// For calls body on parts that cover [0, n), from up to Width workers at
	// once, and returns when all have ended. worker < Width tells them apart.
	For(n int, body func(worker, lo, hi int))
	// Scratch returns Work.Scratch bytes, aligned to 64, not initialised.
	Scratch() []byte
	// Products returns the provider's products for a worker, 0 ≤ worker < Width().
	Products(worker int) Products
}
