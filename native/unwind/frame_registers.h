/*
 * The registers of one frame of a walk. The registers of an interrupted thread come from the
 * ucontext_t of a signal handler. Everything here is async-signal-safe.
 */
#ifndef TREADLE_FRAME_REGISTERS_H
#define TREADLE_FRAME_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* What functions keep for their callers besides sp and fp, and what says where a frame ends while a
 * function begins. In this order: rbx, r12, r13, r14, r15 and r10 on x86-64; x19 to x28, and x30,
 * the link register, on arm64. */
#if defined(__x86_64__)
#define PRESERVED_REGISTERS 6
#elif defined(__aarch64__)
#define PRESERVED_REGISTERS 11
#else
#define PRESERVED_REGISTERS 1
#endif

struct preserved_registers {
    uint64_t value[PRESERVED_REGISTERS]; /* 0 where unknown */
};

struct frame_registers {
    uint64_t pc, sp, fp; /* fp: rbp; x29 */
    bool fp_known;
    bool interrupted; /* out, by a step: a signal came at pc. Nothing was called from there, so pc
                         is no return address */
    struct preserved_registers *preserved; /* the walk's; only the engine on libunwind reads and
                                              changes them. NULL: none is known */
};

/* Reads the registers of an interrupted thread from a `ucontext_t`; preserved may be NULL. On other
 * processors than x86-64 and arm64 all registers are 0. */
void frame_registers__of_context(struct frame_registers *registers,
                                 struct preserved_registers *preserved, const void *context);

/* Whether a step out of the kernel's signal frame is to be taken by the function below, because
 * the call frame information of the kernel's trampoline leads elsewhere: on arm64 to the function
 * that called the interrupted one. */
#if defined(__aarch64__)
#define SIGNAL_FRAMES_ARE_READ 1
#else
#define SIGNAL_FRAMES_ARE_READ 0
#endif

/* From the frame of the trampoline to which a signal handler returns, to what was interrupted.
 * False: no such frame is on the stack, which ends at stack_end. The registers change only with
 * true. */
bool frame_registers__leave_signal_frame(struct frame_registers *registers, uint64_t stack_end);

#endif
