//go:build !linux

package mpi

import "os"

// lineage is this process and its parent. It is nil without a launcher.
type lineage []int

func findLineage() lineage {
	if by, err := detect(os.Getenv); err != nil || !by.present() {
		return nil
	}
	return lineage{os.Getpid(), os.Getppid()}
}

// whole reports whether the parent is still the same.
func (l lineage) whole() bool { return len(l) == 0 || os.Getppid() == l[1] }
