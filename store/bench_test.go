//go:build unix

package store_test

import (
	"context"
	"encoding/gob"
	"os"
	"path/filepath"
	"testing"

	"github.com/hataori/hataori-go/store"
)

func newSink[U any](b testing.TB, opt store.SinkOptions) *store.Sink[U] {
	b.Helper()
	needLibrary(b)
	f, err := store.Create(filepath.Join(b.TempDir(), "out.h5"), store.Options{FoldAt: -1, SyncEvery: -1})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := f.Close(); err != nil {
			b.Error(err)
		}
	})
	s, err := store.NewSink[U](f, "data", opt)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func TestPutAllocatesNothing(t *testing.T) {
	s := newSink[row](t, store.SinkOptions{})
	ctx := context.Background()
	i := int64(0)
	n := testing.AllocsPerRun(1000, func() {
		if err := s.Put(ctx, i, row{}); err != nil {
			t.Fatal(err)
		}
		i++
	})
	if n != 0 {
		t.Errorf("%v allocations per row", n)
	}
}

func BenchmarkPut(b *testing.B) {
	s := newSink[row](b, store.SinkOptions{})
	ctx := context.Background()
	for i := int64(0); b.Loop(); i++ {
		if err := s.Put(ctx, i, row{}); err != nil {
			b.Fatal(err)
		}
	}
}

// The naive rival: gob to an unbuffered file, without index, checksum or
// restart.
func BenchmarkPutGob(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "out.gob"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	e := gob.NewEncoder(f)
	for b.Loop() {
		if err := e.Encode(row{}); err != nil {
			b.Fatal(err)
		}
	}
}
