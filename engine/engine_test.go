package engine

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unique"
)

func TestListsAreValues(t *testing.T) {
	if ShapeOf(2, 3) != ShapeOf([]int{2, 3}...) || ShapeOf(2, 3) == ShapeOf(3, 2) || ShapeOf() != (Shape{}) {
		t.Error("shapes are not equal exactly when their extents are")
	}
	long := make([]int, 100)
	for i := range long {
		long[i] = -i * 1234567890123
	}
	if got := StridesOf(long...).Append(nil); !slices.Equal(got, long) {
		t.Errorf("strides %v come back as %v", long, got)
	}
	if s := AxesOf(1, 0).String() + ShapeOf(2).String() + ShapeOf().String(); s != "(1 0)[2][]" {
		t.Errorf("printed as %s", s)
	}
}

func TestFactor(t *testing.T) {
	if By(0) == By(complex(math.Copysign(0, -1), 0)) {
		t.Error("0 and −0 are one factor")
	}
	if nan := complex(math.NaN(), 0); By(nan) != By(nan+1) {
		t.Error("a NaN factor is not equal to itself")
	}
	if (Factor{}).Or(3) != 3 || By(2i).Or(3) != 2i || (Factor{}).Given() || !By(0).Given() {
		t.Error("defaults")
	}
}

func TestCanonical(t *testing.T) {
	for _, c := range []struct {
		shape, strides []int
		compact        bool
	}{
		{[]int{2, 3}, []int{3, 1}, true},
		{[]int{2, 3}, []int{1, 2}, false},
		{[]int{1, 3}, []int{77, 1}, true},
		{[]int{2, 1, 3}, []int{3, -5, 1}, true},
		{[]int{0, 3}, []int{9, 9}, true},
		{[]int{3}, []int{-1}, false},
		{[]int{3}, []int{0}, false},
		{[]int{1}, []int{0}, true},
	} {
		s := Spec{DType: Float32, Shape: ShapeOf(c.shape...), Strides: StridesOf(c.strides...)}.Canonical()
		if s.IsCompact() != c.compact {
			t.Errorf("%v with %v: compact %v", c.shape, c.strides, s.IsCompact())
		}
	}
}

// elements lists the buffer positions of a tensor's elements in row-major order.
func elements(t *Tensor) []int {
	pos := []int{t.offset}
	for i, st := range t.spec.AppendStrides(nil) {
		var next []int
		for _, p := range pos {
			for x := range t.spec.Shape.At(i) {
				next = append(next, p+x*st)
			}
		}
		pos = next
	}
	return pos
}

// randomView makes a view of base by random steps.
func randomView(rnd *rand.Rand, base *Tensor) *Tensor {
	t := base
	for range 1 + rnd.IntN(4) {
		var v *Tensor
		var err error
		r := t.Rank()
		if r == 0 {
			return t
		}
		axis := rnd.IntN(r)
		n := t.Shape().At(axis)
		switch rnd.IntN(5) {
		case 0:
			v, err = t.Permute(rnd.Perm(r)...)
		case 1:
			if n == 0 {
				continue
			}
			start, step := rnd.IntN(n), rnd.IntN(7)-3
			if step == 0 {
				step = 1
			}
			most := (n-1-start)/max(step, 1) + 1
			if step < 0 {
				most = start/-step + 1
			}
			v, err = t.Slice(axis, start, rnd.IntN(most+1), step)
		case 2:
			if n == 0 || r < 2 {
				continue
			}
			v, err = t.Index(axis, rnd.IntN(n))
		case 3:
			if other := rnd.IntN(r); other != axis && t.Shape().At(other) == n {
				v, err = t.Diagonal(axis, other)
			}
		case 4:
			if v, err = t.Reshape(t.Elements()); err != nil {
				v, err = nil, nil // needs a copy
			}
		}
		if err != nil {
			panic(err)
		}
		if v != nil {
			t = v
		}
	}
	return t
}

