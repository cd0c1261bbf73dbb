// Package native holds this module's own kernels: matrix products, strided
// copies, elementwise operations and sums, in Go and, on amd64, in AVX2 and
// AVX-512 assembly. It needs no library and always works.
//
// The shortest use is as a provider of an engine:
//
//	p := native.New(native.Options{})
//
// The functions below it ([Gemm], the copy, elementwise and sum plans) run on
// the calling goroutine and start none. They are cut into ranges that an
// engine may compute on several workers; how the work is cut never changes a
// bit of the result. Assembly returns to Go within 50 µs, by what a call is given (limit.go has
// the bounds), so that it delays neither the garbage collector nor the scheduler.
// Calls of a library, by package blas, are another matter: see there.
//
// What is promised: results for one level ([Level]) and one shape are the same
// bits every time. Different levels differ in the last bits.
//
// What the caller owes: slices that do not change size or move while a call
// runs, outputs that do not overlap inputs unless a function says so, and one
// [Workspace] per call under way.
package native
