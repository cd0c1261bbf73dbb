package native

import "fmt"

// Level is an instruction set that kernels may use. Each includes the ones
// before it.
type Level uint8

// The instruction sets. The zero value stands for the best that the processor
// has.
const (
	Auto     Level = iota
	Portable       // Go alone
	AVX2           // AVX2 and FMA (amd64)
	AVX512         // AVX-512 F, DQ, BW and VL (amd64)
)

func (l Level) String() string {
	switch l {
	case Auto:
		return "auto"
	case Portable:
		return "portable"
	case AVX2:
		return "avx2"
	case AVX512:
		return "avx512"
	}
	return fmt.Sprintf("level(%d)", uint8(l))
}

// Best returns the highest level that the processor has, but not above limit
// (Auto: no limit). It is what a limit turns into: a level that the processor
// lacks is never used.
func Best(limit Level) Level {
	have := detect()
	if limit == Auto || limit > have {
		return have
	}
	return limit
}
