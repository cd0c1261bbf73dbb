//go:build linux || darwin || freebsd

package blas

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/ebitengine/purego"
)

const hint = "Install one (Debian, Ubuntu: apt install libopenblas0-pthread; Fedora: dnf install openblas-threads; " +
	"conda: conda install openblas), name one in " + EnvLibrary + ", or use the native provider"

// loading guards C's environment, of which a process has one.
var loading sync.Mutex

// Open finds, loads and examines a library. Every call that finds the same
// library shares it; a later one finds it already loaded and changes nothing.
// It returns a *NotFoundError if there is none that works.
func Open(opts Options) (*Provider, error) {
	loading.Lock()
	defer loading.Unlock()
	names, asked := []string{opts.Library}, "Options.Library"
	if opts.Library == "" {
		names, asked = []string{os.Getenv(EnvLibrary)}, EnvLibrary
	}
	if names[0] == "" {
		names, asked = append(loadedLibraries(), candidates()...), ""
	}
	failed := &NotFoundError{Asked: asked, Hint: hint}
	for _, name := range names {
		l, err := load(name, opts)
		if err == nil {
			return newProvider(l)
		}
		failed.Attempts = append(failed.Attempts, Attempt{name, err})
	}
	return nil, failed
}

// candidates lists libraries in the order of preference, then what the system's
// loader finds. Of OpenBLAS the builds with threads come first, limited to one:
// those without have no locks either, and calls from several lanes would have
// to take turns.
func candidates() []string {
	if runtime.GOOS == "darwin" {
		return []string{"libopenblas.dylib", "/opt/homebrew/opt/openblas/lib/libopenblas.dylib",
			"/usr/local/opt/openblas/lib/libopenblas.dylib", "libmkl_rt.dylib", "libblis.dylib"}
	}
	var out []string
	for _, pattern := range []string{
		"/usr/lib/*/openblas-pthread/libopenblas.so.0",     // Debian, Ubuntu
		"/usr/lib/*/openblas64-pthread/libopenblas64.so.0", // the same with 64-bit integers
		"/usr/lib/*/openblas-serial/libopenblas.so.0",      // without threads and locks
		"/usr/lib/*/openblas64-serial/libopenblas64.so.0",
		"/usr/lib/*/blis-serial/libblis.so.[0-9]",          // BLIS
		"/opt/intel/oneapi/mkl/latest/lib/libmkl_rt.so.2",  // oneAPI outside its shell
		"/opt/intel/oneapi/mkl/latest/lib/*/libmkl_rt.so*", // older layouts
	} {
		found, _ := filepath.Glob(pattern) // the pattern is well formed
		out = append(out, found...)
	}
	// Names are ordered by how likely they are to be fast: libblas.so.3 may be
	// anything, the reference library included.
	return append(out, "libopenblas.so.0", "libopenblas.so", "libopenblas64_.so.0", "libopenblas64.so.0",
		"libmkl_rt.so.2", "libmkl_rt.so.1", "libmkl_rt.so", "libblis.so.4", "libblis.so.3", "libblis.so", "libblas.so.3")
}

// library is a loaded library.
type library struct {
	handle uintptr
	form   string // of the names of routines, for Sprintf
	info   Info
}

// symbolForms are the ways that Fortran names come in: plain, and with the
// suffixes that builds with 64-bit integers add.
var symbolForms = []string{"%s_", "%s_64_", "%s_64", "%s64_"}

func (l *library) symbol(name string) (uintptr, error) { return purego.Dlsym(l.handle, name) }

// routine returns the address of a Fortran routine.
func (l *library) routine(name string) (uintptr, error) {
	return l.symbol(fmt.Sprintf(l.form, name))
}

var errNoGemm = errors.New("it has no dgemm under any Fortran name")

// load opens one library, or joins it where it is loaded, and settles it.
func load(name string, opts Options) (*library, error) {
	l := &library{}
	if h := loaded(name); h != 0 {
		l.handle, l.info.AlreadyLoaded = h, true
	} else if err := l.open(name, opts, nil); err != nil {
		return nil, err
	}
	if err := l.settle(name, opts); err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

// settle examines a library that is open and puts it in order.
func (l *library) settle(name string, opts Options) error {
	fn := uintptr(0)
	for _, form := range symbolForms {
		l.form = form
		if a, err := l.routine("dgemm"); err == nil {
			fn = a
			break
		}
	}
	if fn == 0 {
		return errNoGemm
	}
	l.info.Path = fileOf(fn)
	if l.info.Path == "" {
		l.info.Path = name
	}
	l.identify()
	if err := l.settleKernel(name, opts); err != nil {
		return err
	}
	l.settleThreads(opts)
	return l.probeInts()
}

// close gives up a library that this package loaded.
func (l *library) close() error {
	if l.info.AlreadyLoaded || l.handle == 0 {
		return nil
	}
	return purego.Dlclose(l.handle)
}

// open loads the library with one thread, if allowed, and the variables of
// extra in its environment.
func (l *library) open(name string, opts Options, extra []setting) error {
	c, err := openEnv()
	if err != nil {
		return err
	}
	set := extra
	if !opts.KeepThreads {
		set = append(set, setting{"OPENBLAS_NUM_THREADS", "1"}, setting{"OMP_NUM_THREADS", "1"},
			setting{"MKL_NUM_THREADS", "1"}, setting{"MKL_THREADING_LAYER", "SEQUENTIAL"}, setting{"BLIS_NUM_THREADS", "1"})
	}
	restore, err := c.set(set)
	if err != nil {
		return errors.Join(err, restore())
	}
	h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err = errors.Join(err, restore()); err != nil {
		if h != 0 {
			err = errors.Join(err, purego.Dlclose(h))
		}
		return err
	}
	l.handle = h
	return nil
}
