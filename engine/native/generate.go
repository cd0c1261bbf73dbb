package native

//go:generate go run -tags avogen ./internal/gen -out kernels_gen_amd64.s
