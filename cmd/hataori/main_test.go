package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/hataori/hataori-go/engine/blas"
	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/internal/launch"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi"
	"github.com/hataori/hataori-go/trace"
)

// envSkewed makes this test binary the skewed job: it writes its trace to that
// file.
const envSkewed = "HATAORI_TEST_SKEWED"

func TestMain(m *testing.M) {
	if name := os.Getenv(envSkewed); name != "" {
		os.Exit(mpi.Program{Options: mpi.Options{Lanes: 2}}.Run(func(ctx context.Context, rt *mpi.Runtime) error {
			return skewed(ctx, rt, name)
		}))
	}
	os.Exit(m.Run())
}

// skewed is a run whose items take eight times as long on rank 1.
func skewed(ctx context.Context, rt *mpi.Runtime, name string) error {
	w, err := hataori.NewWorld(rt.World())
	if err != nil {
		return err
	}
	defer w.Close()
	var items []int
	if w.Rank() == 0 {
		items = make([]int, 240)
	}
	each := 4 * time.Millisecond
	if w.Rank() == 1 {
		each *= 8
	}
	var rec trace.Recording
	_, err = hataori.PmapLanes(ctx, w, lanes.New(2), hataori.Options{Trace: &rec}, items, func(context.Context, lanes.Lane, int) (int, error) {
		time.Sleep(each)
		return 0, nil
	})
	if err != nil || w.Rank() != 0 {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if _, err := rec.WriteTo(f); err != nil {
		return err
	}
	return f.Close()
}

// command runs the program in this process.
func command(args ...string) (status int, stdout, stderr string) {
	var out, bad bytes.Buffer
	status = run(args, &out, &bad)
	return status, out.String(), bad.String()
}

// TestReportOfSlowRank: words, picture and JSON of a skewed job point at the
// slow rank.
func TestReportOfSlowRank(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		name := filepath.Join(t.TempDir(), "run.trace")
		if job := l.Job(t, 3, "env", envSkewed+"="+name, program); job.Status != 0 {
			t.Fatalf("status %d: %s", job.Status, job.Stderr)
		}
		status, out, bad := command("report", name)
		if status != 0 {
			t.Fatalf("status %d: %s", status, bad)
		}
		for _, says := range []string{"240 items on 3 ranks, 6 lanes", "limited by: a slow rank", "rank 1 (", ") is slow"} {
			if !strings.Contains(out, says) {
				t.Errorf("%q is missing in\n%s", says, out)
			}
		}
		base := strings.TrimSuffix(name, ".trace")
		b, err := os.ReadFile(base + ".svg")
		if err != nil || !strings.Contains(string(b), "rank 1 SLOW") {
			t.Errorf("the picture does not point at rank 1: %v", err)
		}
		if dir := os.Getenv("PICTURES"); dir != "" {
			b, _ := os.ReadFile(base + ".png")
			if err := os.WriteFile(filepath.Join(dir, "skewed-"+l.Name+".png"), b, 0o644); err != nil {
				t.Error(err)
			}
		}
		f, err := os.Open(base + ".png")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := png.Decode(f); err != nil {
			t.Error(err)
		}
		if b, err = os.ReadFile(base + ".perfetto.json"); err != nil || !json.Valid(b) {
			t.Errorf("not JSON: %v", err)
		}
	})
}

func TestReportOfBadFiles(t *testing.T) {
	dir := t.TempDir()
	var rec trace.Recording
	var whole bytes.Buffer
	for range 2 {
		rec.Calls = append(rec.Calls, &trace.Call{Kind: "PmapLanes", Elapsed: time.Second, Ranks: []trace.Rank{{Lanes: make([]trace.Lane, 1)}}})
	}
	if _, err := rec.WriteTo(&whole); err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return name
	}
	var none bytes.Buffer
	if _, err := (&trace.Recording{}).WriteTo(&none); err != nil {
		t.Fatal(err)
	}
	good := write("good", whole.Bytes())
	if f, err := os.Open("/dev/zero"); err == nil { // it has no end
		defer f.Close()
		if status, _, bad := command("report", "/dev/zero"); status != exitFault || !strings.Contains(bad, "not a trace: at byte 0") {
			t.Errorf("/dev/zero: status %d, %s", status, bad)
		}
	}
	for _, x := range []struct {
		args   []string
		status int
		out    string
		bad    string
	}{
		{[]string{"report", good, "--words"}, 0, "call 1 of 2", ""},
		{[]string{"report", good, "--words", "--call", "2"}, 0, "call 2 of 2", ""},
		{[]string{"report", good, "--call", "3"}, exitFault, "", "the file holds 2 calls"},
		{[]string{"report", write("cut", whole.Bytes()[:whole.Len()-1]), "--words"}, exitFault, "PmapLanes", "the file is cut"},
		{[]string{"report", write("none", none.Bytes())}, exitFault, "", "holds no call"},
		{[]string{"report", write("text", []byte("hello"))}, exitFault, "", "not a trace: at byte 0"},
		{[]string{"report", write("empty", nil)}, exitFault, "", "not a trace: at byte 0"},
		{[]string{"report", write("name.png", whole.Bytes())}, exitFault, "", "name.png is the trace itself"},
		{[]string{"report", write("Name mit ü und 結.trace", whole.Bytes())}, 0, "wrote " + filepath.Join(dir, "Name mit ü und 結.svg"), ""},
		{[]string{"report", filepath.Join(dir, "absent")}, exitFault, "", filepath.Join(dir, "absent") + ": there is no such file; give the one"},
		{[]string{"report", dir}, exitFault, "", dir + " is a directory"},
		{[]string{"report", good, "--out", filepath.Join(dir, "no", "such")}, exitFault, "", "no such file or directory; --out names another place"},
		{[]string{"doctor", "--lanes=-1"}, exitFault, "", "must not be negative"},
		{[]string{"heal"}, exitUsage, "", "heal"},
		{[]string{"version"}, 0, "hataori ", ""},
		{[]string{"--help"}, 0, "doctor", ""},
	} {
		status, out, bad := command(x.args...)
		if status != x.status || !strings.Contains(out, x.out) || !strings.Contains(bad, x.bad) || x.bad == "" && bad != "" {
			t.Errorf("%v: status %d, %q, %q", x.args, status, out, bad)
		}
	}
}

