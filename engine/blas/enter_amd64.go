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

// leaveAddr is the address of the function in the assembly file.
var leaveAddr uintptr

// leave calls the library through the runtime. It allocates nothing, where
// purego.SyscallN takes a copy of the arguments from a pool that the collector
// empties.
func (c *products) leave(fn uintptr) {
	c.crossing = [2]uintptr{fn, uintptr(unsafe.Pointer(&c.args))}
	cgocall(leaveAddr, unsafe.Pointer(&c.crossing))
}

// cgocall calls the C function with the argument on a thread's own stack, as
// purego does. The runtime keeps it open to packages that come without cgo.
//
//go:linkname cgocall runtime.cgocall
func cgocall(fn uintptr, arg unsafe.Pointer) int32
