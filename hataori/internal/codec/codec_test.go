package codec

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Types of all the shapes that are carried.

type point struct{ X, Y, Z float64 }

type padded struct {
	A    int8
	B    float64
	C    bool
	D, E int16
	F    complex64
}

type withHidden struct {
	Name   string
	weight float32
	inner  struct{ a, b uint16 }
	tags   []string
	_      [0]func()
}

type everything struct {
	I    int
	U8   uint8
	S    string
	B    []byte
	F    []float64
	N    [][]string
	P    *point
	M    map[string][]int32
	Arr  [3]padded
	When time.Time
	Big  *big.Int
	base
}

type base struct{ Base map[point]bool }

type tree struct {
	Label string
	Kids  []tree
	Next  *tree
	By    map[string]*tree
}

// celsius marshals itself, as text with a sign.
type celsius float64

func (c celsius) AppendBinary(b []byte) ([]byte, error) {
	if c < -273.15 {
		return nil, errCold
	}
	return binary.BigEndian.AppendUint64(append(b, 'C'), math.Float64bits(float64(c))), nil
}

func (c *celsius) UnmarshalBinary(b []byte) error {
	if len(b) != 9 || b[0] != 'C' {
		return errNotCelsius
	}
	*c = celsius(math.Float64frombits(binary.BigEndian.Uint64(b[1:])))
	return nil
}

var (
	errCold       = errors.New("colder than possible")
	errNotCelsius = errors.New("not a temperature")
)

// failer is a test, a fuzz target or a drawn case.
type failer interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// both builds the codec that copies memory and the one that never does, and
// checks that they agree.
func both[T any](t failer) [2]Typed[T] {
	t.Helper()
	fast, err := build[T](littleEndian())
	if err != nil {
		t.Fatal(err)
	}
	portable, err := build[T](false)
	if err != nil {
		t.Fatal(err)
	}
	if fast.Name != portable.Name || fast.Size != portable.Size {
		t.Fatalf("fast %s %d, portable %s %d", fast.Name, fast.Size, portable.Name, portable.Size)
	}
	return [2]Typed[T]{fast, portable}
}

// roundTrip checks that v survives, in both codecs, that they write the same
// bytes, and that no shorter or longer bytes are accepted.
func roundTrip[T any](t failer, v T) []byte {
	t.Helper()
	var first []byte
	for i, c := range both[T](t) {
		b, err := c.Append([]byte("head"), &v)
		if err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		if !bytes.HasPrefix(b, []byte("head")) {
			t.Fatalf("%T: what was there is overwritten", v)
		}
		b = b[4:]
		if c.Size >= 0 && len(b) != c.Size {
			t.Fatalf("%T: size %d, encoded in %d bytes", v, c.Size, len(b))
		}
		if i == 0 {
			first = b
		} else if !bytes.Equal(first, b) && !hasMap(reflect.TypeFor[T](), nil) {
			t.Fatalf("%T: copied %x, built %x", v, first, b)
		}
		var got T
		if err := c.Decode(bytes.Clone(b), &got); err != nil {
			t.Fatalf("%T: %v", v, err)
		}
		if !reflect.DeepEqual(got, v) && !selfUnequal(v) {
			t.Fatalf("%T: got %+v want %+v", v, got, v)
		}
		var de *DecodeError
		for k := 0; k < len(b); k += 1 + len(b)/64 {
			if err := c.Decode(b[:k:k], &got); !errors.As(err, &de) || de.Offset > k {
				t.Fatalf("%T: %d of %d bytes: %v", v, k, len(b), err)
			}
		}
		if err := c.Decode(append(b, 0), &got); !errors.As(err, &de) {
			t.Fatalf("%T: one byte too many: %v", v, err)
		}
	}
	return first
}

func selfUnequal(v any) bool { return !reflect.DeepEqual(v, v) }

func hasMap(t reflect.Type, seen []reflect.Type) bool {
	for _, s := range seen {
		if s == t {
			return false
		}
	}
	seen = append(seen, t)
	switch t.Kind() {
	case reflect.Map:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return hasMap(t.Elem(), seen)
	case reflect.Struct:
		for i := range t.NumField() {
			if hasMap(t.Field(i).Type, seen) {
				return true
			}
		}
	}
	return false
}

