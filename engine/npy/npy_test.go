package npy

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/engine"
)

// numpy runs a script, or skips.
func numpy(t *testing.T, dir, script string) {
	t.Helper()
	python := "/usr/bin/python3"
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		if os.Getenv("HATAORI_REQUIRE_HDF5") != "" {
			t.Fatalf("%v: %s", err, out)
		}
		t.Skipf("skipped: %s with numpy: %v", python, err)
	}
	cmd := exec.Command(python, "-c", "import numpy as np\n"+script)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// text is a tensor's type, shape and elements in row-major order.
func text(t *testing.T, x *engine.Tensor) string {
	t.Helper()
	switch x.DType() {
	case engine.Bool:
		return textOf[bool](x)
	case engine.Int32:
		return textOf[int32](x)
	case engine.Int64:
		return textOf[int64](x)
	case engine.Float32:
		return textOf[float32](x)
	case engine.Float64:
		return textOf[float64](x)
	case engine.Complex64:
		return textOf[complex64](x)
	case engine.Complex128:
		return textOf[complex128](x)
	}
	t.Fatalf("dtype %v", x.DType())
	return ""
}

func textOf[T engine.Element](x *engine.Tensor) string {
	all, offset := engine.HostSlice[T](x)
	strides, shape := x.Spec().AppendStrides(nil), x.Shape().Ints()
	list := []T{}
	if x.Elements() == 0 {
		return fmt.Sprint(x.DType(), shape, list) // other extents may be huge
	}
	var walk func(axis, at int)
	walk = func(axis, at int) {
		if axis == len(shape) {
			list = append(list, all[at])
			return
		}
		for i := range shape[axis] {
			walk(axis+1, at+i*strides[axis])
		}
	}
	walk(0, offset)
	return fmt.Sprint(x.DType(), shape, list)
}

var cases = map[string]string{ // numpy's expression, what it is here
	"np.array([True, False])":                                 "bool [2] [true false]",
	"np.array(7, dtype='>i4')":                                "int32 [] [7]",
	"np.arange(6, dtype='<i8').reshape(2, 3)":                 "int64 [2 3] [0 1 2 3 4 5]",
	"np.arange(6, dtype='>i8').reshape(2, 3)":                 "int64 [2 3] [0 1 2 3 4 5]",
	"np.arange(6, dtype='<i4').reshape(2, 3).T":               "int32 [3 2] [0 3 1 4 2 5]",
	"np.asfortranarray(np.arange(8.0).reshape(2, 2, 2))":      "float64 [2 2 2] [0 1 2 3 4 5 6 7]",
	"np.array([0.5, np.inf], dtype='f4')":                     "float32 [2] [0.5 +Inf]",
	"np.zeros((2, 0, 3))":                                     "float64 [2 0 3] []",
	"np.array([[1+2j, 3-4j]], dtype='>c8')":                   "complex64 [1 2] [(1+2i) (3-4i)]",
	"np.array([1.5-2j], dtype='c16')":                         "complex128 [1] [(1.5-2i)]",
	"np.arange(1.0, 7.0).reshape(1, 2, 3)[:, ::-1, ::2]":      "float64 [1 2 2] [4 6 1 3]",
	"np.zeros((1,) * 30)":                                     "float64 [" + strings.TrimSuffix(strings.Repeat("1 ", 30), " ") + "] [0]",
	"np.frombuffer(b'\\x00\\x02\\x01', dtype='?')":            "bool [3] [false true true]",
	"np.array([np.float64(1e308) * 10, -0.0, 5e-324, np.pi])": fmt.Sprintf("float64 [4] [+Inf -0 5e-324 %v]", math.Pi),
}

func TestReadsNumpy(t *testing.T) {
	dir := t.TempDir()
	var script strings.Builder
	var names []string
	for expression := range cases {
		fmt.Fprintf(&script, "np.save('%d.npy', %s)\n", len(names), expression)
		names = append(names, expression)
	}
	// Later versions of the format, and three arrays in one file.
	script.WriteString(`
for v in ((2, 0), (3, 0)):
    with open('v%d.npy' % v[0], 'wb') as f:
        np.lib.format.write_array(f, np.arange(3.0), version=v)
with open('many.npy', 'wb') as f:
    for n in range(3):
        np.save(f, np.arange(n))
`)
	numpy(t, dir, script.String())
	for i, expression := range names {
		x, err := ReadFile(filepath.Join(dir, fmt.Sprintf("%d.npy", i)))
		if err != nil {
			t.Errorf("%s: %v", expression, err)
		} else if got := text(t, x); got != cases[expression] {
			t.Errorf("%s: %s, want %s", expression, got, cases[expression])
		}
	}
	for _, name := range []string{"v2.npy", "v3.npy"} {
		x, err := ReadFile(filepath.Join(dir, name))
		if err != nil || text(t, x) != "float64 [3] [0 1 2]" {
			t.Errorf("%s: %v, %v", name, x, err)
		}
	}
	many, err := os.Open(filepath.Join(dir, "many.npy"))
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	for n := range 3 {
		x, err := Read(many)
		if err != nil || x.Elements() != n {
			t.Errorf("array %d: %v, %v", n, x, err)
		}
	}
	if _, err := ReadFile(many.Name()); !errors.Is(err, ErrFormat) || !strings.Contains(err.Error(), "goes on") {
		t.Errorf("a file of three arrays: %v", err)
	}
}

