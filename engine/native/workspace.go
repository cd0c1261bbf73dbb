package native

import "unsafe"

// Workspace is scratch memory for one call at a time: give each worker its
// own. The zero value is ready. It keeps what it has grown to.
type Workspace struct {
	full, edge     tile         // of a product
	small          tile         // of a gemmPlan
	a, b, pad, out []complex128 // of the strictest alignment
	sums           []complex128
	fold           folder
	rowsOfMaps     *[maxOperands][2 * tileRow]complex128
}

// rows is room for a gathered row of each operand of a MapPlan.
func (w *Workspace) rows() *[maxOperands][2 * tileRow]complex128 {
	if w.rowsOfMaps == nil {
		w.rowsOfMaps = new([maxOperands][2 * tileRow]complex128)
	}
	return w.rowsOfMaps
}

// Bytes is what the workspace has grown to.
func (w *Workspace) Bytes() int {
	return 16 * (cap(w.a) + cap(w.b) + cap(w.pad) + cap(w.out) + cap(w.sums))
}

// scratch returns n ≥ 1 elements of undefined value in *s, grown if need be.
func scratch[T numeric | uint8](s *[]complex128, n int) []T {
	var z T
	size := int(unsafe.Sizeof(z))
	words := (n*size + 15) / 16
	if cap(*s) < words {
		*s = make([]complex128, words)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(*s))), n)
}