func sample() everything {
	return everything{
		I: -5, U8: 200, S: "héllo \xff\x00", B: []byte{}, F: []float64{1, math.Inf(-1)},
		N: [][]string{nil, {}, {"", "x"}}, P: &point{1, 2, 3},
		M:   map[string][]int32{"": nil, "a": {1, -2}},
		Arr: [3]padded{{A: -1, B: 2, C: true, D: 3, E: -4, F: 5 + 6i}},
		// The location is named, as only an offset is marshalled.
		When: time.Date(2026, 2, 3, 4, 5, 6, 789, time.UTC),
		Big:  new(big.Int).Lsh(big.NewInt(-3), 200),
		base: base{map[point]bool{{1, 2, 3}: true, {}: false}},
	}
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, true)
	roundTrip(t, -1)
	roundTrip(t, uint(math.MaxUint))
	roundTrip(t, int8(-128))
	roundTrip(t, uint16(0xfffe))
	roundTrip(t, int32(math.MinInt32))
	roundTrip(t, uint64(math.MaxUint64))
	roundTrip(t, float32(1.5))
	roundTrip(t, -0.25)
	roundTrip(t, complex64(1-2i))
	roundTrip(t, 3+4i)
	roundTrip(t, "")
	roundTrip(t, "text \xff")
	roundTrip(t, [4]uint16{1, 2, 3, 4})
	roundTrip(t, [3]bool{true, false, true})
	roundTrip(t, [0]string{})
	roundTrip(t, struct{}{})
	roundTrip(t, point{1, 2, 3})
	roundTrip(t, padded{A: 1, B: 2, C: true, D: 3, E: 4, F: 5})
	roundTrip(t, []float64(nil))
	roundTrip(t, []float64{})
	roundTrip(t, []float64{1, 2, 3})
	roundTrip(t, []float32{1, 2, 3})
	roundTrip(t, []bool{true, false})
	roundTrip(t, []struct{}{{}, {}})
	roundTrip(t, []padded{{A: 1}, {C: true}})
	roundTrip(t, [][]int{{1}, nil, {}})
	roundTrip(t, map[string]int(nil))
	roundTrip(t, map[string]int{})
	roundTrip(t, map[[2]int8]string{{1, 2}: "a"})
	roundTrip(t, map[struct{}]struct{}{{}: {}})
	roundTrip(t, (*int)(nil))
	roundTrip(t, new(7))
	roundTrip(t, &struct{}{})
	roundTrip(t, withHidden{Name: "n", weight: 2, inner: struct{ a, b uint16 }{3, 4}, tags: []string{"x"}})
	roundTrip(t, sample())
	roundTrip(t, tree{Label: "r", Kids: []tree{{Label: "k"}, {Kids: []tree{}}}, Next: &tree{Label: "n"}, By: map[string]*tree{"a": {Label: "m"}, "b": nil}})
	roundTrip(t, celsius(21.5))
	roundTrip(t, []celsius{1, 2})
	roundTrip(t, time.Date(1, 1, 1, 0, 0, 0, 1, time.UTC))
	roundTrip(t, new(big.Rat).SetFrac64(-22, 7))
}

// encoding/binary is the outside view on fixed-size layouts.
func TestLayoutIsLittleEndianInOrder(t *testing.T) {
	type wide struct {
		A int8
		B uint16
		C float32
		D bool
		E [2]complex128
		F int64
		G point
	}
	v := wide{-1, 0x1234, 1.5, true, [2]complex128{1 + 2i, 3}, -9, point{1, 2, 3}}
	var want bytes.Buffer
	if err := binary.Write(&want, binary.LittleEndian, v); err != nil {
		t.Fatal(err)
	}
	if got := roundTrip(t, v); !bytes.Equal(got, want.Bytes()) {
		t.Errorf("got %x want %x", got, want.Bytes())
	}
	for _, c := range []struct{ got, want string }{
		{hex.EncodeToString(roundTrip(t, -2)), "feffffffffffffff"},
		{hex.EncodeToString(roundTrip(t, "ab")), "0200000000000000" + "6162"},
		{hex.EncodeToString(roundTrip(t, []uint16{1, 0x203})), "0300000000000000" + "0100" + "0302"},
		{hex.EncodeToString(roundTrip(t, []uint16(nil))), "0000000000000000"},
		{hex.EncodeToString(roundTrip(t, new(uint8(9)))), "01" + "09"},
		{hex.EncodeToString(roundTrip(t, map[uint8]bool{7: true})), "0200000000000000" + "07" + "01"},
	} {
		if c.got != c.want {
			t.Errorf("got %s want %s", c.got, c.want)
		}
	}
}

