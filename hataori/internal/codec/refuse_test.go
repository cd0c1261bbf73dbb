package codec

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"
)

type hiddenPointer struct {
	A     int
	inner *int
}

type hiddenDeep struct {
	A     int
	inner [2]struct{ M map[string]int }
}

type stamped struct { // its MarshalBinary is the time's and knows no X
	time.Time
	X int
}

type stampedByPointer struct {
	*time.Time
	X int
}

type stampedDeep struct {
	stampedOnly
	X int
}

type stampedOnly struct{ time.Time }

// stampedOwn embeds a time too, but says itself how it is sent.
type stampedOwn struct {
	time.Time
	X byte
}

func (s stampedOwn) AppendBinary(b []byte) ([]byte, error) {
	return s.Time.AppendBinary(append(b, s.X))
}

func (s *stampedOwn) UnmarshalBinary(b []byte) error {
	s.X = b[0]
	return s.Time.UnmarshalBinary(b[1:])
}

// halfOwn writes itself but takes the reading from its embedded field.
type halfOwn struct {
	time.Time
	X byte
}

func (s halfOwn) AppendBinary(b []byte) ([]byte, error) { return append(b, s.X), nil }

type embeddedPointer struct {
	*base
	X int
}

type cache struct {
	mu sync.Mutex
	V  int
}

// The fields are there for the compiler of plans to find.
var (
	_ = hiddenPointer{}.inner
	_ = hiddenDeep{}.inner
	_ = (&cache{}).mu.TryLock
)

func TestRefusedTypes(t *testing.T) {
	check := func(path, reason string, build func() error) {
		t.Helper()
		var te *TypeError
		err := build()
		if !errors.As(err, &te) {
			t.Errorf("%s: %v", path, err)
			return
		}
		if te.Path != path || !strings.Contains(te.Reason, reason) || !strings.Contains(te.Error(), path) {
			t.Errorf("want %s, which %q; got %v", path, reason, te)
		}
	}
	check("error", "interface", try[error])
	check("func()", "func", try[func()])
	check("chan int", "chan", try[chan int])
	check("uintptr", "uintptr", try[uintptr])
	check("unsafe.Pointer", "unsafe.Pointer", try[unsafe.Pointer])
	check("context.Context", "interface", try[context.Context])
	check("[]interface {}[]", "interface", try[[]any])
	check("map[string]interface {}[value]", "interface", try[map[string]any])
	check("map[interface {}]int[key]", "interface", try[map[any]int])
	check("codec.hiddenPointer.inner", "unexported", try[hiddenPointer])
	check("codec.hiddenDeep.inner[].M", "unexported", try[hiddenDeep])
	check("*codec.hiddenPointer.inner", "unexported", try[*hiddenPointer])
	check("codec.embeddedPointer.base", "unexported", try[embeddedPointer])
	check("codec.cache.mu", "lock", try[cache])
	check("os.File.file", "unexported", try[os.File])
	check("strings.Builder.addr", "unexported", try[strings.Builder])
	check("codec.stamped", "embedded field Time", try[stamped])
	check("codec.stampedByPointer", "embedded field Time", try[stampedByPointer])
	check("codec.stampedDeep", "embedded field stampedOnly", try[stampedDeep])
	check("codec.halfOwn", "embedded field Time", try[halfOwn])
	check("struct { F func() }.F", "func", try[struct{ F func() }])
}

func try[T any]() error { _, err := For[T](); return err }

