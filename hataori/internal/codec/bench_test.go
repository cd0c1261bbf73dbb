package codec

import (
	"bytes"
	"encoding/gob"
	"testing"
)

// Each type against encoding/gob with warm encoder and decoder, gob's best case.

func BenchmarkInt(b *testing.B)     { bench(b, 42) }
func BenchmarkStruct(b *testing.B)  { bench(b, [8]float64{1, 2, 3, 4, 5, 6, 7, 8}) }
func BenchmarkPadded(b *testing.B)  { bench(b, padded{A: 1, B: 2, C: true, D: 3, E: 4, F: 5}) }
func BenchmarkNested(b *testing.B)  { bench(b, sample()) }
func BenchmarkFloats(b *testing.B)  { bench(b, make([]float64, 1<<17)) } // 1 MiB
func BenchmarkStrings(b *testing.B) { bench(b, []string{"one", "two", "three", "four"}) }

func bench[T any](b *testing.B, v T) {
	c := both[T](b)[0]
	data, err := c.Append(nil, &v)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		buf := make([]byte, 0, len(data))
		for b.Loop() {
			if _, err := c.Append(buf, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		var got T
		for b.Loop() {
			if err := c.Decode(data, &got); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("copy", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		buf := make([]byte, len(data))
		for b.Loop() {
			copy(buf, data)
		}
	})
	b.Run("gob", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		var buf bytes.Buffer
		enc, dec := gob.NewEncoder(&buf), gob.NewDecoder(&buf)
		for b.Loop() {
			var got T
			if err := enc.Encode(&v); err != nil {
				b.Fatal(err)
			}
			if err := dec.Decode(&got); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func TestFixedSizesAllocateNothing(t *testing.T) {
	noAllocs(t, 42)
	noAllocs(t, point{1, 2, 3})
	noAllocs(t, padded{A: 1})
	noAllocs(t, [4]bool{true})
	noAllocs(t, [3]padded{})
	noAllocs(t, struct{}{})
}

func noAllocs[T any](t *testing.T, v T) {
	t.Helper()
	for _, c := range both[T](t) {
		buf := make([]byte, 0, 256)
		var err error
		if n := testing.AllocsPerRun(100, func() {
			var b []byte
			if b, err = c.Append(buf, &v); err == nil {
				err = c.Decode(b, &v)
			}
		}); n != 0 || err != nil {
			t.Errorf("%T: %g allocations, %v", v, n, err)
		}
	}
}
