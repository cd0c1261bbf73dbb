// Package progress shows a person how far a call has come: on a terminal by a
// bar, elsewhere, in the log of a batch job say, by a line from time to time.
//
//	show := progress.New(os.Stderr, progress.Options{})
//	defer show.Close()
//	opts := show.Attach(hataori.Options{})
//	results, err := hataori.PmapLanes(ctx, world, ex, opts, items, f)
//
// All ranks may do so: only the root is told how far the call has come, and
// nothing is written before that. Under a launcher standard error is a pipe, so
// that lines are written there, also where a person looks on.
package progress

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"github.com/hataori/hataori-go/hataori"
)

// Options of [New]. The zero value is the default.
type Options struct {
	// Off shows nothing.
	Off bool

	// Every is the time between two lines where there is no terminal. 0: 30 s.
	Every time.Duration

	// Name stands in front of the bar or line. Empty: none.
	Name string
}

const (
	defaultEvery = 30 * time.Second
	frame        = 250 * time.Millisecond // between two pictures of the bar
	narrowest    = 20                     // columns of a terminal that has room for it
)

// Display shows the progress of one call after the other. Its methods are for
// one goroutine at a time.
type Display struct {
	out      io.Writer
	opts     Options
	terminal bool
	width    int // of the bar, where the terminal does not tell

	bar  *bar
	last hataori.Progress
	told time.Duration // when the last line was written
	rate float64       // smoothed
	open bool          // something was shown that is not concluded
}

// New returns a display on out; on a terminal, an *os.File that is one, it draws
// a bar. It writes lines where the environment says TERM=dumb or has no TERM, and
// where the terminal is narrow or does not know how wide it is.
func New(out io.Writer, opts Options) *Display {
	if opts.Every <= 0 {
		opts.Every = defaultEvery
	}
	d := &Display{out: out, opts: opts}
	if f, is := out.(*os.File); is {
		kind := os.Getenv("TERM")
		width, _, err := term.GetSize(int(f.Fd()))
		d.terminal = err == nil && width >= narrowest && kind != "" && kind != "dumb"
	}
	return d
}

// Attach returns the options with Progress and ProgressEvery set, or as they are
// if the display is off.
func (d *Display) Attach(o hataori.Options) hataori.Options {
	if d.opts.Off {
		return o
	}
	o.Progress, o.ProgressEvery = d.Show, d.opts.Every
	if d.terminal {
		o.ProgressEvery = frame
	}
	return o
}

// Show shows p; it is for Options.Progress.
func (d *Display) Show(p hataori.Progress) {
	if d.opts.Off {
		return
	}
	if d.open && (p.Elapsed < d.last.Elapsed || p.Done < d.last.Done) { // another call
		d.Close()
	}
	if !d.open {
		d.rate, d.told = p.Rate, 0
	}
	d.rate += 0.2 * (p.Rate - d.rate)
	d.open, d.last = true, p
	if d.terminal {
		if d.bar == nil {
			d.bar = newBar(d.out, d.opts.Name, p.Total, d.width)
		}
		d.bar.show(p.Done, d.words(p))
		return
	}
	if p.Elapsed-d.told >= d.opts.Every*9/10 {
		d.line(p)
	}
}

// Close concludes what is shown with how the call ended. Without a terminal a call
// that was shorter than Options.Every leaves no line. The display may be used
// again for another call.
func (d *Display) Close() {
	if !d.open {
		return
	}
	d.open = false
	if d.bar != nil {
		d.bar.close(d.words(d.last))
		d.bar = nil
		return
	}
	if d.told > 0 && d.last.Elapsed != d.told { // a short call says nothing
		d.line(d.last)
	}
}

// line writes how far the call has come.
func (d *Display) line(p hataori.Progress) {
	d.told = p.Elapsed
	name := d.opts.Name
	if name != "" {
		name += ": "
	}
	share := ""
	if p.Total > 0 {
		share = fmt.Sprintf(" of %d items (%d %%)", p.Total, 100*p.Done/p.Total)
	} else {
		share = " items"
	}
	// Whoever reads the log has lost nothing but a line if it cannot be written.
	_, _ = fmt.Fprintf(d.out, "%s%v: %d%s, %s\n", name, p.Elapsed.Round(time.Second/10), p.Done, share, d.words(p))
}

// words are what bar and line have in common.
func (d *Display) words(p hataori.Progress) string {
	rate := d.rate
	if !d.open && p.Elapsed > 0 { // at the end, that of the whole
		rate = float64(p.Done) / p.Elapsed.Seconds()
	}
	parts := []string{number(rate) + "/s"}
	if p.Failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", p.Failed))
	}
	if p.Lanes > 0 && d.open {
		parts = append(parts, fmt.Sprintf("%d of %d lanes busy", p.Busy, p.Lanes))
	}
	switch {
	case !d.open:
		parts = append(parts, fmt.Sprintf("ended after %v", short(p.Elapsed)))
	case p.Remaining > 0:
		end := time.Now().Add(p.Remaining)
		parts = append(parts, fmt.Sprintf("%v left, until %s", short(p.Remaining), end.Format(layout(p.Remaining))))
	}
	return strings.Join(parts, ", ")
}

// layout of a time that is so far away.
func layout(d time.Duration) string {
	if d > 20*time.Hour {
		return "Jan 2 15:04"
	}
	return "15:04:05"
}

// number writes a rate in three digits or so.
func number(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%.3gM", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%.3gk", x/1e3)
	}
	return fmt.Sprintf("%.3g", x)
}

func short(d time.Duration) time.Duration {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond)
	case d < time.Minute:
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(time.Second)
}

// bar is the library's bar, drawn when it is told something and not otherwise.
type bar struct {
	pool    *mpb.Progress
	bar     *mpb.Bar
	refresh chan any

	mu    sync.Mutex // the library asks for the words on a goroutine of its own
	words string
}

func newBar(out io.Writer, name string, total int64, width int) *bar {
	b := &bar{refresh: make(chan any, 1)}
	b.pool = mpb.New(mpb.WithOutput(out), mpb.WithManualRefresh(b.refresh), mpb.WithWidth(width))
	words := decor.Any(func(decor.Statistics) string {
		b.mu.Lock()
		defer b.mu.Unlock()
		return " " + b.words
	})
	before := []decor.Decorator{decor.Name(name)}
	if total > 0 {
		before = append(before, decor.CountersNoUnit(" %d/%d "), decor.Percentage())
		b.bar = b.pool.AddBar(total, mpb.PrependDecorators(before...), mpb.AppendDecorators(words))
		return b
	}
	before = append(before, decor.CurrentNoUnit(" %d items"))
	b.bar = b.pool.New(0, mpb.NopStyle(), mpb.PrependDecorators(before...), mpb.AppendDecorators(words))
	return b
}

func (b *bar) show(done int64, words string) {
	b.mu.Lock()
	b.words = words
	b.mu.Unlock()
	b.bar.SetCurrent(done)
	select {
	case b.refresh <- time.Now():
	default: // the last picture is still being drawn
	}
}

// close draws the last picture and returns after it.
func (b *bar) close(words string) {
	b.mu.Lock()
	b.words = words
	b.mu.Unlock()
	b.bar.Abort(false)
	b.pool.Wait()
}
