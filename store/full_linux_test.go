package store_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hataori/hataori-go/store"
)

// Commits that find the disk full at every stage, again and again in one
// process: each fails cleanly, leaves no file open, and succeeds once there is
// room.
func TestCommitDiskFull(t *testing.T) {
	needLibrary(t)
	mount := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", mount).Run(); err != nil {
		t.Skip("skipped: mounting a small file system takes root: ", err)
	}
	defer func() { // fails while a file is open there
		if out, err := exec.Command("umount", mount).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	}()
	rng := rand.New(rand.NewPCG(3, 4))
	path, ballast := filepath.Join(mount, "out.h5"), filepath.Join(mount, "ballast")
	failed, done, ops := 0, 0, map[string]int{}
	for round := range 40 {
		f, err := store.Resume(path, store.Options{FoldAt: -1})
		if err != nil {
			t.Fatal(err)
		}
		fixed, err := store.NewSink[row](f, "fixed", store.SinkOptions{ChunkRows: 64})
		if err != nil {
			t.Fatal(err)
		}
		blobs, err := store.NewSink[[]byte](f, "blobs", store.SinkOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for i := fixed.Len(); i < int64(100*(round+1)); i++ {
			if err := errors.Join(fixed.Put(context.Background(), i, rowAt(i)), blobs.Put(context.Background(), i, blobAt(i))); err != nil {
				t.Fatal(err)
			}
		}
		var fs syscall.Statfs_t
		if err := syscall.Statfs(mount, &fs); err != nil {
			t.Fatal(err)
		}
		used := int64(0)
		if round > 0 {
			used = size(t, path)
		}
		fill := int64(fs.Bavail)*int64(fs.Bsize) - used - rng.Int64N(700_000)
		if err := os.WriteFile(ballast, make([]byte, fill), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := f.Commit(); err == nil {
			done++
		} else {
			var e *store.Error
			if !errors.As(err, &e) || !errors.Is(err, syscall.ENOSPC) || !strings.HasPrefix(e.Path, path) {
				t.Fatal(err)
			}
			failed++
			ops[strings.Fields(e.Op)[0]]++
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d commits failed %v, %d succeeded", failed, ops, done)
	if failed == 0 || done == 0 {
		t.Error("the test does not reach what it is for")
	}
	checkRows(t, path, 4000)
}
