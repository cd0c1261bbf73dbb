package lanes_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/hataori/hataori-go/lanes"
)

// Locked lanes each have a thread of their own for the whole run, the hook
// included.
func TestLockedLanesHaveThreadsOfTheirOwn(t *testing.T) {
	const n = 4
	hook := make([]int, n)
	ex := lanes.Of(make([]int, n), lanes.Options[int]{LockOSThread: true, OnStart: func(lane lanes.Lane, _ int) error {
		hook[lane] = syscall.Gettid()
		return nil
	}})
	var meet sync.WaitGroup
	meet.Add(n)
	err := ex.Run(func(_ *lanes.Control, lane lanes.Lane, _ int) error {
		for range 5 { // block so that an unlocked goroutine could change threads
			if id := syscall.Gettid(); id != hook[lane] {
				return fmt.Errorf("started on thread %d, now on %d", hook[lane], id)
			}
			syscall.Nanosleep(&syscall.Timespec{Nsec: 1e5}, nil)
		}
		meet.Done()
		meet.Wait()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	distinct := map[int]bool{}
	for _, id := range hook {
		distinct[id] = true
	}
	if len(distinct) != n {
		t.Errorf("%d lanes on threads %v", n, hook)
	}
}
