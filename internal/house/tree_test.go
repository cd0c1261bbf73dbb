package house

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the folder that holds go.mod.
func root(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(strings.TrimSpace(string(out)))
}

// TestTreeSpeaksOfItselfAlone keeps out paths of the machine a file was
// written on and unfinished work.
func TestTreeSpeaksOfItselfAlone(t *testing.T) {
	top := root(t)
	out, err := exec.Command("git", "-C", top, "ls-files").Output()
	if err != nil {
		t.Skipf("not a git checkout: %v", err)
	}
	here := filepath.Dir(top)
	if slices.Contains([]string{"/", "/opt", os.TempDir()}, here) {
		here = top // folders that every machine has may be named
	}
	unfinished := regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|XX` + `X)\b`)
	exits := regexp.MustCompile(`\b(os\.Exit|log\.Fatal\w*)\(`)
	for _, name := range strings.Fields(string(out)) {
		b, err := os.ReadFile(filepath.Join(top, name))
		if err != nil {
			continue // deleted in the working tree
		}
		text := string(b)
		if strings.Contains(strings.ReplaceAll(text, module, ""), here+"/") { // a checkout may lie in /hataori-go
			t.Errorf("%s names the folder %s of this machine", name, here)
		}
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		if m := unfinished.FindString(text); m != "" {
			t.Errorf("%s holds a %s", name, m)
		}
		library := !strings.Contains(text, "package main\n") && !strings.HasSuffix(name, "_test.go")
		if m := exits.FindString(text); m != "" && library && name != "mpi/main.go" {
			t.Errorf("%s calls %s: a library never ends the process", name, m)
		}
	}
}

// TestLinks follows the links of the pages to files of the tree.
func TestLinks(t *testing.T) {
	top := root(t)
	link, code := regexp.MustCompile(`\]\(([^)#:]+)\)`), regexp.MustCompile("(?ms)^```.*?^```$")
	pages, _ := filepath.Glob(filepath.Join(top, "*.md"))
	more, _ := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	for _, page := range append(pages, more...) {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(b), ""), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", filepath.Base(page), m[1], err)
			}
		}
	}
}
