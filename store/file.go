package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// File is an HDF5 file, open for reading ([Open]) or for writing ([Create],
// [Resume]). Its methods may be called from any goroutine; they take turns.
//
// A file that is being written consists of up to three parts:
//
//   - PATH, a complete HDF5 file that is only ever replaced by renaming a new
//     one over it, so that readers never see a half-written one;
//   - PATH.journal, the rows since, which holds the lock and is replayed when
//     the file is opened again;
//   - PATH.part, the HDF5 file being made, of no value after a crash.
//
// After a clean Close only PATH is left.
type File struct {
	mu       sync.Mutex
	lib      *library
	path     string
	opt      Options
	about    About
	readOnly bool
	closed   bool
	broken   error
	handle   hid  // the open HDF5 file: PATH when reading, PATH.part when writing; 0 for none
	base     bool // PATH is there
	baseSize int64
	headSeen bool // the journal's first frame was read
	headNew  bool // the journal's first frames were not synced yet
	staged   bool // PATH.part holds tensors or attributes of the caller's
	journal  *journal
	sinks    []*sinkState // by sink number
	rows     int64        // rows in the journal
	started  string
	lastSync time.Time
	syncCost time.Duration
}

// Create makes a new file for writing: at once a complete HDF5 file, without
// rows. It is an error (fs.ErrExist), which names what is there, if the file or
// the journal of an interrupted run is there already.
func Create(path string, opt Options) (*File, error) {
	if exists(path) {
		return nil, existsError(path, path)
	}
	f, err := openForWriting(path, opt)
	if err != nil {
		return nil, err
	}
	if f.base || !f.journal.empty() {
		f.journal.file.Close()
		if !f.base {
			return nil, existsError(path, f.journal.path)
		}
		return nil, existsError(path, path)
	}
	if err := f.start(); err != nil {
		return nil, f.abandon(err)
	}
	return f, nil
}

// Resume opens a file for writing: a finished one to add to it, that of an
// interrupted run, or a new one if there is none. A file of another problem is
// a *FingerprintError and stays as it is.
func Resume(path string, opt Options) (*File, error) {
	f, err := openForWriting(path, opt)
	if err != nil {
		return nil, err
	}
	if err := f.resume(); err != nil {
		return nil, f.abandon(err)
	}
	return f, nil
}

