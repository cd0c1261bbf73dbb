package engine

import (
	"cmp"
	"fmt"
	"slices"
)

// outBlock is the C of a job, which has elements, and their range.
type outBlock struct {
	Block
	m, n   int
	lo, hi int
	job    int
}

// checkApart refuses jobs whose outputs share an element; of all such pairs the one
// with the lowest numbers. It takes about as long as sorting the jobs, for blocks
// that lie one after the other, and as the square root of their number more for the
// blocks of matrices, whose ranges of elements interleave.
func checkApart(blocks []outBlock) error {
	c := findClash(blocks)
	if c.job == NoJob {
		return nil
	}
	return &JobError{Op: "GroupedDot", Job: c.job, Operand: Output(0), Other: c.other,
		Reason: fmt.Sprintf("it shares elements with that of job %d: put one of them into another operation, with Beta 1 to add them up", c.other)}
}

func findClash(blocks []outBlock) clash {
	slices.SortFunc(blocks, func(a, b outBlock) int { return cmp.Compare(a.lo, b.lo) })
	c := clash{job: NoJob, other: NoJob}
	for len(blocks) > 0 { // those whose ranges hang together, again and again
		end, hi := 1, blocks[0].hi
		for end < len(blocks) && blocks[end].lo <= hi {
			hi = max(hi, blocks[end].hi)
			end++
		}
		c.among(blocks[:end])
		blocks = blocks[end:]
	}
	return c
}

// clash is the first pair of jobs found to share elements.
type clash struct {
	job, other int
	pairs      int // looked at, to find it
}

// among looks for a pair among blocks. Where all strides are multiples of a unit, those
// meet alone that start at places equal modulo the unit.
func (c *clash) among(blocks []outBlock) {
	unit := 0
	for i := range blocks {
		long, short := blocks[i].strides()
		unit = commonDivisor(commonDivisor(unit, long), short)
	}
	unit = max(unit, 1)
	if unit > 1 {
		slices.SortFunc(blocks, func(a, b outBlock) int { return cmp.Compare(a.lo%unit, b.lo%unit) })
	}
	for len(blocks) > 0 {
		end := 1
		for end < len(blocks) && (unit == 1 || blocks[end].lo%unit == blocks[0].lo%unit) {
			end++
		}
		c.apart(blocks[:end], unit)
		blocks = blocks[end:]
	}
}

// area is where a block may have elements, if the buffer is read as a matrix of some
// number of columns: rows and columns from … to, both included.
type area struct {
	row, col [2]int
	block    *outBlock
}

// apart looks for a pair among blocks that count in units. Read as the matrix of
// which they are blocks, most are rectangles that do not meet, along one of the axes
// at least.
func (c *clash) apart(blocks []outBlock, unit int) {
	if len(blocks) < 2 {
		return
	}
	columns := max(commonStride(blocks)/unit, 1)
	areas := make([]area, 0, len(blocks))
	for i := range blocks {
		areas = blocks[i].appendAreas(areas, columns, unit)
	}
	first := func(a *area) [2]int { return a.row }
	second := func(a *area) [2]int { return a.col }
	if meetings(areas, second) < meetings(areas, first) {
		first, second = second, first
	}
	slices.SortFunc(areas, func(a, b area) int { return cmp.Compare(first(&a)[0], first(&b)[0]) })
	for i := range areas {
		a := &areas[i]
		end, across := first(a)[1], second(a)
		for k := i + 1; k < len(areas) && first(&areas[k])[0] <= end; k++ {
			c.pairs++
			if other := second(&areas[k]); across[0] <= other[1] && other[0] <= across[1] {
				c.look(a.block, areas[k].block)
			}
		}
	}
}

// meetings counts the pairs of areas that meet along an axis.
func meetings(areas []area, by func(*area) [2]int) (pairs int) {
	starts, ends := make([]int, len(areas)), make([]int, len(areas))
	for i := range areas {
		starts[i], ends[i] = by(&areas[i])[0], by(&areas[i])[1]
	}
	slices.Sort(starts)
	slices.Sort(ends)
	over := 0 // areas that end before the one that starts
	for i, start := range starts {
		for ends[over] < start {
			over++
		}
		pairs += i - over
	}
	return pairs
}

// strides are the longer and the shorter of those that lead from an element of b to
// another; 0 where none does.
func (b *outBlock) strides() (long, short int) {
	if b.m > 1 {
		long = abs(b.Row)
	}
	if b.n > 1 {
		short = abs(b.Col)
	}
	return max(long, short), min(long, short)
}

// commonStride is the longer stride of most blocks, of those of two rows and more.
func commonStride(blocks []outBlock) int {
	strides := make([]int, 0, len(blocks))
	for i := range blocks {
		if long, _ := blocks[i].strides(); long > 1 {
			strides = append(strides, long)
		}
	}
	slices.Sort(strides)
	best, most := 1, 0
	for i, n := 0, 0; i < len(strides); i += n {
		n = 1
		for i+n < len(strides) && strides[i+n] == strides[i] {
			n++
		}
		if n > most {
			best, most = strides[i], n
		}
	}
	return best
}

// appendAreas appends the areas of b in a matrix of some columns, counted in units.
func (b *outBlock) appendAreas(areas []area, columns, unit int) []area {
	long, _ := b.strides()
	lo, hi := b.lo/unit, b.hi/unit
	reach, down := hi-lo, 0 // columns and rows beyond the first; a row by itself
	if long/unit == columns {
		down = b.m - 1
		if b.n > 1 && long == abs(b.Col) {
			down = b.n - 1
		}
		reach -= down * columns
	}
	row, col := lo/columns, lo%columns
	switch {
	case col+reach < columns:
		return append(areas, area{[2]int{row, row + down}, [2]int{col, col + reach}, b})
	case reach < columns: // it goes on at the start of the next row
		return append(areas, area{[2]int{row, row + down}, [2]int{col, columns - 1}, b},
			area{[2]int{row + 1, row + 1 + down}, [2]int{0, col + reach - columns}, b})
	}
	return append(areas, area{[2]int{row, hi / columns}, [2]int{0, columns - 1}, b})
}

// look notes a pair that shares elements and comes before the one that is known.
func (c *clash) look(a, b *outBlock) {
	job, other := max(a.job, b.job), min(a.job, b.job)
	if job == other || c.job != NoJob && (job > c.job || job == c.job && other >= c.other) {
		return
	}
	if a.meets(b) {
		c.job, c.other = job, other
	}
}

// meets says whether two blocks share an element.
func (b *outBlock) meets(o *outBlock) bool {
	var p strideProblem
	add := func(stride, n int) {
		switch {
		case stride > 0:
			p.merge(stride, 0, n-1)
		case stride < 0:
			p.merge(-stride, 1-n, 0)
		}
	}
	add(b.Row, b.m)
	add(b.Col, b.n)
	add(-o.Row, o.m)
	add(-o.Col, o.n)
	return p.solvable(o.Offset - b.Offset)
}

// overlapsItself says whether two elements of an m×n matrix are the same: whether
// i·Row = j·Col for some 0 ≤ i < m and |j| < n, not both 0. The least such pair
// is Col and Row over their common divisor.
func (b Block) overlapsItself(m, n int) bool {
	switch {
	case b.Row == 0 || b.Col == 0:
		return b.Row == 0 && m > 1 || b.Col == 0 && n > 1
	case m < 2 || n < 2:
		return false
	}
	row, col := abs(b.Row), abs(b.Col)
	d := commonDivisor(row, col)
	return col/d < m && row/d < n
}

func commonDivisor(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
