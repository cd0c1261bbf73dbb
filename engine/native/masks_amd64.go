package native

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// testRow is a row in assembly of groups of 32 elements.
type testRow func(dst, x, y unsafe.Pointer, n int)

// maskRow tests whole groups by f and the rest by tail; size is that of an element.
func maskRow(f testRow, tail row, size int) row {
	const group = 32
	most := callBytes / size
	return func(dst, x, y unsafe.Pointer, n int, by *factor) {
		for n >= group {
			m := min(n&^(group-1), most)
			f(dst, x, y, m/group)
			if n -= m; n == 0 {
				return
			}
			dst, x, y = unsafe.Add(dst, m), unsafe.Add(x, m*size), unsafe.Add(y, m*size)
		}
		tail(dst, x, y, n, by)
	}
}

// swapped is f of y and x.
func swapped(f testRow) testRow {
	return func(dst, x, y unsafe.Pointer, n int) { f(dst, y, x, n) }
}

// tests are the comparisons of a dtype, and IsNaN and IsFinite where it has them.
type tests struct{ equal, differ, less, lessEqual, isNaN, isFinite testRow }

func testsOf(d engine.DType) tests {
	switch d {
	case engine.Int32:
		return tests{equal: equalI32, differ: differI32, less: swapped(greaterI32), lessEqual: lessEqualI32}
	case engine.Int64:
		return tests{equal: equalI64, differ: differI64, less: swapped(greaterI64), lessEqual: lessEqualI64}
	case engine.Float32:
		return tests{equalF32, differF32, lessF32, lessEqualF32, isNaNF32, isFiniteF32}
	case engine.Float64:
		return tests{equalF64, differF64, lessF64, lessEqualF64, isNaNF64, isFiniteF64}
	}
	return tests{}
}

// vectorTest is the row of a comparison at a level; portable where there are no
// vectors.
func vectorTest(l Level, b engine.Binary, d engine.DType, portable row) row {
	if Best(l) == Portable {
		return portable
	}
	if d == engine.Bool {
		f := map[engine.Binary]testRow{engine.And: andRow, engine.Or: orRow, engine.Xor: xorRow, engine.NotEqual: xorRow, engine.Equal: sameRow}[b]
		if f == nil {
			return portable
		}
		return binaryRow(f, portable, 1)
	}
	t := testsOf(d)
	f := map[engine.Binary]testRow{engine.Equal: t.equal, engine.NotEqual: t.differ, engine.Less: t.less, engine.LessEqual: t.lessEqual}[b]
	switch {
	case b == engine.Greater && t.less != nil:
		f = swapped(t.less)
	case b == engine.GreaterEqual && t.lessEqual != nil:
		f = swapped(t.lessEqual)
	}
	if f == nil {
		return portable
	}
	return maskRow(f, portable, d.Size())
}

// vectorTest1 is vectorTest for a function of one element.
func vectorTest1(l Level, u engine.Unary, d engine.DType, portable row) row {
	if Best(l) == Portable {
		return portable
	}
	t := testsOf(d)
	f := map[engine.Unary]testRow{engine.IsNaN: t.isNaN, engine.IsFinite: t.isFinite}[u]
	switch {
	case u == engine.Not:
		return oneInput(binaryRow(notRow, twoInputs(portable), 1))
	case f == nil:
		return portable
	}
	return oneInput(maskRow(f, twoInputs(portable), d.Size()))
}

// oneInput gives a row of two inputs the same one twice; twoInputs leaves the second
// one out.
func oneInput(f row) row {
	return func(dst, x, _ unsafe.Pointer, n int, by *factor) { f(dst, x, x, n, by) }
}

func twoInputs(f row) row {
	return func(dst, x, _ unsafe.Pointer, n int, by *factor) { f(dst, x, nil, n, by) }
}

// vectorSelect is the row of Select for elements of size bytes.
func vectorSelect(l Level, size int, portable row3) row3 {
	f := map[int]row3{4: choose32, 8: choose64}[size]
	if Best(l) == Portable || f == nil {
		return portable
	}
	return chooseRow(f, portable, size)
}

// chooseRow is maskRow for Select.
func chooseRow(f, tail row3, size int) row3 {
	const group = 8
	most := callBytes / size
	return func(dst, p, x, y unsafe.Pointer, n int) {
		for n >= group {
			m := min(n&^(group-1), most)
			f(dst, p, x, y, m/group)
			if n -= m; n == 0 {
				return
			}
			dst, p, x, y = unsafe.Add(dst, m*size), unsafe.Add(p, m), unsafe.Add(x, m*size), unsafe.Add(y, m*size)
		}
		tail(dst, p, x, y, n)
	}
}
