#include "agent/classfile/constructor_flow.h"

#include "agent/classfile/bytecode.h"
#include "agent/classfile/descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COPIES_MAX 14u /* of the uninitialised `this` at one time */

enum status {
    UNREACHED,
    UNINITIALISED,
    INITIALISED,
    MAYBE,
};

/* Before an instruction. A slot is a local variable, or max_locals + its height on the stack. */
struct flow_state {
    uint8_t status;
    uint8_t copy_count;
    uint16_t depth; /* of the operand stack; kept while uninitialised */
    uint32_t copies[COPIES_MAX];
};

struct flow {
    const struct code_layout *layout;
    const struct method_code *method;
    const struct constant_pool *pool;
    struct flow_state *before; /* for each pc */
    uint16_t *pending;         /* a stack of pcs to look at again */
    uint8_t *is_pending;       /* for each pc */
    uint32_t pending_count;
    uint32_t steps_left;
    bool failed;
};

static bool holds_this(const struct flow_state *state, uint32_t slot)
{
    for (uint32_t i = 0; i < state->copy_count; i++)
        if (state->copies[i] == slot)
            return true;
    return false;
}

static void forget(struct flow_state *state, uint32_t slot)
{
    for (uint32_t i = 0; i < state->copy_count; i++)
        if (state->copies[i] == slot) {
            state->copies[i] = state->copies[--state->copy_count];
            return;
        }
}

static void remember(struct flow *flow, struct flow_state *state, uint32_t slot)
{
    if (holds_this(state, slot))
        return;
    if (state->copy_count == COPIES_MAX)
        flow->failed = true;
    else
        state->copies[state->copy_count++] = slot;
}

static void pop(struct flow *flow, struct flow_state *state, uint32_t count)
{
    if (count > state->depth) {
        flow->failed = true;
        return;
    }
    while (count-- > 0)
        forget(state, flow->method->max_locals + (uint32_t)--state->depth);
}

static void push(struct flow *flow, struct flow_state *state, uint32_t count)
{
    if (count > (uint32_t)flow->method->max_stack - state->depth)
        flow->failed = true;
    else
        state->depth = (uint16_t)(state->depth + count);
}

static void push_value(struct flow *flow, struct flow_state *state, bool is_this)
{
    if (is_this)
        remember(flow, state, flow->method->max_locals + (uint32_t)state->depth);
    push(flow, state, 1);
}

/* Where two paths meet. false: they agree with what was known. */
static bool merge(struct flow *flow, struct flow_state *known, const struct flow_state *state)
{
    uint8_t count = known->copy_count;

    if (known->status == UNREACHED) {
        *known = *state;
        return true;
    }
    if (known->status != state->status) {
        bool changed = known->status != MAYBE;

        known->status = MAYBE;
        return changed;
    }
    if (known->status != UNINITIALISED)
        return false;
    if (known->depth != state->depth)
        flow->failed = true;
    for (uint32_t i = known->copy_count; i > 0; i--)
        if (!holds_this(state, known->copies[i - 1]))
            forget(known, known->copies[i - 1]);
    return known->copy_count != count;
}

static void take_step(struct flow *flow)
{
    if (flow->steps_left == 0)
        flow->failed = true;
    else
        flow->steps_left--;
}

static void reach(struct flow *flow, uint32_t pc, const struct flow_state *state)
{
    take_step(flow);
    if (pc >= flow->method->length)
        flow->failed = true;
    if (flow->failed)
        return;
    if (merge(flow, &flow->before[pc], state) && !flow->is_pending[pc]) {
        flow->is_pending[pc] = 1;
        flow->pending[flow->pending_count++] = (uint16_t)pc;
    }
}

/* A handler starts with the locals as they are anywhere in its range. */
static void reach_handlers(struct flow *flow, uint32_t pc, const struct flow_state *state)
{
    for (uint32_t i = 0; i < flow->method->exception_count && !flow->failed; i++) {
        struct exception_range range = method_code__exception(flow->method, i);
        struct flow_state thrown = *state;

        take_step(flow);
        if (pc < range.start || pc >= range.end)
            continue;
        if (state->status == UNINITIALISED) {
            pop(flow, &thrown, thrown.depth);
            push(flow, &thrown, 1);
        }
        reach(flow, range.handler, &thrown);
    }
}

