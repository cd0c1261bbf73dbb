package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hataori/hataori-go/mpi"
)

const (
	// rowLimit is how long a job may run on after it should have ended, before
	// it is killed and called hung.
	rowLimit = 30 * time.Second

	// endlessTime is how long a job is watched that should not end.
	endlessTime = 5 * time.Second
)

// job is one run of the program under a launcher.
type job struct {
	mark string // in the arguments and the environment of all its processes
	dir  string // where its ranks leave notes
	cmd  *exec.Cmd
	by   *launcher
	done chan struct{} // closed when the launcher has ended

	happened time.Time // when it was brought about from outside
	faults   []string
}

// outcome is how it ended.
type outcome struct {
	status    int
	stdout    string
	stderr    string
	event     time.Time // when the event happened, zero if it did not
	gone      time.Time // when nothing was left
	left      []string  // what was left in spite of all
	hung      bool
	faults    []string
	finished  []string // the items that were finished, in no order
	startedAt time.Time
}

var jobNumber int

func newJob(l *launcher, program string, h happening) (*job, error) {
	jobNumber++
	j := &job{mark: fmt.Sprintf("hataori-ending-%d-%d", os.Getpid(), jobNumber), done: make(chan struct{}), by: l}
	var err error
	if j.dir, err = os.MkdirTemp("", "endings"); err != nil {
		return nil, err
	}
	args := append([]string{}, l.command...)
	if l.name == "sbatch" {
		args = append(args, h.batch...)
		args = append(args, "--output="+filepath.Join(j.dir, "stdout"), "--error="+filepath.Join(j.dir, "stderr"), batchScript)
	}
	if h.shell {
		args = append(args, "sh", "-c", `"$0" "$@"; exit $?`)
	}
	args = append(append(args, program, "--dir", j.dir, "--job", j.mark), h.flags...)
	j.cmd = exec.Command(args[0], args[1:]...)
	j.cmd.Env = append(mpi.ChildEnv(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_btl_vader_single_copy_mechanism=none", "HATAORI_ENDING="+j.mark, "SLURM_JOB_NAME="+j.mark)
	j.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return j, nil
}

// run runs the job to its end, and ends it where it does not end itself.
func (j *job) run(h happening, patience time.Duration, endless bool) (*outcome, error) {
	defer os.RemoveAll(j.dir)
	// Files, not pipes: a pipe would keep Wait waiting for processes left over.
	var files [2]*os.File
	for i, name := range []string{"stdout", "stderr"} {
		f, err := os.Create(filepath.Join(j.dir, name))
		if err != nil {
			return nil, err
		}
		defer f.Close()
		files[i] = f
	}
	j.cmd.Stdout, j.cmd.Stderr = files[0], files[1]
	o := &outcome{startedAt: time.Now()}
	if err := j.cmd.Start(); err != nil {
		return nil, err
	}
	limit := time.AfterFunc(rowLimit+patience, func() {
		o.hung = true
		j.killAll()
	})
	if endless {
		limit.Stop()
		go j.endLater(o)
	}
	var waitErr error
	go func() {
		waitErr = j.cmd.Wait()
		close(j.done)
	}()
	if h.after != nil && j.untilWorking() {
		h.after(j)
	}
	<-j.done
	limit.Stop()
	o.status = statusOf(waitErr)
	o.event = j.eventTime()
	j.untilGone(o, patience)
	j.freeAllocation()
	o.faults = j.faults
	o.stdout, o.stderr = j.read("stdout"), j.read("stderr")
	o.finished = strings.Fields(j.read("finished"))
	return o, nil
}

// endLater kills the job some time after the event, if it still runs then.
func (j *job) endLater(o *outcome) {
	for end := time.Now().Add(rowLimit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if names, _ := filepath.Glob(filepath.Join(j.dir, "event.?")); len(names) > 0 { // the pattern is well formed
			break
		}
	}
	select {
	case <-j.done:
	case <-time.After(endlessTime):
		o.hung = true
		j.killAll()
	}
}

func statusOf(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &exit):
		return -1
	}
	if ws, ok := exit.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal())
	}
	return exit.ExitCode()
}

