package einsum

import (
	"errors"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, text := range []string{
		"ij,jk->ik", "->", ",->", "a->", "ii->i", "ij->iji", "αβ,βÖ×->α×", "0a,1a->01", "ij,ij,ij->j", "΢x->x΢",
	} {
		s, err := Parse(text)
		if err != nil {
			t.Errorf("Parse(%q): %v", text, err)
		} else if s.String() != text {
			t.Errorf("Parse(%q) writes %q", text, s)
		}
	}
	s, err := Parse(" ij , jk -> ik ")
	if err != nil || s.String() != "ij,jk->ik" {
		t.Errorf("spaces are not ignored: %v, %v", s, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, kind := range map[string]error{
		"":             ErrSyntax,
		"ij,jk":        ErrSyntax,
		"ij->j->i":     ErrSyntax,
		"i+j->i":       ErrSyntax,
		"i...->i":      ErrSyntax,
		"i\nj->i":      ErrSyntax,
		"i\xff->i":     ErrSyntax,
		"i\u00a0j->i":  ErrSyntax,
		"ij->k":        ErrLabel,
		"ij,jk->ik,":   ErrSyntax,
		"ij,j-k->ik":   ErrSyntax,
		"\ufffdj->j":   ErrSyntax,
		"i,j,k->ijk-l": ErrSyntax,
	} {
		_, err := Parse(text)
		var e *Error
		if !errors.As(err, &e) || !errors.Is(err, kind) {
			t.Errorf("Parse(%q): %v, want an *Error of %v", text, err, kind)
		}
	}
}

// TestSymbol: the letters of opt_einsum's get_symbol at its corners, all different,
// all read back.
func TestSymbol(t *testing.T) {
	for i, want := range map[int]rune{0: 'a', 25: 'z', 26: 'A', 51: 'Z', 52: 'À', 200: 'Ŕ', 5000: 'ᐔ'} {
		if got := Symbol(i); got != Label(want) {
			t.Errorf("Symbol(%d) is %v, want %c", i, got, want)
		}
	}
	last := Symbol(51)
	for i := 52; i < 70000; i++ {
		l := Symbol(i)
		if i > 52 && l <= last {
			t.Fatalf("Symbol(%d) is %d, after %d", i, l, last)
		}
		last = l
		if i > 6000 && i < 50000 {
			continue // one block of plain symbols after another
		}
		text := l.String() + "->" + l.String()
		if s, err := Parse(text); err != nil || s.Output()[0] != l {
			t.Fatalf("Symbol(%d): %q is read as %v, %v", i, text, s, err)
		}
	}
	if _, err := NewSubscripts([][]Label{{Symbol(-1)}}, nil); !errors.Is(err, ErrLabel) {
		t.Errorf("a negative number: %v", err)
	}
}

func TestIntegerLabels(t *testing.T) {
	s, err := NewSubscripts([][]Label{{1000, 7}, {7, 2}}, []Label{2, 1000})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := s.String(), "#1000#7,#7#2->#2#1000"; got != want {
		t.Errorf("written as %q, want %q", got, want)
	}
	if _, err := NewSubscripts([][]Label{{-1}}, nil); !errors.Is(err, ErrLabel) {
		t.Errorf("a negative label: %v", err)
	}
	if _, err := NewSubscripts(nil, nil); !errors.Is(err, ErrLabel) {
		t.Errorf("no operand: %v", err)
	}
	inputs := [][]Label{{1, 2}}
	if s, err = NewSubscripts(inputs, []Label{1}); err != nil {
		t.Fatal(err)
	}
	inputs[0][0] = 9
	if s.Input(0)[0] != 1 {
		t.Error("the subscripts share memory with the caller's list")
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"ij,jk->ik", "->", ",,->", "ii->i", "ab,bc->a->c", "i...->", "é,×->×é", " a b -> b", "\xff->"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			if e := (*Error)(nil); !errors.As(err, &e) {
				t.Fatalf("%q: %T is no *Error", text, err)
			}
			return
		}
		again, err := Parse(s.String())
		if err != nil || again.String() != s.String() {
			t.Fatalf("%q is written as %q, which reads as %v, %v", text, s, again, err)
		}
		if s.Operands() > 50 {
			return // reading is what is tested; planning takes its time
		}
		shapes := make([][]int, s.Operands())
		for k := range shapes {
			shapes[k] = make([]int, len(s.Input(k)))
			for axis := range shapes[k] {
				shapes[k][axis] = 1 + int(s.Input(k)[axis])%3
			}
		}
		path, err := Greedy(s, shapes, GreedyOptions{})
		if err == nil {
			_, err = NewPlan(s, shapes, path)
		}
		if err != nil && !errors.Is(err, ErrSize) && !(errors.Is(err, ErrShape) && strings.Contains(err.Error(), "axes")) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
