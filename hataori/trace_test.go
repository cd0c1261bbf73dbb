package hataori

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

func panicForTrace(x int) int {
	var m map[int]int
	if x == 3 {
		m[0] = x //lint:ignore SA5000 the panic is what is tested
	}
	return x
}

// TestTraceOnAllRanks wants the line that panicked, on every rank.
func TestTraceOnAllRanks(t *testing.T) {
	onRanks(t, 3, mpitest.Options{Seed: 5}, func(w *World) error {
		_, err := PmapLanes(context.Background(), w, lanes.New(1), Options{}, count(w, 0, 20),
			func(_ context.Context, _ lanes.Lane, x int) (int, error) { return panicForTrace(x), nil })
		var traced interface{ Trace() string }
		if !errors.As(fmt.Errorf("wrapped: %w", err), &traced) {
			return fmt.Errorf("got %v", err)
		}
		if s := traced.Trace(); !strings.Contains(s, "hataori.panicForTrace") || !strings.Contains(s, "trace_test.go:") {
			t.Errorf("rank %d: the trace is %q", w.Rank(), s)
		}
		return nil
	})
}
