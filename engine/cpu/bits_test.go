package cpu_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/blas"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/enginetest"
	"github.com/hataori/hataori-go/engine/native"
)

// library opens the BLAS of this machine, or skips.
func library(t *testing.T) engine.Provider {
	t.Helper()
	p, err := blas.Open(blas.Options{})
	if err != nil {
		t.Skipf("no BLAS: %v", err)
	}
	return p
}

func TestBLAS(t *testing.T) {
	p := library(t)
	enginetest.Run(t, func(t *testing.T) engine.Execution { return open(t, 1, cpu.Options{Provider: p}) })
}

func TestBLASFixedTiles(t *testing.T) {
	p := library(t)
	enginetest.Run(t, func(t *testing.T) engine.Execution {
		return open(t, 2, cpu.Options{Provider: p, FixedTiles: true})
	})
}

func TestPortable(t *testing.T) {
	opts := native.Options{Limit: native.Portable}
	enginetest.Run(t, func(t *testing.T) engine.Execution {
		return open(t, 1, cpu.Options{Provider: native.New(opts), Native: opts})
	})
}

// bitsOf runs op on e and returns the bits of the result.
func bitsOf(t *testing.T, e *cpu.Engine, op engine.Op, in ...*engine.Tensor) []uint64 {
	t.Helper()
	out, err := engine.Eval(e, op, in...)
	if err != nil {
		t.Fatal(err)
	}
	x := out[0]
	v, err := engine.Download[float64](e, x)
	if err != nil {
		t.Fatal(err)
	}
	bits := make([]uint64, len(v))
	for i, f := range v {
		bits[i] = math.Float64bits(f)
	}
	if err := e.Release(x); err != nil {
		t.Fatal(err)
	}
	return bits
}

// Results do not depend on the width: sums, elementwise operations, native
// products, and a library's products under FixedTiles.
func TestBitsAcrossWidths(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	random := func(extents ...int) *engine.Tensor {
		n := 1
		for _, x := range extents {
			n *= x
		}
		v := make([]float64, n)
		for i := range v {
			v[i] = rnd.NormFloat64()
		}
		x, err := engine.FromSlice(v, extents...)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	long, wide, tall := random(1<<20+17), random(3, 300007), random(200003, 5)
	a, b := random(301, 257), random(257, 403)
	ba, bb := random(7, 90, 61), random(7, 61, 83)
	matMul := engine.DotGeneral{ContractL: engine.AxesOf(1), ContractR: engine.AxesOf(0)}
	batched := engine.DotGeneral{BatchL: engine.AxesOf(0), BatchR: engine.AxesOf(0), ContractL: engine.AxesOf(2), ContractR: engine.AxesOf(1)}
	results := func(e *cpu.Engine) [][]uint64 {
		return [][]uint64{
			bitsOf(t, e, engine.ReduceSum{Axes: engine.AxesOf(0)}, long),
			bitsOf(t, e, engine.ReduceSum{Axes: engine.AxesOf(1)}, wide),
			bitsOf(t, e, engine.ReduceSum{Axes: engine.AxesOf(0)}, tall),
			bitsOf(t, e, engine.ReduceSum{Axes: engine.AxesOf(1)}, tall),
			bitsOf(t, e, engine.Mul{}, long, long),
			bitsOf(t, e, engine.Exp, long),
			bitsOf(t, e, engine.Reduce{F: engine.Norm2, Axes: engine.AxesOf(0)}, long),
			bitsOf(t, e, engine.Reduce{F: engine.ReduceProd, Axes: engine.AxesOf(1)}, wide),
			bitsOf(t, e, engine.Reduce{F: engine.LogSumExp, Axes: engine.AxesOf(0)}, tall),
			bitsOf(t, e, engine.Reduce{F: engine.ReduceMean, Axes: engine.AxesOf(1)}, tall),
			bitsOf(t, e, engine.CumSum{Axis: 0}, tall),
			bitsOf(t, e, engine.Random{Spec: engine.SpecOf(engine.Float64, 300007), Distribution: engine.Normal, Seed: 3}),
			bitsOf(t, e, matMul, a, b),
			bitsOf(t, e, batched, ba, bb),
		}
	}
	check := func(name string, opts cpu.Options) {
		want := results(open(t, 1, opts))
		for _, width := range []int{2, 3, 5} {
			for i, got := range results(open(t, width, opts)) {
				if !slices.Equal(got, want[i]) {
					t.Errorf("%s: result %d has other bits at width %d", name, i, width)
				}
			}
		}
	}
	check("native", cpu.Options{})
	if p, err := blas.Open(blas.Options{}); err == nil {
		check("blas, fixed tiles", cpu.Options{Provider: p, FixedTiles: true})
	}
}

// broken is a provider that lacks what it is asked for.
type broken struct{ engine.Provider }

func (broken) Name() string                   { return "broken" }
func (broken) Supports(engine.DType) bool     { return true }
func (broken) Fit(*engine.Gemm) engine.Misfit { return engine.MisfitA }

func TestProviderThatFitsNothing(t *testing.T) {
	e := open(t, 1, cpu.Options{Provider: broken{native.New(native.Options{})}})
	s := engine.SpecOf(engine.Float64, 64, 64)
	_, err := e.Bind(engine.DotGeneral{ContractL: engine.AxesOf(1), ContractR: engine.AxesOf(0)}, []engine.Spec{s, s}, nil)
	var u *engine.UnsupportedError
	if !errors.As(err, &u) || u.Provider != "broken" {
		t.Fatalf("error %v, want an UnsupportedError that names the provider", err)
	}
}
