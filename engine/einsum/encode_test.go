package einsum

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
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
	number := func(b []byte, numbers ...uint64) []byte {
		for _, x := range numbers {
			b = binary.AppendUvarint(b, x)
		}
		return b
	}
	const most = math.MaxInt64
	for _, c := range []struct {
		name string
		b    []byte
		kind error
		says string
	}{
		{"length beyond an int", number(text(1, 'i'), 1<<63, 1, 1, 0, 0, 0), ErrEncoding, "is the most"},
		{"number of eleven bytes", text(0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1), ErrEncoding, "shortest form"},
		{"label beyond a label", number(text(1), 1<<31, 2, 1, 1, 0, 0, 0), ErrEncoding, "is the most"},
		{"many operands", number(text(1, 'i', 2), 1<<31-1), ErrEncoding, "entries in the 0 bytes"},
		{"many axes", number(text(1, 'i', 2, 1), 1<<31-1, 0, 0), ErrEncoding, "entries in the"},
		{"65 axes", append(append(text(1, 'i', 1, 1, 65), make([]byte, 65)...), 0, 0), ErrEncoding, "65 axes"},
		{"65 axes of the output", append(append(text(1, 'i', 1, 1, 1, 0, 65), make([]byte, 65)...), 0), ErrEncoding, "65 axes"},
		{"operand too large", number(text(2, 'i'), most, 'j', most, 1, 2, 0, 1, 0, 0), ErrSize, "more elements"},
		{"output too large", number(text(2, 'i'), most>>4, 'j', most>>4, 2, 1, 0, 1, 1, 2, 0, 1, 0, 1, 0), ErrSize, "output"},
		{"output label that is not there", text(1, 'i', 2, 1, 1, 0, 1, 1, 0), ErrEncoding, "out of order"},
		{"step twice the same", text(1, 'i', 2, 2, 1, 0, 1, 0, 0, 1, 1, 0), ErrPath, "twice"},
		{"step to what was taken", text(1, 'i', 2, 3, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0, 2, 0), ErrPath, "position 2"},
		{"step beyond a position", number(text(1, 'i', 2, 2, 1, 0, 1, 0, 0), 1<<31, 0, 0), ErrEncoding, "is the most"},
		{"a step too few", text(1, 'i', 2, 3, 1, 0, 1, 0, 1, 0, 0, 0, 1, 0), ErrEncoding, "end within"},
		{"cut beyond its label", text(1, 'i', 4, 1, 1, 0, 0, 1, 0, 8), ErrSlice, "divisor"},
		{"more slices than are counted", number(text(2, 'i'), 1<<20, 'j', 1<<20, 1, 2, 0, 1, 0, 2, 0, 1<<20, 1, 1<<20), ErrSlice, "more than"},
		{"many cuts", number(text(1, 'i', 2, 1, 1, 0, 0), 1<<31-1), ErrEncoding, "entries in the"},
	} {
		err := new(Plan).UnmarshalBinary(c.b)
		if e := (*Error)(nil); !errors.As(err, &e) || !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want an *Error of %v that says %q", c.name, err, c.kind, c.says)
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

// A plan that can be addressed only because it is cut arrives as it left.
func TestCutPlanCrossesTheWire(t *testing.T) {
	s := mustParse(t, "ia,jb,abi,j->")
	shapes := [][]int{{1 << 20, 1 << 10}, {1 << 20, 1 << 11}, {1 << 10, 1 << 11, 1 << 20}, {1 << 20}}
	path := Path{{0, 1}, {0, 1}, {0, 1}} // makes 2⁶¹ elements
	if _, err := NewPlan(s, shapes, path); !errors.Is(err, ErrSize) {
		t.Fatalf("without cuts: %v", err)
	}
	p, err := NewPlan(s, shapes, path, Cut{'i', 1 << 20}, Cut{'b', 1 << 10})
	if err != nil {
		t.Fatal(err)
	}
	q := new(Plan)
	if err := q.UnmarshalBinary(mustMarshal(t, p)); err != nil {
		t.Fatal(err)
	}
	if p.Details() != q.Details() || !bytes.Equal(mustMarshal(t, p), mustMarshal(t, q)) {
		t.Errorf("%v became %v", p.Details(), q.Details())
	}
}

// Bytes that describe results of thousands of labels take memory as the bytes do, not
// as the results would.
func TestUnmarshalTakesLittle(t *testing.T) {
	const operands, labels, wide = 12000, 4000, 40
	for length := uint64(1); length <= 2; length++ { // the second has no plan
		b := binary.AppendUvarint([]byte(planMagic), labels)
		for l := range uint64(labels) {
			b = binary.AppendUvarint(binary.AppendUvarint(b, l), length)
		}
		b = binary.AppendUvarint(b, operands)
		for k := range operands {
			first := k % (operands / 2) * wide // the first half has what the second has
			n := max(0, min(wide, labels-first))
			b = binary.AppendUvarint(b, uint64(n))
			for l := range n {
				b = binary.AppendUvarint(b, uint64(first+l))
			}
		}
		b = append(b, 0)                                 // the output
		for live := uint64(operands); live > 1; live-- { // from left to right
			b = binary.AppendUvarint(append(b, 0), live-1)
		}
		b = append(b, 0)
		p := new(Plan)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := p.UnmarshalBinary(b)
		runtime.ReadMemStats(&after)
		if length == 1 && err != nil || length == 2 && !errors.Is(err, ErrSize) {
			t.Errorf("%d bytes of labels of length %d: %v", len(b), length, err)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<28 {
			t.Errorf("%d bytes of labels of length %d took %d", len(b), length, took)
		}
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
