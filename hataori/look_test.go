package hataori

import (
	"testing"
	"time"
)

// Lanes look every lookEvery, seldom only while that is easy and late in a call.
func TestLookSeldom(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		name                string
		since, lasts, taken time.Duration
		left                int64
		crowd, uneven, idle bool
		want                bool
	}{
		{"a moment ago", lookEvery - 1, ms, time.Second, 9, false, false, false, false},
		{"a moment ago, for a lane that was idle", lookEvery - 1, ms, time.Second, 9, false, false, true, true},
		{"while much is in store", ms, ms, time.Second, 9, false, false, false, false},
		{"between short items", ms, lookEvery - 1, time.Second, 9, false, false, false, true},
		{"for a lane that was idle", ms, ms, time.Second, 9, false, false, true, true},
		{"before an item that is too long", ms, 2 * ms, time.Second, 9, false, false, false, true},
		{"while little is in store", ms, ms, time.Second, 5, false, false, false, true},
		{"early in the call", ms, ms, 100 * ms, 9, false, false, false, true},
		{"after messages that came together", ms, ms, time.Second, 9, true, false, false, true},
		{"while gaps are uneven", ms, ms, time.Second, 9, false, true, false, true},
	} {
		l := turns{left: func() int64 { return c.left }, base: time.Now()}
		looked := false
		l.one = func() (bool, bool, error) { looked = true; return false, false, nil }
		l.enough.Store(5)
		l.last.Store(int64(c.taken - c.since))
		l.crowd.Store(c.crowd)
		l.uneven.Store(c.uneven)
		if l.look(c.taken, c.lasts, c.idle); looked != c.want {
			t.Errorf("%s: looked is %v", c.name, looked)
		}
	}
}
