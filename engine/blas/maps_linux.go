package blas

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ebitengine/purego"
)

const rtldNoload = 4

// mapping is one file that is mapped into the process.
type mapping struct {
	from, to uintptr
	path     string
}

// mappings reads what is mapped; nothing if the system does not tell.
func mappings() []mapping {
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	return parseMaps(text)
}

// parseMaps reads the format of /proc/pid/maps; lines that are not of it, or
// name no file, are left out.
func parseMaps(text []byte) []mapping {
	var out []mapping
	sc := bufio.NewScanner(bytes.NewReader(text))
	for sc.Scan() {
		f := strings.Fields(sc.Text())
		if len(f) < 6 || !strings.HasPrefix(f[5], "/") {
			continue
		}
		a, b, _ := strings.Cut(f[0], "-")
		from, err1 := strconv.ParseUint(a, 16, 64)
		to, err2 := strconv.ParseUint(b, 16, 64)
		if err1 != nil || err2 != nil {
			continue
		}
		path := sc.Text()[strings.Index(sc.Text(), f[5]):] // may hold spaces
		out = append(out, mapping{uintptr(from), uintptr(to), path})
	}
	return out
}

// fileOf returns the file that an address is mapped from, or "".
func fileOf(addr uintptr) string {
	for _, m := range mappings() {
		if m.from <= addr && addr < m.to {
			return m.path
		}
	}
	return ""
}

// loadedLibraries lists the BLAS libraries in the process.
func loadedLibraries() []string {
	var out []string
	seen := map[string]bool{}
	for _, m := range mappings() {
		base := filepath.Base(m.path)
		if seen[m.path] || !strings.Contains(base, ".so") {
			continue
		}
		for _, prefix := range []string{"libopenblas", "libmkl_rt", "libblis", "libflexiblas", "libblas"} {
			if strings.HasPrefix(base, prefix) {
				seen[m.path] = true
				out = append(out, m.path)
			}
		}
	}
	return out
}

// loaded returns a handle of a library if it is in the process already, else 0.
func loaded(name string) uintptr {
	h, err := purego.Dlopen(name, purego.RTLD_NOW|rtldNoload)
	if err != nil {
		return 0
	}
	return h
}
