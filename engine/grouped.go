package engine

import (
	"fmt"
	"math/bits"
)

// Block places a matrix in a buffer: its element (i, j) is element
// Offset + i·Row + j·Col of the buffer.
type Block struct{ Offset, Row, Col int }

// Job is one product C = Alpha · op(A) · op(B) + Beta · C of a GroupedDot, where A is
// M×K, B is K×N and C is M×N.
type Job struct {
	M, N, K int
	A, B, C Block
}

// Jobs is a list of jobs. It is one word, immutable, and comparable. The zero value
// is the empty list.
type Jobs struct{ l list }

const jobWords = 12

// JobsOf interns jobs.
func JobsOf(jobs ...Job) Jobs {
	words := make([]int, 0, jobWords*len(jobs))
	for _, j := range jobs {
		words = append(words, j.M, j.N, j.K, j.A.Offset, j.A.Row, j.A.Col, j.B.Offset, j.B.Row, j.B.Col, j.C.Offset, j.C.Row, j.C.Col)
	}
	return Jobs{makeList(words)}
}

// Len is the number of jobs.
func (v Jobs) Len() int { return v.l.len() / jobWords }

// At is job i, 0 ≤ i < Len().
func (v Jobs) At(i int) Job {
	s := v.l.raw()[i*jobWords*wordBytes:]
	w := func(k int) int { return wordAt(s, k) }
	return Job{w(0), w(1), w(2), Block{w(3), w(4), w(5)}, Block{w(6), w(7), w(8)}, Block{w(9), w(10), w(11)}}
}

// GroupedDot is many products of matrices that lie anywhere in three buffers, as
// the blocks of block-sparse tensors do: for each job
//
//	C = Alpha · op(A) · op(B) + Beta · C
//
// with A in input 0, B in input 1 and C in the output, tensors of rank 1, the output
// of Elements elements. op conjugates where ConjA or ConjB is set. Alpha is 1 and Beta
// is 0 unless given; what is read for which, and what infinities and NaN do, is as in
// DotGeneral. Elements of the output that are in no job's C stay as they are.
//
// All jobs are checked when the operation is bound, before anything is written: a
// block that leaves its buffer, or whose C shares an element with another job's or
// with itself, is a *JobError with the number of the job. Sums over blocks are
// several operations with Beta 1. Numeric dtypes; integers wrap. The output may
// overlap neither input.
type GroupedDot struct {
	Jobs         Jobs
	Elements     int
	ConjA, ConjB bool
	Alpha, Beta  Factor
}

// Name implements Op.
func (GroupedDot) Name() string { return "GroupedDot" }

// MayAlias implements Op.
func (GroupedDot) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (g GroupedDot) Infer(in []Spec) ([]Spec, error) {
	const op = "GroupedDot"
	if err := wantNumeric(op, in, 2); err != nil {
		return nil, err
	}
	for i, s := range in {
		if s.Rank() != 1 {
			return nil, shapeErr(op, Input(i), NoAxis, "rank %d: a buffer of blocks has one axis", s.Rank())
		}
	}
	out, err := inferShape(op, in[0], []int{g.Elements})
	if err != nil {
		return nil, err
	}
	if err := g.Alpha.check(op, in[0].DType); err != nil {
		return nil, err
	}
	if err := g.Beta.check(op, in[0].DType); err != nil {
		return nil, err
	}
	return out, g.check(in[0].Elements(), in[1].Elements())
}

// JobError says which job of a GroupedDot does not fit.
type JobError struct {
	Op      string
	Job     int     // its number
	Operand Operand // which of its blocks, or NoOperand
	Other   int     // the job that it clashes with, or NoJob
	Reason  string
}

// NoJob stands for an error that is not about a second job.
const NoJob = -1

func (e *JobError) Error() string {
	if e.Operand == NoOperand {
		return fmt.Sprintf("engine: %s: job %d: %s", e.Op, e.Job, e.Reason)
	}
	return fmt.Sprintf("engine: %s: job %d, block of %v: %s", e.Op, e.Job, e.Operand, e.Reason)
}

// check looks at all jobs for buffers of so many elements.
func (g GroupedDot) check(left, right int) error {
	var blocks []outBlock
	for i := range g.Jobs.Len() {
		j := g.Jobs.At(i)
		fault := func(o Operand, format string, args ...any) error {
			return &JobError{Op: "GroupedDot", Job: i, Operand: o, Other: NoJob, Reason: fmt.Sprintf(format, args...)}
		}
		if j.M < 0 || j.N < 0 || j.K < 0 {
			return fault(NoOperand, "%d×%d×%d: an extent is negative", j.M, j.N, j.K)
		}
		if j.M == 0 || j.N == 0 {
			continue
		}
		lo, hi, ok := j.C.span(j.M, j.N)
		if !ok || lo < 0 || hi >= g.Elements {
			return fault(Output(0), "the %d×%d matrix at %+v leaves the buffer of %d elements", j.M, j.N, j.C, g.Elements)
		}
		if j.C.overlapsItself(j.M, j.N) {
			return fault(Output(0), "elements of the %d×%d matrix at %+v overlap each other", j.M, j.N, j.C)
		}
		blocks = append(blocks, outBlock{Block: j.C, m: j.M, n: j.N, lo: lo, hi: hi, job: i})
		if j.K == 0 {
			continue
		}
		if lo, hi, ok := j.A.span(j.M, j.K); !ok || lo < 0 || hi >= left {
			return fault(Input(0), "the %d×%d matrix at %+v leaves the buffer of %d elements", j.M, j.K, j.A, left)
		}
		if lo, hi, ok := j.B.span(j.K, j.N); !ok || lo < 0 || hi >= right {
			return fault(Input(1), "the %d×%d matrix at %+v leaves the buffer of %d elements", j.K, j.N, j.B, right)
		}
	}
	return checkApart(blocks)
}

// span is the range of elements of an m×n matrix, m and n positive; ok is false
// where an int cannot count so far.
func (b Block) span(m, n int) (lo, hi int, ok bool) {
	lo, hi, ok = b.Offset, b.Offset, b.Offset >= 0
	for _, axis := range [2][2]int{{b.Row, m - 1}, {b.Col, n - 1}} {
		stride, last := axis[0], axis[1]
		over, far := bits.Mul64(uint64(max(stride, -stride)), uint64(last))
		if over != 0 || far > maxInt/4 || stride == -stride && stride != 0 {
			return 0, 0, false
		}
		if stride < 0 {
			lo -= int(far)
		} else {
			hi += int(far)
		}
		ok = ok && hi >= 0
	}
	return lo, hi, ok
}
