package enginetest

import (
	"errors"

	"github.com/hataori/hataori-go/engine"
)

// testApplyMatrix: every axis, layouts, types and flags, against the reference
// engine, and one product of numpy's: einsum("jk,abk->abj") of ramps.
func testApplyMatrix(r *rig) {
	for t, d := range numeric {
		for axis := range 4 {
			for l := range layouts {
				a := r.input(l, d, []int{3, 4, 2, 5}, small(d, 11+t))
				m := r.input((l+1)%layouts, d, []int{6, a.Shape().At(axis)}, small(d, 12+t))
				r.expect(engine.ApplyMatrix{Axis: axis, Conj: axis%2 == 0}, (l+2)%layouts, a, m)
			}
		}
		r.expect(engine.ApplyMatrix{}, compact, r.input(compact, d, []int{70}, small(d, 1)), r.input(mixed, d, []int{50, 70}, small(d, 2)))
		r.expect(engine.ApplyMatrix{Axis: 1}, reversed, r.input(compact, d, []int{20, 30, 9}, small(d, 1)), r.input(reversed, d, []int{31, 30}, small(d, 2)))
		r.expect(engine.ApplyMatrix{Axis: 1}, compact, r.input(compact, d, []int{2, 0}, small(d, 1)), r.input(compact, d, []int{3, 0}, small(d, 2)))
	}
	ramp := func(index []int) complex128 { return complex(float64(index[len(index)-1]-index[0]), 0) }
	a := r.input(compact, engine.Float64, []int{2, 2, 3}, ramp)
	m := r.input(compact, engine.Float64, []int{2, 3}, ramp)
	got, _ := r.run(engine.ApplyMatrix{Axis: 2}, []*engine.Tensor{a, m}, compact)
	r.same("numpy", got, []complex128{5, 2, 5, 2, 2, 2, 2, 2})
}

// square is a 2×2 block that lies row by row.
func square(offset int) engine.Block { return engine.Block{Offset: offset, Row: 2, Col: 1} }

// randomJobs cuts a buffer into cells of one matrix of blocks, of any layout, and
// gives each a job of extents that fit it.
func (r *rig) randomJobs(cells, cell, most int) (jobs []engine.Job, elements int) {
	block := func(first, rows, columns int) engine.Block {
		b := engine.Block{Offset: first, Row: columns, Col: 1}
		switch r.rnd.IntN(3) {
		case 0:
			b.Row, b.Col = 1, rows
		case 1: // backwards
			b.Offset += max(0, rows*columns-1)
			b.Row, b.Col = -columns, -1
		}
		return b
	}
	for i := range cells {
		j := engine.Job{M: r.rnd.IntN(most + 1), N: r.rnd.IntN(most + 1), K: r.rnd.IntN(most + 1)}
		if i%2 == 1 && i > 2 { // some series of one form
			j.M, j.N, j.K = jobs[i-1].M, jobs[i-1].N, jobs[i-1].K
		}
		j.A, j.B = block(r.rnd.IntN(cells)*cell, j.M, j.K), block(r.rnd.IntN(cells)*cell, j.K, j.N)
		j.C = block(i*cell, j.M, j.N)
		jobs = append(jobs, j)
	}
	r.rnd.Shuffle(len(jobs), func(i, j int) { jobs[i], jobs[j] = jobs[j], jobs[i] })
	return jobs, cells * cell
}

// testGrouped compares with plain loops. All values are small integers: exact.
func testGrouped(r *rig) {
	for t, d := range numeric {
		for n := range 8 {
			cells, most := 1+r.rnd.IntN(12), 5
			if n == 0 {
				cells, most = 24, 40 // enough for more than one worker
			}
			jobs, elements := r.randomJobs(cells, most*most, most)
			r.groupedCase(d, layout((n+t)%int(layouts)), engine.GroupedDot{Jobs: engine.JobsOf(jobs...), Elements: elements,
				ConjA: n%2 == 0, ConjB: n%3 == 0, Alpha: engine.By(complex(float64(n%3), 0)), Beta: engine.By(complex(float64(n%4-1), 0))}, jobs)
		}
		// The blocks of one matrix, whose spans interleave.
		var jobs []engine.Job
		for i := range 6 {
			jobs = append(jobs, engine.Job{M: 4, N: 3, K: 2, A: engine.Block{Offset: i, Row: 2, Col: 1}, B: engine.Block{Offset: 6, Row: 3, Col: 1},
				C: engine.Block{Offset: i/3*36 + i%3*3, Row: 9, Col: 1}})
		}
		r.groupedCase(d, spread, engine.GroupedDot{Jobs: engine.JobsOf(jobs...), Elements: 72}, jobs)
		r.groupedCase(d, compact, engine.GroupedDot{Elements: 3}, nil)
		// Jobs without a sum, after one that is all of the work.
		jobs = []engine.Job{{M: 20, N: 20, K: 20, A: engine.Block{Row: 20, Col: 1}, B: engine.Block{Row: 20, Col: 1}, C: engine.Block{Row: 20, Col: 1}},
			{M: 2, N: 2, C: square(400)}, {M: 2, N: 2, C: square(404)}}
		r.groupedCase(d, spread, engine.GroupedDot{Jobs: engine.JobsOf(jobs...), Elements: 410, Beta: engine.By(2)}, jobs)
		r.groupedCase(d, compact, engine.GroupedDot{Jobs: engine.JobsOf(jobs...), Elements: 410}, jobs)
	}
}

