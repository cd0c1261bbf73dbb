package store

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Problem's text is read back part by part, whatever the words.
func TestProblemParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var parts []Part
		for range rapid.IntRange(1, 4).Draw(t, "n") {
			parts = append(parts, Part{rapid.String().Draw(t, "name"), rapid.String().Draw(t, "value")})
		}
		if got := partsOf(Problem(parts...)); !slices.Equal(got, parts) {
			t.Fatalf("%q becomes %q", parts, got)
		}
	})
	if s := Problem(Part{"slices", "16"}, Part{"file", "a: b"}); s != `slices: 16; file: "a: b"` {
		t.Error(s)
	}
}

func FuzzProblemParts(f *testing.F) {
	for _, s := range []string{"", "a: b", "a: b; c: d", `"a": "b;c"`, "a", "a: b;", `"a`, "a: b; ", ";", ": : "} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if parts := partsOf(s); parts != nil && !slices.Equal(partsOf(Problem(parts...)), parts) {
			t.Errorf("%q: %q", s, parts)
		}
	})
}

func TestFingerprintErrorNamesTheDifference(t *testing.T) {
	e := &FingerprintError{"out.h5", Problem(Part{"slices", "16"}, Part{"threads", "1"}, Part{"old", "x"}),
		Problem(Part{"threads", "1"}, Part{"slices", "32"}, Part{"new", "y z"})}
	const want = "store: out.h5 belongs to another problem: slices was 16, is 32; old was x, is not given; new was not given, is y z; "
	if s := e.Error(); !strings.HasPrefix(s, want) || strings.Contains(s, "threads") {
		t.Error(s)
	}
	for _, other := range []string{"", "a hash", "12 lines of a"} {
		e.Have = other
		if s := e.Error(); e.Differences() != nil || !strings.Contains(s, `"`+other+`"`) {
			t.Error(s)
		}
	}
}
