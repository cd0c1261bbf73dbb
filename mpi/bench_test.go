package mpi_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/hataori/hataori-go/mpi"
	"github.com/hataori/hataori-go/transport"
)

// programPingPong measures messages between two ranks and prints the time and
// the allocations of one round trip.
func programPingPong() int {
	return inJob(mpi.Options{}, func(ctx context.Context, rt *mpi.Runtime) error {
		w := rt.World()
		for _, k := range []struct{ bytes, rounds int }{{8, 5000}, {4096, 1000}, {1 << 20, 20}} {
			p := make([]byte, k.bytes)
			var before, after runtime.MemStats
			var begin time.Time
			for i := range k.rounds + k.rounds/10 {
				if i == k.rounds/10 { // warm
					runtime.ReadMemStats(&before)
					begin = time.Now()
				}
				if err := bounce(w, p); err != nil {
					return err
				}
			}
			took := time.Since(begin)
			runtime.ReadMemStats(&after)
			if w.Rank() == 0 {
				fmt.Printf("bytes=%d ns/round=%d allocs/round=%.2f\n", k.bytes, took.Nanoseconds()/int64(k.rounds),
					float64(after.Mallocs-before.Mallocs)/float64(k.rounds))
			}
		}
		return w.Barrier(ctx)
	})
}

// bounce sends p to the other rank and back.
func bounce(w *mpi.Comm, p []byte) error {
	peer := 1 - w.Rank()
	for half := range 2 {
		var r transport.Request
		var err error
		if half == w.Rank() {
			r, err = w.Isend(p, peer, 0)
		} else {
			r, err = w.Irecv(p, peer, 0)
		}
		if err != nil {
			return err
		}
		for done := false; !done; {
			if done, _, err = r.Test(); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestPingPongAllocatesNothing holds the hot path free of garbage: send,
// receive and every test of a short message.
func TestPingPongAllocatesNothing(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector allocates")
	}
	each(t, func(t *testing.T, l launcher) {
		o := l.job(t, 2, "pingpong")
		o.ok(t)
		var bytes, ns int
		var allocs float64
		if _, err := fmt.Sscanf(o.stdout, "bytes=%d ns/round=%d allocs/round=%f", &bytes, &ns, &allocs); err != nil {
			t.Fatalf("%v in %q", err, o.stdout)
		}
		if allocs >= 0.1 {
			t.Errorf("%v allocations in one round trip of %d bytes", allocs, bytes)
		}
		t.Log(o.stdout)
	})
}

// BenchmarkPingPong reports the time of a round trip of 8 bytes between two
// ranks, as one job under each launcher measures it.
func BenchmarkPingPong(b *testing.B) {
	for _, l := range launchers {
		b.Run(l.name, func(b *testing.B) {
			l.find(b)
			var total int
			for b.Loop() {
				o := l.job(b, 2, "pingpong")
				var bytes, ns int
				if _, err := fmt.Sscanf(o.stdout, "bytes=%d ns/round=%d", &bytes, &ns); err != nil {
					b.Fatalf("%v in %q", err, o.stdout)
				}
				total += ns
			}
			b.ReportMetric(float64(total)/float64(b.N), "ns/round-trip")
			b.ReportMetric(0, "ns/op")
		})
	}
}
