package hataori

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"

	"github.com/hataori/hataori-go/lanes"
)

// ErrorCodec carries errors of the caller's from rank to rank. Both methods are
// called on every rank, also on the one where the error arose, so that
// errors.Is and errors.As answer the same everywhere. They must be safe for
// concurrent use.
type ErrorCodec interface {
	// EncodeError returns what DecodeError needs, at most 1 MiB, or nil if
	// only the text of the error is to be sent.
	EncodeError(err error) []byte

	// DecodeError makes an error from data, which EncodeError returned and
	// which it must not keep. A nil error means that it cannot.
	DecodeError(data []byte) error
}

// Sentinels returns an error codec for the given errors: where [errors.Is] finds
// one of them on the rank of origin it finds it on every rank. Their number and
// order must be the same on all ranks.
func Sentinels(errs ...error) ErrorCodec { return sentinels(errs) }

type sentinels []error

func (s sentinels) EncodeError(err error) []byte {
	var data []byte
	for i, target := range s {
		if errors.Is(err, target) {
			data = binary.AppendUvarint(data, uint64(i))
		}
	}
	return data
}

func (s sentinels) DecodeError(data []byte) error {
	var found []error
	for len(data) > 0 {
		i, n := binary.Uvarint(data)
		if n <= 0 || i >= uint64(len(s)) {
			return nil
		}
		found = append(found, s[i])
		data = data[n:]
	}
	if len(found) == 1 {
		return found[0]
	}
	return errors.Join(found...)
}

// standard are the errors that cross without a codec.
var standard = sentinels{context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF,
	fs.ErrNotExist, fs.ErrExist, fs.ErrPermission, fs.ErrInvalid, fs.ErrClosed, errors.ErrUnsupported,
	lanes.ErrBusy, lanes.ErrReentrant, lanes.ErrSingleLane, lanes.ErrNoLanes, lanes.ErrGoexit,
	ErrGoexit, ErrNoHealthyLane, ErrClosed, ErrWorldBusy, ErrNested, ErrSource, ErrSink, ErrItemTimeout, ErrCopiesDiffer,
	errLoopLeft, ErrCallback}

// Bounds on what is sent of one error.
const (
	maxMessage = 16 << 10
	maxStack   = 64 << 10
	maxDetail  = 1 << 20
)

// fault is an error on its way: what crosses the wire, and the original where
// it arose.
type fault struct {
	class   class
	kind    Kind
	index   int64
	place   int64 // of the index in the order of the call, where it arose
	rank    int
	lane    lanes.Lane
	host    string
	reason  int
	timeout bool
	message string
	stack   string

	err   error // the original
	value any   // what panic was called with
}

// sound returns an error of the caller's as it is or, if it panics when it is
// asked for its text or for what it wraps, as a nil pointer does that was returned
// as an error, one that says so.
func sound(err error) error {
	if err == nil {
		return nil
	}
	bad := apart(func() {
		_ = err.Error()
		errors.Is(err, errFault) // looks at all that it wraps
	})
	switch p := new(*panicError); {
	case errors.As(bad, p):
		return fmt.Errorf("error of type %T, which panics when it is asked for its text or what it wraps (%v): if it is a nil pointer, return nil instead", err, (*p).value)
	case bad != nil:
		return fmt.Errorf("error of type %T, which calls runtime.Goexit when it is asked for its text or what it wraps", err)
	}
	return err
}

// text is the text of an error of the caller's.
func text(err error) string { return sound(err).Error() }

// marshal encodes the fault. codec may be nil.
func (f *fault) marshal(codec ErrorCodec) []byte {
	b := []byte{byte(f.class), byte(f.kind), byte(f.reason), 0}
	if f.timeout {
		b[3] = 1
	}
	b = binary.AppendVarint(b, f.index)
	b = binary.AppendVarint(b, int64(f.rank))
	b = binary.AppendVarint(b, int64(f.lane))
	var std, own []byte
	if f.err != nil {
		std = standard.EncodeError(f.err)
		if codec != nil {
			own = encodeError(codec, f.err)
		}
	}
	for _, s := range [][]byte{[]byte(f.host), []byte(cut(f.message, maxMessage)), []byte(cut(f.stack, maxStack)), std, own} {
		b = binary.AppendUvarint(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// encodeError treats a panic, a Goexit or an oversized answer of the codec as no answer:
// the text still crosses.
func encodeError(codec ErrorCodec, err error) (data []byte) {
	if apart(func() { data = codec.EncodeError(err) }) != nil || len(data) > maxDetail {
		return nil
	}
	return data
}

func decodeError(codec ErrorCodec, data []byte) (err error) {
	if apart(func() { err = codec.DecodeError(data) }) != nil {
		return nil
	}
	return sound(err)
}

var errFault = errors.New("malformed error")

// unmarshal decodes a fault, err being what crosses of the original.
func (f *fault) unmarshal(b []byte, codec ErrorCodec) error {
	if len(b) < 4 {
		return errFault
	}
	*f = fault{class: class(b[0]), kind: Kind(b[1]), reason: int(b[2]), timeout: b[3] == 1}
	if f.reason >= len(reasons) || f.class == 0 || f.class > classLast {
		return errFault
	}
	b = b[4:]
	var ints [3]int64
	for i := range ints {
		v, n := binary.Varint(b)
		if n <= 0 {
			return errFault
		}
		ints[i], b = v, b[n:]
	}
	if ints[0] < 0 || ints[1] < 0 || ints[1] > math.MaxInt32 || ints[2] < -1 || ints[2] > math.MaxInt32 {
		return errFault
	}
	f.index, f.rank, f.lane = ints[0], int(ints[1]), lanes.Lane(ints[2])
	var parts [5][]byte
	for i := range parts {
		v, n := binary.Uvarint(b)
		if n <= 0 || v > uint64(len(b)-n) {
			return errFault
		}
		parts[i], b = b[n:n+int(v)], b[n+int(v):]
	}
	if len(b) > 0 {
		return errFault
	}
	f.host, f.message, f.stack = string(parts[0]), string(parts[1]), string(parts[2])
	if len(parts[3]) > 0 {
		f.err = standard.DecodeError(parts[3])
	}
	if codec != nil && len(parts[4]) > 0 {
		own := decodeError(codec, parts[4])
		switch {
		case f.err == nil:
			f.err = own
		case own != nil:
			f.err = errors.Join(own, f.err)
		}
	}
	return nil
}

// public makes the error that the caller sees. orig is the same fault as it
// arose, on the rank of origin, else nil.
func (f *fault) public(orig *fault) error {
	var local error
	var value any
	if orig != nil {
		local, value = orig.err, orig.value
	}
	switch f.class {
	case classPreflight:
		return &PreflightError{Rank: f.rank, Host: f.host, Reason: reasons[f.reason], Message: f.message, local: local}
	case classCancel:
		return &CancelError{Rank: f.rank, Host: f.host, Cause: f.message, Timeout: f.timeout, err: local}
	case classItem:
		return &ItemError{Index: int(f.index), Rank: f.rank, Host: f.host, Lane: f.lane, Kind: f.kind,
			Message: f.message, Stack: f.stack, err: f.err, local: local, value: value}
	default:
		return &RankError{Rank: f.rank, Host: f.host, Message: f.message, Stack: f.stack, err: f.err, local: local}
	}
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n]
}

// class orders what may end a call: the lowest wins.
type class uint8

const (
	classPreflight class = iota + 1
	classCancel
	classRank
	classItem
	classEnds // source or sink
	classLast = classEnds
)