// TestNobodyReads: what cannot be written to standard output is an error.
func TestNobodyReads(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("no device that is full: %v", err)
	}
	defer full.Close()
	name := filepath.Join(t.TempDir(), "x.trace")
	f, err := os.Create(name)
	if err == nil {
		_, err = (&trace.Recording{Calls: []*trace.Call{{Kind: "Pmap"}}}).WriteTo(f)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"version"}, {"doctor"}, {"doctor", "--json"}, {"report", name}, {"report", "--words", name}} {
		var bad bytes.Buffer
		if status := run(args, full, &bad); status != exitFault || !strings.Contains(bad.String(), "no space left on device") {
			t.Errorf("%v: status %d, %s", args, status, bad.String())
		}
	}
}

// parse reads the doctor's JSON.
func parse(t *testing.T, job launch.Outcome) report {
	t.Helper()
	var r report
	d := json.NewDecoder(strings.NewReader(job.Stdout))
	if err := d.Decode(&r); err != nil || d.More() {
		t.Fatalf("status %d, not one report (%v): %s\n%s", job.Status, err, job.Stdout, job.Stderr)
	}
	return r
}

// find returns the first finding about the thing that is as bad.
func (r *report) find(t *testing.T, check string, l level) finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Check == check && f.Level == l {
			return f
		}
	}
	t.Fatalf("no %s of %s in %+v", l, check, r.Findings)
	return finding{}
}

// TestDoctorUnderLaunchers: one report of all ranks, and under a wrong binding
// and a wrong library that fault with its cure.
func TestDoctorUnderLaunchers(t *testing.T) {
	program := launch.Build(t, ".")
	launch.Each(t, func(t *testing.T, l launch.Launcher) {
		r := parse(t, l.Job(t, 3, program, "doctor", "--lanes", "1", "--json"))
		if f := r.find(t, "MPI", ok); r.Ranks != 3 || len(f.Ranks) != 3 || !strings.Contains(f.Text, "3 ranks") || len(r.Hosts) != 1 {
			t.Errorf("%+v", r)
		}

		job := l.Job(t, 2, "taskset", "-c", "0", program, "doctor", "--lanes", "2", "--json")
		r = parse(t, job)
		f := r.find(t, "processors", fault)
		if job.Status == 0 || len(f.Ranks) != 2 || !strings.Contains(f.Text, "binding: 2 lanes of 1 thread want 2 processors, the process may use 1") || !strings.Contains(f.Cure, "bind-to none") {
			t.Errorf("status %d, %+v", job.Status, f)
		}

		wrong := map[string]string{"openmpi": "libmpich.so.12", "mpich": "libmpi.so.40"}[l.Name]
		job = l.Job(t, 2, "env", "HATAORI_MPI_LIB="+wrong, program, "doctor", "--json")
		r = parse(t, job)
		f = r.find(t, "MPI", fault)
		if job.Status == 0 || !strings.Contains(f.Text, "launcher and library do not belong together") || !strings.Contains(f.Cure, "mpirun or mpiexec that belongs") {
			t.Errorf("status %d, %+v", job.Status, f)
		}
		r.find(t, "processors", ok)
	})
}

