package picture

import (
	"image/color"
	"time"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/hataori/hataori-go/trace"
)

// Plot draws the rows; it makes a grid a plotter.
func (g *grid) Plot(c draw.Canvas, p *plot.Plot) {
	toX, toY := p.Transforms(&c)
	x := func(t time.Duration) int { // what a file says is outside of the call is drawn at its end
		return int(onPixel(toX(min(max(t, 0), g.call.Elapsed).Seconds()))/pixel + 0.5)
	}
	n := len(g.rows)
	var marks []vg.Rectangle
	for k, r := range g.rows {
		top, bottom := onPixel(toY(float64(n-k))), onPixel(toY(float64(n-k-1)))
		gap := pixel
		if g.rowPixels < 8 {
			gap = 0
		}
		// Columns of a pixel each, from one end of the axis to the other.
		line := newLine(x(0), x(g.call.Elapsed))
		for _, l := range r.lanes {
			for i, s := range l.Spans {
				from, to := x(s.Start), x(s.End)
				line.add(g, s, from, to, 1/float64(len(r.lanes)), i&1)
				if s.Failed > 0 {
					marks = append(marks, vg.Rectangle{Min: vg.Point{X: vg.Length(from) * pixel, Y: bottom}, Max: vg.Point{X: vg.Length(max(to, from+1)) * pixel, Y: top}})
				}
			}
		}
		line.draw(func(from, to int, col color.Color) {
			c.FillPolygon(col, corners(vg.Rectangle{Min: vg.Point{X: vg.Length(from) * pixel, Y: bottom}, Max: vg.Point{X: vg.Length(to) * pixel, Y: top - gap}}))
		})
		if k > 0 && r.rank != g.rows[k-1].rank && g.rowPixels >= 2 {
			c.StrokeLine2(draw.LineStyle{Color: color.RGBA{0x55, 0x55, 0x55, 0xff}, Width: pixel / 2}, c.Min.X, top, c.Max.X, top)
		}
	}
	const most = 400 // crosses that can be told apart
	for k, m := range marks {
		if len(marks) <= most || k%(len(marks)/most+1) == 0 {
			mark(c, m)
		}
	}
}

// line is one row in columns.
type line struct {
	first int
	cells []cell
}

// cell is one column of a row.
type cell struct {
	busy   float64 // share of the lanes' time
	class  float64 // sum of busy · class
	shade  int     // 1: every other item, so that neighbours can be told apart
	failed bool
}

func newLine(from, to int) *line { return &line{from, make([]cell, max(to-from, 1))} }

// add puts a span in; weight is the share of the row that its lane has.
func (l *line) add(g *grid, s trace.Span, from, to int, weight float64, shade int) {
	class := float64(g.classOf(s.Busy / time.Duration(s.Items)))
	density := weight
	if d := s.End - s.Start; d > 0 {
		density *= float64(s.Busy) / float64(d)
	}
	if to-from < 4 {
		shade = 0
	}
	if to <= from { // thinner than a column: a part of one
		to = from + 1
		density *= min(float64(s.End-s.Start)/float64(max(g.call.Elapsed, 1)), 1) * float64(len(l.cells))
	}
	for k := max(from-l.first, 0); k < min(to-l.first, len(l.cells)); k++ {
		c := &l.cells[k]
		c.busy += density
		c.class += density * class
		c.shade = shade
		c.failed = c.failed || s.Failed > 0
	}
}

// draw calls fill for runs of equal colour.
func (l *line) draw(fill func(from, to int, col color.Color)) {
	for k := 0; k < len(l.cells); {
		col := l.cells[k].color()
		end := k + 1
		for end < len(l.cells) && l.cells[end].color() == col {
			end++
		}
		fill(l.first+k, l.first+end, col)
		k = end
	}
}

// color mixes the colour of the items with that of waiting, in steps.
func (c cell) color() color.RGBA {
	if c.failed {
		return failColor
	}
	const steps = 8
	share := float64(int(min(c.busy, 1)*steps+0.5)) / steps
	if share == 0 {
		return waitColor
	}
	col := classes[min(int(c.class/c.busy+0.5), len(classes)-1)].color
	if c.shade == 1 {
		share *= 0.86
	}
	mix := func(a, b uint8) uint8 { return uint8(float64(a)*share + float64(b)*(1-share) + 0.5) }
	return color.RGBA{mix(col.R, waitColor.R), mix(col.G, waitColor.G), mix(col.B, waitColor.B), 0xff}
}
