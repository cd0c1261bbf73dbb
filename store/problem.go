package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Part is one thing that results depend on.
type Part struct{ Name, Value string }

// Problem makes a fingerprint of named parts, which a person can read and of which
// a refusal says what differs: "slices: 16; threads: 1".
func Problem(parts ...Part) string {
	var b strings.Builder
	for k, p := range parts {
		if k > 0 {
			b.WriteString("; ")
		}
		b.WriteString(quoted(p.Name) + ": " + quoted(p.Value))
	}
	return b.String()
}

// quoted is the text as it is, or in quotes where it could be taken for more than
// one word of a fingerprint.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, ";:\"") || strings.TrimSpace(s) != s || strconv.Quote(s) != `"`+s+`"` {
		return strconv.Quote(s)
	}
	return s
}

// partsOf are the parts of a fingerprint that [Problem] made, nil of another one.
func partsOf(fingerprint string) (parts []Part) {
	rest, ok := fingerprint, true
	word := func() (w string) {
		if q, err := strconv.QuotedPrefix(rest); err == nil && q[0] == '"' {
			rest = rest[len(q):]
			w, err = strconv.Unquote(q)
			ok = ok && err == nil
			return w
		}
		end := strings.IndexAny(rest, ";:")
		if end < 0 {
			end = len(rest)
		}
		w, rest = rest[:end], rest[end:]
		return w
	}
	for rest != "" {
		p := Part{Name: word()}
		if rest, ok = cutWord(rest, ": ", ok); !ok {
			return nil
		}
		p.Value = word()
		parts = append(parts, p)
		if rest == "" {
			return parts
		}
		if rest, ok = cutWord(rest, "; ", ok); !ok || rest == "" {
			return nil
		}
	}
	return parts
}

func cutWord(s, prefix string, ok bool) (string, bool) {
	rest, found := strings.CutPrefix(s, prefix)
	return rest, ok && found
}

// Difference is a part of two fingerprints that is not the same in both.
type Difference struct {
	Name string
	Was  string // in the file; "" if it has no such part
	Is   string // of this run; "" if it has no such part
}

// Differences are the parts that differ, if both fingerprints are of [Problem],
// else nil.
func (e *FingerprintError) Differences() (all []Difference) {
	had, want := partsOf(e.Have), partsOf(e.Want)
	if had == nil || want == nil {
		return nil
	}
	for _, h := range had {
		if k := slices.IndexFunc(want, func(w Part) bool { return w.Name == h.Name }); k < 0 {
			all = append(all, Difference{h.Name, h.Value, ""})
		} else if want[k].Value != h.Value {
			all = append(all, Difference{h.Name, h.Value, want[k].Value})
		}
	}
	for _, w := range want {
		if !slices.ContainsFunc(had, func(h Part) bool { return w.Name == h.Name }) {
			all = append(all, Difference{w.Name, "", w.Value})
		}
	}
	return all
}

func (d Difference) String() string {
	return fmt.Sprintf("%s was %s, is %s", d.Name, orNone(d.Was), orNone(d.Is))
}

func orNone(s string) string {
	if s == "" {
		return "not given"
	}
	return s
}
