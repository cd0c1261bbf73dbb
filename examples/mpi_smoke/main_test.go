package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hataori/hataori-go/internal/launch"
)

func TestOneRank(t *testing.T) {
	program := launch.Build(t, ".")
	for _, args := range [][]string{
		{}, {"--lanes", "1", "--items", "0"}, {"--lanes", "3", "--items", "1"}, {"--lanes", "9", "--items", "20"},
	} {
		holds(t, launch.Alone(t, program, args...), args)
	}
	fails(t, launch.Alone(t, program, "--fail-at", "7"), 1)
}

// More ranks and lanes are left to scripts/smoke.sh.
func TestLaunched(t *testing.T) {
	program := launch.Build(t, ".")
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		holds(t, l.Job(t, 2, program, "--lanes", "2"), "2 ranks of 2 lanes")
		fails(t, l.Job(t, 2, program, "--lanes", "2", "--fail-at", "7"), 2)
		holds(t, l.Job(t, 4, program, "--items", "2"), "fewer items than ranks")
		holds(t, l.Job(t, 3, program, "--items", "0"), "no items")
		holds(t, l.Job(t, 4, program, "--group", "2"), "groups")

		o := l.Job(t, 2, program, "--json", "--items", "30", "--lanes", "2")
		var r report
		if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil || o.Status != 0 || o.Stderr != "" {
			t.Fatalf("--json: status %d, %v: %s%s", o.Status, err, o.Stdout, o.Stderr)
		}
		if !r.OK || r.Ranks != 2 || r.Lanes != 2 || r.Items != 30 || len(r.Hosts) != 1 || len(r.Proofs) != len(proofs) {
			t.Errorf("--json: %+v", r)
		}

		o = l.Job(t, 2, program, "--lanes", "0", "--group", "-2", "--fail-at", "200")
		if o.Status == 0 || strings.Count(o.Stderr, "--lanes 0: must be at least 1; --group -2: must not be below -1; --fail-at 200: there are items 0 to 99") != 1 {
			t.Errorf("bad flags: status %d: %s", o.Status, o.Stderr)
		}
	})
}

// holds checks a successful job: one line, and silence on standard error.
func holds(t *testing.T, o launch.Outcome, what any) {
	t.Helper()
	if o.Status != 0 || o.Stderr != "" || !strings.HasPrefix(o.Stdout, "mpi_smoke: ok") || strings.Count(o.Stdout, "\n") != 1 {
		t.Errorf("%v: status %d\n--- stdout\n%s\n--- stderr\n%s", what, o.Status, o.Stdout, o.Stderr)
	}
}

// fails checks a job whose item 7 fails: it ends at once, and says what failed
// and where, once.
func fails(t *testing.T, o launch.Outcome, ranks int) {
	t.Helper()
	var rank, lane int
	var host string
	i := strings.Index(o.Stderr, "hataori: item 7 failed on ")
	if i < 0 || strings.Count(o.Stderr, "item 7") != 1 {
		t.Fatalf("%d ranks: status %d: %s", ranks, o.Status, o.Stderr)
	}
	_, err := fmt.Sscanf(o.Stderr[i:], "hataori: item 7 failed on rank %d %s lane %d: injected failure", &rank, &host, &lane)
	if err != nil || rank >= ranks || lane > 1 || o.Status == 0 || o.Stdout != "" {
		t.Errorf("%d ranks: status %d, %v\n--- stdout\n%s\n--- stderr\n%s", ranks, o.Status, err, o.Stdout, o.Stderr)
	}
	if o.Took > 30*time.Second {
		t.Errorf("%d ranks: took %v to fail", ranks, o.Took)
	}
}

func TestParse(t *testing.T) {
	o, err := parse([]string{"--lanes=2", "--items", "9", "--fail-at", "8", "--json"})
	if want := (options{lanes: 2, items: 9, failAt: 8, json: true}); err != nil || o != want {
		t.Errorf("%+v, %v", o, err)
	}
	if _, err := parse([]string{"--help"}); !errors.Is(err, flag.ErrHelp) {
		t.Errorf("--help: %v", err)
	}
	for args, want := range map[string]string{
		"--lanes -1":             "--lanes -1",
		"--items -1":             "--items -1",
		"--fail-at 100":          "--fail-at 100",
		"--fail-at -2":           "--fail-at -2",
		"--items 0 --fail-at 0":  "--fail-at 0",
		"more":                   `"more"`,
		"--wrong":                "-wrong",
		"--lanes two":            `"two"`,
		"--lanes 0 --items -5 x": "--items -5",
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", args, err)
		}
	}
}
