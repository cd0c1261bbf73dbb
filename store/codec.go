package store

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// move copies n bytes between offset mem of a Go value and offset disk of its
// packed form, or, with sub, does so count times with the given steps.
type move struct {
	mem, disk, n      int
	boolean           bool // a byte that must be 0 or 1 in Go
	count             int
	memStep, diskStep int
	sub               []move
}

// moves compiles the copies for a type that elementLayout accepts, at the
// given offsets.
func moves(t reflect.Type, mem, disk int) []move {
	if _, ok := scalarKind(t); ok {
		return []move{{mem: mem, disk: disk, n: int(t.Size()), boolean: t.Kind() == reflect.Bool}}
	}
	if t.Kind() == reflect.Array {
		return repeat(t.Elem(), mem, disk, t.Len())
	}
	var all []move
	for i := range t.NumField() {
		f := t.Field(i)
		if _, skip := fieldName(f); skip {
			continue
		}
		sub := moves(f.Type, mem+int(f.Offset), disk)
		disk += diskSize(f.Type)
		for _, m := range sub {
			if k := len(all) - 1; k >= 0 && joins(all[k], m) {
				all[k].n += m.n
				continue
			}
			all = append(all, m)
		}
	}
	return all
}

func joins(a, b move) bool {
	return a.sub == nil && b.sub == nil && a.boolean == b.boolean && a.mem+a.n == b.mem && a.disk+a.n == b.disk
}

// repeat compiles count elements of t in a row.
func repeat(t reflect.Type, mem, disk, count int) []move {
	sub := moves(t, 0, 0)
	if len(sub) == 1 && sub[0].sub == nil && sub[0].mem == 0 && sub[0].n == int(t.Size()) {
		return []move{{mem: mem, disk: disk, n: sub[0].n * count, boolean: sub[0].boolean}}
	}
	return []move{{mem: mem, disk: disk, count: count, memStep: int(t.Size()), diskStep: diskSize(t), sub: sub}}
}

// diskSize is the packed size of a type that elementLayout accepts.
func diskSize(t reflect.Type) int {
	switch t.Kind() {
	case reflect.Array:
		return t.Len() * diskSize(t.Elem())
	case reflect.Struct:
		n := 0
		for i := range t.NumField() {
			if _, skip := fieldName(t.Field(i)); !skip {
				n += diskSize(t.Field(i).Type)
			}
		}
		return n
	}
	return int(t.Size())
}

// pack copies the value at p into dst, unpack the other way round. dst must
// be as long as the moves say.
func pack(ms []move, p unsafe.Pointer, dst []byte) {
	for i := range ms {
		m := &ms[i]
		if m.sub == nil {
			copy(dst[m.disk:m.disk+m.n], unsafe.Slice((*byte)(unsafe.Add(p, m.mem)), m.n))
			continue
		}
		for k := range m.count {
			pack(m.sub, unsafe.Add(p, m.mem+k*m.memStep), dst[m.disk+k*m.diskStep:])
		}
	}
}

func unpack(ms []move, p unsafe.Pointer, src []byte) {
	for i := range ms {
		m := &ms[i]
		if m.sub != nil {
			for k := range m.count {
				unpack(m.sub, unsafe.Add(p, m.mem+k*m.memStep), src[m.disk+k*m.diskStep:])
			}
			continue
		}
		dst := unsafe.Slice((*byte)(unsafe.Add(p, m.mem)), m.n)
		copy(dst, src[m.disk:m.disk+m.n])
		if m.boolean {
			for j, b := range dst {
				if b > 1 {
					dst[j] = 1
				}
			}
		}
	}
}

// sliceHead is the memory of a Go slice.
type sliceHead struct {
	data     unsafe.Pointer
	len, cap int
}

// codec turns values of one Go type into rows and back.
type codec struct {
	typ      reflect.Type
	format   format
	moves    []move // of the value, or of one element of a slice
	marshals bool
	elemSize int // packed size of a slice's element
	elems    int // elements in a fixed-shape slice
}

func newCodec(t reflect.Type, shape []int) (*codec, error) {
	f, err := rowFormat(t, shape)
	if err != nil {
		return nil, err
	}
	c := &codec{typ: t, format: f, marshals: t.Implements(marshalerType)}
	switch {
	case c.marshals || t.Kind() == reflect.String:
	case t.Kind() == reflect.Slice:
		c.moves = moves(t.Elem(), 0, 0)
		c.elemSize = diskSize(t.Elem())
		c.elems = product(shape)
	default:
		c.moves = moves(t, 0, 0)
	}
	return c, nil
}

