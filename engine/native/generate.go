package native

//go:generate go run -tags avogen ./internal/gen -out gemm_kernels_amd64.s
