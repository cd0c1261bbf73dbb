package main

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"time"

	"github.com/hataori/hataori-go/lanes"
)

// beside prints the 99th percentile of the times of a product in a lane over
// their median, while a coordinator polls as that of a farm does whose lanes are
// busy: a few looks, then a short sleep. Alone, it only waits.
func beside(once func() error, alone bool) error {
	runtime.GOMAXPROCS(runtime.NumCPU() + 1)
	const products = 500
	times := make([]float64, 0, products)
	body := func(*lanes.Control, lanes.Lane, func() error) error {
		for range products {
			start := time.Now()
			if err := once(); err != nil {
				return err
			}
			times = append(times, float64(time.Since(start)))
		}
		return nil
	}
	poll := func(ctl *lanes.Control) error {
		const looks = 64
		if alone {
			<-ctl.LanesDone()
		}
		nap := syscall.NsecToTimespec(int64(100 * time.Microsecond))
		for {
			for range looks {
				select {
				case <-ctl.LanesDone():
					return nil
				default:
				}
			}
			_ = syscall.Nanosleep(&nap, nil) // a signal ends it early, which is fine
		}
	}
	ex := lanes.Of([]func() error{once}, lanes.Options[func() error]{})
	if err := ex.RunWithCoordinator(body, poll); err != nil {
		return err
	}
	slices.Sort(times)
	fmt.Println(times[products*99/100] / times[products/2])
	return nil
}
