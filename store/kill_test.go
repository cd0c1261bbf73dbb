//go:build unix

package store_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hataori/hataori-go/store"
)

// writerRun is what one run of a writer reported.
type writerRun struct {
	had, put       []int64
	started, ended bool // reported what was there; ended cleanly
	stderr         string
}

// runWriter starts a writer and kills it the given time after its start or
// after it has reported what was there.
func runWriter(t *testing.T, killAfter time.Duration, fromStart bool, args ...any) (r writerRun) {
	t.Helper()
	text := make([]string, len(args))
	for i, a := range args {
		text[i] = fmt.Sprint(a)
	}
	c := child(t, "writer", text...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(time.Minute, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	if fromStart {
		timer.Reset(killAfter)
	}
	readReports(out, func(kind byte, i int64) {
		switch kind {
		case 'H':
			r.had = append(r.had, i)
		case 'S':
			r.started = true
			if !fromStart {
				timer.Reset(killAfter)
			}
		case 'P':
			r.put = append(r.put, i)
		case 'E':
			r.ended = true
		}
	})
	err = c.Wait()
	r.stderr = stderr.String()
	if err == nil && !r.ended {
		t.Fatal("the writer stopped without an end")
	}
	return r
}

// A writer is killed at random moments, while it puts, syncs, folds or starts,
// and is started again until it is done. No row that it has reported may be
// missing from what a later run finds, none may be put twice, and the finished
// file holds the right values.
func TestKill(t *testing.T) {
	needLibrary(t)
	kills, rows := 10, int64(6_000)
	if testing.Short() {
		kills = 3
	}
	if os.Getenv("HATAORI_SOAK") != "" {
		kills = 200
	}
	rng := rand.New(rand.NewPCG(1, 2))
	folds := []int64{30_000, 200_000, 2_000_000, -1}
	done, silent, folding, files := 0, 0, 0, 0
	for ; done < kills; files++ {
		path := filepath.Join(t.TempDir(), "out.h5")
		safe := map[int64]bool{}
		for {
			after := time.Minute
			if done < kills {
				after = time.Duration(rng.IntN(100_000)) * time.Microsecond
			}
			r := runWriter(t, after, rng.IntN(5) == 0, path, rows, folds[rng.IntN(len(folds))], files)
			if r.stderr != "" {
				t.Fatalf("file %d: the writer failed by itself: %s", files, r.stderr)
			}
			had := map[int64]bool{}
			for _, i := range r.had {
				had[i] = true
			}
			if r.started {
				for i := range safe {
					if !had[i] {
						t.Fatalf("file %d: row %d was reported as put and is lost", files, i)
					}
				}
			}
			for _, i := range r.put {
				if safe[i] {
					t.Fatalf("file %d: row %d was put twice", files, i)
				}
				safe[i] = true
			}
			if r.ended {
				break
			}
			done++
			if len(r.put) == 0 {
				silent++
			}
			if _, err := os.Stat(path + ".part"); err == nil {
				folding++
			}
		}
		checkRows(t, path, rows)
	}
	t.Logf("%d kills, %d of them before the first row of a run, %d while folding; %d files", done, silent, folding, files)
}

// checkRows reads a finished file of childWriter and checks every value.
func checkRows(t *testing.T, path string, rows int64) {
	t.Helper()
	if _, err := os.Stat(path + ".journal"); err == nil {
		t.Error("the journal was left behind")
	}
	if _, err := os.Stat(path + ".part"); err == nil {
		t.Error("a half-made file was left behind")
	}
	f, err := store.Open(path, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	fixed, blobs := make([]row, rows), make([][]byte, rows)
	there, err := store.ReadRows(f, "fixed", 0, fixed)
	if err != nil {
		t.Fatal(err)
	}
	thereToo, err := store.ReadRows(f, "blobs", 0, blobs)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if !there[i] || !thereToo[i] || fixed[i] != rowAt(i) || !bytes.Equal(blobs[i], blobAt(i)) {
			t.Fatalf("row %d: %v %v %v %v", i, there[i], thereToo[i], fixed[i], blobs[i])
		}
	}
}
