package hataori_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/lanes"
	"github.com/hataori/hataori-go/mpi"
)

// asRank is set where this test binary is a rank of a job.
const asRank = "HATAORI_TEST_AS_RANK"

var launchers = []struct {
	name string
	args []string
}{
	{"mpirun.openmpi", []string{"--oversubscribe", "--bind-to", "none"}},
	{"mpiexec.hydra", nil},
}

// TestUnderMPI runs a program on real ranks: this binary again, as
// TestRankProgram.
func TestUnderMPI(t *testing.T) {
	for _, l := range launchers {
		for _, n := range []int{1, 2, 3, 4, 6} {
			t.Run(fmt.Sprintf("%s,n=%d", l.name, n), func(t *testing.T) {
				how := "once"
				if n == 2 {
					how = "often" // one rank per processor of a small machine: more would wait for each other's time slices
				}
				onRealRanks(t, l.name, l.args, n, how)
			})
		}
	}
}

// An item and a result of more than 2^31 bytes.
func TestMoreThanTwoGiB(t *testing.T) {
	if os.Getenv("HATAORI_BIG") == "" {
		t.Skip("moves 2.1 GiB in both directions, needs some 16 GiB: set HATAORI_BIG=1")
	}
	for _, l := range launchers {
		t.Run(l.name, func(t *testing.T) {
			if have := available(); have < 16<<30 {
				t.Skipf("%d MiB of memory are available, 16 GiB are needed", have>>20)
			}
			onRealRanks(t, l.name, l.args, 2, "big")
		})
	}
}

// available is the memory that may still be used, as far as the system tells.
func available() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	var kib int64
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); err == nil {
			break
		}
	}
	return kib << 10
}

