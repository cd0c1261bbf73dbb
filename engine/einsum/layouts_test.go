package einsum

import (
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/ref"
)

// anyhow is a tensor of random values, times a factor, whose axes lie in any order,
// forwards or backwards, with gaps, or repeated; and the values, without the factor.
func anyhow[T float32 | float64 | complex64 | complex128](t *testing.T, rng *rand.Rand, shape []int, factor float64) (*engine.Tensor, []complex128) {
	t.Helper()
	strides, step, offset := make([]int, len(shape)), 1+rng.IntN(2), 2
	for _, axis := range rng.Perm(len(shape)) {
		switch rng.IntN(5) {
		case 0:
			continue
		case 1:
			strides[axis] = -step
			offset += (shape[axis] - 1) * step
		default:
			strides[axis] = step
		}
		step *= shape[axis] + rng.IntN(2)
	}
	data := make([]T, offset+step+2)
	values := make([]complex128, len(data))
	for i := range data {
		values[i] = complex(rng.Float64()-0.5, 0)
		if engine.DTypeOf[T]().IsComplex() {
			values[i] += complex(0, rng.Float64()-0.5)
		}
		data[i] = fromComplex[T](values[i] * complex(factor, 0))
	}
	x, err := engine.FromStrided(data, offset, engine.ShapeOf(shape...), engine.StridesOf(strides...))
	if err != nil {
		t.Fatal(err)
	}
	inOrder := make([]complex128, product(shape))
	for i := range inOrder {
		at, rest := offset, i
		for axis := len(shape) - 1; axis >= 0; axis-- {
			at += rest % shape[axis] * strides[axis]
			rest /= shape[axis]
		}
		inOrder[i] = values[at]
	}
	return x, inOrder
}

// Operands may lie in any way, whole or cut, also such as have to be brought within
// reach.
func TestOperandsInAnyLayout(t *testing.T) {
	for name, open := range engines(t, false) {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			testLayouts[float64](t, e, 1e-12)
			testLayouts[complex64](t, e, 2e-5)
		})
	}
	t.Run("ref", func(t *testing.T) { testLayouts[complex128](t, ref.New(), 1e-12) })
}

func testLayouts[T float32 | float64 | complex64 | complex128](t *testing.T, e engine.Execution, tolerance float64) {
	const power = 80 // beyond the reach of every type
	factor := math.Ldexp(1, power)
	if engine.DTypeOf[T]() == engine.Float64 || engine.DTypeOf[T]() == engine.Complex128 {
		factor = math.Ldexp(1, 4*power)
	}
	_, beyond := math.Frexp(factor / 2)
	rng := rand.New(rand.NewPCG(81, 82))
	for n := range 80 {
		s, shapes := randomCase(rng)
		values, operands := make([][]complex128, len(shapes)), make([]*engine.Tensor, len(shapes))
		scaled := make([]*engine.Tensor, len(shapes))
		for k, shape := range shapes {
			seed, by := rng.Uint64(), 1.0
			if k == 0 {
				by = factor
			}
			operands[k], values[k] = anyhow[T](t, rand.New(rand.NewPCG(seed, 1)), shape, 1)
			scaled[k], _ = anyhow[T](t, rand.New(rand.NewPCG(seed, 1)), shape, by)
		}
		p, err := NewPlan(s, shapes, randomPath(rng, len(shapes)))
		if err == nil && n%2 == 1 {
			p, err = p.Slice(randomCuts(rng, p)...)
		}
		if err != nil {
			t.Fatal(err)
		}
		want := oracle(s, shapes, values)
		for i, x := range contract[T](t, e, p, operands) {
			if d := cmplx.Abs(toComplex(x) - want[i]); !(d <= tolerance*math.Max(1, cmplx.Abs(want[i]))) {
				t.Fatalf("case %d, %v of %v, cuts %v: element %d is %v, want %v", n, s, shapes, p.Cuts(), i, x, want[i])
			}
		}
		got, exponent := contractScaled[T](t, e, p, scaled)
		for i, x := range got {
			z := toComplex(x) * complex(math.Ldexp(1, exponent-beyond), 0)
			if d := cmplx.Abs(z - want[i]); !(d <= tolerance*math.Max(1, cmplx.Abs(want[i]))) {
				t.Fatalf("case %d, %v of %v, cuts %v, scaled: element %d is %v·2^%d, want %v·2^%d", n, s, shapes, p.Cuts(), i, x, exponent, want[i], beyond)
			}
		}
	}
}

// An operand whose axes share elements cannot be scaled in its layout.
func TestScaledRefusesWindows(t *testing.T) {
	p := mustPlan(t, "ij,j->i", Path{{0, 1}}, []int{3, 2}, []int{2})
	for _, big := range []float64{1, 1e200} {
		a, err := engine.FromStrided([]float64{big, 2 * big, 3 * big, 4 * big}, 0, engine.ShapeOf(3, 2), engine.StridesOf(1, 1))
		if err != nil {
			t.Fatal(err)
		}
		operands := []*engine.Tensor{a, floats(t, []float64{1, 1}, 2)}
		r, err := p.Prepare(ref.New(), operands[0].Spec(), operands[1].Spec())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Load(operands...); err != nil {
			t.Fatal(err)
		}
		out := floats(t, make([]float64, 3), 3)
		_, err = r.RunScaled(out, 0)
		if e := (*Error)(nil); big == 1 && err != nil || big > 1 && (!errors.As(err, &e) || e.Operand != 0 || !errors.Is(err, ErrOperand)) {
			t.Errorf("windows of %g: %v", big, err)
		}
		if err := r.Run(out, 0); err != nil {
			t.Error(err)
		}
		if x, _ := engine.Data[float64](out); x[0] != 3*big || x[2] != 7*big {
			t.Errorf("windows of %g: %v", big, x)
		}
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Integers are contracted as the definition says, whole and cut.
func TestIntegers(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 84))
	for _, e := range []engine.Execution{ref.New(), engines(t, false)["native1"](t), engines(t, false)["native2"](t)} {
		for n := range 60 {
			s, shapes := randomCase(rng)
			values, operands, specs := make([][]complex128, len(shapes)), make([]*engine.Tensor, len(shapes)), make([]engine.Spec, len(shapes))
			for k, shape := range shapes {
				data := make([]int64, product(shape))
				for i := range data {
					data[i] = int64(rng.IntN(19) - 9)
					values[k] = append(values[k], complex(float64(data[i]), 0))
				}
				var err error
				if operands[k], err = engine.FromSlice(data, shape...); err != nil {
					t.Fatal(err)
				}
				specs[k] = operands[k].Spec()
			}
			p, err := NewPlan(s, shapes, randomPath(rng, len(shapes)))
			if err == nil && n%2 == 1 {
				p, err = p.Slice(randomCuts(rng, p)...)
			}
			if err != nil {
				t.Fatal(err)
			}
			r, err := p.Prepare(e, specs...)
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Load(operands...); err != nil {
				t.Fatal(err)
			}
			whole, part := make([]int64, product(p.OutputShape())), make([]int64, product(p.SliceShape()))
			out, err := engine.FromSlice(part, p.SliceShape()...)
			if err != nil {
				t.Fatal(err)
			}
			for i := range p.Slices() {
				if err := errors.Join(r.Run(out, i), AddSlice(p, whole, i, part)); err != nil {
					t.Fatal(err)
				}
			}
			for i, want := range oracle(s, shapes, values) {
				if float64(whole[i]) != real(want) {
					t.Fatalf("%v of %v, cuts %v: element %d is %d, want %v", s, shapes, p.Cuts(), i, whole[i], want)
				}
			}
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
