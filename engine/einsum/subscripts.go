package einsum

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Label names an index of a contraction. In text a label is one letter and
// its number is the letter's code point; programs that make their labels may
// use any numbers from 0 on, or [Symbol] for labels that print well.
type Label int32

// Symbol is the i-th label that text can name, i ≥ 0: a … z, A … Z, then code
// points from 192 on, as opt_einsum and cotengra number theirs, but without those
// that are spaces. Programs that make their labels with it print subscripts that
// [Parse], opt_einsum and cotengra read.
func Symbol(i int) Label {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	switch {
	case i < 0:
		return Label(i) // refused by NewSubscripts
	case i < len(letters):
		return Label(letters[i])
	}
	r := i + 192 - len(letters)
	for _, gap := range noLetters {
		if r >= gap.from {
			r += gap.count
		}
	}
	return Label(r)
}

// noLetters are the code points from 192 on for which isLetter is false: spaces,
// surrogates and the replacement character.
var noLetters = [...]struct{ from, count int }{
	{0x1680, 1}, {0x2000, 11}, {0x2028, 2}, {0x202F, 1}, {0x205F, 1}, {0x3000, 1}, {0xD800, 0x800}, {0xFFFD, 1},
}

// String is the letter, or #n for a number that no letter stands for.
func (l Label) String() string { return l.text(false) }

func (l Label) text(number bool) string {
	if !number && isLetter(rune(l)) {
		return string(rune(l))
	}
	return fmt.Sprintf("#%d", int32(l))
}

// isLetter reports whether r stands for a label in text: an ASCII letter or
// digit, or any code point above ASCII that is neither space nor control.
// Generated problems run through whole blocks of Unicode and meet symbols
// and unassigned code points on the way, so letters alone would not do.
func isLetter(r rune) bool {
	if r < utf8.RuneSelf {
		return '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z'
	}
	return utf8.ValidRune(r) && r != utf8.RuneError && !unicode.IsSpace(r) && !unicode.IsControl(r)
}

// Subscripts say which labels the axes of each operand and of the output
// carry. The value of the output at given output labels is the sum, over all
// values of the other labels, of the product of the operands:
//
//	out[o…] = Σ Π operand_k[labels of k]
//
// A label may be repeated in an operand (its diagonal is meant), and may be
// in any number of operands. One that is repeated in the output fills the
// diagonal of those axes; the other elements are zero. The zero value is not valid: see [Parse] and
// [NewSubscripts]. Subscripts are immutable.
type Subscripts struct {
	inputs [][]Label
	output []Label
}

// Parse reads subscripts such as "ij,jk->ik": one letter per axis, operands
// separated by commas, then an arrow and the labels of the output. The arrow
// is required; spaces are ignored; any Unicode letter, digit or symbol above
// ASCII is a label. Errors are an *[Error].
func Parse(text string) (Subscripts, error) {
	left, right, found := strings.Cut(text, "->")
	switch {
	case !utf8.ValidString(text):
		return Subscripts{}, wrong(ErrSyntax, "%q is not valid UTF-8", text)
	case strings.Contains(text, "..."):
		return Subscripts{}, wrong(ErrSyntax, "%q has an ellipsis; give every axis a label", text)
	case !found:
		return Subscripts{}, wrong(ErrSyntax, "%q has no \"->\"; write the labels of the output after an arrow", text)
	}
	output, err := parseLabels(right, len(left)+len("->"))
	if err != nil {
		return Subscripts{}, err
	}
	var inputs [][]Label
	at := 0
	for part := range strings.SplitSeq(left, ",") {
		labels, err := parseLabels(part, at)
		if err != nil {
			return Subscripts{}, err
		}
		inputs = append(inputs, labels)
		at += len(part) + len(",")
	}
	return NewSubscripts(inputs, output)
}

// parseLabels reads the labels of one tensor; the text began at byte at.
func parseLabels(text string, at int) ([]Label, error) {
	labels := make([]Label, 0, len(text))
	for i, r := range text {
		switch {
		case r == ' ':
		case isLetter(r):
			labels = append(labels, Label(r))
		default:
			return nil, wrong(ErrSyntax, "%q at byte %d is not a label; labels are letters and digits", r, at+i)
		}
	}
	return labels, nil
}

// NewSubscripts makes subscripts from labels: one list per operand and one
// for the output. The lists are copied. There must be at least one operand,
// and each label of the output must be in an operand. Errors are an *[Error] that wraps [ErrLabel].
func NewSubscripts(inputs [][]Label, output []Label) (Subscripts, error) {
	if len(inputs) == 0 {
		return Subscripts{}, wrong(ErrLabel, "there is no operand; give at least one")
	}
	s := Subscripts{inputs: make([][]Label, len(inputs)), output: slices.Clone(output)}
	known := make(map[Label]bool)
	for k, labels := range inputs {
		for axis, l := range labels {
			if l < 0 {
				return Subscripts{}, wrongOperand(ErrLabel, k, axis, "label %v is negative; number labels from 0", l)
			}
			known[l] = true
		}
		s.inputs[k] = slices.Clone(labels)
	}
	for axis, l := range output {
		if !known[l] {
			return Subscripts{}, wrong(ErrLabel, "label %v at output axis %d is in no operand; remove it or add it to an operand", l, axis)
		}
	}
	return s, nil
}

// Operands is the number of operands, at least 1.
func (s Subscripts) Operands() int { return len(s.inputs) }

// Input returns a copy of the labels of operand k.
func (s Subscripts) Input(k int) []Label { return slices.Clone(s.inputs[k]) }

// Output returns a copy of the labels of the output.
func (s Subscripts) Output() []Label { return slices.Clone(s.output) }

// String writes the subscripts as [Parse] reads them or, where a label has no
// letter, all labels by number: "#0#1,#1#2->#0#2". See [Symbol].
func (s Subscripts) String() string {
	var b strings.Builder
	numbers := s.numbers()
	for k, labels := range s.inputs {
		if k > 0 {
			b.WriteByte(',')
		}
		writeLabels(&b, labels, numbers)
	}
	b.WriteString("->")
	writeLabels(&b, s.output, numbers)
	return b.String()
}

// numbers reports whether a label has no letter, so that all are told by number.
func (s Subscripts) numbers() bool {
	for _, labels := range s.inputs {
		for _, l := range labels {
			if !isLetter(rune(l)) {
				return true
			}
		}
	}
	return false // labels of the output are in operands
}

func writeLabels(b *strings.Builder, labels []Label, numbers bool) {
	for _, l := range labels {
		b.WriteString(l.text(numbers))
	}
}
