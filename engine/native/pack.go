package native

import "unsafe"

// packPanels copies a matrix of k×n into panels of width columns: element
// (p, j) of a panel lies at p·width + j. Element (p, j) of the matrix lies
// p·ps + j·js elements after src. Missing columns of the last panel are zero.
func packPanels[T Number](dst []T, src unsafe.Pointer, ps, js, k, n, width int) {
	size := sizeOf[T]()
	for j := 0; j < n; j += width {
		panel := dst[j*k : (j+width)*k]
		w := min(width, n-j)
		packPanel(panel, unsafe.Add(src, j*js*size), ps, js, k, w, width)
		if w < width {
			for p := range k {
				clear(panel[p*width+w : (p+1)*width])
			}
		}
	}
}

// packPanel sets dst[p·width + j] to the element p·ps + j·js after src, for
// p < k and j < w.
func packPanel[T Number](dst []T, src unsafe.Pointer, ps, js, k, w, width int) {
	size := sizeOf[T]()
	switch {
	case js == 1:
		for p := range k {
			copyShort(dst[p*width:p*width+w], unsafe.Slice((*T)(unsafe.Add(src, p*ps*size)), w))
		}
	case ps == 1:
		j := 0
		run := func(j int) []T { return unsafe.Slice((*T)(unsafe.Add(src, j*js*size)), k) }
		for ; j+4 <= w; j += 4 {
			s0, s1, s2, s3 := run(j), run(j+1), run(j+2), run(j+3)
			q := j
			for p, v := range s0 {
				d := dst[q : q+4 : q+4]
				d[0], d[1], d[2], d[3] = v, s1[p], s2[p], s3[p]
				q += width
			}
		}
		for ; j < w; j++ {
			q := j
			for _, v := range run(j) {
				dst[q] = v
				q += width
			}
		}
	default:
		for p := range k {
			for j := range w {
				dst[p*width+j] = *(*T)(unsafe.Add(src, (p*ps+j*js)*size))
			}
		}
	}
}

// copyShort copies src to dst of the same length, a few dozen elements.
func copyShort[T Number](dst, src []T) {
	for len(dst) >= 4 && len(src) >= 4 {
		*(*[4]T)(dst) = *(*[4]T)(src)
		dst, src = dst[4:], src[4:]
	}
	if len(src) > 0 {
		copy(dst, src)
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
