package codec

import (
	"errors"
	"reflect"
	"unsafe"
)

var (
	errDepth = errors.New("nested too deep")
	errGraph = errors.New("the value reaches one node twice: it is a graph, and only trees can be sent; give the type MarshalBinary and UnmarshalBinary, or pass a codec")
)

// trail knows the nodes that the encoding of one value of a recursive type has
// been to, so that it ends, and in time: a node reached twice would be sent
// twice, and a chain of such nodes 2^length times. For other types it is empty.
type trail struct {
	seen  map[node]struct{}
	depth int
}

type node struct {
	plan *plan // one address can hold values of several types
	at   unsafe.Pointer
}

func newTrail() trail { return trail{seen: map[node]struct{}{}} }

func (t trail) enter(p *plan, at unsafe.Pointer) error {
	if t.seen == nil || p.typ.Kind() != reflect.Map && p.typ.Elem().Size() == 0 {
		return nil // all empty values may share one address
	}
	if t.depth >= MaxDepth {
		return errDepth
	}
	n := node{p, at}
	if _, ok := t.seen[n]; ok {
		return errGraph
	}
	t.seen[n] = struct{}{}
	return nil
}

func (t trail) deeper() trail {
	t.depth++
	return t
}
