//go:build !amd64 || !(linux || darwin || freebsd)

package blas

import "unsafe"

const canEnter = false

func enter(uintptr, *[argCount]uintptr, unsafe.Pointer) {
	panic("blas: no direct calls on this system")
}

// leave calls the library through the runtime.
func (c *products) leave(fn uintptr) { call(fn, c.args[:]) }
