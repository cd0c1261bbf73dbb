package native

import (
	"cmp"
	"math"
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// keyed is an element and its position in its line.
type keyed[T realNumber] struct {
	v T
	i int64
}

// SortBytes is the workspace that a line of n elements takes.
func SortBytes(n int) int {
	const each = 16
	if n > math.MaxInt/each {
		return math.MaxInt
	}
	return n * each
}

// NewSort plans, for every line of src along an axis, the first count elements
// of the line in order, to operand 0 if values, and their positions, to the
// operand after it (or 0) if positions; src is the last operand. NaN is the
// greatest; equal elements stay in order. dst may be src where only values are
// asked for. Strides are in elements.
func NewSort(d engine.DType, descending, values, positions bool, along, count int, extents []int, strides ...[]int) *LinePlan {
	steps := make([][]int, len(strides))
	for o := range strides {
		size := d.Size()
		if positions && o == len(strides)-2 {
			size = 8
		}
		steps[o] = scaled(strides[o], size)
	}
	s := sorter{descending, values, positions, extents[along], count, len(strides) - 1, make([]int, len(strides))}
	for o := range steps {
		s.step[o] = steps[o][along]
	}
	var line func(*Workspace, Operands)
	switch d {
	case engine.Int32:
		line = sortLine[int32](s)
	case engine.Int64:
		line = sortLine[int64](s)
	case engine.Float32:
		line = sortLine[float32](s)
	default:
		line = sortLine[float64](s)
	}
	return newLines(along, extents, line, steps...)
}

type sorter struct {
	descending, values, positions bool
	n, count                      int
	src                           int // operand
	step                          []int
}

func sortLine[T realNumber](s sorter) func(*Workspace, Operands) {
	order := func(a, b keyed[T]) int {
		switch {
		case a.v < b.v:
			return -1
		case a.v > b.v:
			return 1
		case a.v == b.v:
			return cmp.Compare(a.i, b.i)
		}
		return nanLast(a, b)
	}
	if s.descending {
		order = func(a, b keyed[T]) int {
			switch {
			case a.v > b.v:
				return -1
			case a.v < b.v:
				return 1
			case a.v == b.v:
				return cmp.Compare(a.i, b.i)
			}
			if a.v != a.v && b.v != b.v {
				return cmp.Compare(a.i, b.i)
			}
			return -nanLast(a, b)
		}
	}
	return func(ws *Workspace, at Operands) {
		var z keyed[T]
		mem := scratch[uint8](&ws.sums, s.n*int(unsafe.Sizeof(z)))
		line := unsafe.Slice((*keyed[T])(unsafe.Pointer(&mem[0])), s.n)
		for i := range line {
			line[i] = keyed[T]{*(*T)(unsafe.Add(at[s.src], i*s.step[s.src])), int64(i)}
		}
		slices.SortFunc(line, order)
		for i, k := range line[:s.count] {
			o := 0
			if s.values {
				*(*T)(unsafe.Add(at[0], i*s.step[0])) = k.v
				o++
			}
			if s.positions {
				*(*int64)(unsafe.Add(at[o], i*s.step[o])) = k.i
			}
		}
	}
}

// nanLast orders two elements of which one at least is NaN.
func nanLast[T realNumber](a, b keyed[T]) int {
	switch {
	case a.v == a.v:
		return -1
	case b.v == b.v:
		return 1
	}
	return cmp.Compare(a.i, b.i)
}
