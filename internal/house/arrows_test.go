package house

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/hataori/hataori-go"

// rule says what packages under dir may depend on, directly or through
// others: the listed directories of this module, the internal packages of
// dir itself, and the listed modules of others. The standard library is
// always allowed.
type rule struct {
	dir     string
	inside  []string // directories of this module, each with its internal packages; "": all
	outside []string // import path prefixes of other modules
	why     string
}

// rules holds one row per directory; the longest matching one applies. A
// package without a row fails the test: a new room needs a place in the house.
var rules = []rule{
	{"transport", nil, nil, "a contract holds interfaces and values only"},
	{"lanes", []string{"internal/where"}, nil, "lanes know neither ranks nor engines"},
	{"mpi", []string{"internal/where", "transport"}, []string{"github.com/ebitengine/purego", "golang.org/x/sys"},
		"the binding serves codes that do not use the scheduler"},
	{"mpi/mpitest", []string{"transport"}, nil, "in-memory ranks need no native library"},
	{"trace", nil, nil, "a recording is data; who makes it and who draws it stand outside"},
	{"hataori", []string{"hataori", "internal/where", "lanes", "trace", "transport"},
		[]string{"golang.org/x/sys"}, "the scheduler knows no engine and no MPI library"},
	{"engine", nil, nil, "the contract of engines holds interfaces and values only"},
	{"engine/ref", []string{"engine"}, nil, "the oracle stands on the contract alone"},
	{"engine/enginetest", []string{"engine", "engine/ref"}, nil, "the suite runs on any engine, with the oracle beside it"},
	{"engine/native", []string{"engine"}, []string{"gonum.org/v1/gonum", "golang.org/x/sys"},
		"native kernels need no library at run time"},
	{"engine/gonumx", []string{"engine"}, []string{"gonum.org/v1/gonum"}, "interchange with gonum needs the contract alone"},
	{"engine/npy", []string{"engine"}, nil, "files of tensors need the contract alone"},
	{"engine/blas", []string{"engine"}, []string{"github.com/ebitengine/purego", "golang.org/x/sys"},
		"a provider knows the contract, not the engine that uses it"},
	{"engine/cpu", []string{"engine", "engine/native", "engine/blas"},
		[]string{"github.com/ebitengine/purego", "golang.org/x/sys", "gonum.org/v1/gonum"},
		"the CPU engine computes; who schedules it is not its concern"},
	{"engine/einsum", []string{"engine"}, nil, "a contraction runs on any engine"},
	{"adapter", []string{"internal/where", "lanes", "engine"}, nil, "the adapter lends engines to lanes and knows no ranks"},
	{"store", nil, []string{"github.com/ebitengine/purego", "golang.org/x/sys"},
		"results on disk fit the scheduler's sink by their methods alone"},
	{"progress", []string{"hataori", "internal/where", "lanes", "trace", "transport"},
		[]string{"github.com/vbauerster", "github.com/VividCortex/ewma", "github.com/acarl005/stripansi", "github.com/mattn/go-runewidth",
			"github.com/clipperhouse/uax29", "golang.org/x/term", "golang.org/x/sys"},
		"a display stands on the hook that the scheduler offers, and on a library that draws"},
	{"examples", []string{""}, []string{""}, "programs may use everything"},
	{"cmd", []string{""}, []string{""}, "programs may use everything"},
	{"bench", []string{""}, []string{""}, "measurements may use everything"},
	{"scripts", []string{""}, []string{""}, "measurements may use everything"},
	{"internal/where", nil, nil, "the place of a panic is in its stack"},
	{"internal", []string{""}, []string{""}, "tests of the house"},
}

func ruleFor(dir string) (rule, bool) {
	for d := dir; ; d = path.Dir(d) {
		if i := slices.IndexFunc(rules, func(r rule) bool { return r.dir == d }); i >= 0 {
			return rules[i], true
		}
		if d == "." {
			return rule{}, false
		}
	}
}

type listed struct {
	ImportPath string
	Standard   bool
	Deps       []string
}

func goList(t *testing.T, args ...string) []listed {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list", "-json=ImportPath,Standard,Deps"}, args...)...)
	cmd.Dir = root(t)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func under(p, prefix string) bool {
	return prefix == "" || p == prefix || strings.HasPrefix(p, prefix+"/")
}

// allowed reports whether a package in dir may depend on dep.
func (r rule) allowed(dir, dep string) bool {
	if rest, ok := strings.CutPrefix(dep, module+"/"); ok {
		return under(rest, r.dir+"/internal") ||
			slices.ContainsFunc(r.inside, func(d string) bool { return d == "" || rest == d || under(rest, d+"/internal") })
	}
	return slices.ContainsFunc(r.outside, func(d string) bool { return under(dep, d) })
}

func TestImportArrows(t *testing.T) {
	std := map[string]bool{"C": true, "unsafe": true}
	for _, p := range goList(t, "std") {
		std[p.ImportPath] = true
	}
	packages := goList(t, "./...")
	if len(packages) < 5 {
		t.Fatalf("go list ./... found only %d packages", len(packages))
	}
	for _, p := range packages {
		dir := strings.TrimPrefix(p.ImportPath, module+"/")
		r, ok := ruleFor(dir)
		if !ok {
			t.Errorf("%s: no rule says what it may import; add a row with a reason", dir)
			continue
		}
		for _, dep := range p.Deps {
			if std[dep] || strings.HasPrefix(dep, "vendor/") {
				continue
			}
			if !r.allowed(dir, dep) {
				t.Errorf("%s must not depend on %s: %s", dir, dep, r.why)
			}
		}
	}
}

// The table itself must forbid what the house forbids.
func TestArrowTableForbids(t *testing.T) {
	for _, arrow := range [][2]string{
		{"hataori", "mpi"}, {"hataori", "engine"}, {"hataori", "adapter"}, {"hataori", "github.com/ebitengine/purego"},
		{"hataori/internal/x", "mpi"}, {"mpi", "hataori"}, {"mpi", "lanes"}, {"mpi/mpitest", "mpi"}, {"engine", "hataori"}, {"engine", "lanes"},
		{"engine", "engine/cpu"}, {"engine/cpu", "lanes"}, {"engine/einsum", "hataori"}, {"engine/einsum", "mpi"}, {"lanes", "transport"}, {"lanes", "engine"},
		{"adapter", "hataori"}, {"adapter", "mpi"}, {"transport", "lanes"}, {"store", "mpi"}, {"store", "hataori"},
		{"engine/einsum", "engine/cpu"}, {"engine/native", "engine/blas"}, {"engine/cpu", "engine/einsum"},
	} {
		from, to := arrow[0], arrow[1]
		if !strings.Contains(to, ".") {
			to = module + "/" + to
		}
		r, ok := ruleFor(from)
		if !ok {
			t.Errorf("%s has no rule", from)
		} else if r.allowed(from, to) {
			t.Errorf("the table lets %s depend on %s", from, arrow[1])
		}
	}
}