/* A ret may lead behind any jsr. */
static void reach_behind_jsr(struct flow *flow, const struct flow_state *state)
{
    const struct code_layout *layout = flow->layout;

    for (uint32_t pc = 0; pc < flow->method->length && !flow->failed;
         pc = code_layout__next(layout, pc)) {
        take_step(flow);
        if (bytecode__of(flow->method->bytes[pc])->kind == BYTECODE_JSR)
            reach(flow, code_layout__next(layout, pc), state);
    }
}

static uint32_t local_operand(const uint8_t *code, uint32_t pc, bool wide)
{
    return wide ? big_endian_u2(code + pc + 1) : code[pc + 1];
}

static void load(struct flow *flow, struct flow_state *state, uint32_t pc, bool wide)
{
    const uint8_t *code = flow->method->bytes;
    uint32_t local =
        code[pc] == OP_ALOAD ? local_operand(code, pc, wide) : (uint32_t)code[pc] - OP_ALOAD_0;

    push_value(flow, state, local < flow->method->max_locals && holds_this(state, local));
}

static void store(struct flow *flow, struct flow_state *state, uint32_t pc, bool wide)
{
    const uint8_t *code = flow->method->bytes;
    uint32_t slots = bytecode__of(code[pc])->pops;
    uint32_t top = flow->method->max_locals + (uint32_t)state->depth - 1;
    bool is_this = state->depth > 0 && slots == 1 && holds_this(state, top);
    uint32_t local =
        code[pc] >= OP_ISTORE_0 ? (code[pc] - OP_ISTORE_0) % 4u : local_operand(code, pc, wide);

    pop(flow, state, slots);
    if (local + slots > flow->method->max_locals) {
        flow->failed = true;
        return;
    }
    for (uint32_t i = 0; i < slots; i++)
        forget(state, local + i);
    if (is_this)
        remember(flow, state, local);
}

/* What is on the stack afterwards, as heights above the deepest slot that takes part. */
static void shuffle(struct flow *flow, struct flow_state *state, uint8_t opcode)
{
    static const uint8_t after[][6] = {
        {0, 0},             /* dup */
        {1, 0, 1},          /* dup_x1 */
        {2, 0, 1, 2},       /* dup_x2 */
        {0, 1, 0, 1},       /* dup2 */
        {1, 2, 0, 1, 2},    /* dup2_x1 */
        {2, 3, 0, 1, 2, 3}, /* dup2_x2 */
        {1, 0},             /* swap */
    };
    const struct bytecode *bytecode = bytecode__of(opcode);
    uint32_t base = flow->method->max_locals + (uint32_t)state->depth - bytecode->pops;
    bool was_this[4] = {false};

    if (state->depth < bytecode->pops) {
        flow->failed = true;
        return;
    }
    for (uint32_t i = 0; i < bytecode->pops; i++)
        was_this[i] = holds_this(state, base + i);
    pop(flow, state, bytecode->pops);
    for (uint32_t i = 0; i < bytecode->pushes; i++)
        push_value(flow, state, was_this[after[opcode - OP_DUP][i]]);
}

static void use_field(struct flow *flow, struct flow_state *state, uint32_t pc)
{
    uint8_t opcode = flow->method->bytes[pc];
    struct class_text name, type;
    uint32_t slots;

    if (!constant_pool__member(flow->pool, big_endian_u2(flow->method->bytes + pc + 1), &name,
                               &type)) {
        flow->failed = true;
        return;
    }
    slots = descriptor__slots(type);
    pop(flow, state,
        (opcode == OP_GETFIELD || opcode == OP_PUTFIELD ? 1 : 0) +
            (opcode == OP_PUTSTATIC || opcode == OP_PUTFIELD ? slots : 0));
    if (opcode == OP_GETSTATIC || opcode == OP_GETFIELD)
        push(flow, state, slots);
}

