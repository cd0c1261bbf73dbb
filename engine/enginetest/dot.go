package enginetest

import (
	"math"
	"math/cmplx"

	"github.com/hataori/hataori-go/engine"
)

var matMul = engine.DotGeneral{ContractL: engine.AxesOf(1), ContractR: engine.AxesOf(0)}

// numpy: out[b,i,j] = Σ_k conj(L[i,b,k]) R[j,k,b].
func testDotTable(r *rig) {
	want := []complex128{35 + 10i, -42 - 14i, 19 + 18i, 25 + 8i, 26 + 2i, -6 - 4i, 17 + 25i, -5 - 35i, -29 - 31i, -3 + 17i,
		-3 + 23i, -13 + 0i, -20 - 4i, 24 - 3i, 9 - 1i, 11 - 3i, 15 + 6i, 19 - 12i, -26 + 20i, -27 - 1i,
		17 - 9i, -21 + 1i, -2 + 4i, -22 - 11i, 15 + 22i, -24 + 8i, 17 - 31i, 25 - 26i, 6 + 30i, -46 - 16i}
	op := engine.DotGeneral{BatchL: engine.AxesOf(1), BatchR: engine.AxesOf(2),
		ContractL: engine.AxesOf(2), ContractR: engine.AxesOf(1), ConjL: true}
	for _, d := range []engine.DType{engine.Complex64, engine.Complex128} {
		for l := range layouts {
			left := r.input(l, d, []int{2, 3, 4}, func(i []int) complex128 {
				n := (i[0]*3+i[1])*4 + i[2]
				return complex(float64(n%7-3), float64(n*5%11-5))
			})
			right := r.input((l+2)%layouts, d, []int{5, 4, 3}, func(i []int) complex128 {
				n := (i[0]*4+i[1])*3 + i[2]
				return complex(float64(n%5-2), float64(n*3%13-6))
			})
			got, _ := r.run(op, []*engine.Tensor{left, right}, (l+1)%layouts)
			r.same("numpy table", got, want)
		}
	}
}

// testDotClosedForm: A[i,k] = i+1, B[k,j] = (−1)^k·k + j gives
// C[i,j] = (i+1)·(Σ_k (−1)^k k + K·j), exact for the sizes here.
func testDotClosedForm(r *rig) {
	for _, d := range floats {
		for _, s := range [][3]int{{1, 1, 1}, {2, 3, 4}, {16, 16, 16}, {17, 19, 23}, {65, 33, 70}, {1, 64, 9}, {50, 1, 50}, {3, 300, 1}, {130, 70, 129}} {
			m, k, n := s[0], s[1], s[2]
			a := r.input(compact, d, []int{m, k}, func(i []int) complex128 { return complex(float64(i[0]+1), 0) })
			b := r.input(compact, d, []int{k, n}, func(i []int) complex128 {
				return complex(float64((1-2*(i[0]%2))*i[0]+i[1]), 0)
			})
			alternating := 0
			for q := range k {
				alternating += (1 - 2*(q%2)) * q
			}
			got, _ := r.run(matMul, []*engine.Tensor{a, b}, compact)
			for i := range m {
				for j := range n {
					if w := complex(float64((i+1)*(alternating+k*j)), 0); got[i*n+j] != w {
						r.Fatalf("%v %v: C[%d,%d] = %v, want %v", d, s, i, j, got[i*n+j], w)
					}
				}
			}
		}
	}
}

// testDotRandom: random axes, extents, layouts and flags, exact in integers,
// against the reference engine.
func testDotRandom(r *rig) {
	cases := 300
	for range cases {
		d := numeric[r.rnd.IntN(len(numeric))]
		op, left, right := r.randomDot(d)
		r.expect(op, layout(r.rnd.IntN(int(layouts))), left, right)
	}
}

// randomDot makes a contraction of up to two batch, two contracted and two
// free axes a side, with extents of 0 to 7, and operands for it.
func (r *rig) randomDot(d engine.DType) (op engine.DotGeneral, left, right *engine.Tensor) {
	extent := func() int {
		if r.rnd.IntN(30) == 0 {
			return 0
		}
		return 1 + r.rnd.IntN(7)
	}
	return r.dotOf(d, extent, r.rnd.IntN(3), r.rnd.IntN(3), r.rnd.IntN(3), r.rnd.IntN(3))
}

