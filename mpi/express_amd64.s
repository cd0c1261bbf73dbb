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

#define ENTER \
	SUBQ $24, SP     \
	MOVQ BX, 16(SP)  \
	MOVQ DI, BX

#define LEAVE \
	MOVQ 16(SP), BX \
	ADDQ $24, SP    \
	RET

// START calls the function of a step, which starts the transfer.
#define START(step, transfer) \
	MOVQ (transfer+transfer_buf)(BX), DI      \
	MOVQ (transfer+transfer_count)(BX), SI    \
	MOVQ (transfer+transfer_dataType)(BX), DX \
	MOVQ (transfer+transfer_peer)(BX), CX     \
	MOVQ (transfer+transfer_tag)(BX), R8      \
	MOVQ (transfer+transfer_comm)(BX), R9     \
	MOVQ (transfer+transfer_request)(BX), AX  \
	MOVQ AX, 0(SP)                            \
	MOVL $step, crossing_step(BX)             \
	MOVQ (crossing_fns+8*step)(BX), AX        \
	CALL AX

// TEST calls MPI_Test.
#define TEST(transfer) \
	MOVQ (transfer+transfer_request)(BX), DI   \
	LEAQ crossing_flag(BX), SI                 \
	MOVQ crossing_status(BX), DX               \
	MOVL $0, crossing_flag(BX)                 \
	MOVL $const_stepTest, crossing_step(BX)    \
	MOVQ (crossing_fns+8*const_stepTest)(BX), AX \
	CALL AX

// MPI_Irecv, if a receive is to be posted; then MPI_Test of it, up to looks times.
TEXT crossTake(SB), NOSPLIT|NOFRAME, $0
	ENTER
	CMPL crossing_post(BX), $0
	JEQ  look
	START(const_stepPost, crossing_recv)
	TESTL AX, AX
	JNE  out

look:
	TEST(crossing_recv)
	TESTL AX, AX
	JNE  out
	CMPL crossing_flag(BX), $0
	JNE  out
	DECQ crossing_looks(BX)
	JNE  look

out:
	LEAVE

// MPI_Isend; MPI_Irecv, if a receive is to be posted; MPI_Test of the first.
TEXT crossGive(SB), NOSPLIT|NOFRAME, $0
	ENTER
	START(const_stepSend, crossing_send)
	TESTL AX, AX
	JNE  done
	CMPL crossing_post(BX), $0
	JEQ  sent
	START(const_stepPost, crossing_recv)
	TESTL AX, AX
	JNE  done

sent:
	TEST(crossing_send)

done:
	LEAVE
