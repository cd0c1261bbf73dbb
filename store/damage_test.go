//go:build unix

package store_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/store"
)

// A journal cut anywhere restarts with the rows before the cut.
func TestJournalCut(t *testing.T) {
	needLibrary(t)
	whole := interrupted(t, t.TempDir(), 4, 8)
	n := size(t, whole+".journal")
	last := int64(-1)
	for cut := int64(0); cut <= n; cut++ {
		if os.Getenv("HATAORI_SOAK") == "" && cut%13 != 0 && cut < n-60 || testing.Short() && cut%5 != 0 {
			continue
		}
		path := filepath.Join(t.TempDir(), "out.h5")
		copyTo(t, path, whole, -1)
		copyTo(t, path+".journal", whole+".journal", cut)
		had, err := resumeAll(t, path, 12, store.Options{})
		if err != nil || had < 4 || had < last {
			t.Fatalf("cut at byte %d of %d: %d rows, %v", cut, n, had, err)
		}
		last = had
	}
	if last != 12 {
		t.Errorf("%d of 12 rows in the whole journal", last)
	}
}

// An HDF5 file cut anywhere is refused with an error that names it, and
// nothing is changed.
func TestFileCut(t *testing.T) {
	needLibrary(t)
	whole := interrupted(t, t.TempDir(), 40, 0)
	n := size(t, whole)
	step := max(1, n/150)
	if os.Getenv("HATAORI_SOAK") != "" {
		step = 1
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "out.h5")
	for cut := int64(0); cut < n; cut += step {
		copyTo(t, path, whole, cut)
		_, err := resumeAll(t, path, 40, store.Options{})
		var e *store.Error
		if !errors.As(err, &e) || !strings.HasPrefix(e.Path, path) || len(e.Stack) == 0 {
			t.Fatalf("cut at byte %d of %d: %v", cut, n, err)
		}
		if size(t, path) != cut {
			t.Fatalf("cut at byte %d: the file was changed", cut)
		}
		if left, _ := filepath.Glob(path + ".*"); left != nil {
			t.Fatalf("cut at byte %d: %v were left behind", cut, left)
		}
	}
}

// A journal changed in the middle is refused with the place, or, if asked for,
// restarts without the rows there.
func TestJournalDamaged(t *testing.T) {
	needLibrary(t)
	whole := interrupted(t, t.TempDir(), 4, 20)
	b, err := os.ReadFile(whole + ".journal")
	if err != nil {
		t.Fatal(err)
	}
	at := len(b) * 2 / 3
	for _, c := range []struct{ from, to int }{{at, at + 1}, {at, at + 200}, {260, 262}} {
		broken := append([]byte{}, b...)
		for i := c.from; i < c.to; i++ {
			broken[i] ^= 0x55
		}
		path := filepath.Join(t.TempDir(), "out.h5")
		copyTo(t, path, whole, -1)
		if err := os.WriteFile(path+".journal", broken, 0o666); err != nil {
			t.Fatal(err)
		}
		_, err := resumeAll(t, path, 24, store.Options{})
		var d *store.DamageError
		if !errors.As(err, &d) || !errors.Is(err, store.ErrDamaged) || d.Offset > int64(c.from) || d.Next < int64(c.to) || d.Path != path+".journal" {
			t.Fatalf("damage %v: %v", c, err)
		}
		had, err := resumeAll(t, path, 24, store.Options{SkipDamage: true})
		if c.from == 260 { // the head, without which nobody knows whose rows these are
			if err == nil || !strings.Contains(err.Error(), "first frame") {
				t.Errorf("head damaged: %d %v", had, err)
			}
			continue
		}
		if err != nil || had >= 24 || had < 15 {
			t.Errorf("damage %v skipped: %d rows, %v", c, had, err)
		}
	}
}

// A machine that went down may keep later bytes of what was not synced and lose
// earlier ones: no damage, the rows that are left count, and the journal goes
// on without the hole.
func TestJournalTorn(t *testing.T) {
	needLibrary(t)
	made := filepath.Join(t.TempDir(), "made.h5")
	f, err := store.Create(made, store.Options{Fingerprint: "full", FoldAt: -1, SyncEvery: -1})
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.NewSink[row](f, "fixed", store.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, s, 0, 20)
	path := filepath.Join(t.TempDir(), "out.h5")
	copyTo(t, path+".journal", made+".journal", -1)
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	j, err := os.OpenFile(path+".journal", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	const frame = 12 + 13 + 32
	if _, err := j.WriteAt(make([]byte, 3*frame), size(t, path+".journal")-10*frame-5); err != nil {
		t.Fatal(err)
	}
	j.Close()
	for _, want := range []int64{16, 21} {
		f, err := store.Resume(path, store.Options{Fingerprint: "full"})
		if err != nil {
			t.Fatal(err)
		}
		s, err := store.NewSink[row](f, "fixed", store.SinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != want {
			t.Errorf("%d rows are there, want %d", s.Len(), want)
		}
		for i := range int64(21) {
			if !s.Has(i) {
				put(t, s, i, 1)
			}
		}
		if err := f.Flush(); err != nil {
			t.Fatal(err)
		}
		copyTo(t, path+".copy", path+".journal", -1) // and as if killed here
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		copyTo(t, path+".journal", path+".copy", -1)
	}
	if had, err := resumeAll(t, path, 21, store.Options{}); had != 21 || err != nil {
		t.Error(had, err)
	}
}

// A foreign file under the journal's name, and an HDF5 file of somebody
// else's, are left alone.
func TestForeignFiles(t *testing.T) {
	needLibrary(t)
	path := filepath.Join(t.TempDir(), "out.h5")
	if err := os.WriteFile(path+".journal", []byte("dear diary"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Resume(path, store.Options{}); err == nil || !strings.Contains(err.Error(), "not a journal") {
		t.Error(err)
	}
	if b, _ := os.ReadFile(path + ".journal"); string(b) != "dear diary" {
		t.Error("it was changed")
	}
	if err := os.Remove(path + ".journal"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("no HDF5 ", 100)), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, open := range []func(string, store.Options) (*store.File, error){store.Resume, store.Open} {
		var e *store.Error
		if _, err := open(path, store.Options{}); !errors.As(err, &e) || len(e.Stack) == 0 {
			t.Error(err)
		}
	}
	if _, err := store.Create(path, store.Options{}); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if left, _ := filepath.Glob(path + ".*"); left != nil {
		t.Errorf("%v were left behind", left)
	}
}
