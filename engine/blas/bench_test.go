package blas

import (
	"fmt"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
	"gonum.org/v1/gonum/blas/blas64"

	gonumblas "gonum.org/v1/gonum/blas"
)

// BenchmarkDgemm shows what a call costs (small n) beside gonum's.
func BenchmarkDgemm(b *testing.B) {
	p := open(b)
	for _, n := range []int{4, 16, 64, 256} {
		x, y, z := make([]float64, n*n), make([]float64, n*n), make([]float64, n*n)
		for i := range x {
			x[i], y[i] = float64(i%7), float64(i%5)
		}
		row := func(s []float64) engine.Matrix { return engine.Matrix{P: unsafe.Pointer(&s[0]), Row: n, Col: 1} }
		g := &engine.Gemm{DType: engine.Float64, M: n, N: n, K: n, Batch: 1, Alpha: 1, A: row(x), B: row(y), C: row(z)}
		b.Run(fmt.Sprintf("library/%d", n), func(b *testing.B) {
			prods := p.Open()
			b.ReportAllocs()
			for b.Loop() {
				prods.Gemm(g)
			}
		})
		b.Run(fmt.Sprintf("gonum/%d", n), func(b *testing.B) {
			m := func(s []float64) blas64.General { return blas64.General{Rows: n, Cols: n, Stride: n, Data: s} }
			for b.Loop() {
				blas64.Gemm(gonumblas.NoTrans, gonumblas.NoTrans, 1, m(x), m(y), 0, m(z))
			}
		})
	}
}
