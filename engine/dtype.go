package engine

import "fmt"

// DType is the type of the elements of a tensor. It is a word wide so that a
// Spec, which is part of every plan's key, has no padding to hash around.
type DType uint64

// The element types. The zero value is no type and valid nowhere.
const (
	NoDType DType = iota
	Bool
	Int32
	Int64
	Float32
	Float64
	Complex64
	Complex128
)

// Element is the set of Go types that elements have.
type Element interface {
	bool | int32 | int64 | float32 | float64 | complex64 | complex128
}

// DTypeOf returns the element type that T is.
func DTypeOf[T Element]() DType {
	var z T
	switch any(z).(type) {
	case bool:
		return Bool
	case int32:
		return Int32
	case int64:
		return Int64
	case float32:
		return Float32
	case float64:
		return Float64
	case complex64:
		return Complex64
	default:
		return Complex128
	}
}

// Valid says whether d is one of the element types.
func (d DType) Valid() bool { return d >= Bool && d <= Complex128 }

// Size is the number of bytes of one element; 0 for an invalid type.
func (d DType) Size() int {
	switch d {
	case Bool:
		return 1
	case Int32, Float32:
		return 4
	case Int64, Float64, Complex64:
		return 8
	case Complex128:
		return 16
	}
	return 0
}

// IsFloat says whether d is real or complex floating point.
func (d DType) IsFloat() bool { return d >= Float32 && d <= Complex128 }

// IsComplex says whether d is complex.
func (d DType) IsComplex() bool { return d == Complex64 || d == Complex128 }

// IsNumeric says whether d can be added and multiplied.
func (d DType) IsNumeric() bool { return d >= Int32 && d <= Complex128 }

func (d DType) String() string {
	switch d {
	case NoDType:
		return "no dtype"
	case Bool:
		return "bool"
	case Int32:
		return "int32"
	case Int64:
		return "int64"
	case Float32:
		return "float32"
	case Float64:
		return "float64"
	case Complex64:
		return "complex64"
	case Complex128:
		return "complex128"
	}
	return fmt.Sprintf("dtype(%d)", uint64(d))
}