// dotOf makes a contraction of nb batch, nc contracted and nl and nr free axes, in any
// order, with extents that are drawn, and operands for it.
func (r *rig) dotOf(d engine.DType, extent func() int, nb, nc, nl, nr int) (op engine.DotGeneral, left, right *engine.Tensor) {
	r.Helper()
	pl, pr := r.rnd.Perm(nb+nc+nl), r.rnd.Perm(nb+nc+nr)
	le, re := make([]int, len(pl)), make([]int, len(pr))
	for i := range le {
		le[pl[i]] = extent()
	}
	for i := range re {
		re[pr[i]] = extent()
	}
	for i := range nb + nc { // the first nb+nc entries of the permutations are paired
		re[pr[i]] = le[pl[i]]
	}
	op = engine.DotGeneral{
		BatchL: engine.AxesOf(pl[:nb]...), BatchR: engine.AxesOf(pr[:nb]...),
		ContractL: engine.AxesOf(pl[nb : nb+nc]...), ContractR: engine.AxesOf(pr[nb : nb+nc]...),
		ConjL: r.rnd.IntN(2) == 0, ConjR: r.rnd.IntN(2) == 0,
	}
	left = r.input(layout(r.rnd.IntN(int(layouts))), d, le, small(d, r.rnd.IntN(1000)))
	right = r.input(layout(r.rnd.IntN(int(layouts))), d, re, small(d, r.rnd.IntN(1000)))
	return op, left, right
}

// testDotSpecials: NaN and infinities propagate to exactly the elements that
// depend on them; what Beta 0 overwrites is not read; nothing summed is 0.
func testDotSpecials(r *rig) {
	nan := cmplx.NaN()
	for _, d := range floats {
		for _, n := range []int{3, 40} {
			a := r.input(compact, d, []int{n, n}, func(i []int) complex128 {
				if i[0] == 1 && i[1] == 2 {
					return complex(math.NaN(), 0)
				}
				return 1
			})
			b := r.input(reversed, d, []int{n, n}, func(i []int) complex128 {
				if i[0] == 0 && i[1] == 2 {
					return complex(math.Inf(1), 0)
				}
				return 2
			})
			out := r.input(compact, d, []int{n, n}, func([]int) complex128 { return nan })
			r.ok(engine.DotInto(r.e, matMul, out, a, b))
			for p, z := range r.read(out) {
				i, j := p/n, p%n
				switch {
				case i == 1:
					if !cmplx.IsNaN(z) && !math.IsNaN(real(z)) {
						r.Fatalf("%v: row of the NaN: [%d,%d] = %v", d, i, j, z)
					}
				case j == 2: // ∞·(1+0i) may turn into NaN, but never into a number
					if real(z)-real(z) == 0 || !d.IsComplex() && !math.IsInf(real(z), 1) {
						r.Fatalf("%v: column of the infinity: [%d,%d] = %v", d, i, j, z)
					}
				case z != complex(float64(2*n), 0):
					r.Fatalf("%v: [%d,%d] = %v, want %d", d, i, j, z, 2*n)
				}
			}
			empty := r.input(compact, d, []int{n, 0}, small(d, 1))
			emptyT := r.input(compact, d, []int{0, n}, small(d, 1))
			r.ok(r.e.CopyIn(out, host(d, []int{n, n}, func([]int) complex128 { return nan })))
			r.ok(engine.DotInto(r.e, matMul, out, empty, emptyT))
			for _, z := range r.read(out) {
				if z != 0 {
					r.Fatalf("%v: sum over nothing is %v", d, z)
				}
			}
		}
	}
}

// testDotScaled: Alpha·A·B + Beta·C into every layout, small integers.
func testDotScaled(r *rig) {
	for _, d := range numeric {
		if !r.supports(matMul, []engine.Spec{r.spec(d, 2, 2), r.spec(d, 2, 2)}, d) {
			continue
		}
		factors := []complex128{0, 1, -2}
		if d.IsComplex() {
			factors = append(factors, 1-2i)
		}
		for _, alpha := range factors {
			for _, beta := range factors {
				for l := range layouts {
					r.scaledProduct(d, l, alpha, beta, 4, 5, 3)
					r.scaledProduct(d, l, alpha, beta, 24, 17, 20)
				}
			}
		}
	}
}

func (r *rig) scaledProduct(d engine.DType, l layout, alpha, beta complex128, m, k, n int) {
	r.Helper()
	f, g, h := small(d, 41), small(d, 42), small(d, 43)
	a, b := r.input(compact, d, []int{m, k}, f), r.input(l, d, []int{k, n}, g)
	c := r.input(l, d, []int{m, n}, h)
	op := matMul
	op.Alpha, op.Beta = engine.By(alpha), engine.By(beta)
	r.ok(engine.DotInto(r.e, op, c, a, b))
	want := make([]complex128, 0, m*n)
	for i := range m {
		for j := range n {
			var sum complex128
			for q := range k {
				sum += f([]int{i, q}) * g([]int{q, j})
			}
			want = append(want, alpha*sum+beta*h([]int{i, j}))
		}
	}
	r.same("α·A·B + β·C", r.read(c), want)
}

