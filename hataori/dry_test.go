package hataori

import (
	"math"
	"testing"
	"time"
)

// When a rank may report without work follows the shortest time that it took of
// late, not one that was long for once.
func TestDry(t *testing.T) {
	const ms = int64(time.Millisecond)
	d := make(dry, 3)
	if got := d.first(); got != math.MaxInt64 {
		t.Fatalf("nobody has items, and somebody may report at %d", got)
	}
	d.expect(2, 8*time.Millisecond, 100*ms)
	if got := d.first(); got != 107*ms {
		t.Fatalf("8 ms from 100 on: %d, want 107 ms", got)
	}
	d.expect(1, 16*time.Millisecond, 90*ms)
	if got := d.first(); got != 104*ms {
		t.Fatalf("16 ms from 90 on: %d, want 104 ms", got)
	}
	d.heard(1, 200*ms)
	d.expect(1, 0, 200*ms) // it has some in store
	d.heard(2, 104*ms)     // after 4
	for _, took := range []int64{4, 400, 5} {
		d.expect(2, 8*time.Millisecond, 1000*ms)
		if got := d.first(); got < 1003*ms || got > 1004*ms {
			t.Fatalf("4 ms were enough, and it may report at %d", got)
		}
		d.heard(2, (1000+took)*ms)
	}
}
