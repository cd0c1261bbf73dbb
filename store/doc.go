// Package store keeps results and restart points in HDF5 files, and reads and
// writes tensors there. The files open in h5dump, h5diff, h5py, MATLAB and
// Julia under the names the caller gives.
//
//	f, err := store.Resume("out.h5", store.Options{Fingerprint: fp})
//	sink, err := store.NewSink[float64](f, "energy", store.SinkOptions{Rows: n, Units: "hartree"})
//	for i := range n {
//		if !sink.Has(i) {
//			err = sink.Put(ctx, i, compute(i))
//		}
//	}
//	err = f.Close()
//
// Run it again after it was killed and only the missing rows are computed.
//
// # Duties of the caller
//
//  1. Call Close and look at its error: it is what writes the HDF5 file. A
//     process that dies first loses no row; the next [Resume] or [Recover]
//     writes the file.
//  2. Give a fingerprint of whatever the results depend on, so that a file of
//     another problem is refused instead of being completed with foreign rows.
//  3. Leave PATH.journal beside PATH while it is there: it is part of the file.
//  4. Have room for a second copy of the file while it is committed.
//
// # What is promised
//
// A row whose [Sink.Put] returned nil survives the death of the process at
// any moment; a row put before a [File.Flush], or longer ago than
// Options.SyncEvery, survives the loss of the machine as far as the file system
// keeps its word about fsync. The file at PATH is a complete HDF5 file at every
// moment, replaced as a whole. A full disk, a directory that cannot be written
// to, a file that another process writes, a file or journal that was cut or
// changed: each ends in a restart with every row that is still there, or in an
// error that names the file and the place.
//
// Rows are not written into the HDF5 file as they come because that file has no
// journal of its own: a process killed while the library rewrites its metadata
// leaves a file that cannot be opened. The library's single-writer mode orders
// its writes and would do, but knows no rows of variable length, takes no new
// datasets or attributes, leaks space as compressed chunks grow, and leaves
// files that other tools open only after h5clear. The journal is written
// with one write per row, and is folded in order, chunk by chunk, so that rows
// may come in any order without a chunk being packed twice.
//
// # What is not promised
//
// The HDF5 library trusts its files: one made to do harm can crash it. A
// file that another program has open for writing is not protected from that
// program. Codes that call the same HDF5 library themselves must not do so at
// the same time unless it was built thread-safe.
//
// # The library
//
// HDF5 1.10.2 or newer is loaded at run time on first use (Options.Library,
// HATAORI_HDF5_LIB, the usual names); neither headers nor a C compiler are
// needed to build. Its calls are made one sequence at a time, under one lock
// of the process, on a goroutine locked to its thread for that long; its
// printing of errors is switched off and what it says is in [Error.Stack].
package store
