package engine

import "fmt"

// Unary is a function of one element, applied to every element of a tensor:
// out[i…] = f(in[i…]). Out has the shape of in and may equal it. The constants
// are operations themselves: engine.Apply(e, engine.Exp, x, nil).
//
// Functions of float32 and complex64 are computed in double precision and
// rounded once. Real functions follow the special cases of package math,
// complex ones those and the branch cuts of package math/cmplx (W. Kahan, Branch
// cuts for complex elementary functions, 1987). In brackets: the complex function of
// z = x + iy where the formula of the real one does not say it, or the source.
type Unary uint8

// The functions of one element. "Real" stands for int32, int64, float32 and
// float64, "float" for float32 and float64, "complex" for complex64 and complex128.
const (
	Neg  Unary = 1 + iota // −x; real and complex; integers wrap
	Abs                   // |x|; real, of integers −2ⁿ⁻¹ wraps; of complex numbers the modulus, real, without undue overflow
	Sign                  // x/|x|: −1 or 1; real, zeros and NaN are kept; of complex numbers the like, and 0 of 0 (numpy 2's sign)
	Not                   // ¬x; bool

	IsFinite // |x| < ∞, in both parts: neither infinite nor NaN; float and complex; bool out (C99's isfinite)
	IsNaN    // x ≠ x, in any part; float and complex; bool out (C99's isnan)

	Exp   // eˣ; float, complex (eˣ cos y + i eˣ sin y)
	Log   // ln x; float, complex (ln |z| + i arg z, −π ≤ Im ≤ π)
	Expm1 // eˣ − 1, accurate near 0; float (C99's expm1)
	Log1p // ln(1 + x), accurate near 0; float (C99's log1p)
	Sin   // sin x, of radians; float, complex (sin x cosh y + i cos x sinh y)
	Cos   // cos x, of radians; float, complex (cos x cosh y − i sin x sinh y)
	Tan   // tan x = sin x / cos x, of radians; float, complex
	Asin  // arcsin x, −π/2 … π/2, NaN beyond ±1; float, complex (−i ln(iz + √(1 − z²)))
	Acos  // arccos x, 0 … π, NaN beyond ±1; float, complex (π/2 − arcsin z)
	Atan  // arctan x, −π/2 … π/2; float, complex (½i (ln(1 − iz) − ln(1 + iz)))
	Sinh  // (eˣ − e⁻ˣ)/2; float, complex (sinh x cos y + i cosh x sin y)
	Cosh  // (eˣ + e⁻ˣ)/2; float, complex (cosh x cos y + i sinh x sin y)
	Tanh  // sinh x / cosh x; float, complex
	Sqrt  // √x; float (NaN below −0), complex (right half plane)
	Rsqrt // 1/√x; float, complex
	Erf   // 2/√π ∫₀ˣ e^(−t²) dt; float (C99's erf)

	Real // Re z = x, the real part; complex; real out
	Imag // Im z = y, the imaginary part; complex; real out

	unaryEnd
)

// typeSet is a set of dtypes, bit d for dtype d.
type typeSet uint16

const (
	boolSet    = typeSet(1 << Bool)
	intSet     = typeSet(1<<Int32 | 1<<Int64)
	floatSet   = typeSet(1<<Float32 | 1<<Float64)
	complexSet = typeSet(1<<Complex64 | 1<<Complex128)
	realSet    = intSet | floatSet
	numSet     = realSet | complexSet
	anySet     = boolSet | numSet
)

func (s typeSet) has(d DType) bool { return d.Valid() && s&(1<<d) != 0 }

func (s typeSet) String() string {
	text := ""
	for d := Bool; d <= Complex128; d++ {
		if s.has(d) {
			if text != "" {
				text += ", "
			}
			text += d.String()
		}
	}
	return text
}

// outType is how the dtype of an output follows from that of input 0.
type outType uint8

const (
	sameType outType = iota
	boolType
	realType    // the type of the parts
	complexType // the type of which input 0 is a part
)

func (o outType) of(d DType) DType {
	switch o {
	case boolType:
		return Bool
	case realType:
		return d.RealPart()
	case complexType:
		if d == Float32 {
			return Complex64
		}
		return Complex128
	}
	return d
}

// RealPart is the type of the real part of d: d itself for types that are not
// complex.
func (d DType) RealPart() DType {
	switch d {
	case Complex64:
		return Float32
	case Complex128:
		return Float64
	}
	return d
}

// function is a row of the table of elementwise functions.
type function struct {
	name string
	in   typeSet
	out  outType
}

