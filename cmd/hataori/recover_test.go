package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/store"
)

// TestRecover: the rows of a writer that died are in the HDF5 file afterwards.
func TestRecover(t *testing.T) {
	made, name := filepath.Join(t.TempDir(), "made.h5"), filepath.Join(t.TempDir(), "out.h5")
	f, err := store.Create(made, store.Options{})
	if errors.Is(err, store.ErrNoLibrary) && os.Getenv("HATAORI_REQUIRE_HDF5") == "" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	s, err := store.NewSink[float64](f, "x", store.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(3) {
		if err := s.Put(context.Background(), i, float64(i)); err != nil {
			t.Fatal(err)
		}
	}
	// What a kill would leave.
	for _, suffix := range []string{"", ".journal"} {
		b, err := os.ReadFile(made + suffix)
		if err == nil {
			err = os.WriteFile(name+suffix, b, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, says string }{{name + ".journal", "3 rows came"}, {name, "it has no journal: all rows that were written are in the file"}} {
		if status, out, bad := command("recover", c.name); status != 0 || !strings.Contains(out, c.says) {
			t.Errorf("status %d: %s%s", status, out, bad)
		}
	}
	in, err := store.Open(name, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rows := make([]float64, 3)
	if there, err := store.ReadRows(in, "x", 0, rows); err != nil || !there[2] || rows[2] != 2 {
		t.Errorf("%v %v %v", rows, there, err)
	}
	none := filepath.Join(t.TempDir(), "none.h5")
	if status, _, bad := command("recover", none); status != exitFault || !strings.Contains(bad, none+": there is no such file") {
		t.Errorf("status %d: %s", status, bad)
	}
}
