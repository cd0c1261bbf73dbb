package npy

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/hataori/hataori-go/engine"
)

// ErrFormat: the bytes are not a .npy file, or it was cut or changed.
var ErrFormat = errors.New("npy: not a valid .npy file")

// ErrType: the file's element type is none of package engine's.
var ErrType = errors.New("npy: element type is not supported")

// Error says what is wrong with a file, and where.
type Error struct {
	Path   string // "" for a stream
	Offset int64  // byte of the file from which on it is wrong
	Reason string
	Err    error // ErrFormat, ErrType, or what reading or writing failed with
}

func (e *Error) Error() string {
	where := fmt.Sprintf("byte %d", e.Offset)
	if e.Path != "" {
		where = e.Path + ", " + where
	}
	text := e.Err.Error()
	if !strings.HasPrefix(text, "npy: ") {
		text = "npy: " + text
	}
	return fmt.Sprintf("%s: %s: %s", text, where, e.Reason)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

const (
	magic = "\x93NUMPY"
	// maxHeader bounds the text of a header; numpy's own limit is lower still.
	maxHeader = 1 << 16
)

// header is what stands before the elements.
type header struct {
	dtype   engine.DType
	swapped bool // the other byte order than this machine's
	fortran bool
	shape   []int
	size    int64 // bytes of the header itself
}

// types are numpy's names of the element types, without the byte order.
var types = map[string]engine.DType{
	"b1": engine.Bool, "i4": engine.Int32, "i8": engine.Int64, "f4": engine.Float32,
	"f8": engine.Float64, "c8": engine.Complex64, "c16": engine.Complex128,
}

func typeName(d engine.DType) string {
	for name, t := range types {
		if t == d {
			return name
		}
	}
	return ""
}

// nativeOrder is how numpy writes this machine's byte order.
func nativeOrder() byte {
	if binary.NativeEndian.Uint16([]byte{1, 0}) == 1 {
		return '<'
	}
	return '>'
}

func readHeader(r io.Reader) (h header, err error) {
	var lead [12]byte
	if err := readAll(r, lead[:10], 0); err != nil {
		return h, err
	}
	if string(lead[:6]) != magic {
		return h, &Error{Offset: 0, Reason: "it does not begin with \\x93NUMPY", Err: ErrFormat}
	}
	length := int64(binary.LittleEndian.Uint16(lead[8:]))
	h.size = 10
	switch major := lead[6]; major {
	case 1:
	case 2, 3:
		if err := readAll(r, lead[10:12], 10); err != nil {
			return h, err
		}
		length = int64(binary.LittleEndian.Uint32(lead[8:]))
		h.size = 12
	default:
		return h, &Error{Offset: 6, Reason: fmt.Sprintf("version %d.%d of the format; 1.0, 2.0 and 3.0 are known", major, lead[7]), Err: ErrFormat}
	}
	if length > maxHeader {
		return h, &Error{Offset: 8, Reason: fmt.Sprintf("a header of %d bytes, at most %d", length, maxHeader), Err: ErrFormat}
	}
	text := make([]byte, length)
	if err := readAll(r, text, h.size); err != nil {
		return h, err
	}
	p := parser{text: string(text), at: h.size}
	h.size += length
	p.dict(&h)
	return h, p.err
}

// readAll fills p, which begins at byte at of the file.
func readAll(r io.Reader, p []byte, at int64) error {
	n, err := io.ReadFull(r, p)
	if err == nil {
		return nil
	}
	at += int64(n)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &Error{Offset: at, Reason: fmt.Sprintf("the file ends %d bytes too early: it was cut short", len(p)-n), Err: ErrFormat}
	}
	return &Error{Offset: at, Reason: "cannot be read", Err: err}
}

// parser reads the header's text, a Python dictionary of the three keys
// 'descr', 'fortran_order' and 'shape' in any order.
type parser struct {
	text string // what is left
	at   int64  // its place in the file
	err  error
}

