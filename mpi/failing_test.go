package mpi

import (
	"errors"
	"slices"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/hataori/hataori-go/transport"
)

// scripted plays the library: the next return code of each function, and whether
// MPI_Test finds what it looks for, say what happens. Its callbacks cannot be given
// back, so there is one.
var scripted struct {
	codes  map[fn][]int // by function, in order; 0 afterwards
	found  []bool       // by MPI_Test, in order; false afterwards
	calls  []fn
	memory []uintptr // buffers that sends and receives were given
	lib    *library
}

// play notes the call and returns what it is to return.
func play(f fn) uintptr {
	s := &scripted
	s.calls = append(s.calls, f)
	if len(s.codes[f]) == 0 {
		return 0
	}
	rc := s.codes[f][0]
	s.codes[f] = s.codes[f][1:]
	return uintptr(rc)
}

func setInt(at uintptr, x int32) { *(*int32)(foreignPointer(at)) = x }

// failingLibrary returns rank 0 of 2 on the scripted library.
func failingLibrary(t *testing.T, found []bool, codes map[fn][]int) *Comm {
	t.Helper()
	s := &scripted
	s.codes, s.found, s.calls, s.memory = codes, found, nil, nil
	if s.lib == nil {
		l := &library{name: "scripted", abi: mpichABI, level: ThreadMultiple, counted: countsCompared}
		start := func(f fn) uintptr {
			return purego.NewCallback(func(buf, _, _, _, _, _, request uintptr) uintptr {
				s.memory = append(s.memory, buf)
				*(*uintptr)(foreignPointer(request)) = 77
				return play(f)
			})
		}
		l.fns[fnIsend], l.fns[fnIrecv] = start(fnIsend), start(fnIrecv)
		l.fns[fnTest] = purego.NewCallback(func(_, flag, status uintptr) uintptr {
			is := len(s.found) > 0 && s.found[0]
			s.found = s.found[min(1, len(s.found)):]
			setInt(flag, 0)
			if is { // 8 bytes of rank 1 with tag 5
				setInt(flag, 1)
				for i, x := range []int32{8, 0, 1, 5, 0} {
					setInt(status+uintptr(4*i), x)
				}
			}
			return play(fnTest)
		})
		l.fns[fnCancel] = purego.NewCallback(func(_ uintptr) uintptr { return play(fnCancel) })
		l.fns[fnErrorClass] = purego.NewCallback(func(_, class uintptr) uintptr { setInt(class, 15); return 0 })
		l.fns[fnErrorString] = purego.NewCallback(func(code, text, length uintptr) uintptr {
			copy(unsafe.Slice((*byte)(foreignPointer(text)), 8), "bad luck")
			setInt(length, 8)
			return 0
		})
		s.lib = l
	}
	s.lib.live, s.lib.flying, s.lib.ahead = true, flight{}, nil
	c := &Comm{size: 2, maxTag: 32767, lib: s.lib, h: 1, bulk: 2, has: true, probed: Status{Source: AnySource}}
	c.cut(1 << 20)
	return c
}

// failedIn checks that the error is what the library said about the function.
func failedIn(t *testing.T, err error, f fn, code int) {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Op != fnNames[f] || e.Code != code || e.Class != 15 || e.Text != "bad luck" {
		t.Errorf("%s returns %d, the error is %v", fnNames[f], code, err)
	}
}

// kept reports whether the library's buffer is still held by this package.
func (l *library) kept(buf uintptr) bool {
	return slices.ContainsFunc(l.flying.lost, func(x any) bool {
		switch x := x.(type) {
		case []byte:
			return addr(x) == buf
		case *request:
			return addr(x.buf) == buf || addr(x.land[:cap(x.land)]) == buf
		}
		return false
	})
}

func TestTakeOnAFailingLibrary(t *testing.T) {
	for _, k := range []struct {
		name  string
		in    fn
		found []bool
		codes map[fn][]int
		lost  bool
	}{
		{"a receive cannot be posted", fnIrecv, nil, map[fn][]int{fnIrecv: {3}}, false},
		{"its first test fails", fnTest, nil, map[fn][]int{fnTest: {3}}, true},
		{"its second test fails", fnTest, nil, map[fn][]int{fnTest: {0, 3}}, true},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := failingLibrary(t, k.found, k.codes)
			got := make([]byte, 64)
			_, found, taken, err := c.Take(got, 2)
			if found || taken {
				t.Errorf("found %v, taken %v", found, taken)
			}
			failedIn(t, err, k.in, 3)
			if len(c.lib.ahead) != 0 {
				t.Errorf("%d receives are thought to be posted ahead", len(c.lib.ahead))
			}
			first := scripted.memory[0]
			if c.lib.kept(first) != k.lost {
				t.Errorf("the buffer that the library may write to is kept: %v, want %v", !k.lost, k.lost)
			}
			// The next one posts a receive of its own, and gets its message.
			scripted.found = []bool{true}
			st, _, taken, err := c.Take(got, 2)
			if err != nil || !taken || st != (Status{Source: 1, Tag: 5, Count: 8}) {
				t.Errorf("after the failure: %+v, taken %v, %v", st, taken, err)
			}
			if second := scripted.memory[1]; k.lost && second == first {
				t.Error("a receive lands where the library may still write")
			}
		})
	}
}

