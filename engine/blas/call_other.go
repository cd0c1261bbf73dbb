//go:build (linux || darwin || freebsd) && !amd64

package blas

import "github.com/ebitengine/purego"

func call(fn uintptr, args []uintptr) { purego.SyscallN(fn, args...) }
