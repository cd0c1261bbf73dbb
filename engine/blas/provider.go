package blas

import (
	"fmt"
	"math"
	"sync"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// Provider is this package's [engine.Provider]. It is immutable and shared by
// any number of engines; each worker opens its own Products.
type Provider struct {
	lib  *library
	gemm [4]uintptr // by index
	max  int        // largest integer of the library

	// direct allows calls that the runtime takes for Go code: the library's
	// demand for stack is known, and it neither waits nor starts threads.
	direct bool
}

var _ engine.Provider = (*Provider)(nil)

var gemmNames = [4]string{"sgemm", "dgemm", "cgemm", "zgemm"}

func newProvider(l *library) (*Provider, error) {
	p := &Provider{lib: l, max: math.MaxInt32}
	if l.info.IntBits == 64 {
		p.max = math.MaxInt
	}
	p.direct = canEnter && l.info.Name == "openblas" && (l.info.Threads == 1 || l.info.TakesTurns)
	for i, name := range gemmNames {
		fn, err := l.routine(name)
		if err != nil {
			return nil, &engine.UnsupportedError{Op: "DotGeneral", DType: dtypes[i], Provider: l.info.Name, Reason: err.Error()}
		}
		p.gemm[i] = fn
	}
	return p, nil
}

var dtypes = [4]engine.DType{engine.Float32, engine.Float64, engine.Complex64, engine.Complex128}

// index is the place of a dtype in gemmNames, or −1.
func index(d engine.DType) int {
	if !d.IsFloat() {
		return -1
	}
	return int(d - engine.Float32)
}

// Info says what was found and done when the library was loaded.
func (p *Provider) Info() Info {
	i := p.lib.info
	i.Changes = append([]string(nil), i.Changes...)
	i.Warnings = append([]string(nil), i.Warnings...)
	return i
}

// Name is "openblas", "mkl", "blis", or "blas" for any other library.
func (p *Provider) Name() string { return p.lib.info.Name }

// Kernel is what the library says of its kernels, or its version if it says
// nothing.
func (p *Provider) Kernel() string {
	if k := p.lib.info.Kernel; k != "" {
		return k
	}
	return p.lib.info.Version
}

// Supports says whether d is floating point.
func (p *Provider) Supports(d engine.DType) bool { return d.IsFloat() }

// SplitInvariant is false: libraries choose tiles and orders of summation by the
// shape of the whole product.
func (p *Provider) SplitInvariant() bool { return false }

// Tile is a granularity that no library's kernels suffer from, and that leaves equal
// parts of most sizes.
func (p *Provider) Tile(engine.DType) (rows, cols int) { return 16, 16 }

// Fit says which operands cannot be passed to the library: see [engine.Provider].
func (p *Provider) Fit(g *engine.Gemm) engine.Misfit {
	_, bad := p.layout(g)
	return bad
}

// Open returns the products of one worker.
func (p *Provider) Open() engine.Products {
	c := &products{p: p}
	at := func(q unsafe.Pointer) uintptr { return uintptr(q) } // c is on the heap and does not move
	for i := range 2 {
		c.args[i] = at(unsafe.Pointer(&c.by.trans[i]))
		c.args[argStringLen+i] = 1
	}
	for i, arg := range [...]int{argM, argN, argK, argLDA, argLDB, argLDC} {
		c.args[arg] = at(unsafe.Pointer(&c.by.ints[i]))
	}
	c.args[argAlpha], c.args[argBeta] = at(unsafe.Pointer(&c.by.alpha)), at(unsafe.Pointer(&c.by.beta))
	return c
}

// Positions of gemm's arguments. The lengths of the two strings come last.
const (
	argTransA = iota
	argTransB
	argM
	argN
	argK
	argAlpha
	argA
	argLDA
	argB
	argLDB
	argBeta
	argC
	argLDC
	argStringLen
	argCount = argStringLen + 2
)

// order is an operand as the library sees it: column-major, to be transposed
// or not, with its leading dimension.
type order struct {
	trans byte
	ld    int
}

// plan is the call that computes a product.
type plan struct {
	swapped bool // C is row-major: its transpose, op(B)ᵀ·op(A)ᵀ, is computed
	a, b    order
	ldc     int
}

// layout plans the call and says which operands do not fit. If C does not, the
// others are judged for a row-major C.
func (p *Provider) layout(g *engine.Gemm) (plan, engine.Misfit) {
	var w plan
	var bad engine.Misfit
	var ok bool
	if w.ldc, ok = p.leading(g.M, g.N, g.C.Row, g.C.Col); ok {
		w.swapped = true
	} else if w.ldc, ok = p.leading(g.N, g.M, g.C.Col, g.C.Row); !ok {
		w.swapped, bad = true, engine.MisfitC
	}
	complex := g.DType.IsComplex()
	if w.a, ok = p.operand(g.M, g.K, g.A, g.ConjA && complex, w.swapped); !ok {
		bad |= engine.MisfitA
	}
	if w.b, ok = p.operand(g.K, g.N, g.B, g.ConjB && complex, w.swapped); !ok {
		bad |= engine.MisfitB
	}
	return w, bad
}

// leading says whether a rows×cols matrix with these strides has contiguous
// rows at a distance that the library can be told, and returns that distance.
func (p *Provider) leading(rows, cols, row, col int) (ld int, ok bool) {
	if cols > 1 && col != 1 {
		return 0, false
	}
	if rows <= 1 || cols == 0 {
		row = max(cols, 1)
	}
	return row, row >= max(cols, 1) && row <= p.max
}

// operand says how a rows×cols input is passed. Row-major operands of a
// row-major product and column-major ones of a column-major product need no
// transposition; conjugation exists only together with one.
func (p *Provider) operand(rows, cols int, x engine.Matrix, conj, rowMajor bool) (order, bool) {
	byRows, okRows := p.leading(rows, cols, x.Row, x.Col)
	byCols, okCols := p.leading(cols, rows, x.Col, x.Row)
	plain, okPlain, turned, okTurned := byRows, okRows, byCols, okCols
	if !rowMajor {
		plain, okPlain, turned, okTurned = byCols, okCols, byRows, okRows
	}
	switch {
	case okPlain && !conj:
		return order{'N', plain}, true
	case okTurned && conj:
		return order{'C', turned}, true
	case okTurned:
		return order{'T', turned}, true
	}
	return order{}, false
}

// values is what a call's arguments point to, but for the matrices.
type values struct {
	trans       [2]byte
	ints        [6]int64 // m, n, k, lda, ldb, ldc; the low half where integers have 32 bits
	alpha, beta [2]float64
}

// shape sets the values of a call for m×k by k×n that is made as w says.
func (v *values) shape(w plan, m, n, k int) {
	oa, ob := w.a, w.b
	if w.swapped {
		m, n, oa, ob = n, m, ob, oa
	}
	v.trans = [2]byte{oa.trans, ob.trans}
	v.ints = [6]int64{int64(m), int64(n), int64(k), int64(oa.ld), int64(ob.ld), int64(w.ldc)}
}

// scalars puts alpha and beta where the library reads them, in g's dtype.
func (v *values) scalars(g *engine.Gemm) {
	put := func(to *[2]float64, x complex128) {
		*to = [2]float64{real(x), imag(x)}
		if g.DType.Size() == 4 || g.DType == engine.Complex64 {
			*to = [2]float64{}
			f := (*[2]float32)(unsafe.Pointer(to))
			*f = [2]float32{float32(real(x)), float32(imag(x))}
		}
	}
	put(&v.alpha, g.Alpha)
	put(&v.beta, g.Beta)
}

// products is one worker's calls: its argument array and the memory that the
// arguments' addresses point to.
type products struct {
	p        *Provider
	args     [argCount]uintptr
	crossing [2]uintptr // function and args, for leave
	by       values
	a, b, c  unsafe.Pointer // what the library works on, kept alive and in place
	stack    []uint64       // for direct calls; made by the first
	none     complex128     // stands for operands without elements
}

// Gemm computes g, whose Fit must be 0; it panics otherwise, before the
// library sees an argument that it would end the process for.
func (c *products) Gemm(g *engine.Gemm) {
	w, bad := c.p.layout(g)
	i := index(g.DType)
	if bad != 0 || i < 0 || g.M < 0 || g.N < 0 || g.K < 0 || g.Batch < 0 {
		panic(fmt.Sprintf("blas: product of %v, %d×%d×%d that Fit denies (operands %03b)", g.DType, g.M, g.N, g.K, bad))
	}
	if g.M == 0 || g.N == 0 || g.Batch == 0 {
		return
	}
	c.by.scalars(g)
	skip := g.K == 0 || g.Alpha == 0
	if skip { // A and B may have no elements at all
		ld := min(max(g.M, g.N), c.p.max)
		w.a, w.b = order{'N', ld}, order{'N', ld}
	}
	size := g.DType.Size()
	c.a, c.b, c.c = g.A.P, g.B.P, g.C.P
	for n := range g.Batch {
		if n > 0 {
			c.c = unsafe.Add(c.c, g.C.Batch*size)
			if !skip {
				c.a, c.b = unsafe.Add(c.a, g.A.Batch*size), unsafe.Add(c.b, g.B.Batch*size)
			}
		}
		c.pieces(g, w, i, size, skip)
	}
	c.a, c.b, c.c = nil, nil, nil
}

// pieces makes one call, or several where an extent is beyond the library's
// integers.
func (c *products) pieces(g *engine.Gemm, w plan, i, size int, skip bool) {
	limit := c.p.max
	if g.M <= limit && g.N <= limit && g.K <= limit {
		k := g.K
		if skip {
			k = 0
		}
		c.call(w, i, g.M, g.N, k, c.a, c.b, c.c)
		return
	}
	beta := c.by.beta
	for m := 0; m < g.M; m += limit {
		for n := 0; n < g.N; n += limit {
			out := unsafe.Add(c.c, (m*g.C.Row+n*g.C.Col)*size)
			mb, nb := min(limit, g.M-m), min(limit, g.N-n)
			c.by.beta = beta
			if skip {
				c.call(w, i, mb, nb, 0, nil, nil, out)
				continue
			}
			for k := 0; k < g.K; k += limit {
				a := unsafe.Add(c.a, (m*g.A.Row+k*g.A.Col)*size)
				b := unsafe.Add(c.b, (k*g.B.Row+n*g.B.Col)*size)
				c.call(w, i, mb, nb, min(limit, g.K-k), a, b, out)
				c.one(&c.by.beta, i)
			}
		}
	}
	c.by.beta = beta
}

// one sets a scalar to 1 in the dtype of index i.
func (c *products) one(to *[2]float64, i int) {
	*to = [2]float64{1, 0}
	if i == 0 || i == 2 {
		*to = [2]float64{}
		*(*float32)(unsafe.Pointer(to)) = 1
	}
}

// turns is held during each call of a library that cannot be called by several
// threads at once. A library is in a process once, whoever opens it how often.
var turns sync.Mutex

// call makes one call of the library.
func (c *products) call(w plan, i, m, n, k int, a, b, out unsafe.Pointer) {
	if a == nil || k == 0 {
		a = unsafe.Pointer(&c.none)
	}
	if b == nil || k == 0 {
		b = unsafe.Pointer(&c.none)
	}
	if w.swapped {
		a, b = b, a
	}
	c.by.shape(w, m, n, k)
	c.cross(c.p.gemm[i], brief(i, m, n, k), a, b, out)
}

// cross calls fn with the values that are set.
func (c *products) cross(fn uintptr, brief bool, a, b, out unsafe.Pointer) {
	c.args[argA], c.args[argB], c.args[argC] = uintptr(a), uintptr(b), uintptr(out)
	if c.p.lib.info.TakesTurns {
		turns.Lock()
		defer turns.Unlock()
	}
	if brief && c.p.direct {
		c.enter(fn)
		return
	}
	c.leave(fn)
}

// A call through the runtime gives up the goroutine's place in the scheduler
// (its P) after some 20 µs, wakes the scheduler's monitor when it returns, and
// waits for a place when others compute, for milliseconds. So a call that is
// over soon is made directly: the runtime takes it for Go code. What it cannot
// do meanwhile is stop the world, so only calls that take a core a few
// milliseconds at most are made so.
const (
	briefWork = 1 << 27 // multiply-adds of real numbers, doubles counted twice
	briefEdge = 1 << 13 // thin products move more than they compute
)

// brief says whether a product of index i, in gemmNames, is over soon.
func brief(i, m, n, k int) bool {
	return max(m, n, k) <= briefEdge && max(m, 16)*max(n, 16)*max(k, 16) <= briefWork>>i
}

// stackBytes is what the kernels of OpenBLAS use of the stack, tens of
// kilobytes at most, several times over.
const stackBytes = 256 << 10

// enter calls fn on a stack of the products' own. C needs more than a
// goroutine's has.
func (c *products) enter(fn uintptr) {
	if c.stack == nil {
		c.stack = make([]uint64, stackBytes/8)
	}
	top := unsafe.Add(unsafe.Pointer(unsafe.SliceData(c.stack)), stackBytes-64)
	enter(fn, &c.args, unsafe.Pointer(uintptr(top)&^15))
}
