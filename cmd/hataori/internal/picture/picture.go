// Package picture draws what the lanes of a call did: a row for each lane, time
// to the right, items coloured by how long they took, waiting grey, failures
// marked.
package picture

import (
	"fmt"
	"image/color"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/hataori/hataori-go/trace"
)

// A pixel of the PNG; rectangles end at whole ones, so that neighbours leave no
// seam.
const (
	dpi   = 96
	pixel = vg.Inch / dpi
	width = 1200 * pixel

	mostRows  = 512 // rows above it stand for several lanes
	rowSpace  = 900 // pixels that rows share
	leastRow  = 3
	mostRow   = 44
	headSpace = 76 * pixel
	footSpace = 34 * pixel
	axisSpace = 56 * pixel
)

// Format of a picture.
type Format string

// The formats.
const (
	PNG Format = "png"
	SVG Format = "svg"
)

// Draw draws the call.
func Draw(w io.Writer, f Format, c *trace.Call, s *trace.Summary) error {
	g := newGrid(c, s)
	height := headSpace + footSpace + axisSpace + vg.Length(len(g.rows)*g.rowPixels)*pixel
	var base vg.CanvasSizer
	var out io.WriterTo
	switch f {
	case PNG:
		v := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		base, out = v, vgimg.PngCanvas{Canvas: v}
	case SVG:
		v := vgsvg.New(width, height)
		base, out = v, v
	default:
		return fmt.Errorf("picture format %q, want png or svg", f)
	}
	whole := draw.New(base)
	whole.FillPolygon(color.White, corners(whole.Rectangle))
	head := draw.Crop(whole, 12*pixel, -12*pixel, height-headSpace, 0)
	foot := draw.Crop(whole, 12*pixel, -12*pixel, 0, footSpace-height)
	body := draw.Crop(whole, 8*pixel, -12*pixel, footSpace, -headSpace)
	g.head(head)
	g.foot(foot)
	p := plot.New()
	p.X.Label.Text = "seconds since the work began"
	p.X.Min, p.X.Max = 0, max(c.Elapsed.Seconds(), 1e-9)
	p.Y.Min, p.Y.Max = 0, float64(len(g.rows))
	p.X.Padding, p.Y.Padding = 0, 0
	p.X.Tick.Marker = plot.TickerFunc(seconds)
	for _, st := range []*draw.TextStyle{&p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label} {
		st.Font = style(9.5, false, draw.XCenter).Font
	}
	p.Y.Tick.Marker = g
	p.Y.Tick.Length = 0
	p.Y.LineStyle.Width = 0
	p.Add(g)
	p.Draw(body)
	_, err := out.WriteTo(w)
	return err
}

// seconds are ticks at round numbers, about ten of them.
func seconds(from, to float64) (ticks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((to-from)/8)))
	for _, times := range []float64{2, 2.5, 2} { // 2, 5, 10
		if (to-from)/step <= 12 {
			break
		}
		step *= times
	}
	for k := math.Ceil(from / step); k*step <= to; k++ {
		ticks = append(ticks, plot.Tick{Value: k * step, Label: strconv.FormatFloat(math.Round(k*step*1e9)/1e9, 'f', -1, 64)})
	}
	return ticks
}

// row is a line of the picture: lanes of a rank, or of several where there are
// more ranks than rows.
type row struct {
	lanes      []trace.Lane
	rank, last int // places of the first and the last among the ranks
	first      int // number of its first lane
}

// grid is the picture's plotter and the ticks of its rows.
type grid struct {
	call      *trace.Call
	sum       *trace.Summary
	rows      []row
	rowPixels int
	median    time.Duration // of all items
}

func newGrid(c *trace.Call, s *trace.Summary) *grid {
	g := &grid{call: c, sum: s, median: median(c)}
	each := (s.Lanes + mostRows - 1) / mostRows
	for k := range c.Ranks {
		lanes := c.Ranks[k].Lanes
		if n := len(g.rows); len(c.Ranks) > mostRows && n > 0 && len(g.rows[n-1].lanes)+len(lanes) <= each {
			r := &g.rows[n-1]
			r.lanes, r.last = append(r.lanes, lanes...), k
			continue
		}
		for first := 0; first < len(lanes); first += each {
			g.rows = append(g.rows, row{slices.Clip(lanes[first:min(first+each, len(lanes))]), k, k, first})
		}
	}
	g.rowPixels = min(max(rowSpace/max(len(g.rows), 1), leastRow), mostRow)
	return g
}

