package einsum

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/blas"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/enginetest"
	"github.com/hataori/hataori-go/engine/native"
	"github.com/hataori/hataori-go/engine/ref"
)

// oracle contracts in one loop nest over all labels, as the definition says.
func oracle(s Subscripts, shapes [][]int, operands [][]complex128) []complex128 {
	size := map[Label]int{}
	var labels []Label
	for k := range operands {
		for axis, l := range s.Input(k) {
			if _, known := size[l]; !known {
				labels = append(labels, l)
			}
			size[l] = shapes[k][axis]
		}
	}
	at := map[Label]int{}
	index := func(of []Label) int {
		i := 0
		for _, l := range of {
			i = i*size[l] + at[l]
		}
		return i
	}
	elements := 1
	for _, l := range s.Output() {
		elements *= size[l]
	}
	out := make([]complex128, elements)
	var loop func(depth int)
	loop = func(depth int) {
		if depth == len(labels) {
			term := complex128(1)
			for k, x := range operands {
				term *= x[index(s.Input(k))]
			}
			out[index(s.Output())] += term
			return
		}
		for i := range size[labels[depth]] {
			at[labels[depth]] = i
			loop(depth + 1)
		}
	}
	loop(0)
	return out
}

// randomCase draws operands that share labels in every way there is.
func randomCase(rng *rand.Rand) (Subscripts, [][]int) {
	return drawCase(rng, 1+rng.IntN(5), []int{2, 3, 2, 1, 4, 2, 3})
}

// productCase draws operands one of whose products is large enough for a library.
func productCase(rng *rand.Rand) (Subscripts, [][]int, Path) {
	for {
		s, shapes := drawCase(rng, 2+rng.IntN(2), []int{24, 21, 20, 9, 1})
		path := randomPath(rng, len(shapes))
		p, err := NewPlan(s, shapes, path)
		if err != nil {
			panic(err)
		}
		size := func(labels []int) int { return product(p.tree.shape(labels, p.sizes)) }
		for _, st := range p.stages {
			m, n, k := size(st.leftFree), size(st.rightFree), size(st.summed)
			if st.kind == dot && min(m, n, k) >= 9 && m*n*k >= 9000 {
				return s, shapes, path
			}
		}
	}
}

func drawCase(rng *rand.Rand, operands int, sizes []int) (Subscripts, [][]int) {
	var inputs [][]Label
	var shapes [][]int
	for range operands {
		var labels []Label
		var shape []int
		for range rng.IntN(4) {
			l := rng.IntN(len(sizes))
			labels, shape = append(labels, Label('a'+l)), append(shape, sizes[l])
		}
		inputs, shapes = append(inputs, labels), append(shapes, shape)
	}
	var known []Label
	for _, labels := range inputs {
		for _, l := range labels {
			if !slices.Contains(known, l) {
				known = append(known, l)
			}
		}
	}
	rng.Shuffle(len(known), func(i, j int) { known[i], known[j] = known[j], known[i] })
	output := slices.Clone(known[:rng.IntN(len(known)+1)])
	if len(output) > 0 && rng.IntN(5) == 0 { // the diagonal of two axes
		output = slices.Insert(output, rng.IntN(len(output)+1), output[rng.IntN(len(output))])
	}
	s, err := NewSubscripts(inputs, output)
	if err != nil {
		panic(err)
	}
	return s, shapes
}

func randomPath(rng *rand.Rand, operands int) Path {
	path := Path{}
	for live := operands; live > 1; live-- {
		i := rng.IntN(live)
		j := rng.IntN(live - 1)
		if j >= i {
			j++
		}
		path = append(path, [2]int{i, j})
	}
	return path
}

func randomCuts(rng *rand.Rand, p *Plan) []Cut {
	var cuts []Cut
	for l, size := range p.tree.sizes {
		if rng.IntN(3) == 0 && size > 0 {
			parts := smallestFactor(size)
			if rng.IntN(2) == 0 {
				parts = size
			}
			cuts = append(cuts, Cut{p.tree.labels[l], parts})
		}
	}
	return cuts
}

