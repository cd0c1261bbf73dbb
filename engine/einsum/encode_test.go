package einsum

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// encodable draws a plan, cut or whole.
func encodable(t testing.TB, rng *rand.Rand) *Plan {
	t.Helper()
	s, shapes := randomCase(rng)
	p, err := NewPlan(s, shapes, randomPath(rng, len(shapes)))
	if err != nil {
		t.Fatal(err)
	}
	if rng.IntN(2) == 0 {
		if p, err = p.Slice(randomCuts(rng, p)...); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func mustMarshal(t testing.TB, p *Plan) []byte {
	t.Helper()
	b, err := p.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestPlanCrossesTheWire(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 200 {
		p, q := encodable(t, rng), new(Plan)
		b := mustMarshal(t, p)
		if err := q.UnmarshalBinary(b); err != nil {
			t.Fatalf("%v: %v", p.subscripts, err)
		}
		all := func(p *Plan) string { // lists without entries may be nil or not
			return fmt.Sprint(p.subscripts, p.path, *p.tree.network, p.cuts, p.sizes, p.stages, p.fixed, p.orders, p.places, p.arena, p.cost)
		}
		if all(p) != all(q) {
			t.Fatalf("%v became %v", p.Details(), q.Details())
		}
		if !bytes.Equal(mustMarshal(t, q), b) {
			t.Fatalf("%v: two encodings", p.subscripts)
		}
		for n := range b {
			if err := new(Plan).UnmarshalBinary(b[:n]); !errors.Is(err, ErrEncoding) {
				t.Fatalf("%v: the first %d of %d bytes: %v", p.subscripts, n, len(b), err)
			}
		}
		if err := new(Plan).UnmarshalBinary(append(slices.Clone(b), 0)); !errors.Is(err, ErrEncoding) {
			t.Fatalf("%v: a byte too many: %v", p.subscripts, err)
		}
	}
}

func TestUnmarshalRefuses(t *testing.T) {
	text := func(numbers ...byte) []byte { return append([]byte(planMagic), numbers...) }
	for _, c := range []struct {
		name string
		b    []byte
		kind error
	}{
		{"nothing", nil, ErrEncoding},
		{"another version", []byte("htnp\x02\x00\x01\x00\x00\x00"), ErrEncoding},
		{"many labels", text(0xff, 0xff, 0xff, 0xff, 7), ErrEncoding},
		{"long number", text(0x80, 0x00), ErrEncoding},
		{"label twice", text(2, 'i', 2, 'i', 3, 1, 2, 0, 1, 0, 0), ErrEncoding},
		{"label in no operand", text(2, 'i', 2, 'j', 3, 1, 1, 0, 0, 0), ErrEncoding},
		{"labels out of order", text(2, 'i', 2, 'j', 3, 1, 2, 1, 0, 0, 0), ErrEncoding},
		{"label out of range", text(1, 'i', 2, 1, 1, 1, 0, 0), ErrEncoding},
		{"no operand", text(0, 0, 0, 0), ErrLabel},
		{"step out of range", text(1, 'i', 2, 2, 1, 0, 1, 0, 0, 0, 2, 0), ErrPath},
		{"cut into one", text(1, 'i', 2, 1, 1, 0, 0, 1, 0, 1), ErrEncoding},
		{"cut of no label", text(1, 'i', 2, 1, 1, 0, 0, 1, 1, 2), ErrEncoding},
		{"no divisor", text(1, 'i', 4, 1, 1, 0, 0, 1, 0, 3), ErrSlice},
		{"cut twice", text(1, 'i', 4, 1, 1, 0, 0, 2, 0, 2, 0, 2), ErrSlice},
	} {
		p := new(Plan)
		err := p.UnmarshalBinary(c.b)
		if e := (*Error)(nil); !errors.As(err, &e) || !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, want an *Error of %v", c.name, err, c.kind)
		}
		if p.tree != nil {
			t.Errorf("%s: the plan was changed", c.name)
		}
	}
	p := mustPlan(t, "i->i", nil, []int{2})
	if err := p.UnmarshalBinary(mustMarshal(t, p)); !errors.Is(err, ErrEncoding) {
		t.Errorf("decoding into a plan that is in use: %v", err)
	}
	if _, err := new(Plan).MarshalBinary(); !errors.Is(err, ErrEncoding) {
		t.Errorf("encoding the zero plan: %v", err)
	}
	large := &Plan{tree: &tree{network: &network{operands: make([][]int, sentOperands+1)}}}
	if _, err := large.MarshalBinary(); !errors.Is(err, ErrEncoding) {
		t.Errorf("encoding too many operands: %v", err)
	}
}

// What decodes encodes to the same bytes; what does not is a typed error.
func FuzzUnmarshalPlan(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 30 {
		f.Add(mustMarshal(f, encodable(f, rng)))
	}
	f.Add([]byte(planMagic))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		p := new(Plan)
		if err := p.UnmarshalBinary(b); err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) {
				t.Fatalf("%T is no *Error: %v", err, err)
			}
			return
		}
		again, err := p.MarshalBinary()
		if err != nil || !bytes.Equal(again, b) {
			t.Fatalf("%x is encoded as %x (%v)", b, again, err)
		}
		if p.Details() == "" {
			t.Fatal("it prints nothing")
		}
	})
}
