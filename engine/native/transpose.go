package native

import "unsafe"

// transposer says how many rows at a time (and in which units of columns) the
// processor transposes; 0 where it has no instructions for it.
type transposer int

// transposeRows is the transposer in Go, for any number of rows.
func transposeRows[T any](dst unsafe.Pointer, rows []unsafe.Pointer, from, n, stride int) {
	var z T
	size := int(unsafe.Sizeof(z))
	for i, r := range rows {
		src := unsafe.Slice((*T)(r), n)
		for c := from; c < n; c++ { // never a pointer past the last element
			*(*T)(unsafe.Add(dst, c*stride+i*size)) = src[c]
		}
	}
}

// transpose sets dst[c·stride + i·size] = row i at c for rows i < count and
// columns c < n; row i lies rowStep·i bytes after src, or at offsets[i] if
// offsets is not nil. T is any type of that size.
func transpose[T any](t transposer, dst, src unsafe.Pointer, offsets []int, rowStep, count, n, stride int) {
	var z T
	size := int(unsafe.Sizeof(z))
	var rows [8]unsafe.Pointer
	for i := 0; i < count; {
		many := min(count-i, 8)
		if t > 0 && many >= int(t) {
			many = int(t)
		}
		for j := range many {
			if offsets != nil {
				rows[j] = unsafe.Add(src, offsets[i+j])
			} else {
				rows[j] = unsafe.Add(src, (i+j)*rowStep)
			}
		}
		done := 0
		to := unsafe.Add(dst, i*size)
		if t > 0 && many == int(t) {
			if done = n / int(t) * int(t); done > 0 {
				transposeInCalls(size, to, &rows, done, stride)
			}
		}
		if done < n {
			transposeRows[T](to, rows[:many], done, n, stride)
		}
		i += many
	}
}

// transposeInCalls is transposeVectors for any number of columns.
func transposeInCalls(size int, dst unsafe.Pointer, rows *[8]unsafe.Pointer, n, stride int) {
	if n <= callElements {
		transposeVectors(size, dst, rows, n, stride)
		return
	}
	for at := 0; at < n; at += callElements {
		var part [8]unsafe.Pointer
		for i, r := range rows {
			if r != nil {
				part[i] = unsafe.Add(r, at*size)
			}
		}
		transposeVectors(size, unsafe.Add(dst, at*stride), &part, min(callElements, n-at), stride)
	}
}
