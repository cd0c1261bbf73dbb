package cpu_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
)

// branching is a pass, and branches of products, sums of rows, which need scratch
// where columns are far apart, and copies, each call reading what the one before
// wrote.
type branching struct {
	pass    engine.BranchPass
	calls   [][]engine.Call
	results []*engine.Tensor
}

func newBranching(t *testing.T, e *cpu.Engine, n int) *branching {
	t.Helper()
	rng := rand.New(rand.NewPCG(61, 62))
	tensor := func() *engine.Tensor {
		x := make([]float64, n*n)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		a, err := engine.FromSlice(x, n, n)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	b := &branching{}
	matMul := engine.DotGeneral{ContractL: engine.AxesOf(1), ContractR: engine.AxesOf(0)}
	for i := range 9 {
		x := tensor()
		var calls []engine.Call
		for range 1 + i%4 {
			y, z := tensor(), tensor()
			turned, err := z.Permute(1, 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				op      engine.Op
				out     *engine.Tensor
				in      []*engine.Tensor
				strided bool
			}{{op: matMul, out: y, in: []*engine.Tensor{x, tensor()}}, {op: engine.Copy{}, out: turned, in: []*engine.Tensor{y}}, {op: engine.CumSum{Axis: 0}, out: y, in: []*engine.Tensor{z}}} {
				specs := make([]engine.Spec, len(c.in))
				for k, in := range c.in {
					specs[k] = in.Spec()
				}
				k, err := e.Bind(c.op, specs, []engine.Spec{c.out.Spec()})
				if err != nil {
					t.Fatal(err)
				}
				calls = append(calls, engine.Call{Kernel: k, Out: []*engine.Tensor{c.out}, In: c.in})
			}
			x = y
		}
		b.calls, b.results = append(b.calls, calls), append(b.results, x)
	}
	p, err := e.Begin()
	if err != nil {
		t.Fatal(err)
	}
	b.pass = p.(engine.BranchPass)
	t.Cleanup(p.End)
	return b
}

func (b *branching) values(t *testing.T) (all []float64) {
	t.Helper()
	for _, x := range b.results {
		v, err := engine.Data[float64](x)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v...)
	}
	return all
}

// Branches have the bits of the same calls one by one, on any number of workers,
// and allocate nothing.
func TestBranches(t *testing.T) {
	for _, n := range []int{5, 40, 150} {
		want := []float64(nil)
		for _, width := range []int{1, 2, 3} {
			b := newBranching(t, open(t, width, cpu.Options{}), n)
			for _, calls := range b.calls {
				for _, c := range calls {
					if err := b.pass.Run(c.Kernel, c.Out, c.In); err != nil {
						t.Fatal(err)
					}
				}
			}
			one := b.values(t)
			if want == nil {
				want = one
			}
			for range 3 {
				if err := b.pass.RunBranches(b.calls); err != nil {
					t.Fatal(err)
				}
				if got := b.values(t); !slices.Equal(got, one) || !slices.Equal(got, want) {
					t.Fatalf("width %d, %d×%d: branches have other bits", width, n, n)
				}
			}
			if a := testing.AllocsPerRun(10, func() {
				if err := b.pass.RunBranches(b.calls); err != nil {
					t.Fatal(err)
				}
			}); a != 0 {
				t.Errorf("width %d: %v allocations", width, a)
			}
		}
	}
}

// hostCopy is an operation of the caller's own, which panics if it is told so.
type hostCopy struct{ panics bool }

func (hostCopy) Name() string                                  { return "HostCopy" }
func (hostCopy) MayAlias(out, in int) bool                     { return false }
func (hostCopy) Infer(in []engine.Spec) ([]engine.Spec, error) { return in[:1], nil }
func (h hostCopy) HostKernel(in, out []engine.Spec) (engine.HostKernel, error) {
	return h, nil
}
func (hostCopy) Work() engine.Work { return engine.Work{} }
func (h hostCopy) RunHost(l engine.Lease, out, in []*engine.Tensor) error {
	if h.panics {
		panic("as told")
	}
	to, _ := engine.Data[float64](out[0])
	from, _ := engine.Data[float64](in[0])
	copy(to, from)
	return nil
}

func TestBranchesRefuse(t *testing.T) {
	e := open(t, 2, cpu.Options{})
	b := newBranching(t, e, 20)
	call := b.calls[2][1]
	for _, c := range []struct {
		bad  engine.Call
		want error
	}{
		{engine.Call{Kernel: call.Kernel, Out: call.Out}, nil},
		{engine.Call{Kernel: nil, Out: call.Out, In: call.In}, engine.ErrForeignKernel},
	} {
		b.calls[2][1] = c.bad
		err := b.pass.RunBranches(b.calls)
		var at *engine.BranchError
		if !errors.As(err, &at) || at.Branch != 2 || at.Call != 1 {
			t.Fatalf("error %v, want a BranchError about call 1 of branch 2", err)
		}
		if arg := (*engine.ArgError)(nil); c.want == nil && !errors.As(err, &arg) || c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("error %v, want %v", err, c.want)
		}
	}
	spec := call.In[0].Spec()
	bind := func(op engine.Op) engine.Kernel {
		k, err := e.Bind(op, []engine.Spec{spec}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	b.calls[2][1] = engine.Call{Kernel: bind(hostCopy{}), Out: call.Out, In: call.In}
	copied, err := engine.FromSlice(make([]float64, 400), 20, 20)
	if err != nil {
		t.Fatal(err)
	}
	b.calls[2][1].Out = []*engine.Tensor{copied}
	if err := b.pass.RunBranches(b.calls); err != nil {
		t.Errorf("an operation of the caller's own: %v", err)
	}
	if got, err := engine.Data[float64](copied); err != nil || got[7] == 0 {
		t.Error("an operation of the caller's own was not run")
	}
	b.calls[2][1] = call
	b.pass.End()
	if err := b.pass.RunBranches(b.calls); !errors.Is(err, engine.ErrPassEnded) {
		t.Errorf("after the end: %v", err)
	}
	if err := b.pass.RunBranches(nil); !errors.Is(err, engine.ErrPassEnded) {
		t.Errorf("after the end: %v", err)
	}
}

// A panic in a branch breaks the engine as it does in a run.
func TestBranchPanics(t *testing.T) {
	e := open(t, 2, cpu.Options{})
	b := newBranching(t, e, 20)
	call := b.calls[2][1]
	k, err := e.Bind(hostCopy{panics: true}, []engine.Spec{call.In[0].Spec()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := engine.FromSlice(make([]float64, 400), 20, 20)
	if err != nil {
		t.Fatal(err)
	}
	b.calls[2][1] = engine.Call{Kernel: k, Out: []*engine.Tensor{out}, In: call.In}
	if broken := (*engine.BrokenError)(nil); !errors.As(b.pass.RunBranches(b.calls), &broken) {
		t.Error("the engine is not broken")
	}
}
