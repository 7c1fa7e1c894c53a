#include "agent/classfile/code_checks.h"

#include "agent/classfile/bytecode.h"

#include <errno.h>

int code_checks__targets(struct code_layout *layout, struct class_reader *reader)
{
    const struct method_code *method = layout->method;

    for (uint32_t pc = 0; pc < method->length; pc = code_layout__next(layout, pc)) {
        uint32_t count = bytecode__target_count(method->bytes, pc);

        layout->has_jumps |= count > 0;
        for (uint32_t i = 0; i < count; i++) {
            int64_t target = bytecode__target(method->bytes, pc, i);

            if (target < 0 || target >= method->length ||
                !(layout->flags[target] & CODE_INSTRUCTION)) {
                class_reader__fail(reader, method_code__offset(method, pc),
                                   "a branch to an instruction");
                return -EBADMSG;
            }
        }
    }
    return 0;
}

int code_checks__exceptions(const struct code_layout *layout, struct class_reader *reader)
{
    const struct method_code *method = layout->method;

    for (uint32_t i = 0; i < method->exception_count; i++) {
        struct exception_range range = method_code__exception(method, i);

        if (!code_layout__is_instruction(layout, range.start) ||
            !code_layout__is_instruction(layout, range.handler) ||
            (range.end != method->length && !code_layout__is_instruction(layout, range.end))) {
            class_reader__fail(reader, method_code__offset(method, method->length) + 2 + 8 * i,
                               "an exception range of instructions");
            return -EBADMSG;
        }
    }
    return 0;
}
