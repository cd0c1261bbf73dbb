//go:build unix

package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hataori/hataori-go/store"
)

type inner struct {
	A uint8
	B float64
}

type everything struct {
	F32   float32
	Flag  bool
	F64   float64 `store:"energy"`
	I8    int8
	I16   int16
	I32   int32
	I64   int64
	I     int
	U8    uint8
	U16   uint16
	U32   uint32
	U64   uint64
	C64   complex64
	C128  complex128
	Grid  [2][3]float64
	Flags [3]bool
	In    inner
	Ins   [2]inner
	Skip  string `store:"-"`
}

func everythingAt(i int) everything {
	x := float64(i)
	return everything{
		F32: float32(x) / 2, Flag: i%2 == 1, F64: x / 4, I8: int8(-i), I16: int16(-2 * i), I32: int32(-3 * i), I64: int64(-4 * i), I: -5 * i,
		U8: uint8(i), U16: uint16(2 * i), U32: uint32(3 * i), U64: math.MaxUint64 - uint64(i),
		C64: complex(float32(i), -1), C128: complex(x, -2),
		Grid: [2][3]float64{{x, x + 1, x + 2}, {x + 3, x + 4, x + 5}}, Flags: [3]bool{i%3 == 0, i%3 == 1, i%3 == 2},
		In: inner{uint8(i), x}, Ins: [2]inner{{1, x}, {2, -x}},
	}
}

