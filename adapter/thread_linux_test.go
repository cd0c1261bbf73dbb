package adapter_test

import (
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/hataori/hataori-go/adapter"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/lanes"
)

// A lane's thread is its own for the whole run, and none of any engine's pool.
func TestLanesStayOutOfThePools(t *testing.T) {
	var mu sync.Mutex
	pool := map[int]bool{}
	enter := func(int) error {
		mu.Lock()
		defer mu.Unlock()
		pool[syscall.Gettid()] = true
		return nil
	}
	engines := []*cpu.Engine{newEngine(t, 3, enter), newEngine(t, 2, enter)}
	ids := make([]int, len(engines))
	ex, err := adapter.New(engines, adapter.Options[*cpu.Engine]{LockOSThread: true, OnStart: func(lane lanes.Lane, _ *cpu.Engine) error {
		ids[lane] = syscall.Gettid()
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	err = ex.Run(func(_ *lanes.Control, lane lanes.Lane, e *cpu.Engine) error {
		for range 10 {
			if err := product(e); err != nil { // a worker of its pool would be refused
				return err
			}
			if id := syscall.Gettid(); id != ids[lane] {
				return fmt.Errorf("began on thread %d, now on %d", ids[lane], id)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pool) != 3 || pool[ids[0]] || pool[ids[1]] || ids[0] == ids[1] {
		t.Errorf("lanes on threads %v, pools on %v", ids, pool)
	}
}