func (p *parser) fail(err error, format string, args ...any) {
	if p.err == nil {
		p.err = &Error{Offset: p.at, Reason: fmt.Sprintf(format, args...), Err: err}
	}
}

func (p *parser) skip(n int) { p.text, p.at = p.text[n:], p.at+int64(n) }

func (p *parser) space() {
	p.skip(len(p.text) - len(strings.TrimLeft(p.text, " \t\n")))
}

// take consumes a token if it comes next.
func (p *parser) take(token string) bool {
	p.space()
	if p.err != nil || !strings.HasPrefix(p.text, token) {
		return false
	}
	p.skip(len(token))
	return true
}

func (p *parser) need(token string) {
	if !p.take(token) {
		p.fail(ErrFormat, "the header has no %q here", token)
	}
}

func (p *parser) dict(h *header) {
	seen := map[string]bool{}
	p.need("{")
	for p.err == nil && !p.take("}") {
		key := p.str()
		if seen[key] {
			p.fail(ErrFormat, "the header has %q twice", key)
		}
		seen[key] = true
		p.need(":")
		switch key {
		case "descr":
			p.descr(h)
		case "fortran_order":
			if h.fortran = p.take("True"); !h.fortran {
				p.need("False")
			}
		case "shape":
			p.shape(h)
		default:
			p.fail(ErrFormat, "the header has an unknown key %q", key)
		}
		if !p.take(",") {
			p.need("}")
			break
		}
	}
	if p.space(); p.text != "" {
		p.fail(ErrFormat, "the header goes on after its end")
	}
	for _, key := range []string{"descr", "fortran_order", "shape"} {
		if !seen[key] {
			p.fail(ErrFormat, "the header has no %q", key)
		}
	}
}

// str reads a string in either quotes; numpy needs no escapes.
func (p *parser) str() string {
	p.space()
	for _, quote := range []string{"'", `"`} {
		if p.err != nil || !strings.HasPrefix(p.text, quote) {
			continue
		}
		if end := strings.Index(p.text[1:], quote); end >= 0 {
			s := p.text[1 : 1+end]
			p.skip(end + 2)
			return s
		}
	}
	p.fail(ErrFormat, "the header has no string here")
	return ""
}

func (p *parser) descr(h *header) {
	if p.space(); strings.HasPrefix(p.text, "[") {
		p.fail(ErrType, "a structured type; save one field of it: numpy.save(file, a['name'])")
		return
	}
	before := p.at
	name := p.str()
	if p.err != nil {
		return
	}
	order := nativeOrder()
	bare := name
	if len(name) > 0 && strings.IndexByte("<>|=", name[0]) >= 0 {
		order, bare = name[0], name[1:]
	}
	d, ok := types[bare]
	if !ok || (order == '|') != (d == engine.Bool) {
		p.at = before
		p.fail(ErrType, "%q; convert it before it is saved, for example a.astype('float64')", name)
		return
	}
	h.dtype, h.swapped = d, order != nativeOrder() && order != '=' && order != '|'
}

// shape reads a tuple of extents: (), (3,), (3, 4). Python 2 wrote 3L.
func (p *parser) shape(h *header) {
	p.need("(")
	for n := 0; p.err == nil && !p.take(")"); n++ {
		p.space()
		digits := 0
		for digits < len(p.text) && p.text[digits] >= '0' && p.text[digits] <= '9' {
			digits++
		}
		extent, err := strconv.ParseInt(p.text[:digits], 10, 0)
		switch {
		case err != nil:
			p.fail(ErrFormat, "the shape has no extent here")
			return
		case n == engine.MaxRank:
			p.fail(ErrType, "more than %d axes", engine.MaxRank)
			return
		}
		p.skip(digits)
		p.take("L")
		h.shape = append(h.shape, int(extent))
		if !p.take(",") {
			p.need(")")
			return
		}
	}
}