func (j *job) read(name string) string {
	b, err := os.ReadFile(filepath.Join(j.dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		j.faults = append(j.faults, err.Error())
	}
	return string(b)
}

// untilWorking waits until every rank is at work, and says whether they came to
// that.
func (j *job) untilWorking() bool {
	for {
		names, _ := filepath.Glob(filepath.Join(j.dir, "working.?")) // the pattern is well formed
		if len(names) == ranks {
			return true
		}
		select {
		case <-j.done:
			j.faults = append(j.faults, "the job ended before all ranks were at work")
			return false
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func (j *job) signalLauncher(sig syscall.Signal) {
	if j.happened.IsZero() {
		j.happened = time.Now()
	}
	_ = j.cmd.Process.Signal(sig) // it may have ended since the first one
}

func (j *job) killRank(rank int) { j.killOf(rank, "pid") }

// killShell kills the shell that waits for the rank.
func (j *job) killShell(rank int) { j.killOf(rank, "parent") }

func (j *job) killOf(rank int, note string) {
	pid, err := strconv.Atoi(j.read(fmt.Sprintf("%s.%d", note, rank)))
	if err == nil {
		j.happened = time.Now()
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		j.faults = append(j.faults, err.Error())
	}
}

// scancel cancels or signals the Slurm job, which has the mark for a name.
func (j *job) scancel(flags ...string) {
	j.happened = time.Now()
	if out, err := exec.Command("scancel", append(flags, "--name="+j.mark)...).CombinedOutput(); err != nil {
		j.faults = append(j.faults, fmt.Sprintf("scancel: %v: %s", err, out))
	}
}

// freeAllocation cancels what is left of the job in Slurm: the allocation of a
// launcher that was killed stays. That there is nothing to cancel is no fault.
func (j *job) freeAllocation() {
	if j.by.slurm {
		_ = exec.Command("scancel", "--quiet", "--signal=KILL", "--name="+j.mark).Run()
		_ = exec.Command("scancel", "--quiet", "--name="+j.mark).Run()
	}
}

// eventTime is when the event happened: when it was brought about, or the first
// note of a rank's about it, or else the time at which work began.
func (j *job) eventTime() time.Time {
	if !j.happened.IsZero() {
		return j.happened
	}
	for _, what := range []string{"event.?", "working.?", "pid.?"} {
		var first time.Time
		names, _ := filepath.Glob(filepath.Join(j.dir, what)) // the pattern is well formed
		for _, name := range names {
			if st, err := os.Stat(name); err == nil && (first.IsZero() || st.ModTime().Before(first)) {
				first = st.ModTime()
			}
		}
		if !first.IsZero() {
			return first
		}
	}
	return time.Time{}
}

// untilGone waits for the processes of the job to end, and kills what is left
// after the patience.
func (j *job) untilGone(o *outcome, patience time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		left := j.processes()
		o.gone = time.Now()
		if len(left) == 0 {
			return
		}
		select {
		case <-ctx.Done():
			for _, p := range left {
				o.left = append(o.left, p.command)
			}
			j.killAll()
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (j *job) killAll() {
	for _, p := range j.processes() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have ended by itself
	}
}

type process struct {
	pid     int
	command string
}

// processes finds the living processes that have the job's mark in their
// environment or among their arguments: ranks, launcher and its helpers.
func (j *job) processes() (found []process) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		j.faults = append(j.faults, err.Error())
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		args, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // of one that has ended meanwhile: empty
		env, _ := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if bytes.Contains(args, []byte(j.mark)) || bytes.Contains(env, []byte("HATAORI_ENDING="+j.mark)) {
			found = append(found, process{pid, string(bytes.ReplaceAll(args, []byte{0}, []byte{' '}))})
		}
	}
	return found
}