static void invoke(struct flow *flow, struct flow_state *state, uint32_t pc)
{
    uint8_t opcode = flow->method->bytes[pc];
    bool has_receiver = opcode != OP_INVOKESTATIC && opcode != OP_INVOKEDYNAMIC;
    struct class_text name, descriptor;
    uint32_t arguments, result;

    if (!constant_pool__member(flow->pool, big_endian_u2(flow->method->bytes + pc + 1), &name,
                               &descriptor) ||
        !descriptor__method_slots(descriptor, &arguments, &result)) {
        flow->failed = true;
        return;
    }
    pop(flow, state, arguments);
    if (opcode == OP_INVOKESPECIAL && class_text__is(name, "<init>") && state->depth > 0 &&
        holds_this(state, flow->method->max_locals + (uint32_t)state->depth - 1))
        state->status = INITIALISED;
    pop(flow, state, has_receiver);
    push(flow, state, result);
}

/* Makes of the state before an instruction the one behind it. */
static void step(struct flow *flow, struct flow_state *state, uint32_t pc)
{
    const uint8_t *code = flow->method->bytes;
    bool wide = code[pc] == OP_WIDE;
    const struct bytecode *bytecode;

    pc += wide;
    bytecode = bytecode__of(code[pc]);
    switch (bytecode->kind) {
    case BYTECODE_LOAD:
        load(flow, state, pc, wide);
        break;
    case BYTECODE_STORE:
        store(flow, state, pc, wide);
        break;
    case BYTECODE_SHUFFLE:
        shuffle(flow, state, code[pc]);
        break;
    case BYTECODE_FIELD:
        use_field(flow, state, pc);
        break;
    case BYTECODE_INVOKE:
        invoke(flow, state, pc);
        break;
    case BYTECODE_MULTI_ARRAY:
        pop(flow, state, code[pc + 3]);
        push(flow, state, 1);
        break;
    default:
        pop(flow, state, bytecode->pops);
        push(flow, state, bytecode->pushes);
    }
}

static void follow(struct flow *flow, uint32_t pc)
{
    const uint8_t *code = flow->method->bytes;
    struct flow_state state = flow->before[pc];
    uint32_t count = bytecode__target_count(code, pc);
    uint8_t opcode = code[pc] == OP_WIDE ? code[pc + 1] : code[pc];

    reach_handlers(flow, pc, &state);
    if (state.status == UNINITIALISED && !flow->failed)
        step(flow, &state, pc);
    for (uint32_t i = 0; i < count && !flow->failed; i++)
        reach(flow, (uint32_t)bytecode__target(code, pc, i), &state);
    if (opcode == OP_RET)
        reach_behind_jsr(flow, &state);
    else if (bytecode__goes_on(opcode))
        reach(flow, code_layout__next(flow->layout, pc), &state);
}

static void run(struct flow *flow)
{
    struct flow_state start = {.status = UNINITIALISED, .copy_count = 1};

    reach(flow, 0, &start);
    while (flow->pending_count > 0 && !flow->failed) {
        uint32_t pc = flow->pending[--flow->pending_count];

        flow->is_pending[pc] = 0;
        follow(flow, pc);
    }
}

static uint8_t cover_at(struct flow *flow, uint32_t pc)
{
    struct flow_state state = flow->before[pc];

    if (state.status == INITIALISED)
        return 0;
    if (state.status != UNINITIALISED || !holds_this(&state, 0))
        return CODE_UNCOVERED;
    step(flow, &state, pc);
    return state.status == UNINITIALISED ? CODE_EARLY : CODE_UNCOVERED;
}

int constructor_flow__mark(struct code_layout *layout, const struct constant_pool *pool,
                           uint32_t *steps_left)
{
    uint32_t length = layout->method->length;
    struct flow flow = {
        .layout = layout,
        .method = layout->method,
        .pool = pool,
        .before = calloc(length, sizeof(*flow.before)),
        .pending = calloc(length, sizeof(*flow.pending)),
        .is_pending = calloc(length, 1),
        .steps_left = *steps_left,
        .failed = layout->method->max_locals == 0,
    };
    int error = flow.before && flow.pending && flow.is_pending ? 0 : -ENOMEM;

    if (!error)
        run(&flow);
    if (!error && flow.failed)
        error = LIMIT_FLOW;
    layout->has_uncovered = true;
    for (uint32_t pc = 0; pc < length && !error; pc = code_layout__next(layout, pc))
        layout->flags[pc] |= cover_at(&flow, pc);
    *steps_left = flow.steps_left;
    free(flow.before);
    free(flow.pending);
    free(flow.is_pending);
    return error;
}
