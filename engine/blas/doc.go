// Package blas supplies matrix products from a BLAS library that is found at
// run time: OpenBLAS, Intel MKL, BLIS, or another with the Fortran interface.
// Neither headers nor a C compiler are needed to build, and a program that
// imports it runs where there is no such library: [Open] then returns a
// [*NotFoundError] that says what was looked for and what to install.
//
// The shortest use:
//
//	p, err := blas.Open(blas.Options{})
//	// p is an engine.Provider; p.Info() says what was found
//
// # Which library
//
// Options.Library, else the environment variable HATAORI_BLAS_LIB, else a
// library that the process has already loaded, else the first that loads of a
// list. Of OpenBLAS the builds with threads are preferred, limited to one: one
// built without them has no locks, so that calls of several workers and engines
// have to take turns (Info().TakesTurns). Routines are called by their Fortran
// names, every argument by address, lengths of strings appended; whether
// integers are 32 or 64 bits wide is found out by a call. Arguments are checked
// first, because the reference library ends the process on a bad one.
//
// # What it changes in the process
//
//   - The library stays loaded to the end of the process.
//   - A library that computes on threads of its own is limited to one thread,
//     before it loads where it reads its environment then
//     (OPENBLAS_NUM_THREADS, OMP_NUM_THREADS, MKL_NUM_THREADS,
//     MKL_THREADING_LAYER, BLIS_NUM_THREADS), by its own call after.
//     Options.KeepThreads refuses this.
//   - An OpenBLAS that has chosen kernels below what the processor has (some
//     releases take new processors for very old ones, at a sixth of the speed)
//     is unloaded and loaded again with OPENBLAS_CORETYPE set. Not if that
//     variable was set by the user. Options.KeepKernel refuses this.
//
// The variables are set in the environment that C sees, for the time of the
// load only, and put back after. C knows no safe way to do so while other
// threads of the process read the environment in C: call Open early, or refuse
// both. A library that was already in the process when Open was called is used
// as it is; what is wrong with it is in Info().Warnings.
//
// # How long a call takes
//
// A library is not asked to return before a product is done. Most calls go past
// the scheduler as system calls do: others run meanwhile, and the garbage collector
// does not wait. Products of a few milliseconds at most (some 2²⁶ multiply-adds of
// float64) are called directly from an OpenBLAS on amd64, which saves a tenth of a
// microsecond and more; the collector waits for the end of such a call. Who cannot have that takes
// the kernels of package native, which return within 50 µs.
//
// # Bits
//
// The same library, kernel and shapes give the same bits. A product that is cut
// into panels may differ from the whole in the last bits, so SplitInvariant is
// false.
//
// # What it lacks
//
// Operands need contiguous rows or columns, and a conjugated one the layout that
// makes the library transpose it too (it has no conjugation alone). Fit says
// which operands of a product have to be copied first.
package blas
