// Package ref is the reference engine: every operation as the plain loop over
// indices that its definition says, one element at a time, in double precision.
//
// It is slow on purpose. It is the oracle that engine/enginetest compares other
// engines with, and the example of how little an engine must do. It keeps no
// plans and no buffers, and fills fresh tensors with NaN bytes so that a read
// of an uninitialised element shows. Elementary functions of complex numbers, and
// sines, cosines and tangents, are those that native kernels fall back on, which
// tests hold to numpy and to arbitrary precision.
package ref
