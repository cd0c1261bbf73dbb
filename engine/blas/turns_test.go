package blas

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// TestProductsAtOnce computes small products from several goroutines at once,
// with both builds of OpenBLAS, and compares them with loops. Without locks in
// the library or turns of ours, some come out wrong.
func TestProductsAtOnce(t *testing.T) {
	const workers, m, members, rounds = 4, 8, 1000, 120
	for _, build := range []string{"serial", "pthread"} {
		t.Run(build, func(t *testing.T) {
			p, err := Open(Options{Library: debian(t, build)})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := p.Info().TakesTurns, build == "serial"; got != want {
				t.Errorf("takes turns: %v, want %v", got, want)
			}
			var wrong atomic.Int64
			var wg sync.WaitGroup
			for w := range workers {
				wg.Go(func() {
					rng := rand.New(rand.NewPCG(1, uint64(w)))
					a, b, c := make([]complex128, m*m*members), make([]complex128, m*m*members), make([]complex128, m*m*members)
					for i := range a {
						a[i], b[i] = complex(float64(rng.IntN(16)), 0), complex(0, float64(rng.IntN(16))) // products of integers are exact
					}
					want := make([]complex128, len(c))
					for s := 0; s < len(c); s += m * m {
						for i := range m {
							for k := range m {
								for j := range m {
									want[s+i*m+j] += a[s+i*m+k] * b[s+k*m+j]
								}
							}
						}
					}
					matrix := func(x []complex128) engine.Matrix {
						return engine.Matrix{P: unsafe.Pointer(&x[0]), Row: m, Col: 1, Batch: m * m}
					}
					g := engine.Gemm{DType: engine.Complex128, M: m, N: m, K: m, Batch: members, Alpha: 1,
						A: matrix(a), B: matrix(b), C: matrix(c)}
					products := p.Open()
					for range rounds {
						clear(c)
						products.Gemm(&g)
						for i := range c {
							if c[i] != want[i] {
								wrong.Add(1)
								break
							}
						}
					}
				})
			}
			wg.Wait()
			if n := wrong.Load(); n > 0 {
				t.Errorf("%d of %d batches are wrong", n, workers*rounds)
			}
		})
	}
}
