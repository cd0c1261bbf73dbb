package native

import (
	"fmt"
	"unsafe"
)

// Mat is a matrix in a slice: element (i, j) is Data[Offset + i·RowStride +
// j·ColStride]. Strides are in elements, of either sign. Conj stands for the
// complex conjugate of the elements; it has no meaning for an output.
type Mat[T Number] struct {
	Data                 []T
	Offset               int
	RowStride, ColStride int
	Conj                 bool
}

// T returns the transposed matrix, over the same elements.
func (x Mat[T]) T() Mat[T] {
	x.RowStride, x.ColStride = x.ColStride, x.RowStride
	return x
}

// At returns the matrix that starts at element (i, j).
func (x Mat[T]) At(i, j int) Mat[T] {
	x.Offset += i*x.RowStride + j*x.ColStride
	return x
}

// matrix checks that every element of the rows×cols matrix lies in Data.
func (x *Mat[T]) matrix(name string, rows, cols int) (matrix, error) {
	if rows == 0 || cols == 0 {
		return matrix{}, nil
	}
	lo, hi := x.Offset, x.Offset
	for _, d := range [2]int{(rows - 1) * x.RowStride, (cols - 1) * x.ColStride} {
		lo += min(d, 0)
		hi += max(d, 0)
	}
	if lo < 0 || hi >= len(x.Data) {
		return matrix{}, &BoundsError{Operand: name, Low: lo, High: hi, Len: len(x.Data)}
	}
	return matrix{p: unsafe.Pointer(&x.Data[x.Offset]), rs: x.RowStride, cs: x.ColStride, conj: x.Conj}, nil
}

// BoundsError says that an operand reaches outside its slice.
type BoundsError struct {
	Operand   string
	Low, High int // positions of its lowest and highest element
	Len       int // of the slice
}

func (e *BoundsError) Error() string {
	return fmt.Sprintf("native: operand %s reaches elements %d to %d of a slice of %d", e.Operand, e.Low, e.High, e.Len)
}

// Gemm computes C = alpha·A·B + beta·C for A of m×k, B of k×n and C of m×n.
// C must not overlap A or B. With beta = 0 C is not read, with alpha = 0 or
// k = 0 neither A nor B is. It runs on the calling goroutine.
//
// An element of C is the sum over blocks of k, in order, of sums that take
// the products in order. So its bits depend on the level, on k, alpha, beta and
// its row of A and column of B, and not on m, n or strides: a product that is
// cut along m and n into calls gives the bits of one call.
//
// ws is scratch memory for one call at a time. It grows to what the largest
// product needs, at most some megabytes.
func Gemm[T Number](level Level, ws *Workspace, m, n, k int, alpha T, a, b Mat[T], beta T, c Mat[T]) error {
	if m < 0 || n < 0 || k < 0 {
		return fmt.Errorf("native: matrix product of %d×%d by %d×%d: negative extent", m, k, k, n)
	}
	g := product[T]{set: kernelsOf[T](Best(level)), ws: ws, m: m, n: n, k: k, alpha: alpha, beta: beta}
	var err error
	if g.c, err = c.matrix("C", m, n); err != nil || m == 0 || n == 0 {
		return err
	}
	if alpha != 0 {
		if g.a, err = a.matrix("A", m, k); err != nil {
			return err
		}
		if g.b, err = b.matrix("B", k, n); err != nil {
			return err
		}
	}
	g.plan()
	g.run()
	return nil
}

// Blocking. A strip of A, of a tile's rows by blockK, stays in the first-level
// cache while the tiles along it are computed. A block of B, of blockK by as
// many panels of a tile's columns as blockBytes holds, stays in the second while
// the strips pass by; it is packed where all of B takes more, or lies spread over
// more than spreadBytes, which the caches and the processor's list of pages have to
// follow. Where A has to be packed, as many strips as packedBytes holds are packed
// at once.
const (
	blockK      = 256
	blockBytes  = 480 << 10
	spreadBytes = 2 * blockBytes
	packedBytes = 4 << 20
)

// matrix is a Mat whose bounds have been checked.
type matrix struct {
	p      unsafe.Pointer
	rs, cs int // elements
	batch  int // elements to the next of a batch
	conj   bool
}

// step moves on to the next of a batch. A pointer is nil where there are no
// elements, or none that will be read.
func (x *matrix) step(size int) {
	if x.p != nil {
		x.p = unsafe.Add(x.p, x.batch*size)
	}
}

func (x matrix) t() matrix {
	x.rs, x.cs = x.cs, x.rs
	return x
}

