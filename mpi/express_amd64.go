//go:build linux || darwin || freebsd

package mpi

import "unsafe"

// Addresses of the functions in the assembly file.
var takeAddr, giveAddr uintptr

func (l *library) crossTake() int { return int(cgocall(takeAddr, unsafe.Pointer(&l.cross))) }
func (l *library) crossGive() int { return int(cgocall(giveAddr, unsafe.Pointer(&l.cross))) }

// cgocall calls the C function with the argument on a thread's own stack. It is
// how purego calls as well, which copies some hundred words on the way. The
// runtime keeps it open to packages that come without cgo.
//
//go:linkname cgocall runtime.cgocall
func cgocall(fn uintptr, arg unsafe.Pointer) int32
