package engine

import (
	"fmt"
	"sync/atomic"
	"unsafe"
)

// Buffer is a piece of memory in one domain that tensors lie in. Engines and
// FromSlice make buffers; callers see them only through tensors.
type Buffer struct {
	domain Domain
	bytes  int
	host   unsafe.Pointer // first byte; keeps Go memory alive
	device uintptr        // address or handle in another domain
	owner  any            // the allocator's token; nil for the caller's memory
	views  atomic.Int64   // live views; < 0 after the release
}

// NewHostBuffer describes bytes of host memory at p, which must be aligned for
// every type it is used with and must not move. owner identifies the
// allocator that Release gives the buffer back to. For engines.
func NewHostBuffer(p unsafe.Pointer, bytes int, owner any) *Buffer {
	return &Buffer{bytes: bytes, host: p, owner: owner}
}

// NewDeviceBuffer describes bytes of memory of another domain. For engines.
func NewDeviceBuffer(d Domain, handle uintptr, bytes int, owner any) *Buffer {
	return &Buffer{domain: d, bytes: bytes, device: handle, owner: owner}
}

// Domain is the memory domain that the buffer lies in.
func (b *Buffer) Domain() Domain { return b.domain }

// Bytes is the size of the buffer.
func (b *Buffer) Bytes() int { return b.bytes }

// Host is the first byte, nil outside host memory.
func (b *Buffer) Host() unsafe.Pointer { return b.host }

// Device is the handle given to NewDeviceBuffer.
func (b *Buffer) Device() uintptr { return b.device }

// Tensor is a Spec over a buffer: element (i0, i1, …) lies Σ i·stride
// elements after the offset. A tensor is immutable but for its elements and
// its release; reading it from several goroutines is safe, as it is for a slice.
type Tensor struct {
	spec   Spec
	offset int // elements from the start of the buffer
	n      int // elements
	// The addresses of the first byte used and of the one after the last; both
	// 0 without elements.
	begin, end uintptr
	host       unsafe.Pointer // the element at the offset; nil without elements, and outside host memory
	buf        *Buffer
	view       bool
	ended      atomic.Uint32 // 1 after the release
}

// NewTensor places spec at an offset, in elements, in buf. It checks once that
// every element lies inside the buffer. For engines; others use FromSlice,
// FromStrided, or an engine's Alloc.
func NewTensor(spec Spec, offset int, buf *Buffer) (*Tensor, error) {
	t := new(Tensor)
	if err := t.set("tensor", spec, offset, buf); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Tensor) set(op string, spec Spec, offset int, buf *Buffer) error {
	if err := spec.Validate(op, NoOperand); err != nil {
		return err
	}
	if spec.Domain != buf.domain {
		return &DomainError{Op: op, Operand: NoOperand, Got: buf.domain, Want: spec.Domain}
	}
	spec = spec.Canonical()
	lo, hi, ok := spec.reach()
	if !ok {
		t.spec, t.offset, t.buf, t.n = spec, 0, buf, 0
		return nil
	}
	size := buf.bytes / spec.DType.Size()
	// offset, lo and hi are below 2^63/size each, lo ≤ 0 ≤ hi.
	if offset < 0 || offset >= size || offset+lo < 0 || hi > size-1-offset {
		return shapeErr(op, NoOperand, NoAxis, "%v at offset %d reaches elements %d to %d of a buffer of %d",
			spec, offset, offset+lo, offset+hi, size)
	}
	t.spec, t.offset, t.buf, t.n = spec, offset, buf, spec.Elements()
	t.begin, t.end = t.addr(offset+lo), t.addr(offset+hi+1)
	if buf.host != nil {
		t.host = unsafe.Add(buf.host, offset*spec.DType.Size())
	}
	return nil
}

// FromSlice returns a compact host tensor over data itself (no copy), of the
// given extents, or rank 0 for none. len(data) must be their product.
func FromSlice[T Element](data []T, extents ...int) (*Tensor, error) {
	spec := SpecOf(DTypeOf[T](), extents...)
	if err := spec.Validate("FromSlice", NoOperand); err != nil {
		return nil, err
	}
	if n := spec.Elements(); n != len(data) {
		return nil, shapeErr("FromSlice", NoOperand, NoAxis, "shape %v has %d elements, the slice %d", spec.Shape, n, len(data))
	}
	return FromStrided(data, 0, spec.Shape, Strides{})
}

// FromStrided returns a host tensor over data (no copy) whose element
// (i0, i1, …) is data[offset + Σ i·stride]; every element must lie in data.
func FromStrided[T Element](data []T, offset int, shape Shape, strides Strides) (*Tensor, error) {
	spec := Spec{DType: DTypeOf[T](), Shape: shape, Strides: strides}
	buf := NewHostBuffer(unsafe.Pointer(unsafe.SliceData(data)), len(data)*spec.DType.Size(), nil)
	t := new(Tensor)
	if err := t.set("FromStrided", spec, offset, buf); err != nil {
		return nil, err
	}
	return t, nil
}

