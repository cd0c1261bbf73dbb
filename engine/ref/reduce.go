package ref

import (
	"math"
	"math/cmplx"

	"github.com/hataori/hataori-go/engine"
)

// reduction is f over values of dtype d.
func reduction(f engine.Reduction, d engine.DType, v []value) value {
	fold := func(start value, g func(x, y value) value) value {
		for _, x := range v {
			start = g(start, x)
		}
		return start
	}
	abs := func(x value) float64 { return cmplx.Abs(x.z) }
	switch f {
	case engine.ReduceProd:
		return fold(value{1, 1}, value.mul)
	case engine.ReduceMax:
		return fold(v[0], func(x, y value) value { return binary(engine.Max, d, x, y) })
	case engine.ReduceMin:
		return fold(v[0], func(x, y value) value { return binary(engine.Min, d, x, y) })
	case engine.ReduceMean:
		sum, n := fold(value{}, value.add).z, float64(len(v))
		return value{z: complex(real(sum)/n, imag(sum)/n)}
	case engine.ReduceAny:
		return boolean(fold(value{}, value.add).n > 0)
	case engine.ReduceAll:
		return boolean(fold(value{}, value.add).n == int64(len(v)))
	case engine.ArgMax, engine.ArgMin:
		return arg(f, v)
	case engine.Norm1:
		return real64(real(fold(value{}, func(x, y value) value { return real64(real(x.z) + abs(y)) }).z))
	case engine.Norm2: // by hypot, which neither overflows nor underflows
		return fold(value{}, func(x, y value) value { return real64(math.Hypot(real(x.z), abs(y))).nan(x, real64(abs(y))) })
	case engine.NormInf:
		return fold(value{}, func(x, y value) value { return binary(engine.Max, engine.Float64, x, real64(abs(y))) })
	}
	return logSumExp(v)
}

// arg is the position of the first NaN, else of the first extreme.
func arg(f engine.Reduction, v []value) value {
	for i, x := range v {
		if math.IsNaN(real(x.z)) {
			return value{n: int64(i)}
		}
	}
	best := 0
	for i, x := range v {
		y := v[best]
		if f == engine.ArgMin {
			x, y = y, x
		}
		if x.n > y.n || real(x.z) > real(y.z) {
			best = i
		}
	}
	return value{n: int64(best)}
}

// logSumExp is m + ln Σ e^(x−m) for the greatest m.
func logSumExp(v []value) value {
	m := math.Inf(-1)
	for _, x := range v {
		if math.IsNaN(real(x.z)) {
			return real64(math.NaN())
		}
		m = max(m, real(x.z))
	}
	if math.IsInf(m, 0) {
		return real64(m)
	}
	sum := 0.0
	for _, x := range v {
		sum += math.Exp(real(x.z) - m)
	}
	return real64(m + math.Log(sum))
}

// cumulative is the running f along an axis, rounded to the dtype at each step.
func cumulative(axis int, o, a array, f func(x, y value) value) {
	before := make([]int, len(a.extents))
	each(o.extents, func(i []int) {
		v := a.load(i)
		if i[axis] > 0 {
			copy(before, i)
			before[axis]--
			v = f(o.load(before), v)
		}
		o.store(i, v)
	})
}
