package enginetest

import (
	"errors"
	"math"

	"github.com/hataori/hataori-go/engine"
)

func reductions() (fs []engine.Reduction) {
	for f := engine.Reduction(1); ; f++ {
		if _, err := (engine.Reduce{F: f}).Infer(nil); errors.Is(err, engine.ErrUnsupported) {
			return fs
		}
		fs = append(fs, f)
	}
}

// reductionUlps: the reference adds in double precision, one after
// another, and so is itself some tens of units off.
func reductionUlps(f engine.Reduction) float64 {
	switch f {
	case engine.ReduceMean, engine.Norm1, engine.Norm2, engine.LogSumExp:
		return 100
	case engine.ReduceProd:
		return 400 // ½ ulp a factor
	}
	return 0
}

// testReduce runs every reduction over axes of every kind.
func testReduce(r *rig) {
	list := [][]int{{}, {1}, {0}, {3, 4, 0}, {700}, {3, 301}, {301, 3}, {20, 30, 2}, {2, 3, 4}, {3, 5, 2, 4, 3}}
	for _, f := range reductions() {
		for _, d := range typed(engine.Reduce{F: f}, 1) {
			for k, s := range list {
				n := len(s)
				a := r.input(layout(k%int(layouts)), d, s, r.reducible(f, d, k))
				every := []engine.Axes{{}, engine.AxesOf(reversedAxes(n)...)}
				if n > 0 {
					every = append(every, engine.AxesOf(0), engine.AxesOf(n-1), engine.AxesOf(r.rnd.Perm(n)[:(n+1)/2]...))
				}
				for _, axes := range every {
					op := engine.Reduce{F: f, Axes: axes}
					if _, err := op.Infer([]engine.Spec{a.Spec()}); err != nil {
						e := wantAs[*engine.ShapeError](r, op.Name(), err)
						if a.Shape().At(e.Axis) != 0 {
							r.Fatal(e)
						}
						continue
					}
					r.expectNear(op, layout(r.rnd.IntN(int(layouts))), allowance{ulps: reductionUlps(f)}, a)
				}
			}
		}
	}
}

// reducible are values of which f loses no more than reductionUlps.
func (r *rig) reducible(f engine.Reduction, d engine.DType, seed int) func([]int) complex128 {
	base := varied(d, seed)
	return func(i []int) complex128 {
		z := base(i)
		switch {
		case f == engine.ReduceAny || f == engine.ReduceAll:
			if len(i) > 0 && i[0] < 3 { // rows of each kind
				return complex(float64(i[0]&1), 0)
			}
		case f == engine.ReduceProd && d.IsFloat():
			z = complex(1+math.Mod(real(z), 1)/64, 0)
		case f == engine.ReduceMean:
			z = complex(1+math.Mod(math.Abs(real(z)), 4), 0)
		case f == engine.LogSumExp: // away from where the logarithm is 0
			if x := math.Abs(real(z)) + 1; x > 0 {
				return complex(x, 0)
			}
			return 2
		}
		return z
	}
}

// testReduceSpecials: closed forms at the edges of the range.
func testReduceSpecials(r *rig) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		f    engine.Reduction
		x    []float64
		want float64
	}{
		{engine.ReduceMax, []float64{1, nan, inf}, nan},
		{engine.ReduceMin, []float64{1, -inf, nan}, nan},
		{engine.ReduceMax, []float64{-inf, -inf}, -inf},
		{engine.ArgMax, []float64{1, 5, 5, 2}, 1},
		{engine.ArgMin, []float64{1, nan, -inf, nan}, 1},
		{engine.ArgMax, []float64{-inf, -inf}, 0},
		{engine.Norm2, []float64{3e300, 4e300}, 5e300},
		{engine.Norm2, []float64{3e-300, 4e-300}, 5e-300},
		{engine.Norm2, []float64{3e-320, 4e-320}, 5e-320},
		{engine.Norm2, []float64{0, 0}, 0},
		{engine.Norm2, []float64{inf, 1}, inf},
		{engine.Norm2, []float64{nan, inf}, nan},
		{engine.NormInf, []float64{-3, 2}, 3},
		{engine.NormInf, []float64{inf, nan}, nan},
		{engine.LogSumExp, []float64{1000, 1000}, 1000 + math.Ln2},
		{engine.LogSumExp, []float64{-inf, -inf}, -inf},
		{engine.LogSumExp, []float64{-inf, 3}, 3},
		{engine.LogSumExp, []float64{inf, -inf}, inf},
		{engine.LogSumExp, []float64{inf, nan}, nan},
	} {
		for _, wide := range []int{1, 40} { // one output, or many side by side
			a := r.input(compact, engine.Float64, []int{len(c.x), wide}, func(i []int) complex128 { return complex(c.x[i[0]], 0) })
			got, _ := r.run(engine.Reduce{F: c.f, Axes: engine.AxesOf(0)}, []*engine.Tensor{a}, compact)
			for _, z := range got {
				if distance(engine.Float64, z, complex(c.want, 0), 0) > 1 {
					r.Fatalf("%s of %v is %v, want %v", engine.Reduce{F: c.f}.Name(), c.x, z, c.want)
				}
			}
		}
	}
	// Long enough for parts: ∏ over n of −1 and 1, Σ of ones.
	const n = 1<<17 + 3
	long := r.input(compact, engine.Float32, []int{n}, func(i []int) complex128 { return complex(float64(1-2*(i[0]%2)), 0) })
	for f, want := range map[engine.Reduction]float64{engine.ReduceProd: -1, engine.ReduceMax: 1, engine.ArgMin: 1, engine.Norm1: n, engine.ReduceMean: 1.0 / n} {
		got, _ := r.run(engine.Reduce{F: f, Axes: engine.AxesOf(0)}, []*engine.Tensor{long}, compact)
		if distance(engine.Float32, got[0], complex(want, 0), 0) > 1 {
			r.Fatalf("%s of %d alternating units is %v, want %v", engine.Reduce{F: f}.Name(), n, got[0], want)
		}
	}
}

// testReduceRows: rows shorter than a block, so that parts begin inside one.
func testReduceRows(r *rig) {
	ones := r.input(spread, engine.Float64, []int{200, 100}, func([]int) complex128 { return 1 })
	got, _ := r.run(engine.Reduce{F: engine.Norm1, Axes: engine.AxesOf(0, 1)}, []*engine.Tensor{ones}, compact)
	r.same("Σ |1|", got, []complex128{20000})
}

func testCumulative(r *rig) {
	for _, d := range numeric {
		for k, s := range functionShapes[1:] {
			for axis := range s {
				a := r.input(layout(k%int(layouts)), d, s, small(d, k))
				r.expect(engine.CumSum{Axis: axis}, layout((k+2)%int(layouts)), a)
				r.expect(engine.CumProd{Axis: axis}, layout((k+3)%int(layouts)), r.input(mixed, d, s, func(i []int) complex128 {
					return complex(float64((1+(i[axis]+len(i))%2)*(1-2*(i[axis]%2))), 0)
				}))
			}
		}
		r.inPlace(engine.CumSum{Axis: 1}, 1, d)
	}
	_, err := r.e.Bind(engine.CumSum{Axis: 2}, []engine.Spec{r.spec(engine.Float64, 2, 2)}, nil)
	if e := wantAs[*engine.ShapeError](r, "CumSum", err); e.Axis != 2 {
		r.Fatal(e)
	}
}
