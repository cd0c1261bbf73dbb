package native

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// A batch of small products has the bits of single ones by Gemm, whose values
// other tests hold, at every level, for any strides and for shared operands.
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
	var ws Workspace
	// random is a batch of rows×cols matrices in either order, with gaps.
	random := func(rows, cols, batch int) ([]T, engine.Matrix) {
		m := engine.Matrix{Row: cols + rng.IntN(3), Col: 1}
		m.Batch = rows*m.Row + rng.IntN(3)
		if rng.IntN(3) == 0 {
			m.Row, m.Col = 1, rows+rng.IntN(3)
			m.Batch = cols*m.Col + rng.IntN(3)
		}
		x := make([]T, m.Batch*batch)
		for i := range x {
			x[i] = randomNumber[T](rng)
		}
		m.P = unsafe.Pointer(&x[0])
		return x, m
	}
	planned := 0
	for range 120 {
		m, n, k, batch := 1+rng.IntN(40), 1+rng.IntN(60), 1+rng.IntN(18), 1+rng.IntN(20)
		if rng.IntN(3) > 0 {
			m, n = 1+m%18, 1+n%26
		}
		a, ma := random(m, k, batch)
		b, mb := random(k, n, batch)
		c, mc := random(m, n, batch)
		if rng.IntN(4) == 0 {
			ma.Batch = 0 // one A for all
		}
		if rng.IntN(4) == 0 {
			mb.Batch = 0
		}
		beta := complex(float64(rng.IntN(2)), 0)
		want := append([]T{}, c...)
		g := engine.Gemm{DType: d, M: m, N: n, K: k, Batch: batch, Alpha: 1, Beta: beta, A: ma, B: mb, C: mc}
		for i := range batch {
			at := func(x []T, m engine.Matrix) Mat[T] {
				return Mat[T]{Data: x, Offset: i * m.Batch, RowStride: m.Row, ColStride: m.Col}
			}
			if err := Gemm(level, &ws, m, n, k, 1, at(a, ma), at(b, mb), number[T](beta), at(want, mc)); err != nil {
				t.Fatal(err)
			}
		}
		provider := New(Options{Limit: level})
		products := provider.Open()
		if p := provider.Plan(&g); p != nil { // in two parts
			planned++
			size, half := d.Size(), batch/2
			part := func(m engine.Matrix) unsafe.Pointer { return unsafe.Add(m.P, half*m.Batch*size) }
			again := append([]T{}, c...)
			p.Run(products, mc.P, ma.P, mb.P, half)
			p.Run(products, part(mc), part(ma), part(mb), batch-half)
			if !reflect.DeepEqual(c, want) {
				t.Fatalf("%v, %v: a plan of %d products of %d×%d×%d, beta %v, differs from single ones", level, d, batch, m, k, n, g.Beta)
			}
			copy(c, again)
		}
		products.Gemm(&g)
		if !reflect.DeepEqual(c, want) {
			t.Fatalf("%v, %v: %d products of %d×%d×%d, beta %v, differ from single ones", level, d, batch, m, k, n, g.Beta)
		}
	}
	if masked := Best(level) >= AVX2; masked != (planned > 40) {
		t.Errorf("%v, %v: %d products were planned", level, d, planned)
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
