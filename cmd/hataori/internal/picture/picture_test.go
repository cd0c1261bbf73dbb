package picture

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hataori/hataori-go/trace"
)

// farm is a call that an ideal farm of so many ranks and lanes would make of n
// items; items of rank slow take four times as long, one item fails.
func farm(ranks, lanes, n, slow int) *trace.Call {
	rng := rand.New(rand.NewPCG(7, 7))
	c := &trace.Call{Kind: "PmapLanes", Began: time.Unix(1, 0)}
	for r := range ranks {
		k := trace.Rank{Rank: r, Host: fmt.Sprintf("node%02d", r/4), Lanes: make([]trace.Lane, lanes)}
		for i := range lanes {
			k.CPUs = append(k.CPUs, i)
		}
		c.Ranks = append(c.Ranks, k)
	}
	free := make([]time.Duration, ranks*lanes)
	for i := range n {
		l := 0
		for k := range free {
			if free[k] < free[l] {
				l = k
			}
		}
		d := time.Duration(float64(10*time.Millisecond) * (0.5 + rng.ExpFloat64()))
		if l/lanes == slow {
			d *= 4
		}
		start := free[l] + time.Duration(rng.IntN(1_000_000))
		s := trace.Span{Start: start, End: start + d, Busy: d, Items: 1, Longest: d, Index: int64(i)}
		if i == n/3 {
			s.Failed, s.FailedIndex = 1, int64(i)
		}
		to := &c.Ranks[l/lanes].Lanes[l%lanes]
		to.Spans = append(to.Spans, s)
		free[l] = s.End
		c.Elapsed = max(c.Elapsed, s.End)
	}
	return c
}

// TestDraw draws calls of few and many lanes, and of none. Set PICTURES to a
// folder to look at them.
func TestDraw(t *testing.T) {
	for name, c := range map[string]*trace.Call{
		"2": farm(1, 2, 60, -1), "8": farm(2, 4, 200, 1), "256": farm(32, 8, 6000, 5), "2000": farm(250, 8, 20_000, -1),
		"short": farm(2, 2, 40_000, -1), "none": {}, "idle": {Elapsed: time.Second, Ranks: []trace.Rank{{Lanes: make([]trace.Lane, 2)}}},
	} {
		for _, f := range []Format{PNG, SVG} {
			var b bytes.Buffer
			if err := Draw(&b, f, c, c.Summary()); err != nil {
				t.Fatalf("%s.%s: %v", name, f, err)
			}
			if dir := os.Getenv("PICTURES"); dir != "" {
				if err := os.WriteFile(filepath.Join(dir, name+"."+string(f)), b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if b.Len() > 4<<20 {
				t.Errorf("%s.%s has %d bytes", name, f, b.Len())
			}
			if f == SVG {
				d := xml.NewDecoder(&b)
				for {
					if _, err := d.Token(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatalf("%s.svg: %v", name, err)
					}
				}
				continue
			}
			img, err := png.Decode(&b)
			if err != nil {
				t.Fatalf("%s.png: %v", name, err)
			}
			check(t, name, c, img)
		}
	}
}

// check counts coloured pixels: the share of waiting among those of the rows is
// that of the call.
func check(t *testing.T, name string, c *trace.Call, img image.Image) {
	var wait, busy, failed int
	bounds := img.Bounds()
	// The head and the foot hold other things.
	for y := 80; y < bounds.Max.Y-95; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			r, g, b = r>>8, g>>8, b>>8
			switch {
			case r == 0xdd && g == 0xdd && b == 0xdd:
				wait++
			case r == 0xd6 && g == 0x12 && b == 0x4a:
				failed++
			case r != g || g != b:
				busy++
			}
		}
	}
	s := c.Summary()
	if (failed > 0) != (s.Failed > 0) {
		t.Errorf("%s: %d pixels of failures, %d failed", name, failed, s.Failed)
	}
	if s.Lanes == 0 {
		return
	}
	got := float64(busy+failed) / float64(busy+failed+wait)
	if name != "2000" && name != "short" && (got < s.Busy-0.06 || got > s.Busy+0.06) {
		t.Errorf("%s: %.3f of the rows are busy, %.3f of the call", name, got, s.Busy)
	}
}