// Data returns the elements of a compact host tensor in row-major order. The
// slice is the tensor's own memory: valid until the tensor is released.
func Data[T Element](t *Tensor) ([]T, error) {
	switch {
	case t.spec.DType != DTypeOf[T]():
		return nil, &DTypeError{Op: "Data", Operand: NoOperand, Got: t.spec.DType, Want: DTypeOf[T]().String()}
	case t.spec.Domain.Kind != Host:
		return nil, &DomainError{Op: "Data", Operand: NoOperand, Got: t.spec.Domain}
	case !t.spec.IsCompact():
		return nil, shapeErr("Data", NoOperand, NoAxis, "%v is not compact: copy it first", t.spec)
	}
	if err := t.Live(); err != nil {
		return nil, err
	}
	if t.n == 0 {
		return []T{}, nil
	}
	all, off := HostSlice[T](t)
	return all[off : off+t.n : off+t.n], nil
}

// HostSlice returns the whole buffer of a host tensor as a slice, and the
// position in it of the tensor's offset. For engines: it checks nothing, and
// T must be of the size of the tensor's dtype.
func HostSlice[T any](t *Tensor) (all []T, offset int) {
	if t.n == 0 {
		return nil, 0
	}
	var z T
	return unsafe.Slice((*T)(t.buf.host), t.buf.bytes/int(unsafe.Sizeof(z))), t.offset
}

// HostPointer is the address of the element at the tensor's offset; nil
// without elements. For engines.
func (t *Tensor) HostPointer() unsafe.Pointer { return t.host }

// Spec is the tensor's canonical spec.
func (t *Tensor) Spec() Spec { return t.spec }

// DType is the element type.
func (t *Tensor) DType() DType { return t.spec.DType }

// Shape is the list of extents.
func (t *Tensor) Shape() Shape { return t.spec.Shape }

// Rank is the number of axes.
func (t *Tensor) Rank() int { return t.spec.Rank() }

// Elements is the number of elements.
func (t *Tensor) Elements() int { return t.n }

// Offset is the position, in elements, of element (0, 0, …) in the buffer.
func (t *Tensor) Offset() int { return t.offset }

// Buffer is the memory that the tensor lies in. For engines.
func (t *Tensor) Buffer() *Buffer { return t.buf }

// IsView says whether the tensor is a view of another.
func (t *Tensor) IsView() bool { return t.view }

// Live returns nil while the tensor can be used, and ErrReleased after.
func (t *Tensor) Live() error {
	if t.ended.Load() != 0 {
		return t.refused("", ErrReleased)
	}
	return nil
}

func (t *Tensor) refused(op string, why error) error {
	return &CallError{Op: op, On: t.String(), Err: why}
}

func (t *Tensor) String() string { return fmt.Sprintf("tensor %v", t.spec) }

// EndView ends a view, so that the tensor it was made from can be released.
// A second call returns ErrReleased; a tensor that is no view, ErrNotOwned.
func (t *Tensor) EndView() error {
	if !t.view {
		return t.refused("EndView of no view", ErrNotOwned)
	}
	if !t.ended.CompareAndSwap(0, 1) {
		return t.refused("EndView", ErrReleased)
	}
	t.buf.views.Add(-1)
	return nil
}

// usable says whether t is live and of a spec.
func (t *Tensor) usable(s *Spec) bool {
	a, b := (*[specWords]uint64)(unsafe.Pointer(&t.spec)), (*[specWords]uint64)(unsafe.Pointer(s))
	return a[0]^b[0]|a[1]^b[1]|a[2]^b[2]|a[3]^b[3]|uint64(t.ended.Load()) == 0
}

// TakeBack is how an engine takes a tensor back: it ends a view (nil buffer),
// or gives the buffer of a tensor that owner allocated and that has no live
// views, which is unusable from then on. Otherwise it returns ErrViewsLive,
// ErrNotOwned or ErrReleased. For engines.
func TakeBack(t *Tensor, owner any) (*Buffer, error) {
	if t.view {
		return nil, t.EndView()
	}
	if t.buf.owner == nil || t.buf.owner != owner {
		return nil, t.refused("Release", ErrNotOwned)
	}
	if t.ended.Load() != 0 {
		return nil, t.refused("Release", ErrReleased)
	}
	if !t.buf.views.CompareAndSwap(0, -1) {
		if t.buf.views.Load() < 0 {
			return nil, t.refused("Release", ErrReleased)
		}
		return nil, t.refused("Release", ErrViewsLive)
	}
	t.ended.Store(1)
	return t.buf, nil
}

// makeView counts a new view of t's buffer and returns it.
func (t *Tensor) makeView(op string, spec Spec, shift int) (*Tensor, error) {
	if t.ended.Load() != 0 {
		return nil, t.refused(op, ErrReleased)
	}
	v := &Tensor{view: true}
	offset := t.offset + shift
	if spec.Elements() == 0 {
		offset = 0
	}
	if err := v.set(op, spec, offset, t.buf); err != nil {
		return nil, err
	}
	for {
		c := t.buf.views.Load()
		if c < 0 {
			return nil, t.refused(op, ErrReleased)
		}
		if t.buf.views.CompareAndSwap(c, c+1) {
			return v, nil
		}
	}
}

// Retarget moves t, keeping its spec, to another offset, in elements, of the same
// buffer or of another: a planner need not make a tensor for every place it looks
// at. t is the planner's own from NewTensor, which nobody else has and no run is
// using; a view is refused with ErrNotOwned. After an error t is where it was. It
// allocates nothing.
func (t *Tensor) Retarget(offset int, buf *Buffer) error {
	if t.view {
		return t.refused("Retarget", ErrNotOwned)
	}
	return t.set("Retarget", t.spec, offset, buf)
}
