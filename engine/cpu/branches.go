package cpu

import (
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// branches is the state of a RunBranches: the parts of a job are branches, each
// of which runs on one worker, with scratch of its own.
type branches struct {
	e       *Engine
	calls   [][]engine.Call
	scratch []byte
	ends    []int // of each branch's part of it
	errs    []error
}

func (b *branches) run(calls [][]engine.Call) (err error) {
	if !b.reserve(calls) {
		return b.oneByOne(calls)
	}
	b.calls = calls
	b.errs = slices.Grow(b.errs[:0], len(calls))[:len(calls)] // clear, as every run leaves them
	done := false
	defer func() {
		b.calls, b.scratch = nil, nil
		clear(b.errs)
		if !done {
			err = b.e.fail("RunBranches", recover())
		}
	}()
	if b.e.pool.width > 1 && len(calls) > 1 {
		b.e.pool.run(b, len(calls))
	} else {
		for i := range calls {
			b.part(0, i)
		}
	}
	for _, e := range b.errs {
		if e != nil {
			err = e
			break
		}
	}
	done = true
	return err
}

// reserve gives each branch the scratch that its kernels need, and each worker
// room for pointers. It is false where a kernel wants more than a worker: the
// lease of an operation of the caller's own.
func (b *branches) reserve(calls [][]engine.Call) bool {
	const align = 64
	total, slots := 0, 0
	b.ends = b.ends[:0]
	for _, branch := range calls {
		most := 0
		for _, c := range branch {
			if k, ok := c.Kernel.(*kernel); ok {
				if k.host != nil {
					return false
				}
				most = max(most, k.scratch)
				slots = max(slots, k.NumIn()+k.NumOut()+len(k.pieces))
			}
		}
		total += (most + align - 1) &^ (align - 1)
		b.ends = append(b.ends, total)
	}
	b.scratch = b.e.scratchFor(total)
	for w := range b.e.workers {
		if r := &b.e.workers[w].branch; cap(r.base) < slots {
			r.base = make([]unsafe.Pointer, 0, slots)
		}
	}
	return true
}

// oneByOne runs all calls as Run does.
func (b *branches) oneByOne(calls [][]engine.Call) error {
	for i, branch := range calls {
		for j, c := range branch {
			if err := b.e.execute(c.Kernel, c.Out, c.In); err != nil {
				return &engine.BranchError{Branch: i, Call: j, Err: err}
			}
		}
	}
	return nil
}

// part implements job.
func (b *branches) part(w, i int) {
	first := 0
	if i > 0 {
		first = b.ends[i-1]
	}
	r := &b.e.workers[w].branch
	r.e, r.branch, r.worker, r.scratch = b.e, true, w, b.scratch[first:b.ends[i]]
	for j, c := range b.calls[i] {
		k, ok := c.Kernel.(*kernel)
		var err error
		if !ok || k.id != b.e.id {
			err = b.e.refused(engine.KernelName(c.Kernel), engine.ErrForeignKernel)
		} else if err = k.Check(c.Out, c.In); err == nil {
			err = r.kernel(k, c.Out, c.In)
		}
		if err != nil {
			b.errs[i] = &engine.BranchError{Branch: i, Call: j, Err: err}
			return
		}
	}
}
