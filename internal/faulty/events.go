package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
	"time"

	"github.com/hataori/hataori-go/engine"
	"github.com/hataori/hataori-go/engine/cpu"
	"github.com/hataori/hataori-go/mpi"
)

// badItem is the index of the item that fails in the events of items.
const badItem = 7

// event is one thing that goes wrong. The zero functions are those of a job in
// which nothing does.
type event struct {
	name string

	// build replaces what the rank's engines say about being built.
	build func(rank, size int) error
	// before is called by each rank instead of going straight to the call.
	before func(ctx context.Context, rank, size int) (stay bool, err error)
	// item is called by item badItem, on whatever rank.
	item func(e *cpu.Engine) error
	// rank is called by the last rank in an item, once all lanes are at work.
	rank func()
	// root is the same on rank 0.
	root func()
	// every is called in every item, after the value is computed.
	every func(e *cpu.Engine, rank int)
	// deaf makes items ignore their context, and last for ever.
	deaf bool
	// sink takes the results of a stream on the root, in place of a slice.
	sink func(i int64, square int) error
	// patience is the limit of the call's preflight.
	patience time.Duration
}

var events = []event{
	{name: "ok"}, // the signals from outside and the deadline come into it, too
	{name: "children", every: func(*cpu.Engine, int) {
		cmd := exec.Command("true")
		cmd.Env = mpi.ChildEnv()
		if err := cmd.Run(); err != nil {
			panic(err)
		}
	}},
	{name: "item-error", item: func(*cpu.Engine) error { return errors.New("singular matrix") }},
	{name: "item-panic-error", item: func(*cpu.Engine) error { panic(errors.New("singular matrix")) }},
	{name: "item-panic-string", item: func(*cpu.Engine) error { panic("singular matrix") }},
	{name: "item-panic-map", item: func(*cpu.Engine) error { writeNoMap(); return nil }},
	{name: "item-panic-nil", item: func(*cpu.Engine) error { return fmt.Errorf("value %d", *nowhere()) }},
	{name: "item-goexit", item: func(*cpu.Engine) error { runtime.Goexit(); return nil }},

	{name: "sink-error", sink: func(i int64, _ int) error {
		if i == badItem {
			return errors.New("disk full")
		}
		return nil
	}},
	{name: "sink-panic", sink: func(i int64, _ int) error {
		if i == badItem {
			panic("disk full")
		}
		return nil
	}},

	{name: "rank-error", before: onLast(func(context.Context) (bool, error) { return false, errors.New("disk full") })},
	{name: "rank-panic", before: onLast(func(context.Context) (bool, error) { panic("disk full") })},
	{name: "rank-absent", before: onLast(func(context.Context) (bool, error) { select {} }), patience: 2 * time.Second},
	{name: "rank-leaves", before: onLast(func(context.Context) (bool, error) { return false, nil }), patience: 2 * time.Second},

	{name: "engine-unbuilt", build: func(rank, size int) error {
		if rank == size-1 {
			return errors.New("no device")
		}
		return nil
	}},
	{name: "engine-breaks", item: explode},
	{name: "lane-lost", every: func(e *cpu.Engine, rank int) {
		if firstOf.CompareAndSwap(nil, e) || firstOf.Load() == e {
			_ = explode(e) // what it says is what Err says from now on
		}
	}},
	{name: "lanes-lost", every: func(e *cpu.Engine, _ int) { _ = explode(e) }},

	{name: "crash-panic", rank: func() { go func() { panic("in a goroutine of the user's own") }(); select {} }},
	{name: "crash-map", rank: crashMap},
	{name: "crash-stack", rank: func() { debug.SetMaxStack(1 << 26); overflow(0) }},
	{name: "killed", rank: func() { kill(os.Getpid()) }},
	{name: "killed-root", root: func() { kill(os.Getpid()) }},
	{name: "exit-zero", rank: func() { os.Exit(0) }},
	{name: "deaf", deaf: true},
}

func eventNames() []string {
	var names []string
	for _, e := range events {
		names = append(names, e.name)
	}
	return names
}

func eventOf(name string) *event {
	return &events[slices.IndexFunc(events, func(e event) bool { return e.name == name })]
}

func onLast(f func(ctx context.Context) (bool, error)) func(context.Context, int, int) (bool, error) {
	return func(ctx context.Context, rank, size int) (bool, error) {
		if rank != size-1 {
			return true, nil
		}
		return f(ctx)
	}
}

//go:noinline
func nowhere() *int { return nil }

//go:noinline
func writeNoMap() { noMap()["x"] = 1 }

func noMap() map[string]int { return nil }

// crashMap ends the process by a fatal error that nothing can recover.
func crashMap() {
	m := make(map[int]int)
	for range 4 {
		go func() {
			for i := 0; ; i++ {
				m[i%8] = i
			}
		}()
	}
	select {}
}

// overflow calls itself until the stack is used up, long before n is.
//
//go:noinline
func overflow(n int) int {
	var pad [1 << 12]byte
	pad[n%len(pad)] = byte(n)
	if n == math.MaxInt {
		return 0
	}
	return overflow(n+1) + int(pad[0])
}

func kill(pid int) {
	_ = syscall.Kill(pid, syscall.SIGKILL)
	select {}
}

// exploding is an operation whose kernel panics, which breaks the engine.
type exploding struct{}

func (exploding) Name() string                                  { return "exploding" }
func (exploding) Infer(in []engine.Spec) ([]engine.Spec, error) { return in, nil }
func (exploding) MayAlias(_, _ int) bool                        { return false }
func (exploding) Work() engine.Work                             { return engine.Work{} }
func (exploding) RunHost(engine.Lease, []*engine.Tensor, []*engine.Tensor) error {
	panic("device lost")
}
func (o exploding) HostKernel(_, _ []engine.Spec) (engine.HostKernel, error) { return o, nil }

// explode breaks the engine and returns what the operation says.
func explode(e *cpu.Engine) error {
	x, err := engine.Upload(e, []float64{1}, 1)
	if err != nil {
		return err
	}
	_, err = engine.Apply(e, exploding{}, x, nil)
	return err
}