// Views against the definition, on a buffer whose elements are their positions.
func TestViewsAgainstDefinition(t *testing.T) {
	data := make([]float64, 3*4*4)
	for i := range data {
		data[i] = float64(i)
	}
	a, err := FromSlice(data, 3, 4, 4)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		view func() (*Tensor, error)
		want []int
	}{
		{"Permute", func() (*Tensor, error) { return a.Permute(2, 0, 1) }, each(func(i [3]int) int { return pos(i[1], i[2], i[0]) }, 4, 3, 4)},
		{"Diagonal", func() (*Tensor, error) { return a.Diagonal(1, 2) }, each(func(i [3]int) int { return pos(i[0], i[1], i[1]) }, 3, 4, 1)},
		{"Diagonal(2,1)", func() (*Tensor, error) { return a.Diagonal(2, 1) }, each(func(i [3]int) int { return pos(i[0], i[1], i[1]) }, 3, 4, 1)},
		{"Slice", func() (*Tensor, error) { return a.Slice(1, 3, 2, -2) }, each(func(i [3]int) int { return pos(i[0], 3-2*i[1], i[2]) }, 3, 2, 4)},
		{"Index", func() (*Tensor, error) { return a.Index(0, 2) }, each(func(i [3]int) int { return pos(2, i[0], i[1]) }, 4, 4, 1)},
		{"Reshape", func() (*Tensor, error) { return a.Reshape(2, 24) }, each(func(i [3]int) int { return i[0]*24 + i[1] }, 2, 24, 1)},
		{"Reshape of a slice", func() (*Tensor, error) {
			v, err := a.Slice(0, 1, 2, 1)
			if err != nil {
				return nil, err
			}
			return v.Reshape(8, 2, 2)
		}, each(func(i [3]int) int { return 16 + i[0]*4 + i[1]*2 + i[2] }, 8, 2, 2)},
	} {
		v, err := c.view()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := elements(v); !slices.Equal(got, c.want) {
			t.Errorf("%s: elements %v, want %v", c.name, got, c.want)
		}
	}
	p, err := a.Permute(2, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	var s *ShapeError
	if _, err := p.Reshape(48); !errors.As(err, &s) || !strings.Contains(s.Reason, "copy") {
		t.Errorf("Reshape across a permutation: %v", err)
	}
}

func pos(i, j, k int) int { return (i*4+j)*4 + k }

func each(f func(i [3]int) int, a, b, c int) (v []int) {
	for i := range a {
		for j := range b {
			for k := range c {
				v = append(v, f([3]int{i, j, k}))
			}
		}
	}
	return v
}

// Reshape of random views: where it succeeds, the order of elements is kept;
// where it refuses, no strides of the new shape give that order.
func TestReshapeIsExact(t *testing.T) {
	rnd := rand.New(rand.NewPCG(5, 6))
	base, err := FromSlice(make([]float32, 4*3*4*2), 4, 3, 4, 2)
	if err != nil {
		t.Fatal(err)
	}
	refused := 0
	for range 3000 {
		v := randomView(rnd, base)
		n := v.Elements()
		if n == 0 {
			continue
		}
		shape := []int{n}
		for f := 2; f <= n; f++ {
			if n%f == 0 && rnd.IntN(2) == 0 {
				shape = []int{f, 1, n / f}
				break
			}
		}
		want := elements(v)
		got, err := v.Reshape(shape...)
		if err == nil {
			if !slices.Equal(elements(got), want) {
				t.Fatalf("%v as %v: elements %v, want %v", v, shape, elements(got), want)
			}
			continue
		}
		refused++
		last := shape[len(shape)-1]
		inner, outer := 0, 0
		if last > 1 {
			inner = want[1] - want[0]
		}
		if shape[0] > 1 && len(shape) > 1 {
			outer = want[last] - want[0]
		}
		possible := true
		for i, p := range want {
			possible = possible && p == want[0]+i%last*inner+i/last*outer
		}
		if possible {
			t.Fatalf("%v as %v was refused: %v", v, shape, err)
		}
	}
	if refused == 0 {
		t.Error("no reshape was refused: the test tests half")
	}
}