func (r *rig) groupedCase(d engine.DType, l layout, op engine.GroupedDot, jobs []engine.Job) {
	r.Helper()
	n := max(op.Elements, 32)
	value := func(seed int) (func([]int) complex128, []complex128) {
		f := small(d, seed)
		v := make([]complex128, n)
		for i := range v {
			v[i] = f([]int{i})
		}
		return f, v
	}
	fa, va := value(51)
	fb, vb := value(52)
	fc, want := value(53)
	want = want[:op.Elements]
	a, b, c := r.input(l, d, []int{n}, fa), r.input((l+1)%layouts, d, []int{n}, fb), r.input((l+2)%layouts, d, []int{op.Elements}, fc)
	if err := r.e.Supports(op, []engine.Spec{a.Spec(), b.Spec()}); errors.Is(err, engine.ErrUnsupported) && !d.IsFloat() {
		return
	}
	conj := func(z complex128, yes bool) complex128 {
		if yes && d.IsComplex() {
			return complex(real(z), -imag(z))
		}
		return z
	}
	for _, j := range jobs {
		at := func(b engine.Block, i, k int) int { return b.Offset + i*b.Row + k*b.Col }
		for i := range j.M {
			for k := range j.N {
				var sum complex128
				for s := range j.K {
					sum += conj(va[at(j.A, i, s)], op.ConjA) * conj(vb[at(j.B, s, k)], op.ConjB)
				}
				p := at(j.C, i, k)
				want[p] = op.Alpha.Or(1)*sum + op.Beta.Or(0)*want[p]
			}
		}
	}
	r.ok(engine.ApplyInto(r.e, op, c, a, b))
	r.same("grouped products", r.read(c), want)
}

