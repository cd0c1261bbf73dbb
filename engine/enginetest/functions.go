package enginetest

import (
	"errors"
	"math"
	"math/cmplx"
	"slices"

	"github.com/hataori/hataori-go/engine"
)

// Ulps is how far, in units in the last place of the result, elementary
// functions may be from the true value; of complex results twice that, in
// units of the modulus. PowUlps is that of Pow of complex numbers, which multiplies:
// 32 of theirs. LogAddExp counts in units of ½ at least, as what is added up to less
// was rounded. Arithmetic is exact to half a unit.
const (
	Ulps    = 4
	PowUlps = 16
)

// unaries, binaries and ternaries are all of the vocabulary.
func unaries() (ops []engine.Op) {
	for u := engine.Unary(1); !unknown(u.Infer(nil)); u++ {
		ops = append(ops, u)
	}
	return ops
}

func binaries() (ops []engine.Op) {
	for b := engine.Binary(1); !unknown(b.Infer(nil)); b++ {
		ops = append(ops, b)
	}
	return ops
}

func ternaries() (ops []engine.Op) {
	for t := engine.Ternary(1); !unknown(t.Infer(nil)); t++ {
		ops = append(ops, t)
	}
	return ops
}

func unknown(_ []engine.Spec, err error) bool { return errors.Is(err, engine.ErrUnsupported) }

// typed returns the dtypes of n inputs that op takes, input 0 of Select apart.
func typed(op engine.Op, n int) (types []engine.DType) {
	for _, d := range allTypes {
		in := make([]engine.Spec, n)
		for i := range in {
			in[i] = engine.SpecOf(d)
		}
		if op == engine.Select {
			in[0].DType = engine.Bool
		}
		if _, err := op.Infer(in); err == nil {
			types = append(types, d)
		}
	}
	return types
}

var specials = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 1e-300, 710, -750}

// varied is a value of dtype d that depends on the index: ordinary numbers, and
// for real floats special ones too.
func varied(d engine.DType, seed int) func(index []int) complex128 {
	base := small(d, seed)
	pick := small(engine.Int64, seed+1)
	other := small(engine.Int64, seed+2)
	return func(i []int) complex128 {
		z := base(i)
		switch {
		case d == engine.Bool:
			return complex(math.Mod(math.Abs(real(z)), 2), 0)
		case !d.IsFloat():
			return z * 7
		case d.IsComplex():
			return z*complex(0.37, 0) + complex(0.01, -0.02)
		case real(pick(i)) == 3:
			return complex(specials[(int(real(other(i)))+4)%len(specials)], 0)
		}
		x := real(z)*0.37 + 0.01*real(other(i))
		if d == engine.Float32 {
			x = float64(float32(x))
		}
		return complex(x, 0)
	}
}

// elementary says whether op is exact only to Ulps.
func elementary(op engine.Op) bool {
	switch op {
	case engine.Exp, engine.Log, engine.Expm1, engine.Log1p, engine.Sin, engine.Cos, engine.Tan, engine.Asin, engine.Acos, engine.Atan,
		engine.Sinh, engine.Cosh, engine.Tanh, engine.Sqrt, engine.Rsqrt, engine.Erf, engine.Pow, engine.Atan2, engine.LogAddExp,
		engine.Div, engine.Abs, engine.Sign: // the last three of complex numbers
		return true
	}
	return false
}

// functionShapes are sizes around the edges of rows, tiles and vectors.
var functionShapes = [][]int{{}, {0}, {7}, {3, 0, 2}, {5, 9}, {17, 31}, {2, 3, 4}, {3, 5, 2, 4, 3}}

// testFunctions runs every elementwise function on every dtype it takes,
// against the reference engine, in many layouts, and in place.
func testFunctions(r *rig) {
	for n, ops := range [][]engine.Op{1: unaries(), 2: binaries(), 3: ternaries()} {
		for _, op := range ops {
			types := typed(op, n)
			if len(types) == 0 {
				r.Fatalf("%s takes no dtype", op.Name())
			}
			for _, d := range types {
				for k, s := range functionShapes {
					l := layout(k % int(layouts))
					ins := make([]*engine.Tensor, n)
					for i := range ins {
						f, t := varied(d, 50+10*i), d
						if op == engine.Select && i == 0 {
							t = engine.Bool
							f = varied(t, 90)
						}
						if i == 1 && !d.IsFloat() && (op == engine.Div || op == engine.Rem) {
							f = nonzero(f)
						}
						ins[i] = r.input((l+layout(2*i))%layouts, t, s, f)
					}
					r.expectNear(op, layout(r.rnd.IntN(int(layouts))), tolerance(op, d), ins...)
				}
				r.inPlace(op, n, d)
			}
		}
	}
}

