package store

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
)

// The journal file: a header block, then frames
//
//	magic "hjrn" | length of body, 4 bytes | CRC-32C of length and body, 4 bytes | body
//
// all little-endian. The first byte of a body is its kind.
const (
	journalMagic = "HATAORI\x01"
	headerSize   = 256 // magic, then the name of the writer padded with spaces
	frameHead    = 12
	frameMagic   = "hjrn"
	rowHead      = 13 // kind, sink 4 bytes, index 8 bytes
	maxBody      = maxRow + rowHead
)

const (
	kindHead = 'H' // JSON: journalHead
	kindSink = 'S' // JSON: definition
	kindRow  = 'R' // sink, index, packed row
	kindSync = 'C' // offset up to which everything had been synced
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

// beginFrame appends the head of a frame whose body is appended next;
// endFrame fills it in. start is where beginFrame began.
func beginFrame(b []byte) []byte {
	b = append(b, frameMagic...)
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0)
}

func endFrame(b []byte, start int) {
	body := b[start+frameHead:]
	binary.LittleEndian.PutUint32(b[start+4:], uint32(len(body)))
	binary.LittleEndian.PutUint32(b[start+8:], frameSum(b[start+4:start+8], body))
}

func frameSum(length, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(length, crcTable), crcTable, body)
}

func appendRowHead(b []byte, sink uint32, index int64) []byte {
	b = append(b, kindRow)
	b = binary.LittleEndian.AppendUint32(b, sink)
	return binary.LittleEndian.AppendUint64(b, uint64(index))
}

// rowOf takes a row's body apart.
func rowOf(body []byte) (sink uint32, index int64, row []byte, ok bool) {
	if len(body) < rowHead || body[0] != kindRow {
		return 0, 0, nil, false
	}
	index = int64(binary.LittleEndian.Uint64(body[5:]))
	return binary.LittleEndian.Uint32(body[1:]), index, body[rowHead:], index >= 0 && index < maxIndex
}

// hole is a stretch of a journal that is no frame although one follows.
type hole struct {
	from, to int64
	reason   string
}

// scanResult is what a pass over a journal found.
type scanResult struct {
	end    int64 // end of the last valid frame; what follows is a torn write
	torn   int64 // bytes after end
	synced int64 // everything before had been synced
	holes  []hole
}

// damage returns the first hole that no crash explains: the bytes before
// synced had reached the disk.
func (s *scanResult) damage(path string) error {
	for _, h := range s.holes {
		if h.from < s.synced {
			return &DamageError{Path: path, Offset: h.from, Next: h.to, Reason: h.reason}
		}
	}
	return nil
}

// scan reads the frames in bytes [headerSize, size) of r and calls visit with
// each body, which is valid for the call only. Where there is no valid frame
// it looks for the next one: if there is none the rest is a torn write, else
// a hole. Memory is bounded by the longest frame, which fits in the file.
func scan(r io.ReaderAt, size int64, visit func(offset int64, body []byte) error) (scanResult, error) {
	s := &scanner{r: r, size: size}
	res := scanResult{end: headerSize, synced: headerSize}
	off := int64(headerSize)
	for off < size {
		body, reason, err := s.frame(off)
		if err != nil {
			return res, err
		}
		if reason != "" {
			next, err := s.resync(off + 1)
			if err != nil {
				return res, err
			}
			if next < 0 {
				break
			}
			res.holes = append(res.holes, hole{off, next, reason})
			off = next
			continue
		}
		if body[0] == kindSync {
			res.synced = max(res.synced, int64(min(binary.LittleEndian.Uint64(body[1:]), uint64(off))))
		} else if err := visit(off, body); err != nil {
			return res, err
		}
		off += frameHead + int64(len(body))
		res.end = off
	}
	res.torn = max(size-res.end, 0)
	return res, nil
}

// scanner reads a file forwards through one buffer.
type scanner struct {
	r    io.ReaderAt
	size int64
	buf  []byte
	at   int64 // offset of buf[0]
}

const scanBlock = 1 << 20

// bytes returns n bytes at off, or fewer at the end of the file. They are
// valid until the next call.
func (s *scanner) bytes(off int64, n int) ([]byte, error) {
	n = int(min(int64(n), s.size-off))
	if n <= 0 {
		return nil, nil
	}
	if off < s.at || off+int64(n) > s.at+int64(len(s.buf)) {
		want := int(min(int64(max(n, scanBlock)), s.size-off))
		if cap(s.buf) < want {
			s.buf = make([]byte, want)
		}
		s.buf = s.buf[:want]
		s.at = off
		got, err := s.r.ReadAt(s.buf, off)
		s.buf = s.buf[:got]
		if err != nil && err != io.EOF {
			return nil, err
		}
		n = min(n, got)
	}
	return s.buf[off-s.at:][:n], nil
}

// frame returns the body of the frame at off, or why there is none.
func (s *scanner) frame(off int64) (body []byte, reason string, err error) {
	h, err := s.bytes(off, frameHead)
	if err != nil {
		return nil, "", err
	}
	if len(h) < frameHead {
		return nil, "cut in a frame's head", nil
	}
	if string(h[:4]) != frameMagic {
		return nil, "no frame begins here", nil
	}
	n := int64(binary.LittleEndian.Uint32(h[4:]))
	if n < 1 || n > maxBody {
		return nil, fmt.Sprintf("a frame of %d bytes", n), nil
	}
	if n > s.size-off-frameHead {
		return nil, "cut in a frame", nil
	}
	b, err := s.bytes(off, frameHead+int(n))
	if err != nil {
		return nil, "", err
	}
	if int64(len(b)) < frameHead+n {
		return nil, "cut in a frame", nil
	}
	body = b[frameHead:]
	if frameSum(b[4:8], body) != binary.LittleEndian.Uint32(b[8:]) {
		return nil, "checksum differs", nil
	}
	if !bodyShaped(body) {
		return nil, fmt.Sprintf("a frame of unknown kind %d", body[0]), nil
	}
	return body, "", nil
}

func bodyShaped(body []byte) bool {
	switch body[0] {
	case kindHead, kindSink:
		return true
	case kindSync:
		return len(body) == 9
	case kindRow:
		_, _, _, ok := rowOf(body)
		return ok
	}
	return false
}

// resync returns the offset of the first valid frame at or after off, -1 if
// there is none.
func (s *scanner) resync(off int64) (int64, error) {
	for off < s.size {
		b, err := s.bytes(off, scanBlock)
		if err != nil {
			return -1, err
		}
		i := bytes.Index(b, []byte(frameMagic))
		if i < 0 {
			if len(b) < frameHead {
				return -1, nil
			}
			off += int64(len(b)) - int64(len(frameMagic)) + 1
			continue
		}
		off += int64(i)
		_, reason, err := s.frame(off)
		if err != nil {
			return -1, err
		}
		if reason == "" {
			return off, nil
		}
		off++
	}
	return -1, nil
}
