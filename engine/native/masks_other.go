//go:build !amd64

package native

import "github.com/hataori/hataori-go/engine"

func vectorTest(_ Level, _ engine.Binary, _ engine.DType, portable row) row { return portable }

func vectorTest1(_ Level, _ engine.Unary, _ engine.DType, portable row) row { return portable }

func vectorSelect(_ Level, _ int, portable row3) row3 { return portable }
