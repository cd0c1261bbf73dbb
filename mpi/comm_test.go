package mpi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/hataori/hataori-go/mpi"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

func TestConformAlone(t *testing.T) {
	rt, err := mpi.Init(mpi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*mpi.Comm{rt.World(), rt.Self()} {
		mpitest.Conform(t, func(body func(c transport.Comm) error) error { return body(c) })
	}
	if err := rt.Finalize(); err != nil {
		t.Fatal(err)
	}
	if err := rt.Finalize(); err != nil {
		t.Errorf("second Finalize: %v", err)
	}
	if _, err := rt.World().Ibarrier(); !errors.Is(err, transport.ErrFreed) {
		t.Errorf("Ibarrier after Finalize: %v", err)
	}
}

func TestConform(t *testing.T) {
	each(t, func(t *testing.T, l launcher) {
		for n := 1; n <= 4; n++ {
			t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) { l.job(t, n, "conform").ok(t) })
		}
	})
}

func programConform() int {
	return inJob(mpi.Options{}, func(_ context.Context, rt *mpi.Runtime) error {
		return errors.Join(mpitest.Check(rt.World()), mpitest.Check(rt.Self()))
	})
}

// TestPieces runs the same suite where nearly every message is split.
func TestPieces(t *testing.T) {
	each(t, func(t *testing.T, l launcher) {
		for _, n := range []int{1, 3} {
			t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) { l.job(t, n, "pieces").ok(t) })
		}
	})
}

func programPieces() int {
	return inJob(mpi.Options{PieceLimit: 65536}, func(ctx context.Context, rt *mpi.Runtime) error {
		if err := mpitest.Check(rt.World()); err != nil {
			return err
		}
		return looksLikeHeader(ctx, rt.World())
	})
}

// looksLikeHeader sends messages that are made to be taken for the announcement
// of a long message.
func looksLikeHeader(ctx context.Context, w *mpi.Comm) error {
	next, prev := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	for _, text := range []string{
		"hataori: long msg\r\n" + strings.Repeat("\xff", 24),
		"hataori: long msg\r\n" + strings.Repeat("\x00", 24),
		"hataori: long msg\r\n" + strings.Repeat("\x01", 25),
		strings.Repeat("x", 43),
	} {
		for _, way := range []string{"receive", "probe", "take"} {
			s, err := w.Isend([]byte(text), next, 1)
			if err != nil {
				return err
			}
			for found := way != "take"; !found; {
				var st mpi.Status
				var taken bool
				if st, found, taken, err = w.Take(nil, 1); err != nil || taken || found && st != (mpi.Status{Source: prev, Tag: 1, Count: len(text)}) {
					return wrongf("take of %q: %+v, taken: %v, %v", text, st, taken, err)
				}
			}
			if way == "probe" {
				st, err := w.Probe(ctx, mpi.AnySource, mpi.AnyTag)
				if err != nil || st != (mpi.Status{Source: prev, Tag: 1, Count: len(text)}) {
					return wrongf("probe of %q: %+v, %v", text, st, err)
				}
			}
			got := make([]byte, 100)
			st, err := w.Recv(ctx, got, prev, 1)
			if err != nil || string(got[:st.Count]) != text {
				return wrongf("sent %q, received %q, %v", text, got[:st.Count], err)
			}
			for done := false; !done; {
				if done, _, err = s.Test(); err != nil {
					return err
				}
			}
		}
	}
	return w.Barrier(ctx)
}

func TestBlocking(t *testing.T) {
	alone(t, "blocking").ok(t)
	each(t, func(t *testing.T, l launcher) {
		for _, n := range []int{1, 3} {
			l.job(t, n, "blocking").ok(t)
		}
	})
}

