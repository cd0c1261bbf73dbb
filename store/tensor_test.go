//go:build unix

package store_test

import (
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hataori/hataori-go/store"
)

// ramp fills n elements with from(0), from(1), …
func ramp[T store.Element](n int, from func(i int) T) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = from(i)
	}
	return x
}

func create(t *testing.T) *store.File {
	t.Helper()
	needLibrary(t)
	f, err := store.Create(filepath.Join(t.TempDir(), "t.h5"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func open(t *testing.T, path string) *store.File {
	t.Helper()
	f, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func writeRead[T store.Element](t *testing.T, f *store.File, name string, opt store.TensorOptions, from func(i int) T) func(g *store.File) {
	t.Helper()
	data := ramp(2*3*5, from)
	if err := store.WriteTensor(f, name, data, []int{2, 3, 5}, opt); err != nil {
		t.Fatal(err)
	}
	return func(g *store.File) {
		got, shape, err := store.ReadTensor[T](g, name)
		if err != nil || !slices.Equal(shape, []int{2, 3, 5}) || !slices.Equal(got, data) {
			t.Errorf("%s: %v %v %v", name, got, shape, err)
		}
		slab := make([]T, 4)
		err = store.ReadSlab(g, name, []int{1, 1, 3}, []int{1, 2, 2}, slab)
		// rows 1 and 2 of the second matrix, columns 3 and 4
		if want := []T{data[23], data[24], data[28], data[29]}; err != nil || !slices.Equal(slab, want) {
			t.Errorf("%s: slab %v, want %v, %v", name, slab, want, err)
		}
	}
}

func TestTensors(t *testing.T) {
	f := create(t)
	packed := store.TensorOptions{Compression: 4, Units: "m", Description: "x"}
	checks := []func(*store.File){
		writeRead(t, f, "f32", store.TensorOptions{}, func(i int) float32 { return float32(i) / 3 }),
		writeRead(t, f, "f64", packed, func(i int) float64 { return float64(i) / 3 }),
		writeRead(t, f, "c64", store.TensorOptions{Compression: 1, Chunk: []int{1, 2, 5}}, func(i int) complex64 { return complex(float32(i), -1) }),
		writeRead(t, f, "in/c128", store.TensorOptions{}, func(i int) complex128 { return complex(1, float64(i)) }),
		writeRead(t, f, "in/i32", packed, func(i int) int32 { return int32(-i) }),
		writeRead(t, f, "in/i64", store.TensorOptions{}, func(i int) int64 { return int64(i) << 40 }),
		writeRead(t, f, "in/deep/bool", packed, func(i int) bool { return i%3 == 0 }),
	}
	for _, check := range checks {
		check(f) // before it is committed
	}
	if err := store.CreateTensor[float64](f, "pieces", []int{4, 4}, store.TensorOptions{Compression: 1}); err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if err := store.WriteSlab(f, "pieces", []int{i, 0}, []int{1, i + 1}, ramp(i+1, func(k int) float64 { return float64(10*i + k) })); err != nil {
			t.Fatal(err)
		}
	}
	if err := store.WriteTensor(f, "scalar", []float64{42}, nil, packed); err != nil {
		t.Fatal(err)
	}
	if err := store.WriteTensor(f, "empty", []float64{}, []int{0, 3}, packed); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	g := open(t, f.Path())
	for _, check := range checks {
		check(g)
	}
	names, err := g.Names()
	if want := []string{"c64", "empty", "f32", "f64", "in/c128", "in/deep/bool", "in/i32", "in/i64", "pieces", "scalar"}; err != nil || !slices.Equal(names, want) {
		t.Error(names, err)
	}
	if x, shape, err := store.ReadTensor[float64](g, "scalar"); err != nil || len(shape) != 0 || x[0] != 42 {
		t.Error(x, shape, err)
	}
	if x, shape, err := store.ReadTensor[float64](g, "empty"); err != nil || !slices.Equal(shape, []int{0, 3}) || len(x) != 0 {
		t.Error(x, shape, err)
	}
	python(t, `
f = h5py.File(sys.argv[1], "r")
k = np.arange(30).reshape(2, 3, 5)
def same(name, dtype, want):
    d = f[name]
    assert d.dtype == dtype and d.shape == want.shape and np.array_equal(d[...], want), (name, d.dtype, d[...])
same("f32", np.float32, (k.astype(np.float32) / np.float32(3)))
same("f64", np.float64, k / 3)
same("c64", np.complex64, (k - 1j).astype(np.complex64))
same("in/c128", np.complex128, 1 + 1j * k)
same("in/i32", np.int32, -k)
same("in/i64", np.int64, k << 40)
same("in/deep/bool", np.bool_, k % 3 == 0)
p = np.array([[10 * i + j if j <= i else 0 for j in range(4)] for i in range(4)], float)
same("pieces", np.float64, p)
assert f["scalar"][()] == 42 and f["empty"].shape == (0, 3)
assert f["f64"].attrs["units"] == "m" and f["f64"].compression_opts == 4 and f["f64"].fletcher32 and f["f32"].chunks is None
assert f["c64"].chunks == (1, 2, 5)
`, g.Path())
}

// Files that h5py wrote, with what h5py users write.
func TestTensorsFromPython(t *testing.T) {
	needLibrary(t)
	path := filepath.Join(t.TempDir(), "py.h5")
	python(t, `
f = h5py.File(sys.argv[1], "w")
k = np.arange(12).reshape(3, 4)
f["f64"] = k / 7
f["big endian"] = (k / 7).astype(">f8")
f.create_dataset("chunked", data=k + 0.5j, chunks=(2, 2), compression="gzip", shuffle=True)
f["g/bool"] = k % 2 == 0
f["g/int32"] = k.astype(np.int32)
f["uint8"] = k.astype(np.uint8)
f["half"] = k.astype(np.float16)
f["padded"] = np.zeros(2, np.dtype([("a", "u1"), ("b", "f8")], align=True))
f["text"] = ["a", "b"]
f["fixed"] = np.array([b"abc", b"d"])
f["enum"] = np.zeros(2, h5py.enum_dtype({"UP": 1, "DOWN": 2}))
f["ref"] = np.array([f["f64"].ref], dtype=h5py.ref_dtype)
f["link"] = h5py.SoftLink("/nowhere")
f["g/loop"] = h5py.SoftLink("/")
f.attrs["fixed"] = np.bytes_("fixed text  ")
f.attrs["array"] = np.array([1.5, 2.5], ">f4")
f.attrs["words"] = np.array([b"ab", b"c"])
f.attrs["none"] = np.array([], "f8")
f.attrs["null"] = h5py.Empty("f8")
`, path)
	g := open(t, path)
	want := ramp(12, func(i int) float64 { return float64(i) / 7 })
	for _, name := range []string{"f64", "big endian"} {
		if x, shape, err := store.ReadTensor[float64](g, name); err != nil || !slices.Equal(x, want) || !slices.Equal(shape, []int{3, 4}) {
			t.Error(name, x, shape, err)
		}
	}
	if x, _, err := store.ReadTensor[complex128](g, "chunked"); err != nil || x[7] != complex(7, 0.5) {
		t.Error(x, err)
	}
	if x, _, err := store.ReadTensor[bool](g, "g/bool"); err != nil || !x[0] || x[1] {
		t.Error(x, err)
	}
	if x, _, err := store.ReadTensor[int32](g, "g/int32"); err != nil || x[11] != 11 {
		t.Error(x, err)
	}
	for name, have := range map[string]string{
		"uint8": "uint8", "half": "float16", "text": "string", "fixed": "fixed string of 3 bytes", "enum": "enumeration over uint8",
		"padded": "struct{a uint8; b@8 float64} padded to 16 bytes", "ref": "HDF5 type of class 7 and 8 bytes", "g/int32": "int32",
	} {
		_, _, err := store.ReadTensor[float64](g, name)
		var l *store.LayoutError
		if !errors.As(err, &l) || l.Have != have || l.Want != "float64" || l.Name != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	names, err := g.Names()
	if err != nil || slices.Contains(names, "link") || !slices.Contains(names, "g/int32") {
		t.Error(names, err)
	}
	for name, want := range map[string]any{"fixed": "fixed text", "array": []float32{1.5, 2.5}, "words": []string{"ab", "c"}} {
		got, ok, err := g.Attr("/", name)
		if err != nil || !ok {
			t.Error(name, got, err)
		}
		switch w := want.(type) {
		case string:
			if got != w {
				t.Error(name, got)
			}
		case []float32:
			if !slices.Equal(got.([]float32), w) {
				t.Error(name, got)
			}
		case []string:
			if !slices.Equal(got.([]string), w) {
				t.Error(name, got)
			}
		}
	}
	for _, name := range []string{"none", "null"} {
		if got, ok, err := g.Attr("/", name); err != nil || !ok || len(got.([]float64)) != 0 {
			t.Error(name, got, err)
		}
	}
}

func TestRefusedTensors(t *testing.T) {
	f := create(t)
	defer f.Close()
	x := make([]float64, 6)
	if err := store.WriteTensor(f, "x", x, []int{2, 3}, store.TensorOptions{}); err != nil {
		t.Fatal(err)
	}
	for want, err := range map[string]error{
		"6 elements for shape [2 2]":       store.WriteTensor(f, "y", x, []int{2, 2}, store.TensorOptions{}),
		"shape [-1 -6]":                    store.WriteTensor(f, "y", x, []int{-1, -6}, store.TensorOptions{}),
		"more than":                        store.CreateTensor[int64](f, "y", []int{math.MaxInt, math.MaxInt}, store.TensorOptions{}),
		"33 dimensions":                    store.CreateTensor[int64](f, "y", make([]int, 33), store.TensorOptions{}),
		"Compression 12":                   store.WriteTensor(f, "y", x, []int{6}, store.TensorOptions{Compression: 12}),
		"Chunk without Compression":        store.WriteTensor(f, "y", x, []int{6}, store.TensorOptions{Chunk: []int{1}}),
		"Chunk [7] for shape [6]":          store.WriteTensor(f, "y", x, []int{6}, store.TensorOptions{Compression: 1, Chunk: []int{7}}),
		"name \"/y\"":                      store.WriteTensor(f, "/y", x, []int{6}, store.TensorOptions{}),
		"is outside shape [2 3]":           store.ReadSlab(f, "x", []int{1, 0}, []int{2, 3}, x),
		"outside":                          store.ReadSlab(f, "x", []int{math.MaxInt, 0}, []int{1, 1}, x[:1]),
		"count [1] for shape [2 3]":        store.ReadSlab(f, "x", []int{0}, []int{1}, x[:1]),
		"5 elements for a block of":        store.ReadSlab(f, "x", []int{0, 0}, []int{2, 3}, x[:5]),
		"1 elements for a block of shape ": store.WriteSlab(f, "x", []int{0, 0}, []int{0, 3}, x[:1]),
	} {
		if !errors.Is(err, store.ErrUnsupported) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), f.Path()) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
	var e *store.Error
	if err := store.WriteTensor(f, "x", x, []int{6}, store.TensorOptions{}); !errors.As(err, &e) || len(e.Stack) == 0 || !strings.Contains(e.Detail(), "exists") {
		t.Errorf("the same name twice: %v", err)
	}
	if err := store.WriteSlab(f, "x", []int{0, 0}, []int{1, 1}, []float32{1}); !errors.Is(err, store.ErrLayout) {
		t.Error(err)
	}
	if _, _, err := store.ReadTensor[float64](f, "none"); !errors.As(err, &e) || e.Name != "none" {
		t.Error(err)
	}
}

// Tensors and rows in one file; a commit in the middle; what is committed
// stays, and attributes of an earlier run are kept.
func TestMixed(t *testing.T) {
	f := create(t)
	s, err := store.NewSink[row](f, "fixed", store.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, 0, 3)
	if err := store.WriteTensor(f, "input", []int64{1, 2, 3}, []int{3}, store.TensorOptions{}); err != nil {
		t.Fatal(err)
	}
	if f.Pending() != 3 {
		t.Error(f.Pending())
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	if f.Pending() != 0 {
		t.Error(f.Pending())
	}
	put(t, s, 3, 2)
	if s.Synced() != 3 {
		t.Errorf("%d rows synced before the flush", s.Synced())
	}
	if err := s.Flush(); err != nil || s.Synced() != 5 {
		t.Errorf("%d rows synced after the flush, %v", s.Synced(), err)
	}
	g := open(t, f.Path())
	got := make([]row, 3)
	if _, err := store.ReadRows(g, "fixed", 0, got); err != nil || got[2] != rowAt(2) {
		t.Error(got, err)
	}
	if g.Pending() == 0 {
		t.Error("a reader is not told of the journal")
	}
	if err := f.SetAttr("input", "note", "kept"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	f, err = store.Resume(f.Path(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if s, err = store.NewSink[row](f, "fixed", store.SinkOptions{}); err != nil || s.Len() != 5 {
		t.Fatal(s, err)
	}
	put(t, s, 5, 1)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	h := open(t, f.Path())
	if v, ok, err := h.Attr("input", "note"); v != "kept" || !ok || err != nil {
		t.Error(v, ok, err)
	}
	if n, err := h.NumRows("fixed"); n != 6 || err != nil {
		t.Error(n, err)
	}
}

// Two sinks and a reader at the same time.
func TestConcurrent(t *testing.T) {
	f := create(t)
	if err := store.WriteTensor(f, "input", ramp(1000, func(i int) int64 { return int64(i) }), []int{1000}, store.TensorOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := f.Commit(); err != nil {
		t.Fatal(err)
	}
	g := open(t, f.Path())
	var all sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		s, err := store.NewSink[row](f, name, store.SinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for i := range int64(500) {
				if err := s.Put(t.Context(), i, rowAt(i)); err != nil {
					t.Error(err)
				}
				if i%100 == 99 {
					if err := f.Commit(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	all.Go(func() {
		for i := range 200 {
			x := make([]int64, 5)
			if err := store.ReadSlab(g, "input", []int{i}, []int{5}, x); err != nil || x[4] != int64(i+4) {
				t.Error(x, err)
			}
		}
	})
	all.Wait()
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	h := open(t, f.Path())
	for _, name := range []string{"a", "b"} {
		rows := make([]row, 500)
		if there, err := store.ReadRows(h, name, 0, rows); err != nil || slices.Contains(there, false) || rows[499] != rowAt(499) {
			t.Error(name, err)
		}
	}
}

// TestFilterMissing: a file compressed by a filter that only h5py has is refused
// with the name of the filter.
func TestFilterMissing(t *testing.T) {
	needLibrary(t)
	path := filepath.Join(t.TempDir(), "lzf.h5")
	python(t, `h5py.File(sys.argv[1], "w").create_dataset("x", data=np.ones((4, 10)), compression="lzf")`, path)
	f, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	row := make([]float64, 10)
	if err := store.ReadSlab(f, "x", []int{0, 0}, []int{1, 10}, row); err == nil || !strings.Contains(err.Error(), "filter 'lzf'") {
		t.Error(err)
	}
}
