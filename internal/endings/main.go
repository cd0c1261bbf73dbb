// Endings checks the table of docs/endings.md: it brings about every event under
// every launcher it is asked for and compares the exit status, the messages, the
// time until nothing of the job is left, and what the job had finished.
//
//	endings --program FILE --table docs/endings.md mpirun mpiexec
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

func main() {
	program := flag.String("program", "", "the faulty program")
	table := flag.String("table", "docs/endings.md", "the table")
	only := flag.String("only", "", "events to run, separated by commas; all if empty")
	logs := flag.String("logs", "", "folder for what the jobs print")
	times := flag.Int("times", 1, "how often each row is run")
	flag.Parse()
	interrupted := make(chan os.Signal, 1)
	// Catching a signal also undoes that this process was started with it ignored
	// (nohup does so), which its jobs would inherit.
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-interrupted
		if j := current.Load(); j != nil {
			j.killAll()
			j.freeAllocation()
		}
		os.Exit(130)
	}()
	failed, err := check(*program, *table, *only, *logs, *times, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "endings:", err)
		os.Exit(2)
	}
	if failed > 0 {
		os.Exit(1)
	}
}

// current is the job that runs, for whoever must end it early.
var current atomic.Pointer[job]

func check(program, table, only, logs string, times int, names []string) (failed int, err error) {
	f, err := os.Open(table)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	rows, err := parseTables(f)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", table, err)
	}
	ran := 0
	for _, name := range names {
		l := launcherOf(name)
		if l == nil {
			return 0, fmt.Errorf("no launcher is called %q", name)
		}
		if _, err := exec.LookPath(l.command[0]); err != nil {
			return 0, err
		}
		for _, r := range rows {
			want, said := r.expect[name]
			if !said || only != "" && !slices.Contains(strings.Split(only, ","), r.event) {
				continue
			}
			for range times {
				ran++
				bad, err := r.try(l, want, program, logs)
				if err != nil {
					return failed, err
				}
				if bad {
					failed++
				}
			}
		}
	}
	if ran == 0 {
		return 0, fmt.Errorf("%s has no row for %q under %q", table, only, names)
	}
	fmt.Printf("endings: %d rows, %d differ from %s\n", ran, failed, table)
	return failed, nil
}

// try runs one row under one launcher and prints what came of it.
func (r row) try(l *launcher, want ending, program, logs string) (bad bool, err error) {
	h := happeningOf(r.event)
	j, err := newJob(l, program, h)
	if err != nil {
		return false, err
	}
	current.Store(j)
	defer current.Store(nil)
	o, err := j.run(h, r.within, want.endless)
	if err != nil {
		return false, err
	}
	faults := r.judge(want, o)
	took := "never"
	if !o.event.IsZero() {
		took = fmt.Sprintf("%.2f s", o.gone.Sub(o.event).Seconds())
	}
	verdict := "ok   "
	if len(faults) > 0 {
		verdict = "FAIL "
	}
	fmt.Printf("%s %-20s %-18s status %3d, %7s after the event\n", verdict, l.name, r.event, o.status, took)
	for _, s := range faults {
		fmt.Printf("      %s\n", s)
	}
	if len(faults) > 0 {
		o.print(os.Stdout, 20)
	}
	if logs != "" {
		return len(faults) > 0, o.save(logs, l.name+" "+r.event)
	}
	return len(faults) > 0, nil
}

// queueing is what srun says while it waits for the job before.
var queueing = regexp.MustCompile(`(?m)^srun: job \d+ (queued and waiting for|has been allocated) resources\n`)

// What the program says when all went well, which a job that ended otherwise must
// not say, even where its launcher hides the status; and how many items it has.
const (
	successWords = "faulty: ok"
	items        = 60
)

// judge lists what differs from the table.
func (r row) judge(want ending, o *outcome) (faults []string) {
	fault := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	faults = append(faults, o.faults...)
	if want.endless {
		if !o.hung {
			fault("the job ended with status %d, the table says that it never does", o.status)
		}
		return faults
	}
	if o.hung {
		fault("the job did not end within %v", r.within+rowLimit)
	}
	if !slices.Contains(want.statuses, o.status) {
		fault("status %d, the table says %v", o.status, want.statuses)
	}
	host, _ := os.Hostname() // a name that is wrong is not found in the messages
	words := strings.NewReplacer("HOST", host, "LAST", fmt.Sprint(ranks-1))
	for _, m := range r.says {
		n := m.count(o.stdout, words) + m.count(o.stderr, words)
		if n == 0 && !want.mute || n > 1 && !m.often {
			fault("%q stands %d times in what the job printed", m.fragments, n)
		}
	}
	success := slices.Equal(want.statuses, []int{0})
	if !success && strings.Contains(o.stdout, successWords) {
		fault("the job says that it succeeded")
	}
	if success && len(o.finished) != items {
		fault("a job that succeeds finished %d of %d items", len(o.finished), items)
	}
	if success && (queueing.ReplaceAllString(o.stderr, "") != "" || strings.Count(o.stdout, "\n") != 1) {
		fault("a job that succeeds says one line on stdout and nothing on stderr")
	}
	switch {
	case o.event.IsZero() && r.event != "ok":
		fault("the event did not happen")
	case !o.event.IsZero() && o.gone.Sub(o.event) > r.within:
		fault("it took %v after the event, the table says %v", o.gone.Sub(o.event).Round(time.Millisecond), r.within)
	}
	for _, p := range o.left {
		fault("left running: %s", p)
	}
	slices.Sort(o.finished)
	for i, s := range o.finished {
		if i > 0 && s == o.finished[i-1] {
			fault("item %s was evaluated twice", s)
		}
	}
	return faults
}

// print shows the beginning of what the job printed, at most so many lines of
// each stream.
func (o *outcome) print(w io.Writer, most int) {
	for _, s := range []string{o.stdout, o.stderr} {
		n := 0
		for line := range strings.Lines(s) {
			if n++; n > most {
				fmt.Fprintln(w, "      > …")
				break
			}
			fmt.Fprintf(w, "      > %s\n", strings.TrimSuffix(line, "\n"))
		}
	}
}

func (o *outcome) save(dir, name string) error {
	name = strings.NewReplacer(" ", "_", "=", "", "--", "").Replace(name)
	f, err := os.Create(dir + "/" + name + ".log")
	if err != nil {
		return err
	}
	fmt.Fprintf(f, "status %d, %d items finished\n", o.status, len(o.finished))
	o.print(f, math.MaxInt)
	return f.Close()
}
