package native

import "unsafe"

// transposerOf returns the transposer for elements of size bytes at a level.
func transposerOf(l Level, size int) transposer {
	if l == Portable || size < 4 || size > 16 {
		return 0
	}
	return transposer(32 / size)
}

// canStream says whether streamRuns and stepsPast are there.
func canStream(l Level) bool { return l != Portable }

// transposeVectors copies n columns of 32/size rows of elements of size bytes:
// dst[c·stride …] = rows[0][c], rows[1][c], …, stride in bytes.
func transposeVectors(size int, dst unsafe.Pointer, rows *[8]unsafe.Pointer, n, stride int) {
	switch size {
	case 4:
		transposeRows4(dst, rows, n, stride)
	case 8:
		transposeRows8(dst, rows, n, stride)
	case 16:
		transposeRows16(dst, rows, n, stride)
	}
}

// stepsPast copies n elements of size bytes that lie step bytes apart to dst, past
// the caches.
func stepsPast(size int, dst, src unsafe.Pointer, n, step int) {
	for ; n > callElements; n -= callElements {
		stepsPast(size, dst, src, callElements, step)
		dst, src = unsafe.Add(dst, callElements*size), unsafe.Add(src, callElements*step)
	}
	switch size {
	case 4:
		streamSteps4(dst, src, n, step)
	case 8:
		streamSteps8(dst, src, n, step)
	case 16:
		streamSteps16(dst, src, n, step)
	}
}

// gatherPast copies groups of eight elements of 8 bytes from the places that an
// index of entries of size bytes names, past the caches, to a multiple of 64.
func gatherPast(size int, dst, src, index unsafe.Pointer, groups int) {
	if size == 4 {
		gatherPast4(dst, src, index, groups)
	} else {
		gatherPast8(dst, src, index, groups)
	}
}
