package store

import (
	"errors"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"
)

// session is one sequence of calls into the library: one goroutine, locked to
// its thread because the library's error stack is per thread, under the
// library's lock. The first failure sticks and turns every later call into
// nothing, so a sequence reads straight down; identifiers kept are closed at
// the end in any case.
type session struct {
	lib  *library
	path string
	name string // dataset or attribute being worked on, for errors
	err  error
	open []hid

	// leave says that nothing is closed after the operating system failed a
	// write; see File.stage.
	leave bool
}

// do runs body as one session and returns its first error.
func (l *library) do(path string, body func(q *session)) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// Silent: the account goes into the Go error. Per thread in thread-safe
	// builds, so it is said anew each time.
	purego.SyscallN(l.addr[fnEsetAuto], 0, 0, 0)
	q := &session{lib: l, path: path}
	defer q.closeAll()
	body(q)
	if q.leave && systemFailure(q.err) {
		q.open = nil
	}
	for len(q.open) > 0 {
		q.closeLast()
	}
	return q.err
}

func (q *session) closeLast() {
	id := q.open[len(q.open)-1]
	q.open = q.open[:len(q.open)-1]
	q.close(id)
}

// closeAll closes what a panic in the body left open.
func (q *session) closeAll() {
	for len(q.open) > 0 {
		q.closeLast()
	}
}

// close gives up one identifier, whatever happened before. Closing a file or
// a dataset writes, so it can fail.
func (q *session) close(id hid) {
	r, _, _ := purego.SyscallN(q.lib.addr[fnIdecRef], uintptr(id))
	if int32(r) < 0 && q.err == nil {
		q.err = q.failure(fnIdecRef)
	}
}

// mark and release close what was kept since mark, for loops. After a failure
// the end of the session does it.
func (q *session) mark() int { return len(q.open) }

func (q *session) release(mark int) {
	for q.err == nil && len(q.open) > mark {
		q.closeLast()
	}
}

// call is the one way into the library, apart from setting up and closing. It
// does nothing after a failure. Its callers below check what it returns.
// Pointers among args must be written as uintptr(unsafe.Pointer(p)) in the
// call itself.
//
//go:uintptrescapes
func (q *session) call(f fn, args ...uintptr) uintptr {
	if q.err != nil {
		return 0
	}
	r, _, _ := purego.SyscallN(q.lib.addr[f], args...)
	return r
}

// status calls a function that returns herr_t, int or htri_t: negative is a
// failure.
//
//go:uintptrescapes
func (q *session) status(f fn, args ...uintptr) int {
	r := q.call(f, args...)
	if q.err == nil && int32(r) < 0 {
		q.err = q.failure(f)
	}
	if q.err != nil {
		return 0
	}
	return int(int32(r))
}

// long calls a function that returns a 64-bit signed number.
//
//go:uintptrescapes
func (q *session) long(f fn, args ...uintptr) int64 {
	r := q.call(f, args...)
	if q.err == nil && int64(r) < 0 {
		q.err = q.failure(f)
	}
	if q.err != nil {
		return 0
	}
	return int64(r)
}

// id calls a function that returns an identifier and keeps it to be closed at
// the end of the session.
//
//go:uintptrescapes
func (q *session) id(f fn, args ...uintptr) hid {
	r := q.call(f, args...)
	if q.err == nil && int64(r) < 0 {
		q.err = q.failure(f)
	}
	if q.err != nil {
		return 0
	}
	q.open = append(q.open, hid(r))
	return hid(r)
}

// detach hands an identifier over to the caller, who closes it in a later
// session.
func (q *session) detach(id hid) hid {
	for i, o := range q.open {
		if o == id {
			q.open = append(q.open[:i], q.open[i+1:]...)
			break
		}
	}
	return id
}

// fail makes err the session's error if it has none.
func (q *session) fail(err error) {
	if q.err == nil && err != nil {
		q.err = err
	}
}

// cstring returns s as a C string. A NUL inside would cut it short.
func (q *session) cstring(s string) *byte {
	for i := range len(s) {
		if s[i] == 0 {
			q.fail(&Error{Op: "name", Path: q.path, Name: s, Err: unsupported("it contains a NUL byte")})
			break
		}
	}
	b := make([]byte, len(s)+1)
	copy(b, s)
	return &b[0]
}

// gostring copies a C string.
func gostring(p *byte) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(unsafe.Pointer(p), n)) != 0 {
		n++
	}
	return string(unsafe.Slice(p, n))
}

// errorEntry is H5E_error2_t, the same in 1.10 to 1.14.
type errorEntry struct {
	_            hid // class
	major, minor hid
	_            uint32 // line
	fn           *byte
	_            *byte // file
	desc         *byte
}

type errorItem struct {
	fn, desc     string
	major, minor hid
}

// collect is the callback of H5Ewalk2. It runs inside failure, under the
// library's lock.
func (l *library) collect(_ uint32, e *errorEntry, _ uintptr) uintptr {
	l.stack = append(l.stack, errorItem{gostring(e.fn), gostring(e.desc), e.major, e.minor})
	return 0
}

// failure turns the thread's error stack into an Error.
func (q *session) failure(f fn) error {
	l := q.lib
	l.stack = l.stack[:0]
	purego.SyscallN(l.addr[fnEwalk], 0, 0, l.walker, 0) // H5E_DEFAULT, upward
	e := &Error{Op: fnNames[f], Path: q.path, Name: q.name}
	if f == fnIdecRef {
		e.Op = "close"
	}
	for _, it := range l.stack {
		e.Stack = append(e.Stack, Frame{Func: it.fn, Desc: it.desc, Major: l.message(it.major), Minor: l.message(it.minor)})
	}
	if len(e.Stack) > 0 {
		e.Err = systemError(e.Stack[0].Desc)
	} else {
		e.Stack = []Frame{{Func: fnNames[f], Desc: "failed without saying why"}}
	}
	return e
}

// systemError finds the operating system's error number in what the library
// says about a failed read or write.
func systemError(desc string) error {
	_, rest, ok := strings.Cut(desc, "errno = ")
	if !ok {
		return nil
	}
	digits, _, _ := strings.Cut(rest, ",")
	if n, err := strconv.Atoi(digits); err == nil && n > 0 {
		return syscall.Errno(n)
	}
	return nil
}

// systemFailure reports that the library failed because the operating system
// did.
func systemFailure(err error) bool {
	var e *Error
	var n syscall.Errno
	return errors.As(err, &e) && len(e.Stack) > 0 && errors.As(e.Err, &n)
}

func (l *library) message(id hid) string {
	buf := make([]byte, 256)
	kind := new(int32)
	n, _, _ := purego.SyscallN(l.addr[fnEgetMsg], uintptr(id), uintptr(unsafe.Pointer(kind)), uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)))
	if int64(n) <= 0 {
		return ""
	}
	return gostring(&buf[0])
}
