// Package wire is the form in which messages of a call travel: a checked,
// versioned header of fixed length, then a body whose parts have 64-bit
// lengths. All numbers are little-endian.
//
// Decoding never panics, never allocates more than the length received, and
// names what was wrong in an [*Error].
package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/hataori/hataori-go/hataori/internal/farm"
)

// Version of the form. Ranks of one job run the same program, so a different
// one is a fault, not a dialect.
const Version = 1

const magic = 0x6f68

// Kind of a message.
type Kind uint8

// The kinds.
const (
	Report   Kind = iota + 1 // a rank's results and wishes
	Grant                    // indices with their items
	Notice                   // First: kind of notice, Count: its number
	Stop                     // nothing follows
	Announce                 // a rank that waits for the others
	Broken                   // the sender's world is broken; the body says why
	Value                    // a value of Broadcast, Scatter or Gather
	lastKind = Value
)

// Flags of a header.
const (
	Pinned   uint32 = 1 << iota // grant: not to be taken back again
	Variable                    // grant: items have different lengths
	Returned                    // report: answers a notice
	Abort                       // report: the rank gives up the call
	Bye                         // report: the rank's last
	Group                       // report: the rank speaks for a group
	Keyed                       // grant: every item comes after its key
	allFlags = 1<<iota - 1
)

// HeaderSize is the length of a header in bytes.
const HeaderSize = 40

// ErrMessage is what every [*Error] is.
var ErrMessage = errors.New("malformed message")

// Error says what is wrong with a message.
type Error struct{ What string }

func (e *Error) Error() string { return "hataori: malformed message: " + e.What }

// Unwrap returns [ErrMessage].
func (e *Error) Unwrap() error { return ErrMessage }

func wrong(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Header stands in front of every message.
type Header struct {
	Kind  Kind
	Flags uint32
	Epoch uint64 // number of the call on its world
	First int64
	Count int64
}

// AppendHeader appends a header whose body length is still to be set by
// [Finish].
func AppendHeader(dst []byte, h Header) []byte {
	dst = binary.LittleEndian.AppendUint16(dst, magic)
	dst = append(dst, Version, byte(h.Kind))
	dst = binary.LittleEndian.AppendUint32(dst, h.Flags)
	dst = binary.LittleEndian.AppendUint64(dst, h.Epoch)
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.First))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(h.Count))
	return binary.LittleEndian.AppendUint64(dst, 0)
}

// Finish sets the body length of the message that starts with a header.
func Finish(msg []byte) []byte {
	binary.LittleEndian.PutUint64(msg[HeaderSize-8:], uint64(len(msg)-HeaderSize))
	return msg
}

// SetCount sets the Count of a header that was appended already.
func SetCount(msg []byte, count int64) {
	binary.LittleEndian.PutUint64(msg[HeaderSize-16:], uint64(count))
}

// ParseHeader splits a message.
func ParseHeader(msg []byte) (h Header, body []byte, err error) {
	if len(msg) < HeaderSize {
		return h, nil, wrong("%d bytes, shorter than a header", len(msg))
	}
	le := binary.LittleEndian
	if m := le.Uint16(msg); m != magic {
		return h, nil, wrong("starts with %#x", m)
	}
	if msg[2] != Version {
		return h, nil, wrong("version %d, this is %d", msg[2], Version)
	}
	h = Header{Kind: Kind(msg[3]), Flags: le.Uint32(msg[4:]), Epoch: le.Uint64(msg[8:]),
		First: int64(le.Uint64(msg[16:])), Count: int64(le.Uint64(msg[24:]))}
	if h.Kind < Report || h.Kind > lastKind {
		return h, nil, wrong("kind %d", h.Kind)
	}
	if h.Flags&^allFlags != 0 {
		return h, nil, wrong("flags %#x", h.Flags)
	}
	body = msg[HeaderSize:]
	if n := le.Uint64(msg[32:]); n != uint64(len(body)) {
		return h, nil, wrong("body of %d bytes, header says %d", len(body), n)
	}
	return h, body, nil
}

