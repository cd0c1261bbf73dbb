package trace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"time"
)

// The file is the magic, then one record for each call: its length and checksum
// (CRC-32C), both of 32 bits, little-endian, then as many bytes. Files can be put
// one behind the other: a magic may stand before each record. Numbers in records
// are varints, strings have their length in front. Times of spans are nanoseconds
// since the end of the span before.
const magic = "hataori trace 1\n"

// ErrFormat is what every error of a file that is no trace, or a damaged one,
// is.
var ErrFormat = errors.New("trace: not a trace")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// WriteTo writes the calls.
func (r *Recording) WriteTo(w io.Writer) (int64, error) {
	out := []byte(magic)
	for _, c := range r.Calls {
		at := len(out)
		out = append(out, make([]byte, 8)...)
		out = c.append(out)
		body := out[at+8:]
		if len(body) > math.MaxUint32 {
			return 0, fmt.Errorf("trace: call %d takes %d bytes, more than a record holds", c.Number, len(body))
		}
		binary.LittleEndian.PutUint32(out[at:], uint32(len(body)))
		binary.LittleEndian.PutUint32(out[at+4:], crc32.Checksum(body, castagnoli))
	}
	n, err := w.Write(out)
	return int64(n), err
}

// Read reads what WriteTo wrote, one or several times. What is wrong is told
// with its offset, by an error that is [ErrFormat]; the calls before it are
// returned.
func Read(r io.Reader) (*Recording, error) {
	rec := &Recording{}
	wrong := func(at int, format string, args ...any) error {
		return fmt.Errorf("%w: at byte %d: %s", ErrFormat, at, fmt.Sprintf(format, args...))
	}
	head := make([]byte, len(magic)) // before the rest, which may have no end
	if n, err := io.ReadFull(r, head); err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	} else if string(head[:n]) != magic {
		return rec, wrong(0, "it does not begin with %q; a file of Options.Trace is wanted", magic)
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	all := append(head, rest...)
	for at := 0; at < len(all); {
		if bytes.HasPrefix(all[at:], []byte(magic)) {
			at += len(magic)
			continue
		}
		if len(all)-at < 8 {
			return rec, wrong(at, "%d bytes where a record begins: the file is cut", len(all)-at)
		}
		n := int(binary.LittleEndian.Uint32(all[at:]))
		sum := binary.LittleEndian.Uint32(all[at+4:])
		if n > len(all)-at-8 {
			return rec, wrong(at, "a record of %d bytes, %d are there: the file is cut", n, len(all)-at-8)
		}
		body := all[at+8 : at+8+n]
		if crc32.Checksum(body, castagnoli) != sum {
			return rec, wrong(at, "checksum: the record is damaged")
		}
		d := decoder{rest: body}
		c := d.call()
		if d.bad || len(d.rest) > 0 {
			return rec, wrong(at+8+n-len(d.rest), "malformed record")
		}
		rec.Calls = append(rec.Calls, c)
		at += 8 + n
	}
	return rec, nil
}

func (c *Call) append(b []byte) []byte {
	b = appendString(b, c.Kind)
	b = binary.AppendUvarint(b, c.Number)
	b = appendInts(b, int64(c.Root), c.Began.UnixNano(), int64(c.Elapsed))
	b = appendString(b, c.Error)
	b = appendInts(b, int64(c.Batches), int64(c.Stalls), int64(c.Stalled), int64(len(c.Ranks)))
	for i := range c.Ranks {
		b = c.Ranks[i].Append(b)
	}
	return b
}

// Append appends the encoding of the rank, for [DecodeRank].
func (r *Rank) Append(b []byte) []byte {
	b = appendInts(b, int64(r.Rank))
	b = appendString(b, r.Host)
	b = appendInts(b, int64(len(r.CPUs)))
	for _, c := range r.CPUs {
		b = appendInts(b, int64(c))
	}
	b = appendInts(b, int64(r.Procs), int64(r.CPU), int64(r.Coordinator), int64(r.Messages), r.Sent, r.Received,
		int64(r.ClockError), int64(len(r.Lanes)))
	for _, l := range r.Lanes {
		b = appendInts(b, int64(len(l.Spans)))
		var end time.Duration
		var index int64
		for _, s := range l.Spans {
			b = appendInts(b, int64(s.Start-end), int64(s.End-s.Start), int64(s.End-s.Start-s.Busy), s.Items,
				int64(s.Busy-s.Longest), s.Index-index, s.Failed)
			if s.Failed > 0 {
				b = appendInts(b, s.FailedIndex)
			}
			end, index = s.End, s.Index
		}
	}
	return b
}

