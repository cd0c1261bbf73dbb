// Ensemble runs an external program once per line of a list, on all lanes of all
// ranks, and prints what each run printed, in the order of the list:
//
//	seq 100 | ensemble -- ./solver --seed {}
//	mpirun -n 4 ensemble -list seeds.txt -retries 2 -timeout 10m -- ./solver --seed {}
//
// {} in the command stands for the line. A run that fails is repeated if -retries
// says so; runs that failed for good are listed at the end on standard error, each
// with its number and command, and the others are printed all the same.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/mpi"
)

type options struct {
	list    string
	lanes   int
	retries int
	timeout time.Duration
	same    bool
	command []string
}

func main() {
	var o options
	flag.StringVar(&o.list, "list", "-", "`file` with one item a line; - is standard input")
	flag.IntVar(&o.lanes, "lanes", 0, "programs at a time on each rank; 0: one less than the processors it may use")
	flag.IntVar(&o.retries, "retries", 0, "how often a run that failed is repeated")
	flag.DurationVar(&o.timeout, "timeout", 0, "time limit of one run; 0: none")
	flag.BoolVar(&o.same, "same", false, "run a command without {}, the same for every line")
	verbose := flag.Bool("v", false, "tell everything about an error")
	flag.Parse()
	o.command = flag.Args()
	p := mpi.Program{Details: "-v", Verbose: *verbose}
	os.Exit(p.Run(func(ctx context.Context, rt *mpi.Runtime) error { return ensemble(ctx, rt, o, os.Stdout) }))
}

func ensemble(ctx context.Context, rt *mpi.Runtime, o options, out io.Writer) (err error) {
	world, err := hataori.NewWorld(rt.World())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, world.Close()) }()
	var lines []string
	if world.Rank() == 0 {
		lines, err = readLines(o.list)
	}
	switch {
	case err != nil:
	case len(o.command) == 0:
		err = errors.New("no command: ensemble [flags] -- command {}")
	case !o.same && !strings.Contains(strings.Join(o.command, "\x00"), "{}"):
		err = errors.New("{} is missing in the command, which would run the same for every line: put it where the line belongs, or give -same before the command")
	}
	if err := world.Agree(ctx, err); err != nil {
		return err
	}
	opts := hataori.Options{Lanes: o.lanes, Retries: o.retries, ItemTimeout: o.timeout, Collect: true}
	outputs, err := hataori.Pmap(ctx, world, opts, lines, func(ctx context.Context, line string) (string, error) {
		return run(ctx, o.command, line)
	})
	for _, text := range outputs {
		fmt.Fprint(out, text) // empty where the run failed
	}
	var failed *hataori.ItemErrors
	if errors.As(err, &failed) {
		return summary(failed, world.Rank() == 0)
	}
	return err
}

// summary lists, on the root, all runs that failed for good, a line each.
func summary(failed *hataori.ItemErrors, root bool) error {
	if root {
		for _, e := range failed.All {
			text, _, _ := strings.Cut(e.Message, "\n")
			fmt.Fprintf(os.Stderr, "item %d: %s\n", e.Index, text)
		}
	}
	if failed.Count == 1 {
		return errors.New("1 item failed")
	}
	return fmt.Errorf("%d items failed", failed.Count)
}

// run starts the program in a process group of its own, so that what it starts
// in turn ends with it, and without the launcher's variables, so that it does
// not take itself for a rank of this job.
func run(ctx context.Context, command []string, line string) (string, error) {
	args := make([]string, len(command))
	for i, a := range command {
		args[i] = strings.ReplaceAll(a, "{}", line)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Env = mpi.ChildEnv()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second // then it is killed
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", strings.Join(args, " "), ctx.Err())
	case err != nil:
		err = fmt.Errorf("%s: %w", strings.Join(args, " "), err)
		if said := strings.TrimSpace(stderr.String()); said != "" {
			err = fmt.Errorf("%w: %s", err, said)
		}
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return "", hataori.Retryable(err) // it ran; a program that cannot be started is not tried again
		}
		return "", err
	}
	return stdout.String(), nil
}

func readLines(name string) (lines []string, err error) {
	file := os.Stdin
	if name != "-" {
		if file, err = os.Open(name); err != nil {
			return nil, err
		}
		defer file.Close()
	}
	s := bufio.NewScanner(file)
	for s.Scan() {
		lines = append(lines, s.Text())
	}
	if err := s.Err(); err != nil {
		return nil, fmt.Errorf("-list %s, line %d: %w (at most %d bytes)", name, len(lines)+1, err, bufio.MaxScanTokenSize)
	}
	return lines, nil
}
