//go:build !amd64 || race

package trylock

import "sync/atomic"

func release(held *atomic.Uint32) { held.Store(0) }
