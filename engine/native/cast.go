package native

import (
	"fmt"
	"math"

	"github.com/hataori/hataori-go/engine"
)

// NewCast plans dst = x as dtype to, by the rules of engine.Cast.
func NewCast(from, to engine.DType, extents, dst, x []int) *MapPlan {
	return newFunction("Cast", castRow(from, to), nil, [maxOperands]int{to.Size(), from.Size()}, extents, dst, x)
}

func castRow(from, to engine.DType) row {
	switch from {
	case engine.Bool:
		one := func(x bool) int32 {
			if x {
				return 1
			}
			return 0
		}
		return castVia(to, one)
	case engine.Int32:
		return castReal[int32](to)
	case engine.Int64:
		return castReal[int64](to)
	case engine.Float32:
		return castReal[float32](to)
	case engine.Float64:
		return castReal[float64](to)
	case engine.Complex64:
		return castComplex(to, func(x complex64) float32 { return real(x) })
	case engine.Complex128:
		return castComplex(to, func(x complex128) float64 { return real(x) })
	}
	return nil
}

// castComplex converts complex elements; real types get the real part.
func castComplex[T complexNumber, R float](to engine.DType, part func(T) R) row {
	switch to {
	case engine.Bool:
		return map1(func(z T) bool { return z != 0 })
	case engine.Complex64:
		return map1(func(z T) complex64 { return complex64(z) })
	case engine.Complex128:
		return map1(func(z T) complex128 { return complex128(z) })
	}
	return castVia(to, part)
}

// castReal converts real elements.
func castReal[T realNumber](to engine.DType) row {
	half := 0.5
	switch whole := T(half) == 0; {
	case to == engine.Float32:
		return convertRow[T, float32]
	case to == engine.Float64:
		return convertRow[T, float64]
	case to == engine.Int32 && whole:
		return convertRow[T, int32]
	case to == engine.Int64 && whole:
		return convertRow[T, int64]
	}
	return castVia(to, func(x T) T { return x })
}

// castVia converts the real numbers that view makes of the elements.
func castVia[T any, R realNumber](to engine.DType, view func(T) R) row {
	switch to {
	case engine.Bool:
		return map1(func(x T) bool { return view(x) != 0 })
	case engine.Int32:
		return map1(func(x T) int32 { return toInteger[R, int32](view(x), math.MinInt32, math.MaxInt32) })
	case engine.Int64:
		return map1(func(x T) int64 { return toInteger[R, int64](view(x), math.MinInt64, math.MaxInt64) })
	case engine.Float32:
		return map1(func(x T) float32 { return float32(view(x)) })
	case engine.Float64:
		return map1(func(x T) float64 { return float64(view(x)) })
	case engine.Complex64:
		return map1(func(x T) complex64 { return complex(float32(view(x)), 0) })
	case engine.Complex128:
		return map1(func(x T) complex128 { return complex(float64(view(x)), 0) })
	}
	panic(fmt.Sprintf("native: cast to %v", to))
}

// toInteger truncates floats towards zero into [lo, hi], NaN to 0; integers
// keep their low bits.
func toInteger[T realNumber, U integer](x T, lo, hi U) U {
	half := 0.5
	if T(half) == 0 {
		return U(x)
	}
	switch f := float64(x); {
	case f != f:
		return 0
	case f <= float64(lo):
		return lo
	case f >= float64(hi): // float64(MaxInt64) is 2⁶³: what is below fits
		return hi
	default:
		return U(f)
	}
}

// Inexact finds an element of dtype from that changes when it is cast to dtype
// to.
func Inexact(from, to engine.DType) Bad {
	switch from {
	case engine.Bool:
		return badIf(func(bool) bool { return false })
	case engine.Int32:
		return badIf(func(x int32) bool { return !integerFits(int64(x), to) })
	case engine.Int64:
		return badIf(func(x int64) bool { return !integerFits(x, to) })
	case engine.Float32:
		return badIf(func(x float32) bool { return !floatFits(float64(x), to) })
	case engine.Float64:
		return badIf(func(x float64) bool { return !floatFits(x, to) })
	case engine.Complex64:
		return badIf(func(z complex64) bool { return !complexFits(complex128(z), to) })
	case engine.Complex128:
		return badIf(func(z complex128) bool { return !complexFits(z, to) })
	}
	panic(fmt.Sprintf("native: cast of %v", from))
}

const two63 = 1 << 63

func integerFits(x int64, to engine.DType) bool {
	var f float64
	switch to.RealPart() {
	case engine.Bool:
		return x == 0 || x == 1
	case engine.Int32:
		return int64(int32(x)) == x
	case engine.Int64:
		return true
	case engine.Float32:
		f = float64(float32(x))
	default:
		f = float64(x)
	}
	return f < two63 && int64(f) == x
}

func floatFits(x float64, to engine.DType) bool {
	switch to.RealPart() {
	case engine.Bool:
		return x == 0 || x == 1
	case engine.Int32:
		return x == math.Trunc(x) && math.MinInt32 <= x && x <= math.MaxInt32
	case engine.Int64:
		return x == math.Trunc(x) && -two63 <= x && x < two63
	case engine.Float32:
		return x != x || float64(float32(x)) == x
	}
	return true
}

func complexFits(z complex128, to engine.DType) bool {
	if !to.IsComplex() {
		return imag(z) == 0 && floatFits(real(z), to)
	}
	return floatFits(real(z), to) && floatFits(imag(z), to)
}
