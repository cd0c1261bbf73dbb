package cpu

import (
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/native"
)

// Small work stays on the caller; big work is cut, by shapes alone.
func TestWorkModel(t *testing.T) {
	pool, err := NewPool(PoolOptions{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	e, err := New(pool, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	matMul := engine.DotGeneral{ContractL: engine.AxesOf(1), ContractR: engine.AxesOf(0)}
	for _, c := range []struct {
		name string
		op   engine.Op
		in   []engine.Spec
		many bool
	}{
		{"small add", engine.Add{}, []engine.Spec{engine.SpecOf(engine.Float64, 100), engine.SpecOf(engine.Float64, 100)}, false},
		{"big add", engine.Add{}, []engine.Spec{engine.SpecOf(engine.Float64, 1<<22), engine.SpecOf(engine.Float64, 1<<22)}, true},
		{"small sum", engine.ReduceSum{Axes: engine.AxesOf(0)}, []engine.Spec{engine.SpecOf(engine.Float64, 1000)}, false},
		{"big sum to one", engine.ReduceSum{Axes: engine.AxesOf(0)}, []engine.Spec{engine.SpecOf(engine.Float64, 1<<22)}, true},
		{"big sum of columns", engine.ReduceSum{Axes: engine.AxesOf(0)}, []engine.Spec{engine.SpecOf(engine.Float64, 1000, 4000)}, true},
		{"small product", matMul, []engine.Spec{engine.SpecOf(engine.Float64, 16, 16), engine.SpecOf(engine.Float64, 16, 16)}, false},
		{"big product", matMul, []engine.Spec{engine.SpecOf(engine.Float64, 500, 500), engine.SpecOf(engine.Float64, 500, 500)}, true},
		{"big permutation", engine.Permute{Axes: engine.AxesOf(1, 0)}, []engine.Spec{engine.SpecOf(engine.Float64, 2000, 2000)}, true},
	} {
		k, err := e.Bind(c.op, c.in, nil)
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for _, s := range k.(*kernel).steps {
			most = max(most, s.parts())
		}
		if (most > 1) != c.many {
			t.Errorf("%s: cut into %d parts", c.name, most)
		}
	}
}

func TestShare(t *testing.T) {
	for n := range 40 {
		for parts := 1; parts <= 7; parts++ {
			at := 0
			for p := range parts {
				lo, hi := share(n, parts, p)
				if lo != at || hi < lo || hi-lo > n/parts+1 {
					t.Fatalf("share(%d, %d, %d) = %d, %d", n, parts, p, lo, hi)
				}
				at = hi
			}
			if at != n {
				t.Fatalf("share(%d, %d) covers %d", n, parts, at)
			}
		}
	}
}

func TestClassSize(t *testing.T) {
	for n := range 5000 {
		c := classSize(n)
		if c < n || c < smallest || n > smallest && c > n+n/4+1 || classSize(c) != c {
			t.Fatalf("classSize(%d) = %d", n, c)
		}
	}
}

// known is a provider by the name of a library whose strengths are known.
type known struct{ engine.Provider }

func (known) Name() string { return "openblas" }

// Small products and thin ones are the engine's own, others the library's, where the
// engine's kernels are not known to be better.
func TestWhoseProducts(t *testing.T) {
	for _, level := range []native.Level{native.Portable, native.AVX512} {
		e, err := Serial(Options{Provider: known{native.New(native.Options{})}, Native: native.Options{Limit: level}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		better := e.native.Level() == native.AVX512
		for _, c := range []struct {
			d       engine.DType
			m, n, k int
			own     bool
		}{
			{engine.Float64, 4, 4, 4, true}, {engine.Float64, 19, 20, 20, true}, {engine.Float64, 20, 20, 20, false},
			{engine.Complex128, 16, 16, 16, true}, {engine.Complex128, 64, 64, 64, better},
			{engine.Float64, 1000, 1000, 7, true}, {engine.Float32, 7, 1000, 1000, true}, {engine.Float64, 1000, 1, 1000, true},
			{engine.Float64, 100, 100, 100, false}, {engine.Float64, 200, 200, 200, better}, {engine.Float64, 2048, 2048, 2048, false},
			{engine.Complex64, 2048, 2048, 2048, false},
		} {
			b := binder{e: e, width: 1}
			if p := b.providerFor(c.d, &contraction{sizeM: c.m, sizeN: c.n, sizeK: c.k}); (p.kind == own) != c.own {
				t.Errorf("%v: %v, %d×%d×%d: the engine's own are taken: %v", e.native.Level(), c.d, c.m, c.n, c.k, !c.own)
			}
		}
		b := binder{e: e, width: 1}
		if p := b.providerFor(engine.Int64, &contraction{sizeM: 100, sizeN: 100, sizeK: 100}); p.kind != plain {
			t.Error("integers are multiplied by a library")
		}
	}
}
