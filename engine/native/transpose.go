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
				transposeVectors(size, to, &rows, done, stride)
			}
		}
		if done < n {
			transposeRows[T](to, rows[:many], done, n, stride)
		}
		i += many
	}
}
