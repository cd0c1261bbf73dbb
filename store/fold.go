package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// definition is the journal's description of a sink.
type definition struct {
	ID uint32 `json:"id"`
	definitionBody
}

type definitionBody struct {
	Name        string `json:"name"`
	Format      format `json:"format"`
	Rows        int64  `json:"rows,omitempty"`
	ChunkRows   int    `json:"chunk_rows"`
	Deflate     int    `json:"deflate"`
	Units       string `json:"units,omitempty"`
	Description string `json:"description,omitempty"`
}

// check makes a definition that was read from disk safe to use.
func (d *definitionBody) check() error {
	if err := checkName(d.Name); err != nil {
		return err
	}
	if err := d.Format.valid(); err != nil {
		return err
	}
	if d.Rows < 0 || d.Rows > maxIndex || d.ChunkRows < 1 || d.ChunkRows > maxChunkRows || d.Deflate < 0 || d.Deflate > 9 {
		return unsupported("%s has %d rows in chunks of %d, deflate %d", d.Name, d.Rows, d.ChunkRows, d.Deflate)
	}
	if int64(d.ChunkRows)*int64(max(d.Format.size(), 16)) > maxChunk && d.ChunkRows > 1 {
		return unsupported("%s has chunks of %d rows of %d bytes", d.Name, d.ChunkRows, d.Format.size())
	}
	return nil
}

// fits checks a row that was read from disk.
func (d *definitionBody) fits(index int64, row []byte) error {
	if index < 0 || index >= maxIndex || d.Rows > 0 && index >= d.Rows {
		return unsupported("index %d of %s, which has %d rows", index, d.Name, d.Rows)
	}
	switch d.Format.Elem.Kind {
	case kString:
		return nil
	case kVlen:
		if len(row)%d.Format.Elem.Elem.size() != 0 {
			return unsupported("a row of %s of %d bytes for elements of %d", d.Name, len(row), d.Format.Elem.Elem.size())
		}
		return nil
	}
	if len(row) != d.Format.size() {
		return unsupported("a row of %s of %d bytes, not %d", d.Name, len(row), d.Format.size())
	}
	return nil
}

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

// publish replaces PATH by the finished part, first making sure that the part
// is on the disk.
func (f *File) publish(part string) error {
	w, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := trim(w); err != nil {
		w.Close()
		return err
	}
	if st, err := os.Stat(f.path); err == nil {
		if err := w.Chmod(st.Mode().Perm()); err != nil {
			w.Close()
			return err
		}
	}
	if err := errors.Join(w.Sync(), w.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, f.path); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.path))
}

// trim gives back what was reserved beyond the end of a file.
func trim(w *os.File) error {
	st, err := w.Stat()
	if err != nil {
		return err
	}
	// To cut a file to the length it has may do nothing.
	return errors.Join(w.Truncate(st.Size()+1), w.Truncate(st.Size()))
}

// tryRoom creates a file and sees whether there is room for it to begin with.
func tryRoom(path string) error {
	w, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return reserveFile(path, metadataRoom)
}

// openStage makes PATH.part, a copy of PATH or a new file, and opens it.
func (f *File) openStage() error {
	if f.handle != 0 {
		return nil
	}
	part := partPath(f.path)
	if f.base {
		if err := copyFile(part, f.path); err != nil {
			os.Remove(part)
			return &Error{Op: "copy", Path: f.path, Err: err}
		}
	} else if err := tryRoom(part); err != nil {
		os.Remove(part)
		return &Error{Op: "create", Path: part, Err: err}
	}
	err := f.lib.do(part, func(q *session) {
		var h hid
		if f.base {
			h = q.openFile(part, true)
		} else {
			h = q.createFile(part)
		}
		if q.err == nil {
			f.handle = q.detach(h)
		}
	})
	if err != nil {
		os.Remove(part)
	}
	return err
}

// stage runs body as a session that writes to PATH.part, which may make it
// grow by need bytes and some metadata, and flushes.
//
// The library must not find the disk full: it cannot undo a flush that fails,
// neither repeat it nor close the file, and crashes later, when it is made to
// close it or at the exit of the process. So the room is reserved first, and
// everything is flushed within what was reserved. Should the operating system
// fail a write all the same (a broken device; a full disk on a system that
// reserves nothing), everything is left open as it is.
func (f *File) stage(need int64, body func(q *session)) error {
	part := partPath(f.path)
	if err := reserveFile(part, need+metadataRoom); err != nil {
		return &Error{Op: fmt.Sprintf("reserve %d bytes for", need+metadataRoom), Path: part, Err: err}
	}
	err := f.lib.do(part, func(q *session) {
		q.leave = true
		body(q)
		if f.handle != 0 {
			q.flush(f.handle)
		}
	})
	if systemFailure(err) {
		f.handle = 0
		f.emptyPart() // what is left open holds no room
		f.dropStage()
		if f.staged {
			f.broken = err
		}
	}
	return err
}

func (q *session) flush(file hid) {
	q.status(fnFflush, uintptr(file), flushGlobal)
}

func (f *File) emptyPart() {
	_ = os.Truncate(partPath(f.path), 0) // if it fails there is nothing else to try
}

// dropStage gives up PATH.part.
func (f *File) dropStage() {
	if f.readOnly {
		return
	}
	if f.handle != 0 {
		h := f.handle
		f.handle = 0
		_ = f.lib.do(partPath(f.path), func(q *session) { q.close(h) }) // it is removed anyway
	}
	_ = os.Remove(partPath(f.path)) // else it is removed when the file is opened again
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

// ensureDatasets creates a sink's datasets where they are missing and checks
// their type where they are there.
func (q *session) ensureDatasets(file hid, s *sinkState) {
	d := &s.def
	q.name = d.Name
	defer func() { q.name = "" }()
	if q.exists(file, d.Name) {
		q.checkFormat(q.openDataset(file, d.Name), d)
	} else {
		q.createRows(file, d)
	}
	if !q.exists(file, doneName(d.Name)) {
		e := layout{Kind: kBool}
		q.createDataset(file, doneName(d.Name), &storage{dims: []int{int(d.Rows)}, growing: true, chunk: []int{doneChunk},
			deflate: d.Deflate, elem: &e})
		q.writeAttr(file, doneName(d.Name), "description", "which rows of "+d.Name+" are there")
	}
}

func (q *session) createRows(file hid, d *definitionBody) {
	st := storage{dims: append([]int{int(d.Rows)}, d.Format.Shape...), growing: true,
		chunk: append([]int{d.ChunkRows}, d.Format.Shape...), deflate: d.Deflate, elem: &d.Format.Elem}
	if !d.Format.Elem.variable() && d.Format.Elem.size() <= maxFill {
		st.fill = fillValue(&d.Format.Elem)
	}
	q.createDataset(file, d.Name, &st)
	if d.Units != "" {
		q.writeAttr(file, d.Name, "units", d.Units)
	}
	if d.Description != "" {
		q.writeAttr(file, d.Name, "description", d.Description)
	}
}

func (q *session) checkFormat(d hid, def *definitionBody) {
	dims := q.datasetShape(d)
	have := format{Elem: q.datasetLayout(d)}
	if q.err != nil {
		return
	}
	if len(dims) > 1 {
		have.Shape = dims[1:]
	}
	if h, w := have.String(), def.Format.String(); h != w || len(dims) == 0 {
		q.fail(&LayoutError{Path: q.path, Name: def.Name, Have: h, Want: w})
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
