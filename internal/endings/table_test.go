package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
)

const goodTable = `
| other | x |
| --- | --- |
| 1 | 2 |

| event | what | ` + "`mpirun` | `mpiexec`" + ` | message | within |
| --- | --- | --- | --- | --- | --- |
| ` + "`killed`" + ` | a rank dies | 9 or 137 | never ends | | 1.5 s |
| TERM | it is told to end | 1 † | – | ` + "`rank LAST` and `ends`; `x`" + ` at least once | 5 s |
`

func TestParseTables(t *testing.T) {
	rows, err := parseTables(strings.NewReader(goodTable))
	if err != nil {
		t.Fatal(err)
	}
	want := []row{
		{event: "killed", within: 1500 * time.Millisecond, lineNum: 8,
			expect: map[string]ending{"mpirun": {statuses: []int{9, 137}}, "mpiexec": {endless: true}}},
		{event: "TERM", within: 5 * time.Second, lineNum: 9, expect: map[string]ending{"mpirun": {statuses: []int{1}, mute: true}},
			says: []message{{fragments: []string{"rank LAST", "ends"}}, {fragments: []string{"x"}, often: true}}},
	}
	if !reflect.DeepEqual(rows, want) {
		t.Errorf("got  %+v\nwant %+v", rows, want)
	}
	for change, says := range map[[2]string]string{
		{"9 or 137", "nine"}:             "a status",
		{"1.5 s", "soon"}:                "column within",
		{"| 5 s |", "| 5 s | more |"}:    "7 cells under 6 headings",
		{"9 or 137 | never ends", "–|–"}: "a row needs",
		{"TERM", "killed"}:               "stands twice",
	} {
		_, err := parseTables(strings.NewReader(strings.Replace(goodTable, change[0], change[1], 1)))
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%q for %q: %v, want %q and the line", change[1], change[0], err, says)
		}
	}
}

func TestCountsLines(t *testing.T) {
	words := strings.NewReplacer("LAST", "2")
	text := "rank 2: ends\nrank 1: ends\nrank 2 begins\nit ends on rank 2\n"
	if n := (message{fragments: []string{"rank LAST", "ends"}}).count(text, words); n != 2 {
		t.Errorf("found %d times", n)
	}
}

// TestJudgeSeesDifferences lets a job end in all the wrong ways.
func TestJudgeSeesDifferences(t *testing.T) {
	r := row{event: "item-error", within: time.Second, says: []message{{fragments: []string{"item 7"}}}}
	want := ending{statuses: []int{1}}
	now := time.Now()
	good := outcome{status: 1, stderr: "item 7\n", event: now, gone: now.Add(time.Millisecond), finished: []string{"1", "2"}}
	if faults := r.judge(want, &good); faults != nil {
		t.Errorf("a good end: %q", faults)
	}
	for what, spoil := range map[string]func(o *outcome){
		"status 0":          func(o *outcome) { o.status = 0 },
		"stands 0 times":    func(o *outcome) { o.stderr = "" },
		"stands 2 times":    func(o *outcome) { o.stdout = "item 7" },
		"did not end":       func(o *outcome) { o.hung = true },
		"left running":      func(o *outcome) { o.left = []string{"faulty"} },
		"evaluated twice":   func(o *outcome) { o.finished = []string{"2", "1", "2"} },
		"it took":           func(o *outcome) { o.gone = now.Add(time.Minute) },
		"did not happen":    func(o *outcome) { o.event = time.Time{} },
		"it succeeded":      func(o *outcome) { o.stdout = "faulty: ok: 60 items on 3 ranks\n" },
		"cannot be started": func(o *outcome) { o.faults = []string{"cannot be started"} },
	} {
		o := good
		spoil(&o)
		if faults := r.judge(want, &o); !strings.Contains(strings.Join(faults, "\n"), what) {
			t.Errorf("%s: %q", what, faults)
		}
	}
	loud := good
	loud.status, loud.stdout, r.says = 0, "ok\n", nil
	loud.finished = nil
	for i := range items {
		loud.finished = append(loud.finished, fmt.Sprint(i))
	}
	loud.stderr = "srun: job 8 queued and waiting for resources\nsrun: job 8 has been allocated resources\n"
	if faults := r.judge(ending{statuses: []int{0}}, &loud); faults != nil {
		t.Errorf("a good success: %q", faults)
	}
	loud.stderr += "warning\n"
	if faults := r.judge(ending{statuses: []int{0}}, &loud); len(faults) != 1 {
		t.Errorf("a success that is not silent: %q", faults)
	}
	loud.stderr, loud.finished = "", loud.finished[1:]
	if faults := r.judge(ending{statuses: []int{0}}, &loud); len(faults) != 1 {
		t.Errorf("a success without all items: %q", faults)
	}
	if faults := r.judge(ending{endless: true}, &good); len(faults) != 1 {
		t.Errorf("a job that ends and should not: %q", faults)
	}
}

// TestPageIsWhole wants every launcher and every event of the program on the
// page, and nothing on it that nobody runs.
func TestPageIsWhole(t *testing.T) {
	f, err := os.Open("../../docs/endings.md")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := parseTables(f)
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("../faulty/events.go")
	if err != nil {
		t.Fatal(err)
	}
	columns := make(map[string]int)
	flags := " "
	for _, r := range rows {
		for name := range r.expect {
			columns[name]++
		}
		flags += strings.Join(happeningOf(r.event).flags, " ") + " "
	}
	for _, l := range launchers {
		if columns[l.name] == 0 {
			t.Errorf("no row for %s", l.name)
		}
	}
	for part := range strings.SplitSeq(string(source), `{name: "`) {
		name, _, ok := strings.Cut(part, `"`)
		if !ok || strings.Contains(name, "\n") {
			continue
		}
		if !strings.Contains(flags, "--event "+name+" ") {
			t.Errorf("event %s of the program stands in no table", name)
		}
	}
}

func FuzzParseTables(f *testing.F) {
	f.Add(goodTable)
	f.Add("| event |\n|\n||||\n")
	f.Add("| event | `mpirun` | within |\n| a | 1 | -1 s |\n| `|`|")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := parseTables(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, r := range rows {
			if r.event == "" || r.within <= 0 || len(r.expect) == 0 {
				t.Errorf("a row without event, time or launcher: %+v", r)
			}
		}
	})
}
