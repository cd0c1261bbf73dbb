package store

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"github.com/ebitengine/purego"
)

// LibraryEnv is the environment variable that names the HDF5 library to load,
// a path or a name the dynamic linker resolves. Options.Library overrides it.
const LibraryEnv = "HATAORI_HDF5_LIB"

// libraryNames lists what is tried in turn: Debian's serial builds first,
// because the plain name there may be a build over MPI, then the sonames of
// 1.14, 1.12 and 1.10.
func libraryNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{"libhdf5.310.dylib", "libhdf5.200.dylib", "libhdf5.103.dylib", "libhdf5.dylib",
			"/opt/homebrew/lib/libhdf5.dylib", "/usr/local/lib/libhdf5.dylib"}
	}
	return []string{"libhdf5_serial.so.310", "libhdf5_serial.so.103",
		"libhdf5.so.310", "libhdf5.so.200", "libhdf5.so.103", "libhdf5.so"}
}

// hid is an HDF5 identifier: 64 bits wide since 1.10.
type hid int64

// fn numbers the HDF5 functions used; fnNames gives their names.
type fn int

const (
	fnOpen fn = iota
	fnGetLibversion
	fnEsetAuto
	fnEwalk
	fnEgetMsg
	fnIdecRef
	fnIgetType
	fnFcreate
	fnFopen
	fnFflush
	fnPcreate
	fnPsetChunk
	fnPsetDeflate
	fnPsetShuffle
	fnPsetFletcher
	fnPsetFill
	fnPsetCreateGroups
	fnPsetLibver
	fnZavail
	fnScreate
	fnScreateSimple
	fnShyperslab
	fnSndims
	fnSdims
	fnStype
	fnTcopy
	fnTcreate
	fnTinsert
	fnTarray
	fnTarrayNdims
	fnTarrayDims
	fnTenumCreate
	fnTenumInsert
	fnTenumNameof
	fnTvlen
	fnTsetSize
	fnTsetCset
	fnTgetClass
	fnTgetSize
	fnTgetSign
	fnTnmembers
	fnTmemberName
	fnTmemberType
	fnTmemberOffset
	fnTsuper
	fnTisVarStr
	fnFreeMemory
	fnDcreate
	fnDopen
	fnDwrite
	fnDread
	fnDsetExtent
	fnDspace
	fnDtype
	fnDvlenReclaim
	fnDplist
	fnPgetLayout
	fnPgetChunk
	fnPsetAllocTime
	fnAcreate
	fnAopen
	fnAwrite
	fnAread
	fnAexists
	fnAdelete
	fnAspace
	fnAtype
	fnLexists
	fnLnameByIdx
	fnOopen
	fnPsetLocking // optional: 1.10.7, 1.12.1 and newer
	fnCount
)

var fnNames = [fnCount]string{
	"H5open", "H5get_libversion", "H5Eset_auto2", "H5Ewalk2", "H5Eget_msg", "H5Idec_ref", "H5Iget_type",
	"H5Fcreate", "H5Fopen", "H5Fflush",
	"H5Pcreate", "H5Pset_chunk", "H5Pset_deflate", "H5Pset_shuffle", "H5Pset_fletcher32", "H5Pset_fill_value",
	"H5Pset_create_intermediate_group", "H5Pset_libver_bounds", "H5Zfilter_avail",
	"H5Screate", "H5Screate_simple", "H5Sselect_hyperslab", "H5Sget_simple_extent_ndims",
	"H5Sget_simple_extent_dims", "H5Sget_simple_extent_type",
	"H5Tcopy", "H5Tcreate", "H5Tinsert", "H5Tarray_create2", "H5Tget_array_ndims", "H5Tget_array_dims2",
	"H5Tenum_create", "H5Tenum_insert", "H5Tenum_nameof", "H5Tvlen_create", "H5Tset_size", "H5Tset_cset",
	"H5Tget_class", "H5Tget_size", "H5Tget_sign", "H5Tget_nmembers", "H5Tget_member_name", "H5Tget_member_type",
	"H5Tget_member_offset", "H5Tget_super", "H5Tis_variable_str", "H5free_memory",
	"H5Dcreate2", "H5Dopen2", "H5Dwrite", "H5Dread", "H5Dset_extent", "H5Dget_space", "H5Dget_type", "H5Dvlen_reclaim",
	"H5Dget_create_plist", "H5Pget_layout", "H5Pget_chunk", "H5Pset_alloc_time",
	"H5Acreate2", "H5Aopen", "H5Awrite", "H5Aread", "H5Aexists", "H5Adelete", "H5Aget_space", "H5Aget_type",
	"H5Lexists", "H5Lget_name_by_idx", "H5Oopen", "H5Pset_file_locking",
}

