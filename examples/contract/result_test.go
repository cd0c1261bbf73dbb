package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestDescribe(t *testing.T) {
	output := make([]float64, 31)
	for i := range output {
		output[i] = float64(i)
	}
	var r report
	describe(&r, output)
	if real(r.Sum.z) != 465 || r.Norm2 != 9455 { // n(n+1)/2 and n(n+1)(2n+1)/6 at n = 30
		t.Errorf("sum %v, squared norm %v", r.Sum, r.Norm2)
	}
	if len(r.Samples) != 16 || r.Samples[1].at != 2 || r.Samples[15].at != 30 || real(r.Samples[15].value.z) != 30 {
		t.Errorf("samples %v", r.Samples)
	}
	var scalar report
	describe(&scalar, []complex128{3 + 4i})
	if scalar.Norm2 != 25 || len(scalar.Samples) != 1 || scalar.Sum.z != 3+4i {
		t.Errorf("%+v", scalar)
	}
}

func TestReportIsOneLineOfJSON(t *testing.T) {
	r := report{Name: "p", Shape: []int{2}}
	describe(&r, []complex128{1, 2i})
	var b bytes.Buffer
	if err := r.print(&b, true); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n"); n != 1 || !strings.HasSuffix(b.String(), "\n") {
		t.Errorf("%d lines", n)
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"name", "ranks", "lanes", "items", "sum", "norm2", "samples", "seconds", "planning_seconds", "preparing_seconds", "checking_seconds", "utilization", "provider", "kernel"} {
		if _, ok := got[key]; !ok {
			t.Errorf("no %q in %s", key, b.String())
		}
	}
	if want := []any{1.0, 2.0}; !reflect.DeepEqual(got["sum"], want) {
		t.Errorf("sum is %v, want %v", got["sum"], want)
	}
}

func TestCompare(t *testing.T) {
	output := []float64{1, 2}
	r := report{Name: "p", Shape: []int{2}}
	describe(&r, output)
	good := func() *goldenEntry {
		return &goldenEntry{Shape: []int{2}, Sum: valueOf(3.0), Norm2: 5, Samples: []sample{{0, valueOf(1.0)}, {1, valueOf(2.0)}}}
	}
	if _, err := compare(good(), &r, output); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*goldenEntry){
		"shape":           func(g *goldenEntry) { g.Shape = []int{1, 2} },
		"sum":             func(g *goldenEntry) { g.Sum = valueOf(3 * (1 + 1e-9)) },
		"norm":            func(g *goldenEntry) { g.Norm2 = 5 * (1 - 1e-9) },
		"sample":          func(g *goldenEntry) { g.Samples[1].value = valueOf(2 + 1e-8) },
		"not a number":    func(g *goldenEntry) { g.Norm2 = math.NaN() },
		"sample far away": func(g *goldenEntry) { g.Samples[0].at = 2 },
		"sample before":   func(g *goldenEntry) { g.Samples[0].at = -1 },
	} {
		g := good()
		spoil(g)
		if _, err := compare(g, &r, output); err == nil {
			t.Errorf("a wrong %s agrees", name)
		}
	}
}

func TestOptions(t *testing.T) {
	o, err := parseOptions([]string{"--file", "p.json", "--path", "opt_flops", "--memory", "512M", "--slices=3"}, io.Discard)
	if err != nil || o.file != "p.json" || o.path != "opt_flops" || o.memory != 512<<20 || o.slices != 3 {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := parseOptions([]string{"--help"}, io.Discard); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("help: %v", err)
	}
	for _, bad := range [][]string{
		{"--lanes", "-1"}, {"--slices", "0"}, {"--slices", "999999999999"}, {"--threads", "0"}, {"--provider", "mkl"}, {"--memory", "12X"}, {"--memory", "-3"},
		{"--memory", "9999999T"}, {"--file", "p", "--circuit", "2x2x2"}, {"--path", "opt_size"}, {"p.json"}, {"--nothing"}, {"--file", ""},
	} {
		if _, err := parseOptions(bad, io.Discard); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	_, err = parseOptions([]string{"--lanes", "-1", "--threads", "0"}, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--lanes") || !strings.Contains(err.Error(), "--threads") {
		t.Errorf("two faults give %v", err)
	}
}

// What is written is never what is read, whatever the names.
func TestOutputsDoNotOverwriteInputs(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "p.json"), filepath.Join(dir, "link.npy")
	if err := errors.Join(os.WriteFile(file, []byte(goodProblem), 0o600), os.Symlink(file, link)); err != nil {
		t.Fatal(err)
	}
	dotted := dir + "/./p.json"
	for _, c := range []struct {
		says  string
		flags []string
	}{
		{"--trace would overwrite the file of --file", []string{"--file", file, "--trace", dotted}},
		{"--trace would overwrite the file of --golden", []string{"--golden", file, "--trace", link}},
		{"--out would overwrite the file of --file", []string{"--file", file, "--out", link}},
		{"--out would overwrite the file of --golden", []string{"--golden", "new", "--out", "./new"}},
		{"--out and --trace name the same file", []string{"--out", dir + "/x", "--trace", dir + "//x"}},
	} {
		if _, err := parseOptions(c.flags, io.Discard); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q: %v", c.flags, err)
		}
	}
	if _, err := parseOptions([]string{"--file", file, "--golden", file, "--out", dir + "/out.h5", "--trace", dir + "/t"}, io.Discard); err != nil {
		t.Error(err)
	}
}

func TestSizeReadsWhatItWrites(t *testing.T) {
	for text, want := range map[string]size{"0": 0, "1000": 1000, "64K": 64 << 10, "3G": 3 << 30, "1T": 1 << 40} {
		var s size
		if err := s.Set(text); err != nil || s != want || s.String() != text {
			t.Errorf("%q is read as %d and written as %q: %v", text, s, s, err)
		}
	}
}