// Overlaps and selfOverlaps against the sets of elements.
func TestOverlapAgainstSets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 8))
	base, err := FromSlice(make([]complex64, 6*4*6), 6, 4, 6)
	if err != nil {
		t.Fatal(err)
	}
	yes, no := 0, 0
	for range 20000 {
		a, b := randomView(rnd, base), randomView(rnd, base)
		set := map[int]bool{}
		for _, p := range elements(a) {
			if set[p] {
				t.Fatalf("%v: a view of a compact tensor overlaps itself", a)
			}
			set[p] = true
		}
		if selfOverlaps(a.spec) {
			t.Fatalf("%v is said to overlap itself", a)
		}
		want := false
		for _, p := range elements(b) {
			want = want || set[p]
		}
		if got := a.Overlaps(b); got != want {
			t.Fatalf("%v at %d and %v at %d: overlap %v, want %v", a, a.offset, b, b.offset, got, want)
		}
		if want {
			yes++
		} else {
			no++
		}
	}
	if yes < 100 || no < 100 {
		t.Errorf("%d overlaps, %d not: the test tests half", yes, no)
	}
	for _, c := range []struct {
		shape, strides []int
		want           bool
	}{{[]int{3, 3}, []int{1, 1}, true}, {[]int{3}, []int{0}, true}, {[]int{2, 3}, []int{2, 1}, true}, {[]int{2, 3}, []int{3, -1}, false}} {
		s := Spec{DType: Bool, Shape: ShapeOf(c.shape...), Strides: StridesOf(c.strides...)}
		if selfOverlaps(s) != c.want {
			t.Errorf("%v: self-overlap %v", s, !c.want)
		}
	}
}

// Tensors over one slice made separately are seen to overlap.
func TestOverlapAcrossBuffers(t *testing.T) {
	data := make([]float64, 10)
	a, _ := FromSlice(data[:6], 6)
	b, _ := FromSlice(data[4:], 6)
	c, _ := FromSlice(data[6:], 4)
	if !a.Overlaps(b) || a.Overlaps(c) || !same(a, a) || same(a, b) {
		t.Error("overlap of slices of one array")
	}
}

