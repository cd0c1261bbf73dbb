package engine

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// cells lists the elements of an m×n matrix.
func (b Block) cells(m, n int) (at []int) {
	for i := range m {
		for j := range n {
			at = append(at, b.Offset+i*b.Row+j*b.Col)
		}
	}
	return at
}

// Blocks against the sets of their elements: whether one overlaps itself, and which
// is the first to meet another.
func TestJobsApartAgainstSets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(71, 72))
	const elements = 400
	none, unfit, clashes := 0, 0, 0
	for range 40000 {
		columns := 1 + rnd.IntN(24) // of the matrix that most are blocks of
		unit := 1 + rnd.IntN(3)*rnd.IntN(2)
		draw := func() Job {
			j := Job{M: 1 + rnd.IntN(5), N: 1 + rnd.IntN(5), C: Block{Offset: rnd.IntN(elements / 2), Row: columns * unit, Col: unit}}
			switch rnd.IntN(8) {
			case 0:
				j.C.Row = j.N
			case 1:
				j.C.Row, j.C.Col = rnd.IntN(12)-3, rnd.IntN(12)-3
			}
			if rnd.IntN(4) == 0 {
				j.M, j.N, j.C.Row, j.C.Col = j.N, j.M, j.C.Col, j.C.Row
			}
			if rnd.IntN(4) == 0 {
				j.C.Offset += (j.M - 1) * j.C.Row
				j.C.Row = -j.C.Row
			}
			return j
		}
		jobs := make([]Job, 1+rnd.IntN(7))
		want := [2]int{NoJob, NoJob}
		owner := map[int]int{}
		for i := range jobs { // one that does not fit by itself is told before any two that meet
			jobs[i] = draw()
			own := map[int]bool{}
			for _, at := range jobs[i].C.cells(jobs[i].M, jobs[i].N) {
				if want[0] == NoJob && (at < 0 || at >= elements || own[at]) {
					want[0] = i
				}
				own[at] = true
			}
		}
		for i := 0; i < len(jobs) && want[0] == NoJob; i++ {
			cells := jobs[i].C.cells(jobs[i].M, jobs[i].N)
			for _, at := range cells {
				if o, taken := owner[at]; taken && (want[0] == NoJob || o < want[1]) {
					want = [2]int{i, o}
				}
			}
			for _, at := range cells {
				owner[at] = i
			}
		}
		err := GroupedDot{Jobs: JobsOf(jobs...), Elements: elements}.check(0, 0)
		got := &JobError{Job: NoJob, Other: NoJob}
		if err != nil && !errors.As(err, &got) {
			t.Fatalf("%+v: %v", jobs, err)
		}
		if [2]int{got.Job, got.Other} != want {
			t.Fatalf("%+v: %v, want jobs %v", jobs, err, want)
		}
		switch {
		case want[0] == NoJob:
			none++
		case want[1] == NoJob:
			unfit++
		default:
			clashes++
		}
	}
	if none < 1000 || unfit < 1000 || clashes < 1000 {
		t.Errorf("%d fit, %d do not by themselves, %d clash: the test tests half", none, unfit, clashes)
	}
}

// The pairs of blocks that are looked at do not grow with the square of their number,
// however blocks lie that make up matrices.
func TestJobsAreNotComparedPairByPair(t *testing.T) {
	const n, rows, cols = 10_000, 3, 4
	grid := func(down, across int, at func(i, j int) Block) (blocks []outBlock) {
		for i := range down {
			for j := range across {
				b := outBlock{Block: at(i, j), m: rows, n: cols, job: len(blocks)}
				var ok bool
				if b.lo, b.hi, ok = b.span(rows, cols); !ok {
					t.Fatal("out of range")
				}
				blocks = append(blocks, b)
			}
		}
		rand.New(rand.NewPCG(1, 2)).Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
		return blocks
	}
	matrix := func(across int) func(i, j int) Block { // of across blocks in a row
		ld := across * cols
		return func(i, j int) Block { return Block{Offset: i*rows*ld + j*cols, Row: ld, Col: 1} }
	}
	for name, blocks := range map[string][]outBlock{
		"square":      grid(100, 100, matrix(100)),
		"one row":     grid(1, n, matrix(n)),
		"one column":  grid(n, 1, matrix(1)),
		"thin":        grid(n/5, 5, matrix(5)),
		"by columns":  grid(1, n, func(_, j int) Block { return Block{Offset: j * rows, Row: 1, Col: n * rows} }),
		"each packed": grid(1, n, func(_, j int) Block { return Block{Offset: j * rows * cols, Row: cols, Col: 1} }),
		"a batch":     grid(1, n, func(_, j int) Block { return Block{Offset: j, Row: n * cols, Col: n} }),
		"backwards":   grid(1, n, func(_, j int) Block { return Block{Offset: (j+1)*cols - 1 + (rows-1)*n*cols, Row: -n * cols, Col: -1} }),
		"many": grid(100, 100, func(i, j int) Block { // matrices, each of its own rows' length
			ld := 100*cols + i
			return Block{Offset: i*rows*600 + j*cols, Row: ld, Col: 1}
		}),
	} {
		c := findClash(blocks)
		if c.job != NoJob {
			t.Errorf("%s: jobs %d and %d", name, c.job, c.other)
		}
		if most := int(2 * math.Pow(n, 1.5)); c.pairs > most {
			t.Errorf("%s: %d pairs of %d blocks were looked at, %d are enough", name, c.pairs, n, most)
		}
		blocks[n-1].Block, blocks[n-1].lo, blocks[n-1].hi = blocks[0].Block, blocks[0].lo, blocks[0].hi
		if c := findClash(blocks); c.job == NoJob {
			t.Errorf("%s: a block twice was not seen", name)
		}
	}
}
