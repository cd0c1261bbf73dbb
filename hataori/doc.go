// Package hataori evaluates one function over a list of items on every lane of
// every rank of an MPI job, and gives the results back in order.
//
// The shortest use, on one machine:
//
//	squares, err := hataori.MapLanes(ctx, lanes.New(4), items, f)
//
// and on a cluster, where every rank runs the same program and makes the same
// calls:
//
//	w, err := hataori.NewWorld(comm) // an *mpi.Comm, say
//	results, err := hataori.PmapLanes(ctx, w, lanes.Of(engines, lanes.Options[Engine]{}),
//		hataori.Options{}, items, // the items of rank 0; the others pass nil
//		func(ctx context.Context, e Engine, x Item) (Result, error) { return e.Run(ctx, x) })
//	err = w.Close()
//
// Closures are never sent; items, results and errors are.
//
// # Calls
//
//	Map          on the calling goroutine
//	MapLanes     on the lanes of this process
//	Pmap         on plain lanes of all ranks
//	PmapLanes    on the lanes of all ranks, each with a resource of the caller's
//	PmapStream   the same for items from a source, with results to a sink
//	PmapSeq      the same with results, or errors item by item, for a range loop
//	Broadcast    one value of the root to every rank
//	Scatter      one value of the root to each rank
//	Gather       the values of all ranks to the root
//	World.Agree  turns one rank's error into everybody's
//
// # The caller's duties
//
//  1. All ranks make the same collective calls on a world in the same order, with
//     the same options, types and function.
//  2. Only the root passes items and gets results. The items are not changed until
//     the call returns.
//  3. f returns when its context ends, if the call is to end early soon. A call
//     returns after the items that were begun.
//  4. f may run concurrently with itself, once per lane.
//  5. GOMAXPROCS is at least the number of lanes plus one, or a coordinator shares
//     a processor with a lane and answers late.
//  6. Where Transport.AnyThread is false, calls are made on the goroutine, locked
//     to its thread, that initialised the transport.
//
// # What is promised
//
//  1. Results are in the order of the items.
//  2. On success each item was evaluated exactly once; on failure at most once.
//     [Options].Retries says otherwise for errors that ask for it, [Options].Copies
//     for the last items.
//  3. If items fail, the error is that of the lowest failing index, whatever the
//     timing. Items of higher index may be cancelled or never run; items of lower
//     index always run. [Options].FirstSeen gives this up; with
//     [Options].Collect all items run, and all failures are told.
//  4. Every rank returns with an equal error, and the world can be used again.
//  5. A panic or Goexit in f is a failure of its item. In a codec, a source, a sink
//     or another function of the caller's it is an error of that one, on every rank,
//     and of a Progress or Logger [ErrCallback].
//  6. So is an item or result that the codec refuses. An item that only the root
//     evaluates is not encoded, so a codec that refuses single values may be
//     found out on some runs and not on others; one that would damage a type is
//     found out before any item runs.
//  7. Another call on a busy world is refused at once.
//  8. Nothing is left behind: no message, no goroutine, no reference.
//  9. Any number of items, ranks and lanes will do, and any root.
//  10. If a context ends on any rank, every rank returns the same [*CancelError].
//
// What is not promised: anything while f does not return; which lane evaluates
// which item; that the work goes on when a process dies, which is for the
// launcher to notice.
//
// # How values cross
//
// Numbers, fixed-size structs and slices of them cross as raw little-endian
// bytes, types with their own MarshalBinary by that, everything else field by
// field. A type that this would damage is refused before any item runs. Both ends
// run the same program, so nothing describes itself. [Options].Codec replaces all
// this.
//
// User errors cross as text, and through [Options].ErrorCodec, so that errors.Is
// and errors.As find the same on every rank; [Sentinels] makes one for a list of
// errors. The rank of origin has the original by Local.
//
// # How the work is shared
//
// The root holds the queue. Its own lanes take from it by one atomic addition.
// Every other rank asks for items before it runs dry, and is granted a batch: large
// while much is left, about a millisecond's work per lane, down to one item at the
// end and for items of more than some 50 ms. When nothing is left and lanes are
// idle, the rank with most in store is asked to give unstarted items back. The
// decisions are made by two state machines in internal/farm, which know neither
// bytes nor time; the loops here move bytes and wait.
//
// In a large world, or where [Options].Group says so, the root grants only to the
// first rank of each group, which grants to the others and passes on, encoded,
// what comes back. To the root it is a rank with many lanes.
//
// PmapStream has two goroutines more at the root: one reads the source and pushes
// indices into the queue, one hands results to the sink. Neither the coordinator
// nor a lane waits for them; the window does. The queue counts as open until the
// sink has the last result, so that a context of any rank can end the call until
// then.
//
// A call starts with one reduction, in which all ranks agree that they are in the
// same call, and ends with one, which chooses the error. Nothing blocks inside the
// transport. Messages are looked for by whoever is awake: a lane that begins an
// item, every 0.1 ms at most; a lane without an item, until it gets one; and the
// coordinator, on the goroutine of the caller, when no lane has looked for a
// millisecond or so. Where the transport wants all calls from one thread, the
// coordinator does it all. A rank that stays away keeps the others waiting in the first
// reduction, which no context can leave; [Options].PreflightTimeout bounds it.
// Ranks that have waited for half of it announce themselves to rank 0, which can
// then name those that did not; without a limit it tells the logger after a minute.
package hataori
