package ref

import (
	"math"
	"math/big"
	"math/cmplx"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/internal/elementary"
)

// boolean is a value of dtype bool.
func boolean(b bool) value {
	if b {
		return value{n: 1}
	}
	return value{}
}

func real64(x float64) value { return value{z: complex(x, 0)} }

// unary is f(x) for x of dtype d.
func unary(f engine.Unary, d engine.DType, x value) value {
	switch {
	case d.IsComplex():
		return unaryComplex(f, x.z)
	case d.IsFloat():
		return unaryReal(f, real(x.z))
	}
	switch f {
	case engine.Not:
		return value{n: 1 - x.n}
	case engine.Neg:
		return value{n: -x.n}
	case engine.Abs:
		if x.n < 0 {
			return value{n: -x.n}
		}
		return x
	case engine.Sign:
		switch {
		case x.n > 0:
			return value{n: 1}
		case x.n < 0:
			return value{n: -1}
		}
		return value{}
	}
	panic("ref: " + f.Name() + " of an integer")
}

func unaryReal(f engine.Unary, x float64) value {
	switch f {
	case engine.IsNaN:
		return boolean(math.IsNaN(x))
	case engine.IsFinite:
		return boolean(!math.IsNaN(x) && !math.IsInf(x, 0))
	case engine.Neg:
		return real64(-x)
	case engine.Abs:
		return real64(math.Abs(x))
	case engine.Sign:
		if x == 0 || math.IsNaN(x) {
			return real64(x)
		}
		return real64(math.Copysign(1, x))
	case engine.Asin: // math.Asin and math.Acos lose digits near ±1
		return real64(math.Atan2(x, math.Sqrt((1-x)*(1+x))))
	case engine.Acos:
		return real64(2 * math.Atan2(math.Sqrt(1-x), math.Sqrt(1+x)))
	case engine.Rsqrt:
		return real64(1 / math.Sqrt(x))
	}
	return real64(map[engine.Unary]func(float64) float64{
		engine.Exp: math.Exp, engine.Log: math.Log, engine.Expm1: math.Expm1, engine.Log1p: math.Log1p,
		engine.Sin: elementary.Sin, engine.Cos: elementary.Cos, engine.Tan: elementary.Tan, engine.Atan: math.Atan,
		engine.Sinh: sinh, engine.Cosh: cosh, engine.Tanh: math.Tanh, engine.Sqrt: math.Sqrt, engine.Erf: math.Erf,
	}[f](x))
}

func unaryComplex(f engine.Unary, z complex128) value {
	switch f {
	case engine.IsNaN:
		return boolean(math.IsNaN(real(z)) || math.IsNaN(imag(z)))
	case engine.IsFinite:
		return boolean(!math.IsNaN(real(z)-real(z)) && !math.IsNaN(imag(z)-imag(z)))
	case engine.Neg:
		return value{z: -z}
	case engine.Abs:
		return real64(math.Hypot(real(z), imag(z)))
	case engine.Real:
		return real64(real(z))
	case engine.Imag:
		return real64(imag(z))
	}
	return value{z: map[engine.Unary]func(complex128) complex128{
		engine.Exp: elementary.ComplexExp, engine.Log: elementary.ComplexLog, engine.Sign: elementary.ComplexSign,
		engine.Sin: elementary.ComplexSin, engine.Cos: elementary.ComplexCos, engine.Tan: elementary.ComplexTan,
		engine.Asin: elementary.ComplexAsin, engine.Acos: elementary.ComplexAcos, engine.Atan: elementary.ComplexAtan,
		engine.Sinh: elementary.ComplexSinh, engine.Cosh: elementary.ComplexCosh, engine.Tanh: elementary.ComplexTanh,
		engine.Sqrt: elementary.ComplexSqrt, engine.Rsqrt: elementary.ComplexRsqrt,
	}[f](z)}
}

// sinh and cosh halve the power where eˣ alone is too great.
func sinh(x float64) float64 {
	if math.Abs(x) > 709 {
		e := math.Exp(math.Abs(x) / 2)
		return math.Copysign(e/2*e, x)
	}
	return math.Sinh(x)
}