// median is the middle time of an item, where a span of several counts as many
// equal ones.
func median(c *trace.Call) time.Duration {
	type timed struct {
		each  time.Duration
		items int64
	}
	var list []timed
	var n int64
	for _, r := range c.Ranks {
		for _, l := range r.Lanes {
			for _, s := range l.Spans {
				list = append(list, timed{s.Busy / time.Duration(s.Items), s.Items})
				n += s.Items
			}
		}
	}
	slices.SortFunc(list, func(a, b timed) int { return int(a.each - b.each) })
	left := n / 2
	for _, t := range list {
		if left -= t.items; left < 0 {
			return t.each
		}
	}
	return 0
}

// class is one of the colours of items.
type class struct {
	upTo  float64 // multiple of the median
	color color.RGBA
}

// The middle of the colours is that of most items; long ones turn to warm ones.
var classes = []class{
	{0.5, color.RGBA{0xa6, 0xd8, 0xe8, 0xff}},
	{1.5, color.RGBA{0x3d, 0x8f, 0xc4, 0xff}},
	{3, color.RGBA{0x1f, 0x4e, 0x96, 0xff}},
	{8, color.RGBA{0xf2, 0x9d, 0x38, 0xff}},
	{math.Inf(1), color.RGBA{0xc4, 0x4e, 0x1c, 0xff}},
}

var (
	waitColor = color.RGBA{0xdd, 0xdd, 0xdd, 0xff}
	failColor = color.RGBA{0xd6, 0x12, 0x4a, 0xff}
)

func (g *grid) classOf(each time.Duration) int {
	if g.median <= 0 {
		return 1
	}
	x := float64(each) / float64(g.median)
	return slices.IndexFunc(classes, func(c class) bool { return x <= c.upTo })
}

// Ticks names the ranks, and the lanes where there is room.
func (g *grid) Ticks(float64, float64) []plot.Tick {
	const least = 13 // pixels that a name takes
	var ticks []plot.Tick
	named := math.Inf(1)
	n := len(g.rows)
	for k := 0; k < n; {
		end := k
		for end < n && g.rows[end].rank == g.rows[k].rank {
			end++
		}
		r := &g.call.Ranks[g.rows[k].rank]
		name := fmt.Sprintf("rank %d", r.Rank)
		if last := g.rows[k].last; last > g.rows[k].rank {
			name = fmt.Sprintf("ranks %d-%d", r.Rank, g.call.Ranks[last].Rank)
		} else if host := hostOf(g.call, r); host != "" {
			name += " " + host
		}
		slow := g.slow(g.rows[k])
		if slow {
			name += " SLOW"
		}
		switch {
		case g.rowPixels >= least && end-k > 1:
			for i := k; i < end; i++ {
				text := fmt.Sprintf("lane %d", g.rows[i].first)
				if i == k {
					text = name + ", " + text
				}
				ticks = append(ticks, plot.Tick{Value: float64(n-i) - 0.5, Label: text})
			}
		default:
			mid := float64(n) - float64(k+end)/2
			if (named-mid)*float64(g.rowPixels) >= least || slow {
				ticks = append(ticks, plot.Tick{Value: mid, Label: name})
				named = mid
			}
		}
		k = end
	}
	return ticks
}

func (g *grid) slow(r row) bool {
	all := g.call.Ranks
	return g.sum.Slow != nil && all[r.rank].Rank <= g.sum.Slow.Rank && g.sum.Slow.Rank <= all[r.last].Rank
}

// hostOf is the rank's host, short, if the call ran on several.
func hostOf(c *trace.Call, r *trace.Rank) string {
	for k := range c.Ranks {
		if c.Ranks[k].Host != r.Host {
			host, _, _ := strings.Cut(r.Host, ".")
			return host
		}
	}
	return ""
}

func style(size font.Length, weight bool, align draw.XAlignment) draw.TextStyle {
	f := plot.DefaultFont
	f.Variant = "Sans"
	if weight {
		f.Weight = 3 // bold
	}
	return draw.TextStyle{Color: color.Black, Font: font.From(f, size), XAlign: align, YAlign: draw.YTop, Handler: plot.DefaultTextHandler}
}

