package mpi

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/hataori/hataori-go/transport"
)

// fn numbers the MPI functions in use.
type fn int

const (
	fnInitThread fn = iota
	fnInitialized
	fnFinalized
	fnFinalize
	fnQueryThread
	fnIsThreadMain
	fnAbort
	fnErrorClass
	fnErrorString
	fnLibraryVersion
	fnProcessorName
	fnCommRank
	fnCommSize
	fnCommIdup
	fnCommFree
	fnCommSetErrhandler
	fnCommSplit
	fnCommSplitType
	fnCommGetAttr
	fnIsend
	fnIrecv
	fnRecv
	fnIprobe
	fnTest
	fnTestCancelled
	fnCancel
	fnGetCount
	fnIallreduce
	fnIbcast
	fnIbarrier
	fnCount
)

var fnNames = [fnCount]string{
	"MPI_Init_thread", "MPI_Initialized", "MPI_Finalized", "MPI_Finalize", "MPI_Query_thread", "MPI_Is_thread_main", "MPI_Abort",
	"MPI_Error_class", "MPI_Error_string", "MPI_Get_library_version", "MPI_Get_processor_name",
	"MPI_Comm_rank", "MPI_Comm_size", "MPI_Comm_idup", "MPI_Comm_free", "MPI_Comm_set_errhandler", "MPI_Comm_split", "MPI_Comm_split_type", "MPI_Comm_get_attr",
	"MPI_Isend", "MPI_Irecv", "MPI_Recv", "MPI_Iprobe", "MPI_Test", "MPI_Test_cancelled", "MPI_Cancel", "MPI_Get_count",
	"MPI_Iallreduce", "MPI_Ibcast", "MPI_Ibarrier",
}

// MPI is one per process, whoever loaded it, and so are its lock and what is
// known about it.
var (
	gate    sync.Mutex // held for one MPI call at a time
	current *library   // loaded by this package, guarded by gate
)

// Gate returns the lock under which this package calls MPI, one non-blocking
// call at a time. A program that calls MPI itself, in C or through another
// binding, while goroutines use this package, holds it around its own calls,
// unless it provides MPI_THREAD_MULTIPLE. It must not call this package while
// it holds the gate.
func Gate() sync.Locker { return &gate }

// library is a loaded MPI library. Everything in it is guarded by the gate.
//
// The library reads and writes through the addresses of the fields below and
// of request fields: they lie in the Go heap, where objects do not move, and
// never on a goroutine's stack, which does.
type library struct {
	name    string // as it was opened
	family  family
	abi     abi
	fns     [fnCount]uintptr
	level   ThreadLevel
	thread  int // that initialised, checked when level is funneled
	live    bool
	args    [10]uintptr
	out     [4]uintptr // results of the call in progress
	status  [6]int32
	counted int // statuses in which the length was where it was looked for
	text    [8192]byte

	cross  crossing
	given  uintptr // MPI request, written by the library
	ahead  []*Comm // that have a receive posted ahead
	flying flight
}

func word(p *uintptr) uintptr { return uintptr(unsafe.Pointer(p)) }

// num passes a C int.
func num(n int) uintptr { return uintptr(n) }

func (l *library) outAddr(i int) uintptr {
	l.out[i] = 0
	return word(&l.out[i])
}

// outInt reads a C int result.
func (l *library) outInt(i int) int { return int(int32(l.out[i])) }

func (l *library) textAddr() uintptr { return uintptr(unsafe.Pointer(&l.text[0])) }

func (l *library) statusAddr() uintptr { return uintptr(unsafe.Pointer(&l.status[0])) }

// call is the funnel: every MPI function that returns an error code is called
// here, with the gate held, and a code other than success becomes an *Error
// with operation, class and the library's text.
func (l *library) call(f fn, args ...uintptr) error {
	if rc := l.foreign(f, args...); rc != 0 {
		return l.failed(f, rc)
	}
	return nil
}

// failed is the error of a function that returned the code.
func (l *library) failed(f fn, rc int) error {
	e := &Error{Op: fnNames[f], Code: rc}
	if l.foreign(fnErrorClass, num(rc), l.outAddr(3)) == 0 {
		e.Class = l.outInt(3)
	}
	if l.foreign(fnErrorString, num(rc), l.textAddr(), l.outAddr(3)) == 0 {
		e.Text = l.cText(l.outInt(3))
	}
	if e.Class == l.abi.errTruncate {
		e.Err = transport.ErrTruncated
	}
	return e
}

// foreign calls into the library. Only call uses it.
func (l *library) foreign(f fn, args ...uintptr) int {
	// The kept array spares an allocation for each call.
	n := copy(l.args[:], args)
	rc, _, _ := purego.SyscallN(l.fns[f], l.args[:n]...)
	return int(int32(rc))
}

