package house

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages are README.md and what is in docs, by name.
func pages(t *testing.T, top string) map[string]string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil || len(names) < 5 {
		t.Fatalf("%d pages: %v", len(names), err)
	}
	all := map[string]string{}
	for _, name := range append(names, filepath.Join(top, "README.md")) {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(name, top+string(filepath.Separator))] = string(b)
	}
	return all
}

// block is a fenced block of a page.
type block struct {
	line  int
	info  string // behind the fence
	above string // the line before it
	text  []string
}

func blocks(page string) (all []block) {
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		info, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			continue
		}
		b := block{line: i + 1, info: info}
		if i > 0 {
			b.above = lines[i-1]
		}
		for i++; i < len(lines) && lines[i] != "```"; i++ {
			b.text = append(b.text, strings.TrimSpace(lines[i]))
		}
		all = append(all, b)
	}
	return all
}

// TestCodeOfPages: each block of Go code stands, line by line, in a file that is
// compiled and run by a test; the comment above the block names it.
func TestCodeOfPages(t *testing.T) {
	top := root(t)
	from := regexp.MustCompile(`^<!-- from (\S+) -->$`)
	count := 0
	for name, page := range pages(t, top) {
		for _, b := range blocks(page) {
			where := fmt.Sprintf("%s:%d", name, b.line)
			if b.info != "go" {
				if !slices.Contains([]string{"", "sh", "sh slurm", "sh none", "text", "json"}, b.info) {
					t.Errorf("%s: a block of %q: nothing checks it", where, b.info)
				}
				continue
			}
			count++
			m := from.FindStringSubmatch(b.above)
			if m == nil {
				t.Errorf("%s: the line above must name the file that the code is from: <!-- from PATH -->", where)
				continue
			}
			source, err := os.ReadFile(filepath.Join(top, m[1]))
			if err != nil {
				t.Errorf("%s: %v", where, err)
				continue
			}
			var lines []string
			for _, l := range strings.Split(string(source), "\n") {
				lines = append(lines, strings.TrimSpace(l))
			}
			if !strings.Contains("\n"+strings.Join(lines, "\n")+"\n", "\n"+strings.Join(b.text, "\n")+"\n") {
				t.Errorf("%s: %s does not hold this code any more", where, m[1])
			}
		}
	}
	if count < 10 {
		t.Errorf("only %d blocks of Go code were found", count)
	}
}

// TestTestsOfPages: the tests that pages name, as `dir.TestName`, exist.
func TestTestsOfPages(t *testing.T) {
	top := root(t)
	named := regexp.MustCompile("`([a-z/_]+)\\.(Test\\w+)`")
	count := 0
	for name, page := range pages(t, top) {
		for _, m := range named.FindAllStringSubmatch(page, -1) {
			count++
			files, err := filepath.Glob(filepath.Join(top, m[1], "*_test.go"))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(files, func(f string) bool {
				b, err := os.ReadFile(f)
				return err == nil && strings.Contains(string(b), "\nfunc "+m[2]+"(t *testing.T)")
			}) {
				t.Errorf("%s names %s, but %s has no such test", name, m[0], m[1])
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d tests are named", count)
	}
}

// TestRowsNameTests: every row of the page of symptoms ends with a test.
func TestRowsNameTests(t *testing.T) {
	page := pages(t, root(t))[filepath.Join("docs", "troubleshooting.md")]
	rows := 0
	for _, line := range strings.Split(page, "\n") {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| symptom") || strings.HasPrefix(line, "| ---") {
			continue
		}
		rows++
		if cells := strings.Split(line, " | "); !regexp.MustCompile("^`[a-z/_]+\\.Test\\w+` \\|$").MatchString(cells[len(cells)-1]) {
			t.Errorf("no test brings this about: %s", line)
		}
	}
	if rows < 20 {
		t.Errorf("only %d rows", rows)
	}
}
