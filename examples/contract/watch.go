package main

import (
	"fmt"
	"os"

	"github.com/hataori/hataori-go/hataori"
	"github.com/hataori/hataori-go/progress"
	"github.com/hataori/hataori-go/trace"
)

// watch is what the user sees of the work: how far it has come, and afterwards
// what each lane did when.
type watch struct {
	o    *options
	show *progress.Display
	rec  *trace.Recording // nil without --trace
	file *os.File         // for it, on the root
}

// newWatch opens the file now, so that nobody works for one that cannot be
// written.
func newWatch(o *options, root bool) (w *watch, err error) {
	w = &watch{o: o, show: progress.New(os.Stderr, progress.Options{Off: o.quiet, Every: o.every})}
	if o.trace == "" {
		return w, nil
	}
	w.rec = &trace.Recording{}
	if root {
		if w.file, err = os.Create(o.trace); err != nil {
			return nil, fmt.Errorf("--trace: %w", err)
		}
	}
	return w, nil
}

func (w *watch) attach(opts hataori.Options) hataori.Options {
	opts.Trace = w.rec
	return w.show.Attach(opts)
}

// close ends the display and, on the root, writes the recording, also that of a
// run that failed.
func (w *watch) close() error {
	w.show.Close()
	if w.file == nil {
		return nil
	}
	_, err := w.rec.WriteTo(w.file)
	if closing := w.file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return fmt.Errorf("--trace %s: %w", w.o.trace, err)
	}
	return nil
}
