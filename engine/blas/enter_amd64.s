//go:build linux || darwin || freebsd

#include "textflag.h"

// REGISTERS loads the first six arguments of the array at R10.
#define REGISTERS \
	MOVQ 0(R10), DI  \
	MOVQ 8(R10), SI  \
	MOVQ 16(R10), DX \
	MOVQ 24(R10), CX \
	MOVQ 32(R10), R8 \
	MOVQ 40(R10), R9

// func enter(fn uintptr, args *[argCount]uintptr, top unsafe.Pointer)
//
// The System V convention: six arguments in registers, nine on the stack,
// which is aligned to 16 at the call. R12 is the callee's to preserve.
TEXT ·enter(SB), NOSPLIT, $0-24
	MOVQ fn+0(FP), AX
	MOVQ args+8(FP), R10
	MOVQ top+16(FP), R11
	MOVQ SP, R12
	SUBQ $80, R11
	MOVOU 48(R10), X0
	MOVOU 64(R10), X1
	MOVOU 80(R10), X2
	MOVOU 96(R10), X3
	MOVQ 112(R10), R13
	MOVOU X0, 0(R11)
	MOVOU X1, 16(R11)
	MOVOU X2, 32(R11)
	MOVOU X3, 48(R11)
	MOVQ R13, 64(R11)
	REGISTERS
	MOVQ R11, SP
	CALL AX
	MOVQ R12, SP
	RET

GLOBL ·leaveAddr(SB), NOPTR|RODATA, $8
DATA ·leaveAddr(SB)/8, $leave(SB)

// leave is called as a C function with one argument, a pointer to the function
// and the array of its arguments, on a thread's own stack, which it leaves aligned
// to 16 at the call.
TEXT leave(SB), NOSPLIT|NOFRAME, $0
	SUBQ $72, SP
	MOVQ 0(DI), AX
	MOVQ 8(DI), R10
	MOVOU 48(R10), X0
	MOVOU 64(R10), X1
	MOVOU 80(R10), X2
	MOVOU 96(R10), X3
	MOVQ 112(R10), R11
	MOVOU X0, 0(SP)
	MOVOU X1, 16(SP)
	MOVOU X2, 32(SP)
	MOVOU X3, 48(SP)
	MOVQ R11, 64(SP)
	REGISTERS
	CALL AX
	ADDQ $72, SP
	RET
