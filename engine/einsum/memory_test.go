package einsum

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
)

// fileProblem is a public problem beside the module.
type fileProblem struct {
	Format string
	Shapes [][]int
	Paths  map[string]struct{ Path Path }
}

func fileProblems(t *testing.T) map[string]fileProblem {
	t.Helper()
	files, _ := filepath.Glob("../../../shared/einsum/*_*.json") // the pattern is well formed
	if len(files) == 0 {
		t.Skip("no einsum problems beside the module")
	}
	all := map[string]fileProblem{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var f fileProblem
		if err := json.Unmarshal(data, &f); err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(name)] = f
	}
	return all
}

// held is what an engine holds for a plan, in bytes: its live buffers, and the
// most scratch of a kernel, which it keeps.
func held(t *testing.T, e *cpu.Engine, p *Plan, d engine.DType) int {
	t.Helper()
	before := e.Buffers().LiveBytes
	specs := make([]engine.Spec, len(p.tree.operands))
	for k := range specs {
		specs[k] = engine.SpecOf(d, p.OperandShape(k)...)
	}
	r, err := p.Prepare(e, specs...)
	if err != nil {
		t.Fatalf("%v: %v", p.subscripts, err)
	}
	scratch := 0
	for _, st := range r.steps {
		scratch = max(scratch, st.kernel.Workspace())
	}
	total := int(e.Buffers().LiveBytes-before) + scratch
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return total
}

// checkPeak compares the plan's figure with what an engine takes. Below some
// kilobytes what counts is the granularity of buffers.
func checkPeak(t *testing.T, what string, e *cpu.Engine, p *Plan, d engine.DType) {
	t.Helper()
	const granularity = 4096
	got, want := held(t, e, p, d), p.Cost().Peak*d.Size()
	if diff := max(got-want, want-got); diff > want/20+granularity {
		t.Errorf("%s: the engine holds %d bytes, the plan says %d", what, got, want)
	}
}

func TestPeakIsWhatTheEngineHolds(t *testing.T) {
	for name, open := range engines(t, false) {
		t.Run(name, func(t *testing.T) {
			e := open(t)
			rng := rand.New(rand.NewPCG(17, 18))
			for range 40 {
				operands := 3 + rng.IntN(12)
				s, shapes := randomNetwork(rng, operands, operands)
				for k := range shapes { // large enough to tell
					for axis := range shapes[k] {
						shapes[k][axis] *= 3
					}
				}
				p, err := FindPlan(context.Background(), s, shapes, PlanOptions{PathOptions: PathOptions{Trials: 2, Refined: 1}, Limits: Limits{Largest: 1 << 18}})
				if err != nil {
					t.Fatal(err)
				}
				checkPeak(t, s.String(), e, p, engine.Float64)
			}
		})
	}
}

func TestPeakOfPublicProblems(t *testing.T) {
	problems := fileProblems(t)
	if testing.Short() {
		t.Skip("gigabytes are allocated")
	}
	for name, open := range engines(t, false) {
		if strings.HasSuffix(name, "2") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			e := open(t)
			for name, f := range problems {
				p, err := NewPlan(mustParse(t, f.Format), f.Shapes, f.Paths["opt_size"].Path)
				if err != nil {
					t.Fatal(err)
				}
				checkPeak(t, name, e, p, engine.Float32)
				if p, err = p.SliceTo(t.Context(), Limits{Peak: 1 << 20}); err != nil {
					t.Fatal(err)
				}
				if p.Cost().Peak > 1<<20 {
					t.Errorf("%s: a peak of %d elements", name, p.Cost().Peak)
				}
				checkPeak(t, name+" in slices", e, p, engine.Complex128)
			}
		})
	}
}
