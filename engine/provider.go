package engine

import "unsafe"

// Provider supplies matrix products to host engines. A provider is immutable
// and may back any number of engines at once; what a worker needs of its own
// (argument arrays, packing buffers) is in the Products that it opens.
type Provider interface {
	// Name is "native", "openblas", …
	Name() string
	// Kernel is the implementation in use as read from the library or chosen
	// by processor flags: "SkylakeX", "avx512", "portable".
	Kernel() string
	// Supports says whether products of this dtype are supplied.
	Supports(d DType) bool
	// SplitInvariant says whether the bits of an element of the product are
	// the same when the product is computed by row or column panels cut at
	// multiples of Tile. Engines split a single product over workers only
	// then, or when told to fix the panels whatever their width.
	SplitInvariant() bool
	// Tile is the granularity, in rows and columns, at which a product may
	// be cut.
	Tile(d DType) (rows, cols int)
	// Fit says which operands of a product the provider cannot read or write
	// as they lie. Only dtype, sizes, strides and conjugation of g are
	// looked at; pointers may be nil. Called when a kernel is bound.
	Fit(g *Gemm) Misfit
	// Plan makes products ready that differ from g in their addresses and in
	// the length of their batch alone, for when calls follow one another
	// closely; nil if there is nothing to make ready. Fit(g) must be zero. No
	// pointer is looked at.
	Plan(g *Gemm) GemmPlan
	// Open returns the products of one worker.
	Open() Products
}

// GemmPlan is a product that a provider has made ready. It is immutable and
// has the bits of [Products.Gemm].
type GemmPlan interface {
	// Run computes n ≥ 1 members of the batch, the first of them from the
	// operands at a and b into the one at c. p is of the same provider.
	Run(p Products, c, a, b unsafe.Pointer, n int)
}

// Products computes matrix products for one goroutine at a time.
type Products interface {
	// Gemm computes g. Fit(g) must be zero, and the arguments have been
	// checked: it cannot fail. It allocates nothing once warm, and starts no
	// goroutine or thread. g is not kept and not changed.
	Gemm(g *Gemm)
}

// Misfit says which operands must be copied: A and B to compact row-major
// matrices with the conjugation applied, C by way of a compact row-major matrix.
type Misfit uint8

// The operands of a product.
const (
	MisfitA Misfit = 1 << iota
	MisfitB
	MisfitC
)

// Matrix is a strided matrix in host memory: element (i, j) of member b of a
// batch lies (i·Row + j·Col + b·Batch) elements after P. Strides may be negative
// or, for A and B, zero.
type Matrix struct {
	P               unsafe.Pointer
	Row, Col, Batch int
}

// Gemm is a batch of matrix products
//
//	C_b = Alpha · op(A_b) · op(B_b) + Beta · C_b,    b = 0 … Batch−1
//
// A is M×K, B is K×N, C is M×N as seen through their strides (a transposed
// operand is one with exchanged strides); op conjugates where ConjA or ConjB
// is set. Batch ≥ 1. With Beta 0, C is not read; with Alpha 0 or K 0, A and B
// are not. Alpha and Beta are rounded to the dtype; their imaginary parts are 0
// for real dtypes. The members of C do not overlap one another nor A or B.
type Gemm struct {
	DType        DType
	ConjA, ConjB bool
	M, N, K      int
	Batch        int
	Alpha, Beta  complex128
	A, B, C      Matrix
}
