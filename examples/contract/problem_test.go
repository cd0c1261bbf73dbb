package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/npy"
	"github.com/hataori/hataori-go/engine/ref"
)

const goodProblem = `{"name":"p","dtype":"float64","num_tensors":3,"format":"ij,jk,kl->il",
"shapes":[[2,3],[3,4],[4,2]],
"paths":{"opt_size":{"path":[[0,1],[0,1]],"log2_size":3.0,"log10_flops":1.6},
"opt_flops":{"path":[[1,2],[0,1]],"log2_size":3.0,"log10_flops":1.6}}}`

func TestParseProblem(t *testing.T) {
	f, err := parseProblem("p.json", []byte(goodProblem))
	if err != nil {
		t.Fatal(err)
	}
	p, err := filedProblem[float64](f, "opt_flops")
	if err != nil {
		t.Fatal(err)
	}
	got := runSerial(t, ref.New(), p, 2)
	a, b, c := p.operand(0), p.operand(1), p.operand(2)
	for i := range 2 {
		for l := range 2 {
			want := 0.0
			for j := range 3 {
				for k := range 4 {
					want += a[3*i+j] * b[4*j+k] * c[2*k+l]
				}
			}
			if d := got[2*i+l] - want; d > 1e-15 || d < -1e-15 {
				t.Errorf("element %d,%d is %v, want %v", i, l, got[2*i+l], want)
			}
		}
	}
	if _, err := filedProblem[float64](f, "best"); err == nil || !strings.Contains(err.Error(), "opt_flops, opt_size") {
		t.Errorf("an unknown path: %v", err)
	}
}