// testDotMatrices: matrices by rows and by columns on every side, conjugated or not,
// large enough for a library, small integers.
func testDotMatrices(r *rig) {
	const m, k, n = 24, 17, 20
	turns := []layout{offset, reversed}
	for _, d := range floats {
		f, g := small(d, 44), small(d, 45)
		conj := func(z complex128, yes bool) complex128 {
			if yes && d.IsComplex() {
				return cmplx.Conj(z)
			}
			return z
		}
		for flags := range 4 {
			op := matMul
			op.ConjL, op.ConjR = flags&1 != 0, flags&2 != 0
			var want []complex128
			for i := range m {
				for j := range n {
					var sum complex128
					for q := range k {
						sum += conj(f([]int{i, q}), op.ConjL) * conj(g([]int{q, j}), op.ConjR)
					}
					want = append(want, sum)
				}
			}
			for at := range 8 {
				a, b := r.input(turns[at&1], d, []int{m, k}, f), r.input(turns[at>>1&1], d, []int{k, n}, g)
				got, _ := r.run(op, []*engine.Tensor{a, b}, turns[at>>2])
				r.same("op(A)·op(B)", got, want)
			}
		}
	}
}

// testDotPrecision: random positive reals, so that relative errors mean what
// they say, against sums in float64.
func testDotPrecision(r *rig) {
	const m, k, n = 37, 211, 29
	tol := map[engine.DType]float64{engine.Float32: 1e-5, engine.Complex64: 1e-5, engine.Float64: 1e-13, engine.Complex128: 1e-13}
	for _, d := range floats {
		x, y := make([]complex128, m*k), make([]complex128, k*n)
		fill := func(v []complex128) {
			for i := range v {
				v[i] = complex(0.5+r.rnd.Float64(), 0)
				if d.IsComplex() {
					v[i] *= complex(1, 0.5)
				}
				if d.Size() == 4 || d == engine.Complex64 {
					v[i] = complex128(complex64(v[i]))
				}
			}
		}
		fill(x)
		fill(y)
		a := r.input(compact, d, []int{m, k}, func(i []int) complex128 { return x[i[0]*k+i[1]] })
		b := r.input(reversed, d, []int{k, n}, func(i []int) complex128 { return y[i[0]*n+i[1]] })
		got, _ := r.run(matMul, []*engine.Tensor{a, b}, reversed)
		for i := range m {
			for j := range n {
				var sum complex128
				for q := range k {
					sum += x[i*k+q] * y[q*n+j]
				}
				if rel := cmplx.Abs(got[i*n+j]-sum) / cmplx.Abs(sum); !(rel <= tol[d]) {
					r.Fatalf("%v: C[%d,%d] = %v, want %v: relative error %g", d, i, j, got[i*n+j], sum, rel)
				}
			}
		}
	}
}

// testDotWraps: integers wrap, in sums and in products.
func testDotWraps(r *rig) {
	for d, c := range map[engine.DType][2]complex128{ // b² + b² of b, modulo 2³² and 2⁶⁴; (b+1)² + (b+1)² is 2b² + 4b + 2
		engine.Int32: {1 << 16, 1<<18 + 2}, engine.Int64: {1 << 32, 1<<34 + 2},
	} {
		if !r.supports(matMul, []engine.Spec{r.spec(d, 2, 2), r.spec(d, 2, 2)}, d) {
			continue
		}
		full := func(z complex128) *engine.Tensor {
			return r.input(compact, d, []int{2, 2}, func([]int) complex128 { return z })
		}
		got, _ := r.run(matMul, []*engine.Tensor{full(c[0]), full(c[0])}, compact)
		r.same("sums that wrap to 0", got, make([]complex128, 4))
		got, _ = r.run(matMul, []*engine.Tensor{full(c[0] + 1), full(c[0] + 1)}, compact)
		r.same("sums that wrap", got, []complex128{c[1], c[1], c[1], c[1]})
	}
}

func testConvenience(r *rig) {
	a, err := engine.Upload(r.e, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	r.ok(err)
	b := r.must(engine.Upload(r.e, []float64{1, 0, 0, 1, 1, 1}, 3, 2))
	c := r.must(engine.MatMul(r.e, a, b))
	r.same("MatMul", r.read(c), []complex128{4, 5, 10, 11})
	r.ok(engine.MatMulInto(r.e, c, a, r.must(engine.Upload(r.e, []float64{1, 1, 1, 1, 1, 1}, 3, 2))))
	r.same("MatMulInto", r.read(c), []complex128{6, 6, 15, 15})
	s := r.must(engine.Sum(r.e, a))
	if s.Rank() != 0 {
		r.Fatalf("Sum over all axes has rank %d", s.Rank())
	}
	r.same("Sum", r.read(s), []complex128{21})
	r.same("Sum over 0", r.read(r.must(engine.Sum(r.e, a, 0))), []complex128{5, 7, 9})
	r.same("Clone", r.read(r.must(engine.Clone(r.e, r.must(a.Permute(1, 0))))), []complex128{1, 4, 2, 5, 3, 6})
	batch := r.must(engine.Upload(r.e, []float64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2))
	r.same("batched MatMul", r.read(r.must(engine.MatMul(r.e, batch, batch))), []complex128{7, 10, 15, 22, 67, 78, 91, 106})
}
