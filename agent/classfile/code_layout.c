#include "agent/classfile/code_layout.h"

#include "agent/classfile/bytecode.h"
#include "agent/classfile/code_checks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX      16u
#define TRAMPOLINES_MAX 256u
#define GOTO_W_BYTES    5u
#define INVERTED_BYTES  8u     /* a conditional jump over a goto_w */
#define REACH           32767  /* of a branch with a 16-bit offset */
#define REACH_WANTED    30000u /* of a branch to a new trampoline: others may push it away */

static uint8_t opcode_at(const struct code_layout *layout, uint32_t pc)
{
    return layout->method->bytes[pc];
}

static bool goes_on(const uint8_t *instruction)
{
    if (instruction[0] == OP_WIDE)
        return instruction[1] != OP_RET;
    return bytecode__goes_on(instruction[0]);
}

static int find_instructions(struct code_layout *layout, struct class_reader *reader)
{
    const struct method_code *method = layout->method;
    uint8_t last_opcode = OP_NOP;
    uint32_t last = 0;

    for (uint32_t pc = 0, length; pc < method->length; pc += length) {
        uint8_t kind = bytecode__of(opcode_at(layout, pc))->kind;

        length = bytecode__length(method->bytes, method->length, pc);
        if (length == 0) {
            class_reader__fail(reader, method_code__offset(method, pc), "an instruction");
            return -EBADMSG;
        }
        layout->flags[pc] = CODE_INSTRUCTION;
        if (kind == BYTECODE_RETURN)
            layout->flags[pc] |= CODE_RETURN;
        if (last_opcode == OP_MONITORENTER)
            layout->flags[pc] |= CODE_ACQUIRED;
        else if (last_opcode == OP_MONITOREXIT)
            layout->flags[pc] |= CODE_RELEASED;
        last_opcode = opcode_at(layout, pc);
        last = pc;
    }
    /* The JVM refuses that; with a handler behind it, it might not. */
    if (goes_on(method->bytes + last)) {
        class_reader__fail(reader, method_code__offset(method, last), "an instruction that ends");
        return -EBADMSG;
    }
    return 0;
}

/*
 * Handlers get hooks, but for those that an exception range covers which leads to them or further
 * back: javac makes such ranges around the monitorexit of synchronized blocks. A hook is a call and
 * may throw itself, for want of stack above all; in there it would be called again for ever. With
 * none in there, what a hook throws leads to a handler further on or out of the method.
 */
static int mark_caught(struct code_layout *layout)
{
    const struct method_code *method = layout->method;
    int32_t *step = calloc(method->length + 1u, sizeof(*step));
    int32_t depth = 0;

    if (!step)
        return -ENOMEM;
    for (uint32_t i = 0; i < method->exception_count; i++) {
        struct exception_range range = method_code__exception(method, i);
        uint32_t from = range.start > range.handler ? range.start : range.handler;

        layout->flags[range.handler] |= CODE_CAUGHT;
        if (from < range.end) {
            step[from]++;
            step[range.end]--;
        }
    }
    for (uint32_t pc = 0; pc < method->length; pc++) {
        depth += step[pc];
        if (depth > 0)
            layout->flags[pc] &= (uint16_t)~CODE_CAUGHT;
    }
    free(step);
    return 0;
}

int code_layout__open(struct code_layout *layout, const struct method_code *method,
                      struct class_reader *reader)
{
    size_t length = method->length + 1u;
    size_t bytes = sizeof(*layout->label) + sizeof(*layout->position) + sizeof(*layout->flags);
    int error;

    memset(layout, 0, sizeof(*layout));
    layout->method = method;
    layout->label = malloc(length * bytes);
    if (!layout->label)
        return -ENOMEM;
    layout->position = layout->label + length;
    layout->flags = (uint16_t *)(layout->position + length);
    memset(layout->flags, 0, length * sizeof(*layout->flags));
    error = find_instructions(layout, reader);
    if (!error)
        error = code_checks__targets(layout, reader);
    if (!error)
        error = code_checks__exceptions(layout, reader);
    if (!error && method->exception_count > 0)
        error = mark_caught(layout);
    if (error)
        code_layout__close(layout);
    return error;
}

void code_layout__close(struct code_layout *layout)
{
    free(layout->label);
    free(layout->trampolines);
    memset(layout, 0, sizeof(*layout));
}

static uint32_t new_length(const struct code_layout *layout, uint32_t pc, uint32_t length,
                           uint32_t position)
{
    switch (bytecode__of(opcode_at(layout, pc))->kind) {
    case BYTECODE_SWITCH:
        return length - (bytecode__switch_operands(pc) - pc) +
               (bytecode__switch_operands(position) - position);
    case BYTECODE_GOTO:
    case BYTECODE_JSR:
        return layout->flags[pc] & CODE_FAR ? GOTO_W_BYTES : length;
    case BYTECODE_CONDITIONAL:
        return layout->flags[pc] & CODE_FAR ? INVERTED_BYTES : length;
    default:
        return length;
    }
}

