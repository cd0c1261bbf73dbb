package native

// kernelsOf returns the micro-kernels for an element type at a level.
func kernelsOf[T Number](l Level) *kernelSet {
	var z T
	switch any(z).(type) {
	case float32:
		return pickLevel(l, &f32AVX512, &f32AVX2, &f32Portable)
	case float64:
		return pickLevel(l, &f64AVX512, &f64AVX2, &f64Portable)
	case complex64:
		return pickLevel(l, &c64AVX512, &c64AVX2, &c64Portable)
	default:
		return pickLevel(l, &c128AVX512, &c128AVX2, &c128Portable)
	}
}

func pickLevel(l Level, avx512, avx2, portable *kernelSet) *kernelSet {
	switch l {
	case AVX512:
		return avx512
	case AVX2:
		return avx2
	}
	return portable
}

// Constants: tables of functions.
var (
	f32AVX512  = kernelSet{kernelsF32AVX512, 16, 3, 16, true, 8}
	f32AVX2    = kernelSet{kernelsF32AVX2, 8, 3, 8, true, 8}
	f64AVX512  = kernelSet{kernelsF64AVX512, 8, 3, 8, true, 4}
	f64AVX2    = kernelSet{kernelsF64AVX2, 4, 3, 4, true, 4}
	c64AVX512  = kernelSet{kernelsC64AVX512, 8, 3, 16, true, 4}
	c64AVX2    = kernelSet{kernelsC64AVX2, 4, 3, 8, true, 4}
	c128AVX512 = kernelSet{kernelsC128AVX512, 4, 3, 8, true, 2}
	c128AVX2   = kernelSet{kernelsC128AVX2, 2, 3, 4, true, 2}
)
