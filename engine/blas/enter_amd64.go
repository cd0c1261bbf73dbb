//go:build linux || darwin || freebsd

package blas

import "unsafe"

const canEnter = true

// enter calls a C function with the arguments in args, on the stack that ends
// at top, which is aligned to 16. To Go's scheduler it is Go code that runs:
// see [products.call].
//
//go:noescape
func enter(fn uintptr, args *[argCount]uintptr, top unsafe.Pointer)
