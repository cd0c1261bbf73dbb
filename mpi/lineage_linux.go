package mpi

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// lineage is this process, the shells and scripts between it and its launcher,
// and the launcher's own process on this host, in this order. It is nil without
// a launcher.
type lineage []int

// rankVariables are those by which launchers tell processes which rank they are.
var rankVariables = []string{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}

// longestLineage bounds the search; nobody nests that many wrappers.
const longestLineage = 32

// findLineage follows the parents up to the first that was not started with this
// rank's number in its environment: that is the launcher. The environment that
// /proc shows is that of the start, and that of another user's process cannot be
// read, which tells as much.
func findLineage() lineage {
	mark := ""
	for _, name := range rankVariables {
		if v := os.Getenv(name); v != "" {
			mark = name + "=" + v
			break
		}
	}
	if mark == "" {
		return nil
	}
	l := lineage{os.Getpid()}
	for p := os.Getppid(); ; p = parentOf(p) {
		l = append(l, p)
		if p <= 1 || len(l) == longestLineage || !startedWith(p, mark) {
			return l
		}
	}
}

// whole reports whether every process of it is still the child of the next.
func (l lineage) whole() bool {
	for i := range len(l) - 1 {
		if p := parentOf(l[i]); p != l[i+1] {
			return false
		}
	}
	return true
}

// startedWith reports whether the process was started with the entry in its
// environment.
func startedWith(pid int, entry string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if string(kv) == entry {
			return true
		}
	}
	return false
}

// parentOf returns the parent of a process, 0 if there is no such process.
func parentOf(pid int) int {
	if pid == os.Getpid() {
		return os.Getppid()
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	return parseParent(string(stat))
}

// parseParent reads the parent from the text of /proc/PID/stat: number, name in
// parentheses, which may hold anything, state, parent. 0 stands for none.
func parseParent(stat string) int {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	p, err := strconv.Atoi(fields[1])
	if err != nil {
		return 0
	}
	return p
}
