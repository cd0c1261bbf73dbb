package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

func (c *compiler) array(p *plan, path string, hidden bool) error {
	n := p.typ.Len()
	if n == 0 {
		p.size = 0
		c.plain(p)
		return nil
	}
	e, err := c.compile(p.typ.Elem(), path+"[]", hidden)
	if err != nil {
		return err
	}
	if e.least > 0 && n > math.MaxInt/8/e.least {
		return c.refuse(path, "is too large (%v)", p.typ)
	}
	p.least = n * e.least
	if e.size >= 0 {
		p.size = n * e.size
	}
	if e.flat && !e.bools {
		c.plain(p)
		return nil
	}
	p.flat, p.bools = e.flat, e.bools
	p.encode = func(dst []byte, v unsafe.Pointer, t trail) ([]byte, error) {
		return encodeEach(e, n, dst, v, t)
	}
	p.decode = func(src []byte, v unsafe.Pointer, depth int) ([]byte, error) {
		return decodeEach(e, n, src, v, depth)
	}
	return nil
}

// encodeEach encodes n elements that lie side by side from v on.
func encodeEach(e *plan, n int, dst []byte, v unsafe.Pointer, t trail) ([]byte, error) {
	if e.flat {
		return append(dst, unsafe.Slice((*byte)(v), n*e.size)...), nil
	}
	var err error
	for i := range n {
		if dst, err = e.encode(dst, unsafe.Add(v, uintptr(i)*e.typ.Size()), t); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// decodeEach decodes n elements into memory from v on.
func decodeEach(e *plan, n int, src []byte, v unsafe.Pointer, depth int) ([]byte, error) {
	if e.flat && !e.bools {
		if len(src) < n*e.size {
			return src, errShort
		}
		copy(unsafe.Slice((*byte)(v), n*e.size), src)
		return src[n*e.size:], nil
	}
	var err error
	for i := range n {
		if src, err = e.decode(src, unsafe.Add(v, uintptr(i)*e.typ.Size()), depth); err != nil {
			return src, err
		}
	}
	return src, nil
}

// step is a field of a struct, or a run of fields that lie in memory as they do
// in the encoding.
type step struct {
	offset uintptr
	*plan
}

func (c *compiler) structure(p *plan, path string, hidden bool) error {
	var steps []step
	size, fixed := 0, true
	dense := true // the memory has no gap
	var end uintptr
	for i := range p.typ.NumField() {
		f := p.typ.Field(i)
		if f.Name == "_" && f.Type.Size() == 0 {
			continue // says something about the type, holds nothing
		}
		e, err := c.compile(f.Type, path+"."+f.Name, hidden || !visible(f))
		if err != nil {
			return err
		}
		p.least += e.least
		fixed = fixed && e.size >= 0
		size += max(e.size, 0)
		p.bools = p.bools || e.bools
		dense = dense && e.flat && f.Offset == end
		end = f.Offset + f.Type.Size()
		if k := len(steps); k > 0 && mergeable(steps[k-1].plan) && mergeable(e) && steps[k-1].offset+uintptr(steps[k-1].size) == f.Offset {
			run := &plan{size: steps[k-1].size + e.size}
			c.plain(run)
			steps[k-1].plan = run
			continue
		}
		steps = append(steps, step{f.Offset, e})
	}
	if fixed {
		p.size = size
	}
	p.flat = fixed && dense && end == p.typ.Size()
	p.bools = p.bools && p.flat
	p.encode = func(dst []byte, v unsafe.Pointer, t trail) ([]byte, error) {
		var err error
		for i := range steps {
			if dst, err = steps[i].encode(dst, unsafe.Add(v, steps[i].offset), t); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
	p.decode = func(src []byte, v unsafe.Pointer, depth int) ([]byte, error) {
		var err error
		for i := range steps {
			if src, err = steps[i].decode(src, unsafe.Add(v, steps[i].offset), depth); err != nil {
				return src, err
			}
		}
		return src, nil
	}
	return nil
}

// visible reports whether code outside the type's package can reach what the
// field holds: it is exported, or an embedded struct, whose fields are promoted.
func visible(f reflect.StructField) bool {
	return f.IsExported() || f.Anonymous && f.Type.Kind() == reflect.Struct
}

func mergeable(p *plan) bool { return p.flat && !p.bools }

// sliceHeader is a slice as it lies in memory.
type sliceHeader struct {
	data     unsafe.Pointer
	len, cap int
}

func (c *compiler) slice(p *plan, path string, hidden bool) error {
	p.least = 8
	e, err := c.compile(p.typ.Elem(), path+"[]", hidden)
	if err != nil {
		return err
	}
	p.encode = func(dst []byte, v unsafe.Pointer, t trail) ([]byte, error) {
		h := (*sliceHeader)(v)
		if h.data == nil {
			return binary.LittleEndian.AppendUint64(dst, 0), nil
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(h.len)+1)
		if e.typ.Size() == 0 || h.len == 0 {
			return dst, nil
		}
		if err := t.enter(p, h.data); err != nil {
			return dst, err
		}
		return encodeEach(e, h.len, dst, h.data, t.deeper())
	}
	p.decode = func(src []byte, v unsafe.Pointer, depth int) ([]byte, error) {
		n, src, err := lengthOrNil(src, e.least)
		switch {
		case err != nil:
			return src, err
		case n < 0:
			*(*sliceHeader)(v) = sliceHeader{}
			return src, nil
		case depth >= MaxDepth:
			return src, errDepth
		case mergeable(e) && n > 0 && e.size > 0 && n*e.size%8 == 0:
			// The memory holds no pointers, so that words will do for it, and
			// appending them copies without clearing first.
			words := append([]uint64(nil), unsafe.Slice((*uint64)(unsafe.Pointer(&src[0])), n*e.size/8)...)
			*(*sliceHeader)(v) = sliceHeader{unsafe.Pointer(&words[0]), n, n}
			return src[n*e.size:], nil
		}
		s := reflect.MakeSlice(p.typ, n, n)
		reflect.NewAt(p.typ, v).Elem().Set(s)
		if e.typ.Size() == 0 {
			return src, nil
		}
		return decodeEach(e, n, src, s.UnsafePointer(), depth+1)
	}
	return nil
}

func (c *compiler) pointer(p *plan, path string) error {
	p.least = 1
	e, err := c.compile(p.typ.Elem(), path, false)
	if err != nil {
		return err
	}
	p.encode = func(dst []byte, v unsafe.Pointer, t trail) ([]byte, error) {
		to := *(*unsafe.Pointer)(v)
		if to == nil {
			return append(dst, 0), nil
		}
		if err := t.enter(p, to); err != nil {
			return dst, err
		}
		return e.encode(append(dst, 1), to, t.deeper())
	}
	p.decode = func(src []byte, v unsafe.Pointer, depth int) ([]byte, error) {
		switch {
		case len(src) < 1:
			return src, errShort
		case src[0] > 1:
			return src, fmt.Errorf("byte %#x is no pointer mark", src[0])
		case src[0] == 0:
			*(*unsafe.Pointer)(v) = nil
			return src[1:], nil
		case len(src)-1 < e.least:
			return src, errShort
		case depth >= MaxDepth:
			return src, errDepth
		}
		to := reflect.New(e.typ).UnsafePointer()
		*(*unsafe.Pointer)(v) = to
		return e.decode(src[1:], to, depth+1)
	}
	return nil
}

var errTwice = errors.New("a map key is there twice")

func (c *compiler) mapping(p *plan, path string) error {
	p.least = 8
	k, err := c.compile(p.typ.Key(), path+"[key]", false)
	if err != nil {
		return err
	}
	e, err := c.compile(p.typ.Elem(), path+"[value]", false)
	if err != nil {
		return err
	}
	p.encode = func(dst []byte, v unsafe.Pointer, t trail) ([]byte, error) {
		m := reflect.NewAt(p.typ, v).Elem()
		if m.IsNil() {
			return binary.LittleEndian.AppendUint64(dst, 0), nil
		}
		dst = binary.LittleEndian.AppendUint64(dst, uint64(m.Len())+1)
		if err := t.enter(p, m.UnsafePointer()); err != nil {
			return dst, err
		}
		key, elem := reflect.New(k.typ), reflect.New(e.typ)
		for it := m.MapRange(); it.Next(); {
			key.Elem().SetIterKey(it)
			elem.Elem().SetIterValue(it)
			var err error
			if dst, err = k.encode(dst, key.UnsafePointer(), t.deeper()); err != nil {
				return dst, err
			}
			if dst, err = e.encode(dst, elem.UnsafePointer(), t.deeper()); err != nil {
				return dst, err
			}
		}
		return dst, nil
	}
	p.decode = func(src []byte, v unsafe.Pointer, depth int) ([]byte, error) {
		n, src, err := lengthOrNil(src, k.least+e.least)
		switch {
		case err != nil:
			return src, err
		case n < 0:
			reflect.NewAt(p.typ, v).Elem().SetZero()
			return src, nil
		case depth >= MaxDepth:
			return src, errDepth
		}
		m := reflect.MakeMapWithSize(p.typ, min(n, len(src)+1))
		for i := range n {
			key, elem := reflect.New(k.typ), reflect.New(e.typ)
			if src, err = k.decode(src, key.UnsafePointer(), depth+1); err != nil {
				return src, err
			}
			if src, err = e.decode(src, elem.UnsafePointer(), depth+1); err != nil {
				return src, err
			}
			if m.SetMapIndex(key.Elem(), elem.Elem()); m.Len() != i+1 {
				return src, errTwice
			}
		}
		reflect.NewAt(p.typ, v).Elem().Set(m)
		return src, nil
	}
	return nil
}
