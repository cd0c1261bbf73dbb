package enginetest

import (
	"math"

	"github.com/hataori/hataori-go/engine"
)

func testElementwise(r *rig) {
	for t, d := range numeric {
		for n, s := range shapes {
			for l := layout((t + n) % 2); l < layouts; l += 2 {
				out, other := layout(r.rnd.IntN(int(layouts))), layout(r.rnd.IntN(int(layouts)))
				a, b := r.input(l, d, s, small(d, 11)), r.input(other, d, s, small(d, 12))
				r.expect(engine.Add{}, out, a, b)
				r.expect(engine.Mul{}, out, a, b)
				r.expect(engine.Conj{}, out, a)
				r.expect(engine.Scale{By: engine.By(-3)}, out, a)
				if d.IsComplex() {
					r.expect(engine.Scale{By: engine.By(2 - 5i)}, out, b)
				}
			}
		}
	}
}

func testElementwiseSpecials(r *rig) {
	inf, nan := math.Inf(1), math.NaN()
	x := []float64{inf, -inf, nan, 0, math.Copysign(0, -1), 1, inf, 0}
	y := []float64{-inf, 1, 2, inf, 0, nan, inf, math.Copysign(0, -1)}
	for _, d := range []engine.DType{engine.Float32, engine.Float64} {
		at := func(v []float64) *engine.Tensor {
			return r.input(compact, d, []int{8}, func(i []int) complex128 { return complex(v[i[0]], 0) })
		}
		a, b := at(x), at(y)
		sum, product := make([]float64, 8), make([]float64, 8)
		for i := range x {
			sum[i], product[i] = x[i]+y[i], x[i]*y[i]
		}
		got, _ := r.run(engine.Add{}, []*engine.Tensor{a, b}, compact)
		r.same("add of specials", got, reals(sum))
		r.signs("add of specials", got, sum)
		got, _ = r.run(engine.Mul{}, []*engine.Tensor{a, b}, compact)
		r.same("product of specials", got, reals(product))
		r.signs("product of specials", got, product)
		got, _ = r.run(engine.ReduceSum{Axes: engine.AxesOf(0)}, []*engine.Tensor{a}, compact)
		r.same("sum with NaN", got, reals([]float64{nan}))
	}
	// A real factor scales both parts: no 0·∞ in the other one.
	z := r.input(compact, engine.Complex128, []int{1}, func([]int) complex128 { return complex(inf, 1) })
	got, _ := r.run(engine.Scale{By: engine.By(2)}, []*engine.Tensor{z}, compact)
	r.same("2·(∞+i)", got, []complex128{complex(inf, 2)})
	// −0 is a factor of its own.
	one := r.input(compact, engine.Float64, []int{1}, func([]int) complex128 { return 1 })
	for _, f := range []float64{0, math.Copysign(0, -1)} {
		got, _ = r.run(engine.Scale{By: engine.By(complex(f, 0))}, []*engine.Tensor{one}, compact)
		r.signs("scale by a zero", got, []float64{f})
	}
	conj, _ := r.run(engine.Conj{}, []*engine.Tensor{r.input(compact, engine.Complex64, []int{1}, func([]int) complex128 { return complex(nan, 0) })}, compact)
	if !math.IsNaN(real(conj[0])) || imag(conj[0]) != 0 || !math.Signbit(imag(conj[0])) {
		r.Fatalf("conj(NaN+0i) = %v, want NaN−0i", conj[0])
	}
}

func (r *rig) signs(what string, got []complex128, want []float64) {
	r.Helper()
	for i, w := range want {
		if w == 0 && math.Signbit(real(got[i])) != math.Signbit(w) {
			r.Fatalf("%s: element %d is a zero of the wrong sign", what, i)
		}
	}
}

// testInPlace: an output may be exactly the input.
func testInPlace(r *rig) {
	for _, d := range floats {
		for l := range layouts {
			f, g := small(d, 21), small(d, 22)
			a, b := r.input(l, d, []int{5, 6}, f), r.input(compact, d, []int{5, 6}, g)
			r.ok(engine.AddInto(r.e, a, a, b))
			r.same("a += b", r.read(a), r.read(r.input(compact, d, []int{5, 6}, func(i []int) complex128 { return f(i) + g(i) })))
			r.ok(engine.MulInto(r.e, b, a, b))
			r.same("b = a·b", r.read(b), r.read(r.input(compact, d, []int{5, 6}, func(i []int) complex128 { return (f(i) + g(i)) * g(i) })))
			r.ok(engine.AddInto(r.e, a, a, a))
			r.ok(engine.ScaleInto(r.e, a, a, 0.5))
			r.ok(engine.ConjInto(r.e, a, a))
			r.ok(engine.CopyInto(r.e, a, a))
			want := r.read(r.input(compact, d, []int{5, 6}, func(i []int) complex128 {
				z := f(i) + g(i)
				return complex(real(z), -imag(z))
			}))
			r.same("conj of half of twice", r.read(a), want)
		}
	}
}

func testReduceSum(r *rig) {
	for t, d := range numeric {
		for i, s := range append([][]int{{3, 4, 0}, {1000}, {3, 1001}, {1001, 3}, {20, 30, 11}}, shapes...) {
			n := len(s)
			for l := layout((t + i) % 2); l < layouts; l += 2 {
				a := r.input(l, d, s, small(d, 31))
				out := layout(r.rnd.IntN(int(layouts)))
				all := reversedAxes(n)
				r.expect(engine.ReduceSum{Axes: engine.AxesOf(all...)}, out, a)
				r.expect(engine.ReduceSum{}, out, a)
				if n > 0 {
					r.expect(engine.ReduceSum{Axes: engine.AxesOf(0)}, out, a)
					r.expect(engine.ReduceSum{Axes: engine.AxesOf(n - 1)}, out, a)
					r.expect(engine.ReduceSum{Axes: engine.AxesOf(r.rnd.Perm(n)[:(n+1)/2]...)}, out, a)
				}
			}
		}
	}
}

// numpy: A.sum(axis=(0, 2)) of the A of testStructureTable.
func testReduceSumTable(r *rig) {
	want := []float64{-12, -2, 8, 18, -18, 4, 14, 1, -12, -2, -3, -16, -6, 4, 14}
	for _, d := range numeric {
		a := r.input(mixed, d, []int{2, 3, 4, 5}, tableA)
		if got, ok := r.run(engine.ReduceSum{Axes: engine.AxesOf(2, 0)}, []*engine.Tensor{a}, compact); ok {
			r.same("numpy table", got, reals(want))
		}
	}
	// Σ_{i<n} i = n(n−1)/2, in the precision that pairwise or wider sums keep.
	n := 100000
	a := r.input(compact, engine.Float32, []int{n}, func(i []int) complex128 { return complex(float64(i[0]), 0) })
	got, _ := r.run(engine.ReduceSum{Axes: engine.AxesOf(0)}, []*engine.Tensor{a}, compact)
	exact := float64(n) * float64(n-1) / 2
	if rel := math.Abs(real(got[0])-exact) / exact; rel > 1e-5 {
		r.Fatalf("Σ i = %v, want %v: relative error %g", got[0], exact, rel)
	}
}
