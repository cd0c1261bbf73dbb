package mpi

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestParseParent(t *testing.T) {
	for stat, want := range map[string]int{
		"4711 (prog) S 815 4711 815 0":        815,
		"4711 (a ) S 3 (b)) R 12 4711 815 0":  12,
		"4711 (prog) S":                       0,
		"4711 (prog) S x 1":                   0,
		"":                                    0,
		"no parenthesis at all, 5 5 5 5 5 5 ": 0,
	} {
		if got := parseParent(stat); got != want {
			t.Errorf("%q: %d, want %d", stat, got, want)
		}
	}
}

func FuzzParseParent(f *testing.F) {
	f.Add("4711 (a ) S 3 (b)) R 12 4711 815 0")
	f.Add(") )")
	f.Fuzz(func(t *testing.T, stat string) { parseParent(stat) })
}

// launcherVariable tells the copy of this test what its launcher is.
const launcherVariable = "HATAORI_TEST_LAUNCHER"

// TestLineage stands for the launcher: it starts itself with a rank's number,
// with and without shells in between. The copies print what they see.
func TestLineage(t *testing.T) {
	if pid := os.Getenv(launcherVariable); pid != "" {
		l := findLineage()
		fmt.Println("lineage:", len(l), l.whole(), len(l) > 0 && fmt.Sprint(l[len(l)-1]) == pid)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range []struct {
		command []string
		rank    string
		want    string
	}{
		{nil, "PMI_RANK=3", "lineage: 2 true true\n"},
		{[]string{"sh", "-c", `"$0" "$@"; exit $?`}, "PMI_RANK=3", "lineage: 3 true true\n"},
		{[]string{"sh", "-c", `sh -c '"$0" "$@"; exit $?' "$0" "$@"; exit $?`}, "SLURM_PROCID=0", "lineage: 4 true true\n"},
		{[]string{"sh", "-c", `"$0" "$@"; exit $?`}, "NOTHING=1", "lineage: 0 true false\n"},
	} {
		command := append(k.command, self, "-test.run=^TestLineage$")
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env = append(ChildEnv(), k.rank, fmt.Sprintf("%s=%d", launcherVariable, os.Getpid()))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), k.want) {
			t.Errorf("%q with %s: %q, %v, want %q", command, k.rank, out, err, k.want)
		}
	}
	gone := lineage{os.Getpid(), os.Getppid() + 1}
	if gone.whole() {
		t.Error("a parent that is another is not noticed")
	}
}
