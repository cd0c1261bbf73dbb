package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

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