// farAngles are angles, their sines and their cosines, of numpy in extended
// precision. The fourth is the float64 nearest to an odd multiple of π/2.
var farAngles = [][3]float64{
	{1e+22, -0.8522008497671888, 0.523214785395139},
	{1e+300, -0.8178819121159085, -0.5753861119575491},
	{1.0715086071862673e+301, -0.15920170308624243, 0.9872460775989135},
	{5.319372648326541e+255, 1.0, -4.687165924254628e-19},
	{-8589934595.0, 0.7303778890207576, -0.6830432923538463},
}

// testFarAngles: trigonometric functions keep their digits at any angle.
func testFarAngles(r *rig) {
	n := 8 * len(farAngles) // whole vectors of them
	x := r.input(compact, engine.Float64, []int{n}, func(i []int) complex128 { return complex(farAngles[i[0]%len(farAngles)][0], 0) })
	for _, c := range []struct {
		op engine.Unary
		of func(sin, cos float64) float64
	}{
		{engine.Sin, func(sin, _ float64) float64 { return sin }},
		{engine.Cos, func(_, cos float64) float64 { return cos }},
		{engine.Tan, func(sin, cos float64) float64 { return sin / cos }},
	} {
		got, ok := r.run(c.op, []*engine.Tensor{x}, compact)
		if !ok {
			continue
		}
		want := make([]complex128, n)
		for i := range want {
			a := farAngles[i%len(farAngles)]
			want[i] = complex(c.of(a[1], a[2]), 0)
		}
		r.near(c.op.Name()+" far out", engine.Float64, allowance{ulps: Ulps}, got, want)
	}
}

// allowance is how far from the true value results may be, in units in the last
// place of theirs, or of least if that is more.
type allowance struct{ ulps, least float64 }

func tolerance(op engine.Op, d engine.DType) allowance {
	switch {
	case op == engine.Pow && d.IsComplex():
		return allowance{ulps: PowUlps}
	case op == engine.LogAddExp:
		return allowance{Ulps, 0.5}
	case elementary(op):
		return allowance{ulps: Ulps}
	}
	return allowance{}
}

func nonzero(f func([]int) complex128) func([]int) complex128 {
	return func(i []int) complex128 {
		if z := f(i); z != 0 {
			return z
		}
		return 3
	}
}

// inPlace runs op into each of its inputs whose dtype is the output's.
func (r *rig) inPlace(op engine.Op, n int, d engine.DType) {
	r.Helper()
	for which := range n {
		ins, specs := make([]*engine.Tensor, n), make([]engine.Spec, n)
		for i := range ins {
			t := d
			if op == engine.Select && i == 0 {
				t = engine.Bool
			}
			ins[i] = r.input(mixed, t, []int{5, 6}, nonzero(varied(t, 60+i)))
			specs[i] = ins[i].Spec()
		}
		k, err := r.e.Bind(op, specs, nil)
		if errors.Is(err, engine.ErrUnsupported) && !d.IsFloat() {
			return
		}
		r.ok(err)
		if k.Out(0).DType != specs[which].DType {
			continue
		}
		fresh := r.must(r.e.Alloc(k.Out(0)))
		r.ok(r.e.Run(k, []*engine.Tensor{fresh}, ins))
		k, err = r.e.Bind(op, specs, specs[which:which+1])
		r.ok(err)
		r.ok(r.e.Run(k, []*engine.Tensor{ins[which]}, ins))
		r.same(op.Name()+" in place", r.read(ins[which]), r.read(fresh))
	}
}