// append appends the packed form of the value at p, which is a *U.
func (c *codec) append(dst []byte, p unsafe.Pointer) ([]byte, error) {
	switch {
	case c.marshals:
		m := reflect.NewAt(c.typ, p).Elem().Interface().(encoding.BinaryMarshaler)
		b, err := m.MarshalBinary()
		if err != nil {
			return dst, fmt.Errorf("MarshalBinary of %s: %w", c.typ, err)
		}
		return append(dst, b...), nil
	case c.typ.Kind() == reflect.String:
		s := *(*string)(p)
		if i := strings.IndexByte(s, 0); i >= 0 {
			return dst, unsupported("the string has a NUL byte at %d; store []byte instead", i)
		}
		if !utf8.ValidString(s) {
			return dst, unsupported("the string is not UTF-8; store []byte instead")
		}
		return append(dst, s...), nil
	case c.typ.Kind() == reflect.Slice:
		return c.appendSlice(dst, (*sliceHead)(p))
	}
	n := len(dst)
	dst = grow(dst, c.format.size())
	pack(c.moves, p, dst[n:])
	return dst, nil
}

func (c *codec) appendSlice(dst []byte, s *sliceHead) ([]byte, error) {
	if !c.format.Elem.variable() && s.len != c.elems {
		return dst, &LayoutError{Have: fmt.Sprintf("%s (%d elements)", &c.format, c.elems), Want: fmt.Sprintf("a slice of %d", s.len)}
	}
	if int64(s.len)*int64(c.elemSize) > maxRow {
		return dst, unsupported("a row of %d elements has more than %d bytes", s.len, maxRow)
	}
	n := len(dst)
	dst = grow(dst, s.len*c.elemSize)
	size := int(c.typ.Elem().Size())
	if c.dense() {
		copy(dst[n:], unsafe.Slice((*byte)(s.data), s.len*size))
		return dst, nil
	}
	for i := range s.len {
		pack(c.moves, unsafe.Add(s.data, i*size), dst[n+i*c.elemSize:])
	}
	return dst, nil
}

// dense reports that an element is stored as it lies in memory.
func (c *codec) dense() bool {
	return len(c.moves) == 1 && c.moves[0].sub == nil && c.moves[0].n == int(c.typ.Elem().Size())
}

// decode fills the value at p, a *U, from a row. A slice gets memory of its
// own.
func (c *codec) decode(src []byte, p unsafe.Pointer) error {
	switch {
	case c.marshals:
		v := reflect.NewAt(c.typ, p)
		if c.typ.Kind() == reflect.Pointer {
			v.Elem().Set(reflect.New(c.typ.Elem()))
			v = v.Elem()
		}
		u, ok := v.Interface().(encoding.BinaryUnmarshaler)
		if !ok {
			return unsupported("%s has MarshalBinary but no UnmarshalBinary", c.typ)
		}
		return u.UnmarshalBinary(src)
	case c.typ.Kind() == reflect.String:
		*(*string)(p) = string(src)
		return nil
	case c.typ.Kind() == reflect.Slice:
		if len(src)%c.elemSize != 0 {
			return unsupported("a row of %d bytes for elements of %d", len(src), c.elemSize)
		}
		n := len(src) / c.elemSize
		v := reflect.MakeSlice(c.typ, n, n)
		reflect.NewAt(c.typ, p).Elem().Set(v)
		data, size := v.UnsafePointer(), int(c.typ.Elem().Size())
		if c.dense() && !c.moves[0].boolean {
			copy(unsafe.Slice((*byte)(data), n*size), src)
			return nil
		}
		for i := range n {
			unpack(c.moves, unsafe.Add(data, i*size), src[i*c.elemSize:])
		}
		return nil
	}
	if len(src) != c.format.size() {
		return unsupported("a row of %d bytes, not %d", len(src), c.format.size())
	}
	unpack(c.moves, p, src)
	return nil
}

func grow(b []byte, n int) []byte {
	if len(b)+n <= cap(b) {
		return b[:len(b)+n]
	}
	return append(b, make([]byte, n)...)
}
