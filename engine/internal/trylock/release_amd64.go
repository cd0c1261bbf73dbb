//go:build !race

package trylock

import "sync/atomic"

// release stores 0. Every store of this processor comes after the loads and stores
// before it, which is all that giving a lock back takes; Store of sync/atomic also
// waits until they are out, for some nanoseconds. In assembly, because the compiler
// knows no such store.
//
//go:noescape
func release(held *atomic.Uint32)
