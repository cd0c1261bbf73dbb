package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"reflect"
	"unsafe"
)

var errShort = errors.New("bytes end early")

func (c *compiler) bool(p *plan) {
	p.size, p.least, p.flat, p.bools = 1, 1, true, true
	p.encode = func(dst []byte, v unsafe.Pointer, _ trail) ([]byte, error) {
		return append(dst, *(*byte)(v)), nil
	}
	p.decode = func(src []byte, v unsafe.Pointer, _ int) ([]byte, error) {
		if len(src) < 1 {
			return src, errShort
		}
		if src[0] > 1 {
			return src, fmt.Errorf("byte %#x is no boolean", src[0])
		}
		*(*byte)(v) = src[0]
		return src[1:], nil
	}
}

// word plans int and uint, which travel as 64 bits whatever their width here.
func (c *compiler) word(p *plan) {
	if unsafe.Sizeof(0) == 8 {
		c.number(p, 8, 1)
		return
	}
	p.size, p.least = 8, 8
	signed := p.typ.Kind() == reflect.Int
	p.encode = func(dst []byte, v unsafe.Pointer, _ trail) ([]byte, error) {
		if signed {
			return binary.LittleEndian.AppendUint64(dst, uint64(int64(*(*int)(v)))), nil
		}
		return binary.LittleEndian.AppendUint64(dst, uint64(*(*uint)(v))), nil
	}
	p.decode = func(src []byte, v unsafe.Pointer, _ int) ([]byte, error) {
		if len(src) < 8 {
			return src, errShort
		}
		w := binary.LittleEndian.Uint64(src)
		if signed && int64(w) != int64(int(w)) || !signed && w > math.MaxUint {
			return src, fmt.Errorf("%d does not fit an integer of this machine", int64(w))
		}
		*(*uint)(v) = uint(w)
		return src[8:], nil
	}
}

// number plans parts numbers of the given width in bytes, side by side.
func (c *compiler) number(p *plan, width, parts int) {
	p.size = width * parts
	p.least = p.size
	if c.flat || width == 1 {
		c.plain(p)
		return
	}
	p.encode = func(dst []byte, v unsafe.Pointer, _ trail) ([]byte, error) {
		for i := range parts {
			v := unsafe.Add(v, i*width)
			switch width {
			case 2:
				dst = binary.LittleEndian.AppendUint16(dst, *(*uint16)(v))
			case 4:
				dst = binary.LittleEndian.AppendUint32(dst, *(*uint32)(v))
			case 8:
				dst = binary.LittleEndian.AppendUint64(dst, *(*uint64)(v))
			}
		}
		return dst, nil
	}
	p.decode = func(src []byte, v unsafe.Pointer, _ int) ([]byte, error) {
		if len(src) < width*parts {
			return src, errShort
		}
		for i := range parts {
			v, src := unsafe.Add(v, i*width), src[i*width:]
			switch width {
			case 2:
				*(*uint16)(v) = binary.LittleEndian.Uint16(src)
			case 4:
				*(*uint32)(v) = binary.LittleEndian.Uint32(src)
			case 8:
				*(*uint64)(v) = binary.LittleEndian.Uint64(src)
			}
		}
		return src[width*parts:], nil
	}
}

// plain plans p.size bytes that are copied as they lie.
func (c *compiler) plain(p *plan) {
	p.flat = true
	n := p.size
	p.encode = func(dst []byte, v unsafe.Pointer, _ trail) ([]byte, error) {
		return append(dst, unsafe.Slice((*byte)(v), n)...), nil
	}
	p.decode = func(src []byte, v unsafe.Pointer, _ int) ([]byte, error) {
		if len(src) < n {
			return src, errShort
		}
		copy(unsafe.Slice((*byte)(v), n), src)
		return src[n:], nil
	}
}

func (c *compiler) string(p *plan) {
	p.least = 8
	p.encode = func(dst []byte, v unsafe.Pointer, _ trail) ([]byte, error) {
		s := *(*string)(v)
		dst = binary.LittleEndian.AppendUint64(dst, uint64(len(s)))
		return append(dst, s...), nil
	}
	p.decode = func(src []byte, v unsafe.Pointer, _ int) ([]byte, error) {
		n, src, err := length(src, 1)
		if err != nil {
			return src, err
		}
		*(*string)(v) = string(src[:n])
		return src[n:], nil
	}
}

// length reads a length of things that take at least least bytes each, and
// checks that so many are there. Things that take none have no such bound.
func length(src []byte, least int) (int, []byte, error) {
	if len(src) < 8 {
		return 0, src, errShort
	}
	n := binary.LittleEndian.Uint64(src)
	if n > math.MaxInt || least > 0 && n > uint64((len(src)-8)/least) {
		return 0, src, fmt.Errorf("length %d with %d bytes left", n, len(src)-8)
	}
	return int(n), src[8:], nil
}

// lengthOrNil reads a length + 1, where 0 stands for nil: -1.
func lengthOrNil(src []byte, least int) (int, []byte, error) {
	if len(src) < 8 {
		return 0, src, errShort
	}
	n := binary.LittleEndian.Uint64(src) - 1 // wraps around for nil
	if n == math.MaxUint64 {
		return -1, src[8:], nil
	}
	if n > math.MaxInt || least > 0 && n > uint64((len(src)-8)/least) {
		return 0, src, fmt.Errorf("length %d with %d bytes left", n, len(src)-8)
	}
	return int(n), src[8:], nil
}
