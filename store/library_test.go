//go:build unix

package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/store"
)

func TestLibraryMissing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "out.h5")
	for name, open := range map[string]func(string, store.Options) (*store.File, error){
		"Create": store.Create, "Resume": store.Resume, "Open": store.Open} {
		_, err := open(path, store.Options{Library: "/nowhere/libhdf5.so"})
		var l *store.LibraryError
		if !errors.As(err, &l) || !errors.Is(err, store.ErrNoLibrary) || len(l.Tried) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		for _, want := range []string{"/nowhere/libhdf5.so", "libhdf5-103-1", store.LibraryEnv} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in: %v", name, want, err)
			}
		}
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestLibraryEnvironment(t *testing.T) {
	t.Setenv(store.LibraryEnv, "libnothing.so.7")
	if _, _, err := store.Version(""); !errors.Is(err, store.ErrNoLibrary) || !strings.Contains(err.Error(), "libnothing.so.7") {
		t.Error(err)
	}
	needLibraryNamed(t)
}

// needLibraryNamed checks that Options.Library overrides the environment.
func needLibraryNamed(t *testing.T) {
	t.Helper()
	env := os.Getenv(store.LibraryEnv)
	if err := os.Unsetenv(store.LibraryEnv); err != nil {
		t.Fatal(err)
	}
	found, version, err := store.Version("")
	missing(t, err)
	if err := os.Setenv(store.LibraryEnv, env); err != nil {
		t.Fatal(err)
	}
	again, sameVersion, err := store.Version(found)
	if err != nil || again != found || sameVersion != version || !strings.HasPrefix(version, "1.") && !strings.HasPrefix(version, "2.") {
		t.Error(found, version, again, sameVersion, err)
	}
}

// A library that is no HDF5 library is refused by what it lacks.
func TestLibraryForeign(t *testing.T) {
	_, _, err := store.Version("libm.so.6")
	var l *store.LibraryError
	if !errors.As(err, &l) {
		t.Fatal(err)
	}
	if l.Err == nil { // no such library on this system
		t.Skip(err)
	}
	if !strings.Contains(err.Error(), "H5open") {
		t.Error(err)
	}
}
