package mpi

import "testing"

func TestLanesOfAHost(t *testing.T) {
	for _, c := range [][5]int{ // processors of the rank, of the host, ranks, threads, lanes
		{64, 64, 1, 1, 64}, {64, 64, 2, 1, 32}, {64, 64, 3, 1, 21}, {64, 64, 2, 8, 4},
		{1, 2, 2, 1, 1}, {8, 64, 4, 1, 8}, // bound
		{2, 2, 5, 1, 1}, {2, 2, 1, 4, 1}, {2, 2, 1, 0, 2},
	} {
		if got := lanesOf(c[0], c[1], c[2], c[3]); got != c[4] {
			t.Errorf("%v: %d lanes", c, got)
		}
	}
}