// TestNumpyReads lets numpy compare what we write, of every type and layout.
func TestNumpyReads(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, x *engine.Tensor, err error) {
		t.Helper()
		if err == nil {
			err = WriteFile(filepath.Join(dir, name+".npy"), x)
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	a, err := engine.FromSlice([]float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 2, 3, 2)
	write("a", a, err)
	p, err := a.Permute(2, 0, 1)
	write("permuted", p, err)
	s, err := a.Slice(1, 2, 2, -2)
	write("sliced", s, err)
	b, err := engine.FromSlice([]bool{true, false}, 2)
	write("bool", b, err)
	i4, err := engine.FromSlice([]int32{math.MinInt32}, 1, 1)
	write("int32", i4, err)
	i8, err := engine.FromSlice([]int64{math.MaxInt64})
	write("int64", i8, err)
	f4, err := engine.FromSlice([]float32{}, 0, 4)
	write("float32", f4, err)
	c8, err := engine.FromSlice([]complex64{1 + 2i}, 1)
	write("complex64", c8, err)
	c16, err := engine.FromSlice([]complex128{-1i, 2}, 2)
	write("complex128", c16, err)
	numpy(t, dir, `
a = np.arange(12.0).reshape(2, 3, 2)
def same(name, want):
    got = np.load(name + '.npy')
    assert got.dtype == want.dtype and got.shape == want.shape and (got == want).all(), (name, got, want)
same('a', a)
same('permuted', a.transpose(2, 0, 1))
same('sliced', a[:, 2::-2])
same('bool', np.array([True, False]))
same('int32', np.array([[-2**31]], 'i4'))
same('int64', np.array(2**63 - 1, 'i8'))
same('float32', np.zeros((0, 4), 'f4'))
same('complex64', np.array([1 + 2j], 'c8'))
same('complex128', np.array([-1j, 2], 'c16'))
`)
	if left, _ := filepath.Glob(filepath.Join(dir, "*.part")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// file is a small valid file.
func file(t testing.TB) []byte {
	t.Helper()
	x, err := engine.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Write(&b, x); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestCut ends a file after every byte: an error that names the place, and no
// tensor.
func TestCut(t *testing.T) {
	whole := file(t)
	if len(whole)%64 != 48 || bytes.IndexByte(whole, '\n') != 127 {
		t.Errorf("the elements do not begin at a multiple of 64: %d bytes", len(whole))
	}
	path := filepath.Join(t.TempDir(), "cut.npy")
	for n := range whole {
		if err := os.WriteFile(path, whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		for _, read := range []func() (*engine.Tensor, error){
			func() (*engine.Tensor, error) { return ReadFile(path) },
			func() (*engine.Tensor, error) { return Read(bytes.NewReader(whole[:n])) },
		} {
			x, err := read()
			var e *Error
			if x != nil || !errors.Is(err, ErrFormat) || !errors.As(err, &e) || e.Offset != int64(n) || !strings.Contains(e.Reason, "cut short") {
				t.Fatalf("%d of %d bytes: %v, %v", n, len(whole), x, err)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	made := func(dict string) []byte {
		return append([]byte("\x93NUMPY\x01\x00"+string([]byte{byte(len(dict)), byte(len(dict) >> 8)})), dict...)
	}
	for says, b := range map[string][]byte{
		"does not begin":          []byte("\x89HDF\r\n\x1a\n0000"),
		"version 9.0":             []byte("\x93NUMPY\x09\x00\x00\x00"),
		"a header of 4294967295":  []byte("\x93NUMPY\x02\x00\xff\xff\xff\xff"),
		`"<f2"`:                   made("{'descr': '<f2', 'fortran_order': False, 'shape': (), }"),
		`"|O"`:                    made("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }"),
		"structured":              made("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,), }"),
		"no extent here":          made("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"),
		"more bytes than an int":  made("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }"),
		`no "shape"`:              made("{'descr': '<f8', 'fortran_order': False}"),
		`"descr" twice`:           made("{'descr': '<f8', 'descr': '<f8', 'fortran_order': False, 'shape': ()}"),
		"unknown key":             made("{'dscr': '<f8'}"),
		"after its end":           made("{'descr': '<f8', 'fortran_order': False, 'shape': ()} x"),
		`no "False"`:              made("{'descr': '<f8', 'fortran_order': Maybe, 'shape': ()}"),
		"more than 64 axes":       made("{'descr': '<f8', 'fortran_order': False, 'shape': (" + strings.Repeat("1,", 65) + ")}"),
		"ends 8000000000000000 b": made("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,)}"),
	} {
		x, err := Read(bytes.NewReader(b))
		var e *Error
		if x != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, %v", says, x, err)
		}
	}
	if _, err := ReadFile(filepath.Join(t.TempDir(), "none.npy")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if err := WriteFile(filepath.Join(t.TempDir(), "none", "x.npy"), nil); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	dir := t.TempDir()
	if err := WriteFile(filepath.Join(dir, "x.npy"), nil); err == nil {
		t.Error("no tensor, no error")
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// FuzzRead: any bytes give an error or a tensor that, written and read again, is
// the same.
func FuzzRead(f *testing.F) {
	f.Add(file(f))
	f.Add([]byte("\x93NUMPY\x01\x00\x3f\x00{\"shape\":(3L,2L),\"descr\":\">c8\",\"fortran_order\":True}          \n" + strings.Repeat("x", 48)))
	f.Add([]byte("\x93NUMPY\x02\x00\x37\x00\x00\x00{'descr': '|b1', 'fortran_order': False, 'shape': (2,)}\x00\x02"))
	f.Fuzz(func(t *testing.T, b []byte) {
		x, err := Read(bytes.NewReader(b))
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > int64(len(b)) {
				t.Fatalf("%v", err)
			}
			return
		}
		var out bytes.Buffer
		if err := Write(&out, x); err != nil {
			t.Fatal(err)
		}
		y, err := Read(&out)
		if err != nil || text(t, y) != text(t, x) {
			t.Fatalf("%v: %s, was %s", err, text(t, y), text(t, x))
		}
	})
}