func cosh(x float64) float64 {
	if math.Abs(x) > 709 {
		return sinh(math.Abs(x))
	}
	return math.Cosh(x)
}

// pow multiplies as y's binary digits say, squares of x before the point and
// roots behind it, with digits to spare; math.Pow, which does the like without, has
// the special cases.
func pow(x, y float64) float64 {
	if x == 0 || y == 0 || x-x != 0 || y-y != 0 || x < 0 && math.Trunc(y) != y {
		return math.Pow(x, y)
	}
	sign := 1.0
	if x < 0 && math.Mod(y, 2) != 0 {
		sign = -1
	}
	switch size := y * math.Log(math.Abs(x)); {
	case size > 800:
		return sign * math.Inf(1)
	case size < -800:
		return sign * 0
	}
	const digits = 160
	base := big.NewFloat(math.Abs(x)).SetPrec(digits)
	one := big.NewFloat(1)
	p, root := new(big.Float).SetPrec(digits).Set(one), new(big.Float).Copy(base)
	whole, rest := math.Modf(math.Abs(y))
	for n := uint64(whole); n > 0; n >>= 1 {
		if n&1 != 0 {
			p.Mul(p, base)
		}
		base.Mul(base, base)
	}
	for rest > 0 && root.Cmp(one) != 0 {
		root.Sqrt(root)
		if rest *= 2; rest >= 1 {
			p.Mul(p, root)
			rest--
		}
	}
	if y < 0 {
		p.Quo(one, p)
	}
	f, _ := p.Float64()
	return sign * f
}

// binary is f(x, y) for values of dtype d.
func binary(f engine.Binary, d engine.DType, x, y value) value {
	switch f {
	case engine.Equal:
		return boolean(x == y)
	case engine.NotEqual:
		return boolean(x != y)
	case engine.Less:
		return boolean(x.n < y.n || real(x.z) < real(y.z))
	case engine.LessEqual:
		return boolean(x.n <= y.n && real(x.z) <= real(y.z))
	case engine.Greater:
		return boolean(x.n > y.n || real(x.z) > real(y.z))
	case engine.GreaterEqual:
		return boolean(x.n >= y.n && real(x.z) >= real(y.z))
	case engine.And:
		return boolean(x.n+y.n == 2)
	case engine.Or:
		return boolean(x.n+y.n > 0)
	case engine.Xor:
		return boolean(x.n+y.n == 1)
	case engine.Sub:
		return value{x.z - y.z, x.n - y.n}
	case engine.Max:
		return value{complex(math.Max(real(x.z), real(y.z)), 0), max(x.n, y.n)}.nan(x, y)
	case engine.Min:
		return value{complex(math.Min(real(x.z), real(y.z)), 0), min(x.n, y.n)}.nan(x, y)
	case engine.MakeComplex:
		return value{z: complex(real(x.z), real(y.z))}
	}
	switch {
	case d.IsComplex() && f == engine.Div:
		return value{z: x.z / y.z}
	case d.IsComplex():
		return value{z: cmplx.Pow(x.z, y.z)}
	case !d.IsFloat() && f == engine.Div:
		return value{n: x.n / y.n}
	case !d.IsFloat():
		return value{n: x.n % y.n}
	}
	a, b := real(x.z), real(y.z)
	switch f {
	case engine.Div:
		return real64(a / b)
	case engine.Rem:
		return real64(math.Mod(a, b))
	case engine.Pow:
		return real64(pow(a, b))
	case engine.Atan2:
		return real64(elementary.Atan2(a, b))
	}
	switch { // LogAddExp
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return real64(math.Max(a, b)).nan(x, y)
	case a < b:
		a, b = b, a
	}
	return real64(a + math.Log1p(math.Exp(b-a)))
}

// nan is NaN if x or y is, else v: math.Max(NaN, +Inf) is +Inf.
func (v value) nan(x, y value) value {
	if math.IsNaN(real(x.z)) || math.IsNaN(real(y.z)) {
		v.z = complex(math.NaN(), 0)
	}
	return v
}

