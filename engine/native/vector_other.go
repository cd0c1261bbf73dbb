//go:build !amd64

package native

import "github.com/hataori/hataori-go/engine"

func vectorFunction(_ Level, _ engine.Unary, _ engine.DType, portable row) (f, past row) {
	return portable, nil
}

func vectorPair(_ Level, _ engine.Binary, _ engine.DType, portable row) (f, past row) {
	return portable, nil
}

func vectorComplex(_ Level, _ engine.Unary, _ engine.DType, portable row) row { return portable }
