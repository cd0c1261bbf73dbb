package store

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// journal is the open append-only log beside an HDF5 file. Rows go there
// first, one write each, and are folded into the HDF5 file later. Its lock is
// the lock of the HDF5 file.
type journal struct {
	path   string
	file   *os.File
	size   int64 // end of the last whole frame
	synced int64
	buf    []byte
	broken error // a failed sync or repair: what is on disk is unknown
}

// journalHead is the first frame.
type journalHead struct {
	Fingerprint string `json:"fingerprint"`
	Started     string `json:"started"`
	About       About  `json:"about"`
}

func journalPath(path string) string { return path + ".journal" }
func partPath(path string) string    { return path + ".part" }

// lockEvery is how often a lock that another writer has is tried again.
const lockEvery = 50 * time.Millisecond

// openJournal opens or creates the journal of path and takes its lock, waiting for
// it as long as opt says.
func openJournal(path string, opt Options) (*journal, error) {
	name := journalPath(path)
	for began := time.Now(); ; {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, &Error{Op: "open journal", Path: name, Err: err}
		}
		j := &journal{path: name, file: f}
		again, err := j.lock(path, opt.NoLock)
		if err == nil && !again {
			err = j.readHeader()
			if err == nil {
				return j, nil
			}
		}
		f.Close()
		var locked *LockedError
		switch waited := time.Since(began); {
		case errors.As(err, &locked) && waited < opt.LockWait:
			time.Sleep(min(lockEvery, opt.LockWait-waited))
		case locked != nil && opt.LockWait > 0:
			locked.Waited = waited
			return nil, err
		case err != nil:
			return nil, err
		}
	}
}

// lock takes the lock. again means that a writer which ended meanwhile has
// removed this very file.
func (j *journal) lock(path string, noLock bool) (again bool, err error) {
	if !noLock {
		ok, err := lockFile(j.file)
		if err != nil {
			return false, &Error{Op: "lock", Path: j.path, Err: fmt.Errorf("%w; if this file system has no locks, set Options.NoLock and see to it that one job writes at a time", err)}
		}
		if !ok {
			return false, &LockedError{Path: path, Holder: j.holder()}
		}
	}
	here, err := j.file.Stat()
	if err != nil {
		return false, &Error{Op: "open journal", Path: j.path, Err: err}
	}
	there, err := os.Stat(j.path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(here, there) {
		return true, nil
	}
	if err != nil {
		return false, &Error{Op: "open journal", Path: j.path, Err: err}
	}
	j.size = here.Size()
	return false, nil
}

// holder is what the writer left about itself in the header.
func (j *journal) holder() string {
	b := make([]byte, headerSize)
	if n, _ := j.file.ReadAt(b, 0); n < headerSize || string(b[:len(journalMagic)]) != journalMagic {
		return ""
	}
	return strings.TrimRight(strings.ToValidUTF8(string(b[len(journalMagic):]), "?"), " \x00")
}

// readHeader checks that an existing file is a journal. One cut inside its
// header holds nothing and counts as new.
func (j *journal) readHeader() error {
	b := make([]byte, headerSize)
	n, _ := j.file.ReadAt(b, 0)
	got := b[:min(n, len(journalMagic))]
	if !strings.HasPrefix(journalMagic, string(got)) {
		return &Error{Op: "open journal", Path: j.path, Err: errors.New("this is not a journal; move it away")}
	}
	if j.size < headerSize {
		j.size = 0
	}
	return nil
}

// empty reports that the journal holds no frame.
func (j *journal) empty() bool { return j.size <= headerSize }

// claim writes the header with this process's name, keeping the frames.
func (j *journal) claim() error {
	host, _ := os.Hostname()
	who := fmt.Sprintf("host %s, process %d, since %s", host, os.Getpid(), time.Now().Format(time.RFC3339))
	b := []byte(journalMagic + strings.Repeat(" ", headerSize-len(journalMagic)))
	copy(b[len(journalMagic):], who)
	if _, err := j.file.WriteAt(b, 0); err != nil {
		return &Error{Op: "write journal", Path: j.path, Err: err}
	}
	j.size = max(j.size, headerSize)
	return nil
}

// cut drops everything from end on.
func (j *journal) cut(end int64) error {
	if err := j.file.Truncate(end); err != nil {
		j.broken = err
		return &Error{Op: "cut journal", Path: j.path, Err: err}
	}
	j.size = end
	j.synced = min(j.synced, end)
	return nil
}

// write appends the frame in j.buf with one write. If the write fails nothing
// of it stays.
func (j *journal) write() error {
	if j.broken != nil {
		return &Error{Op: "write journal", Path: j.path, Err: fmt.Errorf("%w: %w", ErrBroken, j.broken)}
	}
	endFrame(j.buf, 0)
	if _, err := j.file.WriteAt(j.buf, j.size); err != nil {
		e := &Error{Op: "write journal", Path: j.path, Err: err}
		return errors.Join(e, j.cut(j.size))
	}
	j.size += int64(len(j.buf))
	return nil
}

// begin starts a frame in j.buf.
func (j *journal) begin() { j.buf = beginFrame(j.buf[:0]) }

func (j *journal) writeJSON(kind byte, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return &Error{Op: "write journal", Path: j.path, Err: err}
	}
	j.begin()
	j.buf = append(append(j.buf, kind), b...)
	return j.write()
}

// sync brings everything written to the disk and leaves a mark that says so.
func (j *journal) sync() error {
	if j.broken == nil && j.synced == j.size {
		return nil
	}
	if j.broken != nil {
		return &Error{Op: "sync journal", Path: j.path, Err: fmt.Errorf("%w: %w", ErrBroken, j.broken)}
	}
	if err := j.file.Sync(); err != nil {
		// The kernel may have dropped what it could not write.
		j.broken = err
		return &Error{Op: "sync journal", Path: j.path, Err: err}
	}
	upTo := j.size
	j.begin()
	j.buf = binary.LittleEndian.AppendUint64(append(j.buf, kindSync), uint64(upTo))
	if err := j.write(); err != nil {
		j.synced = upTo
		return nil // the mark only helps to tell damage from a torn write
	}
	j.synced = j.size
	return nil
}

// discard removes the journal and gives up its lock.
func (j *journal) discard() error {
	err := os.Remove(j.path)
	return errors.Join(err, j.file.Close())
}