// near compares to a number of units in the last place of dtype d.
func (r *rig) near(what string, d engine.DType, may allowance, got, want []complex128) {
	r.Helper()
	if len(got) != len(want) {
		r.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	if d.IsComplex() {
		may.ulps *= 2
	}
	for i := range got {
		if e := distance(d, got[i], want[i], may.least); !(e <= may.ulps) {
			r.Errorf("%s: element %d is %v, want %v: %.3g ulp apart, allowed %g", what, i, got[i], want[i], e, may.ulps)
		}
	}
}

// distance is |got − want| in units in the last place of want's modulus, or of
// least if that is more.
func distance(d engine.DType, got, want complex128, least float64) float64 {
	if sameFloat(real(got), real(want)) && sameFloat(imag(got), imag(want)) {
		return 0
	}
	if d.IsComplex() && (cmplx.IsNaN(got) || cmplx.IsInf(got)) && (cmplx.IsNaN(want) || cmplx.IsInf(want)) {
		return 0 // which of the two a part is, libraries disagree on
	}
	eps, unit := math.Ldexp(1, -52), math.SmallestNonzeroFloat64
	if d.RealPart() == engine.Float32 {
		eps, unit = math.Ldexp(1, -23), math.SmallestNonzeroFloat32
	}
	_, exp := math.Frexp(max(cmplx.Abs(want), least))
	return cmplx.Abs(got-want) / max(math.Ldexp(eps, exp-1), unit)
}

// testDivideByZero: the first zero divisor is named and nothing is written.
func testDivideByZero(r *rig) {
	for _, d := range []engine.DType{engine.Int32, engine.Int64} {
		for _, op := range []engine.Op{engine.Div, engine.Rem} {
			a := r.input(compact, d, []int{3, 4}, small(d, 1))
			b := r.input(mixed, d, []int{3, 4}, func(i []int) complex128 {
				if i[0] > 0 && i[1] == 2 {
					return 0
				}
				return 2
			})
			r.refused(op, engine.ErrDivideByZero, engine.Input(1), []int{1, 2}, a, b)
		}
		low := math.MinInt32
		if d == engine.Int64 {
			low = math.MinInt64
		}
		least := r.input(compact, d, []int{1}, func([]int) complex128 { return complex(float64(low), 0) })
		minus := r.input(compact, d, []int{1}, func([]int) complex128 { return -1 })
		if got, ok := r.run(engine.Div, []*engine.Tensor{least, minus}, compact); ok {
			r.same("least / −1 wraps", got, []complex128{complex(float64(low), 0)})
		}
	}
}

// refused checks that op fails with a NumericalError for an element, and leaves
// its output alone.
func (r *rig) refused(op engine.Op, cause error, operand engine.Operand, index []int, ins ...*engine.Tensor) {
	r.Helper()
	specs := make([]engine.Spec, len(ins))
	for i, t := range ins {
		specs[i] = t.Spec()
	}
	k, err := r.e.Bind(op, specs, nil)
	if errors.Is(err, engine.ErrUnsupported) {
		return
	}
	r.ok(err)
	out := r.must(r.e.Alloc(k.Out(0)))
	r.poison(out)
	before := r.read(out)
	err = r.e.Run(k, []*engine.Tensor{out}, ins)
	if err == nil {
		err = r.e.Synchronize()
	}
	e := wantAs[*engine.NumericalError](r, op.Name(), err)
	if !errors.Is(err, cause) || !errors.Is(err, engine.ErrNumerical) || e.Operand != operand || !slices.Equal(e.Index, index) || e.Op != op.Name() {
		r.Fatalf("%s: %v, want %v for %v at %v", op.Name(), err, cause, operand, index)
	}
	if r.e.Target().Domain.Kind == engine.Host {
		r.same(op.Name()+" refused", r.read(out), before)
	}
	r.ok(r.e.Err())
}

// castValues are numbers at the edges of the dtypes' ranges.
var castValues = []float64{0, 1, -1, 2.5, -2.5, 0.1, 16777217, 1 << 31, -1 << 31, 1<<31 - 1, -1<<31 - 1, 1 << 53, 1 << 63, -1 << 63, 1e300,
	-1e300, 1e-320, 1e39, math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1), 1<<31 - 0.5, 4294967301}

