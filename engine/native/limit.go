package native

// A call of assembly can be neither preempted nor stopped for the garbage
// collector: whoever wants the processor, or the world to stop, waits until it
// returns. So it returns within 50 µs, by what it is given, on a processor several
// times slower than those of today, with operands that come from memory. These
// are all the bounds that there are; a test counts what each entry is given and
// holds it to them. Above them, Go code loops, which can be stopped.
//
// At worst a vector multiply-add takes workNs (processors make one or two in a
// cycle), a cache line from or to memory lineNs (a dozen are under way at once), an
// element of a function elementNs.
const (
	callNs    = 50_000
	workNs    = 1
	lineNs    = 10
	elementNs = 40

	// A call of products computes tiles until it has made callWork multiply-adds of
	// vectors or touched callLines lines, but one tile at least, which is of blockK
	// steps at most.
	callWork  = 1 << 14
	callLines = 1 << 11

	callBytes    = 1 << 16 // of each operand: of rows, sums, copies
	callElements = 1 << 10 // of functions; of elements that lie apart

	lineBytes = 64
)

// tileWork is the work of a tile of cols columns in rows rows, of k steps: as long
// as its multiply-adds take, or those of a step wait for the step before, and what
// it takes to begin and to end.
func (s *kernelSet) tileWork(rows, cols, k int) int {
	const latency, around = 8, 64
	perStep := s.rowFor(rows).rows * s.width(cols)
	if s.reals != s.lanes {
		perStep *= 2
	}
	return k*max(perStep, latency) + around
}

// lines is the cache lines that a tile of cols columns touches, at most.
func (t *tileShape) lines(cols, size int) int {
	return linesOf(t.rows, t.k, t.ars, t.acs) + linesOf(t.k, cols, t.brs, size) + linesOf(t.rows, cols, t.crs, size)
}

// linesOf is the lines that n×m elements lie in, at most, which are steps of bytes
// apart.
func linesOf(n, m, stepN, stepM int) int {
	alongM := n * (min(m, m*abs(stepM)/lineBytes+1) + 1)
	alongN := m * (min(n, n*abs(stepN)/lineBytes+1) + 1)
	return min(alongM, alongN, n*m)
}
