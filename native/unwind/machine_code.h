/*
 * What a walk has to know of a processor's instructions and registers. x86-64 and arm64; on other
 * processors nothing is known: calls are found nowhere, and so no frame of compiled code is left.
 * Everything here is async-signal-safe, and reads up to 8 bytes before and 16 bytes behind the
 * instruction that it is asked about: in a fault guard.
 */
#ifndef TREADLE_MACHINE_CODE_H
#define TREADLE_MACHINE_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

/* Whether a call ends there. */
bool machine_code__follows_call(uint64_t address);

/* Whether a system call ends there. */
bool machine_code__follows_system_call(uint64_t address);

/* Whether compiled code has taken its frame down there and is about to return: before the return,
 * or before the JVM's poll in front of it. */
bool machine_code__is_leaving(uint64_t address);

/* Whether the instruction restores the caller's frame pointer from the top of the stack, after
 * which the return address is there. */
bool machine_code__pops_fp(uint64_t address);

/* The register in which the interpreter keeps its bytecode pointer. */
uint64_t machine_code__bytecode_pointer(const ucontext_t *context);

/* How a thread came into the kernel where a signal's handler has found it. */
enum kernel_entry {
    ENTRY_UNKNOWN,
    ENTRY_FAULT,          /* a fault of the instruction, which is executed again */
    ENTRY_PROBABLY_FAULT, /* or an interrupt between two rounds of a repeated instruction */
};

enum kernel_entry machine_code__kernel_entry(const ucontext_t *context);

#endif
