package main

import (
	"strings"
	"syscall"
	"time"
)

// launcher is one way to start a job.
type launcher struct {
	name    string // its column in the table
	command []string
	slurm   bool
}

var launchers = []launcher{
	{name: "mpirun", command: []string{"mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "-n", ranksText}},
	{name: "mpiexec", command: []string{"mpiexec.hydra", "-n", ranksText}},
	{name: "srun --mpi=pmix", command: []string{"srun", "--mpi=pmix", "--overcommit", "-n", ranksText}, slurm: true},
	{name: "srun --mpi=pmi2", command: []string{"srun", "--mpi=pmi2", "--overcommit", "-n", ranksText}, slurm: true},
	{name: "srun -K1 --mpi=pmix", command: []string{"srun", "-K1", "--mpi=pmix", "--overcommit", "-n", ranksText}, slurm: true},
	{name: "srun -K1 --mpi=pmi2", command: []string{"srun", "-K1", "--mpi=pmi2", "--overcommit", "-n", ranksText}, slurm: true},
	{name: "srun --mpi=none", command: []string{"srun", "--mpi=none", "--overcommit", "-n", ranksText}, slurm: true},
	{name: "sbatch", command: []string{"sbatch", "--wait", "--overcommit", "-n", ranksText, "--time=1"}, slurm: true},
}

// batchScript is what sbatch runs the program by.
const batchScript = "examples/slurm/batch.sh"

const (
	ranks     = 3
	ranksText = "3"
)

func launcherOf(name string) *launcher {
	for i := range launchers {
		if launchers[i].name == name {
			return &launchers[i]
		}
	}
	return nil
}

// happening is how an event of the table is brought about.
type happening struct {
	flags []string     // of the program
	batch []string     // of sbatch
	shell bool         // each rank is started by a shell that waits for it
	after func(j *job) // called when all ranks are at work
}

const endless = "1000000" // items: hours of work

// happeningOf returns how an event is brought about. Those that are not listed
// here are events of the program alone.
func happeningOf(event string) happening {
	signal := func(sig syscall.Signal) happening {
		return happening{flags: []string{"--items", endless}, after: func(j *job) { j.signalLauncher(sig) }}
	}
	switch event {
	case "TERM":
		return signal(syscall.SIGTERM)
	case "INT":
		return signal(syscall.SIGINT)
	case "USR1":
		return signal(syscall.SIGUSR1)
	case "KILL-shell", "TERM-shell":
		h := signal(map[string]syscall.Signal{"KILL-shell": syscall.SIGKILL, "TERM-shell": syscall.SIGTERM}[event])
		h.shell = true
		return h
	case "shell-KILL":
		return happening{flags: []string{"--items", endless}, shell: true, after: func(j *job) { j.killShell(ranks - 1) }}
	case "INT-twice":
		return happening{flags: []string{"--items", endless}, after: func(j *job) {
			j.signalLauncher(syscall.SIGINT)
			time.Sleep(300 * time.Millisecond)
			j.signalLauncher(syscall.SIGINT)
		}}
	case "scancel-TERM", "scancel-USR1":
		_, sig, _ := strings.Cut(event, "-")
		return happening{flags: []string{"--items", endless}, after: func(j *job) { j.scancel("--signal=" + sig) }}
	case "scancel":
		return happening{flags: []string{"--items", endless}, after: func(j *job) { j.scancel() }}
	case "batch-USR1":
		return happening{flags: []string{"--items", endless}, batch: []string{"--signal=B:USR1@45"}}
	case "batch-time":
		return happening{flags: []string{"--items", endless}, batch: []string{"--signal=B:CONT@1"}} // which changes nothing
	case "HUP":
		return signal(syscall.SIGHUP)
	case "KILL":
		return signal(syscall.SIGKILL)
	case "TERM-twice-deaf":
		return happening{flags: []string{"--event", "deaf", "--items", endless}, after: func(j *job) {
			j.signalLauncher(syscall.SIGTERM)
			time.Sleep(500 * time.Millisecond)
			j.signalLauncher(syscall.SIGTERM)
		}}
	case "rank-KILL":
		return happening{flags: []string{"--items", endless, "--log"}, after: func(j *job) { j.killRank(ranks - 1) }}
	case "deadline":
		return happening{flags: []string{"--time-limit", "2s", "--items", endless}}
	case "crash-panic", "crash-map", "crash-stack", "killed", "killed-root", "exit-zero":
		return happening{flags: []string{"--event", event, "--items", endless}}
	}
	return happening{flags: []string{"--event", event}}
}
