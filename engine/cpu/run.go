package cpu

import (
	"sync/atomic"
	"unique"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// kernel is an operation bound to specs for this kind of engine: steps over
// slots. Slots are the inputs, then the outputs, then pieces of scratch.
type kernel struct {
	engine.Binding
	id      unique.Handle[engine.Target]
	steps   []step
	checks  int   // how many of the steps are checks; they come first
	pieces  []int // offset of each piece of scratch
	scratch int   // bytes
	host    engine.HostKernel

	// solo is all that the kernel does, where that is one row of an elementwise
	// plan over the inputs in their order; dot where it is one planned product, or
	// members of a batch in one call: most small operations.
	solo *native.MapPlan
	dot  *gemmStep
}

// simplify finds solo or dot.
func (k *kernel) simplify() {
	if len(k.steps) != 1 || k.NumOut() != 1 {
		return
	}
	if s, ok := k.steps[0].(*gemmStep); ok && s.solo() {
		k.dot = s
	}
	s, ok := k.steps[0].(*mapStep)
	if !ok || !s.plan.SingleRow() || s.n != 1+k.NumIn() || s.at[0] != k.NumIn() {
		return
	}
	for i, slot := range s.at[1:s.n] {
		if slot != i {
			return
		}
	}
	k.solo = s.plan
}

// Workspace implements engine.Kernel.
func (k *kernel) Workspace() int { return k.scratch }

// step is a part of a kernel's work: parts that may run at the same time, each
// on one worker. How it is cut depends on specs alone. Immutable.
type step interface {
	parts() int
	run(r *run, w, part int)
}

// run is the state of the run going on. It lives in the engine, or, of a run that
// is part of a branch, in the worker.
type run struct {
	e    *Engine
	base []unsafe.Pointer // per slot: the element at the tensor's offset
	step step
	bad  atomic.Int64 // what a check found, −1 for nothing
	host lease

	branch  bool // it stays on one worker
	worker  int  // which runs what is not shared out
	scratch []byte
}

// row runs a kernel that is one row.
func (k *kernel) row(out, in []*engine.Tensor) {
	switch len(in) {
	case 1:
		k.solo.RunRow(out[0].HostPointer(), in[0].HostPointer(), nil)
	case 2:
		k.solo.RunRow(out[0].HostPointer(), in[0].HostPointer(), in[1].HostPointer())
	default:
		k.solo.RunRow3(out[0].HostPointer(), in[0].HostPointer(), in[1].HostPointer(), in[2].HostPointer())
	}
}

func (r *run) kernel(k *kernel, out, in []*engine.Tensor) error {
	if k.solo != nil {
		k.row(out, in)
		return nil
	}
	if k.dot != nil {
		p := k.dot.provider.products(&r.e.workers[r.worker])
		k.dot.plan.Run(p, out[0].HostPointer(), in[0].HostPointer(), in[1].HostPointer(), k.dot.units)
		return nil
	}
	scratch := r.scratch
	if !r.branch {
		scratch = r.e.scratchFor(k.scratch)
	}
	if k.host != nil {
		return r.hosted(k, out, in, scratch)
	}
	r.base = r.base[:0]
	for _, t := range in {
		r.base = append(r.base, t.HostPointer())
	}
	for _, t := range out {
		r.base = append(r.base, t.HostPointer())
	}
	for _, off := range k.pieces {
		r.base = append(r.base, unsafe.Pointer(&scratch[off]))
	}
	for i, s := range k.steps {
		if i < k.checks {
			if err := r.check(k, s.(*checkStep)); err != nil {
				r.clear()
				return err
			}
			continue
		}
		r.all(s)
	}
	r.clear()
	return nil
}

// all runs the parts of a step.
func (r *run) all(s step) {
	n := s.parts()
	if n > 1 && r.e.pool.width > 1 && !r.branch {
		r.step = s
		r.e.pool.run(r, n)
		return
	}
	for part := range n {
		s.run(r, r.worker, part)
	}
}

func (r *run) check(k *kernel, s *checkStep) error {
	r.bad.Store(-1)
	r.all(s)
	if i := r.bad.Load(); i >= 0 {
		return k.failure(s, int(i))
	}
	return nil
}

// part implements job.
func (r *run) part(w, part int) { r.step.run(r, w, part) }

// clear lets go of the tensors' memory.
func (r *run) clear() {
	clear(r.base)
	r.step = nil
	r.host = lease{}
}

// lease implements engine.Lease and the job of its For.
type lease struct {
	r       *run
	scratch []byte
	width   int
	n, cut  int
	body    func(worker, lo, hi int)
}

func (r *run) hosted(k *kernel, out, in []*engine.Tensor, scratch []byte) error {
	width := 1
	if w := k.host.Work(); pays(w.Flops, w.Bytes) {
		width = r.e.pool.width
	}
	r.host = lease{r: r, scratch: scratch, width: width}
	err := k.host.RunHost(&r.host, out, in)
	r.clear()
	return err
}

// Width implements engine.Lease.
func (l *lease) Width() int { return l.width }

// Scratch implements engine.Lease.
func (l *lease) Scratch() []byte { return l.scratch }

// Products implements engine.Lease.
func (l *lease) Products(worker int) engine.Products { return l.r.e.workers[worker].provider }

// For implements engine.Lease.
func (l *lease) For(n int, body func(worker, lo, hi int)) {
	if n <= 0 {
		return
	}
	if l.width == 1 || n == 1 {
		body(0, 0, n)
		return
	}
	l.n, l.cut, l.body = n, min(n, 4*l.width), body
	l.r.e.pool.run(l, l.cut)
	l.body = nil
}

// part implements job.
func (l *lease) part(w, part int) {
	lo, hi := share(l.n, l.cut, part)
	l.body(w, lo, hi)
}

// share is the part-th of parts nearly equal pieces of [0, n).
func share(n, parts, part int) (lo, hi int) {
	if parts == 1 { // divisions take longer than small operations
		return 0, n
	}
	q, rest := n/parts, n%parts
	lo = part*q + min(part, rest)
	hi = lo + q
	if part < rest {
		hi++
	}
	return lo, hi
}