// TestDoctorOfOneProcess names wrong settings with their cures.
func TestDoctorOfOneProcess(t *testing.T) {
	program := launch.Build(t, ".")
	text := launch.Alone(t, program, "doctor", "--lanes", "1")
	if !strings.HasPrefix(text.Stdout, "hataori doctor: 1 rank on 1 host") {
		t.Errorf("%s%s", text.Stdout, text.Stderr)
	}
	for _, x := range []struct{ set, check, text, cure string }{
		{"GOMAXPROCS=1", "Go", "GOMAXPROCS=1 in the environment leaves no room", "unset GOMAXPROCS, or set it to 2"},
		{"HATAORI_HDF5_LIB=/nowhere/libhdf5.so", "HDF5", "/nowhere/libhdf5.so", "HATAORI_HDF5_LIB"},
		{"HATAORI_BLAS_LIB=/nowhere/libblas.so", "BLAS", "/nowhere/libblas.so", "HATAORI_BLAS_LIB"},
		{"PMI_SIZE=many", "MPI", "PMI_SIZE=many", "unset PMI_SIZE"},
	} {
		job := launch.Alone(t, "env", x.set, program, "doctor", "--lanes", "1", "--json")
		r := parse(t, job)
		if f := r.find(t, x.check, fault); job.Status != exitFault || !strings.Contains(f.Text, x.text) || !strings.Contains(f.Cure, x.cure) {
			t.Errorf("%s: status %d, %+v", x.set, job.Status, f)
		}
	}
	p, err := blas.Open(blas.Options{})
	if err != nil || p.Info().Name != "openblas" || p.Info().BestKernel == "" {
		if os.Getenv("HATAORI_REQUIRE_BLAS") == "1" && err != nil {
			t.Fatal(err)
		}
		t.Skip("no OpenBLAS that has a choice of kernels here")
	}
	job := launch.Alone(t, "env", "OPENBLAS_CORETYPE=Nehalem", program, "doctor", "--lanes", "1", "--json")
	r := parse(t, job)
	f := r.find(t, "BLAS", fault)
	if want := fmt.Sprintf("uses its Nehalem kernels where the processor could run %s", p.Info().BestKernel); job.Status != exitFault || !strings.Contains(f.Text, want) || !strings.Contains(f.Cure, "OPENBLAS_CORETYPE") {
		t.Errorf("status %d, %+v", job.Status, f)
	}
}

// TestGPU gives the doctor files as drivers leave them.
func TestGPU(t *testing.T) {
	model := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("Model: \t\t " + name + "\nIRQ:   \t\t 187\nGPU UUID: \t GPU-0\n")}
	}
	const gpus = "proc/driver/nvidia/gpus/"
	for _, x := range []struct {
		host fstest.MapFS
		want string
	}{
		{fstest.MapFS{}, "none"},
		{fstest.MapFS{"dev/null": {}, "dev/nvidiactl": {}, "proc/driver/nvidia/version": {}}, "none"},
		{fstest.MapFS{gpus + "0000:17:00.0/information": model("NVIDIA H200"), "dev/nvidia0": {}}, "NVIDIA H200; "},
		{fstest.MapFS{gpus + "0000:17:00.0/information": model("NVIDIA H200"), gpus + "0000:2a:00.0/information": model("NVIDIA A100"),
			gpus + "0000:3d:00.0/information": model("NVIDIA H200")}, "2 × NVIDIA H200, NVIDIA A100; "},
		{fstest.MapFS{gpus + "0000:17:00.0/information": {Mode: fs.ModeDir}, "dev/nvidia0": {}, "dev/nvidia1": {}}, "/dev/nvidia0, /dev/nvidia1; "},
		{fstest.MapFS{"dev/kfd": {}}, "/dev/kfd; "},
	} {
		f := gpuFound(x.host)
		if f.Check != "GPU" || f.Level != ok || !strings.HasPrefix(f.Text, x.want) || strings.HasSuffix(x.want, "; ") != strings.HasSuffix(f.Text, "this version has no engine for it") {
			t.Errorf("%v: %+v, want %q", x.host, f, x.want)
		}
	}
}

// Findings that ranks share are told once, with the ranks.
func TestMerge(t *testing.T) {
	charts := []chart{
		{Rank: 0, Host: "a", CPUs: []int{0, 1}, Lanes: 2, Findings: []finding{{Check: "MPI", Level: ok, Text: "x"}, {Check: "processors", Level: ok, Text: "y"}}},
		{Rank: 1, Host: "a", CPUs: []int{0, 1}, Lanes: 1, Findings: []finding{{Check: "MPI", Level: fault, Text: "z", Cure: "c"}, {Check: "processors", Level: ok, Text: "y"}}},
		{Rank: 2, Host: "b", CPUs: []int{4, 5, 6, 9}, Lanes: 2, Findings: []finding{{Check: "MPI", Level: ok, Text: "x"}, {Check: "processors", Level: ok, Text: "y"}}},
	}
	r := merge(charts, 1)
	var out bytes.Buffer
	if err := (&doctorCmd{}).print(&out, r); err != nil {
		t.Fatal(err)
	}
	want := `hataori doctor: 3 ranks on 2 hosts: 2 faults
MPI         OK     rank 0,2: x
MPI         FAULT  rank 1: z
            cure:  c
processors  OK     y (rank 0: 0-1; rank 1: 0-1; rank 2: 4-6,9)
processors  FAULT  rank 0-1: the ranks on a want 3 processors together and share 2
            cure:  use fewer ranks on a host, fewer lanes or fewer threads
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