func appendInts(b []byte, all ...int64) []byte {
	for _, v := range all {
		b = binary.AppendVarint(b, v)
	}
	return b
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// DecodeRank decodes the whole of b.
func DecodeRank(b []byte) (Rank, error) {
	d := decoder{rest: b}
	r := d.rank()
	if d.bad || len(d.rest) > 0 {
		return Rank{}, fmt.Errorf("%w: malformed rank at byte %d of %d", ErrFormat, len(b)-len(d.rest), len(b))
	}
	return r, nil
}

// decoder reads a record. It allocates no more than a fixed multiple of the
// bytes that are there.
type decoder struct {
	rest []byte
	bad  bool
}

func (d *decoder) unsigned() uint64 {
	v, n := binary.Uvarint(d.rest)
	return keep(d, v, n)
}

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.rest)
	return keep(d, v, n)
}

func keep[T int64 | uint64](d *decoder, v T, n int) T {
	if n <= 0 || d.bad {
		d.bad = true
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// number is one that cannot be negative, at most 2^62, so that sums of two fit.
func (d *decoder) number() int64 {
	v := d.signed()
	if v < 0 || v > 1<<62 {
		d.bad = true
		return 0
	}
	return v
}

func (d *decoder) time() time.Duration { return time.Duration(d.number()) }

// count is the number of things that follow, each of which takes at least so
// many bytes.
func (d *decoder) count(each int) int {
	n := d.number()
	if n > int64(len(d.rest)/each) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.unsigned()
	if n > uint64(len(d.rest)) {
		d.bad = true
		return ""
	}
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

// name is a text that goes to terminals and pictures.
func (d *decoder) name() string { return plain(d.text()) }

func (d *decoder) call() *Call {
	c := &Call{Kind: d.name(), Number: d.unsigned(), Root: int(d.number())}
	c.Began = time.Unix(0, d.signed())
	c.Elapsed = d.time()
	c.Error = d.text()
	c.Batches, c.Stalls, c.Stalled = int(d.number()), int(d.number()), d.time()
	n := d.count(11)
	for k := 0; k < n && !d.bad; k++ {
		r := d.rank()
		if k > 0 && r.Rank <= c.Ranks[k-1].Rank {
			d.bad = true
		}
		c.Ranks = append(c.Ranks, r)
	}
	return c
}

func (d *decoder) rank() Rank {
	r := Rank{Rank: int(d.number()), Host: d.name()}
	if n := d.count(1); n > 0 {
		r.CPUs = make([]int, n)
		for k := range r.CPUs {
			r.CPUs[k] = int(d.number())
		}
	}
	r.Procs = int(d.number())
	r.CPU, r.Coordinator = d.time(), d.time()
	r.Messages = int(d.number())
	r.Sent, r.Received = d.number(), d.number()
	r.ClockError = d.time()
	if n := d.count(1); n > 0 {
		r.Lanes = make([]Lane, n)
	}
	for k := range r.Lanes {
		r.Lanes[k] = d.lane()
	}
	return r
}

func (d *decoder) lane() Lane {
	n := d.count(7)
	if n == 0 {
		return Lane{}
	}
	spans := make([]Span, n)
	var end time.Duration
	var index int64
	for k := range spans {
		s := &spans[k]
		s.Start = d.sum(end, d.time())
		s.End = d.sum(s.Start, d.time())
		s.Busy = d.sum(s.End-s.Start, -d.time())
		s.Items = d.number()
		s.Longest = d.sum(s.Busy, -d.time())
		s.Index = index + d.signed()
		s.Failed = d.number()
		if s.Failed > 0 {
			s.FailedIndex = d.number()
		}
		d.bad = d.bad || s.Items < 1 || s.Failed > s.Items || s.Index < -1
		end, index = s.End, s.Index
	}
	return Lane{spans}
}

// sum adds what must not become negative, nor more than 2^62.
func (d *decoder) sum(a, b time.Duration) time.Duration {
	if s := a + b; s >= 0 && s <= 1<<62 {
		return s
	}
	d.bad = true
	return 0
}