// write makes a file with one sink of U that holds value(i) for each i in
// order.
func write[U any](t *testing.T, opt store.SinkOptions, order []int, value func(i int) U) (path string) {
	t.Helper()
	needLibrary(t)
	path = filepath.Join(t.TempDir(), "out.h5")
	f, err := store.Create(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.NewSink[U](f, "group/data", opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range order {
		if err := s.Put(context.Background(), int64(i), value(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// batch collects checks in Python, which is slow to start.
type batch struct {
	t       *testing.T // outlives the subtests
	scripts []string
	paths   []string
}

func (b *batch) run() {
	python(b.t, strings.Join(b.scripts, "\n"), b.paths...)
}

// roundTrip writes values in a wild order with a gap at 3, reads them back and
// leaves it to Python to check the same file.
func roundTrip[U any](t *testing.T, b *batch, opt store.SinkOptions, value func(i int) U, script string) {
	t.Helper()
	order := []int{7, 0, 9, 2, 1, 8, 4, 6, 5}
	path := write(b.t, opt, order, value)
	f, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got := make([]U, 10)
	there, err := store.ReadRows(f, "group/data", 0, got)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if there[i] != (i != 3) {
			t.Errorf("row %d: there is %v", i, there[i])
		}
		if i != 3 {
			if !cmp.Equal(value(i), got[i]) {
				t.Errorf("row %d: %s", i, cmp.Diff(value(i), got[i]))
			}
		}
	}
	part := make([]U, 2)
	if _, err := store.ReadRows(f, "group/data", 7, part); err != nil || !cmp.Equal(part, got[7:9]) {
		t.Errorf("rows 7 and 8: %v %v", part, err)
	}
	b.paths = append(b.paths, path)
	b.scripts = append(b.scripts, fmt.Sprintf(`
f = h5py.File(sys.argv[%d], "r")
d = f["group/data"]
done = f["group/data_done"]
assert done.dtype == bool and list(done[:]) == [i != 3 for i in range(10)], done[:]
rows = [i for i in range(10) if i != 3]
`, len(b.paths))+script)
}

func TestRoundTrip(t *testing.T) {
	b := &batch{t: t}
	defer b.run()
	t.Run("float64", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{Units: "eV", Description: "a number"}, func(i int) float64 { return float64(i) / 3 }, `
assert d.dtype == np.float64 and d.shape == (10,) and d.maxshape == (None,), (d.dtype, d.shape, d.maxshape)
assert all(d[i] == i / 3 for i in rows) and np.isnan(d[3])
assert d.compression == "gzip" and d.shuffle and d.fletcher32, "filters"
assert d.attrs["units"] == "eV" and d.attrs["description"] == "a number"
`)
	})
	t.Run("int", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{Rows: 10, Compression: -1}, func(i int) int { return -i << 40 }, `
assert d.dtype == np.int64 and d.compression is None and d.fletcher32
assert all(d[i] == -i << 40 for i in rows) and d[3] == 0
`)
	})
	t.Run("bool", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{}, func(i int) bool { return i%2 == 0 }, `
assert d.dtype == bool and all(d[i] == (i % 2 == 0) for i in rows)
`)
	})
	t.Run("complex128", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{}, func(i int) complex128 { return complex(float64(i), 0.5) }, `
assert d.dtype == np.complex128 and all(d[i] == i + 0.5j for i in rows)
`)
	})
	t.Run("array", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{ChunkRows: 3}, func(i int) [2][3]float32 { return [2][3]float32{{float32(i)}, {0, 0, -float32(i)}} }, `
assert d.dtype == np.float32 and d.shape == (10, 2, 3) and d.chunks == (3, 2, 3), (d.shape, d.chunks)
for i in rows: assert np.array_equal(d[i], [[i, 0, 0], [0, 0, -i]]), d[i]
`)
	})
	t.Run("slice of fixed shape", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{Shape: []int{2, 2}}, func(i int) []complex64 { return []complex64{1, complex(0, float32(i)), 3, 4} }, `
assert d.dtype == np.complex64 and d.shape == (10, 2, 2)
for i in rows: assert np.array_equal(d[i], [[1, i * 1j], [3, 4]]), d[i]
`)
	})
	t.Run("slice of arrays", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{Shape: []int{2}}, func(i int) [][3]int32 { return [][3]int32{{int32(i), 1, 2}, {3, 4, 5}} }, `
assert d.dtype == np.int32 and d.shape == (10, 2, 3)
for i in rows: assert np.array_equal(d[i], [[i, 1, 2], [3, 4, 5]]), d[i]
`)
	})
	t.Run("struct", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{}, everythingAt, `
names = ("F32", "Flag", "energy", "I8", "I16", "I32", "I64", "I", "U8", "U16", "U32", "U64", "C64", "C128", "Grid", "Flags", "In", "Ins")
assert d.dtype.names == names, d.dtype.names
kinds = dict(F32="f4", Flag="?", energy="f8", I8="i1", I16="i2", I32="i4", I64="i8", I="i8", U8="u1", U16="u2", U32="u4", U64="u8", C64="c8", C128="c16")
for n, k in kinds.items(): assert d.dtype[n] == np.dtype(k), (n, d.dtype[n])
for i in rows:
    r = d[i]
    want = dict(F32=i/2, Flag=i%2==1, energy=i/4, I8=-i, I16=-2*i, I32=-3*i, I64=-4*i, I=-5*i, U8=i, U16=2*i, U32=3*i, U64=2**64-1-i, C64=i-1j, C128=i-2j)
    for n, v in want.items(): assert r[n] == v, (i, n, r[n])
    assert np.array_equal(r["Grid"], np.arange(6).reshape(2, 3) + i)
    assert list(r["Flags"]) == [i % 3 == k for k in range(3)]
    assert r["In"]["A"] == i and r["In"]["B"] == i
    assert list(r["Ins"]["A"]) == [1, 2] and list(r["Ins"]["B"]) == [i, -i]
assert np.isnan(d[3]["energy"]) and np.isnan(d[3]["C64"].imag) and np.isnan(d[3]["Ins"]["B"]).all() and d[3]["I"] == 0
`)
	})
	t.Run("large struct", func(t *testing.T) {
		type large struct {
			X [20_000]float64
			N int64
		}
		roundTrip(t, b, store.SinkOptions{}, func(i int) (l large) {
			l.X[19_999], l.N = 1, int64(i)
			return l
		}, `
for i in rows: assert d[i]["X"].sum() == 1 and d[i]["N"] == i
assert d[3]["X"][0] == 0
`)
	})
	t.Run("bytes", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{}, func(i int) []byte { return []byte(strings.Repeat("\x00\xff", i)) }, `
assert h5py.check_vlen_dtype(d.dtype) == np.uint8
for i in rows: assert d[i].tobytes() == b"\x00\xff" * i
`)
	})
	t.Run("slice of variable length", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{}, func(i int) []float64 { return make([]float64, 1000*i) }, `
assert h5py.check_vlen_dtype(d.dtype) == np.float64
for i in rows: assert np.array_equal(d[i], np.zeros(1000 * i))
`)
	})
	t.Run("string", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{}, func(i int) string { return strings.Repeat("å", i) }, `
assert h5py.check_string_dtype(d.dtype).encoding == "utf-8"
for i in rows: assert d.asstr()[i] == "å" * i
`)
	})
	t.Run("marshaler", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{}, func(i int) even { return even{n: 2 * i} }, `
for i in rows: assert d[i].tobytes() == str(2 * i).encode()
`)
	})
	t.Run("large rows", func(t *testing.T) {
		roundTrip(t, b, store.SinkOptions{Shape: []int{3, 10_000}}, func(i int) []float64 {
			x := make([]float64, 30_000)
			x[i], x[29_999] = 1, float64(i)
			return x
		}, `
assert d.shape == (10, 3, 10000) and d.chunks == (1, 3, 10000)
for i in rows: assert d[i].sum() == 1 + i and d[i, 0, i] == 1 and d[i, 2, 9999] == i
`)
	})
}

