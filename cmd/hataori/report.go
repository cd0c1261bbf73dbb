package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hataori/hataori-go/cmd/hataori/internal/picture"
	"github.com/hataori/hataori-go/trace"
)

type reportCmd struct {
	Trace string `arg:"" help:"File that a program wrote with trace.Recording.WriteTo."`
	Call  int    `placeholder:"N" help:"Report the N-th call in the file, from 1 on; by default the one that kept its lanes longest."`
	Out   string `placeholder:"NAME" help:"Write NAME.png, NAME.svg and NAME.perfetto.json; by default beside the file."`
	Words bool   `help:"Write no files."`
}

// Run reports.
func (r *reportCmd) Run(out io.Writer) error {
	f, err := os.Open(r.Trace)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: there is no such file; give the one that the program wrote its trace to (--trace of examples/contract)", r.Trace)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return fmt.Errorf("%s is a directory; give the file that the program wrote its trace to", r.Trace)
	}
	rec, damage := trace.Read(f)
	if damage != nil {
		damage = fmt.Errorf("%s: %w", r.Trace, damage)
	}
	if damage != nil && (rec == nil || len(rec.Calls) == 0) {
		return damage
	}
	call, err := r.choose(out, rec.Calls)
	if err != nil {
		return errors.Join(err, damage)
	}
	sum := call.Summary()
	if _, err := io.WriteString(out, sum.String()); err != nil || r.Words {
		return errors.Join(err, damage)
	}
	base := r.Out
	if base == "" {
		base = strings.TrimSuffix(r.Trace, filepath.Ext(r.Trace))
	}
	files := []struct {
		name  string
		write func(io.Writer) error
	}{
		{base + ".png", func(w io.Writer) error { return picture.Draw(w, picture.PNG, call, sum) }},
		{base + ".svg", func(w io.Writer) error { return picture.Draw(w, picture.SVG, call, sum) }},
		{base + ".perfetto.json", call.WritePerfetto},
	}
	for _, x := range files {
		if sameFile(f, x.name) {
			return errors.Join(fmt.Errorf("%s is the trace itself: give another name with --out", x.name), damage)
		}
	}
	for _, x := range files {
		if err := writeFile(x.name, x.write); err != nil {
			return errors.Join(fmt.Errorf("%w; --out names another place, --words writes no files", err), damage)
		}
		if _, err := fmt.Fprintln(out, "wrote", x.name); err != nil {
			return err
		}
	}
	return damage // what was read before it has been reported
}

// choose returns the call to report, and lists them if there are several.
func (r *reportCmd) choose(out io.Writer, calls []*trace.Call) (*trace.Call, error) {
	if r.Call < 0 || r.Call > len(calls) {
		return nil, fmt.Errorf("--call %d: the file holds %d calls", r.Call, len(calls))
	}
	if len(calls) == 0 {
		return nil, fmt.Errorf("%s holds no call: was the recording passed as Options.Trace?", r.Trace)
	}
	at, most := 0, -1.0
	for k, c := range calls {
		lanes := 0
		for _, rank := range c.Ranks {
			lanes += len(rank.Lanes)
		}
		if w := c.Elapsed.Seconds() * float64(lanes); w > most {
			at, most = k, w
		}
	}
	if r.Call > 0 {
		at = r.Call - 1
	}
	if len(calls) > 1 {
		if _, err := fmt.Fprintf(out, "call %d of %d in the file; --call N chooses another\n", at+1, len(calls)); err != nil {
			return nil, err
		}
	}
	return calls[at], nil
}

// sameFile reports whether a name stands for a file that is open.
func sameFile(f *os.File, name string) bool {
	open, err1 := f.Stat()
	named, err2 := os.Stat(name)
	return err1 == nil && err2 == nil && os.SameFile(open, named)
}

// writeFile writes a file whole, or leaves what was there.
func writeFile(name string, write func(io.Writer) error) error {
	part := name + ".part"
	f, err := os.Create(part)
	if err != nil {
		return err
	}
	err = write(f)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(part, name)
	}
	if err != nil {
		os.Remove(part)
	}
	return err
}