// product is one matrix product under way.
type product[T Number] struct {
	set         *kernelSet
	ws          *Workspace
	m, n, k     int
	alpha, beta T
	a, b, c     matrix

	mc, kc, nc       int // blocks: C and A by rows, A and B along k, B and C by columns
	directA, directB bool
	turned           bool // it is the transpose of the caller's
}

func sizeOf[T Number]() int {
	var z T
	return int(unsafe.Sizeof(z))
}

// blocks divides n into the fewest equal parts of at most limit, rounded up to
// a multiple of unit.
func blocks(n, limit, unit int) int {
	parts := (n + limit - 1) / limit
	n = (n + parts - 1) / parts
	return (n + unit - 1) / unit * unit
}

// plan turns the product so that rows of C are contiguous if they can be,
// and chooses blocks and which operands are read where they lie. It looks at
// no pointer. Nothing but kc has a say in the bits.
func (g *product[T]) plan() {
	if g.m == 1 {
		g.a.rs, g.c.rs = 1, 1
	}
	if g.n == 1 {
		g.b.cs, g.c.cs = 1, 1
	}
	if g.k == 1 {
		g.a.cs, g.b.rs = 1, 1
	}
	if g.c.cs != 1 && g.c.rs == 1 {
		g.turned, g.m, g.n = true, g.n, g.m
		g.a, g.b, g.c = g.b.t(), g.a.t(), g.c.t()
	}
	size, mr, nr := sizeOf[T](), g.set.mr(), g.set.nr()
	g.mc, g.kc, g.nc = g.m, max(g.k, 1), g.n
	if limit := blockK; g.k > limit {
		g.kc = blocks(g.k, limit, 4)
	}
	if limit := blockBytes / (size * g.kc); g.n > limit {
		g.nc = blocks(g.n, max(limit/nr*nr, nr), nr)
	}
	// A is read where it lies if its rows are contiguous, or too few tiles
	// follow for a packed copy to pay; B if packing it would cost more than the
	// detours of reading it in place: if it is small, and its rows lie near one another.
	few := g.n <= 4*nr
	g.directA = g.alpha == 1 && !g.a.conj && (g.a.cs == 1 || few)
	g.directB = !g.b.conj && g.b.cs == 1 && (g.m <= 4*mr || g.k*g.n*size <= blockBytes && g.k*abs(g.b.rs)*size <= spreadBytes)
	if limit := packedBytes / (size * g.kc); !g.directA && g.m > limit {
		g.mc = blocks(g.m, limit/mr*mr, mr)
	}
}

func (g *product[T]) run() {
	if g.m == 0 || g.n == 0 {
		return
	}
	if g.alpha == 0 || g.k == 0 || (g.beta != 0 && g.beta != 1) {
		g.scale()
		if g.alpha == 0 || g.k == 0 {
			return
		}
	}
	full, edge := &g.ws.full, &g.ws.edge
	full.one, full.one32, edge.one, edge.one32 = 1, 1, 1, 1
	for i0 := 0; i0 < g.m; i0 += g.mc {
		mb := min(g.mc, g.m-i0)
		for p0 := 0; p0 < g.k; p0 += g.kc {
			kb := min(g.kc, g.k-p0)
			add := 0
			if g.beta != 0 || p0 > 0 {
				add = 1
			}
			full.k, edge.k, full.add, edge.add = kb, kb, add, add
			a := g.blockA(i0, mb, p0, kb)
			for j0 := 0; j0 < g.n; j0 += g.nc {
				nb := min(g.nc, g.n-j0)
				g.strips(a, g.blockB(p0, kb, j0, nb), i0, mb, j0, nb)
			}
		}
	}
	full.a, full.b, full.c, edge.a, edge.b, edge.c = nil, nil, nil, nil, nil, nil
}

// scale computes C = beta·C; with beta = 0 C is not read.
func (g *product[T]) scale() {
	size := sizeOf[T]()
	for i := range g.m {
		for j := range g.n {
			p := (*T)(unsafe.Add(g.c.p, (i*g.c.rs+j*g.c.cs)*size))
			if g.beta == 0 {
				*p = 0
			} else {
				*p *= g.beta
			}
		}
	}
}

// panels is a block of A or B, packed into panels (strips, of A) or where it
// lies. Distances are in bytes.
type panels struct {
	p      unsafe.Pointer
	rs, cs int
	step   int  // from panel to panel
	padded bool // a full tile's width can be read everywhere
}

