package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// row is one event of the table in docs/endings.md and how jobs end by it.
type row struct {
	event   string
	expect  map[string]ending // by launcher; none: the table does not say
	says    []message
	within  time.Duration // from the event until nothing of the job is left
	lineNum int
}

// ending is what the launcher makes of it.
type ending struct {
	statuses []int // any of them
	mute     bool  // this launcher may end the job before it can speak
	endless  bool  // it makes nothing of it: the other ranks wait for ever
}

// message is a line that must be printed: the fragments are all in it.
type message struct {
	fragments []string
	often     bool // not just once: every rank may say it
}

// Columns of the table, besides those of launchers.
const (
	eventColumn   = "event"
	messageColumn = "message"
	withinColumn  = "within"
	muteMark      = "†"
	endlessWord   = "never ends"
	oftenWords    = "at least once"
	unsaid        = "–"
)

// parseTables reads all tables of a Markdown text whose first column is the
// event, and returns their rows in order.
func parseTables(r io.Reader) ([]row, error) {
	var rows []row
	var header []string
	sc := bufio.NewScanner(r)
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimSpace(sc.Text())
		if !strings.HasPrefix(line, "|") {
			header = nil
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case header == nil:
			header = cells
		case header[0] != eventColumn || strings.Trim(cells[0], "-: ") == "":
		case len(cells) != len(header):
			return nil, fmt.Errorf("line %d: %d cells under %d headings", n, len(cells), len(header))
		default:
			row, err := parseRow(header, cells)
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			if slices.ContainsFunc(rows, row.clashes) {
				return nil, fmt.Errorf("line %d: event %s stands twice for one launcher", n, row.event)
			}
			row.lineNum = n
			rows = append(rows, row)
		}
	}
	return rows, sc.Err()
}

func (r row) clashes(other row) bool {
	for name := range r.expect {
		if _, both := other.expect[name]; both && r.event == other.event {
			return true
		}
	}
	return false
}

func parseRow(header, cells []string) (row, error) {
	r := row{expect: make(map[string]ending)}
	for i, cell := range cells {
		var err error
		switch name := strings.Trim(header[i], "`"); {
		case name == eventColumn:
			r.event = strings.Trim(cell, "`")
		case name == messageColumn:
			r.says = parseMessages(cell)
		case name == withinColumn:
			var seconds float64
			if seconds, err = strconv.ParseFloat(strings.TrimSuffix(cell, " s"), 64); err == nil {
				r.within = time.Duration(seconds * float64(time.Second))
			}
		case launcherOf(name) != nil && cell != unsaid:
			r.expect[name], err = parseEnding(cell)
		}
		if err != nil {
			return r, fmt.Errorf("event %s, column %s: %w", r.event, header[i], err)
		}
	}
	if r.event == "" || r.within <= 0 || len(r.expect) == 0 {
		return r, fmt.Errorf("a row needs an event, a time and a status, not %q", cells)
	}
	return r, nil
}

// parseEnding reads "1", "9 or 137", "137 †", "never ends".
func parseEnding(cell string) (e ending, err error) {
	if cell == endlessWord {
		return ending{endless: true}, nil
	}
	cell, e.mute = strings.CutSuffix(cell, muteMark)
	for s := range strings.SplitSeq(cell, " or ") {
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil {
			return e, fmt.Errorf("a status, or several with “or” between them, is expected: %q", cell)
		}
		e.statuses = append(e.statuses, n)
	}
	return e, nil
}

// parseMessages reads "`a` … `b`; `c` at least once": a line with a and b, and
// lines with c.
func parseMessages(cell string) (all []message) {
	for part := range strings.SplitSeq(cell, ";") {
		m := message{often: strings.HasSuffix(part, oftenWords)}
		for i, s := range strings.Split(part, "`") {
			if i%2 == 1 {
				m.fragments = append(m.fragments, s)
			}
		}
		if m.fragments != nil {
			all = append(all, m)
		}
	}
	return all
}

// count is the number of lines of the text that hold the whole message.
func (m message) count(text string, words *strings.Replacer) (n int) {
	for line := range strings.Lines(text) {
		has := true
		for _, s := range m.fragments {
			has = has && strings.Contains(line, words.Replace(s))
		}
		if has {
			n++
		}
	}
	return n
}