var unaries = [unaryEnd]function{
	Neg: {"Neg", numSet, sameType}, Abs: {"Abs", numSet, realType}, Sign: {"Sign", numSet, sameType}, Not: {"Not", boolSet, sameType},
	IsFinite: {"IsFinite", floatSet | complexSet, boolType}, IsNaN: {"IsNaN", floatSet | complexSet, boolType},
	Exp: {"Exp", floatSet | complexSet, sameType}, Log: {"Log", floatSet | complexSet, sameType},
	Expm1: {"Expm1", floatSet, sameType}, Log1p: {"Log1p", floatSet, sameType},
	Sin: {"Sin", floatSet | complexSet, sameType}, Cos: {"Cos", floatSet | complexSet, sameType}, Tan: {"Tan", floatSet | complexSet, sameType},
	Asin: {"Asin", floatSet | complexSet, sameType}, Acos: {"Acos", floatSet | complexSet, sameType}, Atan: {"Atan", floatSet | complexSet, sameType},
	Sinh: {"Sinh", floatSet | complexSet, sameType}, Cosh: {"Cosh", floatSet | complexSet, sameType}, Tanh: {"Tanh", floatSet | complexSet, sameType},
	Sqrt: {"Sqrt", floatSet | complexSet, sameType}, Rsqrt: {"Rsqrt", floatSet | complexSet, sameType}, Erf: {"Erf", floatSet, sameType},
	Real: {"Real", complexSet, realType}, Imag: {"Imag", complexSet, realType},
}

func (u Unary) row() (function, bool) {
	if u == 0 || u >= unaryEnd {
		return function{name: fmt.Sprintf("Unary(%d)", uint8(u))}, false
	}
	return unaries[u], true
}

// Name implements Op.
func (u Unary) Name() string { f, _ := u.row(); return f.name }

// MayAlias implements Op.
func (Unary) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (u Unary) Infer(in []Spec) ([]Spec, error) { f, ok := u.row(); return f.infer(in, 1, ok) }

// infer checks n inputs of one dtype and shape.
func (f function) infer(in []Spec, n int, known bool) ([]Spec, error) {
	if !known {
		return nil, &UnsupportedError{Op: f.name, Provider: "engine", Reason: "no such function"}
	}
	if err := want(f.name, in, n); err != nil {
		return nil, err
	}
	if err := f.types(in, 0); err != nil {
		return nil, err
	}
	if err := wantSameShape(f.name, in); err != nil {
		return nil, err
	}
	out := in[0].Compact()
	out.DType = f.out.of(in[0].DType)
	return inferred(f.name, out)
}

// types checks that the inputs from the first on have one allowed dtype.
func (f function) types(in []Spec, first int) error {
	for i := first; i < len(in); i++ {
		if !f.in.has(in[i].DType) {
			return &DTypeError{Op: f.name, Operand: Input(i), Got: in[i].DType, Want: "one of " + f.in.String()}
		}
		if in[i].DType != in[first].DType {
			return &DTypeError{Op: f.name, Operand: Input(i), Got: in[i].DType, Want: fmt.Sprintf("%v as input %d", in[first].DType, first)}
		}
	}
	return nil
}

// Binary is a function of two elements, applied to every pair of elements of
// two tensors of one dtype and shape: out[i…] = f(x[i…], y[i…]). Out may equal
// either where its dtype is theirs.
type Binary uint8

// The functions of two elements. Add and Mul are operations of their own.
const (
	Sub       Binary = 1 + iota // x − y; real and complex; integers wrap
	Div                         // x / y; real and complex. Integers truncate towards zero; a zero divisor is a *NumericalError
	Rem                         // x − y·trunc(x/y), with the sign of x (C's fmod); real; an integer divided by zero is a *NumericalError
	Max                         // max(x, y); real; NaN if either is, +0 over −0 (IEEE 754-2019's maximum)
	Min                         // min(x, y); real; NaN if either is, −0 over +0 (IEEE 754-2019's minimum)
	Pow                         // x^y; float (C99's pow), complex (e^(y ln x))
	Atan2                       // arctan(x/y) in the quadrant of the point of ordinate x and abscissa y, −π … π; float (C99's atan2)
	LogAddExp                   // ln(eˣ + e^y), without overflow; float (numpy's logaddexp)

	And // x ∧ y; bool
	Or  // x ∨ y; bool
	Xor // x ⊕ y, one and not both; bool

	Equal        // x = y; any dtype; bool out; NaN equals nothing
	NotEqual     // x ≠ y; any dtype; bool out
	Less         // x < y; real; bool out; false with NaN
	LessEqual    // x ≤ y; real; bool out; false with NaN
	Greater      // x > y; real; bool out; false with NaN
	GreaterEqual // x ≥ y; real; bool out; false with NaN

	MakeComplex // x + iy, of float32 or float64; complex out

	binaryEnd
)