// cast is x of dtype from as dtype to.
func cast(x value, from, to engine.DType) value {
	isInt := !from.IsFloat()
	switch {
	case to == engine.Bool:
		return boolean(x != value{} && (isInt || x.z != 0))
	case to.IsFloat() && isInt && (to == engine.Float32 || to == engine.Complex64):
		return real64(float64(float32(x.n))) // rounded once
	case to.IsFloat() && isInt:
		return real64(float64(x.n))
	case to.IsFloat():
		if !to.IsComplex() {
			return real64(real(x.z))
		}
		return x
	case isInt:
		return x
	}
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	if to == engine.Int32 {
		low, high = math.MinInt32, math.MaxInt32
	}
	f := math.Trunc(real(x.z))
	switch {
	case math.IsNaN(f):
		return value{}
	case math.IsInf(f, 0):
		if f > 0 {
			return value{n: high}
		}
		return value{n: low}
	}
	n, _ := big.NewFloat(f).Int(nil)
	switch {
	case n.Cmp(big.NewInt(low)) < 0:
		return value{n: low}
	case n.Cmp(big.NewInt(high)) > 0:
		return value{n: high}
	}
	return value{n: n.Int64()}
}

// exact says whether y, as stored in dtype to, is the number that x is.
func exact(x value, from engine.DType, y value, to engine.DType) bool {
	re, im := number(x, from)
	re2, im2 := number(y, to)
	return sameNumber(re, re2) && sameNumber(im, im2)
}

// number is the parts of a value: nil for NaN.
func number(v value, d engine.DType) (re, im *big.Float) {
	if !d.IsFloat() {
		return new(big.Float).SetInt64(v.n), new(big.Float)
	}
	part := func(x float64) *big.Float {
		if math.IsNaN(x) {
			return nil
		}
		return big.NewFloat(x)
	}
	return part(real(v.z)), part(imag(v.z))
}

func sameNumber(x, y *big.Float) bool {
	if x == nil || y == nil {
		return x == y
	}
	return x.Cmp(y) == 0
}

// fault is the error for the element at index of input i.
func fault(op engine.Op, i int, index []int, cause error) error {
	return &engine.NumericalError{Op: op.Name(), Operand: engine.Input(i), Index: append([]int{}, index...), Err: cause}
}

// elementwise computes Unary, Binary, Ternary, Cast and Convert.
func elementwise(op engine.Op, o array, in []array) (err error) {
	d := in[0].dtype
	check := func(i int, bad func(index []int) bool, cause error) {
		each(o.extents, func(index []int) {
			if err == nil && bad(index) {
				err = fault(op, i, index, cause)
			}
		})
	}
	var f func(index []int) value
	switch op := op.(type) {
	case engine.Unary:
		f = func(i []int) value { return unary(op, d, in[0].load(i)) }
	case engine.Binary:
		if !d.IsFloat() && (op == engine.Div || op == engine.Rem) {
			check(1, func(i []int) bool { return in[1].load(i).n == 0 }, engine.ErrDivideByZero)
		}
		f = func(i []int) value { return binary(op, d, in[0].load(i), in[1].load(i)) }
	case engine.Ternary:
		f = func(i []int) value {
			x, y, z := in[0].load(i), in[1].load(i), in[2].load(i)
			switch {
			case op == engine.Clamp:
				return binary(engine.Min, d, binary(engine.Max, d, x, y), z)
			case x.n != 0:
				return y
			}
			return z
		}
	case engine.Cast:
		f = func(i []int) value { return cast(in[0].load(i), d, op.To) }
	case engine.Convert:
		check(0, func(i []int) bool {
			x := in[0].load(i)
			y := cast(x, d, op.To)
			if op.To == engine.Int32 {
				y.n = int64(int32(y.n))
			}
			return !exact(x, d, value{rounded(y.z, op.To), y.n}, op.To)
		}, engine.ErrInexact)
		f = func(i []int) value { return cast(in[0].load(i), d, op.To) }
	}
	if err == nil {
		each(o.extents, func(i []int) { o.store(i, f(i)) })
	}
	return err
}
