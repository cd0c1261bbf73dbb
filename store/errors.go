package store

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

// Sentinels, for [errors.Is].
var (
	// ErrNoLibrary: no usable HDF5 library was found; see [LibraryError].
	ErrNoLibrary = errors.New("store: no usable HDF5 library")

	// ErrLocked: another process, or another File of this one, is writing
	// the file; see [LockedError].
	ErrLocked = errors.New("store: file is being written by another process")

	// ErrFingerprint: the file belongs to another problem; see
	// [FingerprintError].
	ErrFingerprint = errors.New("store: file belongs to another problem")

	// ErrLayout: what the file holds has another type or shape than the
	// caller's; see [LayoutError].
	ErrLayout = errors.New("store: type or shape differs from the file's")

	// ErrDamaged: a journal is damaged in the middle; see [DamageError].
	ErrDamaged = errors.New("store: journal is damaged")

	// ErrDuplicate: a row of this index is already there.
	ErrDuplicate = errors.New("store: row is already there")

	// ErrClosed: the File or Sink was closed.
	ErrClosed = errors.New("store: already closed: close after the last use, or open it again")

	// ErrReadOnly: the File was opened with Open, for reading.
	ErrReadOnly = errors.New("store: file is open for reading only: open it with Resume to write")

	// ErrBroken: an earlier failure to write leaves it open what reached
	// the disk. Close the file and open it again.
	ErrBroken = errors.New("store: an earlier write failed: close the file and open it again")

	// ErrUnsupported: a type, shape or setting that cannot be stored.
	ErrUnsupported = errors.New("store: cannot be stored")
)

// Frame is one entry of the HDF5 library's error stack, the most specific
// entry first.
type Frame struct {
	Func  string // C function that failed
	Desc  string // what it says
	Major string // class of the error
	Minor string // the error itself
}

func (f Frame) String() string {
	s := f.Func + ": " + f.Desc
	if f.Minor != "" {
		s += " (" + f.Minor + ")"
	}
	return s
}

// Error says which step failed on which file. Err is the cause where it came
// from the operating system or this package; Stack is the HDF5 library's own
// account where it came from there.
type Error struct {
	Op    string // the step, as a person would say it, or the HDF5 function
	Path  string // the file
	Name  string // the dataset or attribute, if any
	Stack []Frame
	Err   error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("store: " + e.Op)
	if e.Path != "" {
		b.WriteString(" " + e.Path)
	}
	if e.Name != "" {
		b.WriteString(": " + e.Name)
	}
	if e.Err != nil {
		b.WriteString(": " + strings.TrimPrefix(e.Err.Error(), "store: "))
	}
	if len(e.Stack) > 0 {
		f := e.Stack[0]
		for k := 1; k < len(e.Stack) && strings.HasPrefix(f.Func, "H5PL_"); k++ {
			f = e.Stack[k] // which plugin was looked for, not in which folder
		}
		f.Desc, _, _ = strings.Cut(f.Desc, ": time = ") // what follows is in Err
		b.WriteString(": HDF5 says: " + f.String())
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Detail is the error with the whole HDF5 stack, one entry a line.
func (e *Error) Detail() string {
	var b strings.Builder
	b.WriteString(e.Error())
	for i, f := range e.Stack {
		fmt.Fprintf(&b, "\n  #%d %s [%s]", i, f, f.Major)
	}
	return b.String()
}

// LibraryError says where an HDF5 library was looked for and what to do.
// errors.Is(err, ErrNoLibrary) holds.
type LibraryError struct {
	Tried []string // each name, with why it was not used
	Err   error    // why the one found cannot be used; nil if none was found
}

func (e *LibraryError) Error() string {
	if e.Err != nil {
		return "store: HDF5 library cannot be used: " + e.Err.Error() +
			"; install HDF5 1.10.2 or newer (Debian: libhdf5-103-1 or libhdf5-310), or name one in " + LibraryEnv
	}
	return "store: no HDF5 library found (tried " + strings.Join(e.Tried, "; ") +
		"); install it (Debian, Ubuntu: apt install libhdf5-103-1 or libhdf5-310; Fedora: dnf install hdf5; cluster: module load hdf5) or name it in " + LibraryEnv
}

// Unwrap returns ErrNoLibrary and the cause.
func (e *LibraryError) Unwrap() []error {
	if e.Err == nil {
		return []error{ErrNoLibrary}
	}
	return []error{ErrNoLibrary, e.Err}
}

// LockedError names who holds a file, as far as it is known.
type LockedError struct {
	Path   string
	Holder string        // host, process and start of the writer, "" if unknown
	Waited time.Duration // how long it was waited for, see Options.LockWait
}

func (e *LockedError) Error() string {
	s := "store: " + e.Path + " is being written by another process"
	if e.Holder != "" {
		s += " (" + e.Holder + ")"
	}
	if e.Waited > 0 {
		return s + fmt.Sprintf(" and was for the %v of Options.LockWait; end that one, or choose another file", e.Waited.Round(time.Millisecond))
	}
	return s + "; wait for it to end (Options.LockWait), or choose another file"
}

// Unwrap returns ErrLocked.
func (e *LockedError) Unwrap() error { return ErrLocked }

// FingerprintError carries both fingerprints.
type FingerprintError struct {
	Path string
	Have string // the file's
	Want string // the caller's
}

func (e *FingerprintError) Error() string {
	const cure = "resume with the items and options it was made with, or choose another file"
	var diffs []string
	for _, d := range e.Differences() {
		diffs = append(diffs, d.String())
	}
	if len(diffs) > 0 {
		return fmt.Sprintf("store: %s belongs to another problem: %s; %s", e.Path, strings.Join(diffs, "; "), cure)
	}
	return fmt.Sprintf("store: %s belongs to another problem: it has fingerprint %q, this run %q; %s", e.Path, e.Have, e.Want, cure)
}

// Unwrap returns ErrFingerprint.
func (e *FingerprintError) Unwrap() error { return ErrFingerprint }

// LayoutError carries both types.
type LayoutError struct {
	Path string
	Name string
	Have string // in the file
	Want string // asked for
}

func (e *LayoutError) Error() string {
	return fmt.Sprintf("store: %s: %s holds %s, not %s; take the type that wrote it, or another file", e.Path, e.Name, e.Have, e.Want)
}

// Unwrap returns ErrLayout.
func (e *LayoutError) Unwrap() error { return ErrLayout }

// DamageError says where a journal stops making sense although valid records
// follow, which no interrupted write explains.
type DamageError struct {
	Path   string
	Offset int64  // first byte of the damage
	Next   int64  // first byte of the next valid record
	Reason string // what is wrong at Offset
}

func (e *DamageError) Error() string {
	return fmt.Sprintf("store: %s is damaged from byte %d to byte %d (%s); restore it, or set Options.SkipDamage to give up the rows in there and compute them again",
		e.Path, e.Offset, e.Next, e.Reason)
}

// Unwrap returns ErrDamaged.
func (e *DamageError) Unwrap() error { return ErrDamaged }

// existsError refuses to create path because of there, itself or its journal.
func existsError(path, there string) error {
	return &Error{Op: "create", Path: path, Err: fmt.Errorf("%w: %s is there; resume it, remove it, or choose another name", fs.ErrExist, there)}
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrUnsupported}, args...)...)
}
