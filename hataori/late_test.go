package hataori

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
)

// TestMissingRanksAreTold lets one rank come five minutes late to a call without a
// limit. The call waits and succeeds; rank 0 names who is missing after a minute,
// two, and four.
func TestMissingRanksAreTold(t *testing.T) {
	for _, k := range []struct {
		late      int
		warnings  []string // of rank 0
		elsewhere int      // lines of a rank that is neither
	}{
		{2, []string{"absent=2 waited=1m0s", "absent=2 waited=2m0s", "absent=2 waited=4m0s"}, 3},
		{0, nil, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			const ranks = 4
			logs := make([]bytes.Buffer, ranks)
			onRanks(t, ranks, mpitest.Options{Seed: 1}, func(w *World) error {
				w.pause = func(time.Duration) { time.Sleep(400 * time.Millisecond) }
				o := Options{Root: 1, Logger: slog.New(slog.NewTextHandler(&logs[w.Rank()], &slog.HandlerOptions{Level: slog.LevelInfo}))}
				if w.Rank() == k.late {
					time.Sleep(5 * time.Minute)
				}
				got, err := PmapLanes(context.Background(), w, lanes.New(1), o, count(w, 1, 9), same)
				if err == nil && w.Rank() == 1 && !slices.Equal(got, []int{0, 1, 2, 3, 4, 5, 6, 7, 8}) {
					err = fmt.Errorf("results %v", got)
				}
				return err
			})
			var warned []string
			for line := range strings.Lines(logs[0].String()) {
				if strings.Contains(line, "waits for ranks") {
					warned = append(warned, line)
				}
			}
			if len(warned) != len(k.warnings) {
				t.Fatalf("rank %d late: rank 0 is told %q", k.late, warned)
			}
			for i, want := range k.warnings {
				if !strings.Contains(warned[i], want) || !strings.Contains(warned[i], "level=WARN") {
					t.Errorf("told %q, want %q", warned[i], want)
				}
			}
			for r := 1; r < ranks; r++ {
				want := k.elsewhere
				if r == k.late {
					want = 0
				}
				if n := strings.Count(logs[r].String(), "rank 0 says which"); n != want {
					t.Errorf("rank %d late: rank %d is told %d times, want %d:\n%s", k.late, r, n, want, logs[r].String())
				}
			}
		})
	}
}
