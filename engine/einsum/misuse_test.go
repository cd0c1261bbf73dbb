package einsum

import (
	"errors"
	"math"
	"math/cmplx"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/engine/ref"
)

// meddler is an engine that calls back in the middle of the work.
type meddler struct {
	engine.Execution
	meddle func()
}

func (m *meddler) Begin() (engine.Pass, error) {
	m.meddle()
	return m.Execution.Begin()
}

func (m *meddler) Run(k engine.Kernel, out, in []*engine.Tensor) error {
	m.meddle()
	return m.Execution.Run(k, out, in)
}

// A second caller is refused before it has moved anything that the first one reads.
func TestPreparedHasOneCaller(t *testing.T) {
	m := &meddler{Execution: ref.New(), meddle: func() {}}
	p := mustPlan(t, "ij,jk->ik", Path{{0, 1}}, []int{2, 2}, []int{2, 2})
	p, err := p.Slice(Cut{'i', 2})
	if err != nil {
		t.Fatal(err)
	}
	a, b, other := floats(t, []float64{1, 2, 3, 4}, 2, 2), floats(t, []float64{1, 0, 0, 1}, 2, 2), floats(t, make([]float64, 4), 2, 2)
	r, err := p.Prepare(m, a.Spec(), b.Spec())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Load(a, b); err != nil {
		t.Fatal(err)
	}
	out, mine := floats(t, make([]float64, 2), 1, 2), floats(t, []float64{7, 7}, 1, 2)
	meddled, within := 0, false
	m.meddle = func() {
		if within { // what it calls got through
			return
		}
		meddled, within = meddled+1, true
		defer func() { within = false }()
		_, scaled := r.RunScaled(mine, 0)
		for what, err := range map[string]error{"Run": r.Run(mine, 0), "RunScaled": scaled, "Load": r.Load(other, other), "Close": r.Close()} {
			if !errors.Is(err, engine.ErrBusy) {
				t.Errorf("%s in the middle of a run: %v", what, err)
			}
		}
	}
	want := []float64{3, 4}
	if err := r.Run(out, 1); err != nil {
		t.Fatal(err)
	}
	checkData(t, "Run", out, want)
	exponent, err := r.RunScaled(out, 1)
	if err != nil {
		t.Fatal(err)
	}
	checkData(t, "RunScaled", out, []float64{math.Ldexp(3, -exponent), math.Ldexp(4, -exponent)})
	checkData(t, "the second caller's output", mine, []float64{7, 7})
	if meddled < 2 {
		t.Errorf("meddled %d times", meddled)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func checkData(t *testing.T, what string, x *engine.Tensor, want []float64) {
	t.Helper()
	got, err := engine.Data[float64](x)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: %v, want %v", what, got, want)
			return
		}
	}
}

