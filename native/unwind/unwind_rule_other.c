/* Processors whose frames are not described here: no step. */
#if !defined(__x86_64__)

#include "native/unwind/call_frame_info.h"
#include "native/unwind/unwind_rule.h"

/* Numbers that no register has. */
const struct tracked_registers tracked_registers = {.number = {UINT64_MAX, UINT64_MAX}};

struct unwind_rule unwind_rule__of(const struct call_frame_row *row)
{
    (void)row;
    return UNWIND_RULE_NONE;
}

enum unwind_result unwind_rule__step(const struct unwind_rule *rule,
                                     struct frame_registers *registers, uint64_t stack_end)
{
    (void)rule;
    (void)registers;
    (void)stack_end;
    return UNWIND_NO_TABLE;
}

uint64_t unwind_rule__chained_pc(const struct frame_registers *registers, uint64_t stack_end)
{
    (void)registers;
    (void)stack_end;
    return 0;
}

void unwind_rule__step_chain(struct frame_registers *registers)
{
    (void)registers;
}

#endif
