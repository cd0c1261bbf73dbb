package store

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"time"
)

// Options says how a file is opened. The zero value is the default.
type Options struct {
	// Library names the HDF5 library, a path or a name that the dynamic
	// linker resolves. "" means the environment variable HATAORI_HDF5_LIB
	// or, without it, the first of the usual names that loads.
	Library string

	// Fingerprint identifies the problem: whatever the results depend on,
	// for instance through [Problem] or [Fingerprint]. A file with another one is
	// refused. "" is a fingerprint too: it matches only files without one.
	// Open ignores it.
	Fingerprint string

	// SyncEvery is how often rows are brought to the disk itself, so that
	// they survive the loss of the machine; it is done by the Put that finds
	// the time over. 0 means 5 s. Negative means only in Flush and Close. A
	// disk that needs longer than a hundredth of SyncEvery is synced less
	// often, so that it takes no more than 1 % of the time.
	SyncEvery time.Duration

	// FoldAt is the size in bytes of the journal from which a Put folds it
	// into the HDF5 file. 0 means 256 MiB or the size of the HDF5 file,
	// whichever is more, so that all the folding of a run costs no more than
	// a few times its bytes. Negative means only in Commit and Close.
	FoldAt int64

	// NoLock opens without a lock, for file systems that have none. The
	// caller sees to it that one process writes at a time.
	NoLock bool

	// LockWait is how long opening for writing waits for another writer to end,
	// as the ranks of a job that was killed do some seconds later. 0 means not
	// at all. Then the error is a [*LockedError]. Open never waits: readers see
	// the last complete file.
	LockWait time.Duration

	// SkipDamage gives up the rows in damaged parts of a journal, which are
	// computed again, instead of returning a *DamageError.
	SkipDamage bool

	// About is recorded in the file.
	About About
}

// About describes the run that makes a file. It is written as attributes of
// the root group.
type About struct {
	Program   string            // "" means the base name of os.Args[0]
	Arguments []string          // nil means os.Args[1:]
	Versions  map[string]string // beside Go's and HDF5's own
	Ranks     int               // 0: not recorded
	Lanes     int               // lanes per rank; 0: not recorded
}

func (a About) withDefaults(l *library) About {
	if a.Program == "" && len(os.Args) > 0 {
		a.Program = filepath.Base(os.Args[0])
	}
	if a.Arguments == nil && len(os.Args) > 1 {
		a.Arguments = os.Args[1:]
	}
	v := map[string]string{"go": runtime.Version(), "hdf5": l.versionString()}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		v["program"] = info.Main.Version
	}
	for k, s := range a.Versions {
		v[k] = s
	}
	a.Versions = v
	return a
}

// check reports every fault at once.
func (o *Options) check() error {
	var faults []error
	if o.About.Ranks < 0 {
		faults = append(faults, unsupported("About.Ranks is %d", o.About.Ranks))
	}
	if o.About.Lanes < 0 {
		faults = append(faults, unsupported("About.Lanes is %d", o.About.Lanes))
	}
	if o.LockWait < 0 {
		faults = append(faults, unsupported("LockWait is %v", o.LockWait))
	}
	if bigEndian() {
		faults = append(faults, unsupported("rows are little-endian, this machine is not"))
	}
	return errors.Join(faults...)
}

func bigEndian() bool { return binary.NativeEndian.Uint16([]byte{0, 1}) == 1 }

func (o *Options) syncEvery() time.Duration {
	if o.SyncEvery == 0 {
		return 5 * time.Second
	}
	return o.SyncEvery
}

// Fingerprint hashes its parts into a short text. Parts are told apart: ("a",
// "bc") and ("ab", "c") differ.
func Fingerprint(parts ...[]byte) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		binary.LittleEndian.PutUint64(n[:], uint64(len(p)))
		h.Write(n[:])
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
