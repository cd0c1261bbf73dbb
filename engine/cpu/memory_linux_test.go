package cpu

import (
	"testing"
	"testing/fstest"
)

func TestGroupLimit(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  int64
	}{
		"no groups": {fstest.MapFS{}, addressing},
		"version 2": {fstest.MapFS{
			"proc/self/cgroup":                            file("0::/slurm/job_7/step_0\n"),
			"sys/fs/cgroup/slurm/job_7/memory.max":        file("8000000000\n"),
			"sys/fs/cgroup/slurm/job_7/step_0/memory.max": file("max\n"),
		}, 8_000_000_000},
		"version 1": {fstest.MapFS{
			"proc/self/cgroup": file("9:cpu,cpuacct:/a\n4:memory:/batch/7\n0::/\n"),
			"sys/fs/cgroup/memory/batch/7/memory.limit_in_bytes": file("3000000000"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":         file("9223372036854771712"),
			"sys/fs/cgroup/memory/a/memory.limit_in_bytes":       file("5"),
		}, 3_000_000_000},
		"not readable": {fstest.MapFS{"proc/self/cgroup": file("nonsense\n0::/x\n"), "sys/fs/cgroup/x/memory.max": file("much")}, addressing},
	} {
		if got := groupLimit(c.files); got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}

// Small tensors add up: what they hold together counts.
func TestLiveBytesCountTogether(t *testing.T) {
	b := buffers{most: 1 << 31}
	b.stats.LiveBytes = 1<<31 - 100
	if _, err := b.get(64); err != nil {
		t.Fatal(err)
	}
	if _, err := b.get(64); err == nil {
		t.Error("more than the limit was given")
	}
}
