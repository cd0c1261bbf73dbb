// Package cpu is the engine for the processor that the program runs on.
//
//	e, err := cpu.Serial(cpu.Options{})          // width 1, the calling goroutine
//
//	pool, err := cpu.NewPool(cpu.PoolOptions{Workers: 4})
//	e, err := cpu.New(pool, cpu.Options{})       // width 4
//	defer e.Close()                              // ends the pool's threads
//
// # The caller's duties
//
//  1. One engine per goroutine that computes at a time; k lanes hold k engines.
//  2. The widths of all engines plus one should not exceed GOMAXPROCS:
//     CheckWidths tells.
//  3. Close ends the threads of a pool; nothing else does.
//
// # What is promised
//
// An operation starts on the calling goroutine and takes the pool's threads
// only when its work, judged by shapes alone, pays for waking them. It starts
// no goroutine and leaves nothing running. The width comes from the pool alone
// and never changes. A second caller gets engine.ErrBusy at once; a worker of
// the engine's own pool gets engine.ErrCallerInOwnPool. A panic inside an
// operation breaks the engine: engine.ErrBroken from then on, while tensors
// can still be read and released, and the engine closed.
//
// The same provider, kernel, width and specs give the same bits. Elementwise
// operations, sums, and products by a provider whose Tile cuts keep bits
// (native) give the same bits at any width; so do products by other providers
// under Options.FixedTiles.
package cpu