/* The position behind the trampolines that stand before pc. */
static uint32_t place_trampolines(struct code_layout *layout, uint32_t pc, uint32_t position)
{
    if (!(layout->flags[pc] & CODE_TRAMPOLINE))
        return position;
    for (uint32_t i = 0; i < layout->trampoline_count; i++)
        if (layout->trampolines[i].gap == pc) {
            layout->trampolines[i].position = position;
            position += GOTO_W_BYTES;
        }
    return position;
}

/* The hook behind the instruction before pc; or NULL. */
static const struct code_hook *hook_behind(const struct code_layout *layout, uint32_t pc)
{
    if (layout->flags[pc] & CODE_ACQUIRED)
        return &layout->hooks->acquired;
    return layout->flags[pc] & CODE_RELEASED ? &layout->hooks->released : NULL;
}

static uint32_t bytes_behind(const struct code_layout *layout, uint32_t pc)
{
    const struct code_hook *hook = hook_behind(layout, pc);

    return hook ? hook->length : 0;
}

static void measure(struct code_layout *layout)
{
    uint32_t position = layout->hooks->enter.length;
    uint32_t length = layout->method->length;

    for (uint32_t pc = 0, next; pc < length; pc = next) {
        next = code_layout__next(layout, pc);
        position = place_trampolines(layout, pc, position) + bytes_behind(layout, pc);
        layout->label[pc] = position;
        if (layout->flags[pc] & CODE_CAUGHT)
            position += layout->hooks->caught.length;
        if (layout->flags[pc] & CODE_RETURN)
            position += layout->hooks->leave.length;
        layout->position[pc] = position;
        position += new_length(layout, pc, next - pc, position);
    }
    position = place_trampolines(layout, length, position);
    layout->label[length] = layout->position[length] = layout->end = position;
}

static bool reaches(uint32_t from, uint32_t to)
{
    int64_t distance = (int64_t)to - from;

    return distance <= REACH && distance >= -REACH - 1;
}

/* Gaps: behind what does not go on, and not within an exception range, whose handler's frame need
 * not suit the trampoline's. */
static int find_gaps(struct code_layout *layout)
{
    const struct method_code *method = layout->method;
    int32_t *step = calloc(method->length + 2u, sizeof(*step));
    int32_t depth = 0;

    if (!step)
        return -ENOMEM;
    for (uint32_t i = 0; i < method->exception_count; i++) {
        struct exception_range range = method_code__exception(method, i);

        if (range.start < range.end) {
            step[range.start + 1u]++;
            step[range.end]--;
        }
    }
    for (uint32_t pc = 0; pc < method->length; pc = code_layout__next(layout, pc)) {
        uint32_t next = code_layout__next(layout, pc);
        uint8_t opcode = opcode_at(layout, pc);

        for (uint32_t i = pc + 1; i <= next; i++)
            depth += step[i];
        if (depth == 0 && !bytecode__goes_on(opcode) && bytecode__of(opcode)->kind != BYTECODE_JSR)
            layout->flags[next] |= CODE_GAP;
    }
    free(step);
    layout->gaps_known = true;
    return 0;
}

static bool is_near_gap(const struct code_layout *layout, uint32_t from, uint32_t pc)
{
    int64_t distance = (int64_t)layout->label[pc] - from;

    return (layout->flags[pc] & CODE_GAP) && distance <= REACH_WANTED &&
           distance >= -(int64_t)REACH_WANTED;
}

/* The nearest gap for a trampoline of the branch at pc, or 0. */
static uint32_t nearest_gap(const struct code_layout *layout, uint32_t pc)
{
    uint32_t length = layout->method->length;

    for (uint32_t away = 1; away <= length; away++) {
        if (pc + away <= length && is_near_gap(layout, layout->position[pc], pc + away))
            return pc + away;
        if (pc > away && is_near_gap(layout, layout->position[pc], pc - away))
            return pc - away;
    }
    return 0;
}

static const struct code_trampoline *find_trampoline(const struct code_layout *layout, uint32_t pc)
{
    uint32_t target = (uint32_t)bytecode__target(layout->method->bytes, pc, 0);

    for (uint32_t i = 0; i < layout->trampoline_count; i++) {
        const struct code_trampoline *trampoline = &layout->trampolines[i];

        if (trampoline->target == target && reaches(layout->position[pc], trampoline->position))
            return trampoline;
    }
    return NULL;
}