func programBlocking() int {
	return inJob(mpi.Options{PieceLimit: 10000}, func(ctx context.Context, rt *mpi.Runtime) error {
		w := rt.World()
		for _, f := range []func(context.Context, *mpi.Comm) error{exchange, reductions, gathers, givingUp} {
			if err := f(ctx, w); err != nil {
				return err
			}
			if err := w.Barrier(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// exchange sends around the ring with the blocking forms, even ranks first, or
// to a neighbour's receive that is already posted.
func exchange(ctx context.Context, w *mpi.Comm) error {
	next, prev := (w.Rank()+1)%w.Size(), (w.Rank()+w.Size()-1)%w.Size()
	for _, n := range []int{0, 5, 9999, 10001, 50000} {
		message := bytes.Repeat([]byte{byte(w.Rank() + 1)}, n)
		s, err := w.Isend(message, next, 2)
		if err != nil {
			return err
		}
		got, st, err := w.RecvBytes(ctx, mpi.AnySource, 2)
		want := bytes.Repeat([]byte{byte(prev + 1)}, n)
		if err != nil || st.Source != prev || !bytes.Equal(got, want) {
			return wrongf("%d bytes: received %d from %d, %v", n, len(got), st.Source, err)
		}
		for done := false; !done; {
			if done, _, err = s.Test(); err != nil {
				return err
			}
		}
	}
	if w.Size() == 1 {
		return nil
	}
	if w.Rank() == 0 {
		return w.Send(ctx, make([]byte, 30000), 1, 3)
	}
	if w.Rank() == 1 {
		st, err := w.Recv(ctx, make([]byte, 30000), mpi.AnySource, mpi.AnyTag)
		if err != nil || st.Count != 30000 || st.Tag != 3 {
			return wrongf("received %+v, %v", st, err)
		}
	}
	return nil
}

func reductions(ctx context.Context, w *mpi.Comm) error {
	n, r := float64(w.Size()), float64(w.Rank())
	for _, k := range []struct {
		op   transport.Op
		want []float64
	}{
		{mpi.Sum, []float64{n * (n - 1) / 2, n * 0.25}},
		{mpi.Min, []float64{0, 0.25}},
		{mpi.Max, []float64{n - 1, 0.25}},
	} {
		op, want := k.op, k.want
		x := []float64{r, 0.25}
		if err := w.AllreduceFloat64(ctx, x, op); err != nil {
			return err
		}
		if x[0] != want[0] || x[1] != want[1] {
			return wrongf("operator %d: %v, want %v", op, x, want)
		}
	}
	x := []float64{math.Inf(-1) * (r - 0.5), math.SmallestNonzeroFloat64}
	if err := w.AllreduceFloat64(ctx, x, mpi.Max); err != nil || !math.IsInf(x[0], 1) || x[1] != math.SmallestNonzeroFloat64 {
		return wrongf("maximum with infinities: %v, %v", x, err)
	}
	p := make([]byte, 25000)
	if w.Rank() == w.Size()-1 {
		for i := range p {
			p[i] = byte(i)
		}
	}
	if err := w.Bcast(ctx, p, w.Size()-1); err != nil {
		return err
	}
	for i := range p {
		if p[i] != byte(i) {
			return wrongf("byte %d of a broadcast is %d", i, p[i])
		}
	}
	return nil
}

// gathers collects parts of different lengths: none, short, more than a piece.
func gathers(ctx context.Context, w *mpi.Comm) error {
	part := func(rank int) []byte { return bytes.Repeat([]byte{byte(rank + 65)}, []int{0, 7, 25000}[rank%3]) }
	check := func(what string, parts [][]byte) error {
		if len(parts) != w.Size() {
			return wrongf("%s: %d parts", what, len(parts))
		}
		for i, p := range parts {
			if !bytes.Equal(p, part(i)) {
				return wrongf("%s: part %d has %d bytes, want %d", what, i, len(p), len(part(i)))
			}
		}
		return nil
	}
	for root := range w.Size() {
		parts, err := w.Gather(ctx, part(w.Rank()), root)
		if err != nil {
			return err
		}
		if w.Rank() != root {
			if parts != nil {
				return wrongf("Gather returns parts away from the root")
			}
			continue
		}
		if err := check("Gather", parts); err != nil {
			return err
		}
	}
	parts, err := w.Allgather(ctx, part(w.Rank()))
	if err != nil {
		return err
	}
	return check("Allgather", parts)
}

// givingUp ends waits by a context: for a message, in a receive, in a barrier
// and in a send that nobody takes.
func givingUp(ctx context.Context, w *mpi.Comm) error {
	cause := errors.New("enough")
	short, cancel := context.WithCancelCause(ctx)
	time.AfterFunc(5*time.Millisecond, func() { cancel(cause) })
	got := make([]byte, 64)
	if _, err := w.Recv(short, got, w.Rank(), 8); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "enough") {
		return wrongf("Recv given up: %v", err)
	}
	if _, err := w.Probe(short, mpi.AnySource, 8); !errors.Is(err, context.Canceled) {
		return wrongf("Probe given up: %v", err)
	}
	// The receive took itself away: the message goes to the next one.
	s, err := w.Isend([]byte("late"), w.Rank(), 8)
	if err != nil {
		return err
	}
	if st, err := w.Recv(ctx, got, w.Rank(), 8); err != nil || string(got[:st.Count]) != "late" {
		return wrongf("received %q, %v", got, err)
	}
	for done := false; !done; {
		if done, _, err = s.Test(); err != nil {
			return err
		}
	}
	// A send given up stays in flight and is completed by its receiver.
	if err := w.Send(short, make([]byte, 1<<20), w.Rank(), 9); !errors.Is(err, context.Canceled) {
		return wrongf("Send given up: %v", err)
	}
	if p, _, err := w.RecvBytes(ctx, w.Rank(), 9); err != nil || len(p) != 1<<20 {
		return wrongf("received %d bytes, %v", len(p), err)
	}
	return w.Barrier(ctx)
}
