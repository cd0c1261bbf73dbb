package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hataori/hataori-go/hataori/internal/farm"
)

func message(h Header, body []byte) []byte {
	return Finish(append(AppendHeader(nil, h), body...))
}

// writeResults packs results of one or of different lengths.
func writeResults(size int, byIndex map[int64][]byte) []byte {
	w := ResultWriter{Size: size}
	for _, i := range slices.Sorted(func(yield func(int64) bool) {
		for i := range byIndex {
			if !yield(i) {
				return
			}
		}
	}) {
		w.Begin(i)
		w.Buf = append(w.Buf, byIndex[i]...)
		if !w.End(i) {
			panic("size")
		}
	}
	return w.Buf
}

func readResults(size int, data []byte) (map[int64][]byte, error) {
	got := map[int64][]byte{}
	r := ResultReader{Size: size, Data: data}
	for {
		first, n, err := r.Run()
		if err != nil || n == 0 {
			return got, err
		}
		if size == 0 && n > 1000 {
			return got, nil // nothing was received for these, and nothing is kept
		}
		for i := first; i < first+n; i++ {
			b, err := r.Item()
			if err != nil {
				return got, err
			}
			got[i] = b
		}
	}
}

func TestHeaderRoundTrip(t *testing.T) {
	h := Header{Kind: Grant, Flags: Pinned | Variable, Epoch: math.MaxUint64, First: 1 << 40, Count: 12345}
	msg := message(h, []byte("body"))
	got, body, err := ParseHeader(msg)
	if err != nil || got != h || string(body) != "body" {
		t.Errorf("%+v %q %v", got, body, err)
	}
}

