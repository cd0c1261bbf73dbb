package store

import (
	"reflect"
	"testing"
	"unsafe"
)

// A byte that is neither 0 nor 1 must not become a Go bool as it is.
func TestUnpackBool(t *testing.T) {
	type s struct {
		N int8
		B [3]bool
	}
	var v s
	unpack(moves(reflect.TypeFor[s](), 0, 0), unsafe.Pointer(&v), []byte{7, 0, 2, 255})
	raw := *(*[4]byte)(unsafe.Pointer(&v))
	if raw != [4]byte{7, 0, 1, 1} {
		t.Errorf("% x", raw)
	}
}

// The copies of a type without padding are one copy.
func TestMovesMerge(t *testing.T) {
	type dense struct {
		A, B float64
		C    [4]complex128
		D    [2]struct{ X, Y int32 }
	}
	ms := moves(reflect.TypeFor[dense](), 0, 0)
	if len(ms) != 1 || ms[0].n != int(reflect.TypeFor[dense]().Size()) {
		t.Errorf("%+v", ms)
	}
	type padded struct {
		A uint8
		B float64
		C [1000]struct {
			X float64
			Y uint8
		}
	}
	if ms := moves(reflect.TypeFor[padded](), 0, 0); len(ms) != 3 || ms[2].count != 1000 || diskSize(reflect.TypeFor[padded]()) != 9+9*1000 {
		t.Errorf("%+v", ms)
	}
}
