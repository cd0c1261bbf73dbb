package mpitest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hataori/hataori-go/transport"
)

func TestConform(t *testing.T) {
	for n := 1; n <= 4; n++ {
		for name, opts := range map[string]Options{
			"orderly": {},
			"late":    {Seed: uint64(n), Eager: -1, MaxTag: 1 << 20},
			"delay":   {Delay: func(m Message) time.Duration { return time.Duration(m.Seq%3) * 50 * time.Microsecond }},
		} {
			if name == "delay" && n != 3 || testing.Short() && n != 2 {
				continue // one size will do, it is slow
			}
			t.Run(fmt.Sprintf("%s/n=%d", name, n), func(t *testing.T) {
				net := New(n, opts)
				Conform(t, net.Run)
				if err := net.Check(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// finish tests a request until it ends.
func finish(r transport.Request) (st transport.Status, err error) {
	for {
		done, st, err := r.Test()
		if done || err != nil {
			return st, err
		}
		time.Sleep(time.Microsecond)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestDelayUsesTheBubblesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := New(2, Options{Delay: func(m Message) time.Duration {
			if m.Seq == 0 {
				return time.Hour
			}
			return 0
		}})
		start := time.Now()
		err := net.Run(func(c transport.Comm) error {
			if c.Rank() == 0 {
				for i := range 2 {
					if _, err := finish(must(c.Isend([]byte{byte(i)}, 1, 0))); err != nil {
						return err
					}
				}
				return nil
			}
			// The second message is there, but must not overtake the first.
			for i := range 2 {
				p := make([]byte, 1)
				r := must(c.Irecv(p, 0, 0))
				for {
					done, _, err := r.Test()
					if err != nil {
						return err
					}
					if done {
						break
					}
					time.Sleep(time.Minute)
				}
				if int(p[0]) != i {
					return fmt.Errorf("message %d came as number %d", p[0], i)
				}
			}
			return nil
		})
		if err := errors.Join(err, net.Check()); err != nil {
			t.Error(err)
		}
		if d := time.Since(start); d != time.Hour {
			t.Errorf("took %v of the bubble's time, want 1h", d)
		}
	})
}

func TestReorderingBetweenSources(t *testing.T) {
	firsts := make(map[int]bool)
	for seed := uint64(1); seed < 40; seed++ {
		net := New(3, Options{Seed: seed})
		for i := range 2 {
			must(net.Rank(i).Isend([]byte{1}, 2, 0))
		}
		for {
			if st, found, _ := net.Rank(2).Iprobe(transport.AnySource, 0); found {
				firsts[st.Source] = true
				break
			}
		}
	}
	if !firsts[0] || !firsts[1] {
		t.Errorf("the first message always came from the same source: %v", firsts)
	}
}

func TestUnmatchedAndCheck(t *testing.T) {
	net := New(2, Options{})
	finish(must(net.Rank(0).Isend([]byte("nobody asked"), 1, 7)))
	u := net.Unmatched()
	if len(u) != 1 || u[0].Source != 0 || u[0].Dest != 1 || u[0].Tag != 7 || string(u[0].Bytes) != "nobody asked" {
		t.Errorf("Unmatched() = %v", u)
	}
	must(net.Rank(1).Irecv(nil, 0, 3))
	err := net.Check()
	if err == nil || !strings.Contains(err.Error(), "tag 7") || !strings.Contains(err.Error(), "rank 1 left 1 requests") {
		t.Errorf("Check() = %v", err)
	}
	net.Kill(1)
	if err := net.Check(); err != nil {
		t.Errorf("Check() counts what a dead rank left: %v", err)
	}

	net = New(2, Options{})
	err = net.Run(func(c transport.Comm) error {
		d := must(c.Private())
		if c.Rank() == 0 {
			finish(must(d.Isend(nil, 1, 1)))
			return d.Free()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := net.Check(); err == nil || !strings.Contains(err.Error(), "communicator 1 freed by 1 of 2 ranks") {
		t.Errorf("Check() = %v", err)
	}
}

func TestFailingSend(t *testing.T) {
	broken := errors.New("link down")
	net := New(2, Options{OnSend: func(m Message) error {
		if m.Tag == 4 {
			return broken
		}
		return nil
	}})
	_, err := net.Rank(0).Isend(nil, 1, 4)
	var e *Error
	if !errors.Is(err, broken) || !errors.As(err, &e) || e.Op != "Isend" || e.Rank != 0 {
		t.Errorf("Isend: %v", err)
	}
	if u := net.Unmatched(); len(u) != 0 {
		t.Errorf("a failed send arrived: %v", u)
	}
}

func TestDeadRank(t *testing.T) {
	for _, report := range []bool{false, true} {
		net := New(3, Options{ReportDead: report})
		c := net.Rank(0)
		early := must(net.Rank(1).Isend([]byte{5}, 0, 0))
		finish(early)
		net.Kill(1)
		if _, err := net.Rank(1).Isend(nil, 0, 0); !errors.Is(err, ErrDead) {
			t.Errorf("a dead rank sends: %v", err)
		}
		p := make([]byte, 1)
		if _, err := finish(must(c.Irecv(p, 1, 0))); err != nil || p[0] != 5 {
			t.Errorf("what a rank sent before it died is lost: %v", err)
		}
		recv := must(c.Irecv(p, 1, 0))
		barrier := must(c.Ibarrier())
		_, sendErr := c.Isend(make([]byte, 1<<20), 1, 0)
		for what, r := range map[string]transport.Request{"receive": recv, "barrier": barrier} {
			done, _, err := r.Test()
			if done || errors.Is(err, ErrDead) != report {
				t.Errorf("report=%t: %s with a dead rank: done=%t, %v", report, what, done, err)
			}
		}
		if errors.Is(sendErr, ErrDead) != report {
			t.Errorf("report=%t: send to a dead rank: %v", report, sendErr)
		}
	}
}

func TestPrivateWithADeadRankEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := New(2, Options{ReportDead: true})
		go func() {
			time.Sleep(time.Second)
			net.Kill(1)
		}()
		if _, err := net.Rank(0).Private(); !errors.Is(err, ErrDead) {
			t.Errorf("Private: %v", err)
		}
	})
}

func TestAbort(t *testing.T) {
	net := New(2, Options{})
	var returned bool
	err := net.Run(func(c transport.Comm) error {
		if c.Rank() == 1 {
			c.Abort(3)
			returned = true
		}
		r, err := c.Irecv(nil, 1, 0)
		if err == nil {
			_, err = finish(r)
		}
		return err
	})
	if !errors.Is(err, ErrAborted) || returned {
		t.Errorf("Run: %v, Abort returned: %t", err, returned)
	}
	if rank, status, ok := net.Aborted(); rank != 1 || status != 3 || !ok {
		t.Errorf("Aborted() = %d, %d, %t", rank, status, ok)
	}
}

func TestCollectivesThatDisagree(t *testing.T) {
	net := New(2, Options{})
	err := net.Run(func(c transport.Comm) error {
		var r transport.Request
		if c.Rank() == 0 {
			r = must(c.Ibarrier())
		} else {
			r = must(c.Ibcast(make([]byte, 3), 1))
		}
		_, err := finish(r)
		return err
	})
	if !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "Ibarrier") || !strings.Contains(err.Error(), "Ibcast(len 3, root 1)") {
		t.Errorf("Run: %v", err)
	}
}

// A rank that waits inside a collective call is told, too.
func TestWaitingCallsThatDisagree(t *testing.T) {
	for what, wait := range map[string]func(c *Comm) error{
		"Private": func(c *Comm) error { _, err := c.Private(); return err },
		"Part":    func(c *Comm) error { _, err := c.Part(0, 0); return err },
	} {
		synctest.Test(t, func(t *testing.T) {
			net := New(2, Options{})
			go func() {
				time.Sleep(time.Second)
				_, err := finish(must(net.Rank(1).Ibarrier()))
				if !errors.Is(err, ErrMismatch) {
					t.Errorf("Ibarrier beside %s: %v", what, err)
				}
			}()
			if err := wait(net.Rank(0)); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), what) {
				t.Errorf("%s beside Ibarrier: %v", what, err)
			}
		})
	}
}

func TestMisuse(t *testing.T) {
	panics := func(what string, f func()) {
		t.Helper()
		defer func() {
			if recover() == nil {
				t.Errorf("%s: no panic", what)
			}
		}()
		f()
	}
	net := New(1, Options{})
	r := must(net.Rank(0).Ibarrier())
	finish(r)
	panics("request used again", func() { r.Test() })
	panics("New(0)", func() { New(0, Options{}) })
	net.Rank(0).busy.Store(true) // as if another goroutine were inside
	panics("two goroutines", func() { net.Rank(0).Ibarrier() })
}

func TestFunneled(t *testing.T) {
	net := New(1, Options{Funneled: true})
	c := net.Rank(0)
	if c.AnyThread() {
		t.Error("AnyThread() = true")
	}
	if _, _, err := c.Iprobe(0, 0); err != nil {
		t.Error(err)
	}
	done := make(chan error)
	go func() {
		_, _, err := c.Iprobe(0, 0)
		done <- err
	}()
	if err := <-done; !errors.Is(err, transport.ErrArgument) {
		t.Errorf("call from another goroutine: %v", err)
	}
}
