package farm

import "testing"

// The last segment is used again once it is used up, and not before.
func TestReuse(t *testing.T) {
	q := new(Queue)
	reuse := func(want any) {
		t.Helper()
		if got := q.Reuse(); got != want {
			t.Errorf("got what came with %v, want %v", got, want)
		}
	}
	claim := func(want ...int64) {
		t.Helper()
		for _, w := range want {
			if s, i := q.Claim(); s == nil || i != w {
				t.Fatalf("claimed %d, want %d", i, w)
			}
		}
	}
	empty := func() {
		t.Helper()
		if s, i := q.Claim(); s != nil {
			t.Fatalf("claimed %d of an empty queue", i)
		}
	}
	reuse(nil) // nothing came yet
	q.Push(Range{3, 5}, true, "a")
	claim(3)
	reuse(nil) // 4 is left
	claim(4)
	empty()
	reuse("a")
	reuse(nil) // once
	q.Push(Range{9, 11}, false, "b")
	q.Push(Range{7, 8}, false, "c")
	claim(7)
	reuse(nil)
	if s, i := q.Claim(); s == nil || i != 9 || s.Pinned || s.Load != "b" {
		t.Fatalf("claimed %d of %+v", i, s)
	}
	claim(10)
	empty()
	reuse("b")
	q.Clip(20)
	q.Push(Range{18, 22}, false, "d")
	claim(18, 19)
	empty()
	reuse("d")
}
