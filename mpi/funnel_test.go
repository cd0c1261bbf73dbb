package mpi

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestFunnel reads the source: the library is called in one place only, and no
// error of that place is dropped without a word about why.
func TestFunnel(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	calls := make(map[string][]string) // function called → functions that call it
	for _, f := range files {
		name := f.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if stmt, ok := n.(*ast.ExprStmt); ok && callee(stmt.X) == "call" {
					t.Errorf("%s, %s: the result of call is dropped", name, fn.Name.Name)
				}
				if x, ok := n.(ast.Expr); ok {
					if c := callee(x); c != "" {
						calls[c] = append(calls[c], fn.Name.Name)
					}
				}
				return true
			})
		}
	}
	for c, by := range map[string][]string{
		"RegisterFunc": nil, "RegisterLibFunc": nil,
		"SyscallN":  {"foreign"},
		"foreign":   {"call", "failed", "crossStart", "crossTest"},
		"cgocall":   {"crossTake", "crossGive"},
		"crossTake": {"pull"}, "crossGive": {"Give"}, // which pass what comes back to failed
		"crossStart": {"crossPost", "crossGive"}, "crossTest": {"crossTake", "crossGive"},
		"crossPost": {"crossTake", "crossGive"},
	} {
		for _, from := range calls[c] {
			if !slices.Contains(by, from) {
				t.Errorf("%s calls %s and goes around the funnel", from, c)
			}
		}
	}
	if len(calls["SyscallN"]) != 1 || len(calls["call"]) < 20 {
		t.Errorf("the scan does not see the code: %d calls of SyscallN, %d of call", len(calls["SyscallN"]), len(calls["call"]))
	}
}

// callee returns the last name of a called function.
func callee(x ast.Expr) string {
	c, ok := x.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		return f.Sel.Name
	case *ast.Ident:
		return f.Name
	}
	return ""
}

func FuzzDecodeHeader(f *testing.F) {
	for _, h := range []header{{1, 64, 1}, {1 << 40, 1 << 30, 32767}, {1 << 62, 1 << 20, 5}} {
		var b [headerLen]byte
		h.encode(&b)
		f.Add(b[:])
	}
	f.Add([]byte(magic + strings.Repeat("\xff", 24)))
	f.Add([]byte(magic + strings.Repeat("\x00", 24)))
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, p []byte) {
		if !looksLikeHeader(p) {
			return
		}
		h, err := decodeHeader(p)
		if err != nil {
			if !errors.Is(err, ErrProtocol) {
				t.Errorf("%v", err)
			}
			return
		}
		if h.total <= 0 || h.piece < minPiece || h.piece > maxPiece || h.serial < 0 {
			t.Errorf("accepted %+v", h)
		}
		var b [headerLen]byte
		h.encode(&b)
		if string(b[:]) != string(p) {
			t.Errorf("% x decodes to %+v, which encodes to % x", p, h, b)
		}
	})
}

func TestDetect(t *testing.T) {
	for _, k := range []struct {
		env  string
		want launcher
	}{
		{"", launcher{}},
		{"SLURM_NTASKS=4", launcher{}}, // a batch shell
		{"SLURM_STEP_NUM_TASKS=1", launcher{}},
		{"OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=2", launcher{family: openMPI, strict: true, size: 4, evidence: "OMPI_COMM_WORLD_SIZE=4"}},
		{"PMI_SIZE=3 PMI_RANK=0", launcher{family: mpich, strict: true, size: 3, evidence: "PMI_SIZE=3"}},
		{"OMPI_COMM_WORLD_SIZE=1 SLURM_STEP_NUM_TASKS=8", launcher{family: openMPI, strict: true, size: 1, evidence: "OMPI_COMM_WORLD_SIZE=1"}},
		{"PMI_SIZE=8 SLURM_STEP_NUM_TASKS=8", launcher{family: mpich, size: 8, evidence: "PMI_SIZE=8"}},
		{"SLURM_STEP_NUM_TASKS=8 PMIX_RANK=1", launcher{family: openMPI, size: 8, evidence: "SLURM_STEP_NUM_TASKS=8 PMIX_RANK=1"}},
		{"SLURM_STEP_NUM_TASKS=8 PMI_RANK=1", launcher{family: mpich, size: 8, evidence: "SLURM_STEP_NUM_TASKS=8 PMI_RANK=1"}},
		{"SLURM_STEP_NUM_TASKS=8", launcher{size: 8, evidence: "SLURM_STEP_NUM_TASKS=8", bare: true}},
		{"PMIX_RANK=0", launcher{family: openMPI, evidence: "PMIX_RANK=0"}},
	} {
		env := make(map[string]string)
		for _, kv := range strings.Fields(k.env) {
			name, value, _ := strings.Cut(kv, "=")
			env[name] = value
		}
		got, err := detect(func(s string) string { return env[s] })
		if err != nil || got != k.want {
			t.Errorf("%s: %+v, %v, want %+v", k.env, got, err, k.want)
		}
	}
	for _, v := range []string{"0", "-1", "x", "99999999999999999999"} {
		if _, err := detect(func(s string) string {
			if s == "PMI_SIZE" {
				return v
			}
			return ""
		}); !errors.Is(err, ErrSetting) {
			t.Errorf("PMI_SIZE=%s: %v", v, err)
		}
	}
}

func TestChildEnvKeepsTheRest(t *testing.T) {
	got := childEnv([]string{"PATH=/bin", "OMPI_COMM_WORLD_SIZE=2", "OMPI_ALLOW_RUN_AS_ROOT=1", "PMIX_RANK=0", "PMI_FD=6", "SLURM_STEP_NUM_TASKS=4", "SLURM_JOB_ID=7", "OMP_NUM_THREADS=1", "PMIDNIGHT=1"})
	if want := "PATH=/bin OMPI_ALLOW_RUN_AS_ROOT=1 SLURM_JOB_ID=7 OMP_NUM_THREADS=1 PMIDNIGHT=1"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
