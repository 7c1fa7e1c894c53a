/*
 * How to leave one frame, in eight bytes: a row of call frame information (DWARF 5, 6.4) reduced to
 * the registers that a walk needs, and the step that applies the rule. Everything specific to a
 * processor is behind these functions (unwind_rule_x86_64.c). On other processors every rule is
 * UNWIND_RULE_NONE.
 */
#ifndef TREADLE_UNWIND_RULE_H
#define TREADLE_UNWIND_RULE_H

#include "native/unwind/frame_registers.h"

#include <stdbool.h>
#include <stdint.h>

struct call_frame_row;
struct tracked_registers;

enum unwind_result {
    UNWIND_STEPPED,
    UNWIND_END,          /* the outermost frame: no return address, as in _start and clone */
    UNWIND_UNKNOWN_CODE, /* pc in no image */
    UNWIND_NO_TABLE,     /* an image that does not say how to unwind there */
    UNWIND_BAD_FRAME,    /* its end not above sp, beyond the stack, or fp needed and not known */
    UNWIND_BUSY,         /* another thread was in libunwind */
};

struct unwind_rule {
    uint8_t frame;      /* enum frame_rule of the processor: where the frame ends */
    uint8_t fp;         /* enum fp_rule of the processor: where the caller's fp is */
    int16_t fp_offset;  /* bytes */
    int32_t cfa_offset; /* bytes */
};

/* UNWIND_RULE_NONE, all zeros: a step with this rule gives UNWIND_NO_TABLE. */
#define UNWIND_RULE_NONE ((struct unwind_rule){0})

/* The registers with which rules deal. */
extern const struct tracked_registers tracked_registers;

/* Converts a row to a rule; UNWIND_RULE_NONE if the row needs more than a walk knows. */
struct unwind_rule unwind_rule__of(const struct call_frame_row *row);

/* One step towards the caller; the registers change only with UNWIND_STEPPED. Reads the stack in
 * [sp, stack_end) only, whole words. Async-signal-safe. */
enum unwind_result unwind_rule__step(const struct unwind_rule *rule,
                                     struct frame_registers *registers, uint64_t stack_end);

/* For code without a rule, where fp may begin a chain of frames: returns the return address of the
 * next frame in the chain, 0 if there is no valid one. Async-signal-safe. */
uint64_t unwind_rule__chained_pc(const struct frame_registers *registers, uint64_t stack_end);

/* Takes the step to the frame whose address unwind_rule__chained_pc has given. Async-signal-safe.
 */
void unwind_rule__step_chain(struct frame_registers *registers);

#endif
