package engine

import (
	"math"
	"math/bits"
)

// Creation: operations without inputs. Any engine fills any layout; the values
// depend on the operation alone.

// Fill is out[i…] = Value (0 unless given), of Spec's dtype and shape. Spec must be compact.
type Fill struct {
	Spec  Spec
	Value Factor
}

// Name implements Op.
func (Fill) Name() string { return "Fill" }

// MayAlias implements Op.
func (Fill) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (f Fill) Infer(in []Spec) ([]Spec, error) {
	out, err := inferNew("Fill", anySet, f.Spec, in)
	if err == nil {
		err = f.Value.check("Fill", f.Spec.DType)
	}
	return out, err
}

// Iota is out[…, k, …] = k along Axis, of Spec's dtype and shape: 0, 1, …; numeric
// dtypes (StableHLO's iota). Spec must be compact.
type Iota struct {
	Spec Spec
	Axis int
}

// Name implements Op.
func (Iota) Name() string { return "Iota" }

// MayAlias implements Op.
func (Iota) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (o Iota) Infer(in []Spec) ([]Spec, error) {
	out, err := inferNew("Iota", numSet, o.Spec, in)
	if err == nil {
		_, err = axisSet("Iota", Output(0), AxesOf(o.Axis), o.Spec.Rank())
	}
	return out, err
}

// Distribution is what Random draws from.
type Distribution uint8

// The distributions.
const (
	Uniform Distribution = iota // float: [0, 1), multiples of 2⁻⁵³ or 2⁻²⁴; complex: both parts; int32, int64: all values; bool: even odds
	Normal                      // mean 0, variance 1 (of each part), by Box and Muller; float and complex
)

// Random is out[i] = f(Philox(First + i)), independent random numbers of Spec's dtype
// and shape.
// Element i in row-major order is made from the i-th block of the generator
// Philox4x32-10 (J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3,
// SC 2011) under the key Seed, counted from First on in stream Stream: the same on any
// engine, width, lane or rank. Drawing First … First+n−1 and First+n … equals
// drawing all at once; different Streams are independent. Spec must be compact.
type Random struct {
	Spec         Spec
	Distribution Distribution
	Seed         uint64
	Stream       uint64
	First        uint64
}

// Name implements Op.
func (Random) Name() string { return "Random" }

// MayAlias implements Op.
func (Random) MayAlias(out, in int) bool { return false }

// Infer implements Op.
func (r Random) Infer(in []Spec) ([]Spec, error) {
	set := anySet
	switch r.Distribution {
	case Uniform:
	case Normal:
		set = floatSet | complexSet
	default:
		return nil, &UnsupportedError{Op: "Random", Provider: "engine", Reason: "no such distribution"}
	}
	return inferNew("Random", set, r.Spec, in)
}

func inferNew(op string, set typeSet, s Spec, in []Spec) ([]Spec, error) {
	if len(in) != 0 {
		return nil, shapeErr(op, NoOperand, NoAxis, "%d inputs given, the operation has none", len(in))
	}
	if err := s.Validate(op, Output(0)); err != nil {
		return nil, err
	}
	if !set.has(s.DType) {
		return nil, &DTypeError{Op: op, Operand: Output(0), Got: s.DType, Want: "one of " + set.String()}
	}
	if s = s.Canonical(); !s.IsCompact() {
		return nil, shapeErr(op, Output(0), NoAxis, "%v is not compact: run into a view for another layout", s)
	}
	return []Spec{s}, nil
}

// Philox4x32 is the block of the generator Philox4x32-10 for a counter and a key.
func Philox4x32(counter [4]uint32, key [2]uint32) [4]uint32 {
	const m0, m1, w0, w1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
	c := counter
	for round := range 10 {
		if round > 0 {
			key[0] += w0
			key[1] += w1
		}
		h0, l0 := bits.Mul32(m0, c[0])
		h1, l1 := bits.Mul32(m1, c[2])
		c = [4]uint32{h1 ^ c[1] ^ key[0], l1, h0 ^ c[3] ^ key[1], l0}
	}
	return c
}

// At is the pair of 64-bit words that element i is made from. For engines.
func (r Random) At(i int) (a, b uint64) {
	n := r.First + uint64(i)
	c := Philox4x32([4]uint32{uint32(n), uint32(n >> 32), uint32(r.Stream), uint32(r.Stream >> 32)}, [2]uint32{uint32(r.Seed), uint32(r.Seed >> 32)})
	return uint64(c[1])<<32 | uint64(c[0]), uint64(c[3])<<32 | uint64(c[2])
}

// Float is element i for floating dtypes: its parts in double precision; real
// dtypes use the first. For engines.
func (r Random) Float(i int) (re, im float64) {
	a, b := r.At(i)
	if r.Distribution == Normal {
		// The first word gives the radius, from (0, 1], the second the angle.
		u, v := float64(a>>11+1)*0x1p-53, float64(b>>11)*0x1p-53
		radius := math.Sqrt(-2 * math.Log(u))
		sin, cos := math.Sincos(2 * math.Pi * v)
		return radius * cos, radius * sin
	}
	if r.Spec.DType.RealPart() == Float32 {
		return float64(a>>40) * 0x1p-24, float64(b>>40) * 0x1p-24
	}
	return float64(a>>11) * 0x1p-53, float64(b>>11) * 0x1p-53
}

// Zeros returns a tensor of e's, filled with 0 or false.
func Zeros(e Execution, d DType, extents ...int) (*Tensor, error) { return Full(e, d, 0, extents...) }

// Full returns a tensor of e's, every element value.
func Full(e Execution, d DType, value complex128, extents ...int) (*Tensor, error) {
	return create(e, Fill{Spec: specIn(e, d, extents), Value: By(value)})
}

// Eye returns the n×n identity matrix in e's memory.
func Eye(e Execution, d DType, n int) (*Tensor, error) {
	ones, err := Full(e, d, 1, n)
	if err != nil {
		return nil, err
	}
	eye, err := Apply(e, DiagonalIn{A: 0, B: 1}, ones, nil)
	_ = e.Release(ones) // ours, without views: cannot fail
	return eye, err
}

// Arange returns 0, 1, … n−1 in e's memory.
func Arange(e Execution, d DType, n int) (*Tensor, error) {
	return create(e, Iota{Spec: specIn(e, d, []int{n})})
}

// Rand returns a tensor of e's drawn as r says, for a dtype and extents; r.Spec
// is set here.
func Rand(e Execution, r Random, d DType, extents ...int) (*Tensor, error) {
	r.Spec = specIn(e, d, extents)
	return create(e, r)
}

func specIn(e Execution, d DType, extents []int) Spec {
	s := SpecOf(d, extents...)
	s.Domain = e.Target().Domain
	return s
}

func create(e Execution, op Op) (*Tensor, error) {
	out, err := Eval(e, op)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}