// even marshals itself.
type even struct{ n int }

func (e even) MarshalBinary() ([]byte, error) { return []byte(fmt.Sprint(e.n)), nil }
func (e *even) UnmarshalBinary(b []byte) error {
	_, err := fmt.Sscan(string(b), &e.n)
	return err
}
func (e even) Equal(o even) bool { return e.n == o.n }

func sinkError[U any](f *store.File, opt store.SinkOptions) error {
	_, err := store.NewSink[U](f, "bad", opt)
	return err
}

func TestRefusedTypes(t *testing.T) {
	needLibrary(t)
	f, err := store.Create(filepath.Join(t.TempDir(), "out.h5"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	type hidden struct {
		A float64
		b int
	}
	_ = hidden{}.b
	type text struct{ Name string }
	type nested struct{ In struct{ P *int } }
	type twice struct {
		A int `store:"x"`
		B int `store:"x"`
	}
	for want, err := range map[string]error{
		"hidden.b is unexported":        sinkError[hidden](f, store.SinkOptions{}),
		"text.Name is a string":         sinkError[text](f, store.SinkOptions{}),
		"nested.In.P is a *int":         sinkError[nested](f, store.SinkOptions{}),
		"map[string]int":                sinkError[map[string]int](f, store.SinkOptions{}),
		"without fields":                sinkError[struct{}](f, store.SinkOptions{}),
		"\"x\", empty, twice":           sinkError[twice](f, store.SinkOptions{}),
		"extent 0":                      sinkError[[0]int](f, store.SinkOptions{}),
		"Shape [2] is for slices":       sinkError[float64](f, store.SinkOptions{Shape: []int{2}}),
		"extent -1":                     sinkError[[]float64](f, store.SinkOptions{Shape: []int{-1}}),
		"more than 1073741824":          sinkError[[]float64](f, store.SinkOptions{Shape: []int{1 << 30, 1 << 30}}),
		"string cannot have rows":       sinkError[string](f, store.SinkOptions{Shape: []int{1}}),
		"cannot have rows of shape [1]": sinkError[even](f, store.SinkOptions{Shape: []int{1}}),
		"element of [][]float64 is":     sinkError[[][]float64](f, store.SinkOptions{}),
		"deflate 17":                    sinkError[int](f, store.SinkOptions{Compression: 17}),
		"-1 rows":                       sinkError[int](f, store.SinkOptions{Rows: -1}),
		"chunks of -2":                  sinkError[int](f, store.SinkOptions{ChunkRows: -2}),
	} {
		var e *store.Error
		if !errors.As(err, &e) || !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), want) || e.Path != f.Path() || e.Name != "bad" {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	for _, name := range []string{"", "/x", "x/", "a//b", "a/../b", ".", "a\x00b", strings.Repeat("n", 2000)} {
		if _, err := store.NewSink[int](f, name, store.SinkOptions{}); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRefusedRows(t *testing.T) {
	needLibrary(t)
	f, err := store.Create(filepath.Join(t.TempDir(), "out.h5"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	numbers, err := store.NewSink[[]float64](f, "numbers", store.SinkOptions{Shape: []int{2, 3}, Rows: 4})
	if err != nil {
		t.Fatal(err)
	}
	words, err := store.NewSink[string](f, "words", store.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	six := make([]float64, 6)
	if err := numbers.Put(ctx, 1, six); err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]struct{ err, is error }{
		"numbers row 1":                   {numbers.Put(ctx, 1, six), store.ErrDuplicate},
		"numbers row 4":                   {numbers.Put(ctx, 4, six), store.ErrUnsupported},
		"numbers row -1":                  {numbers.Put(ctx, -1, six), store.ErrUnsupported},
		"numbers row 2 holds rows of flo": {numbers.Put(ctx, 2, six[:5]), store.ErrLayout},
		"NUL byte at 1":                   {words.Put(ctx, 0, "a\x00b"), store.ErrUnsupported},
		"not UTF-8":                       {words.Put(ctx, 0, "\xff"), store.ErrUnsupported},
		"less than 281474976710656":       {words.Put(ctx, math.MaxInt64, "a"), store.ErrUnsupported},
	} {
		if !errors.Is(c.err, c.is) || !strings.Contains(c.err.Error(), want) || !strings.Contains(c.err.Error(), f.Path()) {
			t.Errorf("want an error with %q, got %v", want, c.err)
		}
	}
	if numbers.Len() != 1 || words.Len() != 0 || !numbers.Has(1) || numbers.Has(2) || numbers.Has(-1) {
		t.Error("a refused row counts")
	}
	if _, err := store.NewSink[int](f, "numbers", store.SinkOptions{}); err == nil {
		t.Error("the same sink twice")
	}
	if _, err := store.NewSink[int](f, "numbers_done", store.SinkOptions{}); !errors.Is(err, store.ErrUnsupported) {
		t.Error(err)
	}
	if err := numbers.Close(); err != nil {
		t.Fatal(err)
	}
	if err := numbers.Put(ctx, 2, six); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
	if err := numbers.Close(); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
	if err := words.Put(ctx, 0, "a"); !errors.Is(err, store.ErrClosed) {
		t.Error(err)
	}
}

// A file made with another type is refused when it is resumed, from the file
// and from the journal.
func TestOtherType(t *testing.T) {
	path := write(t, store.SinkOptions{}, []int{0, 1}, func(i int) float64 { return 1 })
	f, err := store.Resume(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = store.NewSink[int64](f, "group/data", store.SinkOptions{})
	var l *store.LayoutError
	if !errors.As(err, &l) || l.Have != "rows of float64" || l.Want != "rows of int64" {
		t.Error(err)
	}
	if _, err := store.NewSink[float64](f, "group/data", store.SinkOptions{Rows: 1}); !errors.Is(err, store.ErrLayout) {
		t.Error("fewer rows than there are: ", err)
	}
	s, err := store.NewSink[[2]float64](f, "other", store.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.NewSink[[3]float64](f, "other", store.SinkOptions{}); !errors.As(err, &l) || l.Have != "rows of float64[2]" {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if _, err := store.ReadRows(g, "group/data", 0, make([]float32, 2)); !errors.Is(err, store.ErrLayout) {
		t.Error(err)
	}
	if _, err := store.ReadRows(g, "group/data", 1, make([]float64, 2)); !errors.Is(err, store.ErrUnsupported) {
		t.Error(err)
	}
	if err := g.SetAttr("/", "a", 1); !errors.Is(err, store.ErrReadOnly) {
		t.Error(err)
	}
	if n, err := g.NumRows("group/data"); n != 2 || err != nil {
		t.Error(n, err)
	}
}

// Two files with the same rows, put in different orders, are the same to
// h5diff; h5dump shows what was put.
func TestTools(t *testing.T) {
	a := write(t, store.SinkOptions{}, []int{0, 1, 2, 3}, everythingAt)
	b := write(t, store.SinkOptions{}, []int{3, 1, 0, 2}, everythingAt)
	if out, err := tool(t, "h5diff", a, b, "/group", "/group"); err != nil {
		t.Errorf("h5diff: %v\n%s", err, out)
	}
	c := write(t, store.SinkOptions{}, []int{0, 1, 2, 3}, func(i int) everything { return everythingAt(i + i/3) })
	if out, err := tool(t, "h5diff", a, c, "/group", "/group"); err == nil {
		t.Errorf("h5diff sees no difference\n%s", out)
	}
	out, err := tool(t, "h5dump", "-d", "/group/data", "-s", "2", "-c", "1", a)
	if err != nil {
		t.Fatalf("h5dump: %v\n%s", err, out)
	}
	for _, want := range []string{`H5T_IEEE_F64LE "energy"`, `"Grid"`, "0.5", "2, 3, 4"} {
		if !strings.Contains(out, want) {
			t.Errorf("h5dump does not show %s\n%s", want, out)
		}
	}
}

func TestAttributes(t *testing.T) {
	needLibrary(t)
	path := filepath.Join(t.TempDir(), "out.h5")
	f, err := store.Create(path, store.Options{Fingerprint: "fp", About: store.About{
		Program: "prog", Arguments: []string{"-n", "ü"}, Ranks: 4, Lanes: 8, Versions: map[string]string{"mpi": "4.1"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.NewSink[int](f, "a/b", store.SinkOptions{}); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{"s": "text", "empty": "", "ss": []string{"a", "", "ccc"}, "f": 1.5, "i": int64(-7), "z": complex(1, 2),
		"b": true, "fs": []float32{1, 2}, "bs": []bool{true, false, true}}
	for _, object := range []string{"/", "a/b", "a"} {
		for name, v := range values {
			if err := f.SetAttr(object, name, "replaced below"); err != nil {
				t.Fatal(err)
			}
			if err := f.SetAttr(object, name, v); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, v := range map[string]any{"n": nil, "m": map[int]int{}, "e": []int{}, "p": &path} {
		if err := f.SetAttr("/", name, v); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := f.SetAttr("nowhere", "x", 1); err == nil || !strings.Contains(err.Error(), "nowhere attribute x") {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	g, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for name, want := range values {
		got, ok, err := g.Attr("a/b", name)
		if err != nil || !ok || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v %v %v", name, got, ok, err)
		}
	}
	if _, ok, err := g.Attr("/", "nothing"); ok || err != nil {
		t.Error(ok, err)
	}
	python(t, `
f = h5py.File(sys.argv[1], "r")
a = f.attrs
assert a["program"] == "prog" and list(a["arguments"]) == ["-n", "ü"] and a["ranks"] == 4 and a["lanes"] == 8
assert a["version_mpi"] == "4.1" and a["version_hdf5"] and a["version_go"].startswith("go") and a["fingerprint"] == "fp"
assert a["started"] <= a["written"]
for o in (f, f["a/b"], f["a"]):
    a = o.attrs
    assert a["s"] == "text" and a["empty"] == "" and list(a["ss"]) == ["a", "", "ccc"] and a["f"] == 1.5 and a["i"] == -7
    assert a["z"] == 1+2j and a["b"] == True and list(a["fs"]) == [1, 2] and list(a["bs"]) == [True, False, True]
`, path)
}
