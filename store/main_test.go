//go:build unix

package store_test

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hataori/hataori-go/store"
)

// childEnv makes the test program act as one of the children below.
const childEnv = "HATAORI_STORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		if err := children[mode](os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// Examples cannot skip themselves.
	if _, _, err := store.Version(""); err != nil && os.Getenv("HATAORI_REQUIRE_HDF5") == "" {
		fmt.Fprintln(os.Stderr, "examples skipped:", err)
		if err := flag.Set("test.skip", "^Example"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

var children = map[string]func(args []string) error{
	"writer": childWriter,
	"holder": childHolder,
	"limit":  childLimit,
}

// child starts the test program as one of children.
func child(t testing.TB, mode string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, args...)
	c.Env = append(os.Environ(), childEnv+"="+mode)
	return c
}

// needLibrary skips a test where no HDF5 library is installed, unless
// HATAORI_REQUIRE_HDF5 says that it must be.
func needLibrary(t testing.TB) {
	t.Helper()
	_, _, err := store.Version("")
	missing(t, err)
}

func missing(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if os.Getenv("HATAORI_REQUIRE_HDF5") != "" {
		t.Fatal(err)
	}
	t.Skip("skipped: ", err)
}

// python runs a script with h5py and numpy and returns what it prints.
func python(t testing.TB, script string, args ...string) string {
	t.Helper()
	exe := "/usr/bin/python3"
	if out, err := exec.Command(exe, "-c", "import h5py, numpy").CombinedOutput(); err != nil {
		missing(t, fmt.Errorf("%s with h5py: %w: %s", exe, err, out))
	}
	out, err := exec.Command(exe, append([]string{"-c", "import h5py, numpy as np, sys\n" + script}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// tool runs one of HDF5's programs.
func tool(t testing.TB, name string, args ...string) (string, error) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		missing(t, err)
	}
	out, err := exec.Command(name, args...).CombinedOutput()
	return string(out), err
}

// The rows that children write.

type row [4]float64

func rowAt(i int64) row { return row{float64(i), float64(i) / 8, -float64(i), float64(i * i)} }

func blobAt(i int64) []byte {
	b := make([]byte, i%97)
	for k := range b {
		b[k] = byte(i + int64(k))
	}
	return b
}

// childWriter args: path, rows, fold size, seed. It resumes the file, reports
// the rows that are there ('H'), 'S', every row it has put in both sinks ('P'),
// and 'E' after a clean end.
func childWriter(args []string) error {
	path, rows, foldAt, seed := args[0], atoi(args[1]), atoi(args[2]), atoi(args[3])
	report := func(kind byte, i int64) error {
		_, err := os.Stdout.Write(binary.LittleEndian.AppendUint64([]byte{kind}, uint64(i)))
		return err
	}
	f, err := store.Resume(path, store.Options{Fingerprint: "kill", FoldAt: foldAt, SyncEvery: time.Millisecond})
	if err != nil {
		return err
	}
	fixed, err := store.NewSink[row](f, "fixed", store.SinkOptions{Rows: rows, ChunkRows: 100})
	if err != nil {
		return err
	}
	blobs, err := store.NewSink[[]byte](f, "blobs", store.SinkOptions{})
	if err != nil {
		return err
	}
	order := rand.New(rand.NewPCG(uint64(seed), 0)).Perm(int(rows))
	if seed%2 == 0 { // nearly in order, as a scheduler delivers them
		for i := range order {
			order[i] = i ^ 5
		}
	}
	for i := range rows {
		if fixed.Has(i) && blobs.Has(i) {
			if err := report('H', i); err != nil {
				return err
			}
		}
	}
	if err := report('S', 0); err != nil {
		return err
	}
	ctx := context.Background()
	for _, k := range order {
		i := int64(k)
		if i >= rows {
			continue
		}
		had := fixed.Has(i) && blobs.Has(i)
		if !fixed.Has(i) {
			if err := fixed.Put(ctx, i, rowAt(i)); err != nil {
				return err
			}
		}
		if !blobs.Has(i) {
			if err := blobs.Put(ctx, i, blobAt(i)); err != nil {
				return err
			}
		}
		if !had {
			if err := report('P', i); err != nil {
				return err
			}
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return report('E', 0)
}

// childHolder args: path. It holds the file until its input ends.
func childHolder(args []string) error {
	f, err := store.Resume(args[0], store.Options{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
	return f.Close()
}

// childLimit args: path, limit. No file may grow beyond the limit. It puts
// rows until that fails, then lifts nothing, closes, and prints how many rows
// were put and both errors.
func childLimit(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := uint64(atoi(args[1]))
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
		return err
	}
	rows, put, closed := fill(args[0])
	fmt.Printf("%d\n%v\n%v\n", rows, put, closed)
	return nil
}

// fill puts rows until that fails or there are a million.
func fill(path string) (rows int64, put, closed error) {
	f, err := store.Resume(path, store.Options{Fingerprint: "full", FoldAt: -1})
	if err != nil {
		return 0, err, nil
	}
	s, err := store.NewSink[row](f, "fixed", store.SinkOptions{})
	if err != nil {
		return 0, err, f.Close()
	}
	for put == nil && rows < 1e6 {
		if put = s.Put(context.Background(), rows, rowAt(rows)); put == nil {
			rows++
		}
	}
	if s.Len() != rows {
		put = errors.Join(put, fmt.Errorf("%d rows put, %d are there", rows, s.Len()))
	}
	return rows, put, f.Close()
}

func atoi(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(err)
	}
	return n
}

// readReports calls visit for each report until the child's output ends.
func readReports(r io.Reader, visit func(kind byte, i int64)) {
	br := bufio.NewReader(r)
	b := make([]byte, 9)
	for {
		if _, err := io.ReadFull(br, b); err != nil {
			return
		}
		visit(b[0], int64(binary.LittleEndian.Uint64(b[1:])))
	}
}