// Items is the body of a grant, cut into items on demand. It is safe for
// concurrent use.
type Items struct {
	first int64
	size  int // −1: variable; the key included
	keyed bool
	ends  []byte
	data  []byte
	small [Small]byte
}

// Small is the length up to which ParseItems copies a body, so that what it came
// in can be used again.
const Small = 64

// KeySize is the length of a key in front of an item.
const KeySize = 8

// ParseItems returns the items of the body of a grant, see [Items.Parse].
func ParseItems(h Header, body []byte, size int) (*Items, error) {
	it := new(Items)
	if err := it.Parse(h, body, size); err != nil {
		return nil, err
	}
	return it, nil
}

// Parse checks the body of a grant of h.Count items of the given encoded size, −1 for
// variable, and keeps it in place of what it had, unless it is small.
func (it *Items) Parse(h Header, body []byte, size int) error {
	if h.First < 0 || h.Count < 1 || h.First > math.MaxInt64-h.Count {
		return wrong("grant of %d indices from %d", h.Count, h.First)
	}
	if variable := h.Flags&Variable != 0; variable != (size < 0) {
		return wrong("grant with variable lengths: %v, expected %v", variable, size < 0)
	}
	it.first, it.size, it.keyed, it.ends = h.First, size, h.Flags&Keyed != 0, nil
	if len(body) <= Small {
		body = it.small[:copy(it.small[:], body)]
	}
	it.data = body
	if it.keyed && size >= 0 {
		size += KeySize
		it.size = size
	}
	if size >= 0 {
		if !sameProduct(h.Count, size, len(body)) {
			return wrong("grant of %d items of %d bytes in a body of %d", h.Count, size, len(body))
		}
		return it.checkKeys(h.Count)
	}
	if h.Count > int64(len(body)/8) {
		return wrong("lengths of %d items in a body of %d bytes", h.Count, len(body))
	}
	it.ends, it.data = body[:8*h.Count], body[8*h.Count:]
	last := uint64(0)
	for k := int64(0); k < h.Count; k++ {
		end := binary.LittleEndian.Uint64(it.ends[8*k:])
		if end < last {
			return wrong("item %d ends at %d, before its start %d", h.First+k, end, last)
		}
		last = end
	}
	if last != uint64(len(it.data)) {
		return wrong("items of %d bytes in all, %d received", last, len(it.data))
	}
	return it.checkKeys(h.Count)
}

// checkKeys looks at the keys of the items, if they have any.
func (it *Items) checkKeys(count int64) error {
	if !it.keyed {
		return nil
	}
	for i := it.first; i < it.first+count; i++ {
		b := it.Raw(i)
		if len(b) < KeySize {
			return wrong("item %d with its key in %d bytes", i, len(b))
		}
		if k := binary.LittleEndian.Uint64(b); k > math.MaxInt64/2 {
			return wrong("key %d of item %d", k, i)
		}
	}
	return nil
}

// Keyed reports whether the items come with keys.
func (it *Items) Keyed() bool { return it.keyed }

// Key is the key of the index, the index itself without one.
func (it *Items) Key(index int64) int64 {
	if !it.keyed {
		return index
	}
	return int64(binary.LittleEndian.Uint64(it.Raw(index)))
}

// At is the encoded item of the index, which must be in the grant.
func (it *Items) At(index int64) []byte {
	b := it.Raw(index)
	if it.keyed {
		return b[KeySize:]
	}
	return b
}

// sameProduct reports count·size == n without overflow.
func sameProduct(count int64, size, n int) bool {
	if size == 0 {
		return n == 0
	}
	return n%size == 0 && count == int64(n/size)
}

// Raw is At with the key.
func (it *Items) Raw(index int64) []byte {
	k := index - it.first
	if it.size >= 0 {
		n := int64(it.size)
		return it.data[k*n : (k+1)*n : (k+1)*n]
	}
	var start uint64
	if k > 0 {
		start = binary.LittleEndian.Uint64(it.ends[8*(k-1):])
	}
	end := binary.LittleEndian.Uint64(it.ends[8*k:])
	return it.data[start:end:end]
}

const reportSize = 6*4 + 3*8

