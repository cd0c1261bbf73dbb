//go:build !amd64

package blas

// bestKernel has no opinion: OpenBLAS is known to choose wrongly on amd64 only.
func bestKernel() string { return "" }

func kernelRank(string) int { return 0 }
