package lanes_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/hataori/hataori-go/lanes"
)

// Peers that wait on the control are released by every way a run can go wrong
// or end, and every lane is joined each time. Lane n-1 misbehaves; all others
// wait.
func TestWaitingPeersAreReleased(t *testing.T) {
	boom := errors.New("boom")
	type result struct {
		lane, coordinator, panic bool
	}
	stay := func(ctl *lanes.Control) error { return wait(ctl) }
	leave := func(err error) lanes.Coordinator { return func(*lanes.Control) error { return err } }
	waiting := func(ctl *lanes.Control) error { return wait(ctl) }
	for name, c := range map[string]struct {
		odd         func(ctl *lanes.Control) error // the last lane
		coordinator lanes.Coordinator
		want        result
	}{
		"coordinator returns":      {waiting, leave(nil), result{}},
		"coordinator error":        {waiting, leave(boom), result{coordinator: true}},
		"coordinator panics":       {waiting, func(*lanes.Control) error { panic(boom) }, result{panic: true}},
		"lane error":               {func(*lanes.Control) error { return boom }, stay, result{lane: true}},
		"lane panics":              {func(*lanes.Control) error { panic(boom) }, stay, result{panic: true}},
		"lane error, none waiting": {func(*lanes.Control) error { return boom }, nil, result{lane: true}},
		"lane panics, alone":       {func(*lanes.Control) error { panic(boom) }, nil, result{panic: true}},
	} {
		for _, n := range []int{1, 2, 5} {
			t.Run(fmt.Sprintf("%s, %d lanes", name, n), func(t *testing.T) {
				ex := lanes.New(n)
				var ended atomic.Int32
				body := func(ctl *lanes.Control, lane, _ lanes.Lane) error {
					defer ended.Add(1)
					if int(lane) == n-1 {
						return c.odd(ctl)
					}
					return wait(ctl)
				}
				var err error
				v := within(t, func() {
					if c.coordinator == nil {
						err = ex.Run(body)
					} else {
						err = ex.RunWithCoordinator(body, c.coordinator)
					}
				})
				var le *lanes.LaneError
				var ce *lanes.CoordinatorError
				if got := (result{errors.As(err, &le), errors.As(err, &ce), v != nil}); got != c.want {
					t.Errorf("got %+v (%v, %v), want %+v", got, err, v, c.want)
				}
				if le != nil && int(le.Lane) != n-1 {
					t.Errorf("lane %d is blamed", le.Lane)
				}
				if int(ended.Load()) != n {
					t.Errorf("%d of %d lanes were joined", ended.Load(), n)
				}
			})
		}
	}
}

// A coordinator that waits for its lanes is released by their end.
func TestCoordinatorWaitsForLanes(t *testing.T) {
	ex := lanes.New(3)
	within(t, func() {
		err := ex.RunWithCoordinator(
			func(*lanes.Control, lanes.Lane, lanes.Lane) error { return nil },
			func(ctl *lanes.Control) error {
				select {
				case <-ctl.LanesDone():
					return nil
				case <-ctl.Done():
					return errors.New("cancelled though nobody failed")
				}
			})
		if err != nil {
			t.Error(err)
		}
	})
}

// The coordinator and even a single lane need each other to go on.
func TestCoordinatorOverlapsLanes(t *testing.T) {
	for _, n := range []int{1, 2, 4} {
		ex := lanes.New(n)
		there, back := make(chan int), make(chan int)
		within(t, func() {
			err := ex.RunWithCoordinator(
				func(_ *lanes.Control, _, _ lanes.Lane) error {
					for k := range there {
						back <- k + 1
					}
					return nil
				},
				func(ctl *lanes.Control) error {
					for k := range 100 {
						there <- k
						if got := <-back; got != k+1 {
							return fmt.Errorf("sent %d, got %d", k, got)
						}
					}
					close(there)
					<-ctl.LanesDone()
					return nil
				})
			if err != nil {
				t.Errorf("%d lanes: %v", n, err)
			}
		})
	}
}

// The coordinator runs on the goroutine that called.
func TestCoordinatorIsTheCaller(t *testing.T) {
	here := stackID()
	err := lanes.New(1).RunWithCoordinator(
		func(*lanes.Control, lanes.Lane, lanes.Lane) error { return nil },
		func(*lanes.Control) error {
			if id := stackID(); id != here {
				return fmt.Errorf("on goroutine %s, called from %s", id, here)
			}
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
}
