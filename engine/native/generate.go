package native

//go:generate go run -tags avogen ./internal/gen -set kernels -out kernels_gen_amd64.s
//go:generate go run -tags avogen ./internal/gen -set rows -out rows_gen_amd64.s
