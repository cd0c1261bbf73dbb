package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/hataori/hataori-go/engine/blas"
	"github.com/hataori/hataori-go/mpi"
	"github.com/hataori/hataori-go/store"
)

// mpiFound is the finding that Init worked.
func mpiFound(rt *mpi.Runtime) finding {
	f := finding{Check: "MPI", Level: ok}
	if rt.Library() == "" {
		f.Text = "not in use: this process was started without a launcher"
		if found := launchers(); found != "" {
			f.Text += "; launchers here: " + found
		} else {
			f.Text += ", and there is none on PATH"
		}
		return f
	}
	f.Text = fmt.Sprintf("%s (%s), %v, %s", firstWords(rt.Version(), 60), rt.Library(), rt.Level(), count(rt.World().Size(), "rank"))
	if rt.Level() < mpi.ThreadSerialized {
		f.Level = note
		f.Text += ": small items are handed out two to three times as fast where MPI_THREAD_SERIALIZED is granted"
		f.Cure = "use a build of the library with thread support"
	}
	return f
}

// firstWords cuts a long text.
func firstWords(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= n {
		return s
	}
	if at := strings.LastIndexAny(s[:n], " ,"); at > 0 {
		n = at
	}
	return s[:n] + " …"
}

// launchers names those on PATH.
func launchers() string {
	var found []string
	seen := map[string]bool{}
	for _, name := range []string{"mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.hydra", "srun"} {
		file, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(file)
		if err != nil {
			real = file
		}
		if seen[real] {
			continue
		}
		seen[real] = true
		if filepath.Base(real) != name {
			file += " (" + filepath.Base(real) + ")"
		}
		found = append(found, file)
	}
	return strings.Join(found, ", ")
}

// processors compares the mask of this rank with what it wants to run.
func processors(c *chart, threads int) finding {
	f := finding{Check: "processors", Level: ok}
	want := c.Lanes * threads
	have, whole := len(c.CPUs), onlineCPUs()
	f.Text = fmt.Sprintf("%s of %s for %s of the host's %d", count(c.Lanes, "lane"), count(threads, "thread"), count(have, "processor"), whole)
	if quota := cpuQuota(); quota > 0 && quota < float64(have) {
		f.Level = note
		f.Text += fmt.Sprintf("; the container may use %.1f of them", quota)
		if float64(want) > quota {
			f.Level = fault
			f.Cure = "raise the container's limit of processors, or use fewer lanes or threads"
		}
	}
	if want > have {
		f.Level = fault
		f.Text = fmt.Sprintf("binding: %s of %s want %s, the process may use %d of the host's %d",
			count(c.Lanes, "lane"), count(threads, "thread"), count(want, "processor"), have, whole)
		f.Cure = bindingCure(want)
	}
	return f
}

// bindingCure is what to change so that a rank gets that many processors.
func bindingCure(want int) string {
	switch {
	case os.Getenv("OMPI_COMM_WORLD_SIZE") != "":
		return fmt.Sprintf("start with mpirun --bind-to none, or --map-by slot:PE=%d (Open MPI binds each rank of a small job to one core), or use fewer lanes", want)
	case os.Getenv("SLURM_STEP_NUM_TASKS") != "":
		return fmt.Sprintf("start with srun --cpus-per-task=%d, or use fewer lanes", want)
	case os.Getenv("PMI_RANK") != "":
		return "start with mpiexec -bind-to none, or use fewer lanes"
	}
	return "use fewer lanes or threads, or start the process without taskset, cpuset or numactl"
}

// crowded finds hosts on which the ranks together want more than they have, each
// of them having enough by itself.
func crowded(all []chart, threads int) (list []finding) {
	byHost := map[string][]chart{}
	var hosts []string
	for _, c := range all {
		if byHost[c.Host] == nil {
			hosts = append(hosts, c.Host)
		}
		byHost[c.Host] = append(byHost[c.Host], c)
	}
	for _, host := range hosts {
		cpus, want := map[int]bool{}, 0
		var ranks []int
		fits := true
		for _, c := range byHost[host] {
			for _, cpu := range c.CPUs {
				cpus[cpu] = true
			}
			want += c.Lanes * threads
			fits = fits && c.Lanes*threads <= len(c.CPUs)
			ranks = append(ranks, c.Rank)
		}
		if fits && want > len(cpus) {
			list = append(list, finding{Check: "processors", Level: fault, Ranks: ranks,
				Text: fmt.Sprintf("the ranks on %s want %s together and share %d", host, count(want, "processor"), len(cpus)),
				Cure: "use fewer ranks on a host, fewer lanes or fewer threads"})
		}
	}
	return list
}

