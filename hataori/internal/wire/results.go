package wire

import (
	"encoding/binary"
	"math"
)

// runHeader is in front of every run of results with consecutive indices:
// first index (8 bytes), number of results (8 bytes).
const runHeader = 16

// ResultWriter packs results as runs of consecutive indices. A run is its
// header, then its results: bare where all have one size, else each after its
// length in 8 bytes. The zero value with Size set is ready.
type ResultWriter struct {
	Size int // encoded size of a result, −1: variable
	Buf  []byte

	Count int64 // results in Buf
	run   int   // where the open run's header is
	next  int64 // index that would continue it
	mark  int   // where the result that is being written starts
	fresh bool  // it opened a run
}

// Begin prepares for the result of the index; its encoding is appended to Buf,
// then End or Undo is called.
func (w *ResultWriter) Begin(index int64) {
	w.mark = len(w.Buf)
	w.fresh = w.Count == 0 || index != w.next
	if w.fresh {
		w.Buf = binary.LittleEndian.AppendUint64(w.Buf, uint64(index))
		w.Buf = binary.LittleEndian.AppendUint64(w.Buf, 0)
	}
	if w.Size < 0 {
		w.Buf = binary.LittleEndian.AppendUint64(w.Buf, 0)
	}
}

// End keeps the result of the index and reports whether it has the promised
// size; if not, it is undone.
func (w *ResultWriter) End(index int64) bool {
	body := w.mark
	if w.fresh {
		body += runHeader
	}
	switch {
	case w.Size < 0:
		binary.LittleEndian.PutUint64(w.Buf[body:], uint64(len(w.Buf)-body-8))
	case len(w.Buf)-body != w.Size:
		w.Undo()
		return false
	}
	if w.fresh {
		w.run = w.mark
	}
	n := w.Buf[w.run+8:]
	binary.LittleEndian.PutUint64(n, binary.LittleEndian.Uint64(n)+1)
	w.next = index + 1
	w.Count++
	return true
}

// Undo forgets the result since Begin.
func (w *ResultWriter) Undo() { w.Buf = w.Buf[:w.mark] }

// Reset empties the writer and keeps its memory.
func (w *ResultWriter) Reset() { w.Buf, w.Count = w.Buf[:0], 0 }

// ResultReader reads what ResultWriters wrote, one after the other.
type ResultReader struct {
	Size int // encoded size of a result, −1: variable
	Data []byte
}

// Run returns the next run of results. The caller then calls Item that many
// times. It returns count 0 at the end.
func (r *ResultReader) Run() (first, count int64, err error) {
	if len(r.Data) == 0 {
		return 0, 0, nil
	}
	if len(r.Data) < runHeader {
		return 0, 0, wrong("%d bytes of a run of results", len(r.Data))
	}
	f, n := binary.LittleEndian.Uint64(r.Data), binary.LittleEndian.Uint64(r.Data[8:])
	r.Data = r.Data[runHeader:]
	if n == 0 || n > math.MaxInt64 || f > math.MaxInt64-n {
		return 0, 0, wrong("run of %d results from index %d", n, f)
	}
	least := uint64(r.Size)
	if r.Size < 0 {
		least = 8
	}
	if least > 0 && n > uint64(len(r.Data))/least {
		return 0, 0, wrong("run of %d results in %d bytes", n, len(r.Data))
	}
	return int64(f), int64(n), nil
}

// Item returns the next result of the run, aliasing Data.
func (r *ResultReader) Item() ([]byte, error) {
	n := uint64(r.Size)
	if r.Size < 0 {
		if len(r.Data) < 8 {
			return nil, wrong("%d bytes of a result's length", len(r.Data))
		}
		n = binary.LittleEndian.Uint64(r.Data)
		r.Data = r.Data[8:]
	}
	if n > uint64(len(r.Data)) {
		return nil, wrong("result of %d bytes in %d", n, len(r.Data))
	}
	item := r.Data[:n:n]
	r.Data = r.Data[n:]
	return item, nil
}

// Runs skips all runs and calls f with the first index and the number of each,
// until f returns an error or a run is malformed.
func (r *ResultReader) Runs(f func(first, count int64) error) error {
	for {
		first, n, err := r.Run()
		if err != nil || n == 0 {
			return err
		}
		if r.Size >= 0 {
			r.Data = r.Data[n*int64(r.Size):] // Run has seen that they are there
		} else {
			for range n {
				if _, err := r.Item(); err != nil {
					return err
				}
			}
		}
		if err := f(first, n); err != nil {
			return err
		}
	}
}
