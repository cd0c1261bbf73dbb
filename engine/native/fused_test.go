package native

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// A batch of small products has the bits of single products, whose values
// other tests hold, at every level, for shared operands and padded rows too.
func TestBatchesHaveTheBitsOfSingleProducts(t *testing.T) {
	for _, level := range []Level{Portable, AVX2, AVX512} {
		batches[float32](t, level, engine.Float32)
		batches[float64](t, level, engine.Float64)
		batches[complex64](t, level, engine.Complex64)
		batches[complex128](t, level, engine.Complex128)
	}
}

func batches[T Number](t *testing.T, level Level, d engine.DType) {
	rng := rand.New(rand.NewPCG(1, uint64(d)))
	p := New(Options{Limit: level})
	random := func(n int) []T {
		x := make([]T, n)
		for i := range x {
			x[i] = randomNumber[T](rng)
		}
		return x
	}
	for range 60 {
		m, n, k, batch := 1+rng.IntN(18), 1+rng.IntN(40), 1+rng.IntN(18), 1+rng.IntN(90)
		lda, ldb, ldc := k+rng.IntN(3), n+rng.IntN(3), n+rng.IntN(3)
		sa, sb, sc := m*lda, k*ldb, m*ldc
		if rng.IntN(4) == 0 {
			sa = 0 // one A for all
		}
		if rng.IntN(4) == 0 {
			sb = 0
		}
		a, b, c := random(m*lda*batch), random(k*ldb*batch), random(m*ldc*batch)
		want := append([]T{}, c...)
		g := engine.Gemm{DType: d, M: m, N: n, K: k, Batch: batch, Alpha: 1, Beta: complex(float64(rng.IntN(2)), 0),
			A: engine.Matrix{P: unsafe.Pointer(&a[0]), Row: lda, Col: 1, Batch: sa},
			B: engine.Matrix{P: unsafe.Pointer(&b[0]), Row: ldb, Col: 1, Batch: sb},
			C: engine.Matrix{P: unsafe.Pointer(&c[0]), Row: ldc, Col: 1, Batch: sc}}
		products := p.Open()
		products.Gemm(&g)
		one := g
		one.Batch = 1
		for i := range batch {
			one.A.P, one.B.P, one.C.P = unsafe.Pointer(&a[i*sa]), unsafe.Pointer(&b[i*sb]), unsafe.Pointer(&want[i*sc])
			products.Gemm(&one)
		}
		if !reflect.DeepEqual(c, want) {
			t.Fatalf("%v, %v: %d products of %d×%d×%d, beta %v, differ from single ones", level, d, batch, m, k, n, g.Beta)
		}
	}
}

func randomNumber[T Number](rng *rand.Rand) T {
	var x T
	switch p := any(&x).(type) {
	case *float32:
		*p = rng.Float32() - 0.5
	case *float64:
		*p = rng.Float64() - 0.5
	case *complex64:
		*p = complex(rng.Float32()-0.5, rng.Float32()-0.5)
	case *complex128:
		*p = complex(rng.Float64()-0.5, rng.Float64()-0.5)
	}
	return x
}

func TestBatchesAllocateNothing(t *testing.T) {
	products := New(Options{}).Open()
	x := make([]complex128, 3*1024*16)
	at := func(i int) engine.Matrix {
		return engine.Matrix{P: unsafe.Pointer(&x[i*1024*16]), Row: 4, Col: 1, Batch: 16}
	}
	g := engine.Gemm{DType: engine.Complex128, M: 4, N: 4, K: 4, Batch: 1024, Alpha: 1, A: at(0), B: at(1), C: at(2)}
	if n := testing.AllocsPerRun(20, func() { products.Gemm(&g) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