// Open opens a file for reading. It does not see rows that are still in a
// journal; Pending tells of them.
func Open(path string, opt Options) (*File, error) {
	f, err := newFile(path, opt)
	if err != nil {
		return nil, err
	}
	if !exists(path) && exists(journalPath(path)) {
		return nil, &Error{Op: "open", Path: path, Err: fmt.Errorf("%w: its rows are still in %s; resume the run or call Recover", fs.ErrNotExist, journalPath(path))}
	}
	if _, err := os.Stat(path); err != nil {
		return nil, &Error{Op: "open", Path: path, Err: err}
	}
	if err := regular(path); err != nil {
		return nil, err
	}
	f.readOnly, f.base = true, true
	err = f.lib.do(path, func(q *session) { f.handle = q.detach(q.openFile(path, false)) })
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Recover folds the journal that an interrupted run left into the HDF5 file,
// without the program that made it, and returns how many rows were in it.
// opt.Fingerprint is ignored.
func Recover(path string, opt Options) (rows int64, err error) {
	if !exists(path) && !exists(journalPath(path)) {
		return 0, &Error{Op: "recover", Path: path, Err: fs.ErrNotExist}
	}
	f, err := openForWriting(path, opt)
	if err != nil {
		return 0, err
	}
	if err := f.replay(nil); err != nil {
		return 0, f.abandon(err)
	}
	rows = f.rows
	if f.journal.empty() && !f.base {
		return 0, f.abandon(&Error{Op: "recover", Path: path, Err: errors.New("the journal holds nothing")})
	}
	return rows, f.Close()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// regular refuses what is there and is no file, a pipe say, whose opening may
// never end.
func regular(path string) error {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return &Error{Op: "open", Path: path, Err: errors.New("it is not a regular file")}
	}
	return nil
}

func fileSize(path string) int64 {
	if st, err := os.Stat(path); err == nil {
		return st.Size()
	}
	return 0
}

func newFile(path string, opt Options) (*File, error) {
	if path == "" {
		return nil, &Error{Op: "open", Err: errors.New("the name of the file is empty")}
	}
	if err := opt.check(); err != nil {
		return nil, &Error{Op: "open", Path: path, Err: err}
	}
	l, err := loadLibrary(opt.Library)
	if err != nil {
		return nil, err
	}
	return &File{lib: l, path: path, opt: opt, about: opt.About.withDefaults(l)}, nil
}

// openForWriting takes the lock and removes what is left of an earlier fold.
func openForWriting(path string, opt Options) (*File, error) {
	// A link stays a link: what it points to is replaced.
	if real, err := filepath.EvalSymlinks(path); err == nil && path != "" {
		path = real
	}
	f, err := newFile(path, opt)
	if err != nil {
		return nil, err
	}
	if err := regular(path); err != nil {
		return nil, err
	}
	if dir := filepath.Dir(path); !exists(dir) {
		return nil, &Error{Op: "open", Path: path, Err: fmt.Errorf("%w: there is no directory %s", fs.ErrNotExist, dir)}
	}
	if f.journal, err = openJournal(path, opt); err != nil {
		return nil, err
	}
	f.base, f.baseSize = exists(path), fileSize(path)
	if err := os.Remove(partPath(path)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, f.abandon(&Error{Op: "remove", Path: partPath(path), Err: err})
	}
	f.started = time.Now().Format(time.RFC3339)
	f.lastSync = time.Now()
	return f, nil
}

// abandon gives up a file that could not be opened, leaving no trace of the
// attempt.
func (f *File) abandon(err error) error {
	f.closed = true
	f.dropStage()
	if f.journal.empty() {
		return errors.Join(err, f.journal.discard())
	}
	f.journal.file.Close()
	return err
}

// begin starts the journal of a file that has none.
func (f *File) begin() error {
	j := f.journal
	if err := j.cut(0); err != nil {
		return err
	}
	if err := j.claim(); err != nil {
		return err
	}
	head := journalHead{Fingerprint: f.opt.Fingerprint, Started: f.started, About: f.about}
	if err := j.writeJSON(kindHead, head); err != nil {
		return err
	}
	for id, s := range f.sinks {
		if err := j.writeJSON(kindSink, definition{ID: uint32(id), definitionBody: s.def}); err != nil {
			return err
		}
	}
	f.headNew = true
	return nil
}

// start begins a file that is not there yet: its journal and, so that there is
// an HDF5 file from now on, that file without rows.
func (f *File) start() error {
	err := f.begin()
	if err == nil && !f.base {
		err = f.commit()
	}
	if err != nil {
		return errors.Join(err, f.journal.cut(0)) // it holds no row
	}
	return nil
}

// syncHead brings the frames that say what rows mean to the disk before the
// first row, so that no crash leaves rows without them.
func (f *File) syncHead() error {
	if !f.headNew {
		return nil
	}
	if err := f.journal.sync(); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(f.path)); err != nil {
		return &Error{Op: "sync directory of", Path: f.path, Err: err}
	}
	f.headNew = false
	return nil
}

// resume reads what an earlier run left.
func (f *File) resume() error {
	if f.base {
		have, err := f.baseFingerprint()
		if err != nil {
			return err
		}
		if have != f.opt.Fingerprint {
			return &FingerprintError{Path: f.path, Have: have, Want: f.opt.Fingerprint}
		}
	}
	if err := f.replay(&f.opt.Fingerprint); err != nil {
		return err
	}
	if f.journal.empty() {
		return f.start()
	}
	if err := f.journal.claim(); err != nil || f.base {
		return err
	}
	return f.commit() // killed before it had made its HDF5 file
}

// baseFingerprint reads the fingerprint of PATH; "" where it has none.
func (f *File) baseFingerprint() (have string, err error) {
	err = f.lib.do(f.path, func(q *session) {
		file := q.openFile(f.path, false)
		if v, ok := q.readAttr(file, "/", attrFingerprint); ok {
			have, _ = v.(string)
		}
	})
	return have, err
}

