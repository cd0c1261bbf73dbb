package lanes_test

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hataori/hataori-go/lanes"
)

// Two lanes share out numbers; each keeps its own sum in the resource that it
// is lent.
func ExampleSet_Run() {
	type accumulator struct{ sum int }
	sums := []*accumulator{{}, {}}
	ex := lanes.Of(sums, lanes.Options[*accumulator]{})

	var next atomic.Int64
	err := ex.Run(func(ctl *lanes.Control, _ lanes.Lane, acc *accumulator) error {
		for k := next.Add(1); k <= 100; k = next.Add(1) {
			acc.sum += int(k)
		}
		return nil
	})
	fmt.Println(sums[0].sum+sums[1].sum, err)
	// Output: 5050 <nil>
}

// The coordinator feeds the lanes from the calling goroutine.
func ExampleSet_RunWithCoordinator() {
	work := make(chan int)
	var total atomic.Int64
	err := lanes.New(2).RunWithCoordinator(
		func(ctl *lanes.Control, _, _ lanes.Lane) error {
			for {
				select {
				case k, more := <-work:
					if !more {
						return nil
					}
					total.Add(int64(k))
				case <-ctl.Done():
					return ctl.Cause()
				}
			}
		},
		func(ctl *lanes.Control) error {
			for k := range 10 {
				select {
				case work <- k:
				case <-ctl.Done():
					return ctl.Cause()
				}
			}
			close(work)
			<-ctl.LanesDone() // leaving earlier would cancel them
			return nil
		})
	fmt.Println(total.Load(), err)
	// Output: 45 <nil>
}

// Resources that could not be built still make an executor, which says why.
func ExampleFailed() {
	ex := lanes.Failed[*int](errors.New("no device 3"))
	fmt.Println(ex.Lanes(), ex.Ready())
	// Output: 0 no device 3
}
