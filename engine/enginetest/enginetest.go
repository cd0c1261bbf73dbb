// Package enginetest is the suite that every engine passes:
//
//	func TestEngine(t *testing.T) {
//		enginetest.Run(t, func(t *testing.T) engine.Execution { return myengine.New() })
//	}
//
// Values come from closed forms, from tables made with numpy, and from the
// reference engine. Inputs lie in every kind of layout; outputs lie in
// buffers full of a pattern that must survive around them. Only the methods of
// engine.Execution are used, so the suite serves engines of any memory domain.
package enginetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/ref"
)

// Make returns a new engine for one test. The suite closes it.
type Make func(t *testing.T) engine.Execution

// part is a part of the suite.
type part struct {
	name string
	test func(r *rig)
}

// Run runs the whole suite but for allocation counts.
func Run(t *testing.T, open Make) {
	run(t, open, append(others(), products()...))
}

// RunProducts runs the parts about contractions alone, for engines whose products
// are another's.
func RunProducts(t *testing.T, open Make) { run(t, open, products()) }

func run(t *testing.T, open Make, parts []part) {
	for _, c := range parts {
		t.Run(c.name, func(t *testing.T) {
			e := open(t)
			t.Cleanup(func() {
				if err := e.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			c.test(&rig{T: t, e: e, oracle: ref.New(), rnd: rand.New(rand.NewPCG(1, 2))})
		})
	}
}

func products() []part {
	return []part{
		{"DotTable", testDotTable},
		{"DotClosedForm", testDotClosedForm},
		{"DotRandom", testDotRandom},
		{"DotSpecials", testDotSpecials},
		{"DotScaled", testDotScaled},
		{"DotMatrices", testDotMatrices},
		{"DotInto", testDotInto},
		{"DotFactors", testDotFactors},
		{"DotWraps", testDotWraps},
		{"DotPrecision", testDotPrecision},
		{"ApplyMatrix", testApplyMatrix},
		{"Grouped", testGrouped},
		{"GroupedRules", testGroupedRules},
		{"ContractionRules", testContractionRules},
		{"ContractionSpecials", testContractionSpecials},
		{"Convenience", testConvenience},
	}
}

func others() []part {
	return []part{
		{"Structure", testStructure},
		{"StructureTable", testStructureTable},
		{"CopyKeepsBits", testCopyKeepsBits},
		{"Elementwise", testElementwise},
		{"ElementwiseSpecials", testElementwiseSpecials},
		{"InPlace", testInPlace},
		{"ReduceSum", testReduceSum},
		{"ReduceSumTable", testReduceSumTable},
		{"HighRank", testHighRank},
		{"Functions", testFunctions},
		{"FarAngles", testFarAngles},
		{"FunctionRules", testFunctionRules},
		{"DivideByZero", testDivideByZero},
		{"Cast", testCast},
		{"Reduce", testReduce},
		{"ReduceSpecials", testReduceSpecials},
		{"ReduceRows", testReduceRows},
		{"Cumulative", testCumulative},
		{"Movers", testMovers},
		{"MoverRules", testMoverRules},
		{"Indexing", testIndexing},
		{"Sorting", testSorting},
		{"Golden", testGolden},
		{"Create", testCreate},
		{"Random", testRandom},
		{"EveryType", testEveryType},
		{"EveryDomain", testEveryDomain},
		{"EveryCount", testEveryCount},
		{"EveryOverlap", testEveryOverlap},
		{"ManyAxes", testManyAxes},
		{"Hostile", testHostile},
		{"BadSpecs", testBadSpecs},
		{"BadArguments", testBadArguments},
		{"Overlap", testOverlap},
		{"Unsupported", testUnsupported},
		{"Buffers", testBuffers},
		{"Admission", testAdmission},
		{"HostOp", testHostOp},
		{"Panic", testPanic},
		{"Close", testClose},
		{"Extension", testExtension},
	}
}

// RunWarm checks that warm repeated runs allocate nothing, for engines that
// promise so.
func RunWarm(t *testing.T, open Make) {
	e := open(t)
	defer e.Close()
	r := &rig{T: t, e: e, oracle: ref.New(), rnd: rand.New(rand.NewPCG(1, 2))}
	testWarm(r)
}

// rig is one engine under test.
type rig struct {
	*testing.T
	e      engine.Execution
	oracle *ref.Engine
	rnd    *rand.Rand
}

var floats = []engine.DType{engine.Float32, engine.Float64, engine.Complex64, engine.Complex128}

// numeric are the types of which an engine must support elementwise
// operations; it may refuse the integer ones with a typed error.
var numeric = append([]engine.DType{engine.Int32, engine.Int64}, floats...)

var realTypes = numeric[:4]

var allTypes = append([]engine.DType{engine.Bool}, numeric...)

// layout says how a tensor lies in its buffer.
type layout int

const (
	compact  layout = iota
	offset          // compact, after some other elements
	reversed        // axes in reversed order in memory
	negative        // every axis backwards
	spread          // gaps along every axis
	mixed           // rotated axes, steps 2, −1, −3, 1, with gaps
	layouts
)

func (l layout) String() string {
	return [...]string{"compact", "offset", "reversed", "negative", "spread", "mixed"}[l]
}

// tensor returns a tensor of the engine's in the given layout. base is the
// tensor that Alloc returned, full of the poison pattern around the elements.
func (r *rig) tensor(l layout, d engine.DType, extents []int) (t, base *engine.Tensor) {
	r.Helper()
	n := len(extents)
	order, pads := make([]int, n), make([]int, n) // memory order of axes; |step| per axis
	for i := range order {
		order[i], pads[i] = i, 1
		switch l {
		case reversed:
			order[i] = n - 1 - i
		case spread:
			pads[i] = 2
		case mixed:
			order[i] = (i + 1) % n
			if i < 4 {
				pads[i] = []int{2, 1, 3, 1}[i]
			}
		}
	}
	lead := 0
	if l != compact {
		lead = 3
	}
	total := 1
	ext := make([]int, n)
	for i, o := range order {
		ext[i] = extents[o] * pads[o]
		total *= ext[i]
	}
	base = r.must(r.e.Alloc(engine.Spec{DType: d, Domain: r.e.Target().Domain, Shape: engine.ShapeOf(total + 2*lead)}))
	r.poison(base)
	t = base
	if l == compact {
		return r.must(t.Reshape(extents...)), base
	}
	t = r.must(r.must(t.Slice(0, lead, total, 1)).Reshape(ext...))
	inverse := make([]int, n)
	for i, o := range order {
		inverse[o] = i
	}
	t = r.must(t.Permute(inverse...))
	for i, p := range pads {
		step, start := p, 0
		if l == negative || l == mixed && (i == 1 || i == 2) {
			step, start = -p, max(extents[i]*p-1, 0)
		}
		t = r.must(t.Slice(i, start, extents[i], step))
	}
	return t, base
}

func (r *rig) must(t *engine.Tensor, err error) *engine.Tensor {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
	return t
}

func (r *rig) ok(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

const poison = 77 // of every type

func (r *rig) poison(t *engine.Tensor) {
	r.Helper()
	r.write(t, func([]int) complex128 { return poison })
}

// host returns a compact host tensor with values f(index), row-major.
func host(d engine.DType, extents []int, f func(index []int) complex128) *engine.Tensor {
	n := 1
	for _, x := range extents {
		n *= x
	}
	v := make([]complex128, 0, n)
	index := make([]int, len(extents))
	for range n {
		v = append(v, f(index))
		for i := len(index) - 1; i >= 0; i-- {
			if index[i]++; index[i] < extents[i] {
				break
			}
			index[i] = 0
		}
	}
	return pack(d, v, extents)
}

// pack converts values to dtype d.
func pack(d engine.DType, v []complex128, extents []int) *engine.Tensor {
	var t *engine.Tensor
	var err error
	switch d {
	case engine.Bool:
		t, err = engine.FromSlice(convert(v, func(z complex128) bool { return z != 0 }), extents...)
	case engine.Int32:
		t, err = engine.FromSlice(convert(v, func(z complex128) int32 { return int32(real(z)) }), extents...)
	case engine.Int64:
		t, err = engine.FromSlice(convert(v, func(z complex128) int64 { return int64(real(z)) }), extents...)
	case engine.Float32:
		t, err = engine.FromSlice(convert(v, func(z complex128) float32 { return float32(real(z)) }), extents...)
	case engine.Float64:
		t, err = engine.FromSlice(convert(v, func(z complex128) float64 { return real(z) }), extents...)
	case engine.Complex64:
		t, err = engine.FromSlice(convert(v, func(z complex128) complex64 { return complex64(z) }), extents...)
	default:
		t, err = engine.FromSlice(v, extents...)
	}
	if err != nil {
		panic(err)
	}
	return t
}

func convert[T any](v []complex128, f func(complex128) T) []T {
	o := make([]T, len(v))
	for i, z := range v {
		o[i] = f(z)
	}
	return o
}

// write fills a tensor of the engine's.
func (r *rig) write(t *engine.Tensor, f func(index []int) complex128) {
	r.Helper()
	r.ok(r.e.CopyIn(t, host(t.DType(), t.Shape().Ints(), f)))
}

// read returns the elements in row-major order.
func (r *rig) read(t *engine.Tensor) []complex128 {
	r.Helper()
	switch t.DType() {
	case engine.Bool:
		return read(r, t, func(x bool) complex128 {
			if x {
				return 1
			}
			return 0
		})
	case engine.Int32:
		return read(r, t, func(x int32) complex128 { return complex(float64(x), 0) })
	case engine.Int64:
		return read(r, t, func(x int64) complex128 { return complex(float64(x), 0) })
	case engine.Float32:
		return read(r, t, func(x float32) complex128 { return complex(float64(x), 0) })
	case engine.Float64:
		return read(r, t, func(x float64) complex128 { return complex(x, 0) })
	case engine.Complex64:
		return read(r, t, func(x complex64) complex128 { return complex128(x) })
	}
	return read(r, t, func(x complex128) complex128 { return x })
}

func read[T engine.Element](r *rig, t *engine.Tensor, f func(T) complex128) []complex128 {
	r.Helper()
	v, err := engine.Download[T](r.e, t)
	r.ok(err)
	o := make([]complex128, len(v))
	for i, x := range v {
		o[i] = f(x)
	}
	return o
}

// small is a small integer (both parts for complex types) that depends on the
// index and the seed, so that sums of products of thousands of them are exact in
// every type.
func small(d engine.DType, seed int) func(index []int) complex128 {
	return func(index []int) complex128 {
		h := uint32(seed*7919 + 17)
		for _, i := range index {
			h = (h ^ uint32(i+1)) * 2654435761
			h ^= h >> 15
		}
		re := float64(h%9) - 4
		if !d.IsComplex() {
			return complex(re, 0)
		}
		return complex(re, float64(h/9%7)-3)
	}
}

// run binds and runs op on the engine with inputs and an output in the given
// layouts, and returns the output; the elements around it must be untouched.
// supported is false where the engine refuses with a typed error, which only
// integers may meet.
func (r *rig) run(op engine.Op, ins []*engine.Tensor, lay layout) (values []complex128, supported bool) {
	r.Helper()
	specs := make([]engine.Spec, len(ins))
	for i, t := range ins {
		specs[i] = t.Spec()
	}
	inferred, err := op.Infer(specs)
	r.ok(err)
	d := inferred[0].DType
	if err := r.e.Supports(op, specs); errors.Is(err, engine.ErrUnsupported) && !d.IsFloat() {
		return nil, false
	}
	out, base := r.tensor(lay, d, inferred[0].Shape.Ints())
	k, err := r.e.Bind(op, specs, []engine.Spec{out.Spec()})
	if err != nil {
		r.Fatalf("%s %v: %v", op.Name(), specs, err)
	}
	if err := r.e.Run(k, []*engine.Tensor{out}, ins); err != nil {
		r.Fatalf("%s %v: %v", op.Name(), specs, err)
	}
	values = r.read(out)
	// Overwrite the output by the pattern: then all of base must be pattern.
	r.poison(out)
	want := complex128(poison)
	if d == engine.Bool {
		want = 1
	}
	for i, z := range r.read(base) {
		if z != want {
			r.Fatalf("%s %v into %v: element %d of the buffer, outside the output, was changed to %v", op.Name(), specs, lay, i, z)
		}
	}
	return values, true
}

// expect runs op and compares with the reference engine, exactly.
func (r *rig) expect(op engine.Op, lay layout, ins ...*engine.Tensor) {
	r.Helper()
	r.expectNear(op, lay, allowance{}, ins...)
}

// expectNear runs op and compares with the reference engine, to some units in
// the last place.
func (r *rig) expectNear(op engine.Op, lay layout, may allowance, ins ...*engine.Tensor) {
	r.Helper()
	got, ok := r.run(op, ins, lay)
	if !ok {
		return
	}
	hosts := make([]*engine.Tensor, len(ins))
	specs := make([]engine.Spec, len(ins))
	for i, t := range ins {
		hosts[i] = pack(t.DType(), r.read(t), t.Shape().Ints())
		specs[i] = hosts[i].Spec()
	}
	k, err := r.oracle.Bind(op, specs, nil)
	r.ok(err)
	out := r.must(r.oracle.Alloc(k.Out(0)))
	r.ok(r.oracle.Run(k, []*engine.Tensor{out}, hosts))
	what := fmt.Sprintf("%s %v → %v", op.Name(), describe(ins), lay)
	r.near(what, k.Out(0).DType, may, got, (&rig{T: r.T, e: r.oracle}).read(out))
}

func describe(ts []*engine.Tensor) (s []string) {
	for _, t := range ts {
		s = append(s, t.Spec().String())
	}
	return s
}

// same compares exactly; NaN equals NaN, and zeros of either sign are equal.
func (r *rig) same(what string, got, want []complex128) {
	r.Helper()
	if len(got) != len(want) {
		r.Fatalf("%s: %d elements, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !sameFloat(real(got[i]), real(want[i])) || !sameFloat(imag(got[i]), imag(want[i])) {
			r.Fatalf("%s: element %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func sameFloat(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// input returns an engine tensor with values f in a layout.
func (r *rig) input(l layout, d engine.DType, extents []int, f func(index []int) complex128) *engine.Tensor {
	r.Helper()
	t, _ := r.tensor(l, d, extents)
	r.write(t, f)
	return t
}