// usable tells whether a call may be made now; the gate is held.
func (l *library) usable(op string) error {
	if !l.live {
		return usedAfterEnd(op, "after Finalize")
	}
	if l.level == ThreadFunneled && threadID() != l.thread {
		return &Error{Op: op, Err: ErrWrongThread, Text: "the library grants only MPI_THREAD_FUNNELED: call from the goroutine that called Init"}
	}
	return nil
}

// cText copies n bytes of the text buffer, less a trailing zero.
func (l *library) cText(n int) string {
	if n < 0 || n > len(l.text) {
		return ""
	}
	s, _, _ := strings.Cut(string(l.text[:n]), "\x00")
	return strings.TrimSpace(s)
}

// candidates are the names under which a family's library is known. Plain
// libmpi.so may be either.
func candidates(f family) []string {
	switch f {
	case openMPI:
		return []string{"libmpi.so.40", "libmpi.so"}
	case mpich:
		return []string{"libmpich.so.12", "libmpi.so.12", "libmpi_cray.so.12", "libmpi_gnu.so.12", "libmpich.so", "libmpi.so"}
	}
	return []string{"libmpi.so.40", "libmpich.so.12", "libmpi.so.12", "libmpi.so"}
}

// loaded returns the library that the process already holds, or nil. The gate
// is held.
func loaded() (*library, error) {
	if current != nil {
		return current, nil
	}
	if _, err := purego.Dlsym(purego.RTLD_DEFAULT, "MPI_Init_thread"); err != nil {
		return nil, nil
	}
	lib, err := bind("already in the process", purego.RTLD_DEFAULT)
	if err != nil {
		return nil, &InitError{Err: ErrNoLibrary, Detail: oneLine(err)}
	}
	current = lib
	return lib, nil
}

// load opens the library that the variable names or the launcher asks for.
func load(named string, l launcher) (*library, error) {
	if named != "" {
		lib, err := open(named)
		if err != nil {
			return nil, &InitError{Err: ErrNoLibrary, Launcher: l.evidence, Library: named, Detail: "HATAORI_MPI_LIB=" + named + ": " + oneLine(err),
				Hint: "set HATAORI_MPI_LIB to the file of an MPI library (libmpi.so.40, libmpi.so.12, libmpich.so.12), or unset it"}
		}
		if err := lib.belongs(l, l.strict); err != nil {
			return nil, err
		}
		return lib, nil
	}
	var tried []error
	for _, name := range candidates(l.family) {
		lib, err := open(name)
		if err != nil {
			tried = append(tried, err)
			continue
		}
		if err := lib.belongs(l, true); err != nil {
			return nil, err
		}
		return lib, nil
	}
	hint := "install it, put its folder into LD_LIBRARY_PATH (module load …), or set HATAORI_MPI_LIB to its file"
	if l.present() {
		hint += "; without MPI, start the program without a launcher"
	}
	want := "a library of any MPI"
	if l.family != unknown {
		want = "a library of the " + l.family.String()
	}
	return nil, &InitError{Err: ErrNoLibrary, Launcher: l.evidence, Detail: want + " is wanted; " + oneLine(errors.Join(tried...)), Hint: hint}
}

// belongs refuses a library that the launcher cannot serve, before it is
// initialised: Open MPI ends the process when it does not find its launcher.
func (l *library) belongs(by launcher, strict bool) error {
	if !strict || by.family == unknown || by.family == l.family {
		return nil
	}
	return &InitError{Err: ErrMismatch, Launcher: by.evidence, Library: l.name,
		Detail: fmt.Sprintf("the launcher is of %v, the library of %v", by.family, l.family),
		Hint:   "start the program with the mpirun or mpiexec that belongs to the library, or let HATAORI_MPI_LIB name the launcher's library"}
}

// open loads a library for good: a wrong one cannot be taken out again safely,
// as its constructors may have installed signal handlers.
func open(name string) (*library, error) {
	h, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, err
	}
	lib, err := bind(name, h)
	if err == nil {
		current = lib
	}
	return lib, err
}

func tell(h uintptr) family {
	if _, err := purego.Dlsym(h, "ompi_mpi_comm_world"); err == nil {
		return openMPI
	}
	return mpich
}

// bind looks up every function, so that none can be missing later.
func bind(name string, h uintptr) (*library, error) {
	l := &library{name: name, family: tell(h)}
	var missing []error
	for f := range fnCount {
		addr, err := purego.Dlsym(h, fnNames[f])
		if err != nil {
			missing = append(missing, err)
		}
		l.fns[f] = addr
	}
	var err error
	l.abi = mpichABI
	if l.family == openMPI {
		l.abi, err = openMPIABI(func(s string) (uintptr, error) { return purego.Dlsym(h, s) })
	}
	if err := errors.Join(append(missing, err)...); err != nil {
		return nil, fmt.Errorf("%s is not a library of MPI 3.0 or later: %w", name, err)
	}
	return l, nil
}

func oneLine(err error) string {
	if err == nil {
		return "nothing"
	}
	return strings.ReplaceAll(err.Error(), "\n", ", ")
}
