package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

// runRanks runs the program on ranks of this process and returns what the root
// printed and the error of each rank.
func runRanks(t *testing.T, ranks, laneCount int, flags ...string) (string, []error) {
	t.Helper()
	o, err := parseOptions(flags, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	var printed bytes.Buffer
	var mu sync.Mutex
	errs := make([]error, ranks)
	net := mpitest.New(ranks, mpitest.Options{Seed: 1})
	err = net.Run(func(c transport.Comm) error {
		var own bytes.Buffer
		err := contractOn(context.Background(), c, o, laneCount, &own)
		mu.Lock()
		defer mu.Unlock()
		errs[c.Rank()] = err
		if c.Rank() != 0 && own.Len() > 0 {
			t.Errorf("rank %d prints %q", c.Rank(), own.String())
		}
		printed.Write(own.Bytes())
		return nil
	})
	if err := errors.Join(err, net.Check()); err != nil {
		t.Fatalf("%v; the ranks return %v", err, errs)
	}
	return printed.String(), errs
}

// result runs the program, which must succeed, and returns its JSON.
func result(t *testing.T, ranks, laneCount int, flags ...string) map[string]json.RawMessage {
	t.Helper()
	printed, errs := runRanks(t, ranks, laneCount, append(flags, "--json")...)
	for rank, err := range errs {
		if err != nil {
			t.Fatalf("%d ranks of %d lanes, %v: rank %d: %v", ranks, laneCount, flags, rank, err)
		}
	}
	return parseReport(t, printed)
}

func parseReport(t *testing.T, printed string) map[string]json.RawMessage {
	t.Helper()
	var r map[string]json.RawMessage
	if err := json.Unmarshal([]byte(printed), &r); err != nil || strings.Count(printed, "\n") != 1 {
		t.Fatalf("%v: %q", err, printed)
	}
	return r
}

// same fails unless the reports agree, to the last bit, in what does not depend
// on who computed.
func same(t *testing.T, what string, got, want map[string]json.RawMessage) {
	t.Helper()
	for _, field := range []string{"name", "items", "shape", "sum", "norm2", "samples"} {
		if !bytes.Equal(got[field], want[field]) {
			t.Errorf("%s: %s is %s, was %s", what, field, got[field], want[field])
		}
	}
}

func TestBitsDoNotDependOnRanksAndLanes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(file, []byte(goodProblem), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{
		{"--circuit", "3x3x8", "--open", "3", "--slices", "24"},
		{"--circuit", "3x3x8", "--open", "3", "--slices", "24", "--provider", "native"},
		{"--circuit", "3x3x7", "--open", "0", "--memory", "256", "--slices", "1"},
		{"--file", file, "--slices", "12"},
	} {
		t.Run(strings.Join(flags, " "), func(t *testing.T) {
			want := result(t, 1, 1, flags...)
			worlds := [][2]int{{3, 2}, {1, 3}, {2, 1}, {4, 1}}
			if testing.Short() {
				worlds = worlds[:1]
			}
			for _, c := range worlds {
				same(t, fmt.Sprintf("%d ranks of %d lanes", c[0], c[1]), result(t, c[0], c[1], flags...), want)
			}
		})
	}
}

func TestThreadsAreUsed(t *testing.T) {
	r := result(t, 1, 1, "--circuit", "3x3x8", "--open", "9", "--threads", "2")
	if string(r["threads"]) != "2" || !strings.Contains(string(r["check"]), "agrees") {
		t.Errorf("threads %s, check %s", r["threads"], r["check"])
	}
}

// TestCountsItems adds up the items of all lanes.
func TestCountsItems(t *testing.T) {
	r := result(t, 2, 2, "--circuit", "2x3x5", "--open", "2", "--slices", "16")
	var counts [][]int
	if err := json.Unmarshal(r["items_per_lane"], &counts); err != nil {
		t.Fatal(err)
	}
	total := 0
	for _, lanes := range counts {
		for _, n := range lanes {
			total += n
		}
	}
	if len(counts) != 2 || fmt.Sprint(total) != string(r["items"]) {
		t.Errorf("%v items by lane of %s", counts, r["items"])
	}
}

// TestFaultsReachAllRanks gives bad input and expects one error of one line,
// the same on every rank.
func TestFaultsReachAllRanks(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	replaced := func(from, to string) string { return strings.Replace(goodProblem, from, to, 1) }
	good := write("good.json", goodProblem)
	golden := write("golden.json", `{"p":{"dtype":"float64","path":"opt_size","shape":[2,2],"sum":3.5,"norm2":6.25,"samples":[[0,1]]}}`)
	for name, c := range map[string]struct {
		flags []string
		says  []string
	}{
		"missing file":       {[]string{"--file", filepath.Join(dir, "none.json")}, []string{"none.json", "no such file"}},
		"truncated":          {[]string{"--file", write("cut.json", goodProblem[:90])}, []string{"cut.json", "cut short"}},
		"output only":        {[]string{"--file", write("z.json", replaced("->il", "->iz"))}, []string{"z.json", "label z"}},
		"shape":              {[]string{"--file", write("shape.json", replaced("[3,4]", "[5,4]"))}, []string{"shape.json", "operand 1, axis 0"}},
		"short path":         {[]string{"--file", write("path.json", replaced("[[0,1],[0,1]]", "[[0,1]]"))}, []string{"path.json", "tensors are left"}},
		"unknown path":       {[]string{"--file", good, "--path", "best"}, []string{"best", "opt_flops, opt_size"}},
		"circuit":            {[]string{"--circuit", "4x4"}, []string{"4x4", "RxCxD"}},
		"no golden file":     {[]string{"--file", good, "--golden", filepath.Join(dir, "none")}, []string{"none", "no such file"}},
		"no golden entry":    {[]string{"--circuit", "2x2x2", "--open", "2", "--golden", golden}, []string{"no entry for circuit_2x2x2"}},
		"wrong golden shape": {[]string{"--file", good, "--golden", write("shape.golden", `{"p":{"shape":[4]}}`), "--provider", "blas"}, []string{"shape [2 2], the golden value [4]"}}, // before any engine
		"wrong golden value": {[]string{"--file", good, "--golden", golden}, []string{"sum is", "3.5"}},
		"memory":             {[]string{"--file", good, "--memory", "0K"}, nil}, // refused by the flags
		"data":               {[]string{"--file", good, "--data", "100"}, []string{"--data"}},
		"outputs of slices":  {[]string{"--file", good, "--data", "300", "--slices", "48"}, []string{"the outputs of 48 slices", "--out"}},
		"no BLAS":            {[]string{"--file", good, "--provider", "blas"}, []string{"--provider blas", "libnothing.so"}},
		"no BLAS, auto":      {[]string{"--file", good}, []string{"--provider auto", "libnothing.so", "HATAORI_BLAS_LIB"}}, // the user named it
	} {
		if c.says == nil {
			continue
		}
		for _, ranks := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/%d", name, ranks), func(t *testing.T) {
				if strings.HasPrefix(name, "no BLAS") || slices.Contains(c.flags, "blas") {
					t.Setenv("HATAORI_BLAS_LIB", filepath.Join(dir, "libnothing.so"))
				}
				printed, errs := runRanks(t, ranks, 1, c.flags...)
				if printed != "" {
					t.Errorf("prints %q", printed)
				}
				for rank, err := range errs {
					if err == nil {
						t.Fatalf("rank %d succeeds", rank)
					}
					text := err.Error()
					if strings.Contains(text, "\n") || text != errs[0].Error() {
						t.Errorf("rank %d says %q, rank 0 %q", rank, text, errs[0])
					}
					for _, want := range c.says {
						if !strings.Contains(text, want) {
							t.Errorf("%q does not say %q", text, want)
						}
					}
				}
			})
		}
	}
}