// An operand that was released since Load is told, whatever has its memory now.
func TestReleasedOperandIsRefused(t *testing.T) {
	e, err := cpu.Serial(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	p := mustPlan(t, "ij,jk->ik", Path{{0, 1}}, []int{2, 2}, []int{2, 2})
	var x [2]*engine.Tensor
	for k := range x {
		if x[k], err = engine.Upload(e, []float64{1, 2, 3, 4}, 2, 2); err != nil {
			t.Fatal(err)
		}
	}
	r, err := p.Prepare(e, x[0].Spec(), x[1].Spec())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Load(x[0], x[1]), e.Release(x[1])); err != nil {
		t.Fatal(err)
	}
	if _, err := engine.Upload(e, []float64{9, 9, 9, 9}, 2, 2); err != nil { // into the same memory
		t.Fatal(err)
	}
	out := floats(t, make([]float64, 4), 2, 2)
	_, scaled := r.RunScaled(out, 0)
	for what, err := range map[string]error{"Run": r.Run(out, 0), "RunScaled": scaled, "Load": r.Load(x[0], x[1])} {
		if !errors.Is(err, engine.ErrReleased) {
			t.Errorf("%s: %v", what, err)
		}
	}
	checkData(t, "the output", out, []float64{0, 0, 0, 0})
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// What was not made by its constructor is refused, and never crashes.
func TestZeroValuesAreRefused(t *testing.T) {
	var p Plan
	one := []float64{1}
	_, slice := p.Slice()
	_, cuts := p.FindCuts(t.Context(), Limits{})
	_, bytes := p.MarshalBinary()
	_, ready := p.Prepare(ref.New())
	_, scaled := AddSliceScaled(&p, one, 0, 0, one, 0)
	errs := map[string]error{"Slice": slice, "FindCuts": cuts, "MarshalBinary": bytes, "Prepare": ready,
		"AddSlice": AddSlice(&p, one, 0, one), "AddSliceScaled": scaled}
	_, errs["Prepare without an engine"] = mustPlan(t, "i->i", nil, []int{1}).Prepare(nil, engine.SpecOf(engine.Float64, 1))
	var r Prepared
	errs["Prepared.Load"], errs["Prepared.Run"] = r.Load(), r.Run(nil, 0)
	_, errs["Prepared.RunScaled"] = r.RunScaled(nil, 0)
	for what, err := range errs {
		if e := (*Error)(nil); !errors.As(err, &e) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := r.Close(); err != nil || r.Bytes() != 0 {
		t.Errorf("a zero Prepared: Close %v, %d bytes", err, r.Bytes())
	}
	if p.OutputShape() != nil || p.SliceShape() != nil || p.Steps() != nil || p.Details() == "" || p.Slices() != 1 {
		t.Error("a zero plan has shapes or steps")
	}
}

// Complex numbers near the end of the range, whose modulus is none of the type, are
// brought into reach like others; infinite ones stay as Run has them.
func TestScaledComplexNearTheEndOfTheRange(t *testing.T) {
	for name, open := range engines(t, false) {
		t.Run(name, func(t *testing.T) {
			testEndOfRange[complex128](t, open(t), 1.5*0x1p1023, 1e-14)
			testEndOfRange[complex64](t, open(t), 1.5*0x1p127, 1e-6)
		})
	}
}

func testEndOfRange[T complex64 | complex128](t *testing.T, e engine.Execution, end, tolerance float64) {
	t.Helper()
	p := mustPlan(t, "ij,jk->ik", Path{{0, 1}}, []int{2, 2}, []int{2, 2})
	x := complex(end, end) // (a+ai)² is 2a²i
	operand := tensorOf[T](t, []complex128{x, x, x, x}, []int{2, 2}, false)
	got, exponent := contractScaled[T](t, e, p, []*engine.Tensor{operand, operand})
	fraction, power := math.Frexp(end)
	for i := range got {
		want := complex(0, math.Ldexp(4*fraction*fraction, 2*power-exponent))
		if d := cmplx.Abs(toComplex(got[i]) - want); !(d <= tolerance) {
			t.Errorf("%v: element %d is %v · 2^%d, want %v", x, i, got[i], exponent, want)
		}
	}
	infinite := tensorOf[T](t, []complex128{complex(math.Inf(1), 0), 1, 1, 1}, []int{2, 2}, false)
	whole := mustPlan(t, "ij->ij", nil, []int{2, 2})
	got, _ = contractScaled[T](t, e, whole, []*engine.Tensor{infinite})
	if z := toComplex(got[0]); !cmplx.IsInf(z) || imag(z) != 0 || toComplex(got[1]) != 1 {
		t.Errorf("infinities came back as %v", got)
	}
}

// A run with exponents that finds no memory for its copies leaves nothing behind that
// later runs would read.
func TestRunAfterAFailedScaledRun(t *testing.T) {
	const n = 64
	p := mustPlan(t, "ij,jk->ik", Path{{0, 1}}, []int{n, n}, []int{n, n})
	p, err := p.Slice(Cut{'i', 2})
	if err != nil {
		t.Fatal(err)
	}
	e, err := cpu.Serial(cpu.Options{MaxBytes: 3 * n * n * 8 / 2}) // for one of the two copies
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	data, one := make([]float64, n*n), make([]float64, n*n)
	for i := range n {
		data[i*n+i], one[i*n+i] = 0x1p300, 0x1p-300
	}
	a, b := floats(t, data, n, n), floats(t, one, n, n)
	r, err := p.Prepare(e, a.Spec(), b.Spec())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Load(a, b); err != nil {
		t.Fatal(err)
	}
	out := floats(t, make([]float64, n*n/2), n/2, n)
	if _, err := r.RunScaled(out, 0); !errors.As(err, new(*engine.MemoryError)) {
		t.Fatalf("two copies where there is memory for one: %v", err)
	}
	for i := range p.Slices() {
		if err := r.Run(out, i); err != nil {
			t.Fatal(err)
		}
		got, err := engine.Data[float64](out)
		if err != nil {
			t.Fatal(err)
		}
		for row := range n / 2 {
			if x := got[row*n+i*n/2+row]; x != 1 {
				t.Fatalf("slice %d: an element of 2^300 · 2^-300 is %v", i, x)
			}
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// Lengths with nothing but huge prime factors are not factorised: that took seconds for each look at one.
func TestLabelsOfHugePrimeLength(t *testing.T) {
	const prime = 1<<57 - 13
	p := mustPlan(t, "ij,jk->ik", Path{{0, 1}}, []int{2, prime}, []int{prime, 2})
	cuts, err := p.FindCuts(t.Context(), Limits{Slices: 4})
	if err != nil || len(cuts) != 2 || cuts[0].Label != 'i' || cuts[1].Label != 'k' {
		t.Errorf("cuts %v, %v", cuts, err)
	}
	for n, want := range map[int]int{0: 0, 1: 1, 2: 2, 9: 3, 35: 5, 46337 * 46337: 46337, math.MaxInt32: math.MaxInt32, prime: prime, 1 << 62: 2} {
		if got := smallestFactor(n); got != want {
			t.Errorf("the smallest factor of %d is %d, want %d", n, got, want)
		}
	}
}

// What an engine cannot address is refused by the plan, empty or not.
func TestShapesBeyondAddressing(t *testing.T) {
	for _, shape := range [][]int{{0, math.MaxInt}, {1 << 40, 0, 1 << 40}, {1 << 59, 1}, {math.MaxInt, math.MaxInt}} {
		s := mustParse(t, "abc"[:len(shape)]+"->")
		_, err := NewPlan(s, [][]int{shape}, nil)
		if e := (*Error)(nil); !errors.As(err, &e) || !errors.Is(err, ErrSize) || e.Operand != 0 {
			t.Errorf("%v: %v", shape, err)
		}
	}
	p := mustPlan(t, "ab->b", nil, []int{1<<59 - 1, 1})
	r, err := p.Prepare(ref.New(), engine.SpecOf(engine.Complex128, p.OperandShape(0)...))
	if err != nil {
		t.Fatalf("the largest shape: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