var binaries = [binaryEnd]function{
	Sub: {"Sub", numSet, sameType}, Div: {"Div", numSet, sameType}, Rem: {"Rem", realSet, sameType},
	Max: {"Max", realSet, sameType}, Min: {"Min", realSet, sameType}, Pow: {"Pow", floatSet | complexSet, sameType},
	Atan2: {"Atan2", floatSet, sameType}, LogAddExp: {"LogAddExp", floatSet, sameType},
	And: {"And", boolSet, sameType}, Or: {"Or", boolSet, sameType}, Xor: {"Xor", boolSet, sameType},
	Equal: {"Equal", anySet, boolType}, NotEqual: {"NotEqual", anySet, boolType},
	Less: {"Less", realSet, boolType}, LessEqual: {"LessEqual", realSet, boolType},
	Greater: {"Greater", realSet, boolType}, GreaterEqual: {"GreaterEqual", realSet, boolType},
	MakeComplex: {"MakeComplex", floatSet, complexType},
}

func (b Binary) row() (function, bool) {
	if b == 0 || b >= binaryEnd {
		return function{name: fmt.Sprintf("Binary(%d)", uint8(b))}, false
	}
	return binaries[b], true
}

// Name implements Op.
func (b Binary) Name() string { f, _ := b.row(); return f.name }

// MayAlias implements Op.
func (Binary) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (b Binary) Infer(in []Spec) ([]Spec, error) { f, ok := b.row(); return f.infer(in, 2, ok) }

// Ternary is a function of three elements, applied to three tensors of one
// shape. Out may equal an input of its dtype.
type Ternary uint8

// The functions of three elements.
const (
	Select Ternary = 1 + iota // y where x is true, else z, for bool x and y, z of any one dtype (numpy's where)
	Clamp                     // min(max(x, y), z): x into [y, z], as Max and Min; real (numpy's clip)

	ternaryEnd
)

var ternaries = [ternaryEnd]function{Select: {"Select", anySet, sameType}, Clamp: {"Clamp", realSet, sameType}}

func (t Ternary) row() (function, bool) {
	if t == 0 || t >= ternaryEnd {
		return function{name: fmt.Sprintf("Ternary(%d)", uint8(t))}, false
	}
	return ternaries[t], true
}

// Name implements Op.
func (t Ternary) Name() string { f, _ := t.row(); return f.name }

// MayAlias implements Op.
func (Ternary) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (t Ternary) Infer(in []Spec) ([]Spec, error) {
	f, ok := t.row()
	if !ok || t == Clamp {
		return f.infer(in, 3, ok)
	}
	if err := want(f.name, in, 3); err != nil {
		return nil, err
	}
	if in[0].DType != Bool {
		return nil, &DTypeError{Op: f.name, Operand: Input(0), Got: in[0].DType, Want: "bool"}
	}
	if err := f.types(in, 1); err != nil {
		return nil, err
	}
	if err := wantSameShape(f.name, in); err != nil {
		return nil, err
	}
	return []Spec{in[1].Compact()}, nil
}

// Cast is out = in as dtype To, between any two dtypes; values that To cannot
// hold change. To bool: x ≠ 0. From bool: 0 or 1. Real to complex: imaginary
// part 0. Complex to real: the real part. Float to integer: towards zero,
// beyond the range its nearer end, NaN to 0. Between integers: modulo 2ⁿ.
// Else: rounded to nearest even. Out may equal in where the dtype stays.
type Cast struct{ To DType }

// Name implements Op.
func (Cast) Name() string { return "Cast" }

// MayAlias implements Op.
func (Cast) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (c Cast) Infer(in []Spec) ([]Spec, error) { return inferCast("Cast", c.To, in) }

// Convert is out = in as dtype To, as Cast, where every value survives: the first element, in row-major
// order, that To cannot hold exactly is a *NumericalError with ErrInexact. A
// NaN is held by any floating type; to bool only 0 and 1 convert.
type Convert struct{ To DType }

// Name implements Op.
func (Convert) Name() string { return "Convert" }

// MayAlias implements Op.
func (Convert) MayAlias(out, in int) bool { return true }

// Infer implements Op.
func (c Convert) Infer(in []Spec) ([]Spec, error) { return inferCast("Convert", c.To, in) }

func inferCast(op string, to DType, in []Spec) ([]Spec, error) {
	if err := want(op, in, 1); err != nil {
		return nil, err
	}
	if !to.Valid() {
		return nil, &DTypeError{Op: op, Operand: Output(0), Got: to, Want: "an element type in To"}
	}
	out := in[0].Compact()
	out.DType = to
	return inferred(op, out)
}
