#if defined(__x86_64__)

#include "native/unwind/call_frame_info.h"
#include "native/unwind/unwind_rule.h"
#include "native/unwind/walked_stack.h"

#include <string.h>

/* System V ABI, AMD64 supplement, 3.6.2: DWARF's numbers. */
enum { DWARF_RBP = 6, DWARF_RSP = 7, DWARF_RETURN_ADDRESS = 16 };

const struct tracked_registers tracked_registers = {
    .number = {[TRACKED_FP] = DWARF_RBP, [TRACKED_RETURN_ADDRESS] = DWARF_RETURN_ADDRESS},
};

enum frame_rule {
    FRAME_NONE,
    FRAME_OUTERMOST,
    FRAME_SP,        /* ends at sp + offset */
    FRAME_FP,        /* ends at fp + offset */
    FRAME_FP_LOADED, /* ends at the address that stands at fp + offset */
    FRAME_PLT,       /* ends at sp + 8; from byte `offset` of an entry on, at sp + 16 */
    FRAME_SIGNAL,    /* the kernel's signal frame stands at sp */
};

enum fp_rule {
    FP_SAME,
    FP_UNKNOWN,
    FP_AT_CFA, /* kept at CFA + offset */
    FP_AT_FP,  /* kept at fp + offset */
};

/* Where the kernel's `struct ucontext` has the registers. sp points to that struct in the function
 * to which a signal handler returns. */
enum { UCONTEXT_RBP = 120, UCONTEXT_RSP = 160, UCONTEXT_RIP = 168 };

enum { WORD = STACK_WORD, PLT_ENTRY = 16 };

/* Opcodes of expressions, DWARF 5, 7.7.1. */
enum {
    OP_DEREF = 0x06,
    OP_AND = 0x1a,
    OP_PLUS = 0x22,
    OP_SHL = 0x24,
    OP_GE = 0x2a,
    OP_LIT0 = 0x30,
    OP_BREG_RBP = 0x70 + DWARF_RBP,
    OP_BREG_RSP = 0x70 + DWARF_RSP,
    OP_BREG_RIP = 0x70 + DWARF_RETURN_ADDRESS,
};

/* What linkers write for the procedure linkage table: CFA = rsp + 8 + ((rip & 15) >= N) * 8.
 * N stands where the table has 0. */
static const uint8_t plt_expression[] = {
    OP_BREG_RSP, 8, OP_BREG_RIP, 0, OP_LIT0 + 15, OP_AND, 0, OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS,
};

#define PLT_N 6u

static bool is_plt(const struct expression *expression, int32_t *threshold)
{
    const uint8_t *bytes = expression->bytes;

    if (expression->length != sizeof(plt_expression) || memcmp(bytes, plt_expression, PLT_N) != 0 ||
        memcmp(bytes + PLT_N + 1, plt_expression + PLT_N + 1, sizeof(plt_expression) - PLT_N - 1) !=
            0 ||
        bytes[PLT_N] < OP_LIT0 || bytes[PLT_N] >= OP_LIT0 + PLT_ENTRY)
        return false;
    *threshold = bytes[PLT_N] - OP_LIT0;
    return true;
}

/* True for rbp plus a number that fits one byte: so rows are written where the stack was aligned
 * anew. */
static bool is_fp_offset(const struct expression *expression, size_t length, int32_t *offset)
{
    if (expression->length != length || expression->bytes[0] != OP_BREG_RBP ||
        expression->bytes[1] & 0x80)
        return false;
    *offset = (int32_t)(expression->bytes[1] & 0x3f) - (int32_t)(expression->bytes[1] & 0x40);
    return true;
}

static bool set_frame_of_expression(struct unwind_rule *rule, const struct expression *expression)
{
    if (is_plt(expression, &rule->cfa_offset))
        rule->frame = FRAME_PLT;
    else if (is_fp_offset(expression, 3, &rule->cfa_offset) && expression->bytes[2] == OP_DEREF)
        rule->frame = FRAME_FP_LOADED;
    else
        return false;
    return true;
}

static bool set_frame(struct unwind_rule *rule, const struct call_frame_row *row)
{
    if (row->cfa == CFA_OF_EXPRESSION)
        return set_frame_of_expression(rule, &row->cfa_expression);
    if (row->cfa != CFA_OF_REGISTER || row->cfa_offset != (int32_t)row->cfa_offset)
        return false;
    rule->cfa_offset = (int32_t)row->cfa_offset;
    rule->frame = row->cfa_register == DWARF_RSP   ? FRAME_SP
                  : row->cfa_register == DWARF_RBP ? FRAME_FP
                                                   : FRAME_NONE;
    return rule->frame != FRAME_NONE;
}

/* Where fp no longer says where the frame ends, fp was popped: an expression that still counts from
 * fp is one that the compiler did not take back. */
static bool set_fp(struct unwind_rule *rule, const struct saved_register *saved)
{
    int32_t offset;

    rule->fp = FP_UNKNOWN;
    if (saved->kind == SAVED_NOWHERE) {
        rule->fp = FP_SAME;
    } else if (saved->kind == SAVED_AT_CFA) {
        if (saved->offset != (int16_t)saved->offset)
            return false;
        rule->fp = FP_AT_CFA;
        rule->fp_offset = (int16_t)saved->offset;
    } else if (saved->kind == SAVED_BY_EXPRESSION && is_fp_offset(&saved->expression, 2, &offset)) {
        rule->fp = rule->frame == FRAME_FP_LOADED ? FP_AT_FP : FP_SAME;
        rule->fp_offset = (int16_t)offset;
    }
    return true;
}