/* Keeps them by gap, so that their positions ascend. */
static int add_trampoline(struct code_layout *layout, uint32_t pc)
{
    struct code_trampoline *grown;
    uint32_t gap, i;

    if (!layout->gaps_known && find_gaps(layout) != 0)
        return -ENOMEM;
    gap = nearest_gap(layout, pc);
    if (gap == 0 || layout->trampoline_count == TRAMPOLINES_MAX)
        return LIMIT_BRANCH_REACH;
    grown = realloc(layout->trampolines, (layout->trampoline_count + 1) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    layout->trampolines = grown;
    for (i = layout->trampoline_count++; i > 0 && grown[i - 1].gap > gap; i--)
        grown[i] = grown[i - 1];
    grown[i] = (struct code_trampoline){
        .gap = gap,
        .target = (uint32_t)bytecode__target(layout->method->bytes, pc, 0),
        .position = layout->label[gap],
    };
    layout->flags[gap] |= CODE_TRAMPOLINE;
    return 0;
}

/* 0: it reaches its target; 1: it will, once places are found anew; or why it never will. */
static int make_reach(struct code_layout *layout, uint32_t pc)
{
    uint8_t opcode = opcode_at(layout, pc);
    uint8_t kind = bytecode__of(opcode)->kind;
    bool is_branch = kind == BYTECODE_GOTO || kind == BYTECODE_JSR || kind == BYTECODE_CONDITIONAL;
    uint32_t target;
    int error;

    if (!is_branch || bytecode__of(opcode)->length != 3 || (layout->flags[pc] & CODE_FAR))
        return 0;
    target = (uint32_t)bytecode__target(layout->method->bytes, pc, 0);
    if (reaches(layout->position[pc], layout->label[target]))
        return 0;
    if (kind != BYTECODE_CONDITIONAL || !layout->framed) {
        layout->flags[pc] |= CODE_FAR;
        return 1;
    }
    if (find_trampoline(layout, pc))
        return 0;
    error = add_trampoline(layout, pc);
    return error ? error : 1;
}

int code_layout__place(struct code_layout *layout, const struct code_hooks *hooks, bool framed)
{
    layout->hooks = hooks;
    layout->framed = framed;
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        int state = 0;

        measure(layout);
        if (layout->end > METHOD_CODE_BYTES_MAX)
            return LIMIT_CODE_LENGTH;
        if (layout->end <= REACH)
            return 0;
        for (uint32_t pc = 0; pc < layout->method->length; pc = code_layout__next(layout, pc)) {
            int one = make_reach(layout, pc);

            if (one < 0)
                return one;
            state |= one;
        }
        if (state == 0)
            return 0;
    }
    return LIMIT_BRANCH_REACH;
}

/* The instruction that pc is in. */
static uint32_t round_down(const struct code_layout *layout, uint32_t pc)
{
    if (pc >= layout->method->length)
        return layout->method->length;
    while (!(layout->flags[pc] & CODE_INSTRUCTION))
        pc--;
    return pc;
}

uint32_t code_layout__start(const struct code_layout *layout, uint32_t pc)
{
    return pc == 0 ? 0 : layout->label[round_down(layout, pc)];
}

uint32_t code_layout__range_end(const struct code_layout *layout, uint32_t pc)
{
    pc = round_down(layout, pc);
    if (layout->flags[pc] & CODE_TRAMPOLINE)
        for (uint32_t i = 0; i < layout->trampoline_count; i++)
            if (layout->trampolines[i].gap == pc)
                return layout->trampolines[i].position;
    return layout->label[pc];
}

uint32_t code_layout__exception_start(const struct code_layout *layout, uint32_t pc)
{
    uint32_t start = layout->label[pc];

    return layout->flags[pc] & CODE_ACQUIRED ? start - layout->hooks->acquired.length : start;
}

uint32_t code_layout__exception_end(const struct code_layout *layout, uint32_t pc)
{
    uint32_t end = code_layout__range_end(layout, pc);

    return layout->flags[pc] & CODE_RELEASED ? end - layout->hooks->released.length : end;
}

uint32_t code_layout__instruction(const struct code_layout *layout, uint32_t pc)
{
    return layout->position[round_down(layout, pc)];
}

static void write_goto_w(const struct code_layout *layout, uint8_t opcode, uint32_t target,
                         struct class_writer *writer, uint32_t position)
{
    class_writer__u1(writer, opcode);
    class_writer__u4(writer, layout->label[target] - position);
}

static void write_trampolines(const struct code_layout *layout, uint32_t pc,
                              struct class_writer *writer)
{
    if (!(layout->flags[pc] & CODE_TRAMPOLINE))
        return;
    for (uint32_t i = 0; i < layout->trampoline_count; i++)
        if (layout->trampolines[i].gap == pc)
            write_goto_w(layout, OP_GOTO_W, layout->trampolines[i].target, writer,
                         layout->trampolines[i].position);
}

