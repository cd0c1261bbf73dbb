package native

import (
	"math"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/internal/elementary"
)

// The functions of one element, which compute what no vector does.

var realFunctions = map[engine.Unary]func(float64) float64{
	engine.Exp: elementary.Exp, engine.Log: elementary.Log, engine.Expm1: math.Expm1, engine.Log1p: math.Log1p,
	engine.Sin: elementary.Sin, engine.Cos: elementary.Cos, engine.Tan: elementary.Tan,
	engine.Asin: elementary.Asin, engine.Acos: elementary.Acos, engine.Atan: math.Atan,
	engine.Sinh: elementary.Sinh, engine.Cosh: elementary.Cosh, engine.Tanh: math.Tanh,
	engine.Sqrt: math.Sqrt, engine.Rsqrt: func(x float64) float64 { return 1 / math.Sqrt(x) }, engine.Erf: math.Erf,
}

var complexFunctions = map[engine.Unary]func(complex128) complex128{
	engine.Sign: elementary.ComplexSign,
	engine.Exp:  elementary.ComplexExp, engine.Log: elementary.ComplexLog,
	engine.Sin: elementary.ComplexSin, engine.Cos: elementary.ComplexCos, engine.Tan: elementary.ComplexTan,
	engine.Asin: elementary.ComplexAsin, engine.Acos: elementary.ComplexAcos, engine.Atan: elementary.ComplexAtan,
	engine.Sinh: elementary.ComplexSinh, engine.Cosh: elementary.ComplexCosh, engine.Tanh: elementary.ComplexTanh,
	engine.Sqrt: elementary.ComplexSqrt, engine.Rsqrt: elementary.ComplexRsqrt,
}
