package store

import (
	"slices"
	"time"
)

func doneName(name string) string { return name + "_done" }

const (
	foldWindow    = 32 << 20 // bytes of rows that are sorted at a time
	doneChunk     = 1 << 16  // rows per chunk of the done dataset
	defaultFold   = 256 << 20
	reserveAtOnce = 64 << 20
	metadataRoom  = 128 << 10 // bytes that a session's metadata may take
	chunkRoom     = 1 << 10   // the same for the index entry of a chunk
	heapRoom      = 128       // the same for a row in a heap, on average
	maxIndex      = 1 << 48
	maxChunkRows  = 1 << 20
	maxChunk      = 1 << 30
	maxFill       = 32 << 10 // a fill value must fit in an object header, 64 KiB with everything else
)

// foldDue reports that the journal has grown so far that it is folded.
func (f *File) foldDue() bool {
	at := f.opt.FoldAt
	if at < 0 {
		return false
	}
	if at == 0 {
		at = max(defaultFold, f.baseSize)
	}
	return f.journal.size >= at
}

// commit folds the journal into a new HDF5 file and puts it in place. Killed
// at any moment it leaves the old file with the journal, or the new file with
// a journal whose rows it has already, which do no harm.
func (f *File) commit() error {
	if f.base && f.rows == 0 && !f.staged && !f.newSinks() {
		return nil
	}
	if err := f.fold(); err != nil {
		f.dropStage()
		if f.staged {
			f.broken = err
		}
		return err
	}
	f.base, f.staged, f.rows = true, false, 0
	f.baseSize = fileSize(f.path)
	for _, s := range f.sinks {
		s.folded = true
	}
	f.markSynced()
	if f.closed {
		return nil // the journal is removed
	}
	if err := f.begin(); err != nil {
		f.broken = err
		return err
	}
	return nil
}

func (f *File) newSinks() bool {
	return slices.ContainsFunc(f.sinks, func(s *sinkState) bool { return !s.folded })
}

func (f *File) fold() error {
	if err := f.openStage(); err != nil {
		return err
	}
	part := partPath(f.path)
	err := f.stage(int64(len(f.sinks))*metadataRoom, func(q *session) {
		for _, s := range f.sinks {
			q.ensureDatasets(f.handle, s)
		}
	})
	if err != nil {
		return err
	}
	if err := f.foldRows(); err != nil {
		return err
	}
	err = f.stage(aboutSize(&f.about), func(q *session) {
		f.writeAbout(q)
		if q.flush(f.handle); q.err == nil {
			h := f.handle
			f.handle = 0
			q.close(h)
		}
	})
	if err != nil {
		return err
	}
	if err := f.publish(part); err != nil {
		return &Error{Op: "put in place", Path: f.path, Err: err}
	}
	return nil
}

// rowRef is one row of a window.
type rowRef struct {
	index int64
	seq   int // order of arrival
	data  []byte
}

