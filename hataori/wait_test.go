package hataori

import (
	"testing"
	"time"
)

// A long message moves only while it is looked at: nobody naps meanwhile, however
// long it takes, but where tests bound the polls.
func TestHaul(t *testing.T) {
	naps := 0
	l := ladder{pause: func(time.Duration) { naps++ }, yielder: yielder{every: yieldOften}}
	for range 2 * hotStarving {
		l.haul()
	}
	if naps != 0 {
		t.Errorf("%d naps while a message was hauled", naps)
	}
	l.most = 3
	for range 10 {
		l.haul()
	}
	if naps != 7 {
		t.Errorf("%d naps of 10 steps behind 3 polls", naps)
	}
}