// head writes what the call was and what limited it.
func (g *grid) head(c draw.Canvas) {
	lines := strings.SplitN(g.sum.String(), "\n", 2)
	y := c.Max.Y - 8*pixel
	c.FillText(style(12, true, draw.XLeft), vg.Point{X: c.Min.X, Y: y}, lines[0])
	small := style(9.5, false, draw.XLeft)
	y -= 22 * pixel
	words := "limited by " + g.sum.Verdict() + "."
	if x := g.sum.Slow; x != nil && g.sum.Limit != trace.LimitSlowRank {
		words = fmt.Sprintf("rank %d is slow; ", x.Rank) + words
	}
	for k, text := range wrap(words, 205) {
		if k == 2 {
			break
		}
		c.FillText(small, vg.Point{X: c.Min.X, Y: y}, text)
		y -= 16 * pixel
	}
}

// wrap breaks a text into lines of at most n bytes.
func wrap(text string, n int) (lines []string) {
	for len(text) > n {
		at := strings.LastIndexByte(text[:n], ' ')
		if at <= 0 {
			break
		}
		lines, text = append(lines, text[:at]), text[at+1:]
	}
	return append(lines, text)
}

// foot explains the colours.
func (g *grid) foot(c draw.Canvas) {
	small := style(9.5, false, draw.XLeft)
	x, y := c.Min.X, c.Max.Y-16*pixel
	entry := func(col color.Color, text string, cross bool) {
		box := snap(vg.Rectangle{Min: vg.Point{X: x, Y: y - 6*pixel}, Max: vg.Point{X: x + 22*pixel, Y: y + 6*pixel}})
		c.FillPolygon(col, corners(box))
		if cross {
			mark(c, box)
		}
		x += 28 * pixel
		c.FillText(small, vg.Point{X: x, Y: y + 7*pixel}, text)
		x += small.Width(text) + 20*pixel
	}
	entry(waitColor, "waiting", false)
	if g.sum.Failed > 0 {
		entry(failColor, "failed", true)
	}
	for k, cl := range classes {
		limit := shortTime(time.Duration(cl.upTo * float64(g.median)))
		switch {
		case k == 0:
			entry(cl.color, "items up to "+limit, false)
		case math.IsInf(cl.upTo, 1):
			entry(cl.color, "longer", false)
		default:
			entry(cl.color, "up to "+limit, false)
		}
	}
	c.FillText(style(9.5, false, draw.XRight), vg.Point{X: c.Max.X, Y: y + 7*pixel}, fmt.Sprintf("busy %.0f %%", 100*g.sum.Busy))
}

// shortTime is a time in two digits or so.
func shortTime(d time.Duration) string {
	unit := time.Duration(1)
	for d >= 100*unit && unit < time.Hour {
		unit *= 10
	}
	return d.Round(unit).String()
}

func corners(r vg.Rectangle) []vg.Point {
	return []vg.Point{r.Min, {X: r.Max.X, Y: r.Min.Y}, r.Max, {X: r.Min.X, Y: r.Max.Y}}
}

func onPixel(x vg.Length) vg.Length { return vg.Length(math.Round(float64(x/pixel))) * pixel }

func snap(r vg.Rectangle) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: onPixel(r.Min.X), Y: onPixel(r.Min.Y)}, Max: vg.Point{X: onPixel(r.Max.X), Y: onPixel(r.Max.Y)}}
}

// mark crosses a box out.
func mark(c draw.Canvas, r vg.Rectangle) {
	const arm = 5 * pixel
	mid := vg.Point{X: (r.Min.X + r.Max.X) / 2, Y: (r.Min.Y + r.Max.Y) / 2}
	for _, st := range []draw.LineStyle{{Color: color.White, Width: 4 * pixel}, {Color: failColor, Width: 2 * pixel}} {
		c.StrokeLine2(st, mid.X-arm, mid.Y-arm, mid.X+arm, mid.Y+arm)
		c.StrokeLine2(st, mid.X-arm, mid.Y+arm, mid.X+arm, mid.Y-arm)
	}
}