// testGroupedRules: a job that does not fit is named, and nothing is written.
func testGroupedRules(r *rig) {
	const d = engine.Float64
	buffer := r.input(compact, d, []int{16}, small(d, 1))
	out := r.input(compact, d, []int{16}, func([]int) complex128 { return poison })
	good := engine.Job{M: 2, N: 2, K: 2, A: square(0), B: square(4), C: square(0)}
	bad := func(change func(j *engine.Job)) []engine.Job {
		j := good
		j.C.Offset = 8
		change(&j)
		return []engine.Job{good, j}
	}
	for _, c := range []struct {
		what       string
		jobs       []engine.Job
		job, other int
		operand    engine.Operand
	}{
		{"output beyond the end", bad(func(j *engine.Job) { j.C.Offset = 13 }), 1, engine.NoJob, engine.Output(0)},
		{"output before the start", bad(func(j *engine.Job) { j.C.Offset = -1 }), 1, engine.NoJob, engine.Output(0)},
		{"backwards before the start", bad(func(j *engine.Job) { j.C = engine.Block{Offset: 2, Row: -2, Col: -1} }), 1, engine.NoJob, engine.Output(0)},
		{"left beyond the end", bad(func(j *engine.Job) { j.A.Offset = 13 }), 1, engine.NoJob, engine.Input(0)},
		{"right beyond the end", bad(func(j *engine.Job) { j.B.Row = 100 }), 1, engine.NoJob, engine.Input(1)},
		{"stride that overflows", bad(func(j *engine.Job) { j.B.Row = 1 << 62 }), 1, engine.NoJob, engine.Input(1)},
		{"lowest stride", bad(func(j *engine.Job) { j.A.Row = -1 << 63 }), 1, engine.NoJob, engine.Input(0)},
		{"offset that overflows", bad(func(j *engine.Job) { j.C.Offset = 1<<63 - 1 }), 1, engine.NoJob, engine.Output(0)},
		{"negative extent", bad(func(j *engine.Job) { j.K = -1 }), 1, engine.NoJob, engine.NoOperand},
		{"overlap with itself", bad(func(j *engine.Job) { j.C.Row = 1 }), 1, engine.NoJob, engine.Output(0)},
		{"rows at one place", bad(func(j *engine.Job) { j.C.Row = 0 }), 1, engine.NoJob, engine.Output(0)},
		{"overlap", append(bad(func(*engine.Job) {}), engine.Job{M: 1, N: 3, A: square(0), B: square(0), C: engine.Block{Offset: 9, Col: 3}}), 2, 1, engine.Output(0)},
		{"one element", []engine.Job{good, {M: 1, N: 1, C: square(3)}}, 1, 0, engine.Output(0)},
		{"the same twice", []engine.Job{good, good, good}, 1, 0, engine.Output(0)},
	} {
		err := engine.ApplyInto(r.e, engine.GroupedDot{Jobs: engine.JobsOf(c.jobs...), Elements: 16}, out, buffer, buffer)
		e := wantAs[*engine.JobError](r, c.what, err)
		if e.Job != c.job || e.Other != c.other || e.Operand != c.operand || e.Op != "GroupedDot" || e.Error() == "" {
			r.Fatalf("%s: %v (%+v), want job %d, %v", c.what, e, e, c.job, c.operand)
		}
	}
	jobs := engine.JobsOf(good)
	_, err := r.e.Bind(engine.GroupedDot{Jobs: jobs, Elements: 16}, []engine.Spec{r.spec(d, 4, 4), r.spec(d, 16)}, nil)
	wantAs[*engine.ShapeError](r, "buffer of two axes", err)
	_, err = r.e.Bind(engine.GroupedDot{Jobs: jobs, Elements: -1}, []engine.Spec{r.spec(d, 16), r.spec(d, 16)}, nil)
	wantAs[*engine.ShapeError](r, "negative output", err)
	_, err = r.e.Bind(engine.GroupedDot{Jobs: jobs, Elements: 16, Alpha: engine.By(1i)}, []engine.Spec{r.spec(d, 16), r.spec(d, 16)}, nil)
	wantAs[*engine.DTypeError](r, "complex factor of reals", err)
	wantAs[*engine.AliasError](r, "output over an input", engine.ApplyInto(r.e, engine.GroupedDot{Jobs: jobs, Elements: 16}, buffer, out, buffer))
	for _, z := range r.read(out) {
		if z != poison {
			r.Fatal("a refused run changed its output")
		}
	}
	// Very many blocks whose spans interleave, and the one among them that clashes.
	columns := make([]engine.Job, 5000)
	for i := range columns {
		columns[i] = engine.Job{M: 2, N: 1, C: engine.Block{Offset: i, Row: len(columns)}}
	}
	ones := []engine.Spec{r.spec(d, 1), r.spec(d, 1)}
	bound := func() error {
		_, err := r.e.Bind(engine.GroupedDot{Jobs: engine.JobsOf(columns...), Elements: 2 * len(columns)}, ones, nil)
		return err
	}
	r.ok(bound())
	columns[4000].C = engine.Block{Offset: 17, Row: 1}
	if e := wantAs[*engine.JobError](r, "a column among many", bound()); e.Job != 4000 || e.Other != 17 || e.Operand != engine.Output(0) {
		r.Fatalf("a column among many: %v", e)
	}
	// Blocks that touch, interleave or are empty do not overlap; without a sum
	// the inputs are not looked at.
	r.ok(engine.ApplyInto(r.e, engine.GroupedDot{Elements: 16, Jobs: engine.JobsOf(
		engine.Job{M: 2, N: 2, C: engine.Block{Offset: 0, Row: 8, Col: 2}, A: square(99)}, engine.Job{M: 2, N: 2, C: engine.Block{Offset: 1, Row: 8, Col: 2}},
		engine.Job{M: 0, N: 5, C: square(-7)}, engine.Job{M: 1, N: 1, C: square(15)})}, out, buffer, buffer))
	r.same("sums over nothing", r.read(out), []complex128{0, 0, 0, 0, poison, poison, poison, poison, 0, 0, 0, 0, poison, poison, poison, 0})
}
