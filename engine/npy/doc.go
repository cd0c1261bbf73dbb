// Package npy reads and writes numpy's .npy files as host tensors.
//
//	t, err := npy.ReadFile("in.npy")    // numpy.save("in.npy", a)
//	err = npy.WriteFile("out.npy", t)   // numpy.load("out.npy")
//
// All versions of the format are read, in either byte order and either order of
// the axes; nothing is converted. A file in Fortran order gives a tensor whose
// strides say so: engine.Clone makes it row-major. Element types are those of
// package engine; another one is an *Error that is ErrType and names it.
//
// What a file says of its size is believed only as its bytes arrive: a header
// that promises more than follows costs no memory. A file that ends early, goes
// on after the last element or holds Python objects is refused.
package npy