func (g *product[T]) blockA(i0, mb, p0, kb int) panels {
	size, mr := sizeOf[T](), g.set.mr()
	p := unsafe.Add(g.a.p, (i0*g.a.rs+p0*g.a.cs)*size)
	if g.directA {
		return panels{p: p, rs: g.a.rs * size, cs: g.a.cs * size, step: mr * g.a.rs * size}
	}
	buf := scratch[T](&g.ws.a, (mb+mr-1)/mr*mr*kb)
	packPanels(g.set.transposer, buf, p, g.a.cs, g.a.rs, kb, mb, mr)
	if g.a.conj {
		conjugate(buf)
	}
	if g.alpha != 1 {
		for i := range buf {
			buf[i] *= g.alpha
		}
	}
	return panels{p: unsafe.Pointer(&buf[0]), rs: size, cs: mr * size, step: mr * kb * size}
}

func (g *product[T]) blockB(p0, kb, j0, nb int) panels {
	size, nr := sizeOf[T](), g.set.nr()
	p := unsafe.Add(g.b.p, (p0*g.b.rs+j0*g.b.cs)*size)
	if g.directB {
		return panels{p: p, rs: g.b.rs * size, step: nr * size}
	}
	buf := scratch[T](&g.ws.b, (nb+nr-1)/nr*nr*kb)
	packPanels(g.set.transposer, buf, p, g.b.rs, g.b.cs, kb, nb, nr)
	if g.b.conj {
		conjugate(buf)
	}
	return panels{p: unsafe.Pointer(&buf[0]), rs: nr * size, step: nr * kb * size, padded: true}
}

// strips computes the block of C at (i0, j0) of mb×nb, strip by strip, from
// blocks of A and B.
func (g *product[T]) strips(a, b panels, i0, mb, j0, nb int) {
	size, set := sizeOf[T](), g.set
	mr, nr := set.mr(), set.nr()
	full, edge := &g.ws.full, &g.ws.edge
	whole, rest := nb/nr, nb%nr
	full.ars, edge.ars, full.acs, edge.acs = a.rs, a.rs, a.cs, a.cs
	full.brs, edge.brs = b.rs, b.rs
	full.crs, edge.crs = g.c.rs*size, g.c.rs*size
	direct := g.c.cs == 1
	if set.masked {
		set.setMask(&full.tileShape, nr)
		set.setMask(&edge.tileShape, rest)
	}
	// The collector looks at tiles: no pointer in them may leave its operand.
	if rest > 0 {
		edge.b = unsafe.Add(b.p, whole*b.step)
		if !set.masked && !b.padded {
			g.pad(edge, rest)
		}
	}
	for i := 0; i < mb; i += mr {
		rows := min(mr, mb-i)
		full.rows, edge.rows = rows, rows
		full.a = unsafe.Add(a.p, i/mr*a.step)
		edge.a = full.a
		c := unsafe.Add(g.c.p, ((i0+i)*g.c.rs+j0*g.c.cs)*size)
		kernel := set.pick(rows, nr)
		for j := range whole {
			full.b, full.c = unsafe.Add(b.p, j*b.step), unsafe.Add(c, j*nr*g.c.cs*size)
			if direct {
				kernel(full)
			} else {
				g.indirect(full, kernel, nr)
			}
		}
		if rest == 0 {
			continue
		}
		edge.c = unsafe.Add(c, whole*nr*g.c.cs*size)
		if kernel = set.pick(rows, rest); direct && set.masked {
			kernel(edge)
		} else {
			g.indirect(edge, kernel, rest)
		}
	}
}

// pad copies the w columns at t.b to where a full tile's width of each row can
// be read.
func (g *product[T]) pad(t *tile, w int) {
	nr, size := g.set.nr(), sizeOf[T]()
	buf := scratch[T](&g.ws.pad, nr*t.k)
	packPanels(g.set.transposer, buf, t.b, t.brs/size, 1, t.k, w, nr)
	t.b, t.brs = unsafe.Pointer(&buf[0]), nr*size
}

// indirect computes a tile of w columns beside C and carries it over.
func (g *product[T]) indirect(t *tile, kernel func(*tile), w int) {
	nr, size := g.set.nr(), sizeOf[T]()
	buf := scratch[T](&g.ws.out, g.set.mr()*nr)
	c, crs, add := t.c, t.crs, t.add
	t.c, t.crs, t.add = unsafe.Pointer(&buf[0]), nr*size, 0
	kernel(t)
	t.c, t.crs, t.add = c, crs, add
	for i := range t.rows {
		for j, v := range buf[i*nr : i*nr+w] {
			p := (*T)(unsafe.Add(c, i*crs+j*g.c.cs*size))
			if add != 0 {
				v += *p
			}
			*p = v
		}
	}
}
