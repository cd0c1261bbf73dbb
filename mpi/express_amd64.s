//go:build linux || darwin || freebsd

#include "go_asm.h"
#include "textflag.h"

// The functions below are called as C functions with one argument, a pointer to
// a crossing, on a thread's own stack. They return what the last MPI function
// returned. BX is the callee's to preserve, and the stack is aligned to 16 at every
// call.

GLOBL ·takeAddr(SB), NOPTR|RODATA, $8
DATA ·takeAddr(SB)/8, $crossTake(SB)

GLOBL ·giveAddr(SB), NOPTR|RODATA, $8
DATA ·giveAddr(SB)/8, $crossGive(SB)

// MPI_Test, up to looks times; MPI_Irecv once it finds the request done.
TEXT crossTake(SB), NOSPLIT|NOFRAME, $0
	SUBQ $24, SP
	MOVQ BX, 16(SP)
	MOVQ DI, BX

look:
	MOVQ crossing_request(BX), DI
	LEAQ crossing_flag(BX), SI
	MOVQ crossing_status(BX), DX
	MOVL $0, crossing_flag(BX)
	MOVQ crossing_test(BX), AX
	CALL AX
	TESTL AX, AX
	JNE  out
	CMPL crossing_flag(BX), $0
	JNE  found
	DECQ crossing_looks(BX)
	JNE  look
	JMP  out

found:
	MOVQ crossing_buf(BX), DI
	MOVQ crossing_count(BX), SI
	MOVQ crossing_dataType(BX), DX
	MOVQ crossing_peer(BX), CX
	MOVQ crossing_tag(BX), R8
	MOVQ crossing_comm(BX), R9
	MOVQ crossing_request(BX), AX
	MOVQ AX, 0(SP)
	MOVL $1, crossing_stage(BX)
	MOVQ crossing_start(BX), AX
	CALL AX

out:
	MOVQ 16(SP), BX
	ADDQ $24, SP
	RET

// MPI_Isend, then MPI_Test.
TEXT crossGive(SB), NOSPLIT|NOFRAME, $0
	SUBQ $24, SP
	MOVQ BX, 16(SP)
	MOVQ DI, BX
	MOVQ crossing_buf(BX), DI
	MOVQ crossing_count(BX), SI
	MOVQ crossing_dataType(BX), DX
	MOVQ crossing_peer(BX), CX
	MOVQ crossing_tag(BX), R8
	MOVQ crossing_comm(BX), R9
	MOVQ crossing_request(BX), AX
	MOVQ AX, 0(SP)
	MOVQ crossing_start(BX), AX
	CALL AX
	TESTL AX, AX
	JNE  done
	MOVL $1, crossing_stage(BX)
	MOVQ crossing_request(BX), DI
	LEAQ crossing_flag(BX), SI
	MOVQ crossing_status(BX), DX
	MOVL $0, crossing_flag(BX)
	MOVQ crossing_test(BX), AX
	CALL AX

done:
	MOVQ 16(SP), BX
	ADDQ $24, SP
	RET
