//go:build unix

package store_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hataori/hataori-go/store"
)

// interrupted makes a file with committed rows [0, folded) and rows
// [folded, folded+pending) in its journal, as a killed run leaves it, in dir.
func interrupted(t *testing.T, dir string, folded, pending int64) (path string) {
	t.Helper()
	made := filepath.Join(t.TempDir(), "made.h5")
	path = filepath.Join(dir, "out.h5")
	f, err := store.Create(made, store.Options{Fingerprint: "full", FoldAt: -1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.NewSink[row](f, "fixed", store.SinkOptions{ChunkRows: 16})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, 0, folded)
	if folded > 0 {
		if err := f.Commit(); err != nil {
			t.Fatal(err)
		}
		copyTo(t, path, made, -1)
	}
	put(t, s, folded, pending)
	if err := f.Flush(); err != nil {
		t.Fatal(err)
	}
	copyTo(t, path+".journal", made+".journal", -1)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func put(t *testing.T, s *store.Sink[row], first, n int64) {
	t.Helper()
	for i := first; i < first+n; i++ {
		if err := s.Put(context.Background(), i, rowAt(i)); err != nil {
			t.Fatal(err)
		}
	}
}

// copyTo copies a file, or its first n bytes.
func copyTo(t *testing.T, dst, src string, n int64) {
	t.Helper()
	b, err := os.ReadFile(src)
	if err != nil {
		t.Fatal(err)
	}
	if n >= 0 {
		b = b[:n]
	}
	if err := os.WriteFile(dst, b, 0o666); err != nil {
		t.Fatal(err)
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// resumeAll resumes a file, puts what is missing of rows [0, n), closes it and
// checks the result. It returns how many rows were there.
func resumeAll(t *testing.T, path string, n int64, opt store.Options) (had int64, err error) {
	t.Helper()
	opt.Fingerprint = "full"
	f, err := store.Resume(path, opt)
	if err != nil {
		return 0, err
	}
	s, err := store.NewSink[row](f, "fixed", store.SinkOptions{})
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	had = s.Len()
	for i := range n {
		if !s.Has(i) {
			put(t, s, i, 1)
		}
	}
	if err := f.Close(); err != nil {
		return had, err
	}
	g, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	got := make([]row, n)
	there, err := store.ReadRows(g, "fixed", 0, got)
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		if !there[i] || got[i] != rowAt(int64(i)) {
			t.Fatalf("row %d: %v %v", i, there[i], got[i])
		}
	}
	return had, nil
}

func TestResume(t *testing.T) {
	needLibrary(t)
	for _, c := range []struct{ folded, pending int64 }{{0, 5}, {5, 0}, {40, 7}, {0, 0}} {
		path := interrupted(t, t.TempDir(), c.folded, c.pending)
		had, err := resumeAll(t, path, 60, store.Options{})
		if err != nil || had != c.folded+c.pending {
			t.Errorf("%+v: %d rows were there, %v", c, had, err)
		}
		if had, err = resumeAll(t, path, 60, store.Options{}); err != nil || had != 60 {
			t.Errorf("%+v: a finished file has %d rows, %v", c, had, err)
		}
	}
}

// The new HDF5 file is in place but the process died before it emptied the
// journal: its rows are there twice, which changes nothing.
func TestResumeBetweenRenameAndReset(t *testing.T) {
	needLibrary(t)
	dir := t.TempDir()
	path := interrupted(t, dir, 10, 5)
	copyTo(t, filepath.Join(dir, "journal"), path+".journal", -1)
	if rows, err := store.Recover(path, store.Options{}); err != nil || rows != 5 {
		t.Fatal(rows, err)
	}
	copyTo(t, path+".journal", filepath.Join(dir, "journal"), -1)
	if had, err := resumeAll(t, path, 20, store.Options{}); err != nil || had != 15 {
		t.Fatal(had, err)
	}
}

func TestRecover(t *testing.T) {
	needLibrary(t)
	path := interrupted(t, t.TempDir(), 0, 9)
	if _, err := store.Open(path, store.Options{}); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "Recover") {
		t.Error("Open of rows that are only in a journal: ", err)
	}
	if rows, err := store.Recover(path, store.Options{}); rows != 9 || err != nil {
		t.Fatal(rows, err)
	}
	if had, err := resumeAll(t, path, 12, store.Options{}); had != 9 || err != nil {
		t.Error(had, err)
	}
	if rows, err := store.Recover(path, store.Options{}); rows != 0 || err != nil {
		t.Error("Recover of a finished file: ", rows, err)
	}
	if _, err := store.Recover(filepath.Join(t.TempDir(), "none.h5"), store.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// From Create on there is an HDF5 file that others can open, also where a
// process that made none had left its journal.
func TestCompleteFromTheStart(t *testing.T) {
	needLibrary(t)
	fresh := filepath.Join(t.TempDir(), "out.h5")
	for path, open := range map[string]func(string, store.Options) (*store.File, error){
		fresh:                             store.Create,
		fresh + ".too":                    store.Resume,
		interrupted(t, t.TempDir(), 0, 5): store.Resume,
	} {
		f, err := open(path, store.Options{Fingerprint: "full"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := store.Open(path, store.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if have, _, err := r.Attr("/", "fingerprint"); err != nil || have != "full" {
			t.Errorf("fingerprint %v, %v", have, err)
		}
		if out, err := exec.Command("h5dump", path).CombinedOutput(); err != nil && !errors.Is(err, exec.ErrNotFound) {
			t.Errorf("h5dump: %v: %s", err, out)
		}
		if err := errors.Join(r.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	}
}

func TestFingerprint(t *testing.T) {
	needLibrary(t)
	inFile, inJournal := interrupted(t, t.TempDir(), 5, 0), interrupted(t, t.TempDir(), 0, 5)
	if err := os.Remove(inFile + ".journal"); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"in the file": inFile, "in the journal": inJournal} {
		_, err := store.Resume(path, store.Options{Fingerprint: "other"})
		var fp *store.FingerprintError
		if !errors.As(err, &fp) || fp.Have != "full" || fp.Want != "other" || !errors.Is(err, store.ErrFingerprint) {
			t.Errorf("%s: %v", name, err)
		}
		if had, err := resumeAll(t, path, 5, store.Options{}); had != 5 || err != nil {
			t.Errorf("%s: after the refusal: %d %v", name, had, err)
		}
	}
	if a, b := store.Fingerprint([]byte("a"), []byte("bc")), store.Fingerprint([]byte("ab"), []byte("c")); a == b {
		t.Error("parts run together")
	}
}

func TestCreateRefusesWhatIsThere(t *testing.T) {
	needLibrary(t)
	for _, path := range []string{interrupted(t, t.TempDir(), 5, 0), interrupted(t, t.TempDir(), 0, 5)} {
		there := path + " is there"
		if _, err := os.Stat(path); err != nil {
			there = path + ".journal is there"
		}
		if _, err := store.Create(path, store.Options{}); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), there) {
			t.Errorf("%v; wanted %q", err, there)
		}
		if had, err := resumeAll(t, path, 5, store.Options{}); had != 5 || err != nil {
			t.Error(had, err)
		}
	}
}

func TestLocked(t *testing.T) {
	needLibrary(t)
	path := filepath.Join(t.TempDir(), "out.h5")
	c := child(t, "holder", path)
	in, _ := c.StdinPipe()
	out, _ := c.StdoutPipe()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "ready\n" {
		t.Fatal(line, err)
	}
	_, err = store.Resume(path, store.Options{})
	var locked *store.LockedError
	if !errors.As(err, &locked) || !errors.Is(err, store.ErrLocked) || !strings.Contains(locked.Holder, fmt.Sprintf("process %d", c.Process.Pid)) {
		t.Errorf("while another process writes: %v", err)
	}
	_, err = store.Resume(path, store.Options{LockWait: 20 * time.Millisecond})
	if !errors.As(err, &locked) || locked.Waited < 20*time.Millisecond || !strings.Contains(err.Error(), "LockWait") {
		t.Errorf("after a wait: %v", err)
	}
	if _, err := store.Resume(path, store.Options{LockWait: -1}); !errors.Is(err, store.ErrUnsupported) {
		t.Errorf("negative wait: %v", err)
	}
	released := time.AfterFunc(50*time.Millisecond, func() { in.Close() })
	defer released.Stop()
	f, err := store.Resume(path, store.Options{LockWait: time.Minute}) // for liveness only
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Resume(path, store.Options{}); !errors.Is(err, store.ErrLocked) {
		t.Errorf("while this process writes: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is no file is refused at once: opening a pipe that nobody fills would
// wait for ever.
func TestNoFile(t *testing.T) {
	needLibrary(t)
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe.h5")
	if err := exec.Command("mkfifo", pipe).Run(); err != nil {
		t.Skipf("no pipes to be had: %v", err)
	}
	for path, says := range map[string]string{pipe: "not a regular file", dir: "not a regular file", "": "name of the file is empty"} {
		_, opening := store.Open(path, store.Options{})
		_, resuming := store.Resume(path, store.Options{})
		for _, err := range []error{opening, resuming} {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%q: %v", path, err)
			}
		}
	}
}

// A disk that fills up: first while rows are put, then while the file is
// folded, then again with a limit that lets the journal live but not the file.
func TestFileTooLarge(t *testing.T) {
	needLibrary(t)
	path := filepath.Join(t.TempDir(), "out.h5")
	if out, err := child(t, "limit", path, "20000").CombinedOutput(); err != nil || !strings.Contains(string(out), "create "+path+".part: file too large") {
		t.Errorf("no room for an empty file: %v, %s", err, out)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("a file that could not be made left %v, %v", left, err)
	}
	for _, limit := range []string{"150000", "300000", "600000"} {
		out, err := child(t, "limit", path, limit).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		lines := strings.SplitN(string(out), "\n", 3)
		if !strings.Contains(lines[1], path+".journal") || !strings.Contains(lines[1], "file too large") {
			t.Errorf("limit %s: Put ended with %s", limit, lines[1])
		}
		t.Logf("limit %s: %s rows; close: %s", limit, lines[0], lines[2])
		checkFull(t, path, atoi(lines[0]), lines[2])
	}
}

// checkFull resumes what a full disk left: every row that was put is there,
// and the file can be finished.
func checkFull(t *testing.T, path string, rows int64, closed string) {
	t.Helper()
	if rows == 0 {
		t.Error("not one row was put")
	}
	if !strings.HasPrefix(closed, "<nil>") && !strings.Contains(closed, fmt.Sprintf("%d rows are safe in %s.journal", rows, path)) {
		t.Errorf("Close does not say what is safe: %s", closed)
	}
	dir := filepath.Dir(path)
	if _, err := os.Stat(path + ".part"); err == nil {
		t.Error("a half-made file was left behind")
	}
	had, err := resumeAll(t, path, rows+10, store.Options{})
	if err != nil || had != rows {
		t.Errorf("%d of %d rows are there, %v", had, rows, err)
	}
	for _, name := range []string{"out.h5", "out.h5.journal"} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

// A file system that really fills up.
func TestDiskFull(t *testing.T) {
	needLibrary(t)
	mount := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", mount).Run(); err != nil {
		t.Skip("skipped: mounting a small file system takes root: ", err)
	}
	defer func() {
		if out, err := exec.Command("umount", mount).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	path := filepath.Join(mount, "out.h5")
	testRoomAgain(t, mount)
	rows, put, closed := fill(path)
	if !errors.Is(put, syscall.ENOSPC) || !errors.Is(closed, syscall.ENOSPC) {
		t.Fatalf("%d rows; Put: %v; Close: %v", rows, put, closed)
	}
	t.Logf("%d rows; %v; %v", rows, put, closed)
	if !strings.Contains(closed.Error(), fmt.Sprintf("%d rows are safe in %s.journal", rows, path)) {
		t.Error(closed)
	}
	if out, err := exec.Command("mount", "-o", "remount,size=8m", mount).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	had, err := resumeAll(t, path, rows+10, store.Options{})
	if err != nil || had != rows {
		t.Errorf("%d of %d rows are there, %v", had, rows, err)
	}
}

// testRoomAgain: a Put that found the disk full may be repeated once there is
// room.
func testRoomAgain(t *testing.T, mount string) {
	t.Helper()
	ballast, path := filepath.Join(mount, "ballast"), filepath.Join(mount, "again.h5")
	f, err := store.Create(path, store.Options{Fingerprint: "full"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(ballast, make([]byte, 900<<10), 0o666); err != nil {
		t.Fatal(err)
	}
	s, err := store.NewSink[row](f, "fixed", store.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := int64(0)
	for ; err == nil; n++ {
		err = s.Put(context.Background(), n, rowAt(n))
	}
	n--
	if !errors.Is(err, syscall.ENOSPC) || s.Has(n) || s.Len() != n {
		t.Fatalf("row %d: %v", n, err)
	}
	if err := f.Commit(); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	put(t, s, n, 10)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if had, err := resumeAll(t, path, n+10, store.Options{}); had != n+10 || err != nil {
		t.Fatal(had, err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func TestReadOnlyDirectory(t *testing.T) {
	needLibrary(t)
	mount := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "tmpfs", mount).Run(); err != nil {
		t.Skip("skipped: mounting a read-only file system takes root: ", err)
	}
	defer func() {
		if out, err := exec.Command("umount", mount).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	path := interrupted(t, mount, 5, 0)
	if err := os.Remove(path + ".journal"); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-o", "remount,ro", mount).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"out.h5", "new.h5"} {
		var e *store.Error
		_, err := store.Resume(filepath.Join(mount, name), store.Options{Fingerprint: "full"})
		if !errors.As(err, &e) || !errors.Is(err, syscall.EROFS) || !strings.HasSuffix(e.Path, name+".journal") {
			t.Error(err)
		}
	}
	f, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal("reading takes no more than reading: ", err)
	}
	f.Close()
}

func TestMissingDirectory(t *testing.T) {
	needLibrary(t)
	path := filepath.Join(t.TempDir(), "none", "out.h5")
	for name, open := range map[string]func(string, store.Options) (*store.File, error){
		"Create": store.Create, "Resume": store.Resume, "Open": store.Open} {
		_, err := open(path, store.Options{})
		if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), path) || name != "Open" && !strings.Contains(err.Error(), "no directory "+filepath.Dir(path)) {
			t.Error(name, err)
		}
	}
}
