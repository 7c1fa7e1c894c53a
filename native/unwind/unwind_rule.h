/*
 * How one frame is left, in eight bytes: what a row of call frame information (DWARF 5, 6.4) comes
 * to for the registers that a walk needs, and the step that follows it. All that is of one
 * processor stands behind these two functions (unwind_rule_x86_64.c); elsewhere no rule says
 * anything.
 */
#ifndef TREADLE_UNWIND_RULE_H
#define TREADLE_UNWIND_RULE_H

#include <stdbool.h>
#include <stdint.h>

struct call_frame_row;
struct tracked_registers;

/* Registers of a frame. */
struct frame_registers {
    uint64_t pc, sp, fp; /* fp: rbp */
    bool fp_known;
    bool interrupted; /* out, by a step: a signal came at pc. Nothing was called from there, so pc
                         is no return address */
};

enum unwind_result {
    UNWIND_STEPPED,
    UNWIND_END,          /* the outermost frame: no return address, as in _start and clone */
    UNWIND_UNKNOWN_CODE, /* pc in no image */
    UNWIND_NO_TABLE,     /* an image that does not say how to unwind there */
    UNWIND_BAD_FRAME,    /* its end not above sp, beyond the stack, or fp needed and not known */
};

struct unwind_rule {
    uint8_t frame;      /* enum frame_rule of the processor: where the frame ends */
    uint8_t fp;         /* enum fp_rule of the processor: where the caller's fp is */
    int16_t fp_offset;  /* bytes */
    int32_t cfa_offset; /* bytes */
};

/* No step with this one: UNWIND_NO_TABLE. All zeros. */
#define UNWIND_RULE_NONE ((struct unwind_rule){0})

/* The registers that rules are about. */
extern const struct tracked_registers tracked_registers;

/* The rule a row comes to; UNWIND_RULE_NONE if it needs more than a walk knows. */
struct unwind_rule unwind_rule__of(const struct call_frame_row *row);

/* One step towards the caller; the registers change only with UNWIND_STEPPED. Reads the stack in
 * [sp, stack_end) only, whole words. Async-signal-safe. */
enum unwind_result unwind_rule__step(const struct unwind_rule *rule,
                                     struct frame_registers *registers, uint64_t stack_end);

/* The step where there is no rule but fp may begin a chain of frames: the return address that it
 * would lead to, 0 if it cannot be one. Async-signal-safe. */
uint64_t unwind_rule__chained_pc(const struct frame_registers *registers, uint64_t stack_end);

/* Takes that step. Only if unwind_rule__chained_pc gave an address. */
void unwind_rule__step_chain(struct frame_registers *registers);

#endif
