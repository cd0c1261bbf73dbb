package engine

import "math"

// Op is an operation as a value. Its dynamic type must be comparable, because
// operations are keys of plan caches; parameters that are lists are interned
// (Shape, Axes), parameters that are numbers are Factors.
type Op interface {
	// Name is the operation's name in errors.
	Name() string

	// Infer returns the compact specs of the outputs for inputs of the
	// given canonical specs, or a typed error that names what does not fit.
	Infer(in []Spec) ([]Spec, error)

	// MayAlias says whether output out may be exactly the same elements as
	// input in. Every other overlap is refused by Run.
	MayAlias(out, in int) bool
}

// Factor is a number that is a parameter of an operation. The zero value means
// that none was given. Two Factors are == when their bits are, so that −0 and
// NaN are values like any other.
type Factor struct {
	re, im uint64
	set    bool
}

// By is the factor z.
func By(z complex128) Factor {
	return Factor{math.Float64bits(real(z)), math.Float64bits(imag(z)), true}
}

// Given says whether f holds a number.
func (f Factor) Given() bool { return f.set }

// Or is the number, or def if none was given.
func (f Factor) Or(def complex128) complex128 {
	if !f.set {
		return def
	}
	return complex(math.Float64frombits(f.re), math.Float64frombits(f.im))
}

// check refuses factors that dtype d cannot hold.
func (f Factor) check(op string, d DType) error {
	z := f.Or(0)
	if d == Bool && z != 0 && z != 1 {
		return &DTypeError{Op: op, Operand: NoOperand, Got: d, Want: "a numeric type for a value that is neither 0 nor 1"}
	}
	if imag(z) != 0 && !d.IsComplex() {
		return &DTypeError{Op: op, Operand: Input(0), Got: d, Want: "a complex type for a factor with an imaginary part"}
	}
	if d == Int32 || d == Int64 {
		x := real(z)
		limit := float64(1 << 31)
		if d == Int64 {
			limit = 1 << 53
		}
		if x != math.Trunc(x) || math.Abs(x) >= limit {
			return &DTypeError{Op: op, Operand: Input(0), Got: d, Want: "a floating type for a factor that is no exact integer"}
		}
	}
	return nil
}

// want checks number, validity and domain of inputs.
func want(op string, in []Spec, n int) error {
	if len(in) != n {
		return shapeErr(op, NoOperand, NoAxis, "%d inputs given, the operation has %d", len(in), n)
	}
	for i, s := range in {
		if err := s.Validate(op, Input(i)); err != nil {
			return err
		}
		if s.Domain != in[0].Domain {
			return &DomainError{Op: op, Operand: Input(i), Got: s.Domain, Want: in[0].Domain}
		}
	}
	return nil
}

// inferred returns the specs of outputs, or what is wrong with one: it may have more
// elements, or wider ones, than the inputs.
func inferred(op string, out ...Spec) ([]Spec, error) {
	for i, s := range out {
		if err := s.Validate(op, Output(i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func wantNumeric(op string, in []Spec, n int) error {
	if err := want(op, in, n); err != nil {
		return err
	}
	for i, s := range in {
		if !s.DType.IsNumeric() {
			return &DTypeError{Op: op, Operand: Input(i), Got: s.DType, Want: "a numeric type"}
		}
		if s.DType != in[0].DType {
			return &DTypeError{Op: op, Operand: Input(i), Got: s.DType, Want: in[0].DType.String() + " as input 0"}
		}
	}
	return nil
}

// wantSameShape checks that all inputs have the shape of the first.
func wantSameShape(op string, in []Spec) error {
	a := in[0].Shape
	for i, s := range in[1:] {
		if s.Shape == a {
			continue
		}
		if s.Rank() != a.Rank() {
			return shapeErr(op, Input(i+1), NoAxis, "shape %v differs from %v of input 0: shapes are never broadcast implicitly", s.Shape, a)
		}
		for k := range a.Rank() {
			if s.Shape.At(k) != a.At(k) {
				return shapeErr(op, Input(i+1), k, "extent %d differs from %d of input 0: shapes are never broadcast implicitly", s.Shape.At(k), a.At(k))
			}
		}
	}
	return nil
}