func TestBitsOfNaNsAndZeros(t *testing.T) {
	type mixed struct {
		Pad int8
		F   float32
		D   float64
	}
	signalling32, signalling64 := uint32(0x7fa12345), uint64(0xfff4000000abcdef)
	v := mixed{F: math.Float32frombits(signalling32), D: math.Float64frombits(signalling64)}
	for _, c := range both[mixed](t) {
		b, err := c.Append(nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		var got mixed
		if err := c.Decode(b, &got); err != nil {
			t.Fatal(err)
		}
		if math.Float32bits(got.F) != signalling32 || math.Float64bits(got.D) != signalling64 {
			t.Errorf("%x %x", math.Float32bits(got.F), math.Float64bits(got.D))
		}
	}
	for _, c := range both[map[float64]float64](t) {
		m := map[float64]float64{math.NaN(): 1, math.Copysign(0, -1): math.Copysign(0, -1)}
		m[math.NaN()] = 2
		b, err := c.Append(nil, &m)
		if err != nil {
			t.Fatal(err)
		}
		var got map[float64]float64
		if err := c.Decode(b, &got); err != nil {
			t.Fatal(err)
		}
		if len(got) != 3 || !math.Signbit(got[0]) {
			t.Errorf("got %v", got)
		}
	}
}

func TestDecodeReplacesWhatWasThere(t *testing.T) {
	for _, c := range both[everything](t) {
		var zero everything
		b, err := c.Append(nil, &zero)
		if err != nil {
			t.Fatal(err)
		}
		got := sample()
		if err := c.Decode(b, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, zero) {
			t.Errorf("got %+v", got)
		}
	}
}

func TestDecodedValueDoesNotShareTheBytes(t *testing.T) {
	type shared struct {
		S string
		B []byte
		F []float64
	}
	v := shared{"abc", []byte("defg"), []float64{1, 2}}
	for _, c := range both[shared](t) {
		b, err := c.Append(nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		var got shared
		if err := c.Decode(b, &got); err != nil {
			t.Fatal(err)
		}
		for i := range b {
			b[i] = 0xee
		}
		if !reflect.DeepEqual(got, v) {
			t.Errorf("got %+v", got)
		}
	}
}

func TestRapidRoundTrip(t *testing.T) {
	gen := rapid.Make[struct {
		A []struct {
			B bool
			S string
			M map[int8][]uint16
		}
		P *struct{ X [2]int32 }
		F []float32
		N map[string]*string
	}]()
	rapid.Check(t, func(t *rapid.T) { roundTrip(t, gen.Draw(t, "v")) })
}

func TestName(t *testing.T) {
	names := map[string]string{}
	add := func(what, name string) {
		t.Helper()
		if other, ok := names[name]; ok {
			t.Errorf("%s and %s are both called %s", what, other, name)
		}
		names[name] = what
	}
	{
		type item struct{ A, B int }
		add("A, B int", both[item](t)[0].Name)
	}
	{
		type item struct{ A, B int32 }
		add("A, B int32", both[item](t)[0].Name)
	}
	{
		type item struct{ B, A int }
		add("B, A int", both[item](t)[0].Name)
	}
	{
		type part struct{ A int }
		type item struct{ A, B part }
		add("A, B part int", both[item](t)[0].Name)
	}
	{
		type part struct{ A uint }
		type item struct{ A, B part }
		add("A, B part uint", both[item](t)[0].Name)
	}
	add("int", both[int](t)[0].Name)
	add("celsius", both[celsius](t)[0].Name)
	add("tree", both[tree](t)[0].Name)
	if name := both[point](t)[0].Name; !strings.HasPrefix(name, "codec.point/") || name != both[point](t)[1].Name {
		t.Errorf("name %q", name)
	}
}
