package enginetest

import (
	"errors"

	"github.com/hataori/hataori-go/engine"
)

// scaledIota is an operation outside the vocabulary: out[i] = Factor·i, filled
// through everything a lease lends.
type scaledIota struct{ factor int }

func (scaledIota) Name() string              { return "enginetest.ScaledIota" }
func (scaledIota) MayAlias(out, in int) bool { return false }
func (scaledIota) Infer(in []engine.Spec) ([]engine.Spec, error) {
	return []engine.Spec{in[0].Compact()}, nil
}
func (s scaledIota) HostKernel(in, out []engine.Spec) (engine.HostKernel, error) {
	if s.factor < 0 {
		return nil, errNegative
	}
	return iotaKernel(s), nil
}

var errNegative = errors.New("enginetest: negative factor")

type iotaKernel scaledIota

func (iotaKernel) Work() engine.Work { return engine.Work{Flops: 1e9, Bytes: 1e9, Scratch: 1000} }

func (k iotaKernel) RunHost(l engine.Lease, out, in []*engine.Tensor) error {
	if k.factor == 0 {
		panic(errNegative)
	}
	data, err := engine.Data[float64](out[0])
	if err != nil {
		return err
	}
	if len(l.Scratch()) != 1000 || l.Width() < 1 {
		return errors.New("enginetest: the lease lends the wrong scratch or width")
	}
	seen := make([]int, l.Width())
	l.For(len(data), func(worker, lo, hi int) {
		seen[worker] += hi - lo
		for i := lo; i < hi; i++ {
			data[i] = float64(i * k.factor)
		}
	})
	total := 0
	for _, n := range seen {
		total += n
	}
	if total != len(data) {
		return errors.New("enginetest: For did not cover the range once")
	}
	if !in[0].DType().IsFloat() {
		return errNegative
	}
	return nil
}

func testHostOp(r *rig) {
	in := []engine.Spec{r.spec(engine.Float64, 1000)}
	if err := r.e.Supports(scaledIota{factor: 3}, in); errors.Is(err, engine.ErrUnsupported) && r.e.Target().Domain.Kind != engine.Host {
		r.Skip("not a host engine")
	}
	a := r.must(r.e.Alloc(in[0]))
	out := r.must(engine.Apply(r.e, scaledIota{factor: 3}, a, nil))
	for i, z := range r.read(out) {
		if z != complex(float64(3*i), 0) {
			r.Fatalf("element %d is %v", i, z)
		}
	}
	_, err := r.e.Bind(scaledIota{factor: -1}, in, nil)
	r.wantIs("HostKernel's error", err, errNegative)
	ints := r.must(r.e.Alloc(r.spec(engine.Int64, 10)))
	err = engine.ApplyInto(r.e, scaledIota{factor: 1}, ints, ints, nil)
	wantAs[*engine.AliasError](r, "HostOp over its input", err)
	if err := engine.ApplyInto(r.e, scaledIota{factor: 1}, r.must(r.e.Alloc(ints.Spec())), ints, nil); err == nil {
		r.Fatal("RunHost's error is lost")
	}
	r.ok(r.e.Err()) // an error is no break
}

// testPanic: a panic inside an operation breaks the engine for good, but
// buffers and synchronisation go on.
func testPanic(r *rig) {
	a := r.must(r.e.Alloc(r.spec(engine.Float64, 10)))
	k, err := r.e.Bind(scaledIota{factor: 0}, []engine.Spec{a.Spec()}, nil)
	if errors.Is(err, engine.ErrUnsupported) {
		r.Skip("not a host engine")
	}
	r.ok(err)
	out := r.must(r.e.Alloc(k.Out(0)))
	r.ok(r.e.Err())
	err = r.e.Run(k, []*engine.Tensor{out}, []*engine.Tensor{a})
	b := wantAs[*engine.BrokenError](r, "panic", err)
	if b.Op != "enginetest.ScaledIota" || b.Value != error(errNegative) || len(b.Stack) == 0 {
		r.Fatalf("broken by %+v", b)
	}
	r.wantIs("the run", err, engine.ErrBroken)
	r.wantIs("the panic value", err, errNegative)
	r.wantIs("the next run", engine.CopyInto(r.e, out, a), engine.ErrBroken)
	_, err = r.e.Begin()
	r.wantIs("Begin", err, engine.ErrBroken)
	r.wantIs("Err", r.e.Err(), engine.ErrBroken)
	v := r.must(a.Reshape(2, 5))
	r.ok(r.e.Release(v))
	r.ok(r.e.Release(a))
	r.ok(r.e.Release(out))
	r.ok(r.e.Synchronize())
	r.ok(r.e.Close())
}
