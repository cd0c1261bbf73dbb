package mpi

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/hataori/hataori-go/transport"
)

// Messages of at most Comm.short bytes travel as they are. A longer one is
// announced by a header that takes its place among the messages of its tag; its
// bytes follow in pieces on the communicator's bulk handle, where the serial
// number that the sender gave it is their tag. So it keeps its place in the
// order, a receiver learns the whole length before it receives, and no MPI
// receive ever meets a message longer than its buffer: the first one of a
// receive has room for Comm.short bytes, and for the pieces the length is known.
// That matters, as Open MPI 4.1 reports truncation only after it has written the
// whole message, past the end of the buffer.
//
// A header is told by its length and first bytes. A message of the user's that
// looks like one travels as a long message itself, so nothing is ambiguous.
const (
	magic     = "hataori: long msg\r\n"
	headerLen = len(magic) + 3*8

	// atOnce is the length up to which a message that a probe has seen is
	// received by one call that waits for it. Every MPI library sends so few
	// bytes together with the envelope that the probe found.
	atOnce = 1024

	// longestShort bounds Comm.short: about where MPI libraries begin to ask
	// the receiver before they send anyway.
	longestShort = 8192
)

type header struct{ total, piece, serial int }

func (h header) encode(dst *[headerLen]byte) {
	b := append(dst[:0], magic...)
	for _, n := range []int{h.total, h.piece, h.serial} {
		b = binary.LittleEndian.AppendUint64(b, uint64(n))
	}
}

func looksLikeHeader(p []byte) bool {
	return len(p) == headerLen && string(p[:len(magic)]) == magic
}

// decodeHeader reads what looks like a header.
func decodeHeader(p []byte) (header, error) {
	var n [3]int
	for i := range n {
		u := binary.LittleEndian.Uint64(p[len(magic)+8*i:])
		n[i] = int(u)
		if n[i] < 0 || uint64(n[i]) != u {
			return header{}, &Error{Op: "receive", Err: ErrProtocol, Text: fmt.Sprintf("field %d is %d", i, u)}
		}
	}
	h := header{n[0], n[1], n[2]}
	if h.total == 0 || h.piece < minPiece || h.piece > maxPiece {
		return header{}, &Error{Op: "receive", Err: ErrProtocol, Text: fmt.Sprintf("%d bytes in pieces of %d", h.total, h.piece)}
	}
	return h, nil
}

// stashed is a message that was received before somebody asked for it: one of a
// header's length, because a probe had to see whether it is one, or what a receive
// posted ahead got for others.
type stashed struct {
	source, tag int
	bytes       []byte
}

func (s *stashed) status() (Status, error) {
	st := Status{Source: s.source, Tag: s.tag, Count: len(s.bytes)}
	if looksLikeHeader(s.bytes) {
		h, err := decodeHeader(s.bytes)
		if err != nil {
			return st, err
		}
		st.Count = h.total
	}
	return st, nil
}

// addr returns the address of the first byte, or of nothing.
func addr(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }

func (c *Comm) checkPeer(op string, rank, tag int, wild bool) error {
	if rank < 0 && !(wild && rank == AnySource) || rank >= c.size {
		return badArgument(op, "rank %d of %d", rank, c.size)
	}
	if tag < 0 && !(wild && tag == AnyTag) || tag > c.maxTag {
		return badArgument(op, "tag %d, allowed are 0..%d", tag, c.maxTag)
	}
	return nil
}

