//go:build linux || darwin || freebsd

package blas

import (
	"bytes"
	"fmt"
	"unsafe"

	"github.com/ebitengine/purego"
)

// cEnv is the environment as C sees it. Without cgo it is not Go's, which was
// copied from it at the start of the process.
type cEnv struct{ getenv, setenv, unsetenv uintptr }

// setting is a variable and its value.
type setting struct{ name, value string }

func openEnv() (cEnv, error) {
	var c cEnv
	for _, f := range []struct {
		name string
		addr *uintptr
	}{{"getenv", &c.getenv}, {"setenv", &c.setenv}, {"unsetenv", &c.unsetenv}} {
		a, err := purego.Dlsym(purego.RTLD_DEFAULT, f.name)
		if err != nil {
			return c, fmt.Errorf("looking up %s of the C library: %w", f.name, err)
		}
		*f.addr = a
	}
	return c, nil
}

func (c cEnv) get(name string) (value string, ok bool) {
	r, _, _ := purego.SyscallN(c.getenv, uintptr(unsafe.Pointer(&cString(name)[0])))
	if r == 0 {
		return "", false
	}
	return goString(r), true
}

// set sets variables; restore, never nil, puts back what was there.
func (c cEnv) set(all []setting) (restore func() error, err error) {
	type old struct {
		setting
		ok bool
	}
	var before []old
	restore = func() error {
		for _, o := range before {
			if !o.ok {
				purego.SyscallN(c.unsetenv, uintptr(unsafe.Pointer(&cString(o.name)[0])))
			} else if err := c.put(o.setting); err != nil {
				return err
			}
		}
		return nil
	}
	for _, s := range all {
		v, ok := c.get(s.name)
		if err := c.put(s); err != nil {
			return restore, err
		}
		before = append(before, old{setting{s.name, v}, ok})
	}
	return restore, nil
}

func (c cEnv) put(s setting) error {
	r, _, _ := purego.SyscallN(c.setenv, uintptr(unsafe.Pointer(&cString(s.name)[0])), uintptr(unsafe.Pointer(&cString(s.value)[0])), 1)
	if int32(r) != 0 {
		return fmt.Errorf("setenv of the C library refused %s=%s", s.name, s.value)
	}
	return nil
}

// cString returns s with a zero byte at the end.
func cString(s string) []byte { return append([]byte(s), 0) }

// goString copies the zero-terminated string at addr, at most 64 KiB of it.
func goString(addr uintptr) string {
	if addr == 0 {
		return ""
	}
	p := *(*unsafe.Pointer)(unsafe.Pointer(&addr)) // C's memory: it does not move
	var b bytes.Buffer
	for i := range 1 << 16 {
		ch := *(*byte)(unsafe.Add(p, i))
		if ch == 0 {
			break
		}
		b.WriteByte(ch)
	}
	return b.String()
}