struct unwind_rule unwind_rule__of(const struct call_frame_row *row)
{
    const struct saved_register *return_address = &row->saved[TRACKED_RETURN_ADDRESS];
    struct unwind_rule rule = UNWIND_RULE_NONE;

    if (row->signal_frame)
        return (struct unwind_rule){.frame = FRAME_SIGNAL};
    if (return_address->kind == SAVED_UNDEFINED)
        return (struct unwind_rule){.frame = FRAME_OUTERMOST};
    if (return_address->kind != SAVED_AT_CFA || return_address->offset != -WORD ||
        !set_frame(&rule, row) || !set_fp(&rule, &row->saved[TRACKED_FP]))
        return UNWIND_RULE_NONE;
    return rule;
}

static enum unwind_result step_signal(struct frame_registers *registers,
                                      const struct walked_stack *stack)
{
    uint64_t context = registers->sp, sp;

    if (!walked_stack__holds(stack, context) || !walked_stack__holds(stack, context + UCONTEXT_RIP))
        return UNWIND_BAD_FRAME;
    sp = walked_stack__load(context + UCONTEXT_RSP);
    if (sp <= context || sp > stack->end || sp % WORD)
        return UNWIND_BAD_FRAME;
    registers->pc = walked_stack__load(context + UCONTEXT_RIP);
    registers->fp = walked_stack__load(context + UCONTEXT_RBP);
    registers->fp_known = true;
    registers->sp = sp;
    registers->interrupted = true;
    return UNWIND_STEPPED;
}

/* Where the frame ends; 0: not known. */
static uint64_t frame_end(const struct unwind_rule *rule, const struct frame_registers *registers,
                          const struct walked_stack *stack)
{
    uint64_t offset = (uint64_t)(int64_t)rule->cfa_offset;

    switch (rule->frame) {
    case FRAME_SP:
        return registers->sp + offset;
    case FRAME_FP:
        return registers->fp_known ? registers->fp + offset : 0;
    case FRAME_FP_LOADED:
        return registers->fp_known && walked_stack__holds(stack, registers->fp + offset)
                   ? walked_stack__load(registers->fp + offset)
                   : 0;
    case FRAME_PLT:
        return registers->sp + WORD + (registers->pc % PLT_ENTRY >= offset ? WORD : 0);
    default:
        return 0;
    }
}

/* False if the caller's fp should be on the stack and cannot be. Compilers do not say that fp has
 * its old value back between `pop` and `ret`: the row then names a slot that sp has already passed.
 */
static bool step_fp(const struct unwind_rule *rule, struct frame_registers *registers, uint64_t cfa,
                    const struct walked_stack *stack)
{
    uint64_t slot = rule->fp == FP_AT_CFA ? cfa : registers->fp;

    if (rule->fp == FP_UNKNOWN)
        registers->fp_known = false;
    if (rule->fp != FP_AT_CFA && rule->fp != FP_AT_FP)
        return true;
    if (rule->fp == FP_AT_FP && !registers->fp_known)
        return false;
    slot += (uint64_t)(int64_t)rule->fp_offset;
    if (slot < stack->sp)
        return true;
    if (!walked_stack__holds(stack, slot))
        return false;
    registers->fp = walked_stack__load(slot);
    registers->fp_known = true;
    return true;
}

enum unwind_result unwind_rule__step(const struct unwind_rule *rule,
                                     struct frame_registers *registers, uint64_t stack_end)
{
    const struct walked_stack stack = {registers->sp, stack_end};
    struct frame_registers caller = *registers;
    uint64_t cfa;

    if (rule->frame == FRAME_NONE)
        return UNWIND_NO_TABLE;
    if (rule->frame == FRAME_OUTERMOST)
        return UNWIND_END;
    if (rule->frame == FRAME_SIGNAL)
        return step_signal(registers, &stack);
    cfa = frame_end(rule, registers, &stack);
    if (cfa <= stack.sp || cfa > stack.end || !walked_stack__holds(&stack, cfa - WORD) ||
        !step_fp(rule, &caller, cfa, &stack))
        return UNWIND_BAD_FRAME;
    caller.pc = walked_stack__load(cfa - WORD);
    caller.sp = cfa;
    caller.interrupted = false;
    if (caller.pc == 0)
        return UNWIND_END;
    *registers = caller;
    return UNWIND_STEPPED;
}

uint64_t unwind_rule__chained_pc(const struct frame_registers *registers, uint64_t stack_end)
{
    const struct walked_stack stack = {registers->sp, stack_end};

    if (!registers->fp_known || !walked_stack__holds(&stack, registers->fp) ||
        !walked_stack__holds(&stack, registers->fp + WORD))
        return 0;
    return walked_stack__load(registers->fp + WORD);
}

void unwind_rule__step_chain(struct frame_registers *registers)
{
    uint64_t frame = registers->fp;

    registers->fp = walked_stack__load(frame);
    registers->pc = walked_stack__load(frame + WORD);
    registers->sp = frame + 2 * WORD;
    registers->interrupted = false;
}

#endif