func TestFromSliceErrors(t *testing.T) {
	var s *ShapeError
	for _, err := range []error{
		second(FromSlice([]int32{1, 2, 3}, 2)),
		second(FromSlice([]int32{1, 2, 3}, -3)),
		second(FromSlice([]int32{}, 1<<40, 1<<40)),
		second(FromStrided([]int32{1, 2, 3}, 0, ShapeOf(2), StridesOf(3))),
		second(FromStrided([]int32{1, 2, 3}, 1, ShapeOf(3), StridesOf(-1))),
		second(FromStrided([]int32{1, 2, 3}, -1, ShapeOf(2), Strides{})),
		second(FromStrided([]int32{1, 2, 3}, 3, ShapeOf(1), Strides{})),
		second(FromStrided([]int32{1, 2, 3}, 0, ShapeOf(2), StridesOf(math.MaxInt))),
		second(FromSlice([]bool{true}, make([]int, 65)...)),
	} {
		if !errors.As(err, &s) {
			t.Errorf("error %v, want a *ShapeError", err)
		}
	}
	x, err := FromStrided([]int32{1, 2, 3}, 2, ShapeOf(3), StridesOf(-1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Data[int32](x); !errors.As(err, &s) {
		t.Errorf("Data of a reversed tensor: %v", err)
	}
	var d *DTypeError
	if _, err := Data[float32](x); !errors.As(err, &d) {
		t.Errorf("Data of another type: %v", err)
	}
	y, err := FromSlice([]complex128{7})
	if err != nil || y.Rank() != 0 || y.Elements() != 1 {
		t.Errorf("scalar: %v, %v", y, err)
	}
	if v, err := Data[complex128](y); err != nil || len(v) != 1 || v[0] != 7 {
		t.Errorf("Data of a scalar: %v, %v", v, err)
	}
}

func second[T any](_ T, err error) error { return err }

type fakeKernel struct {
	Kernel
	n int
}

func TestPlanCache(t *testing.T) {
	c := NewPlanCache(3)
	target := unique.Make(Target{Kind: "fake"})
	made := 0
	bind := func(op Op, in, out []Spec) (Kernel, error) {
		made++
		return &fakeKernel{n: made}, nil
	}
	get := func(op Op, in ...Spec) *fakeKernel {
		t.Helper()
		k, err := c.Bind(target, op, in, nil, bind)
		if err != nil {
			t.Fatal(err)
		}
		return k.(*fakeKernel)
	}
	a, b := SpecOf(Float64, 2, 3), SpecOf(Float64, 3, 2)
	k := get(Add{}, a, a)
	for _, other := range []*fakeKernel{get(Mul{}, a, a), get(Add{}, b, b)} {
		if other == k {
			t.Error("one kernel for two keys")
		}
	}
	if get(Add{}, a, a) != k {
		t.Error("a kept kernel was made again")
	}
	get(Conj{}, a) // evicts Mul, the least recently used
	if get(Add{}, a, a) != k {
		t.Error("the most recently used kernel was evicted")
	}
	if before := made; get(Mul{}, a, a).n == 0 || made != before+1 {
		t.Error("the least recently used kernel stayed")
	}
	if s := c.Stats(); s.Entries != 3 || s.Misses != 5 || s.Hits != 2 || s.Evictions != 2 {
		t.Errorf("counters %+v", s)
	}
	// More specs than lie in a key.
	many := make([]Spec, 11)
	for i := range many {
		many[i] = SpecOf(Float32, i+1)
	}
	k = get(Add{}, many...)
	if get(Add{}, many...) != k {
		t.Error("a kernel of many specs was made again")
	}
	for i := range many {
		other := slices.Clone(many)
		other[i] = SpecOf(Float32, 99)
		if get(Add{}, other...) == k {
			t.Errorf("spec %d of many has no say in the key", i)
		}
	}
	boom := errors.New("boom")
	if _, err := c.Bind(target, Copy{}, []Spec{a}, nil, func(Op, []Spec, []Spec) (Kernel, error) { return nil, boom }); err != boom {
		t.Errorf("a failure came back as %v", err)
	}
	if k, err := c.Bind(target, Copy{}, []Spec{a}, nil, bind); err != nil || k == nil {
		t.Errorf("a failure was kept: %v", err)
	}
	in := []Spec{a}
	if n := testing.AllocsPerRun(100, func() {
		if _, err := c.Bind(target, Copy{}, in, nil, nil); err != nil {
			panic(err)
		}
	}); n != 0 {
		t.Errorf("a hit allocates %v times", n)
	}
}

// Two simultaneous misses of a key both bind and get one kernel.
func TestPlanCacheTwoMisses(t *testing.T) {
	c := NewPlanCache(0)
	target := unique.Make(Target{Kind: "fake"})
	in := []Spec{SpecOf(Float64, 4)}
	var barrier, done sync.WaitGroup
	barrier.Add(2)
	got := make([]Kernel, 2)
	for i := range got {
		done.Go(func() {
			k, err := c.Bind(target, Copy{}, in, nil, func(Op, []Spec, []Spec) (Kernel, error) {
				barrier.Done()
				barrier.Wait()
				return &fakeKernel{n: i}, nil
			})
			if err != nil {
				t.Error(err)
			}
			got[i] = k
		})
	}
	done.Wait()
	if got[0] != got[1] || c.Stats().Misses != 2 || c.Stats().Entries != 1 {
		t.Errorf("kernels %p and %p, %+v", got[0], got[1], c.Stats())
	}
}

func TestBindingAlias(t *testing.T) {
	x, _ := FromSlice([]float64{1, 2, 3, 4}, 4)
	y, _ := FromSlice([]float64{1, 2, 3, 4}, 4)
	b, err := NewBinding(Add{}, []Spec{x.Spec(), y.Spec()}, nil, Target{})
	if err != nil {
		t.Fatal(err)
	}
	ok := testing.AllocsPerRun(100, func() {
		if err := b.Check([]*Tensor{x}, []*Tensor{x, y}); err != nil {
			panic(err)
		}
	})
	if ok != 0 {
		t.Errorf("Check allocates %v times", ok)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{&ShapeError{Op: "Add", Operand: Input(1), Axis: 2, Reason: "no"}, "engine: Add: input 1, axis 2: no"},
		{&ShapeError{Op: "Add", Operand: Output(0), Axis: NoAxis, Reason: "no"}, "engine: Add: output 0: no"},
		{&AliasError{Op: "Dot", Output: Output(0), Other: Input(1)}, "engine: Dot: output 0 overlaps input 1: write to a tensor of its own"},
		{&UnsupportedError{Op: "SVD", DType: Int32, Provider: "native", Reason: "no LAPACK"}, "engine: native does not support SVD of int32: no LAPACK"},
	} {
		if c.err.Error() != c.want {
			t.Errorf("%q, want %q", c.err, c.want)
		}
	}
	cause := errors.New("cause")
	err := error(&BrokenError{Op: "Add", Value: cause})
	if !errors.Is(err, ErrBroken) || !errors.Is(err, cause) || errors.Is(&BrokenError{Value: "text"}, cause) {
		t.Error("BrokenError's chain")
	}
}