func TestGiveOnAFailingLibrary(t *testing.T) {
	for _, k := range []struct {
		name  string
		codes map[fn][]int
		in    fn   // that is named
		at    bool // by Give itself
		ahead bool // a receive is posted then
	}{
		{"the send cannot be started", map[fn][]int{fnIsend: {3}}, fnIsend, true, false},
		{"its first test fails", map[fn][]int{fnTest: {0, 3}}, fnTest, false, true},
		{"its second test fails", map[fn][]int{fnTest: {0, 0, 3}}, fnTest, false, true},
	} {
		t.Run(k.name, func(t *testing.T) {
			c := failingLibrary(t, []bool{true}, k.codes)
			if _, _, taken, err := c.Take(make([]byte, 64), 1); err != nil || !taken { // from now on receives are wanted
				t.Fatalf("Take: %v, %v", taken, err)
			}
			p := []byte("12345678")
			r, err := c.Give(p, 1, 5)
			if (err != nil) != k.at {
				t.Fatalf("Give: %v", err)
			}
			if !k.at {
				var done bool
				if done, _, err = r.Test(); done {
					t.Error("done")
				}
				if !c.lib.kept(addr(p)) {
					t.Error("the buffer that the library may read is let go")
				}
				if _, _, err := r.Test(); !errors.Is(err, ErrEnded) {
					t.Errorf("after its failure: %v", err)
				}
			}
			failedIn(t, err, k.in, 3)
			if c.ahead.on != k.ahead {
				t.Errorf("a receive is posted: %v", c.ahead.on)
			}
			if c.active != 0 || c.lib.flying.count != 0 {
				t.Errorf("%d requests are in flight", c.active)
			}
		})
	}
}

// That no receive can be posted behind a send is not the send's failure.
func TestGiveBeforeAReceiveThatFails(t *testing.T) {
	c := failingLibrary(t, []bool{true}, map[fn][]int{fnIrecv: {0, 3, 3}})
	if _, _, taken, err := c.Take(make([]byte, 64), 1); err != nil || !taken {
		t.Fatalf("Take: %v, %v", taken, err)
	}
	r, err := c.Give([]byte("12345678"), 1, 5)
	if err != nil || r == nil || c.ahead.on {
		t.Fatalf("Give: %v, %v, a receive is posted: %v", r, err, c.ahead.on)
	}
	scripted.found = []bool{true}
	if done, _, err := r.Test(); !done || err != nil {
		t.Errorf("the send: %v, %v", done, err)
	}
	_, _, _, err = c.Take(make([]byte, 64), 1)
	failedIn(t, err, fnIrecv, 3)
}

// Requests of the plain kind keep their buffers, too, and so does a receive that cannot
// be withdrawn.
func TestRequestsOnAFailingLibrary(t *testing.T) {
	for _, send := range []bool{true, false} {
		c := failingLibrary(t, nil, map[fn][]int{fnTest: {0, 3}})
		p := make([]byte, 16)
		var r transport.Request
		var err error
		if send {
			r, err = c.Isend(p, 1, 5)
		} else {
			r, err = c.Irecv(p, 1, 5)
		}
		if err != nil {
			t.Fatal(err)
		}
		if done, _, err := r.Test(); done || err != nil {
			t.Fatalf("first test: %v, %v", done, err)
		}
		_, _, err = r.Test()
		failedIn(t, err, fnTest, 3)
		if !c.lib.kept(scripted.memory[0]) || c.active != 0 {
			t.Errorf("send %v: kept %v, %d in flight", send, c.lib.kept(scripted.memory[0]), c.active)
		}
	}
	c := failingLibrary(t, nil, map[fn][]int{fnTest: {0, 3}})
	if _, found, _, err := c.Take(make([]byte, 64), 1); found || err != nil {
		t.Fatalf("Take: %v, %v", found, err)
	}
	_, err := c.Irecv(make([]byte, 16), 1, 5) // withdraws what was posted
	failedIn(t, err, fnTest, 3)
	if !c.lib.kept(scripted.memory[0]) || c.ahead.on || c.active != 0 {
		t.Errorf("kept %v, posted %v, %d in flight", c.lib.kept(scripted.memory[0]), c.ahead.on, c.active)
	}
}
