package codec

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"runtime"
	"testing"
)

// Every claimed length is checked before memory is taken for it.
func TestHostileLengths(t *testing.T) {
	for _, n := range []uint64{2, 1 << 20, 1 << 32, 1 << 40, math.MaxInt64, 1 << 63, math.MaxUint64} {
		head := binary.LittleEndian.AppendUint64(nil, n)
		refuse[string](t, head)
		refuse[[]byte](t, head)
		refuse[[]float64](t, head)
		refuse[[]string](t, head)
		refuse[[]padded](t, head)
		refuse[[][4]everything](t, head)
		refuse[map[string]int](t, head)
		refuse[map[struct{}]struct{}](t, binary.LittleEndian.AppendUint64(nil, n|1)) // there is one such key
		refuse[celsius](t, head)
		refuse[tree](t, head)
		refuse[[]tree](t, head)
	}
	refuse[*[1 << 26]byte](t, []byte{1})
	refuse[[]*[1 << 26]byte](t, []byte{2, 0, 0, 0, 0, 0, 0, 0, 1})
	refuse[bool](t, []byte{2})
	refuse[[2]bool](t, []byte{1, 0xff})
	refuse[[]bool](t, []byte{2, 0, 0, 0, 0, 0, 0, 0, 2})
	refuse[struct{ A, B bool }](t, []byte{0, 3})
	refuse[*int8](t, []byte{2, 0})
	refuse[map[uint8]bool](t, []byte{3, 0, 0, 0, 0, 0, 0, 0, 7, 1, 7, 0})
}

func refuse[T any](t *testing.T, b []byte) {
	t.Helper()
	for _, c := range both[T](t) {
		var v T
		if n := allocated(func() {
			if err := c.Decode(b, &v); err == nil {
				t.Errorf("%T: %x accepted", v, b)
			}
		}); n > 1<<16 {
			t.Errorf("%T: %x took %d bytes of memory", v, b, n)
		}
	}
}

// allocated is how many bytes f allocates, and what else goes on meanwhile.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Zero-size elements take no memory, however many there are said to be.
func TestManyEmptyElements(t *testing.T) {
	for _, c := range both[[]struct{}](t) {
		var v []struct{}
		if err := c.Decode(binary.LittleEndian.AppendUint64(nil, 1<<30+1), &v); err != nil || len(v) != 1<<30 {
			t.Errorf("%d, %v", len(v), err)
		}
	}
}

// fuzz: arbitrary bytes never panic, take memory out of proportion or hang, the
// two codecs agree on them, and what is accepted is exactly what encoding
// produces.
func fuzz[T any](f *testing.F, seeds ...T) {
	cs := both[T](f)
	ordered := !hasMap(reflect.TypeFor[T](), nil)
	for _, v := range seeds {
		b, err := cs[0].Append(nil, &v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:len(b)/2])
		f.Add(append(bytes.Clone(b), b...))
	}
	f.Add([]byte{})
	f.Add(bytes.Repeat([]byte{0xff}, 64))
	f.Add(bytes.Repeat([]byte{1}, 64))
	f.Fuzz(func(t *testing.T, b []byte) {
		var fast, portable T
		var err error
		if n := allocated(func() { err = cs[0].Decode(b, &fast) }); n > uint64(64*len(b)+1<<20) {
			t.Fatalf("%d bytes took %d bytes of memory", len(b), n)
		}
		if errPortable := cs[1].Decode(b, &portable); (err == nil) != (errPortable == nil) {
			t.Fatalf("copied: %v, built: %v", err, errPortable)
		}
		if err != nil {
			return
		}
		for i, v := range []*T{&fast, &portable} {
			again, err := cs[i].Append(nil, v)
			if err != nil {
				t.Fatal(err)
			}
			if len(again) != len(b) || ordered && !bytes.Equal(again, b) {
				t.Fatalf("decoded %x, encodes as %x", b, again)
			}
		}
	})
}

func FuzzEverything(f *testing.F) {
	s := sample() // but not its time, which accepts more than it writes
	fuzz(f, struct {
		I   int
		S   string
		B   []byte
		F   []float64
		N   [][]string
		P   *point
		Arr [3]padded
		T   []celsius
		W   withHidden
	}{s.I, s.S, s.B, s.F, s.N, s.P, s.Arr, []celsius{1, 2}, withHidden{Name: "w", tags: []string{"t"}}})
}

func FuzzTree(f *testing.F) {
	fuzz(f, tree{}, tree{Label: "r", Kids: []tree{{Label: "k"}}, Next: &tree{}, By: map[string]*tree{"a": nil, "b": {}}})
}

func FuzzMaps(f *testing.F) {
	fuzz(f, map[[2]int8]map[bool][]string{{1, 2}: {true: {"x", ""}}, {}: nil})
}

func FuzzPadded(f *testing.F) {
	fuzz(f, []padded{{A: 1, B: 2, C: true, D: 3, E: 4, F: 5}, {}})
}
