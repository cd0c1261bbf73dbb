package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hataori/hataori-go/internal/launch"
)

// list writes a file of n lines.
func list(t *testing.T, n int) (name string) {
	t.Helper()
	name = filepath.Join(t.TempDir(), "list")
	var text strings.Builder
	for i := range n {
		fmt.Fprintln(&text, i)
	}
	if err := os.WriteFile(name, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestEnsemble starts a shell per item, alone and on ranks of both MPIs. The
// children see nothing of the launcher.
func TestEnsemble(t *testing.T) {
	program := launch.Build(t, ".")
	// Uneven, and it fails where a launcher's variable is left.
	script := `sleep 0.0$(({} % 3)); env | grep -q -e ^OMPI_COMM -e ^PMI_ -e ^PMIX_ && exit 9; echo run {} done`
	flags := []string{"-list", list(t, 40), "-lanes", "2", "--", "sh", "-c", script}
	var want strings.Builder
	for i := range 40 {
		fmt.Fprintf(&want, "run %d done\n", i)
	}
	check := func(t *testing.T, o launch.Outcome) {
		t.Helper()
		if o.Status != 0 || o.Stdout != want.String() || o.Stderr != "" {
			t.Errorf("status %d, stdout %q, stderr %q", o.Status, o.Stdout, o.Stderr)
		}
	}
	check(t, launch.Alone(t, program, flags...))
	launch.Each(t, func(t *testing.T, l launch.Launcher) { check(t, l.Job(t, 3, program, flags...)) })
}

// TestFailures: the others are printed, the failed ones listed; a repeated run
// may succeed; one that takes too long ends with all that it started.
func TestFailures(t *testing.T) {
	program := launch.Build(t, ".")
	dir := t.TempDir()
	o := launch.Alone(t, program, "-list", list(t, 5), "--", "sh", "-c", "echo {}; [ {} != 3 ] || { echo singular >&2; exit 7; }")
	if o.Status != 1 || o.Stdout != "0\n1\n2\n4\n" || !strings.Contains(o.Stderr, "item 3") || !strings.Contains(o.Stderr, "exit status 7: singular") {
		t.Errorf("status %d, stdout %q, stderr %q", o.Status, o.Stdout, o.Stderr)
	}
	o = launch.Alone(t, program, "-list", list(t, 3), "-retries", "2", "--", "sh", "-c", "echo x >>"+dir+"/{}; [ $(wc -l <"+dir+"/{}) -gt {} ] && echo {}")
	if o.Status != 0 || o.Stdout != "0\n1\n2\n" {
		t.Errorf("with retries: status %d, stdout %q, stderr %q", o.Status, o.Stdout, o.Stderr)
	}
	o = launch.Alone(t, program, "-list", list(t, 1), "-timeout", "200ms", "--", "sh", "-c", "(sleep 100; echo too late) | cat", "{}")
	if o.Status != 1 || o.Stdout != "" || !strings.Contains(o.Stderr, "deadline") || o.Took > launch.Limit/2 {
		t.Errorf("time limit: status %d after %v, stdout %q, stderr %q", o.Status, o.Took, o.Stdout, o.Stderr)
	}
	if !strings.Contains(o.Stderr, ": sh -c (sleep 100; echo too late) | cat 0: ") {
		t.Errorf("the command that took too long is not named: %q", o.Stderr)
	}
	o = launch.Alone(t, program, "-list", list(t, 5), "--", "sh", "-c", "[ $0 -lt 3 ]", "{}")
	listed := "item 3: sh -c [ $0 -lt 3 ] 3: exit status 1\nitem 4: sh -c [ $0 -lt 3 ] 4: exit status 1\n"
	if o.Status != 1 || !strings.HasPrefix(o.Stderr, listed) || !strings.Contains(o.Stderr, "2 items failed") {
		t.Errorf("all that failed: status %d, stderr %q", o.Status, o.Stderr)
	}
	for says, args := range map[string][]string{
		"no command":              {"-list", list(t, 1)},
		"no such file":            {"-list", filepath.Join(dir, "none"), "--", "true", "{}"},
		"executable file not fou": {"-list", list(t, 1), "-retries", "5", "--", "no-such-program", "{}"},
		"{} is missing":           {"-list", list(t, 1), "echo", "hi"},
	} {
		if o := launch.Alone(t, program, args...); o.Status != 1 || !strings.Contains(o.Stderr, says) {
			t.Errorf("%v: status %d, stderr %q", args, o.Status, o.Stderr)
		}
	}
}

func TestLineTooLong(t *testing.T) {
	name := filepath.Join(t.TempDir(), "list")
	if err := os.WriteFile(name, []byte("short\n"+strings.Repeat("a", 1<<17)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readLines(name); err == nil || !strings.Contains(err.Error(), name+", line 2: ") {
		t.Error(err)
	}
}