// predefined types and property classes: data symbols, valid after H5open.
type symbol int

const (
	symF32 symbol = iota
	symF64
	symI8
	symI16
	symI32
	symI64
	symU8
	symU16
	symU32
	symU64
	symCString
	symFileAccess
	symFileCreate
	symDatasetCreate
	symLinkCreate
	symCount
)

var symNames = [symCount]string{
	"H5T_IEEE_F32LE_g", "H5T_IEEE_F64LE_g",
	"H5T_STD_I8LE_g", "H5T_STD_I16LE_g", "H5T_STD_I32LE_g", "H5T_STD_I64LE_g",
	"H5T_STD_U8LE_g", "H5T_STD_U16LE_g", "H5T_STD_U32LE_g", "H5T_STD_U64LE_g", "H5T_C_S1_g",
	"H5P_CLS_FILE_ACCESS_ID_g", "H5P_CLS_FILE_CREATE_ID_g", "H5P_CLS_DATASET_CREATE_ID_g", "H5P_CLS_LINK_CREATE_ID_g",
}

// library is one loaded HDF5 library. Everything but mu is written once.
type library struct {
	name    string
	version [3]uint32
	addr    [fnCount]uintptr
	sym     [symCount]hid
	walker  uintptr // C callback that collects the error stack

	mu    sync.Mutex  // held for every sequence of calls into the library
	stack []errorItem // what the walker collects, under mu
}

// The library is one per process whatever this package does, and so is its
// lock; libraries maps the name asked for to what was loaded.
var (
	loadMu    sync.Mutex
	libraries = map[string]*library{}
)

// Version loads the HDF5 library (name as in Options.Library, "" for the
// default search) and returns the name it was found under and its version.
func Version(name string) (found, version string, err error) {
	l, err := loadLibrary(name)
	if err != nil {
		return "", "", err
	}
	return l.name, l.versionString(), nil
}

func (l *library) versionString() string {
	return fmt.Sprintf("%d.%d.%d", l.version[0], l.version[1], l.version[2])
}

// loadLibrary returns the library asked for, loading it on first use. A
// failure is not remembered: the next call tries again.
func loadLibrary(name string) (*library, error) {
	if name == "" {
		name = os.Getenv(LibraryEnv)
	}
	loadMu.Lock()
	defer loadMu.Unlock()
	if l := libraries[name]; l != nil {
		return l, nil
	}
	names := libraryNames()
	if name != "" {
		names = []string{name}
	}
	fail := &LibraryError{}
	for _, n := range names {
		h, err := dlopen(n)
		if err != nil {
			fail.Tried = append(fail.Tried, strings.TrimSpace(n+": "+strings.TrimPrefix(err.Error(), n+": ")))
			continue
		}
		l, err := bindLibrary(n, h)
		if err != nil {
			fail.Err = fmt.Errorf("%s: %w", n, err)
			return nil, fail
		}
		libraries[name] = l
		return l, nil
	}
	return nil, fail
}

func bindLibrary(name string, h uintptr) (*library, error) {
	l := &library{name: name}
	for i := range l.addr {
		a, err := dlsym(h, fnNames[i])
		if err != nil {
			if fn(i) == fnPsetLocking {
				continue
			}
			return nil, fmt.Errorf("it lacks %s: %w", fnNames[i], err)
		}
		l.addr[i] = a
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	v := new([3]uint32)
	if r, _, _ := purego.SyscallN(l.addr[fnGetLibversion], uintptr(unsafe.Pointer(&v[0])), uintptr(unsafe.Pointer(&v[1])), uintptr(unsafe.Pointer(&v[2]))); int32(r) < 0 {
		return nil, errors.New("H5get_libversion failed")
	}
	l.version = *v
	if err := checkVersion(l.version); err != nil {
		return nil, err
	}
	if r, _, _ := purego.SyscallN(l.addr[fnOpen]); int32(r) < 0 {
		return nil, errors.New("H5open failed")
	}
	for i := range l.sym {
		a, err := dlsym(h, symNames[i])
		if err != nil {
			return nil, fmt.Errorf("it lacks %s: %w", symNames[i], err)
		}
		l.sym[i] = **(**hid)(unsafe.Pointer(&a))
	}
	l.walker = purego.NewCallback(l.collect)
	return l, nil
}

// checkVersion refuses libraries whose identifiers are 32 bits wide (before
// 1.10) or that lack the format bounds used here (before 1.10.2).
func checkVersion(v [3]uint32) error {
	if v[0] < 1 || v[0] == 1 && (v[1] < 10 || v[1] == 10 && v[2] < 2) {
		return fmt.Errorf("it is version %d.%d.%d, older than 1.10.2", v[0], v[1], v[2])
	}
	return nil
}