// tensorOf puts values into a tensor of dtype T, compact or with its axes
// reversed in memory.
func tensorOf[T float32 | float64 | complex64 | complex128](t *testing.T, values []complex128, shape []int, reversed bool) *engine.Tensor {
	t.Helper()
	strides, stride := make([]int, len(shape)), 1
	for i := range shape {
		axis := len(shape) - 1 - i
		if reversed {
			axis = i
		}
		strides[axis] = stride
		stride *= shape[axis]
	}
	data := make([]T, len(values)+3)
	index := make([]int, len(shape))
	for _, v := range values {
		at := 3
		for axis, i := range index {
			at += i * strides[axis]
		}
		data[at] = fromComplex[T](v)
		for axis := len(shape) - 1; axis >= 0; axis-- {
			if index[axis]++; index[axis] < shape[axis] {
				break
			}
			index[axis] = 0
		}
	}
	x, err := engine.FromStrided(data, 3, engine.ShapeOf(shape...), engine.StridesOf(strides...))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func fromComplex[T float32 | float64 | complex64 | complex128](v complex128) T {
	var z T
	switch p := any(&z).(type) {
	case *float32:
		*p = float32(real(v))
	case *float64:
		*p = real(v)
	case *complex64:
		*p = complex64(v)
	case *complex128:
		*p = v
	}
	return z
}

func toComplex[T float32 | float64 | complex64 | complex128](x T) complex128 {
	switch x := any(x).(type) {
	case float32:
		return complex(float64(x), 0)
	case float64:
		return complex(x, 0)
	case complex64:
		return complex128(x)
	case complex128:
		return x
	}
	panic("no such type")
}

// contract runs all slices of a plan and puts them together.
func contract[T float32 | float64 | complex64 | complex128](t *testing.T, e engine.Execution, p *Plan, operands []*engine.Tensor) []T {
	t.Helper()
	specs := make([]engine.Spec, len(operands))
	for k, x := range operands {
		specs[k] = x.Spec()
	}
	r, err := p.Prepare(e, specs...)
	if err != nil {
		t.Fatalf("%v: %v", p, err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := r.Load(operands...); err != nil {
		t.Fatal(err)
	}
	whole := make([]T, product(p.OutputShape()))
	part := make([]T, product(p.SliceShape()))
	out, err := engine.FromSlice(part, p.SliceShape()...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Slices() {
		for k := range part { // what is left from before must not matter
			part[k] = fromComplex[T](cmplx.NaN())
		}
		if err := r.Run(out, i); err != nil {
			t.Fatalf("%v, slice %d: %v", p.subscripts, i, err)
		}
		if err := AddSlice(p, whole, i, part); err != nil {
			t.Fatal(err)
		}
	}
	return whole
}

func testRandom[T float32 | float64 | complex64 | complex128](t *testing.T, tolerance float64) {
	t.Run("ref", func(t *testing.T) { testRandomOn[T](t, ref.New(), tolerance) })
	all, before := engines(t, false), int64(0)
	p, _ := library() // if there is none, it has no engine
	if all["blas1"] != nil {
		before = p.Taken[engine.DTypeOf[T]()].Load()
	}
	for name, open := range all {
		t.Run(name, func(t *testing.T) { testRandomOn[T](t, open(t), tolerance) })
	}
	if all["blas1"] != nil && p.Taken[engine.DTypeOf[T]()].Load() < before+20 {
		t.Error("the library was given next to no products: the test tests the engine's own")
	}
	for _, limit := range []native.Level{native.Portable, native.AVX2} { // without some of what the processor has
		if native.Best(limit) != limit || native.Best(native.Auto) == limit {
			continue
		}
		t.Run("native1 "+limit.String(), func(t *testing.T) {
			e, err := cpu.Serial(cpu.Options{Native: native.Options{Limit: limit}})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			testRandomOn[T](t, e, tolerance)
		})
	}
}

var library = sync.OnceValues(func() (*enginetest.Nameless, error) {
	p, err := blas.Open(blas.Options{})
	return &enginetest.Nameless{Provider: p}, err
})

// engines opens CPU engines of both providers, as far as they are there, and of
// widths 1 and 2.
func engines(t *testing.T, fixedTiles bool) map[string]func(t *testing.T) *cpu.Engine {
	t.Helper()
	providers := map[string]engine.Provider{"native": nil}
	if p, err := library(); err == nil {
		providers["blas"] = p
	} else if missing := (*blas.NotFoundError)(nil); !errors.As(err, &missing) {
		t.Fatal(err)
	}
	all := map[string]func(t *testing.T) *cpu.Engine{}
	for name, provider := range providers {
		for width := 1; width <= 2; width++ {
			all[fmt.Sprint(name, width)] = func(t *testing.T) *cpu.Engine {
				t.Helper()
				pool, err := cpu.NewPool(cpu.PoolOptions{Workers: width})
				if err != nil {
					t.Fatal(err)
				}
				e, err := cpu.New(pool, cpu.Options{Provider: provider, FixedTiles: fixedTiles})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := e.Close(); err != nil {
						t.Error(err)
					}
				})
				return e
			}
		}
	}
	return all
}

func testRandomOn[T float32 | float64 | complex64 | complex128](t *testing.T, e engine.Execution, tolerance float64) {
	rng := rand.New(rand.NewPCG(7, 11))
	for n := range 200 {
		s, shapes := randomCase(rng)
		path := randomPath(rng, len(shapes))
		if n%20 == 18 {
			s, shapes, path = productCase(rng)
		}
		values := make([][]complex128, len(shapes))
		operands := make([]*engine.Tensor, len(shapes))
		for k, shape := range shapes {
			values[k] = make([]complex128, product(shape))
			for i := range values[k] {
				values[k][i] = complex(rng.Float64()-0.5, 0)
				if engine.DTypeOf[T]().IsComplex() {
					values[k][i] += complex(0, rng.Float64()-0.5)
				}
			}
			operands[k] = tensorOf[T](t, values[k], shape, rng.IntN(3) == 0)
		}
		p, err := NewPlan(s, shapes, path)
		if err != nil {
			t.Fatal(err)
		}
		what := fmt.Sprintf("case %d, %v of %v along %v", n, s, shapes, p.path)
		if n%2 == 1 {
			if p, err = p.Slice(randomCuts(rng, p)...); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
		}
		got := contract[T](t, e, p, operands)
		for i, want := range oracle(s, shapes, values) {
			if d := cmplx.Abs(toComplex(got[i]) - want); !(d <= tolerance*math.Max(1, cmplx.Abs(want))) {
				t.Fatalf("%s, cuts %v: element %d is %v, want %v", what, p.Cuts(), i, got[i], want)
			}
		}
	}
}

func TestRandomEinsums(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testRandom[float32](t, 2e-5) })
	t.Run("float64", func(t *testing.T) { testRandom[float64](t, 1e-12) })
	t.Run("complex64", func(t *testing.T) { testRandom[complex64](t, 2e-5) })
	t.Run("complex128", func(t *testing.T) { testRandom[complex128](t, 1e-12) })
}

