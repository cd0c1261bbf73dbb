package codec

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"
)

// own plans a type that marshals itself. A panic of its methods becomes an
// error: at the receiving end there is no user's frame that could recover it.
func (c *compiler) own(p *plan) {
	c.owns = true
	p.least = 8
	appends := reflect.PointerTo(p.typ).Implements(typeAppender)
	p.encode = func(dst []byte, v unsafe.Pointer, _ trail) (_ []byte, err error) {
		defer recovered(p.typ, &err)
		value := reflect.NewAt(p.typ, v).Interface()
		start := len(dst)
		dst = binary.LittleEndian.AppendUint64(dst, 0)
		if appends {
			dst, err = value.(encoding.BinaryAppender).AppendBinary(dst)
			if err == nil && len(dst) < start+8 {
				err = fmt.Errorf("%v.AppendBinary returned less than it was given", p.typ)
			}
		} else {
			var b []byte
			b, err = value.(encoding.BinaryMarshaler).MarshalBinary()
			dst = append(dst, b...)
		}
		if err != nil {
			return dst, err
		}
		binary.LittleEndian.PutUint64(dst[start:], uint64(len(dst)-start-8))
		return dst, nil
	}
	p.decode = func(src []byte, v unsafe.Pointer, _ int) (_ []byte, err error) {
		defer recovered(p.typ, &err)
		n, src, err := length(src, 1)
		if err != nil {
			return src, err
		}
		value := reflect.NewAt(p.typ, v)
		value.Elem().SetZero()
		// The capacity is cut so that an implementation that appends to what it
		// is given cannot reach what follows.
		return src[n:], value.Interface().(encoding.BinaryUnmarshaler).UnmarshalBinary(src[:n:n])
	}
}

func recovered(t reflect.Type, err *error) {
	if v := recover(); v != nil {
		if e, ok := v.(error); ok {
			*err = fmt.Errorf("panic in the marshalling of %v: %w", t, e)
			return
		}
		*err = fmt.Errorf("panic in the marshalling of %v: %v", t, v)
	}
}
