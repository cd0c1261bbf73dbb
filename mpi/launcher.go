package mpi

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// launcher is what the environment says about how this process was started.
type launcher struct {
	family   family // whose library the launcher wants, unknown if it cannot be told
	strict   bool   // a library of another family cannot work
	size     int    // ranks in the job, 0 if not told
	evidence string // NAME=value of what was found, "" without a launcher
	bare     bool   // tasks were started without any process management interface
}

// detect reads the environment. SLURM_NTASKS is no evidence: it is set in
// plain batch shells too.
func detect(getenv func(string) string) (launcher, error) {
	var l launcher
	number := func(name string) (int, error) {
		v := getenv(name)
		if v == "" {
			return 0, nil
		}
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			return 0, &InitError{Err: ErrSetting, Launcher: name + "=" + v, Detail: "number of ranks expected",
				Hint: "unset " + name + " or start the program with a launcher"}
		}
		l.evidence = name + "=" + v
		return n, nil
	}
	for _, s := range []struct {
		name   string
		family family
	}{{"OMPI_COMM_WORLD_SIZE", openMPI}, {"PMI_SIZE", mpich}, {"SLURM_STEP_NUM_TASKS", unknown}} {
		n, err := number(s.name)
		if err != nil {
			return launcher{}, err
		}
		if n == 0 {
			continue
		}
		l.size, l.family = n, s.family
		break
	}
	underSlurm := getenv("SLURM_STEP_NUM_TASKS") != ""
	switch {
	case l.family == openMPI:
		l.strict = true
	case l.family == mpich:
		l.strict = !underSlurm // Slurm's PMI serves whoever was built for it
	case getenv("PMIX_RANK") != "":
		l.family = openMPI
		l.note("PMIX_RANK", getenv)
	case getenv("PMI_RANK") != "":
		l.family = mpich
		l.note("PMI_RANK", getenv)
	case l.size == 1:
		// One task in a step of Slurm's needs no MPI.
		return launcher{}, nil
	case l.size > 1:
		l.bare = true
	}
	return l, nil
}

func (l *launcher) note(name string, getenv func(string) string) {
	l.evidence = strings.TrimSpace(l.evidence + " " + name + "=" + getenv(name))
}

func (l launcher) present() bool { return l.evidence != "" }

// launcherVariables are the prefixes of what launchers put into the environment
// of a rank.
var launcherVariables = []string{
	"OMPI_", "PMIX_", "PMI_", "PMI2_", "PRTE_", "ORTE_", "OPAL_", "HYDI_", "HYDRA_", "MPIR_", "MPI_LOCAL", "MPIEXEC_",
	"I_MPI_HYDRA", "MV2_COMM_WORLD", "PALS_", "IPATH_NO_BACKTRACE",
	"SLURM_STEP", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_TASK_PID", "SLURM_SRUN", "SLURM_PMI", "SLURM_GTIDS", "SLURM_LAUNCH_NODE_IPADDR",
}

// ChildEnv returns the environment for a child process: that of this process
// without what a launcher (mpirun, mpiexec, srun) put there for this rank. A
// program that uses MPI itself would otherwise take itself for one of this
// job's ranks, and end or disturb the job.
//
//	cmd := exec.CommandContext(ctx, "solver", "input")
//	cmd.Env = mpi.ChildEnv()
//
// All variables that begin with OMPI_, PMIX_, PMI_ and the like are left out;
// OMPI_ALLOW_RUN_AS_ROOT and its confirmation stay.
func ChildEnv() []string { return childEnv(os.Environ()) }

func childEnv(env []string) []string {
	var out []string
	for _, kv := range env {
		drop := false
		for _, p := range launcherVariables {
			drop = drop || strings.HasPrefix(kv, p)
		}
		if !drop || strings.HasPrefix(kv, "OMPI_ALLOW_RUN_AS_ROOT") {
			out = append(out, kv)
		}
	}
	return out
}

// mode is the value of HATAORI_MPI.
type mode int

const (
	modeAuto mode = iota
	modeOff
	modeRequired
)

func parseMode(s string) (mode, error) {
	switch s {
	case "", "auto":
		return modeAuto, nil
	case "off":
		return modeOff, nil
	case "required":
		return modeRequired, nil
	}
	return 0, &InitError{Err: ErrSetting, Detail: fmt.Sprintf("HATAORI_MPI=%q", s), Hint: "set it to off, auto or required"}
}
