package blas

import (
	"bytes"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// directly returns products that call directly, or skips.
func directly(t *testing.T) *Provider {
	t.Helper()
	p := open(t)
	if !p.direct {
		t.Skipf("%s is not called directly", p.Name())
	}
	return p
}

// square is a product of n×n matrices of ones, whose every element is n.
func square(d engine.DType, n int) (g engine.Gemm, c []byte, keep [2][]byte) {
	fill := func() []byte {
		b := make([]byte, n*n*d.Size())
		for i := range n * n {
			at := unsafe.Pointer(&b[i*d.Size()])
			switch d {
			case engine.Float32:
				*(*float32)(at) = 1
			case engine.Float64:
				*(*float64)(at) = 1
			case engine.Complex64:
				*(*complex64)(at) = 1
			case engine.Complex128:
				*(*complex128)(at) = 1
			}
		}
		return b
	}
	a, b, c := fill(), fill(), fill()
	at := func(x []byte) engine.Matrix { return engine.Matrix{P: unsafe.Pointer(&x[0]), Row: n, Col: 1} }
	return engine.Gemm{DType: d, M: n, N: n, K: n, Batch: 1, Alpha: 1, A: at(a), B: at(b), C: at(c)}, c, [2][]byte{a, b}
}

func first(d engine.DType, c []byte) complex128 {
	at := unsafe.Pointer(&c[0])
	switch d {
	case engine.Float32:
		return complex(float64(*(*float32)(at)), 0)
	case engine.Float64:
		return complex(*(*float64)(at), 0)
	case engine.Complex64:
		return complex128(*(*complex64)(at))
	}
	return *(*complex128)(at)
}

// The library leaves most of the stack that it is lent untouched.
func TestDirectCallsNeedLittleStack(t *testing.T) {
	p := directly(t)
	c := p.Open().(*products)
	const mark = 0xfeedfacecafebeef
	c.stack = make([]uint64, stackBytes/8)
	for i := range c.stack {
		c.stack[i] = mark
	}
	for _, d := range dtypes {
		for _, n := range []int{1, 3, 8, 33, 64, 100, 200, 256, 500} {
			g, out, keep := square(d, n)
			c.Gemm(&g)
			if got := first(d, out); got != complex(float64(n), 0) {
				t.Errorf("%v, n = %d: got %v", d, n, got)
			}
			runtime.KeepAlive(keep)
		}
	}
	deepest := 0
	for i, w := range c.stack {
		if w != mark {
			deepest = stackBytes - 8*i
			break
		}
	}
	t.Logf("%s with kernels %s used %d bytes", p.Name(), p.Kernel(), deepest)
	if deepest == 0 || deepest > stackBytes/2 {
		t.Errorf("%d of %d bytes were used", deepest, stackBytes)
	}
}

// Direct calls stand the collector, stacks that move, signals of the profiler
// and of preemption at any instruction.
func TestDirectCallsUnderSignals(t *testing.T) {
	p := directly(t)
	var out bytes.Buffer
	if err := pprof.StartCPUProfile(&out); err != nil {
		t.Fatal(err)
	}
	defer pprof.StopCPUProfile()
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	})
	var workers sync.WaitGroup
	for w := range 3 {
		workers.Go(func() {
			c := p.Open().(*products)
			for i := range 2000 {
				d := dtypes[(i+w)%len(dtypes)]
				n := 1 + i%70
				g, out, keep := square(d, n)
				deep(i%50, func() { c.Gemm(&g) })
				if got := first(d, out); got != complex(float64(n), 0) {
					t.Errorf("%v, n = %d: got %v", d, n, got)
					return
				}
				runtime.KeepAlive(keep)
			}
		})
	}
	workers.Wait()
	close(stop)
	wg.Wait()
}

// deep calls f from a stack that has to grow first.
func deep(n int, f func()) byte {
	var pad [512]byte
	if n == 0 {
		f()
		return pad[0]
	}
	return deep(n-1, f) + pad[n%len(pad)]
}

// Products that take long allocate nothing either, right after the collector has
// emptied all pools.
func TestLongCallsAllocateNothing(t *testing.T) {
	p := open(t)
	w := p.Open()
	const n = 600
	g, c, keep := square(engine.Float64, n)
	w.Gemm(&g)
	runtime.GC()
	runtime.GC() // the first keeps what pools hold for one more round
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	w.Gemm(&g)
	runtime.ReadMemStats(&after)
	if after.Mallocs != before.Mallocs {
		t.Errorf("%d allocations in a product", after.Mallocs-before.Mallocs)
	}
	if got := first(engine.Float64, c); got != n {
		t.Errorf("the product of ones is %v", got)
	}
	runtime.KeepAlive(keep)
}
