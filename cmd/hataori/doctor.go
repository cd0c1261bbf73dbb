package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/mpi"
)

type doctorCmd struct {
	Lanes   int  `placeholder:"N" help:"Lanes of each rank of the job; by default the processors of a host are shared out to its ranks."`
	Threads int  `default:"1" placeholder:"N" help:"Threads of each lane."`
	JSON    bool `help:"Print one JSON object."`
}

// Level is how bad a finding is.
type level string

const (
	ok    level = "ok"
	note  level = "note"  // worth to know
	fault level = "fault" // to be cured
)

// finding is what was found about one thing, on some ranks.
type finding struct {
	Check string `json:"check"`
	Level level  `json:"level"`
	Text  string `json:"text"`
	Cure  string `json:"cure,omitempty"`
	Ranks []int  `json:"ranks"`
}

// chart is what one rank sends to the root.
type chart struct {
	Rank     int
	Host     string
	CPUs     []int
	Lanes    int
	Findings []finding
}

// report is what the doctor says.
type report struct {
	Version  string           `json:"version"`
	Ranks    int              `json:"ranks"`
	Hosts    map[string][]int `json:"hosts"`
	Faults   int              `json:"faults"`
	Findings []finding        `json:"findings"`
}

// patience is how long the doctor waits for ranks that do not come.
const patience = 30 * time.Second

// Run examines every rank and prints one report.
func (d *doctorCmd) Run(out io.Writer) error {
	if d.Lanes < 0 || d.Threads < 1 {
		return fmt.Errorf("--lanes %d --threads %d: lanes must not be negative, threads must be at least 1", d.Lanes, d.Threads)
	}
	cpus := allowedCPUs() // before a library is loaded that may bind the process
	rt, err := mpi.Init(mpi.Options{})
	if err != nil {
		return d.alone(out, cpus, err)
	}
	faults, err := d.together(out, rt, cpus)
	if closing := rt.Finalize(); err == nil {
		err = closing
	}
	if err == nil && faults > 0 {
		err = errFound
	}
	return err
}

// alone reports this process, for MPI does not work. Of the processes of a job
// only the first speaks, for the others would say the same. They end with
// status 0: launchers end a job at the first other one, and drop what is on its
// way to them.
func (d *doctorCmd) alone(out io.Writer, cpus []int, err error) error {
	for _, name := range []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"} {
		if rank := os.Getenv(name); rank != "" && rank != "0" {
			return nil
		}
	}
	host, _ := os.Hostname() // without one it has none
	c := chart{Host: host, CPUs: cpus, Lanes: d.lanes(cpus, 1)}
	c.Findings = append([]finding{mpiFault(err)}, d.examine(&c)...)
	r := merge([]chart{c}, d.Threads)
	if err := d.print(out, r); err != nil {
		return err
	}
	return errFound
}

// together brings what all ranks found to the root, which prints it and returns
// the number of faults.
func (d *doctorCmd) together(out io.Writer, rt *mpi.Runtime, cpus []int) (faults int, err error) {
	ctx := context.Background()
	w, err := hataori.NewWorld(rt.World())
	if err != nil {
		return 0, err
	}
	defer func() {
		if closing := w.Close(); err == nil {
			err = closing
		}
	}()
	c := chart{Rank: w.Rank(), Host: rt.World().Host(), CPUs: cpus, Lanes: d.lanes(cpus, len(rt.Peers()))}
	c.Findings = append([]finding{mpiFound(rt)}, d.examine(&c)...)
	all, err := hataori.Gather(ctx, w, hataori.Options{PreflightTimeout: patience}, c)
	if err != nil {
		return 0, err
	}
	var printing error
	if w.Rank() == 0 {
		r := merge(all, d.Threads)
		faults = r.Faults
		printing = d.print(out, r)
	}
	return faults, w.Agree(ctx, printing)
}

// lanes is the number of lanes of this rank.
func (d *doctorCmd) lanes(cpus []int, peers int) int {
	if d.Lanes > 0 {
		return d.Lanes
	}
	return max(len(cpus)/(d.Threads*max(peers, 1)), 1)
}

