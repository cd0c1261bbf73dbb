//go:build linux || darwin || freebsd

package blas

import (
	"errors"
	"fmt"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// text calls a C function that returns a string; "" if there is none.
func (l *library) text(name string) string {
	fn, err := l.symbol(name)
	if err != nil {
		return ""
	}
	r, _, _ := purego.SyscallN(fn)
	return goString(r)
}

// number calls a C function that returns an int; 0 if there is none.
func (l *library) number(name string) int {
	fn, err := l.symbol(name)
	if err != nil {
		return 0
	}
	r, _, _ := purego.SyscallN(fn)
	return int(int32(r))
}

// suffixed returns the first of the forms of a C name that the library has.
func (l *library) suffixed(name string) string {
	for _, s := range []string{"", "64_", "_64"} {
		if _, err := l.symbol(name + s); err == nil {
			return name + s
		}
	}
	return name
}

// identify fills in what the library says of itself.
func (l *library) identify() {
	i := &l.info
	if cfg := l.text(l.suffixed("openblas_get_config")); cfg != "" {
		i.Name, i.Config = "openblas", strings.TrimSpace(cfg)
		if f := strings.Fields(cfg); len(f) > 1 {
			i.Version = f[1]
		}
		i.Kernel = l.text(l.suffixed("openblas_get_corename"))
		return
	}
	if fn, err := l.symbol("MKL_Get_Version_String"); err == nil {
		buf := make([]byte, 256)
		purego.SyscallN(fn, uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)-1))
		i.Name, i.Version = "mkl", strings.TrimRight(string(buf), " \x00")
		return
	}
	if v := l.text("bli_info_get_version_str"); v != "" {
		i.Name, i.Version = "blis", v
		return
	}
	i.Name = "blas"
}

// settleKernel puts right a choice of kernels below what the processor has.
func (l *library) settleKernel(name string, opts Options) error {
	i := &l.info
	if i.Name != "openblas" || i.Kernel == "" {
		return nil
	}
	i.BestKernel = bestKernel()
	if kernelRank(i.Kernel) >= kernelRank(i.BestKernel) {
		return nil
	}
	const wrong = "OpenBLAS uses its %s kernels where the processor could run %s, many times slower"
	warn := fmt.Sprintf(wrong, i.Kernel, i.BestKernel)
	c, err := openEnv()
	if err != nil {
		return err
	}
	user, set := c.get("OPENBLAS_CORETYPE")
	switch {
	case i.AlreadyLoaded:
		warn += ": it was loaded before; set OPENBLAS_CORETYPE=" + i.BestKernel + " before the process starts"
	case set:
		warn += fmt.Sprintf(": OPENBLAS_CORETYPE is set to %q; unset it or set it to %s", user, i.BestKernel)
	case opts.KeepKernel:
		warn += ": Options.KeepKernel forbids to correct it"
	case !strings.Contains(i.Config, "DYNAMIC_ARCH"):
		warn += ": it was built with these alone; install a build with DYNAMIC_ARCH"
	default:
		return l.correctKernel(name, opts, warn)
	}
	i.Warnings = append(i.Warnings, warn)
	return nil
}

// correctKernel loads the library again, told which kernels to use.
func (l *library) correctKernel(name string, opts Options, warn string) error {
	i := &l.info
	if err := l.close(); err != nil {
		return err
	}
	l.handle = 0
	if err := l.open(name, opts, []setting{{"OPENBLAS_CORETYPE", i.BestKernel}}); err != nil {
		return err
	}
	before := i.Kernel
	i.Kernel = l.text(l.suffixed("openblas_get_corename"))
	if i.Corrected = kernelRank(i.Kernel) >= kernelRank(i.BestKernel); !i.Corrected {
		i.Warnings = append(i.Warnings, warn+": loading it again did not help; set OPENBLAS_CORETYPE="+i.BestKernel+" before the process starts")
		return nil
	}
	i.Changes = append(i.Changes, fmt.Sprintf("loaded with OPENBLAS_CORETYPE=%s in C's environment: it had chosen %s", i.Kernel, before))
	return nil
}

// settleThreads limits the library to one thread, or says that it is not.
func (l *library) settleThreads(opts Options) {
	i := &l.info
	var get, set string
	switch i.Name {
	case "openblas":
		get, set = l.suffixed("openblas_get_num_threads"), l.suffixed("openblas_set_num_threads")
	case "mkl":
		get, set = "MKL_Get_Max_Threads", "MKL_Set_Num_Threads"
	case "blis":
		get, set = "bli_thread_get_num_threads", "bli_thread_set_num_threads"
	default:
		return
	}
	i.Threads = l.number(get)
	threaded := i.Name != "openblas" || l.number(l.suffixed("openblas_get_parallel")) != 0
	i.TakesTurns = !threaded
	switch {
	case opts.KeepThreads || !threaded:
	case i.AlreadyLoaded:
		if i.Threads > 1 {
			i.Warnings = append(i.Warnings, fmt.Sprintf("it was loaded before and uses %d threads in each call: set OPENBLAS_NUM_THREADS, "+
				"MKL_NUM_THREADS or BLIS_NUM_THREADS to 1 before the process starts", i.Threads))
		}
	default:
		// BLIS (-1: unset) and MKL read the environment at the first call, when
		// it has been put back.
		if fn, err := l.symbol(set); err == nil && i.Threads != 1 {
			purego.SyscallN(fn, 1)
			i.Threads = l.number(get)
		}
		if i.Threads == 1 {
			i.Changes = append(i.Changes, "limited to one thread")
			return
		}
		i.Warnings = append(i.Warnings, fmt.Sprintf("it could not be limited to one thread and uses %d", i.Threads))
	}
}

// probeInts finds the width of integers: dcopy is told n = 1 in the low half of
// a word and −1 in the high half. With 32 bits that is one element, with 64 a
// negative number of elements, for which it does nothing.
func (l *library) probeInts() error {
	fn, err := l.routine("dcopy")
	if err != nil {
		return fmt.Errorf("it has no dcopy: %w", err)
	}
	if bigEndian() {
		return errors.New("big-endian processors are not supported")
	}
	n, one, x, y := [2]int32{1, -1}, [2]int32{1, 0}, 1.0, 0.0
	purego.SyscallN(fn, uintptr(unsafe.Pointer(&n)), uintptr(unsafe.Pointer(&x)), uintptr(unsafe.Pointer(&one)),
		uintptr(unsafe.Pointer(&y)), uintptr(unsafe.Pointer(&one)))
	l.info.IntBits = 64
	if y == 1 {
		l.info.IntBits = 32
	}
	return nil
}

func bigEndian() bool {
	x := uint16(1)
	return *(*byte)(unsafe.Pointer(&x)) == 0
}