// onRealRanks starts a job of TestRankProgram.
func onRealRanks(t *testing.T, launcher string, args []string, n int, how string) {
	t.Helper()
	if testing.Short() {
		t.Skip("jobs under a launcher are left out by -short")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath(launcher); err != nil {
		if os.Getenv("HATAORI_REQUIRE_MPI") == "1" {
			t.Fatalf("HATAORI_REQUIRE_MPI=1, but %v", err)
		}
		t.Skipf("%v: install it to run this test, HATAORI_REQUIRE_MPI=1 makes it necessary", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // for liveness only
	defer cancel()
	cmd := exec.CommandContext(ctx, launcher, append(append([]string(nil), args...), "-n", strconv.Itoa(n),
		self, "-test.run", "^TestRankProgram$", "-test.v")...)
	cmd.Env = append(mpi.ChildEnv(), asRank+"="+how, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1",
		"OMPI_MCA_btl_vader_single_copy_mechanism=none", "OMPI_MCA_rmaps_base_oversubscribe=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	if ok := strings.Count(out.String(), "rank program: ok"); err != nil || ok != n {
		t.Errorf("%v, %d of %d ranks said ok:\n%s", err, ok, n, out.String())
	}
}

// TestRankProgram is one rank of the job.
func TestRankProgram(t *testing.T) {
	if os.Getenv(asRank) == "" {
		t.Skip("a rank of the jobs that TestUnderMPI starts")
	}
	rt, err := mpi.Init(mpi.Options{})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GOMAXPROCS(max(runtime.GOMAXPROCS(0), 3))
	w, err := hataori.NewWorld(rt.World())
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	if os.Getenv(asRank) == "big" {
		if err := errors.Join(big(ctx, w), w.Close(), rt.Finalize()); err != nil {
			t.Fatal(err)
		}
		fmt.Println("rank program: ok")
		return
	}
	groups, roots, batches := []int{1}, upTo(w, w.Rank(), w.Size()), []int{0, 1, 7}
	if w.Size() > 2 {
		groups = []int{1, 2, 3, hataori.GroupByHost}
	}
	if w.Size() > 4 {
		roots, batches = []int{0, w.Size() - 1}, []int{0, 1}
	}
	for _, group := range groups {
		for _, root := range roots {
			for _, batch := range batches {
				o := hataori.Options{Root: root, Batch: batch, Group: group}
				if err := errors.Join(squares(ctx, w, o), failing(ctx, w, o)); err != nil {
					t.Fatalf("root %d, batch %d, groups of %d: %v", root, batch, group, err)
				}
			}
			if err := large(ctx, w, hataori.Options{Root: root, Group: group}); err != nil {
				t.Fatalf("root %d, groups of %d: %v", root, group, err)
			}
		}
		if err := ended(w, hataori.Options{Group: group}); err != nil {
			t.Fatalf("groups of %d: %v", group, err)
		}
	}
	for _, root := range roots {
		err := errors.Join(hinted(ctx, w, root), ranged(ctx, w, root))
		if w.Size() > 1 {
			err = errors.Join(err, copied(ctx, w, root))
		}
		if err != nil {
			t.Fatalf("root %d: %v", root, err)
		}
	}
	if err := errors.Join(divided(ctx, w, rt), nested(ctx, w, rt)); err != nil {
		t.Fatal(err)
	}
	if os.Getenv(asRank) == "often" {
		if err := often(ctx, w, rt); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), rt.Finalize()); err != nil {
		t.Fatal(err)
	}
	fmt.Println("rank program: ok")
}

func upTo(w *hataori.World, root, n int) []int {
	if w.Rank() != root {
		return nil
	}
	items := make([]int, n)
	for i := range items {
		items[i] = i
	}
	return items
}

func squares(ctx context.Context, w *hataori.World, o hataori.Options) error {
	for _, n := range []int{0, 1, 3, 1000} {
		got, err := hataori.PmapLanes(ctx, w, lanes.New(2), o, upTo(w, o.Root, n),
			func(_ context.Context, _ lanes.Lane, x int) (int64, error) { return int64(x) * int64(x), nil })
		if err != nil {
			return err
		}
		for i, y := range got {
			if y != int64(i)*int64(i) {
				return fmt.Errorf("item %d: %d", i, y)
			}
		}
		if w.Rank() == o.Root && len(got) != n {
			return fmt.Errorf("%d of %d results", len(got), n)
		}
	}
	return nil
}

func failing(ctx context.Context, w *hataori.World, o hataori.Options) error {
	o.ErrorCodec = hataori.Sentinels(errSingular)
	_, err := hataori.PmapLanes(ctx, w, lanes.New(2), o, upTo(w, o.Root, 100),
		func(_ context.Context, _ lanes.Lane, x int) (int, error) {
			if x == 41 {
				return 0, fmt.Errorf("item: %w", errSingular)
			}
			if x == 60 {
				var m map[int]int
				m[x] = x //lint:ignore SA5000 an item that panics
			}
			return x, nil
		})
	var item *hataori.ItemError
	if !errors.Is(err, errSingular) || !errors.As(err, &item) || item.Index != 41 || item.Host == "" {
		return fmt.Errorf("item 41 fails, got %v", err)
	}
	return nil
}

// large sends items and results that no eager protocol takes.
func large(ctx context.Context, w *hataori.World, o hataori.Options) error {
	var items []string
	if w.Rank() == o.Root {
		for i := range 8 {
			items = append(items, strings.Repeat(string(rune('a'+i)), 300_000*i))
		}
	}
	got, err := hataori.Pmap(ctx, w, o, items, func(_ context.Context, s string) ([]byte, error) { return []byte(s + s), nil })
	if err != nil {
		return err
	}
	for i := range got {
		if string(got[i]) != items[i]+items[i] {
			return fmt.Errorf("large item %d came back changed, %d bytes", i, len(got[i]))
		}
	}
	return nil
}

// ended cancels a call on the last rank.
func ended(w *hataori.World, o hataori.Options) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	last := w.Size() - 1
	if w.Rank() == last {
		time.AfterFunc(20*time.Millisecond, cancel)
	}
	_, err := hataori.PmapLanes(ctx, w, lanes.New(1), o, upTo(w, o.Root, 1000), func(ctx context.Context, _ lanes.Lane, x int) (int, error) {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(100 * time.Millisecond):
			return x, nil
		}
	})
	var c *hataori.CancelError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &c) || c.Rank != last {
		return fmt.Errorf("cancelled on rank %d, got %v", last, err)
	}
	return w.Agree(context.Background(), nil)
}