// gomaxprocs compares Go's setting with the lanes.
func gomaxprocs(lanes int) finding {
	f := finding{Check: "Go", Level: ok, Text: fmt.Sprintf("%s, GOMAXPROCS %d", runtime.Version(), runtime.GOMAXPROCS(0))}
	env := os.Getenv("GOMAXPROCS")
	n, err := strconv.Atoi(env)
	switch {
	case env == "":
		f.Text += fmt.Sprintf(" (mpi.Main raises it to %d, lanes and one)", lanes+1)
	case err == nil && n > 0 && n < lanes+1:
		f.Level = fault
		f.Text = fmt.Sprintf("GOMAXPROCS=%d in the environment leaves no room for communication beside %s", n, count(lanes, "lane"))
		f.Cure = fmt.Sprintf("unset GOMAXPROCS, or set it to %d", lanes+1)
	}
	return f
}

// blasFound opens the BLAS library that engines would use.
func blasFound() finding {
	f := finding{Check: "BLAS", Level: ok}
	p, err := blas.Open(blas.Options{})
	var missing *blas.NotFoundError
	switch {
	case errors.As(err, &missing):
		f.Level = note
		f.Text = "none found; engines use their own kernels"
		f.Cure = missing.Hint
		if missing.Asked != "" {
			f.Level = fault
			f.Text = err.Error()
			f.Text = strings.TrimSuffix(f.Text, ". "+missing.Hint)
		}
		return f
	case err != nil:
		f.Level, f.Text = fault, err.Error()
		return f
	}
	i := p.Info()
	f.Text = fmt.Sprintf("%s %s (%s), %d-bit integers", i.Name, i.Version, i.Path, i.IntBits)
	if i.Kernel != "" {
		f.Text += ", kernel " + i.Kernel
	}
	if i.Corrected {
		f.Level = note
		f.Text += ", which was chosen for it: by itself it takes one that is many times slower here"
		f.Cure = "for programs other than this, set OPENBLAS_CORETYPE=" + i.BestKernel
	}
	if i.TakesTurns {
		f.Level = note
		f.Text += ", one call at a time, as it was built without threads and locks"
		f.Cure = "install a build with threads (Debian, Ubuntu: apt install libopenblas0-pthread)"
	}
	if len(i.Warnings) > 0 {
		f.Level = fault
		text, cure, _ := strings.Cut(i.Warnings[0], ": ")
		f.Text += ": " + text
		f.Cure = strings.Join(append([]string{cure}, i.Warnings[1:]...), "; ")
	}
	return f
}

// hdf5Found loads the library that package store would use.
func hdf5Found() finding {
	name, version, err := store.Version("")
	if err == nil {
		return finding{Check: "HDF5", Level: ok, Text: fmt.Sprintf("%s (%s)", version, name)}
	}
	f := finding{Check: "HDF5", Level: note, Text: "none found; only package store needs it",
		Cure: "install it (Debian, Ubuntu: apt install libhdf5-103-1; Fedora: dnf install hdf5), or name it in " + store.LibraryEnv}
	if named := os.Getenv(store.LibraryEnv); named != "" {
		f.Level, f.Text = fault, err.Error()
	}
	return f
}

// gpuFound looks for what the drivers of GPUs leave in the file system of a
// host, from its root on.
func gpuFound(host fs.FS) finding {
	f := finding{Check: "GPU", Level: ok, Text: "none"}
	names := gpuModels(host)
	if len(names) == 0 {
		for _, pattern := range []string{"dev/nvidia[0-9]*", "dev/kfd"} {
			found, _ := fs.Glob(host, pattern) // the pattern is well formed
			for _, name := range found {
				names = append(names, "/"+name)
			}
		}
	}
	if len(names) > 0 {
		f.Text = strings.Join(names, ", ") + "; this version has no engine for it"
	}
	return f
}

// gpuModels are the names that the driver of NVIDIA gives, with their numbers.
func gpuModels(host fs.FS) (names []string) {
	files, _ := fs.Glob(host, "proc/driver/nvidia/gpus/*/information") // as above
	for _, file := range files {
		b, err := fs.ReadFile(host, file)
		if err != nil {
			continue
		}
		for _, line := range strings.Split(string(b), "\n") {
			if model, is := strings.CutPrefix(line, "Model:"); is {
				names = append(names, strings.TrimSpace(model))
			}
		}
	}
	return tally(names)
}

// tally joins equal names.
func tally(names []string) (list []string) {
	times := map[string]int{}
	for _, name := range names {
		times[name]++
	}
	for _, name := range names {
		if n := times[name]; n > 1 {
			name = fmt.Sprintf("%d × %s", n, name)
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}