// foldRows copies the journal's rows into the datasets, a window at a time.
func (f *File) foldRows() error {
	j := f.journal
	window := make([][]rowRef, len(f.sinks))
	var arena []byte
	held := 0
	flush := func() error {
		if held == 0 {
			return nil
		}
		held = 0
		for id, rows := range window {
			if err := f.foldSink(f.sinks[id], rows); err != nil {
				return err
			}
			window[id] = rows[:0]
		}
		arena = arena[:0]
		return nil
	}
	_, err := scan(j.file, j.size, func(_ int64, body []byte) error {
		sink, index, row, ok := rowOf(body)
		if !ok || int64(sink) >= int64(len(f.sinks)) {
			return nil // checked by replay
		}
		if len(arena)+len(row) > cap(arena) {
			if err := flush(); err != nil {
				return err
			}
			if len(row) > cap(arena) {
				arena = make([]byte, 0, max(int(min(j.size, foldWindow)), len(row)))
			}
		}
		n := len(arena)
		arena = append(arena, row...)
		window[sink] = append(window[sink], rowRef{index, held, arena[n:len(arena):len(arena)]})
		if held++; held >= foldWindow/64 { // rows of a few bytes: bound the references too
			return flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return flush()
}

// foldSink writes the rows of one window to their dataset and marks them done,
// in batches that need no more than reserveAtOnce.
func (f *File) foldSink(s *sinkState, rows []rowRef) error {
	slices.SortFunc(rows, func(a, b rowRef) int {
		if a.index != b.index {
			return int(max(-1, min(1, a.index-b.index)))
		}
		return a.seq - b.seq
	})
	rows = lastOfEach(rows)
	for len(rows) > 0 {
		n, need := s.def.batch(rows)
		err := f.stage(need, func(q *session) { q.foldBatch(f.handle, s, rows[:n]) })
		if err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// batch returns how many of the sorted rows are written at a time, and a bound
// on what they make the file grow by: every chunk touched may be moved and
// become as large as it can.
func (d *definitionBody) batch(rows []rowRef) (n int, need int64) {
	size := int64(d.ChunkRows) * int64(max(d.Format.size(), 16))
	chunk, mark := int64(-1), int64(-1)
	for n < len(rows) {
		more := int64(0)
		if c := rows[n].index / int64(d.ChunkRows); c != chunk {
			chunk = c
			more += size + chunkRoom
		}
		if c := rows[n].index / doneChunk; c != mark {
			mark = c
			more += doneChunk + chunkRoom
		}
		if d.Format.Elem.variable() { // kept in heaps of 4 KiB and more
			more += int64(len(rows[n].data)) + heapRoom
		}
		if n > 0 && need+more > reserveAtOnce {
			break
		}
		need += more
		n++
	}
	return n, need
}

func (q *session) foldBatch(file hid, s *sinkState, rows []rowRef) {
	q.name = s.def.Name
	limit := rows[len(rows)-1].index + 1
	d := q.openDataset(file, s.def.Name)
	t := q.newType(&s.def.Format.Elem)
	q.extend(d, limit)
	if s.def.Format.Elem.variable() {
		elem := 0
		if s.def.Format.Elem.Kind == kVlen {
			elem = s.def.Format.Elem.Elem.size()
		}
		q.foldVariable(d, t, elem, rows)
	} else {
		q.foldFixed(d, t, s.def.Format.Shape, s.def.Format.size(), s.def.ChunkRows, rows)
	}
	done := q.openDataset(file, doneName(s.def.Name))
	q.extend(done, limit)
	one := []byte{1}
	for i := range rows {
		rows[i].data = one
	}
	q.foldFixed(done, q.newType(&layout{Kind: kBool}), nil, 1, doneChunk, rows)
	q.name = ""
}

// lastOfEach keeps the last row of each index.
func lastOfEach(rows []rowRef) []rowRef {
	out := rows[:0]
	for i, r := range rows {
		if i+1 == len(rows) || rows[i+1].index != r.index {
			out = append(out, r)
		}
	}
	return out
}

func (q *session) extend(d hid, limit int64) {
	dims := q.datasetShape(d)
	if q.err == nil && int64(dims[0]) < limit {
		dims[0] = int(limit)
		q.setExtent(d, dims)
	}
}

// foldFixed writes sorted rows of fixed size, one chunk at a time: a block
// without gaps is written, one with gaps is read, changed and written, so that
// no chunk is unpacked and packed more than once.
func (q *session) foldFixed(d, t hid, shape []int, size, chunk int, rows []rowRef) {
	var buf []byte
	for len(rows) > 0 && q.err == nil {
		n := 1
		for n < len(rows) && rows[n].index/int64(chunk) == rows[0].index/int64(chunk) {
			n++
		}
		first := rows[0].index
		span := int(rows[n-1].index - first + 1)
		buf = grow(buf[:0], span*size)
		offset := append([]int{int(first)}, make([]int, len(shape))...)
		count := append([]int{span}, shape...)
		m := q.mark()
		if span != n {
			q.readBlock(d, t, offset, count, buf)
		}
		for _, r := range rows[:n] {
			copy(buf[int(r.index-first)*size:], r.data)
		}
		q.writeBlock(d, t, offset, count, buf)
		q.release(m)
		rows = rows[n:]
	}
}

// foldVariable writes sorted rows of variable length, one run at a time.
func (q *session) foldVariable(d, t hid, elem int, rows []rowRef) {
	for len(rows) > 0 && q.err == nil {
		n := 1
		for n < len(rows) && rows[n].index == rows[n-1].index+1 {
			n++
		}
		data := make([][]byte, n)
		for i := range data {
			data[i] = rows[i].data
		}
		m := q.mark()
		q.writeVariable(d, t, int(rows[0].index), data, elem)
		q.release(m)
		rows = rows[n:]
	}
}

// aboutSize bounds the bytes of the attributes that writeAbout writes.
func aboutSize(a *About) int64 {
	n := int64(len(a.Program))
	for _, s := range a.Arguments {
		n += int64(len(s)) + heapRoom
	}
	for k, v := range a.Versions {
		n += int64(len(k)+len(v)) + 2*heapRoom
	}
	return 2 * n
}

// writeAbout records the run in the root group.
func (f *File) writeAbout(q *session) {
	a := &f.about
	q.writeAttr(f.handle, "/", "program", a.Program)
	q.writeAttr(f.handle, "/", "arguments", append([]string{}, a.Arguments...))
	for name, v := range a.Versions {
		q.writeAttr(f.handle, "/", "version_"+name, v)
	}
	if a.Ranks > 0 {
		q.writeAttr(f.handle, "/", "ranks", int64(a.Ranks))
	}
	if a.Lanes > 0 {
		q.writeAttr(f.handle, "/", "lanes", int64(a.Lanes))
	}
	q.writeAttr(f.handle, "/", attrFingerprint, f.opt.Fingerprint)
	if !f.base {
		q.writeAttr(f.handle, "/", "started", f.started)
	}
	q.writeAttr(f.handle, "/", "written", time.Now().Format(time.RFC3339))
}
