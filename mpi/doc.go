// Package mpi speaks to the MPI library that a program finds where it runs. The
// library is loaded at run time: nothing of MPI is needed to build, and one
// binary runs under Open MPI, under MPICH and its relatives (Intel MPI, MVAPICH,
// Cray MPICH), and without any MPI as a world of one rank.
//
//	func main() { mpi.Main(run) }
//
//	func run(ctx context.Context, rt *mpi.Runtime) error {
//		w := rt.World()
//		sum := []int64{int64(w.Rank())}
//		if err := w.Allreduce(ctx, sum, mpi.Sum); err != nil {
//			return err
//		}
//		…
//	}
//
// [Main] and [Program] are for programs: they own the process. A library, or a
// program with habits of its own, calls [Init] and [Runtime.Finalize].
//
// # Which library
//
// The launcher decides: OMPI_COMM_WORLD_SIZE or PMIX_RANK in the environment mean
// Open MPI, PMI_SIZE or PMI_RANK the MPICH family. HATAORI_MPI_LIB names a library
// file instead. Without a launcher no library is loaded, unless it is named so or
// HATAORI_MPI=required; HATAORI_MPI=off never loads one. A launcher that started
// several ranks together with a library that sees one is an error, not several
// worlds of one.
//
// # Messages
//
// A [Comm] implements [transport.Comm]. Its non-blocking methods return at once
// and are completed by testing the request. Its blocking forms (Send, Recv,
// Bcast, …) take a context, poll with growing pauses, and so neither burn a
// processor nor ignore a cancellation. Messages may be of any length. A message
// longer than its receiver's buffer is an error and never touches memory behind
// it, which the MPI libraries do not all promise.
//
// # The caller's duties
//
//  1. Buffers given to a non-blocking call belong to the library until its
//     request is done: they are not read (receive) or written (all) meanwhile.
//  2. A request is tested until it is done or fails, and not used afterwards.
//  3. Collective calls are started in the same order by all ranks of a
//     communicator. Dup, Private, Split, Part, Free, Init and Finalize are
//     collective.
//  4. One goroutine at a time calls into one communicator. Where the library
//     grants MPI_THREAD_FUNNELED only, that is the one that called Init; it is
//     locked to its thread until Finalize. Calls from elsewhere return
//     [ErrWrongThread].
//  5. Code that calls MPI itself, in C or through another binding, does so under
//     [Gate], unless it runs at MPI_THREAD_MULTIPLE.
//  6. Child processes are started with [ChildEnv], or they take themselves for
//     ranks of this job.
//
// Every return code of the library passes one place and comes back as an
// *[Error] with operation, class and the library's text; all communicators
// return errors instead of ending the process.
//
// # What changes the process
//
// Loading an MPI library brings its threads, its memory hooks and its signal
// handlers. Init puts Go's handlers back, so that faults still become panics and
// os/signal still works; [Options] KeepSignals refuses that. Only [Program] sets
// GOMAXPROCS, catches signals, prints and ends the process. The page
// docs/process.md lists all of it.
package mpi