func TestHeaderFaults(t *testing.T) {
	good := message(Header{Kind: Stop}, nil)
	for name, change := range map[string]func([]byte) []byte{
		"short":         func(b []byte) []byte { return b[:HeaderSize-1] },
		"empty":         func([]byte) []byte { return nil },
		"magic":         func(b []byte) []byte { b[0]++; return b },
		"version":       func(b []byte) []byte { b[2]++; return b },
		"kind 0":        func(b []byte) []byte { b[3] = 0; return b },
		"kind":          func(b []byte) []byte { b[3] = byte(lastKind) + 1; return b },
		"flags":         func(b []byte) []byte { b[7] = 0x80; return b },
		"longer body":   func(b []byte) []byte { return append(b, 0) },
		"shorter body":  func(b []byte) []byte { b[HeaderSize-8] = 1; return b },
		"negative body": func(b []byte) []byte { b[HeaderSize-1] = 0xff; return b },
	} {
		if _, _, err := ParseHeader(change(bytes.Clone(good))); !errors.Is(err, ErrMessage) || !errors.As(err, new(*Error)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestItems(t *testing.T) {
	h := Header{Kind: Grant, First: 7, Count: 3}
	it, err := ParseItems(h, []byte("aabbcc"), 2)
	if err != nil || string(it.At(7)) != "aa" || string(it.At(9)) != "cc" {
		t.Error(err)
	}
	if b := it.At(7); cap(b) != 2 {
		t.Error("an item can be appended to over the next one")
	}
	if it, err = ParseItems(h, nil, 0); err != nil || len(it.At(8)) != 0 {
		t.Error(err)
	}
	h.Flags = Variable
	body := []byte{1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 'x', 'y', 'z'}
	if it, err = ParseItems(h, body, -1); err != nil || string(it.At(7)) != "x" || string(it.At(8)) != "" || string(it.At(9)) != "yz" {
		t.Error(err)
	}
	keyed := []byte{9, 0, 0, 0, 0, 0, 0, 0, 'a', 'a', 2, 0, 0, 0, 0, 0, 0, 0, 'b', 'b'}
	if it, err = ParseItems(Header{First: 7, Count: 2, Flags: Keyed}, keyed, 2); err != nil || it.Key(7) != 9 || it.Key(8) != 2 || string(it.At(8)) != "bb" || len(it.Raw(8)) != 10 {
		t.Error(err)
	}
	long := append([]byte{10, 0, 0, 0, 0, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0}, keyed...)
	if it, err = ParseItems(Header{First: 7, Count: 2, Flags: Keyed | Variable}, long, -1); err != nil || it.Key(7) != 9 || string(it.At(7)) != "aa" {
		t.Error(err)
	}
	for name, f := range map[string]func() (*Items, error){
		"short key": func() (*Items, error) {
			return ParseItems(Header{Count: 1, Flags: Keyed | Variable}, []byte{7, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7}, -1)
		},
		"negative key": func() (*Items, error) {
			return ParseItems(Header{Count: 1, Flags: Keyed}, bytes.Repeat([]byte{255}, 8), 0)
		},
		"key missing":       func() (*Items, error) { return ParseItems(Header{Count: 1, Flags: Keyed}, make([]byte, 2), 2) },
		"remainder":         func() (*Items, error) { return ParseItems(Header{Count: 3}, make([]byte, 7), 2) },
		"count times size":  func() (*Items, error) { return ParseItems(Header{Count: 1 << 62}, make([]byte, 8), 8) },
		"overflow":          func() (*Items, error) { return ParseItems(Header{First: math.MaxInt64, Count: 1}, make([]byte, 8), 8) },
		"negative first":    func() (*Items, error) { return ParseItems(Header{First: -1, Count: 1}, make([]byte, 8), 8) },
		"no items":          func() (*Items, error) { return ParseItems(Header{}, nil, 8) },
		"bytes for nothing": func() (*Items, error) { return ParseItems(Header{Count: 1}, make([]byte, 1), 0) },
		"form":              func() (*Items, error) { return ParseItems(Header{Count: 1}, make([]byte, 8), -1) },
		"other form":        func() (*Items, error) { return ParseItems(Header{Count: 1, Flags: Variable}, make([]byte, 8), 8) },
		"table too long":    func() (*Items, error) { return ParseItems(Header{Count: 1 << 40, Flags: Variable}, body, -1) },
		"backwards": func() (*Items, error) {
			b := bytes.Clone(body)
			b[0] = 2
			return ParseItems(h, b, -1)
		},
		"too few bytes": func() (*Items, error) { return ParseItems(h, body[:len(body)-1], -1) },
		"too many":      func() (*Items, error) { return ParseItems(h, append(bytes.Clone(body), 0), -1) },
	} {
		if _, err := f(); !errors.Is(err, ErrMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestReportRoundTrip(t *testing.T) {
	rep := farm.Report{Want: 3, Load: farm.Load{Lanes: 4, Idle: 2, Item: 77, Group: true}, Failed: []int64{9, 1 << 41},
		Dropped: []farm.Range{{First: 10, End: 20}}, Back: []farm.Range{{First: 30, End: 31}, {First: 40, End: 50}},
		Returned: true, Bye: true}
	results := [][]byte{[]byte("res"), nil, []byte("ults")}
	body := AppendReport(nil, rep, results, []byte("stats"))
	got, res, stats, err := ParseReport(Header{Flags: ReportFlags(rep)}, body)
	if err != nil || string(res) != "results" || string(stats) != "stats" {
		t.Errorf("%q %q %v", res, stats, err)
	}
	if d := cmp.Diff(rep, got); d != "" {
		t.Error(d)
	}
	for i := range body { // every truncation is found
		if _, _, _, err := ParseReport(Header{}, body[:i]); !errors.Is(err, ErrMessage) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
}

// Items that had others before forget them.
func TestItemsAgain(t *testing.T) {
	table := func(ends ...uint64) (b []byte) {
		for _, e := range ends {
			b = binary.LittleEndian.AppendUint64(b, e)
		}
		return b
	}
	key := table(5)
	forms := []struct {
		h    Header
		body []byte
		size int
		want string // of index 7
	}{
		{Header{First: 7, Count: 1}, []byte("abcd"), 4, "abcd"},
		{Header{First: 7, Count: 1, Flags: Variable}, append(table(2), "xy"...), -1, "xy"},
		{Header{First: 6, Count: 2, Flags: Keyed}, append(append(append(bytes.Clone(key), 'p'), key...), 'q'), 1, "q"},
		{Header{First: 7, Count: 1, Flags: Keyed | Variable}, append(append(table(11), key...), "rst"...), -1, "rst"},
		{Header{First: 0, Count: 100}, bytes.Repeat([]byte("z"), 100), 1, "z"},
	}
	for _, first := range forms {
		for _, then := range forms {
			it := new(Items)
			for _, f := range []struct {
				h    Header
				body []byte
				size int
				want string
			}{first, then} {
				if err := it.Parse(f.h, f.body, f.size); err != nil {
					t.Fatal(err)
				}
				if got := string(it.At(7)); got != f.want || it.Keyed() != (f.h.Flags&Keyed != 0) {
					t.Errorf("%q after %+v, want %q", got, first.h, f.want)
				}
			}
		}
	}
}

func TestResults(t *testing.T) {
	for _, size := range []int{-1, 0, 2} {
		want := map[int64][]byte{}
		for _, i := range []int64{0, 1, 2, 5, 6, 100, 1 << 40} {
			b := []byte{byte(i), byte(i >> 8)}
			switch size {
			case -1:
				b = b[:i%3]
			case 0:
				b = b[:0]
			}
			want[i] = b
		}
		data := writeResults(size, want)
		got, err := readResults(size, data)
		if err != nil || len(got) != len(want) {
			t.Fatalf("size %d: %v, %v", size, got, err)
		}
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("size %d: %d is %x", size, i, got[i])
			}
		}
	}
}

// A result that is taken back, or has the wrong size, leaves no trace.
func TestResultUndo(t *testing.T) {
	w := ResultWriter{Size: 2}
	put := func(i int64, b string, undo bool) bool {
		w.Begin(i)
		w.Buf = append(w.Buf, b...)
		if undo {
			w.Undo()
			return false
		}
		return w.End(i)
	}
	put(3, "xx", true)
	if !put(4, "aa", false) || put(5, "b", false) || !put(6, "cc", false) {
		t.Error("sizes")
	}
	put(7, "zz", true)
	if !put(7, "dd", false) {
		t.Error("size")
	}
	got, err := readResults(2, w.Buf)
	if err != nil || len(got) != 3 || string(got[4]) != "aa" || string(got[6]) != "cc" || string(got[7]) != "dd" || w.Count != 3 {
		t.Errorf("%v %v", got, err)
	}
}

func FuzzMessage(f *testing.F) {
	rep := farm.Report{Want: 1, Failed: []int64{3}, Dropped: []farm.Range{{First: 4, End: 6}}}
	res := writeResults(8, map[int64][]byte{1: make([]byte, 8), 2: make([]byte, 8)})
	f.Add(message(Header{Kind: Report, Flags: Bye}, AppendReport(nil, rep, [][]byte{res}, nil)), 8)
	f.Add(message(Header{Kind: Grant, First: 1, Count: 2}, make([]byte, 16)), 8)
	f.Add(message(Header{Kind: Grant, Count: 1, Flags: Variable}, make([]byte, 8)), -1)
	f.Add(message(Header{Kind: Grant, First: 1, Count: 2, Flags: Keyed}, make([]byte, 32)), 8)
	f.Add(message(Header{Kind: Grant, Count: 1, Flags: Keyed | Variable}, []byte{8, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0}), -1)
	f.Add(message(Header{Kind: Notice, First: 1, Count: 7}, nil), 0)
	f.Fuzz(func(t *testing.T, msg []byte, size int) {
		size = max(size, -1)
		h, body, err := ParseHeader(msg)
		if err != nil {
			if !errors.Is(err, ErrMessage) {
				t.Fatal(err)
			}
			return
		}
		switch h.Kind {
		case Grant:
			it, err := ParseItems(h, body, size)
			if err != nil {
				break
			}
			total := 0
			for i := h.First; i < h.First+min(h.Count, 1000); i++ {
				total += len(it.At(i))
			}
			if total > len(body) {
				t.Fatalf("%d bytes of items in %d", total, len(body))
			}
		case Report:
			rep, results, stats, err := ParseReport(h, body)
			if err != nil {
				break
			}
			again := AppendReport(nil, rep, [][]byte{results}, stats)
			if !bytes.Equal(again, body) {
				t.Fatalf("%x becomes %x", body, again)
			}
			got, err := readResults(size, results)
			if err != nil && !errors.Is(err, ErrMessage) {
				t.Fatal(err)
			}
			var n int64
			r := ResultReader{Size: size, Data: results}
			skipped := r.Runs(func(first, count int64) error {
				n += count
				return nil
			})
			if size != 0 && (skipped == nil) != (err == nil) || err == nil && size != 0 && n < int64(len(got)) {
				t.Fatalf("reading finds %d results, %v; skipping %d, %v", len(got), err, n, skipped)
			}
		}
	})
}

// The bytes that a small grant came in can be used again; those of a longer one are
// kept.
func TestSmallItems(t *testing.T) {
	for _, n := range []int{0, 1, Small, Small + 1} {
		for _, size := range []int{1, -1} {
			h, body := Header{Count: int64(n)}, bytes.Repeat([]byte{7}, n)
			if size < 0 {
				h = Header{Count: 1, Flags: Variable}
				body = append([]byte{byte(n), 0, 0, 0, 0, 0, 0, 0}, body...)
			} else if n == 0 {
				continue // a grant has items
			}
			it, err := ParseItems(h, body, size)
			if err != nil {
				t.Fatal(err)
			}
			small := len(body) <= Small
			clear(body)
			if got := it.At(0); n > 0 && small && got[0] != 7 {
				t.Errorf("%d bytes of size %d: the item is in the message", n, size)
			}
		}
	}
}
