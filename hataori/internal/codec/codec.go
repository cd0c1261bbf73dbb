// Package codec turns values of one Go type into bytes and back, exactly or
// not at all.
//
// # What is carried
//
//	bool, integers, floats, complex     little-endian; int and uint as 64 bits
//	string                              length, bytes (any bytes)
//	array, struct                       the elements or fields in order, no padding
//	slice, map                          length + 1, or 0 for nil; then the elements
//	pointer                             0 for nil, or 1 and the value
//	type with its own MarshalBinary     what that gives, where UnmarshalBinary
//	  (or AppendBinary)                 exists too; this comes before the rest
//
// Lengths are 64 bits wide. Field names, visibility and tags play no part: both
// ends run the same type, which its [Typed.Name] lets them check. A decoded value
// equals the one that was sent in the sense of [reflect.DeepEqual], and beyond
// it: NaN payloads, signed zeros and the difference between nil and empty are
// kept. Slice capacity is not, and pointers that shared a target no longer do.
//
// # What is refused
//
// A type that this would damage is refused by [For], with the path of the field
// to blame: interfaces, functions, channels, unsafe pointers and uintptr; locks;
// pointers and maps in unexported fields, whose meaning only their package
// knows; a struct that has its MarshalBinary from an embedded field, which would
// drop the others. Unexported fields of plain data are carried, for copying them
// is what an assignment does. A value of a recursive type that reaches the same
// node twice is a graph, not a tree, and is refused when it is encoded.
//
// # Hostile bytes
//
// Decoding accepts only what encoding produces: every length is checked against
// the bytes that are there before anything is allocated for it, trailing bytes,
// repeated map keys, odd booleans and depth beyond [MaxDepth] are errors. Memory
// stays within a small multiple of the bytes received (eight times, at a nil
// pointer per byte).
//
// CBOR and gob were weighed and left: both drop unexported fields silently,
// choose by tags, and take a hundred times as long for a small struct; CBOR text
// cannot hold every Go string, float32 NaNs pass through float64, and one null
// byte stands for a struct of any size. Being self-describing buys nothing
// between ranks that run the same program.
package codec

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"unsafe"
)

// MaxDepth is how deep a value of a recursive type may nest.
const MaxDepth = 10_000

// Typed encodes and decodes values of type T. Its functions may be called from
// any number of goroutines.
type Typed[T any] struct {
	// Name tells codecs of different types, or of differently built versions
	// of one type, apart; equal names mean compatible bytes.
	Name string

	// Size is the encoded size of every value in bytes, -1 if it varies.
	Size int

	// Own says that code of the caller's runs in Append and Decode: methods of
	// the type, or of a part of it.
	Own bool

	// Append appends the encoding of *v, which it only reads, to dst. On an
	// error it returns dst at its old length. The error is an [*EncodeError].
	Append func(dst []byte, v *T) ([]byte, error)

	// Decode decodes the whole of src, which it does not keep, into *v, whose
	// old contents do not matter. The error is a [*DecodeError]; *v is then
	// unspecified.
	Decode func(src []byte, v *T) error
}

// For returns the codec of T, or a [*TypeError] if T cannot be carried.
func For[T any]() (Typed[T], error) { return build[T](littleEndian()) }

// littleEndian reports whether numbers lie in memory as they do on the wire.
func littleEndian() bool {
	one := uint16(1)
	return *(*byte)(unsafe.Pointer(&one)) == 1
}

// build makes the codec; flat allows copying memory as it lies.
func build[T any](flat bool) (Typed[T], error) {
	t := reflect.TypeFor[T]()
	c := compiler{flat: flat, root: t, seen: map[planKey]*plan{}}
	p, err := c.compile(t, t.String(), false)
	if err != nil {
		return Typed[T]{}, err
	}
	return Typed[T]{
		Name:   c.name(t),
		Size:   p.size,
		Own:    c.owns,
		Append: appender[T](p, c.recursive),
		Decode: decoder[T](p),
	}, nil
}

func appender[T any](p *plan, recursive bool) func([]byte, *T) ([]byte, error) {
	switch {
	case p.flat && p.size == 8:
		return func(dst []byte, v *T) ([]byte, error) {
			return binary.NativeEndian.AppendUint64(dst, *(*uint64)(unsafe.Pointer(v))), nil
		}
	case p.flat:
		return func(dst []byte, v *T) ([]byte, error) {
			return append(dst, unsafe.Slice((*byte)(unsafe.Pointer(v)), p.size)...), nil
		}
	}
	return func(dst []byte, v *T) ([]byte, error) {
		var t trail
		if recursive {
			t = newTrail()
		}
		out, err := p.encode(dst, unsafe.Pointer(v), t)
		if err != nil {
			return dst, &EncodeError{Type: p.typ.String(), Err: err}
		}
		return out, nil
	}
}

func decoder[T any](p *plan) func([]byte, *T) error {
	wrongLength := func(n int) error {
		return &DecodeError{Type: p.typ.String(), Offset: min(n, p.size), Err: fmt.Errorf("%d bytes instead of %d", n, p.size)}
	}
	switch {
	case p.flat && !p.bools && p.size == 8:
		return func(src []byte, v *T) error {
			if len(src) != 8 {
				return wrongLength(len(src))
			}
			*(*uint64)(unsafe.Pointer(v)) = binary.NativeEndian.Uint64(src)
			return nil
		}
	case p.flat && !p.bools:
		return func(src []byte, v *T) error {
			if len(src) != p.size {
				return wrongLength(len(src))
			}
			copy(unsafe.Slice((*byte)(unsafe.Pointer(v)), p.size), src)
			return nil
		}
	}
	return func(src []byte, v *T) error {
		rest, err := p.decode(src, unsafe.Pointer(v), 0)
		if err == nil && len(rest) > 0 {
			err = fmt.Errorf("%d bytes too many", len(rest))
		}
		if err != nil {
			return &DecodeError{Type: p.typ.String(), Offset: len(src) - len(rest), Err: err}
		}
		return nil
	}
}

// TypeError tells why values of a type cannot be carried.
type TypeError struct {
	Type   string // the type asked for
	Path   string // the part of it that is to blame, e.g. "main.Config.inner"
	Reason string // what is wrong with that part
}

func (e *TypeError) Error() string {
	return fmt.Sprintf("hataori: %s cannot be sent: %s %s; change it, give the type MarshalBinary and UnmarshalBinary, or pass a codec", e.Type, e.Path, e.Reason)
}

// EncodeError tells why one value could not be encoded.
type EncodeError struct {
	Type string
	Err  error
}

func (e *EncodeError) Error() string { return fmt.Sprintf("hataori: encode %s: %v", e.Type, e.Err) }

// Unwrap returns the cause, which may be the type's own.
func (e *EncodeError) Unwrap() error { return e.Err }

// DecodeError tells why some bytes are not the encoding of a value.
type DecodeError struct {
	Type   string
	Offset int // where in the bytes, roughly
	Err    error
}

func (e *DecodeError) Error() string {
	return fmt.Sprintf("hataori: decode %s: at byte %d: %v", e.Type, e.Offset, e.Err)
}

// Unwrap returns the cause, which may be the type's own.
func (e *DecodeError) Unwrap() error { return e.Err }