// testCast casts every dtype to every other, and converts element by element:
// both engines must agree on which values survive.
func testCast(r *rig) {
	for _, from := range allTypes {
		values := func(i []int) complex128 {
			x := castValues[i[0]%len(castValues)]
			switch {
			case from == engine.Bool:
				x = float64(i[0] % 2)
			case from == engine.Int32 && math.Abs(x) < 1<<31 || from == engine.Int64 && math.Abs(x) < 1<<62:
				x = math.Trunc(x)
			case !from.IsFloat():
				x = float64(i[0] * 1023)
			}
			if from.IsComplex() && i[0]%3 == 1 {
				return complex(x, -x)
			}
			return complex(x, 0)
		}
		a := r.input(spread, from, []int{len(castValues)}, values)
		for _, to := range allTypes {
			r.expect(engine.Cast{To: to}, mixed, a)
			for i := range castValues {
				r.converts(to, r.must(a.Slice(0, i, 1, 1)))
			}
		}
		for k, s := range functionShapes {
			r.expect(engine.Cast{To: engine.Complex64}, layout(k%int(layouts)), r.input(layout((k+1)%int(layouts)), from, s, small(from, 3)))
		}
	}
	a := r.input(negative, engine.Float64, []int{2, 3}, func(i []int) complex128 {
		if i[0] == 1 && i[1] > 0 {
			return 0.5
		}
		return 4
	})
	r.refused(engine.Convert{To: engine.Int32}, engine.ErrInexact, engine.Input(0), []int{1, 1}, a)
	_, err := r.e.Bind(engine.Convert{}, []engine.Spec{a.Spec()}, nil)
	wantAs[*engine.DTypeError](r, "Convert to no dtype", err)
}

// converts compares Convert of one element with the reference engine's.
func (r *rig) converts(to engine.DType, a *engine.Tensor) {
	r.Helper()
	got, err := engine.Apply(r.e, engine.Convert{To: to}, a, nil)
	h := pack(a.DType(), r.read(a), a.Shape().Ints())
	want, wantErr := engine.Apply(r.oracle, engine.Convert{To: to}, h, nil)
	if (err == nil) != (wantErr == nil) || errors.Is(err, engine.ErrInexact) != errors.Is(wantErr, engine.ErrInexact) {
		r.Fatalf("Convert %v %v to %v: error %v, want %v", a.DType(), r.read(a), to, err, wantErr)
	}
	if err == nil {
		r.same("Convert", r.read(got), (&rig{T: r.T, e: r.oracle}).read(want))
	}
}

// testFunctionRules: dtypes and shapes that do not fit.
func testFunctionRules(r *rig) {
	f64, c128, boolean, ints := r.spec(engine.Float64, 2), r.spec(engine.Complex128, 2), r.spec(engine.Bool, 2), r.spec(engine.Int64, 2)
	for _, c := range []struct {
		op    engine.Op
		in    []engine.Spec
		where engine.Operand
	}{
		{engine.Exp, []engine.Spec{ints}, engine.Input(0)},
		{engine.Erf, []engine.Spec{c128}, engine.Input(0)},
		{engine.Not, []engine.Spec{f64}, engine.Input(0)},
		{engine.Real, []engine.Spec{f64}, engine.Input(0)},
		{engine.Sub, []engine.Spec{f64, c128}, engine.Input(1)},
		{engine.Sub, []engine.Spec{boolean, boolean}, engine.Input(0)},
		{engine.Max, []engine.Spec{c128, c128}, engine.Input(0)},
		{engine.Less, []engine.Spec{boolean, boolean}, engine.Input(0)},
		{engine.And, []engine.Spec{ints, ints}, engine.Input(0)},
		{engine.MakeComplex, []engine.Spec{c128, c128}, engine.Input(0)},
		{engine.Select, []engine.Spec{f64, f64, f64}, engine.Input(0)},
		{engine.Select, []engine.Spec{boolean, f64, ints}, engine.Input(2)},
		{engine.Clamp, []engine.Spec{f64, f64, ints}, engine.Input(2)},
		{engine.Cast{}, []engine.Spec{f64}, engine.Output(0)},
	} {
		_, err := r.e.Bind(c.op, c.in, nil)
		if e := wantAs[*engine.DTypeError](r, c.op.Name(), err); e.Operand != c.where || e.Op != c.op.Name() {
			r.Fatalf("%v names %v, want %v", err, e.Operand, c.where)
		}
	}
	_, err := r.e.Bind(engine.Select, []engine.Spec{boolean, r.spec(engine.Float64, 3), r.spec(engine.Float64, 3)}, nil)
	wantAs[*engine.ShapeError](r, "Select of other shapes", err)
	_, err = r.e.Bind(engine.Unary(200), []engine.Spec{f64}, nil)
	wantAs[*engine.UnsupportedError](r, "Unary(200)", err)
}