func TestParseProblemRefuses(t *testing.T) {
	for _, c := range []struct{ name, from, to, says string }{
		{"truncated", goodProblem[60:], "", "cut short"},
		{"empty", goodProblem, "", "cut short"},
		{"syntax", `"name":`, `"name";`, "line 1, column 8"},
		{"trailing text", `1.6}}}`, `1.6}}} x`, "line 4, column 71"},
		{"unknown field", `"name"`, `"names"`, "names"},
		{"no name", `"name":"p",`, ``, `"name": missing`},
		{"dtype", `float64`, `float16`, `"dtype"`},
		{"arrow", `->il`, ``, `"format"`},
		{"label only in the output", `->il`, `->iz`, `label z at output axis 1`},
		{"tensor count", `"num_tensors":3`, `"num_tensors":4`, `num_tensors 4`},
		{"missing shape", `,[4,2]]`, `]`, `2 shapes`},
		{"shape against label", `[3,4]`, `[5,4]`, `operand 1, axis 0: label j has length 5 here but 3`},
		{"length one", `[3,4]`, `[1,4]`, `not stretched`},
		{"rank", `[3,4]`, `[3,4,1]`, `operand 1`},
		{"negative length", `[2,3]`, `[-2,3]`, `operand 0, axis 0`},
		{"too large", `[2,3],[3,4]`, `[4611686018427387904,3],[3,4]`, `operand 0`},
		{"fractional length", `[2,3]`, `[2.5,3]`, `line 2`},
		{"short path", `[[0,1],[0,1]]`, `[[0,1]]`, `"opt_size": einsum: wrong path: 2 tensors are left`},
		{"long path", `[[0,1],[0,1]]`, `[[0,1],[0,1],[0,1]]`, `step 2`},
		{"step out of range", `[[1,2],[0,1]]`, `[[1,3],[0,1]]`, `"opt_flops": einsum: wrong path: step 0: position 3`},
		{"step of three", `[[0,1],[0,1]]`, `[[0,1,2]]`, `step 0 has 3 positions`},
		{"step twice the same", `[[0,1],[0,1]]`, `[[1,1],[0,1]]`, `twice`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(goodProblem, c.from, c.to, 1)
			if text == goodProblem {
				t.Fatal("the case changes nothing")
			}
			_, err := parseProblem("p.json", []byte(text))
			var fe *fileError
			if !errors.As(err, &fe) {
				t.Fatalf("%v is no *fileError", err)
			}
			if got := err.Error(); !strings.HasPrefix(got, "p.json: ") || !strings.Contains(got, c.says) || strings.Contains(got, "\n") {
				t.Errorf("%q does not name the file and say %q on one line", got, c.says)
			}
		})
	}
	if _, err := readProblem(filepath.Join(t.TempDir(), "none.json")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func FuzzParseProblem(f *testing.F) {
	f.Add([]byte(goodProblem))
	f.Add([]byte(goodProblem[:80]))
	f.Add([]byte(strings.Replace(goodProblem, "ij,jk,kl", "ii,,", 1)))
	f.Add([]byte(strings.Replace(goodProblem, "[2,3]", "[4611686018427387904,3]", 1)))
	f.Add([]byte(`{"paths":{"":{"path":[[]]}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := parseProblem("p.json", data)
		if err == nil {
			if p.subscripts.Operands() != len(p.Shapes) {
				t.Error("shapes and operands differ")
			}
			return
		}
		var fe *fileError
		if !errors.As(err, &fe) || utf8.Valid(data) && strings.Contains(err.Error(), "\n") {
			t.Errorf("%T: %v", err, err)
		}
	})
}

func FuzzGolden(f *testing.F) {
	f.Add([]byte(`{"p":{"dtype":"float64","path":"opt_size","shape":[2],"sum":3.5,"norm2":6.25,"samples":[[0,1],[1,2.5]]}}`))
	f.Add([]byte(`{"p":{"dtype":"complex128","path":"","shape":[],"sum":[1,2],"norm2":5,"samples":[[0,[1,2]]]}}`))
	f.Add([]byte(`{"p":{"samples":[[1]],"sum":[1]}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		file := filepath.Join(t.TempDir(), "golden.json")
		if err := os.WriteFile(file, data, 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := readGolden(file, "p")
		if err != nil {
			if fe := (*fileError)(nil); !errors.As(err, &fe) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		r := &report{Name: "p", Shape: g.Shape, Norm2: 1}
		if _, err := compare(g, r, []float64{1, 2}); err == nil && (g.Norm2 != 1) {
			t.Error("a wrong norm agrees")
		}
	})
}

// TestOwnOperands contracts arrays from files, along the planner's path: a real
// problem of two lines, and what does not fit.
func TestOwnOperands(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, x *engine.Tensor, err error) {
		t.Helper()
		if err := errors.Join(err, npy.WriteFile(filepath.Join(dir, name), x)); err != nil {
			t.Fatal(err)
		}
	}
	a, err := engine.FromSlice([]float64{1, 2, 3, 4, 5, 6}, 2, 3)
	write("a.npy", a, err)
	b, err := engine.FromSlice([]float64{1, 4, 2, 5, 3, 6}, 3, 2)
	write("b.npy", b, err)
	c, err := engine.FromSlice([]complex64{1, 2}, 2)
	write("c.npy", c, err)

	file := filepath.Join(dir, "p.json")
	f, err := parseProblem(file, []byte(`{"format":"ij,jk->ik","operands":["a.npy","b.npy"]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := filedProblem[float64](f, "")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := runSerial(t, ref.New(), p, 2), []float64{14, 32, 32, 77}; !slices.Equal(got, want) {
		t.Errorf("a·b is %v, want %v", got, want)
	}
	for text, says := range map[string]string{
		`{"format":"ij,jk->ik","operands":["a.npy","none.npy"]}`:                               `"operands" 1`,
		`{"format":"ij,jk->ik","operands":["a.npy","a.npy"],"paths":{"own":{"path":[[0,1]]}}}`: "label j has length 2 here but 3",
		`{"format":"ij,jk->ik","operands":["a.npy"]}`:                                          "1 shapes",
		`{"format":"ij,i->j","operands":["a.npy","c.npy"]}`:                                    "astype",
		`{"format":"i->i","operands":["c.npy"]}`:                                               "complex64",
		`{"format":"ij,jk->ik","operands":["a.npy","b.npy"],"shapes":[[2,3],[2,3]]}`:           `"shapes" says [2 3]`,
		`{"format":"ij,jk->ik","operands":["a.npy","b.npy"],"shapes":[[2,3]]}`:                 "1 shapes for 2 operands",
		`{"format":"ij,jk->ik","operands":["a.npy","b.npy"],"dtype":"complex128"}`:             "holds float64",
	} {
		if _, err := parseProblem(file, []byte(text)); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
	same, err := hashOf(f.tensors)
	other, err2 := hashOf([]*engine.Tensor{f.tensors[0], f.tensors[0]})
	if err := errors.Join(err, err2); err != nil || same == other {
		t.Errorf("other operands have the same hash %s: %v", same, err)
	}
}
