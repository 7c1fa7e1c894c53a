/*
 * Where the instructions of a method stand once hooks are put between them.
 *
 *     enter hook            before the first instruction; no branch leads to it
 *     [caught hook] …       a handler's first instruction; all that leads to it leads to its hook
 *     [leave hook] return   a branch to a return leads to its leave hook
 *     monitorenter [acquired hook], monitorexit [released hook]
 *                           a branch to the next instruction leads behind them
 *     …                     every other instruction, relocated
 *     (end)                 here the caller may append handlers
 *
 * A goto or jsr that no longer reaches its target becomes goto_w or jsr_w. A conditional jump is
 * inverted over a goto_w where the method has no stack map; where it has one (the instruction
 * behind it would need a frame of its own), it jumps to a trampoline: a goto_w in a gap, that is
 * behind an instruction that does not go on and outside every exception range, with its target's
 * frame.
 *
 * `pc` is an offset in the original code, a position one in the new. One thread at a time.
 */
#ifndef TREADLE_CODE_LAYOUT_H
#define TREADLE_CODE_LAYOUT_H

#include "agent/classfile/class_file.h"
#include "agent/classfile/method_code.h"

#define CODE_HOOK_BYTES_MAX 28u

struct code_hook {
    uint8_t bytes[CODE_HOOK_BYTES_MAX];
    uint8_t length;
};

struct code_hooks {
    struct code_hook enter;
    struct code_hook leave;
    struct code_hook caught;
    struct code_hook acquired; /* of length 0: there are none; also the next */
    struct code_hook released;
};

struct code_trampoline {
    uint32_t gap;      /* the pc of the instruction behind it */
    uint32_t target;   /* the pc of its target */
    uint32_t position; /* its own position */
};

struct code_layout {
    const struct method_code *method;
    uint16_t *flags; /* enum code_flag for each pc */
    uint32_t *label; /* for each instruction's pc, and the end: the new target of branches to it */
    uint32_t *position; /* ditto: the new position of the instruction itself */
    const struct code_hooks *hooks;
    uint32_t end; /* the position behind the last instruction */
    bool framed;
    bool has_jumps;     /* jumps, switches or subroutines */
    bool is_uncovered;  /* no instruction is to be covered by a catch-all */
    bool has_uncovered; /* some instructions may be CODE_UNCOVERED or CODE_EARLY */
    bool gaps_known;
    struct code_trampoline *trampolines; /* by position */
    uint32_t trampoline_count;
};

/* Why sound code cannot have hooks: what the steps of rewriting return beside 0 and -errno. */
enum code_limit {
    LIMIT_CODE_LENGTH = -0x10000, /* no errno is as small */
    LIMIT_BRANCH_REACH,
    LIMIT_POOL,            /* there is no room for more constants */
    LIMIT_STACK_MAP_BYTES, /* the class's frames take too many bytes */
    LIMIT_LOCALS,          /* a frame has more local variables than its method */
    LIMIT_FLOW,            /* no verifier would accept the code, or no steps are left */
};

enum code_flag {
    CODE_INSTRUCTION = 1, /* an instruction begins here */
    CODE_RETURN = 2,
    CODE_FAR = 4,       /* a branch that no longer reaches its target */
    CODE_UNCOVERED = 8, /* the catch-all must not cover it: `this` may be uninitialised */
    CODE_GAP = 16,      /* a trampoline may be placed before it */
    CODE_TRAMPOLINE = 32,
    CODE_CAUGHT = 64,    /* an exception handler that gets a hook */
    CODE_EARLY = 128,    /* covered by the other catch-all: local 0 is the uninitialised `this` */
    CODE_ACQUIRED = 256, /* the instruction before it is a monitorenter */
    CODE_RELEASED = 512, /* … a monitorexit */
};

/* Finds the instructions. 0, -ENOMEM or -EBADMSG, whose reason is in the reader. The method must
 * outlive the layout. After a failure there is nothing to close. */
int code_layout__open(struct code_layout *layout, const struct method_code *method,
                      struct class_reader *reader);
void code_layout__close(struct code_layout *layout);

/* Computes the positions. 0; LIMIT_CODE_LENGTH: more than 65535 bytes; LIMIT_BRANCH_REACH: a branch
 * cannot be made to reach its target; -ENOMEM. The hooks must outlive the layout. `framed`: the
 * method has a stack map. */
int code_layout__place(struct code_layout *layout, const struct code_hooks *hooks, bool framed);

/* True if an instruction begins at pc. */
static inline bool code_layout__is_instruction(const struct code_layout *layout, uint32_t pc)
{
    return pc < layout->method->length && (layout->flags[pc] & CODE_INSTRUCTION);
}

/* The pc behind the instruction at pc. */
static inline uint32_t code_layout__next(const struct code_layout *layout, uint32_t pc)
{
    do
        pc++;
    while (pc < layout->method->length && !(layout->flags[pc] & CODE_INSTRUCTION));
    return pc;
}

/* The new position of what a debugger's table says about pc. pc may be any; offset 0 stays 0. */
uint32_t code_layout__start(const struct code_layout *layout, uint32_t pc);
/* The new end of a range that ended before pc. pc may be any. */
uint32_t code_layout__range_end(const struct code_layout *layout, uint32_t pc);
/* The same for an exception range of the method's own, which must know whether a monitor is held:
 * an acquired hook before its start is inside, for what it throws must lead to the monitorexit. A
 * released hook before its end is outside, for what it throws must not lead there once more. */
uint32_t code_layout__exception_start(const struct code_layout *layout, uint32_t pc);
uint32_t code_layout__exception_end(const struct code_layout *layout, uint32_t pc);
/* The position of an instruction itself, behind hooks and trampolines. pc may be any. */
uint32_t code_layout__instruction(const struct code_layout *layout, uint32_t pc);

void code_layout__write(const struct code_layout *layout, struct class_writer *writer);

#endif