// examine looks at everything but MPI.
func (d *doctorCmd) examine(c *chart) []finding {
	return []finding{processors(c, d.Threads), gomaxprocs(c.Lanes), blasFound(), hdf5Found(), gpuFound(os.DirFS("/"))}
}

// merge joins equal findings of several ranks, and adds what no rank sees by
// itself.
func merge(all []chart, threads int) *report {
	r := &report{Version: version(), Ranks: len(all), Hosts: map[string][]int{}}
	at := map[finding2]int{}
	for _, c := range all {
		r.Hosts[c.Host] = append(r.Hosts[c.Host], c.Rank)
		for _, f := range c.Findings {
			key := finding2{f.Check, f.Level, f.Text, f.Cure}
			k, seen := at[key]
			if !seen {
				k, at[key] = len(r.Findings), len(r.Findings)
				f.Ranks = nil
				r.Findings = append(r.Findings, f)
			}
			r.Findings[k].Ranks = append(r.Findings[k].Ranks, c.Rank)
		}
	}
	r.addMasks(all)
	r.Findings = append(r.Findings, crowded(all, threads)...)
	r.sort()
	for _, f := range r.Findings {
		if f.Level == fault {
			r.Faults++
		}
	}
	return r
}

// addMasks says on which processors the ranks run, of some of them where they
// differ.
func (r *report) addMasks(all []chart) {
	const most = 6
	masks := map[int]string{}
	for _, c := range all {
		masks[c.Rank] = spans(c.CPUs)
	}
	for k := range r.Findings {
		f := &r.Findings[k]
		if f.Check != "processors" {
			continue
		}
		same := true
		var some []string
		for i, rank := range f.Ranks {
			same = same && masks[rank] == masks[f.Ranks[0]]
			if i < most {
				some = append(some, fmt.Sprintf("rank %d: %s", rank, masks[rank]))
			} else if i == most {
				some = append(some, "…")
			}
		}
		if same {
			some = []string{masks[f.Ranks[0]]}
		}
		f.Text += " (" + strings.Join(some, "; ") + ")"
	}
}

// finding2 is a finding without its ranks.
type finding2 struct {
	check      string
	level      level
	text, cure string
}

// sort puts findings about one thing together, in the order in which things
// were first seen.
func (r *report) sort() {
	var out []finding
	done := map[string]bool{}
	for _, f := range r.Findings {
		if done[f.Check] {
			continue
		}
		done[f.Check] = true
		for _, g := range r.Findings {
			if g.Check == f.Check {
				out = append(out, g)
			}
		}
	}
	r.Findings = out
}

func (d *doctorCmd) print(out io.Writer, r *report) error {
	if d.JSON {
		return json.NewEncoder(out).Encode(r)
	}
	var b strings.Builder
	state := "no fault"
	if r.Faults > 0 {
		state = count(r.Faults, "fault")
	}
	fmt.Fprintf(&b, "hataori doctor: %s on %s: %s\n", count(r.Ranks, "rank"), count(len(r.Hosts), "host"), state)
	for _, f := range r.Findings {
		where := ""
		if len(f.Ranks) < r.Ranks {
			where = "rank " + spans(f.Ranks) + ": "
		}
		fmt.Fprintf(&b, "%-11s %-5s  %s%s\n", f.Check, strings.ToUpper(string(f.Level)), where, f.Text)
		if f.Cure != "" {
			fmt.Fprintf(&b, "%-11s cure:  %s\n", "", f.Cure)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// spans writes a rising list as 0-3,7.
func spans(list []int) string {
	var parts []string
	for k := 0; k < len(list); {
		end := k
		for end+1 < len(list) && list[end+1] == list[end]+1 {
			end++
		}
		part := fmt.Sprint(list[k])
		if end > k {
			part += fmt.Sprintf("-%d", list[end])
		}
		parts = append(parts, part)
		k = end + 1
	}
	return strings.Join(parts, ",")
}

// mpiFault is the finding that Init failed.
func mpiFault(err error) finding {
	f := finding{Check: "MPI", Level: fault, Text: err.Error()}
	var e *mpi.InitError
	if errors.As(err, &e) {
		f.Cure = e.Hint
		f.Text = strings.TrimSuffix(f.Text, "; "+e.Hint)
	}
	if found := launchers(); found != "" {
		f.Text += "; launchers here: " + found
	}
	return f
}