// AppendReport appends all of a report but the header: its numbers, results
// (of several [ResultWriter]) and stats.
func AppendReport(dst []byte, r farm.Report, results [][]byte, stats []byte) []byte {
	le := binary.LittleEndian
	for _, n := range []int{r.Want, r.Load.Lanes, r.Load.Idle, len(r.Failed), len(r.Dropped), len(r.Back)} {
		dst = le.AppendUint32(dst, uint32(n))
	}
	dst = le.AppendUint64(dst, uint64(r.Load.Item))
	total := 0
	for _, part := range results {
		total += len(part)
	}
	dst = le.AppendUint64(dst, uint64(total))
	dst = le.AppendUint64(dst, uint64(len(stats)))
	for _, i := range r.Failed {
		dst = le.AppendUint64(dst, uint64(i))
	}
	for _, rs := range [][]farm.Range{r.Dropped, r.Back} {
		for _, x := range rs {
			dst = le.AppendUint64(dst, uint64(x.First))
			dst = le.AppendUint64(dst, uint64(x.End))
		}
	}
	for _, part := range results {
		dst = append(dst, part...)
	}
	return append(dst, stats...)
}

// ReportFlags are the flags of a report's header.
func ReportFlags(r farm.Report) (flags uint32) {
	if r.Returned {
		flags |= Returned
	}
	if r.Abort {
		flags |= Abort
	}
	if r.Bye {
		flags |= Bye
	}
	if r.Load.Group {
		flags |= Group
	}
	return flags
}

// ParseReport splits the body of a report. Results and stats alias body.
func ParseReport(h Header, body []byte) (r farm.Report, results, stats []byte, err error) {
	if len(body) < reportSize {
		return r, nil, nil, wrong("report of %d bytes", len(body))
	}
	le := binary.LittleEndian
	var n [6]uint64
	for i := range n {
		v := le.Uint32(body[4*i:])
		if v > math.MaxInt32 {
			return r, nil, nil, wrong("count %d in a report", v)
		}
		n[i] = uint64(v)
	}
	item, nres, nstats := le.Uint64(body[24:]), le.Uint64(body[32:]), le.Uint64(body[40:])
	body = body[reportSize:]
	lists := 8*n[3] + 16*n[4] + 16*n[5]
	size := uint64(len(body))
	if lists > size || nres > size-lists || nstats != size-lists-nres {
		return r, nil, nil, wrong("report of %d+%d+%d bytes in %d", lists, nres, nstats, size)
	}
	if item > math.MaxInt64 {
		return r, nil, nil, wrong("negative time in a report")
	}
	r = farm.Report{Want: int(n[0]), Returned: h.Flags&Returned != 0, Abort: h.Flags&Abort != 0, Bye: h.Flags&Bye != 0}
	r.Load = farm.Load{Lanes: int(n[1]), Idle: int(n[2]), Item: farm.Nanoseconds(item), Group: h.Flags&Group != 0}
	if n[3] > 0 {
		r.Failed = make([]int64, n[3])
	}
	for i := range r.Failed {
		if r.Failed[i] = int64(le.Uint64(body)); r.Failed[i] < 0 {
			return r, nil, nil, wrong("failure of index %d", r.Failed[i])
		}
		body = body[8:]
	}
	if r.Dropped, body, err = parseRanges(body, n[4]); err != nil {
		return r, nil, nil, err
	}
	if r.Back, body, err = parseRanges(body, n[5]); err != nil {
		return r, nil, nil, err
	}
	return r, body[:nres:nres], body[nres:], nil
}

func parseRanges(body []byte, n uint64) ([]farm.Range, []byte, error) {
	if n == 0 {
		return nil, body, nil
	}
	rs := make([]farm.Range, n)
	for i := range rs {
		rs[i] = farm.Range{First: int64(binary.LittleEndian.Uint64(body)), End: int64(binary.LittleEndian.Uint64(body[8:]))}
		if rs[i].First < 0 || rs[i].End <= rs[i].First {
			return nil, nil, wrong("range [%d, %d)", rs[i].First, rs[i].End)
		}
		body = body[16:]
	}
	return rs, body, nil
}
