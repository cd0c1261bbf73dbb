//go:build !(linux || darwin || freebsd)

package blas

import (
	"errors"
	"runtime"
)

// library is never made on this system.
type library struct {
	form string
	info Info
}

func (l *library) routine(string) (uintptr, error) { return 0, errors.ErrUnsupported }

func call(uintptr, []uintptr) { panic("blas: no library on this system") }

// Open returns a *NotFoundError: libraries cannot be loaded on this system.
func Open(Options) (*Provider, error) {
	return nil, &NotFoundError{
		Attempts: []Attempt{{runtime.GOOS, errors.ErrUnsupported}},
		Hint:     "Libraries are not loaded at run time on this system: use the native provider",
	}
}
