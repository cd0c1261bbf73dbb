package blas

import "golang.org/x/sys/cpu"

// bestKernel is the OpenBLAS kernel set that the processor's flags ask for, by
// the name that OPENBLAS_CORETYPE takes.
func bestKernel() string {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512CD && x.HasAVX512BW && x.HasAVX512DQ && x.HasAVX512VL:
		return "SkylakeX"
	case x.HasAVX2 && x.HasFMA:
		return "Haswell"
	case x.HasAVX:
		return "Sandybridge"
	}
	return ""
}

// kernelRank orders OpenBLAS's kernel sets by the instructions they use.
func kernelRank(name string) int {
	switch name {
	case "":
		return 0
	case "SkylakeX", "Cooperlake", "SapphireRapids", "Sapphirerapids":
		return 4
	case "Haswell", "Zen", "Excavator":
		return 3
	case "Sandybridge", "Bulldozer", "Piledriver", "Steamroller":
		return 2
	}
	return 1
}
