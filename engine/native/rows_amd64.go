package native

import (
	"unsafe"

	"github.com/hataori/hataori-go/engine"
)

// rows are bit for bit those of portableRows at every level.
func rows(l Level, d engine.DType) rowsOf {
	if Best(l) == Portable {
		return portableRows(d)
	}
	r := vectorRows(d)
	if Best(l) == AVX512 {
		r.longer(d)
	}
	return r
}

// longer takes long rows by wider vectors; the bits are the same.
func (r *rowsOf) longer(d engine.DType) {
	switch d {
	case engine.Float32, engine.Complex64:
		r.add, r.past.add = longRowOf(addLongF32, r.add, d), longRowOf(addLongF32Past, r.add, d)
		r.sub, r.past.sub = longRowOf(subLongF32, r.sub, d), longRowOf(subLongF32Past, r.sub, d)
	case engine.Float64, engine.Complex128:
		r.add, r.past.add = longRowOf(addLongF64, r.add, d), longRowOf(addLongF64Past, r.add, d)
		r.sub, r.past.sub = longRowOf(subLongF64, r.sub, d), longRowOf(subLongF64Past, r.sub, d)
	}
	switch d {
	case engine.Float32:
		r.mul, r.past.mul = longRowOf(mulLongF32, r.mul, d), longRowOf(mulLongF32Past, r.mul, d)
		r.div, r.past.div = longRowOf(divLongF32, r.div, d), longRowOf(divLongF32Past, r.div, d)
	case engine.Float64:
		r.mul, r.past.mul = longRowOf(mulLongF64, r.mul, d), longRowOf(mulLongF64Past, r.mul, d)
		r.div, r.past.div = longRowOf(divLongF64, r.div, d), longRowOf(divLongF64Past, r.div, d)
	case engine.Complex128:
		r.mul, r.past.mul = longRowOf(mulLongC128, r.mul, d), longRowOf(mulLongC128Past, r.mul, d)
	}
}

func longRowOf(f func(dst, x, y unsafe.Pointer, n int), rest row, d engine.DType) row {
	const group = 128
	size := d.Size()
	most := callBytes / size
	return func(dst, x, y unsafe.Pointer, n int, by *factor) {
		for ; n > most; n -= most {
			f(dst, x, y, callBytes/group)
			dst, x, y = unsafe.Add(dst, callBytes), unsafe.Add(x, callBytes), unsafe.Add(y, callBytes)
		}
		if v := n * size / group; v > 0 {
			f(dst, x, y, v)
			done := v * group
			if n -= done / size; n == 0 {
				return
			}
			dst, x, y = unsafe.Add(dst, done), unsafe.Add(x, done), unsafe.Add(y, done)
		}
		rest(dst, x, y, n, by)
	}
}

func vectorRows(d engine.DType) rowsOf {
	p := portableRows(d)
	switch d {
	case engine.Float32:
		p.sub = binaryRow(subRowF32, p.sub, 4)
		p.div = binaryRow(divRowF32, p.div, 4)
		p.max = binaryRow(maxRowF32, p.max, 4)
		p.min = binaryRow(minRowF32, p.min, 4)
		p.add = binaryRow(addRowF32, p.add, 4)
		p.mul = binaryRow(mulRowF32, p.mul, 4)
		p.scale = scaledRow(scaleRowF32, p.scale, 4, func(by *factor) unsafe.Pointer { return unsafe.Pointer(&by.f32) })
	case engine.Float64:
		p.sub = binaryRow(subRowF64, p.sub, 8)
		p.div = binaryRow(divRowF64, p.div, 8)
		p.max = binaryRow(maxRowF64, p.max, 8)
		p.min = binaryRow(minRowF64, p.min, 8)
		p.add = binaryRow(addRowF64, p.add, 8)
		p.mul = binaryRow(mulRowF64, p.mul, 8)
		p.scale = scaledRow(scaleRowF64, p.scale, 8, func(by *factor) unsafe.Pointer { return unsafe.Pointer(&by.f64) })
	case engine.Complex64:
		p.add = binaryRow(addRowF32, p.add, 8)
		p.sub = binaryRow(subRowF32, p.sub, 8)
	case engine.Complex128:
		p.add = binaryRow(addRowF64, p.add, 16)
		p.sub = binaryRow(subRowF64, p.sub, 16)
		p.mul = binaryRow(mulRowC128, p.mul, 16)
		p.scale = scaledRow(scaleRowC128, p.scale, 16, func(by *factor) unsafe.Pointer { return unsafe.Pointer(&by.c128) })
	}
	return p
}

// binaryRow computes whole vectors by f and the rest by tail.
func binaryRow(f func(dst, x, y unsafe.Pointer, n int), tail row, size int) row {
	most := callBytes / size
	return func(dst, x, y unsafe.Pointer, n int, by *factor) {
		for ; n > most; n -= most {
			f(dst, x, y, callBytes/vectorBytes)
			dst, x, y = unsafe.Add(dst, callBytes), unsafe.Add(x, callBytes), unsafe.Add(y, callBytes)
		}
		if v := n * size / vectorBytes; v > 0 {
			f(dst, x, y, v)
			done := v * vectorBytes
			if n -= done / size; n == 0 {
				return
			}
			dst, x, y = unsafe.Add(dst, done), unsafe.Add(x, done), unsafe.Add(y, done)
		}
		tail(dst, x, y, n, by)
	}
}

// scaledRow does so for scaling; f is given the address of the factor as y.
func scaledRow(f func(dst, x, y unsafe.Pointer, n int), tail row, size int, of func(*factor) unsafe.Pointer) row {
	most := callBytes / size
	return func(dst, x, _ unsafe.Pointer, n int, by *factor) {
		for ; n > most; n -= most {
			f(dst, x, of(by), callBytes/vectorBytes)
			dst, x = unsafe.Add(dst, callBytes), unsafe.Add(x, callBytes)
		}
		v := n * size / vectorBytes
		if v > 0 {
			f(dst, x, of(by), v)
		}
		if rest := n - v*vectorBytes/size; rest > 0 {
			tail(unsafe.Add(dst, v*vectorBytes), unsafe.Add(x, v*vectorBytes), nil, rest, by)
		}
	}
}

// blocksOf returns what adds up whole blocks of a floating type as sumRow does,
// bit for bit, or nil.
func blocksOf(l Level, d engine.DType) func(sums, x unsafe.Pointer, n int) {
	if Best(l) == Portable {
		return nil
	}
	switch d {
	case engine.Float32:
		return sumBlocksF32
	case engine.Float64:
		return sumBlocksF64
	case engine.Complex64:
		return sumBlocksC64
	case engine.Complex128:
		return sumBlocksC128
	}
	return nil
}

// spanOf returns what finds the extreme of groups of 128 bytes of a float, or nil.
func spanOf(l Level, d engine.DType, f engine.Reduction) func(sums, x unsafe.Pointer, n int) {
	if Best(l) == Portable {
		return nil
	}
	switch {
	case f == engine.ReduceMax && d == engine.Float32:
		return maxSpanF32
	case f == engine.ReduceMax && d == engine.Float64:
		return maxSpanF64
	case f == engine.ReduceMin && d == engine.Float32:
		return minSpanF32
	case f == engine.ReduceMin && d == engine.Float64:
		return minSpanF64
	}
	return nil
}
