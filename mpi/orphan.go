package mpi

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// ErrOrphaned is the cause of a context that [Program.Run] cancelled because the
// launcher, or a shell between it and this process, has ended: nobody takes the
// output any more, and nobody would end this process. What f does not end within
// five seconds, or Grace if that is less, is ended with status ExitAbandoned.
var ErrOrphaned = errors.New("mpi: the launcher of this rank has ended")

const (
	lineagePause   = 500 * time.Millisecond // between two looks
	orphanPatience = 5 * time.Second
)

// watchLauncher starts the goroutine that notices the end of the launcher, and
// returns a function that ends it.
func (p *process) watchLauncher(cancel context.CancelCauseFunc) (stop func()) {
	if p.lineage == nil || p.Orphan {
		return func() {}
	}
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lineagePause)
		defer tick.Stop()
		for p.lineage.whole() {
			select {
			case <-tick.C:
			case <-quit:
				return
			}
		}
		// A message to a pipe without a reader must not end what is being saved.
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
		time.AfterFunc(min(p.Grace, orphanPatience), func() { exitProcess(ExitAbandoned) })
		cancel(ErrOrphaned)
	}()
	return func() {
		close(quit)
		<-done
	}
}

// underHydra reports whether the launcher is Hydra, of MPICH or of one of its
// relatives.
func underHydra() bool { return os.Getenv("HYDI_CONTROL_FD") != "" }