func TestTypesThatMarshalThemselves(t *testing.T) {
	when := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
	roundTrip(t, stampedOnly{when})
	roundTrip(t, stampedOwn{when, 7})
	roundTrip(t, netip.MustParseAddr("10.1.2.3"))
	roundTrip(t, struct {
		a netip.Addr
		b *struct{}
	}{a: netip.MustParseAddr("::1")}.a)
	roundTrip(t, bytes.Buffer{})
	// The nanosecond and the offset survive.
	odd := time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.FixedZone("", 5400))
	for _, c := range both[time.Time](t) {
		b, err := c.Append(nil, &odd)
		if err != nil {
			t.Fatal(err)
		}
		var got time.Time
		if err := c.Decode(b, &got); err != nil || !got.Equal(odd) || got.Format(time.RFC3339Nano) != odd.Format(time.RFC3339Nano) {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

type rude struct{ N int }

func (r rude) MarshalBinary() ([]byte, error) {
	switch r.N {
	case 1:
		panic("rude")
	case 2:
		panic(errCold)
	}
	return []byte{byte(r.N)}, nil
}

func (r *rude) UnmarshalBinary(b []byte) error {
	r.N = int(b[0]) // panics on nothing
	_ = append(b, 0xff)
	if r.N == 9 {
		return errNotCelsius
	}
	return nil
}

func TestFailingMarshalling(t *testing.T) {
	for _, c := range both[[]rude](t) {
		var ee *EncodeError
		dst := []byte("kept")
		for _, v := range []rude{{1}, {2}} {
			b, err := c.Append(dst, &[]rude{{3}, v})
			if !errors.As(err, &ee) || string(b) != "kept" {
				t.Errorf("%v: %q, %v", v, b, err)
			}
			if v.N == 2 && !errors.Is(err, errCold) {
				t.Errorf("the panic's error is lost: %v", err)
			}
		}
		b, err := c.Append(nil, &[]rude{{9}, {8}})
		if err != nil {
			t.Fatal(err)
		}
		var got []rude
		var de *DecodeError
		if err := c.Decode(b, &got); !errors.As(err, &de) || !errors.Is(err, errNotCelsius) {
			t.Errorf("got %v", err)
		}
		b[16] = 7 // what UnmarshalBinary appends must not reach its neighbour
		if err := c.Decode(b, &got); err != nil || !reflect.DeepEqual(got, []rude{{7}, {8}}) {
			t.Errorf("got %v, %v", got, err)
		}
		if err := c.Decode([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, &got); !errors.As(err, &de) {
			t.Errorf("a panic in UnmarshalBinary: %v", err)
		}
	}
	for _, c := range both[celsius](t) {
		cold := celsius(-300)
		if _, err := c.Append(nil, &cold); !errors.Is(err, errCold) {
			t.Errorf("got %v", err)
		}
	}
}

type ring struct{ Next, Prev *ring }

type nest []nest

func TestGraphsAreRefusedWhenEncoded(t *testing.T) {
	list := func(n int) *tree {
		var head *tree
		for range n {
			head = &tree{Next: head}
		}
		return head
	}
	diamonds := &tree{}
	for range 60 {
		diamonds = &tree{Next: diamonds, By: map[string]*tree{"again": diamonds}}
	}
	circle := make(nest, 1)
	circle[0] = circle
	a, b := &ring{}, &ring{}
	a.Next, b.Prev = b, a
	byMap := &tree{By: map[string]*tree{}}
	byMap.By["self"] = &tree{By: byMap.By}

	check := func(what string, want error, encode func() error) {
		t.Helper()
		if err := encode(); !errors.Is(err, want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	check("diamonds", errGraph, encode(t, diamonds))
	check("slice in itself", errGraph, encode(t, circle))
	check("doubly linked list", errGraph, encode(t, a))
	check("map in itself", errGraph, encode(t, byMap))
	check("long list", errDepth, encode(t, list(MaxDepth+1)))
	check("almost as long", nil, encode(t, list(MaxDepth)))
	check("empty slices share an address", nil, encode(t, nest{{}, {}, {{}}}))

	// Shared nodes of types that are not recursive are sent twice.
	x := 5
	for _, c := range both[[2]*int](t) {
		b, err := c.Append(nil, &[2]*int{&x, &x})
		if err != nil {
			t.Fatal(err)
		}
		var got [2]*int
		if err := c.Decode(b, &got); err != nil || *got[0] != 5 || *got[1] != 5 || got[0] == got[1] {
			t.Errorf("got %v, %v", got, err)
		}
	}
}

func encode[T any](t *testing.T, v T) func() error {
	c := both[T](t)[0]
	return func() error { _, err := c.Append(nil, &v); return err }
}

func TestDeepBytesAreRefused(t *testing.T) {
	list := &tree{}
	for range MaxDepth - 1 {
		list = &tree{Next: list}
	}
	c := both[*tree](t)[0]
	b, err := c.Append(nil, &list)
	if err != nil {
		t.Fatal(err)
	}
	var got *tree
	if err := c.Decode(b, &got); err != nil {
		t.Fatal(err)
	}
	// A longer list: one node is label, Kids, Next, By.
	node := append(make([]byte, 16), 1)
	deep := append([]byte{1}, bytes.Repeat(node, 10*MaxDepth)...)
	if err := c.Decode(deep, &got); !errors.Is(err, errDepth) {
		t.Errorf("got %v", err)
	}
	var n nest
	bomb := bytes.Repeat([]byte{2, 0, 0, 0, 0, 0, 0, 0}, 2*MaxDepth)
	if err := both[nest](t)[0].Decode(bomb, &n); !errors.Is(err, errDepth) {
		t.Errorf("got %v", err)
	}
}
