package cpu

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// groupedStep computes the products of a GroupedDot: runs of jobs, each a batch,
// cut into parts of about the same work.
type groupedStep struct {
	runs []jobRun
	ends []int // of each part, in runs
	size int   // of an element
}

// jobRun is a series of jobs of one form at equal distances.
type jobRun struct {
	provider gemmProvider
	g        engine.Gemm
	at       [operands]int // elements from the start of each buffer
}

func (b *binder) grouped(op engine.GroupedDot, out, l, r engine.Spec) {
	s := &groupedStep{size: out.DType.Size()}
	var flops, bytes float64
	var work []float64 // up to the end of each run
	most := op.Jobs.Len()
	if b.width > 1 {
		most = most/(4*b.width) + 1 // jobs of a run, lest one run is all
	}
	strides := [operands]int{out.AppendStrides(nil)[0], l.AppendStrides(nil)[0], r.AppendStrides(nil)[0]}
	for i := range op.Jobs.Len() {
		j := op.Jobs.At(i)
		if j.M == 0 || j.N == 0 {
			continue
		}
		x := b.jobRun(op, j, out.DType, strides)
		f, m := x.work()
		flops, bytes = flops+f, bytes+m
		if n := len(s.runs); n > 0 && s.runs[n-1].take(x, most) {
			work[n-1] = max(flops, bytes)
			continue
		}
		s.runs, work = append(s.runs, *x), append(work, max(flops, bytes))
	}
	parts := pieces(len(s.runs), b.width, flops, bytes)
	for end := range s.runs {
		if work[end]*float64(parts) >= work[len(work)-1]*float64(len(s.ends)+1) {
			s.ends = append(s.ends, end+1)
		}
	}
	if n := len(s.ends); n > 0 {
		s.ends[n-1] = len(s.runs) // also what adds nothing to the work, as sums over nothing
	}
	b.step(s)
}

// jobRun makes the run of one job.
func (b *binder) jobRun(op engine.GroupedDot, j engine.Job, t engine.DType, strides [operands]int) *jobRun {
	matrix := func(o int, x engine.Block) engine.Matrix {
		return engine.Matrix{Row: x.Row * strides[o], Col: x.Col * strides[o]}
	}
	x := &jobRun{
		g: engine.Gemm{DType: t, ConjA: op.ConjA && t.IsComplex(), ConjB: op.ConjB && t.IsComplex(), M: j.M, N: j.N, K: j.K, Batch: 1,
			Alpha: op.Alpha.Or(1), Beta: op.Beta.Or(0), A: matrix(opA, j.A), B: matrix(opB, j.B), C: matrix(opC, j.C)},
		at: [operands]int{opC: j.C.Offset * strides[opC], opA: j.A.Offset * strides[opA], opB: j.B.Offset * strides[opB]},
	}
	x.provider = b.providerFor(t, &contraction{sizeM: j.M, sizeN: j.N, sizeK: j.K})
	if x.provider.fit(&x.g) != 0 { // the own kernels take any strides
		x.provider = gemmProvider{own, b.e.native}
	}
	return x
}

// work is that of the run, in arithmetic operations and in bytes.
func (x *jobRun) work() (flops, bytes float64) {
	m, n, k := float64(x.g.M), float64(x.g.N), float64(x.g.K)
	flops = 2 * m * n * k
	if x.g.DType.IsComplex() {
		flops *= 4
	}
	return flops, float64(x.g.DType.Size()) * (m*k + k*n + m*n)
}

// take adds the job of y to the run, if it goes on with it.
func (x *jobRun) take(y *jobRun, most int) bool {
	n := x.g.Batch
	step := [operands]int{}
	for o := range step {
		step[o] = (y.at[o] - x.at[o]) / n
	}
	same := x.g
	same.Batch, same.A.Batch, same.B.Batch, same.C.Batch = 1, 0, 0, 0
	if n >= most || same != y.g || x.provider.kind != y.provider.kind {
		return false
	}
	for o, batch := range [operands]*int{opC: &x.g.C.Batch, opA: &x.g.A.Batch, opB: &x.g.B.Batch} {
		if y.at[o] != x.at[o]+n*step[o] || n > 1 && *batch != step[o] {
			return false
		}
	}
	x.g.C.Batch, x.g.A.Batch, x.g.B.Batch = step[opC], step[opA], step[opB]
	x.g.Batch++
	return true
}

func (s *groupedStep) parts() int { return len(s.ends) }

func (s *groupedStep) run(r *run, w, part int) {
	first := 0
	if part > 0 {
		first = s.ends[part-1]
	}
	me := &r.e.workers[w]
	g := &me.gemm
	for i := first; i < s.ends[part]; i++ {
		x := &s.runs[i]
		*g = x.g
		g.C.P = unsafe.Add(r.base[2], x.at[opC]*s.size)
		if g.K > 0 {
			g.A.P, g.B.P = unsafe.Add(r.base[0], x.at[opA]*s.size), unsafe.Add(r.base[1], x.at[opB]*s.size)
		}
		x.provider.products(me).Gemm(g)
	}
	g.A.P, g.B.P, g.C.P = nil, nil, nil
}
