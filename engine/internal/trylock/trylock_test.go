package trylock

import (
	"runtime"
	"sync"
	"testing"
)

// One holder at a time, who sees what the one before wrote.
func TestLock(t *testing.T) {
	const rounds, workers = 20000, 4
	var l Lock
	var done sync.WaitGroup
	sum := 0
	for range workers {
		done.Go(func() {
			for range rounds {
				for !l.TryLock() {
					runtime.Gosched()
				}
				sum++
				l.Unlock()
			}
		})
	}
	done.Wait()
	if sum != rounds*workers {
		t.Errorf("%d times held, want %d", sum, rounds*workers)
	}
	if !l.TryLock() || l.TryLock() {
		t.Error("a free lock is taken once")
	}
	l.Unlock()
	if !l.TryLock() {
		t.Error("a lock that was given back is free")
	}
}
