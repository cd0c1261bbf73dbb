// Package trylock has the lock of engines, which is tried and never waited for.
package trylock

import "sync/atomic"

// Lock is a mutual exclusion lock. The zero value is free. It must not be copied.
type Lock struct{ held atomic.Uint32 }

// TryLock takes the lock if it is free, and says whether it did.
func (l *Lock) TryLock() bool { return l.held.CompareAndSwap(0, 1) }

// Unlock gives the lock back: what was written before is seen by whoever takes
// it next.
func (l *Lock) Unlock() { release(&l.held) }
