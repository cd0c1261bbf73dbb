package native

import "unsafe"

// packPanels copies a matrix of k×n into panels of width columns: element
// (p, j) of a panel lies at p·width + j. Element (p, j) of the matrix lies
// p·ps + j·js elements after src. Missing columns of the last panel are zero.
func packPanels[T Number](t transposer, dst []T, src unsafe.Pointer, ps, js, k, n, width int) {
	size := sizeOf[T]()
	if js == 1 {
		packRows(dst, src, ps, k, n, width)
		return
	}
	for j := 0; j < n; j += width {
		panel := dst[j*k : (j+width)*k]
		w := min(width, n-j)
		packPanel(t, panel, unsafe.Add(src, j*js*size), ps, js, k, w, width)
		if w < width {
			for p := range k {
				clear(panel[p*width+w : (p+1)*width])
			}
		}
	}
}

// packRows packs a matrix of contiguous rows. It fills some panels at a time, so
// that rows are read in pieces of a length that the processor fetches ahead.
func packRows[T Number](dst []T, src unsafe.Pointer, ps, k, n, width int) {
	const together = 8
	size := sizeOf[T]()
	for j0 := 0; j0 < n; j0 += together * width {
		j1 := min(j0+together*width, n)
		for p := range k {
			row := unsafe.Slice((*T)(unsafe.Add(src, (p*ps+j0)*size)), j1-j0)
			at := j0*k + p*width
			for len(row) >= width {
				copy(dst[at:at+width], row)
				row = row[width:]
				at += k * width
			}
			if len(row) > 0 {
				copy(dst[at:at+width], row)
				clear(dst[at+len(row) : at+width])
			}
		}
	}
}

// packPanel sets dst[p·width + j] to the element p·ps + j·js after src, for
// p < k and j < w.
func packPanel[T Number](t transposer, dst []T, src unsafe.Pointer, ps, js, k, w, width int) {
	size := sizeOf[T]()
	if ps == 1 {
		transpose[T](t, unsafe.Pointer(&dst[0]), src, nil, js*size, w, k, width*size)
		return
	}
	for p := range k {
		for j := range w {
			dst[p*width+j] = *(*T)(unsafe.Add(src, (p*ps+j*js)*size))
		}
	}
}

// conjugate negates the imaginary parts of x; nothing for real types.
func conjugate[T Number](x []T) {
	if len(x) == 0 {
		return
	}
	p := unsafe.Pointer(unsafe.SliceData(x))
	var z T
	switch any(z).(type) {
	case complex64:
		f := unsafe.Slice((*float32)(p), 2*len(x))
		for i := 1; i < len(f); i += 2 {
			f[i] = -f[i]
		}
	case complex128:
		f := unsafe.Slice((*float64)(p), 2*len(x))
		for i := 1; i < len(f); i += 2 {
			f[i] = -f[i]
		}
	}
}
