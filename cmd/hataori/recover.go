package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/hataori/hataori-go/store"
)

type recoverCmd struct {
	File       string `arg:"" help:"The HDF5 file; its journal, FILE.journal, lies beside it."`
	SkipDamage bool   `help:"Give up rows in damaged parts of the journal; resuming the run computes them again."`
}

// Run folds the journal of an interrupted run into its HDF5 file.
func (r *recoverCmd) Run(out io.Writer) error {
	name := strings.TrimSuffix(r.File, ".journal")
	_, err := os.Lstat(name + ".journal")
	journal := err == nil
	rows, err := store.Recover(name, store.Options{SkipDamage: r.SkipDamage})
	var damage *store.DamageError
	switch {
	case errors.Is(err, fs.ErrNotExist) && !journal:
		return fmt.Errorf("%s: there is no such file, nor %s.journal: give the name that the program wrote its results under", name, name)
	case errors.As(err, &damage):
		return fmt.Errorf("%s is damaged from byte %d to byte %d (%s); restore it, or give up the rows in there with --skip-damage",
			damage.Path, damage.Offset, damage.Next, damage.Reason)
	case err != nil:
		return err
	case journal:
		_, err = fmt.Fprintf(out, "%s: %d rows came from its journal, which is removed\n", name, rows)
	default:
		_, err = fmt.Fprintf(out, "%s: it has no journal: all rows that were written are in the file, though not, perhaps, all of the run\n", name)
	}
	return err
}
