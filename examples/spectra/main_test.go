package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/internal/launch"
	"github.com/hataori/hataori-go/store"
)

func missing(t *testing.T, err error) {
	t.Helper()
	if err != nil && os.Getenv("HATAORI_REQUIRE_HDF5") != "" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip("skipped: ", err)
	}
}

// agrees lets numpy compute the spectra of the input.
const agrees = `
import h5py, numpy as np, sys
x = h5py.File(sys.argv[1])['signals'][...]
d = h5py.File(sys.argv[2])['spectra']
want = np.abs(np.fft.fft(x, axis=1)[:, :16])**2 / x.shape[1]**2
assert d.shape == (len(x),) and d.attrs['units'] == 'V^2', d
assert np.allclose(d['power'], want, rtol=1e-9, atol=1e-9) and want.max() > 1
assert np.allclose(d['total'], (x**2).mean(axis=1))
assert h5py.File(sys.argv[2])['spectra_done'][...].all()`

func TestSpectra(t *testing.T) {
	_, _, err := store.Version("")
	missing(t, err)
	out, err := exec.Command("/usr/bin/python3", "-c", "import h5py").CombinedOutput()
	if err != nil {
		missing(t, err)
		t.Log(string(out))
	}
	program := launch.Build(t, ".")
	dir := t.TempDir()
	in := filepath.Join(dir, "signals.h5")
	must := func(t *testing.T, o launch.Outcome) {
		t.Helper()
		if o.Status != 0 || o.Stderr != "" {
			t.Fatalf("status %d: %s", o.Status, o.Stderr)
		}
	}
	check := func(t *testing.T, name string) {
		t.Helper()
		if out, err := exec.Command("/usr/bin/python3", "-c", agrees, in, name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	must(t, launch.Alone(t, program, "-make", "200", "-in", in))
	must(t, launch.Alone(t, program, "-in", in, "-out", in+".alone", "-lanes", "2"))
	check(t, in+".alone")
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		name := filepath.Join(t.TempDir(), "spectra.h5")
		must(t, l.Job(t, 3, program, "-in", in, "-out", name))
		check(t, name)
		must(t, l.Job(t, 2, program, "-in", in, "-out", name)) // nothing left to do
		other := filepath.Join(dir, l.Name+".h5")
		must(t, launch.Alone(t, program, "-make", "10", "-in", other))
		for says, args := range map[string][]string{
			"belongs to another problem: input was ": {"-in", other, "-out", name},
			"no such file":                           {"-in", filepath.Join(dir, "none.h5")},
		} {
			if o := l.Job(t, 2, program, args...); o.Status == 0 || strings.Count(o.Stderr, says) != 1 {
				t.Errorf("%v: status %d: %s", args, o.Status, o.Stderr)
			}
		}
	})
}