// Isend starts to send p, of any length, to rank dest. The library reads p
// until the request is done.
func (c *Comm) Isend(p []byte, dest, tag int) (transport.Request, error) {
	r, err := c.isend(p, dest, tag)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (c *Comm) isend(p []byte, dest, tag int) (*request, error) {
	if err := c.checkPeer("Isend", dest, tag, false); err != nil {
		return nil, err
	}
	if err := c.enter("Isend"); err != nil {
		return nil, err
	}
	defer gate.Unlock()
	if c.solo != nil {
		return c.soloSend(p, tag), nil
	}
	r := c.request(kindSend)
	r.buf, r.peer = p, dest
	long := len(p) > c.short || looksLikeHeader(p)
	out := p
	if long {
		c.serial++
		r.serial = 1 + c.serial%c.maxTag
		header{len(p), c.piece, r.serial}.encode(&r.head)
		out = r.head[:]
	}
	if err := r.post(fnIsend, out, c.h, tag); err != nil {
		c.drop(r)
		return nil, err
	}
	if long {
		r.more = append(r.more, r.h)
		return r, r.sendPieces()
	}
	return r, nil
}

// sendPieces starts to send all pieces of buf.
func (r *request) sendPieces() error {
	for p := r.buf; len(p) > 0; {
		n := min(len(p), r.c.piece)
		if err := r.post(fnIsend, p[:n], r.c.bulk, r.serial); err != nil {
			return err // the request stays in flight, as the library still reads the rest
		}
		p = p[n:]
		if len(p) > 0 {
			r.more = append(r.more, r.h)
		}
	}
	return nil
}

// post starts an MPI send or receive of p from or to the request's peer.
func (r *request) post(f fn, p []byte, comm uintptr, tag int) error {
	l := r.c.lib
	return l.call(f, addr(p), num(len(p)), l.abi.byteType, num(r.peer), num(tag), comm, word(&r.h))
}

// Irecv starts to receive the next message from source with the given tag into
// p, which belongs to the library until the request is done.
func (c *Comm) Irecv(p []byte, source, tag int) (transport.Request, error) {
	r, err := c.irecv(p, source, tag)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (c *Comm) irecv(p []byte, source, tag int) (*request, error) {
	if err := c.checkPeer("Irecv", source, tag, false); err != nil {
		return nil, err
	}
	if err := c.enter("Irecv"); err != nil {
		return nil, err
	}
	defer gate.Unlock()
	if c.solo != nil {
		return c.soloReceive(p, tag), nil
	}
	r := c.request(kindReceive)
	r.buf, r.peer, r.tag = p, source, tag
	r.countLong()
	known := c.probed.Source == source && c.probed.Tag == tag && c.probed.Count <= len(p)
	n := c.probed.Count
	c.probed.Source = AnySource // known for one receive only
	i, err := c.stashed(source, tag)
	switch {
	case err != nil:
	case i >= 0:
		r.land = append(r.land[:0], c.stash[i].bytes...)
		c.stash = slices.Delete(c.stash, i, i+1)
		err = r.landed(len(r.land))
	default:
		r.direct = known || len(p) >= c.short
		switch {
		case len(p) >= c.short:
			p = p[:c.short]
		case !known:
			r.land = slices.Grow(r.land[:0], c.short)[:c.short]
			p = r.land
		}
		if known && n <= atOnce {
			err = r.receive(p, n)
		} else {
			err = r.post(fnIrecv, p, c.h, tag)
		}
	}
	if err != nil {
		c.drop(r)
		return nil, err
	}
	return r, nil
}

// receive receives a message of n bytes that is there.
func (r *request) receive(p []byte, n int) error {
	l := r.c.lib
	if err := l.call(fnRecv, addr(p), num(len(p)), l.abi.byteType, num(r.peer), num(r.tag), r.c.h, l.statusAddr()); err != nil {
		return err
	}
	return r.landed(n)
}

// countLong notes a receive that may need progress of its own. A shorter one
// meets a long message only by mistake.
func (r *request) countLong() {
	if len(r.buf) > r.c.short {
		r.staged = true
		r.c.lib.flying.long++
	}
}

// stashed returns the place of a message in the stash, −1 if there is none, and
// makes way then for a receive of its own.
func (c *Comm) stashed(source, tag int) (int, error) {
	if err := c.pullAll(); err != nil {
		return -1, err
	}
	if i := c.stashIndex(source, tag); i >= 0 {
		return i, nil
	}
	err := c.withdraw()
	return c.stashIndex(source, tag), err
}

func (c *Comm) stashIndex(source, tag int) int {
	return slices.IndexFunc(c.stash, func(s stashed) bool {
		return (source == AnySource || source == s.source) && (tag == AnyTag || tag == s.tag)
	})
}

// received goes on after the first MPI receive of a request has ended.
func (r *request) received() error {
	l := r.c.lib
	r.st = Status{Source: r.peer, Tag: r.tag}
	if r.cancel {
		if err := l.call(fnTestCancelled, l.statusAddr(), l.outAddr(0)); err != nil {
			return err
		}
		if l.outInt(0) != 0 {
			r.st.Cancelled = true
			r.stage = stageReady
			return nil
		}
	}
	n, err := l.count()
	if err != nil {
		return err
	}
	return r.landed(n)
}

// count reads the length of the message in the status. MPI has a function for
// that, and both families keep the length in the status at a known place, which
// is read directly once the first statuses have shown that it is there.
func (l *library) count() (int, error) {
	n := l.abi.count(&l.status)
	if l.counted >= countsCompared {
		return n, nil
	}
	if err := l.call(fnGetCount, l.statusAddr(), l.abi.byteType, l.outAddr(0)); err != nil {
		return 0, err
	}
	if l.counted++; n != l.outInt(0) {
		l.counted = math.MinInt // never again
	}
	return l.outInt(0), nil
}

const countsCompared = 64

// landed looks at the n bytes that have come: a message or a header.
func (r *request) landed(n int) error {
	r.st = Status{Source: r.peer, Tag: r.tag, Count: n}
	got := r.land
	if r.direct {
		got = r.buf
	}
	got = got[:n]
	if looksLikeHeader(got) {
		h, err := decodeHeader(got)
		if err != nil {
			return err
		}
		r.total, r.piece, r.serial = h.total, h.piece, h.serial
		r.st.Count = h.total
		if h.total > len(r.buf) {
			r.drain = make([]byte, min(h.total, h.piece))
		}
		return r.startPiece()
	}
	r.stage = stageReady
	if n > len(r.buf) {
		r.err = truncated(n, len(r.buf))
	} else if !r.direct {
		copy(r.buf, got)
	}
	return nil
}

func truncated(n, room int) error {
	return &Error{Op: "receive", Err: transport.ErrTruncated, Text: fmt.Sprintf("%d bytes, room for %d", n, room)}
}

// startPiece starts to receive the piece at off. The pieces of a message that
// is too long go into memory that is dropped.
func (r *request) startPiece() error {
	r.stage = stagePieces
	n := min(r.piece, r.total-r.off)
	if r.drain != nil {
		return r.post(fnIrecv, r.drain[:n], r.c.bulk, r.serial)
	}
	return r.post(fnIrecv, r.buf[r.off:r.off+n], r.c.bulk, r.serial)
}

// nextPiece goes on after a piece has come.
func (r *request) nextPiece() error {
	r.off += min(r.piece, r.total-r.off)
	if r.off < r.total {
		return r.startPiece()
	}
	r.stage = stageReady
	if r.drain != nil {
		r.err = truncated(r.total, len(r.buf))
	}
	return nil
}

// Iprobe reports, without receiving it, the next message that matches; source
// and tag may be wildcards.
func (c *Comm) Iprobe(source, tag int) (Status, bool, error) {
	if err := c.checkPeer("Iprobe", source, tag, true); err != nil {
		return Status{}, false, err
	}
	if err := c.enter("Iprobe"); err != nil {
		return Status{}, false, err
	}
	defer gate.Unlock()
	return c.probe(source, tag)
}

// probe is Iprobe. The gate is held.
func (c *Comm) probe(source, tag int) (Status, bool, error) {
	if c.solo != nil {
		st, ok := c.soloProbe(tag)
		return st, ok, nil
	}
	if err := c.pullAll(); err != nil {
		return Status{}, false, err
	}
	if i := c.stashIndex(source, tag); i >= 0 {
		st, err := c.stash[i].status()
		return st, err == nil, err
	}
	l := c.lib
	if c.ahead.on {
		l.progress()
		return Status{}, false, nil
	}
	from, with := l.wild(source, tag)
	if err := l.call(fnIprobe, from, with, c.h, l.outAddr(0), l.statusAddr()); err != nil {
		return Status{}, false, err
	}
	if l.outInt(0) == 0 {
		l.progress()
		return Status{}, false, nil
	}
	n, err := l.count()
	if err != nil {
		return Status{}, false, err
	}
	return c.seen(l.found(n))
}

// wild passes the source and tag of a probe.
func (l *library) wild(source, tag int) (from, with uintptr) {
	if source == AnySource {
		source = l.abi.anySource
	}
	if tag == AnyTag {
		tag = l.abi.anyTag
	}
	return num(source), num(tag)
}

// found is the message of n bytes that a probe has found.
func (l *library) found(n int) Status {
	return Status{Source: int(l.status[l.abi.statusSource]), Tag: int(l.status[l.abi.statusTag]), Count: n}
}

// seen takes note of a message that a probe has found. One of a header's length
// is received, to see whether it is one.
func (c *Comm) seen(st Status) (Status, bool, error) {
	if st.Count != headerLen {
		c.probed = st
		return st, true, nil
	}
	s := stashed{st.Source, st.Tag, make([]byte, headerLen)}
	if err := c.take(&s); err != nil {
		return Status{}, false, err
	}
	c.stash = append(c.stash, s)
	st, err := s.status()
	return st, err == nil, err
}

// take receives a short message that has been seen by a probe, which takes no
// time.
func (c *Comm) take(s *stashed) error {
	l := c.lib
	p := l.text[:headerLen]
	if err := l.call(fnRecv, addr(p), num(headerLen), l.abi.byteType, num(s.source), num(s.tag), c.h, l.statusAddr()); err != nil {
		return err
	}
	copy(s.bytes, p)
	return nil
}