static void write_switch(const struct code_layout *layout, uint32_t pc, struct class_writer *writer)
{
    const uint8_t *code = layout->method->bytes;
    const uint8_t *operands = code + bytecode__switch_operands(pc);
    uint32_t position = layout->position[pc];
    uint32_t count = bytecode__target_count(code, pc);
    uint32_t padding = bytecode__switch_operands(position) - position - 1;

    class_writer__u1(writer, code[pc]);
    while (padding-- > 0)
        class_writer__u1(writer, 0);
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && code[pc] == OP_LOOKUPSWITCH)
            class_writer__copy(writer, operands + (size_t)i * 8, 4);
        class_writer__u4(writer, layout->label[bytecode__target(code, pc, i)] - position);
        if (i == 0)
            class_writer__copy(writer, operands + 4, code[pc] == OP_LOOKUPSWITCH ? 4 : 8);
    }
}

static void write_branch(const struct code_layout *layout, uint32_t pc, struct class_writer *writer)
{
    uint8_t opcode = opcode_at(layout, pc);
    uint32_t target = (uint32_t)bytecode__target(layout->method->bytes, pc, 0);
    uint32_t position = layout->position[pc];
    const struct code_trampoline *trampoline;

    if (bytecode__of(opcode)->length != 3) {
        write_goto_w(layout, opcode, target, writer, position);
    } else if (!(layout->flags[pc] & CODE_FAR)) {
        class_writer__u1(writer, opcode);
        trampoline = reaches(position, layout->label[target]) ? NULL : find_trampoline(layout, pc);
        class_writer__u2(writer,
                         (trampoline ? trampoline->position : layout->label[target]) - position);
    } else if (bytecode__of(opcode)->kind != BYTECODE_CONDITIONAL) {
        write_goto_w(layout, opcode == OP_GOTO ? OP_GOTO_W : OP_JSR_W, target, writer, position);
    } else {
        class_writer__u1(writer, bytecode__inverse(opcode));
        class_writer__u2(writer, INVERTED_BYTES);
        write_goto_w(layout, OP_GOTO_W, target, writer, position + 3);
    }
}

static void write_changed(const struct code_layout *layout, uint32_t pc,
                          struct class_writer *writer)
{
    if (bytecode__of(opcode_at(layout, pc))->kind == BYTECODE_SWITCH)
        write_switch(layout, pc, writer);
    else
        write_branch(layout, pc, writer);
}

/* Something is to be written before the instruction. */
static bool has_hooks(const struct code_layout *layout, uint32_t pc)
{
    return layout->flags[pc] &
           (CODE_RETURN | CODE_TRAMPOLINE | CODE_CAUGHT | CODE_ACQUIRED | CODE_RELEASED);
}

static bool is_changed(uint8_t opcode)
{
    uint8_t kind = bytecode__of(opcode)->kind;

    return kind == BYTECODE_CONDITIONAL || kind == BYTECODE_GOTO || kind == BYTECODE_JSR ||
           kind == BYTECODE_SWITCH;
}

static void write_hooks(const struct code_layout *layout, uint32_t pc, struct class_writer *writer)
{
    const struct code_hooks *hooks = layout->hooks;
    const struct code_hook *behind = hook_behind(layout, pc);

    write_trampolines(layout, pc, writer);
    if (behind)
        class_writer__copy(writer, behind->bytes, behind->length);
    if (layout->flags[pc] & CODE_CAUGHT)
        class_writer__copy(writer, hooks->caught.bytes, hooks->caught.length);
    if (layout->flags[pc] & CODE_RETURN)
        class_writer__copy(writer, hooks->leave.bytes, hooks->leave.length);
}

void code_layout__write(const struct code_layout *layout, struct class_writer *writer)
{
    const struct method_code *method = layout->method;
    const struct code_hooks *hooks = layout->hooks;
    uint32_t copied = 0; /* what is before this pc is written */

    class_writer__copy(writer, hooks->enter.bytes, hooks->enter.length);
    for (uint32_t pc = 0, next; pc < method->length; pc = next) {
        next = code_layout__next(layout, pc);
        if (!has_hooks(layout, pc) && !is_changed(opcode_at(layout, pc)))
            continue;
        class_writer__copy(writer, method->bytes + copied, pc - copied);
        write_hooks(layout, pc, writer);
        copied = pc;
        if (is_changed(opcode_at(layout, pc))) {
            write_changed(layout, pc, writer);
            copied = next;
        }
    }
    class_writer__copy(writer, method->bytes + copied, method->length - copied);
    write_trampolines(layout, method->length, writer);
}
