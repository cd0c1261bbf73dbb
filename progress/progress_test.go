package progress

import (
	"bytes"
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi/mpitest"
	"github.com/hataori/hataori-go/transport"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// told is a call of ten seconds, as the hook tells of it.
func told(d *Display) {
	for k := range int64(11) {
		p := hataori.Progress{Done: 20 * k, Total: 200, Elapsed: time.Duration(k) * time.Second, Rate: 20, Lanes: 8, Busy: 7,
			Remaining: time.Duration(10-k) * time.Second}
		if k >= 5 {
			p.Failed = 3
		}
		d.Show(p)
	}
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	d := New(&b, Options{Every: 4 * time.Second, Name: "job"})
	told(d)
	d.Close()
	d.Close()
	got := strings.Split(b.String(), "\n")
	if len(got) != 4 || got[3] != "" {
		t.Fatalf("%q", got)
	}
	for k, want := range []string{"job: 4s: 80 of 200 items (40 %), 20/s, 7 of 8 lanes busy, 6s left, until ",
		"job: 8s: 160 of 200 items (80 %), 20/s, 3 failed, 7 of 8 lanes busy, 2s left, until ",
		"job: 10s: 200 of 200 items (100 %), 20/s, 3 failed, ended after 10s"} {
		if !strings.HasPrefix(got[k], want) {
			t.Errorf("got  %q\nwant %q", got[k], want)
		}
	}
	// A stream does not tell how long it is; a second call begins anew.
	b.Reset()
	d.Show(hataori.Progress{Done: 5, Total: -1, Elapsed: 4 * time.Second, Rate: 50_000, Remaining: -1})
	d.Show(hataori.Progress{Done: 1, Total: -1, Elapsed: 4 * time.Second, Rate: 3e6, Remaining: -1})
	if want := "job: 4s: 5 items, 50k/s\njob: 4s: 1 items, 3M/s\n"; b.String() != want {
		t.Errorf("%q", b.String())
	}
	d.Close()
}

func TestBar(t *testing.T) {
	var b bytes.Buffer
	d := New(&b, Options{})
	d.terminal, d.width = true, 120
	told(d)
	d.Close()
	lines := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\n' || r == '\r' || r == 0x1b })
	last := lines[len(lines)-1]
	for _, want := range []string{"200/200", "100 %", "[=", "20/s, 3 failed, ended after 10s"} {
		if !strings.Contains(last, want) {
			t.Errorf("%q is not in the last line, %q", want, last)
		}
	}
	b.Reset()
	d.Show(hataori.Progress{Done: 5, Total: -1, Elapsed: time.Second, Rate: 5, Remaining: -1})
	d.Close() // a call that ended early
	if !strings.Contains(b.String(), "5 items") {
		t.Errorf("%q", b.String())
	}
}

func TestOff(t *testing.T) {
	var b bytes.Buffer
	d := New(&b, Options{Off: true})
	told(d)
	d.Close()
	if o := d.Attach(hataori.Options{}); o.Progress != nil || b.Len() > 0 {
		t.Errorf("%q", b.String())
	}
}

// syncBuffer may be written by all ranks.
type syncBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Buffer.Write(p)
}

// TestOnRanks attaches a display on every rank: the root alone writes.
func TestOnRanks(t *testing.T) {
	var out [3]syncBuffer
	err := mpitest.New(3, mpitest.Options{}).Run(func(comm transport.Comm) error {
		w, err := hataori.NewWorld(comm)
		if err != nil {
			return err
		}
		defer w.Close()
		d := New(&out[w.Rank()], Options{Every: time.Millisecond})
		defer d.Close()
		var items []int
		if w.Rank() == 0 {
			items = make([]int, 100)
		}
		_, err = hataori.PmapLanes(context.Background(), w, lanes.New(2), d.Attach(hataori.Options{}), items,
			func(context.Context, lanes.Lane, int) (int, error) {
				time.Sleep(time.Millisecond)
				return 0, nil
			})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := out[0].String(); !strings.Contains(got, "100 of 100 items (100 %)") || out[1].Len()+out[2].Len() > 0 {
		t.Errorf("%q, %q, %q", got, out[1].String(), out[2].String())
	}
}
