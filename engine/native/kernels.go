package native

import "unsafe"

// Number is the set of element types that kernels compute with.
type Number interface {
	float32 | float64 | complex64 | complex128
}

// tile is what a micro-kernel is told. The field offsets are known to
// internal/gen.
type tile struct {
	a, b, c unsafe.Pointer // A[0][0], B[0][0], C[0][0]
	tileShape
}

// tileShape is all but the place of a tile. Strides are in bytes. Rows of B and
// of C are contiguous.
type tileShape struct {
	k        int       // products per element, ≥ 1
	ars, acs int       // strides of A along rows and along k
	brs      int       // stride of B along k
	crs      int       // stride of C along rows
	rows     int       // rows of C, 1 … kernelRow.rows
	mask     [4]uint16 // per vector, which real components exist; for masked kernels
	add      int       // 0: set C, 1: add to C
	one      float64   // 1
	one32    float32   // 1
	lack     uint32    // bytes of the last vector that do not exist; for kernels of parts

	// A batch: as many members as left says (0 stands for 1), each at a step from
	// the last tile of the one before. A member is as many tiles as tiles says (0
	// stands for 1), each down from the one before. The kernel changes left, at
	// and below; before a call at is 0 and below is tiles.
	left         int
	at, step     [3]int // of a, b and c, in bytes
	below, tiles int
	down         [3]int // of a, 0 and c, in bytes

	// How far ahead lines of a and b are asked for, in bytes. 0 of a: not at all.
	ahead [2]int
}

// kernelRow holds the micro-kernels for up to rows rows, by vectors of width. The
// last vector exists as a whole, or in part: a kernel that is told by opmasks does
// for both.
type kernelRow struct {
	rows        int
	whole, part [4]func(*tile)
}

// ymmBytes is the bytes of a vector where tiles have parts.
const ymmBytes = 32

// kernelSet is the micro-kernels for one element type at one level.
type kernelSet struct {
	rows   []kernelRow // by falling rows
	lanes  int         // elements of a vector
	nv     int         // vectors of a full tile
	reals  int         // real components of a vector
	masked bool        // columns that do not exist are neither read nor written

	transposer transposer // for packing
}

func (s *kernelSet) mr() int { return s.rows[0].rows }
func (s *kernelSet) nr() int { return s.lanes * s.nv }

// width is the number of vectors that a tile of cols columns takes.
func (s *kernelSet) width(cols int) int {
	if s.masked {
		return (cols + s.lanes - 1) / s.lanes
	}
	return s.nv
}

// tileCols is the columns of the next tile where left are left: as many as can
// be, but not so that a single vector stays for the last, which would wait for
// loads.
func (s *kernelSet) tileCols(left int) int {
	if n := s.width(left); n == s.nv+1 && n > 2 {
		return n / 2 * s.lanes
	}
	return min(s.nr(), left)
}

// rowFor is the lowest kernels that cover rows.
func (s *kernelSet) rowFor(rows int) *kernelRow {
	i := len(s.rows) - 1
	for i > 0 && s.rows[i].rows < rows {
		i--
	}
	return &s.rows[i]
}

// pick returns the lowest kernel that covers rows of cols columns.
func (s *kernelSet) pick(rows, cols int) func(*tile) {
	row, width := s.rowFor(rows), s.width(cols)
	if f := row.part[width]; f != nil && cols < width*s.lanes {
		return f
	}
	return row.whole[width]
}

// setMask describes a tile of cols columns to a masked kernel.
func (s *kernelSet) setMask(t *tileShape, cols int) {
	n := cols * (s.reals / s.lanes)
	t.lack = uint32((s.width(cols)*s.reals - n) * ymmBytes / s.reals)
	for j := range s.nv {
		t.mask[j] = uint16(1<<min(max(n, 0), s.reals) - 1)
		n -= s.reals
	}
}

// Constants: tables of functions.
var (
	f32Portable  = kernelSet{[]kernelRow{{rows: 2, whole: [4]func(*tile){1: portableTile[float32]}}}, 4, 1, 4, false, 0}
	f64Portable  = kernelSet{[]kernelRow{{rows: 2, whole: [4]func(*tile){1: portableTile[float64]}}}, 4, 1, 4, false, 0}
	c64Portable  = kernelSet{[]kernelRow{{rows: 2, whole: [4]func(*tile){1: portableTile[complex64]}}}, 4, 1, 8, false, 0}
	c128Portable = kernelSet{[]kernelRow{{rows: 2, whole: [4]func(*tile){1: portableTile[complex128]}}}, 4, 1, 8, false, 0}
)

// portableTile is the micro-kernel in Go: 2×4.
func portableTile[T Number](t *tile) {
	a0 := t.a
	a1 := a0
	if t.rows > 1 {
		a1 = unsafe.Add(a0, t.ars)
	}
	b := t.b
	var c00, c01, c02, c03, c10, c11, c12, c13 T
	for p := t.k; ; {
		bv := (*[4]T)(b)
		b0, b1, b2, b3 := bv[0], bv[1], bv[2], bv[3]
		x := *(*T)(a0)
		c00 += x * b0
		c01 += x * b1
		c02 += x * b2
		c03 += x * b3
		y := *(*T)(a1)
		c10 += y * b0
		c11 += y * b1
		c12 += y * b2
		c13 += y * b3
		if p--; p == 0 {
			break // before the pointers leave their blocks
		}
		a0 = unsafe.Add(a0, t.acs)
		a1 = unsafe.Add(a1, t.acs)
		b = unsafe.Add(b, t.brs)
	}
	out := (*[4]T)(t.c)
	if t.add == 0 {
		out[0], out[1], out[2], out[3] = c00, c01, c02, c03
	} else {
		out[0], out[1], out[2], out[3] = out[0]+c00, out[1]+c01, out[2]+c02, out[3]+c03
	}
	if t.rows == 1 {
		return
	}
	out = (*[4]T)(unsafe.Add(t.c, t.crs))
	if t.add == 0 {
		out[0], out[1], out[2], out[3] = c10, c11, c12, c13
	} else {
		out[0], out[1], out[2], out[3] = out[0]+c10, out[1]+c11, out[2]+c12, out[3]+c13
	}
}
