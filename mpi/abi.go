package mpi

// family is a binary interface of MPI libraries.
type family int

const (
	unknown family = iota
	openMPI        // Open MPI: handles are addresses of objects in the library
	mpich          // MPICH, Intel MPI, MVAPICH, Cray MPICH: handles are integers
)

func (f family) String() string {
	switch f {
	case openMPI:
		return "Open MPI"
	case mpich:
		return "MPICH family"
	}
	return "unknown MPI"
}

// abi holds what differs between the families. Handles and constants are kept
// in the width in which they are passed.
type abi struct {
	commWorld, commNull         uintptr
	byteType, int64Type, double uintptr
	opMin, opMax, opSum         uintptr
	errorsReturn                uintptr
	infoNull                    uintptr
	anySource, anyTag           int
	tagUB                       int // keyval
	typeShared                  int
	errTruncate                 int // class
	statusSource, statusTag     int // index of the field in an array of int32
	count                       func(status *[6]int32) int
}

// mpichABI follows the mpi.h that all members of the MPICH ABI initiative
// share.
var mpichABI = abi{
	commWorld: 0x44000000, commNull: 0x04000000,
	byteType: 0x4c00010d, int64Type: 0x4c00083a, double: 0x4c00080b,
	opMax: 0x58000001, opMin: 0x58000002, opSum: 0x58000003,
	errorsReturn: 0x54000001, infoNull: 0x1c000000,
	anySource: -2, anyTag: -1,
	tagUB: 0x64400001, typeShared: 1, errTruncate: 14,
	statusSource: 2, statusTag: 3,
	count: func(s *[6]int32) int { return int(uint32(s[0])) | int(uint32(s[1])>>1)<<32 }, // above the flag of a cancellation
}

// openMPIABI looks up the objects whose addresses are Open MPI's handles.
func openMPIABI(symbol func(name string) (uintptr, error)) (abi, error) {
	a := abi{
		anySource: -1, anyTag: -1,
		tagUB: 0, typeShared: 0, errTruncate: 15,
		statusSource: 0, statusTag: 1,
		count: func(s *[6]int32) int { return int(uint32(s[4])) | int(s[5])<<32 },
	}
	for _, s := range []struct {
		name   string
		handle *uintptr
	}{
		{"ompi_mpi_comm_world", &a.commWorld},
		{"ompi_mpi_comm_null", &a.commNull},
		{"ompi_mpi_byte", &a.byteType},
		{"ompi_mpi_int64_t", &a.int64Type},
		{"ompi_mpi_double", &a.double},
		{"ompi_mpi_op_min", &a.opMin},
		{"ompi_mpi_op_max", &a.opMax},
		{"ompi_mpi_op_sum", &a.opSum},
		{"ompi_mpi_errors_return", &a.errorsReturn},
		{"ompi_mpi_info_null", &a.infoNull},
	} {
		addr, err := symbol(s.name)
		if err != nil {
			return abi{}, err
		}
		*s.handle = addr
	}
	return a, nil
}
