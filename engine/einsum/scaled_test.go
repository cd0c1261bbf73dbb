package einsum

import (
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/ref"
)

// chainPlan contracts a chain of n square matrices of some extent, or its trace.
func chainPlan(t *testing.T, n, extent int, trace bool) *Plan {
	t.Helper()
	inputs, shapes := make([][]Label, n), make([][]int, n)
	for k := range inputs {
		inputs[k], shapes[k] = []Label{Label(k), Label(k + 1)}, []int{extent, extent}
	}
	output := []Label{0, Label(n)}
	if trace {
		inputs[n-1][1], output = 0, nil
	}
	s, err := NewSubscripts(inputs, output)
	if err != nil {
		t.Fatal(err)
	}
	path, err := Greedy(s, shapes, GreedyOptions{Trials: 1})
	if err != nil {
		t.Fatal(err)
	}
	p, err := NewPlan(s, shapes, path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// contractScaled runs all slices with exponents and puts them together.
func contractScaled[T float32 | float64 | complex64 | complex128](t *testing.T, e engine.Execution, p *Plan, operands []*engine.Tensor) ([]T, int) {
	t.Helper()
	specs := make([]engine.Spec, len(operands))
	for k, x := range operands {
		specs[k] = x.Spec()
	}
	r, err := p.Prepare(e, specs...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	if err := r.Load(operands...); err != nil {
		t.Fatal(err)
	}
	whole, exponent := make([]T, product(p.OutputShape())), 0
	part := make([]T, product(p.SliceShape()))
	out, err := engine.FromSlice(part, p.SliceShape()...)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p.Slices() {
		own, err := r.RunScaled(out, i)
		if err != nil {
			t.Fatal(err)
		}
		if most := largest(part); most != 0 && !math.IsInf(most, 0) && (most < 0.5*(1-1e-6) || most >= 1+1e-6) {
			t.Fatalf("%v, slice %d: the largest modulus is %v", p.subscripts, i, most)
		}
		if exponent, err = AddSliceScaled(p, whole, exponent, i, part, own); err != nil {
			t.Fatal(err)
		}
	}
	return whole, exponent
}

func largest[T float32 | float64 | complex64 | complex128](x []T) (most float64) {
	for _, v := range x {
		most = max(most, cmplx.Abs(toComplex(v)))
	}
	return most
}

// A product of n matrices of extent d whose entries are all c has the entries
// cⁿ·dⁿ⁻¹: the logarithm is a closed form, far beyond the range of the type.
func testLongChain[T float32 | float64 | complex64 | complex128](t *testing.T, e engine.Execution, c complex128, tolerance float64) {
	t.Helper()
	const n, d = 300, 3
	entries := make([]complex128, d*d)
	for i := range entries {
		entries[i] = c
	}
	operands := make([]*engine.Tensor, n)
	for k := range operands {
		operands[k] = tensorOf[T](t, entries, []int{d, d}, k%3 == 0)
	}
	stored := toComplex(fromComplex[T](c))           // rounded to the type
	fraction, power := math.Frexp(cmplx.Abs(stored)) // so that the logarithm has all its digits
	log2 := n*math.Log2(fraction) + (n-1)*math.Log2(d)
	angle := cmplx.Phase(cmplx.Exp(complex(0, n*cmplx.Phase(stored))))
	p := chainPlan(t, n, d, false)
	sliced, err := p.Slice(Cut{0, 3}, Cut{150, 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []*Plan{p, sliced} {
		got, exponent := contractScaled[T](t, e, p, operands)
		for i, x := range got {
			z := toComplex(x)
			if off := math.Log2(cmplx.Abs(z)) + float64(exponent-n*power) - log2; !(math.Abs(off) <= tolerance) {
				t.Fatalf("%v of %v in %d slices, element %d: %v·2^%d, off by a factor of 2^%g", engine.DTypeOf[T](), c, p.Slices(), i, x, exponent, off)
			}
			if turn := cmplx.Abs(z/complex(cmplx.Abs(z), 0) - cmplx.Rect(1, angle)); !(turn <= tolerance) {
				t.Fatalf("%v of %v: element %d has the phase %v, want %v", engine.DTypeOf[T](), c, i, cmplx.Phase(z), angle)
			}
		}
	}
}

func TestLongChains(t *testing.T) {
	for name, e := range map[string]engine.Execution{"ref": ref.New(), "native1": engines(t, false)["native1"](t), "native2": engines(t, false)["native2"](t)} {
		t.Run(name, func(t *testing.T) {
			for _, c := range []complex128{1e10, 1e-10, 1e300, 1e-300, -3e200, 5e-324} { // all but two are out of reach by themselves
				testLongChain[float64](t, e, c, 1e-11)
				if real(c) != 5e-324 { // which has no digits to turn
					testLongChain[complex128](t, e, c*cmplx.Rect(1, 0.7), 1e-11)
				}
			}
			for _, c := range []complex128{1e3, 1e-3, 1e37, 1e-37} {
				testLongChain[float32](t, e, c, 1e-3)
				testLongChain[complex64](t, e, c*cmplx.Rect(1, 0.7), 1e-3)
			}
		})
	}
}

// Within reach the bits are those of Run times a power of two, slice by slice.
func TestScaledHasTheBitsOfRun(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, e := range []engine.Execution{ref.New(), engines(t, false)["native1"](t)} {
		for range 60 {
			s, shapes := randomCase(rng)
			operands := make([]*engine.Tensor, len(shapes))
			for k, shape := range shapes {
				values := make([]complex128, product(shape))
				for i := range values {
					values[i] = complex(rng.Float64()-0.5, 0)
				}
				operands[k] = tensorOf[float64](t, values, shape, rng.IntN(2) == 0)
			}
			p, err := NewPlan(s, shapes, randomPath(rng, len(shapes)))
			if err != nil {
				t.Fatal(err)
			}
			want := contract[float64](t, e, p, operands)
			got, exponent := contractScaled[float64](t, e, p, operands)
			for i := range want {
				if x := math.Ldexp(got[i], exponent); x != want[i] {
					t.Fatalf("%v on %s: element %d is %v, Run makes %v", s, e.Target().Kind, i, x, want[i])
				}
			}
		}
	}
}

// Branches lie apart for engines of more workers; RunScaled takes their steps in turn.
func TestScaledHasTheBitsOfBranches(t *testing.T) {
	p := bushy(t, 32, 40)
	if p.wide == nil {
		t.Fatal("no branches")
	}
	operands := fewNumbers[float64](t, rand.New(rand.NewPCG(33, 34)), p)
	want := contract[float64](t, engines(t, false)["native2"](t), p, operands)
	shift := 0
	for k, x := range operands { // the same far apart
		all, _ := engine.HostSlice[float64](x)
		by := []int{0, 250, 190, -333}[k%4]
		shift += by
		for i := range all {
			all[i] = math.Ldexp(all[i], by)
		}
	}
	got, exponent := contractScaled[float64](t, engines(t, false)["native2"](t), p, operands)
	for i := range want {
		if x := math.Ldexp(got[i], exponent-shift); x != want[i] {
			t.Fatalf("element %d is %v, Run makes %v", i, x, want[i])
		}
	}
}

func TestScaledZerosAndNaN(t *testing.T) {
	p := chainPlan(t, 3, 2, false)
	for _, c := range []struct{ middle, want float64 }{{0, 0}, {math.NaN(), math.NaN()}, {math.Inf(1), math.Inf(1)}} {
		operands := []*engine.Tensor{floats(t, []float64{1e200, 1e200, 1e200, 1e200}, 2, 2),
			floats(t, []float64{c.middle, c.middle, c.middle, c.middle}, 2, 2), floats(t, []float64{1e200, 1e200, 1e200, 1e200}, 2, 2)}
		got, exponent := contractScaled[float64](t, ref.New(), p, operands)
		for _, x := range got {
			if x != c.want && !(math.IsNaN(x) && math.IsNaN(c.want)) {
				t.Errorf("%v makes %v", c.middle, x)
			}
		}
		if c.middle == 0 && exponent != 0 {
			t.Errorf("zeros have the exponent %d", exponent)
		}
	}
}

// Run and RunScaled may take turns, and operands be loaded anew; warm, RunScaled
// allocates nothing, and Close gives everything back.
func TestScaledTakesTurns(t *testing.T) {
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := chainPlan(t, 3, 2, false)
	p, err = p.Slice(Cut{3, 2})
	if err != nil {
		t.Fatal(err)
	}
	fill := func(x float64) *engine.Tensor { return floats(t, []float64{x, x, x, x}, 2, 2) }
	spec := fill(0).Spec()
	r, err := p.Prepare(e, spec, spec, spec)
	if err != nil {
		t.Fatal(err)
	}
	part := make([]float64, 2)
	out := floats(t, part, 2, 1)
	for round := range 3 {
		for _, c := range []float64{1, 1e150, 1e-150} {
			x := fill(c)
			if err := r.Load(x, x, x); err != nil {
				t.Fatal(err)
			}
			for i := range 4 {
				exponent, err := r.RunScaled(out, i%2)
				if err != nil {
					t.Fatal(err)
				}
				if got, want := math.Log2(part[1])+float64(exponent), 3*math.Log2(c)+2; math.Abs(got-want) > 1e-9 {
					t.Errorf("round %d of %g: 2^%g, want 2^%g", round, c, got, want)
				}
				if err := r.Run(out, i%2); err != nil {
					t.Fatal(err)
				}
				if want := 4 * c * c * c; math.Abs(part[1]-want) > 1e-12*want && part[1] != want {
					t.Errorf("round %d of %g: Run makes %g, want %g", round, c, part[1], want)
				}
			}
		}
	}
	next := 0
	if n := testing.AllocsPerRun(50, func() {
		if _, err := r.RunScaled(out, next%2); err != nil {
			t.Fatal(err)
		}
		next++
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if live := e.Buffers().LiveBytes; live != 0 {
		t.Errorf("%d bytes are held after Close", live)
	}
	if _, err := r.RunScaled(out, 0); !errors.Is(err, ErrOperand) {
		t.Errorf("a closed plan: %v", err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

func TestScaledRefuses(t *testing.T) {
	p := mustPlan(t, "i,i->", Path{{0, 1}}, []int{2}, []int{2})
	whole, part := make([]float64, 1), make([]float64, 1)
	for _, partExponent := range []int{-1, 0, 1} {
		part[0], whole[0] = 1, 1
		if _, err := AddSliceScaled(p, whole, 0, 1, part, partExponent); !errors.Is(err, ErrSlice) || whole[0] != 1 {
			t.Errorf("slice 1 of 1 with the exponent %d: %v; the sum is %v", partExponent, err, whole[0])
		}
	}
	x, err := engine.FromSlice([]int64{1, 2}, 2)
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.Prepare(ref.New(), x.Spec(), x.Spec())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Load(x, x); err != nil {
		t.Fatal(err)
	}
	out, err := engine.FromSlice(make([]int64, 1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.RunScaled(out, 0); !errors.Is(err, ErrOperand) {
		t.Errorf("integers: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