// replay reads the journal: which sinks it has and which rows are there. With
// want it must have that fingerprint. A torn end is cut off; a journal with
// holes is folded at once, so that it has none when rows are added.
func (f *File) replay(want *string) error {
	j := f.journal
	if j.empty() {
		return nil
	}
	res, err := scan(j.file, j.size, func(offset int64, body []byte) error {
		if err := f.replayFrame(body, want); err != nil {
			var fp *FingerprintError
			if errors.As(err, &fp) {
				return err
			}
			return &Error{Op: "replay journal", Path: j.path, Err: fmt.Errorf("at byte %d: %w", offset, err)}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := res.damage(j.path); err != nil && !f.opt.SkipDamage {
		return err
	}
	if err := j.cut(res.end); err != nil {
		return err
	}
	if j.empty() { // cut before its first frame
		return nil
	}
	if !f.headSeen {
		return &Error{Op: "replay journal", Path: j.path, Err: errors.New("its first frame, which says what problem it belongs to, is missing; move the journal away to compute its rows again")}
	}
	j.synced = 0
	if len(res.holes) > 0 {
		return f.commit()
	}
	return j.sync()
}

func (f *File) replayFrame(body []byte, want *string) error {
	switch body[0] {
	case kindHead:
		var h journalHead
		if err := json.Unmarshal(body[1:], &h); err != nil {
			return err
		}
		if want != nil && h.Fingerprint != *want {
			return &FingerprintError{Path: f.path, Have: h.Fingerprint, Want: *want}
		}
		f.headSeen = true
		f.opt.Fingerprint, f.started = h.Fingerprint, h.Started
		if want == nil {
			f.about = h.About
		}
	case kindSink:
		var d definition
		if err := json.Unmarshal(body[1:], &d); err != nil {
			return err
		}
		if int(d.ID) != len(f.sinks) {
			return fmt.Errorf("dataset number %d follows %d datasets", d.ID, len(f.sinks))
		}
		if err := d.check(); err != nil {
			return err
		}
		f.sinks = append(f.sinks, &sinkState{def: d.definitionBody, present: newBitset()})
	case kindRow:
		sink, index, row, _ := rowOf(body)
		if int64(sink) >= int64(len(f.sinks)) {
			if f.opt.SkipDamage {
				return nil
			}
			return fmt.Errorf("a row of dataset number %d, which is not known", sink)
		}
		if err := f.sinks[sink].def.fits(index, row); err != nil {
			return err
		}
		f.sinks[sink].present.set(index)
		f.rows++
	}
	return nil
}

// Pending returns the number of rows in the journal of a file open for
// writing. For a file open for reading it is the size in bytes of the journal
// beside it, 0 if there is none: such a file misses rows until the run is
// resumed or Recover is called.
func (f *File) Pending() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.readOnly {
		if st, err := os.Stat(journalPath(f.path)); err == nil {
			return st.Size()
		}
		return 0
	}
	return f.rows
}

// Path returns the path that the file was opened with.
func (f *File) Path() string { return f.path }

// writable checks, under f.mu, that the file can be written to.
func (f *File) writable() error {
	switch {
	case f.closed:
		return &Error{Op: "write", Path: f.path, Err: ErrClosed}
	case f.readOnly:
		return &Error{Op: "write", Path: f.path, Err: ErrReadOnly}
	case f.broken != nil:
		return &Error{Op: "write", Path: f.path, Err: fmt.Errorf("%w: %w", ErrBroken, f.broken)}
	}
	return nil
}

// Flush brings every row put so far to the disk itself.
func (f *File) Flush() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.writable(); err != nil {
		return err
	}
	return f.flush()
}

func (f *File) flush() error {
	start := time.Now()
	if err := f.journal.sync(); err != nil {
		return err
	}
	f.lastSync = time.Now()
	f.syncCost = f.lastSync.Sub(start)
	f.markSynced()
	return nil
}

// markSynced notes that all rows are on the disk itself.
func (f *File) markSynced() {
	for _, s := range f.sinks {
		s.synced = s.present.count
	}
}

// flushIfDue syncs when the time has come; see Options.SyncEvery.
func (f *File) flushIfDue() error {
	every := f.opt.syncEvery()
	if every < 0 || time.Since(f.lastSync) < max(every, 100*f.syncCost) {
		return nil
	}
	return f.flush()
}

// Commit makes everything written so far part of the HDF5 file at PATH:
// rows, tensors and attributes. If it fails the file at PATH and the rows in
// the journal stay as they were, and the error says what to do; tensors and
// attributes written since the last Commit are lost then, and the File refuses
// everything but Close.
func (f *File) Commit() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.writable(); err != nil {
		return err
	}
	return f.commit()
}

// Close commits and gives the file up. If the commit fails the rows stay in
// the journal, the error says so, and Resume or Recover picks them up. A
// second Close returns ErrClosed.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return &Error{Op: "close", Path: f.path, Err: ErrClosed}
	}
	f.closed = true
	if f.readOnly {
		return f.lib.do(f.path, func(q *session) { q.close(f.handle) })
	}
	err := f.broken
	if err == nil {
		err = f.commit()
	}
	if err != nil {
		f.dropStage()
		f.journal.file.Close()
		if f.rows > 0 {
			return fmt.Errorf("%w (%d rows are safe in %s; resume the run or call Recover once the cause is gone)", err, f.rows, f.journal.path)
		}
		return err
	}
	if err := f.journal.discard(); err != nil {
		return &Error{Op: "remove journal", Path: f.journal.path, Err: err}
	}
	return nil
}

// copyFile copies src to a new file dst.
func copyFile(dst, src string) (err error) {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
