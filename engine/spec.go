package engine

import (
	"fmt"
	"math/bits"
	"unsafe"
)

// DomainKind is the kind of memory that a tensor lies in.
type DomainKind uint16

// The kinds of memory.
const (
	Host      DomainKind = iota // Go memory of this process
	CUDA                        // memory of a CUDA device
	Simulated                   // memory of a device that a test plays
)

func (k DomainKind) String() string {
	switch k {
	case Host:
		return "host"
	case CUDA:
		return "cuda"
	case Simulated:
		return "simulated"
	}
	return fmt.Sprintf("domain(%d)", uint16(k))
}

// Domain is the memory domain of a tensor: kind, device, and which of several
// independent allocators on one device. The zero value is host memory, one
// domain shared by all host engines. Tensors of different domains meet only
// in an explicit copy.
type Domain struct {
	Kind   DomainKind
	Device uint16
	ID     uint32
}

func (d Domain) String() string {
	if d == (Domain{}) {
		return "host"
	}
	return fmt.Sprintf("%s:%d/%d", d.Kind, d.Device, d.ID)
}

// Spec says all that a plan may depend on: element type, shape, layout and
// memory domain. It is comparable; canonical specs (Canonical, and everything
// that a Tensor or a Kernel returns) of equal layout are ==.
type Spec struct {
	DType   DType
	Domain  Domain
	Shape   Shape
	Strides Strides // zero: compact row-major
}

// specWords are the words that a Spec is, of which none is padding: two are equal
// when they are.
const specWords = 4

var _ [specWords * 8]byte = [unsafe.Sizeof(Spec{})]byte{}

// equal is ==, by words and without a branch for each: every small operation compares its operands' specs.
func (s *Spec) equal(t *Spec) bool {
	a, b := (*[specWords]uint64)(unsafe.Pointer(s)), (*[specWords]uint64)(unsafe.Pointer(t))
	return a[0]^b[0]|a[1]^b[1]|a[2]^b[2]|a[3]^b[3] == 0
}

// SpecOf is the compact host spec of a type and shape.
func SpecOf(d DType, extents ...int) Spec {
	return Spec{DType: d, Shape: ShapeOf(extents...)}
}

func (s Spec) String() string {
	t := s.DType.String() + s.Shape.String()
	if s.Strides != (Strides{}) {
		t += " strides " + s.Strides.String()
	}
	if s.Domain != (Domain{}) {
		t += " in " + s.Domain.String()
	}
	return t
}

// Rank is the number of axes.
func (s Spec) Rank() int { return s.Shape.Rank() }

// Compact returns s with compact row-major layout.
func (s Spec) Compact() Spec {
	s.Strides = Strides{}
	return s
}

// IsCompact says whether a canonical s is compact row-major.
func (s Spec) IsCompact() bool { return s.Strides == (Strides{}) }

// Elements is the number of elements; the spec must be valid.
func (s Spec) Elements() int {
	n := 1
	for i := range s.Rank() {
		n *= s.Shape.At(i)
	}
	return n
}

// Bytes is the size of the elements, Elements() × DType.Size().
func (s Spec) Bytes() int { return s.Elements() * s.DType.Size() }

// AppendStrides appends the stride of every axis, in elements, to dst, also
// where the layout is compact.
func (s Spec) AppendStrides(dst []int) []int {
	if s.Strides != (Strides{}) {
		return s.Strides.Append(dst)
	}
	return appendCompactStrides(dst, s.Shape)
}

func appendCompactStrides(dst []int, shape Shape) []int {
	n, base := shape.Rank(), len(dst)
	for range n {
		dst = append(dst, 0)
	}
	step := 1
	for i := n - 1; i >= 0; i-- {
		dst[base+i] = step
		step *= max(shape.At(i), 1)
	}
	return dst
}

// Canonical returns s with strides that say the same as compact row-major
// order replaced by the zero value. Axes of extent 1 and tensors without
// elements have no say in the layout.
func (s Spec) Canonical() Spec {
	if s.Strides == (Strides{}) || s.Strides.Len() != s.Rank() {
		return s
	}
	step, empty := 1, false
	same := true
	for i := s.Rank() - 1; i >= 0; i-- {
		n := s.Shape.At(i)
		if n == 0 {
			empty = true
		}
		if n > 1 && s.Strides.At(i) != step {
			same = false
		}
		step *= n
	}
	if same || empty {
		s.Strides = Strides{}
	}
	return s
}

// Validate returns nil, or a *DTypeError or *ShapeError that names op and
// operand: invalid type, rank above MaxRank, negative extent, more elements
// or bytes than an int holds, strides of another rank.
func (s Spec) Validate(op string, operand Operand) error {
	if !s.DType.Valid() {
		return &DTypeError{Op: op, Operand: operand, Got: s.DType, Want: "one of the element types"}
	}
	if s.Rank() > MaxRank {
		return shapeErr(op, operand, NoAxis, "rank %d is above the limit of %d", s.Rank(), MaxRank)
	}
	if s.Strides != (Strides{}) && s.Strides.Len() != s.Rank() {
		return shapeErr(op, operand, NoAxis, "%d strides for a shape of rank %d: give one per axis, or none for compact",
			s.Strides.Len(), s.Rank())
	}
	size := uint64(s.DType.Size())
	empty := false
	for i := range s.Rank() {
		n := s.Shape.At(i)
		if n < 0 {
			return shapeErr(op, operand, i, "extent %d is negative", n)
		}
		if n == 0 {
			empty = true
			continue
		}
		hi, lo := bits.Mul64(size, uint64(n))
		if hi != 0 || lo > maxInt {
			return shapeErr(op, operand, i, "%v elements of %v take more bytes than an int can count: split the tensor", s.Shape, s.DType)
		}
		size = lo
	}
	if empty {
		return nil
	}
	return s.validateReach(op, operand)
}

const maxInt = uint64(^uint(0) >> 1)

// validateReach refuses strides whose span overflows.
func (s Spec) validateReach(op string, operand Operand) error {
	if s.Strides == (Strides{}) {
		return nil
	}
	var span uint64
	for i := range s.Rank() {
		st := s.Strides.At(i)
		abs := uint64(st)
		if st < 0 {
			abs = uint64(-st)
		}
		hi, lo := bits.Mul64(abs, uint64(s.Shape.At(i)-1))
		if span += lo; hi != 0 || lo > maxInt || span > maxInt/uint64(s.DType.Size()) {
			return shapeErr(op, operand, i, "stride %d reaches further than an int can count", st)
		}
	}
	return nil
}

// reach returns the lowest and highest element position relative to the
// offset; ok is false without elements.
func (s Spec) reach() (lo, hi int, ok bool) {
	if s.Strides == (Strides{}) {
		n := s.Elements()
		return 0, n - 1, n > 0
	}
	for i := range s.Rank() {
		n := s.Shape.At(i)
		if n == 0 {
			return 0, 0, false
		}
		if d := s.Strides.At(i) * (n - 1); d < 0 {
			lo += d
		} else {
			hi += d
		}
	}
	return lo, hi, true
}