// largeCase draws operands of a network whose steps are worth more than one worker.
func largeCase(rng *rand.Rand) (Subscripts, [][]int, Path) {
	for {
		s, shapes := randomNetwork(rng, 2+rng.IntN(4), 4+rng.IntN(4))
		for _, shape := range shapes {
			for axis := range shape {
				if shape[axis] > 1 {
					shape[axis] = 13*shape[axis] - 11
				}
			}
		}
		path, err := Greedy(s, shapes, GreedyOptions{Trials: 1})
		if err != nil {
			continue // too large to be addressed
		}
		p, err := NewPlan(s, shapes, path)
		if err != nil {
			continue
		}
		if c := p.Cost(); c.Operations > 15e5 && c.Operations < 3e6 && c.Peak < 1<<20 && product(p.OutputShape()) < 1<<20 {
			return s, shapes, path
		}
	}
}

// Contractions that more than one worker share have the values of the reference
// engine, and the bits do not change from run to run.
func testWorkers[T float32 | float64 | complex64 | complex128](t *testing.T, tolerance float64) {
	cases := 2
	if testing.Short() {
		cases = 1
	}
	rng := rand.New(rand.NewPCG(41, 42))
	for range cases {
		s, shapes, path := largeCase(rng)
		p, err := NewPlan(s, shapes, path)
		if err != nil {
			t.Fatal(err)
		}
		operands := make([]*engine.Tensor, len(shapes))
		for k, shape := range shapes {
			values := make([]complex128, product(shape))
			for i := range values { // positive, so that relative errors mean what they say
				values[i] = complex(0.5+rng.Float64(), 0)
				if engine.DTypeOf[T]().IsComplex() {
					values[i] *= 1 + 1i
				}
			}
			operands[k] = tensorOf[T](t, values, shape, rng.IntN(3) == 0)
		}
		want := contract[T](t, ref.New(), p, operands)
		for name, open := range engines(t, false) {
			e := open(t)
			got := contract[T](t, e, p, operands)
			for i := range want {
				if d, w := cmplx.Abs(toComplex(got[i])-toComplex(want[i])), cmplx.Abs(toComplex(want[i])); !(d <= tolerance*w) {
					t.Fatalf("%s: %v of %v: element %d is %v, the reference engine makes %v", name, s, shapes, i, got[i], want[i])
				}
			}
			if again := contract[T](t, e, p, operands); !slices.Equal(got, again) {
				t.Errorf("%s: %v of %v: two runs, two results", name, s, shapes)
			}
		}
	}
}

func TestWorkersAgainstTheReferenceEngine(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testWorkers[float32](t, 1e-4) })
	t.Run("float64", func(t *testing.T) { testWorkers[float64](t, 1e-12) })
	t.Run("complex64", func(t *testing.T) { testWorkers[complex64](t, 1e-4) })
	t.Run("complex128", func(t *testing.T) { testWorkers[complex128](t, 1e-12) })
}
