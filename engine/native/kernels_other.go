//go:build !amd64

package native

func kernelsOf[T Number](Level) *kernelSet {
	var z T
	switch any(z).(type) {
	case float32:
		return &f32Portable
	case float64:
		return &f64Portable
	case complex64:
		return &c64Portable
	default:
		return &c128Portable
	}
}