// TestPlanningEndsWithTheContext gives the planner of the root a context that has
// ended: it makes no plan, and every rank hears of it.
func TestPlanningEndsWithTheContext(t *testing.T) {
	o, err := parseOptions([]string{"--circuit", "6x6x12"}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	in, err := openInput(o)
	if err != nil {
		t.Fatal(err)
	}
	p, err := problemOf[complex128](in, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("time is up"))
	for _, ranks := range []int{1, 3} {
		net := mpitest.New(ranks, mpitest.Options{})
		err := net.Run(func(c transport.Comm) error {
			w, err := hataori.NewWorld(c)
			if err != nil {
				return err
			}
			_, err = planOn(ctx, w, o, in, p)
			if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "time is up") || ranks == 1 && !strings.Contains(err.Error(), "planning was interrupted") {
				return fmt.Errorf("rank %d of %d: %v", c.Rank(), ranks, err)
			}
			return w.Close()
		})
		if err := errors.Join(err, net.Check()); err != nil {
			t.Error(err)
		}
	}
}

// TestOneRankCannotRead breaks the file of one rank only.
func TestOneRankCannotRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.json")
	if err := os.WriteFile(file, []byte(goodProblem), 0o600); err != nil {
		t.Fatal(err)
	}
	good, err := parseOptions([]string{"--file", file}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	bad := *good
	bad.file = file + ".elsewhere"
	errs := make([]error, 3)
	net := mpitest.New(3, mpitest.Options{Seed: 2})
	err = net.Run(func(c transport.Comm) error {
		o := good
		if c.Rank() == 1 {
			o = &bad
		}
		errs[c.Rank()] = contractOn(context.Background(), c, o, 1, &bytes.Buffer{})
		return nil
	})
	if err := errors.Join(err, net.Check()); err != nil {
		t.Fatal(err)
	}
	for rank, err := range errs {
		if err == nil || err.Error() != errs[1].Error() || !strings.Contains(err.Error(), "rank 1") || !strings.Contains(err.Error(), ".elsewhere") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// publicProblems lists the problem files beside the project, or skips.
func publicProblems(t *testing.T) (files []string, golden string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", "shared", "einsum"))
	if err != nil {
		t.Fatal(err)
	}
	golden = filepath.Join(dir, "golden.json")
	if _, err := os.Stat(golden); err != nil {
		t.Skipf("the public problems are not beside the project: %v", err)
	}
	all, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if file != golden {
			files = append(files, file)
		}
	}
	return files, golden
}

// heavy are the problems that take seconds. That their bits are those of one rank is left to scripts/contract.sh.
var heavy = []string{"gm_queen5_5_3.wcsp", "str_nw_mera_open_26", "bin_outer_product_4096"}

// TestPublicProblems contracts every public problem on 1, 2 and 4 ranks and
// compares with the golden values and the bits of one rank.
func TestPublicProblems(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, left out by -short")
	}
	files, golden := publicProblems(t)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		t.Run(name, func(t *testing.T) {
			ranks := []int{1, 2, 4}
			for _, h := range heavy {
				if h == name {
					ranks = ranks[:1]
				}
			}
			var first map[string]json.RawMessage
			for _, n := range ranks {
				r := result(t, n, 1, "--file", file, "--golden", golden)
				if first == nil {
					first = r
				}
				same(t, fmt.Sprintf("%d ranks", n), r, first)
			}
			other := result(t, 1, 2, "--file", file, "--golden", golden, "--path", "opt_flops", "--provider", "native", "--slices", "1")
			if !reflect.DeepEqual(other["shape"], first["shape"]) {
				t.Errorf("the shape is %s, was %s", other["shape"], first["shape"])
			}
		})
	}
}
