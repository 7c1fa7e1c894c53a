#include "agent/classfile/code_rewriter.h"

#include "agent/classfile/bytecode.h"
#include "agent/classfile/code_attributes.h"
#include "agent/classfile/code_layout.h"
#include "agent/classfile/constructor_flow.h"
#include "agent/classfile/stack_map.h"

#include <errno.h>
#include <string.h>

#define TOKEN_SLOTS        2u
#define HANDLER_STACK      (1u + TOKEN_SLOTS) /* the exception is on it */
#define VERSION_STACK_MAPS 50u /* from here on a class may have them, from the next on it must */

struct rewriting {
    struct code_rewriter *rewriter;
    const struct hooked_method *method;
    struct class_reader *reader;
    struct class_writer *writer;
    struct code_layout layout;
    struct code_hooks hooks;
    struct class_reader stack_map;
    bool has_stack_map;
    bool wants_stack_map;
    uint32_t returns_only; /* so many bytes of the leave hook are for returns, not for exceptions */
    uint32_t range_count;
    uint32_t handlers[HANDLERS]; /* their positions; 0: there is none */
};

/* A stretch of positions that a handler covers; `pc` is where to look for the next one. */
struct covered_piece {
    enum stack_map_handler handler;
    uint32_t pc;
    uint32_t start;
    uint32_t end;
};

static struct class_text text_of(const char *word)
{
    return (struct class_text){(const uint8_t *)word, (uint32_t)strlen(word)};
}

static uint32_t add_hook(struct constant_pool *pool, uint32_t owner, const char *name,
                         uint32_t type)
{
    uint32_t text = constant_pool__add_text(pool, text_of(name));

    return constant_pool__add_method(pool, owner,
                                     constant_pool__add_name_and_type(pool, text, type));
}

static void prepare_counted(struct code_rewriter *rewriter)
{
    uint32_t type = constant_pool__add_text(rewriter->pool, text_of("(I)V"));

    rewriter->called = add_hook(rewriter->pool, rewriter->owner, "called", type);
}

static void prepare_hooked(struct code_rewriter *rewriter)
{
    struct constant_pool *pool = rewriter->pool;
    uint32_t owner = rewriter->owner;
    uint32_t type = constant_pool__add_text(pool, text_of("(J)V"));

    rewriter->leave = add_hook(pool, owner, "leave", type);
    rewriter->caught = add_hook(pool, owner, "caught", type);
    rewriter->throwable = constant_pool__add_class(pool, text_of("java/lang/Throwable"));
    type = constant_pool__add_text(pool, text_of("(I)J"));
    rewriter->enter = add_hook(pool, owner, "enter", type); /* the last: if this is there, all is */
}

void code_rewriter__prepare(struct code_rewriter *rewriter, bool counted)
{
    bool *is_prepared = counted ? &rewriter->is_prepared_to_count : &rewriter->is_prepared;

    if (*is_prepared)
        return;
    *is_prepared = true;
    if (!rewriter->owner) {
        rewriter->owner = constant_pool__add_class(rewriter->pool, text_of(rewriter->hook_class));
        if (rewriter->major_version >= VERSION_STACK_MAPS)
            rewriter->stack_map_name =
                constant_pool__add_text(rewriter->pool, text_of("StackMapTable"));
    }
    if (counted)
        prepare_counted(rewriter);
    else
        prepare_hooked(rewriter);
}

static void put(struct code_hook *hook, uint32_t byte)
{
    hook->bytes[hook->length++] = (uint8_t)byte;
}

static void put_u2(struct code_hook *hook, uint32_t value)
{
    put(hook, value >> 8);
    put(hook, value);
}

static void put_call(struct code_hook *hook, uint32_t method_index)
{
    put(hook, OP_INVOKESTATIC);
    put_u2(hook, method_index);
}

/* lload or lstore; the one-byte forms are for the first four. */
static void put_token(struct code_hook *hook, uint8_t opcode, uint8_t opcode_0, uint32_t local)
{
    if (local <= 3) {
        put(hook, opcode_0 + local);
    } else if (local <= UINT8_MAX) {
        put(hook, opcode);
        put(hook, local);
    } else {
        put(hook, OP_WIDE);
        put(hook, opcode);
        put_u2(hook, local);
    }
}

/* False: the pool is full. */
static bool put_first(struct rewriting *rewriting)
{
    struct constant_pool *pool = rewriting->rewriter->pool;
    uint32_t type = constant_pool__add_text(pool, text_of("(Ljava/lang/Object;)V"));
    uint32_t method = add_hook(pool, rewriting->rewriter->owner, rewriting->method->first, type);

    put(&rewriting->hooks.enter, OP_ALOAD_0);
    put_call(&rewriting->hooks.enter, method);
    return method != 0;
}

/* The number that the hook is called with, from the result on the stack. */
static void put_result(struct code_hook *hook, enum sharing_when when)
{
    static const uint8_t codes[][3] = {
        [SHARING_AT_BEGIN] = {OP_ICONST_0},
        [SHARING_FROM_0] = {OP_DUP},
        [SHARING_FROM_1] = {OP_DUP, OP_ICONST_1, OP_ISUB},
        [SHARING_LONG] = {OP_DUP2, OP_LCONST_1, OP_LCMP},
    };

    for (unsigned i = 0; i < sizeof(codes[when]) && codes[when][i] != OP_NOP; i++)
        put(hook, codes[when][i]);
}

static void put_permits(struct code_hook *hook, enum sharing_permits permits)
{
    static const uint8_t codes[][6] = {
        [SHARING_ONE] = {OP_ICONST_1},
        [SHARING_COUNT] = {OP_ILOAD_1},
        [SHARING_LOW_BYTE] = {OP_LLOAD_1, OP_L2I, OP_SIPUSH, 0, 0xff, OP_IAND},
    };
    static const uint8_t lengths[] = {
        [SHARING_ONE] = 1, [SHARING_COUNT] = 1, [SHARING_LOW_BYTE] = 6};

    for (unsigned i = 0; i < lengths[permits]; i++)
        put(hook, codes[permits][i]);
}

/* False: the pool is full. */
static bool put_sharing(struct rewriting *rewriting)
{
    const struct sharing_hook *sharing = &rewriting->method->sharing;
    struct constant_pool *pool = rewriting->rewriter->pool;
    uint32_t type = constant_pool__add_text(pool, text_of("(ILjava/lang/Object;II)V"));
    uint32_t method = add_hook(pool, rewriting->rewriter->owner, "sharing", type);
    bool at_begin = sharing->when == SHARING_AT_BEGIN;
    struct code_hook *hook = at_begin ? &rewriting->hooks.enter : &rewriting->hooks.leave;

    put_result(hook, (enum sharing_when)sharing->when);
    put(hook, OP_ALOAD_0);
    put(hook, OP_ICONST_0 + sharing->operation);
    put_permits(hook, (enum sharing_permits)sharing->permits);
    put_call(hook, method);
    rewriting->returns_only = at_begin ? 0 : hook->length;
    return method != 0;
}

/* False: the pool is full. */
static bool put_last(struct rewriting *rewriting)
{
    struct constant_pool *pool = rewriting->rewriter->pool;
    uint32_t type = constant_pool__add_text(pool, text_of("()V"));
    uint32_t method = add_hook(pool, rewriting->rewriter->owner, rewriting->method->last, type);

    put_call(&rewriting->hooks.leave, method);
    return method != 0;
}

/* False: the pool is full. */
static bool put_monitors(struct rewriting *rewriting)
{
    struct constant_pool *pool = rewriting->rewriter->pool;
    uint32_t owner = rewriting->rewriter->owner;
    uint32_t type = constant_pool__add_text(pool, text_of("()V"));
    uint32_t acquired = add_hook(pool, owner, "acquired", type);
    uint32_t released = add_hook(pool, owner, "released", type);

    put_call(&rewriting->hooks.acquired, acquired);
    put_call(&rewriting->hooks.released, released);
    return released != 0;
}

/* The monitor of a synchronized method: its first hook, and the last before the method is left.
 * False: the pool is full. */
static bool put_own_monitor(struct rewriting *rewriting, struct code_hook *to, const char *name)
{
    struct constant_pool *pool = rewriting->rewriter->pool;
    uint32_t type = constant_pool__add_text(pool, text_of("()V"));
    uint32_t method = add_hook(pool, rewriting->rewriter->owner, name, type);

    put_call(to, method);
    return method != 0;
}

static enum method_outcome make_hooks(struct rewriting *rewriting)
{
    struct code_rewriter *rewriter = rewriting->rewriter;
    struct code_hooks *hooks = &rewriting->hooks;
    uint32_t token = rewriting->method->code.max_locals;
    uint32_t id_index = 0;
    bool counted = rewriting->method->is_counted;

    if (!counted && token + TOKEN_SLOTS > UINT16_MAX)
        return METHOD_LOCALS_FULL;
    if (counted ? rewriter->called : rewriter->enter)
        id_index = constant_pool__add_integer(rewriter->pool, rewriting->method->id);
    if (!id_index ||
        (rewriting->method->has_own_monitor &&
         !put_own_monitor(rewriting, &hooks->enter, "acquired")) ||
        (rewriting->method->first && !put_first(rewriting)) ||
        (rewriting->method->sharing.operation && !put_sharing(rewriting)))
        return METHOD_POOL_FULL;
    put(&hooks->enter, id_index <= UINT8_MAX ? OP_LDC : OP_LDC_W);
    if (id_index <= UINT8_MAX)
        put(&hooks->enter, id_index);
    else
        put_u2(&hooks->enter, id_index);
    if (counted) {
        put_call(&hooks->enter, rewriter->called);
        return METHOD_HOOKED;
    }
    put_call(&hooks->enter, rewriter->enter);
    put_token(&hooks->enter, OP_LSTORE, OP_LSTORE_0, token);
    put_token(&hooks->caught, OP_LLOAD, OP_LLOAD_0, token);
    if (rewriting->method->has_own_monitor &&
        !put_own_monitor(rewriting, &hooks->leave, "releasing"))
        return METHOD_POOL_FULL;
    put_token(&hooks->leave, OP_LLOAD, OP_LLOAD_0, token);
    put_call(&hooks->leave, rewriter->leave);
    put_call(&hooks->caught, rewriter->caught);
    if ((rewriting->method->last && !put_last(rewriting)) ||
        (rewriting->method->has_monitors && !put_monitors(rewriting)))
        return METHOD_POOL_FULL;
    return METHOD_HOOKED;
}

/* A class of version 50 that needs stack maps and has none is verified by inference. */
static void decide_on_stack_map(struct rewriting *rewriting)
{
    const struct method_code *code = &rewriting->method->code;
    uint16_t version = rewriting->rewriter->major_version;

    if (version < VERSION_STACK_MAPS)
        return;
    rewriting->has_stack_map =
        code_attributes__find_stack_map(code, rewriting->rewriter->pool, &rewriting->stack_map);
    rewriting->wants_stack_map = rewriting->has_stack_map || version > VERSION_STACK_MAPS ||
                                 (!rewriting->layout.has_jumps && code->exception_count == 0);
}

static bool is_covered(const struct code_layout *layout, uint32_t pc,
                       enum stack_map_handler handler)
{
    unsigned cover = layout->flags[pc] & (CODE_UNCOVERED | CODE_EARLY);

    return cover == (handler == HANDLER_EARLY ? CODE_EARLY : 0);
}

static bool next_piece(const struct code_layout *layout, struct covered_piece *piece)
{
    uint32_t length = layout->method->length;
    uint32_t pc = piece->pc;

    if (layout->is_uncovered)
        return false;
    if (!layout->has_uncovered && !layout->trampoline_count) {
        piece->start = layout->label[pc];
        piece->end = layout->end;
        piece->pc = length;
        return pc == 0 && piece->handler == HANDLER_LAST;
    }
    while (pc < length && !is_covered(layout, pc, piece->handler))
        pc = code_layout__next(layout, pc);
    if (pc == length)
        return false;
    piece->start = layout->label[pc];
    do {
        pc = code_layout__next(layout, pc);
        piece->end = code_layout__range_end(layout, pc);
    } while (pc < length && is_covered(layout, pc, piece->handler) &&
             piece->end == layout->label[pc]);
    piece->pc = pc;
    return true;
}

static uint32_t count_pieces(const struct code_layout *layout, enum stack_map_handler handler)
{
    struct covered_piece piece = {.handler = handler};
    uint32_t count = 0;

    while (next_piece(layout, &piece))
        count++;
    return count;
}

static enum method_outcome arrange(struct rewriting *rewriting)
{
    const struct method_code *code = &rewriting->method->code;
    struct code_layout *layout = &rewriting->layout;
    uint32_t handler_length = rewriting->hooks.leave.length - rewriting->returns_only + 1u;
    uint32_t end;

    switch (code_layout__place(layout, &rewriting->hooks, rewriting->wants_stack_map)) {
    case 0:
        break;
    case LIMIT_CODE_LENGTH:
        return METHOD_CODE_TOO_LARGE;
    default:
        return METHOD_BRANCH_OUT_OF_REACH;
    }
    end = layout->end;
    for (int i = 0; i < HANDLERS; i++) {
        uint32_t pieces = count_pieces(layout, (enum stack_map_handler)i);

        if (pieces == 0)
            continue;
        rewriting->range_count += pieces;
        rewriting->handlers[i] = end;
        end += handler_length;
    }
    if (end > METHOD_CODE_BYTES_MAX)
        return METHOD_CODE_TOO_LARGE;
    if (rewriting->range_count + code->exception_count > UINT16_MAX)
        return METHOD_TOO_MANY_HANDLERS;
    if (code->max_stack > UINT16_MAX - HANDLER_STACK - SHARING_STACK)
        return METHOD_STACK_TOO_DEEP;
    return METHOD_HOOKED;
}

static void write_exception(struct class_writer *writer, uint32_t start, uint32_t end,
                            uint32_t handler, uint32_t catch_type)
{
    class_writer__u2(writer, start);
    class_writer__u2(writer, end);
    class_writer__u2(writer, handler);
    class_writer__u2(writer, catch_type);
}

static void write_exceptions(const struct rewriting *rewriting)
{
    const struct method_code *code = &rewriting->method->code;
    const struct code_layout *layout = &rewriting->layout;

    class_writer__u2(rewriting->writer, code->exception_count + rewriting->range_count);
    for (uint32_t i = 0; i < code->exception_count; i++) {
        struct exception_range range = method_code__exception(code, i);

        write_exception(rewriting->writer, code_layout__exception_start(layout, range.start),
                        code_layout__exception_end(layout, range.end), layout->label[range.handler],
                        range.catch_type);
    }
    for (int i = 0; i < HANDLERS; i++) {
        struct covered_piece piece = {.handler = (enum stack_map_handler)i};

        while (next_piece(layout, &piece))
            write_exception(rewriting->writer, piece.start, piece.end, rewriting->handlers[i], 0);
    }
}

static void write_code(const struct rewriting *rewriting)
{
    const struct method_code *code = &rewriting->method->code;
    struct class_writer *writer = rewriting->writer;
    const struct code_hook *leave = &rewriting->hooks.leave;
    bool counted = rewriting->method->is_counted;
    uint32_t of_sharing = rewriting->method->sharing.operation ? SHARING_STACK : 0;
    uint32_t more_stack = of_sharing + (counted ? 0 : TOKEN_SLOTS),
             least_stack = counted ? 1 : HANDLER_STACK;
    uint32_t max_stack = code->max_stack + more_stack;
    size_t length_at;

    class_writer__u2(writer, max_stack < least_stack ? least_stack : max_stack);
    class_writer__u2(writer, code->max_locals + (counted ? 0 : TOKEN_SLOTS));
    length_at = writer->length;
    class_writer__u4(writer, 0);
    code_layout__write(&rewriting->layout, writer);
    for (int i = 0; i < HANDLERS; i++)
        if (rewriting->handlers[i]) {
            class_writer__copy(writer, leave->bytes + rewriting->returns_only,
                               leave->length - rewriting->returns_only);
            class_writer__u1(writer, OP_ATHROW);
        }
    class_writer__set_u4(writer, length_at, (uint32_t)(writer->length - length_at - 4));
    write_exceptions(rewriting);
}

static int write_stack_map(struct rewriting *rewriting)
{
    const struct code_rewriter *rewriter = rewriting->rewriter;
    const struct hooked_method *method = rewriting->method;
    struct class_writer *writer = rewriting->writer;
    struct stack_map_method of = {
        .layout = &rewriting->layout,
        .pool = rewriter->pool,
        .descriptor = method->descriptor,
        .this_class = rewriter->this_class,
        .is_static = method->is_static,
        .is_constructor = method->is_constructor,
        .has_token = !method->is_counted,
        .token_local = method->code.max_locals,
        .handlers = {rewriting->handlers[HANDLER_LAST], rewriting->handlers[HANDLER_EARLY]},
        .throwable = rewriter->throwable,
        .bytes_left = &rewriting->rewriter->frame_bytes_left,
    };
    size_t length_at;
    int error;

    class_writer__u2(writer, rewriter->stack_map_name);
    length_at = writer->length;
    class_writer__u4(writer, 0);
    error = stack_map__write(&of, rewriting->has_stack_map ? &rewriting->stack_map : NULL, writer);
    if (!error)
        class_writer__set_u4(writer, length_at, (uint32_t)(writer->length - length_at - 4));
    return error;
}

/* 0; an enum code_limit, which the caller turns into a method_outcome; or -errno. */
static int write_all(struct rewriting *rewriting)
{
    struct class_writer *writer = rewriting->writer;
    uint16_t attribute_count = 0;
    size_t count_at;
    int error = 0;

    write_code(rewriting);
    count_at = writer->length;
    class_writer__u2(writer, 0);
    code_attributes__write(&rewriting->layout, rewriting->rewriter->pool, writer, &attribute_count);
    if (rewriting->has_stack_map || (rewriting->wants_stack_map && rewriting->range_count > 0)) {
        error = write_stack_map(rewriting);
        attribute_count++;
    }
    if (!class_reader__ok(rewriting->reader))
        return -EBADMSG;
    class_writer__set_u2(writer, count_at, attribute_count);
    return error;
}

static int rewrite_opened(struct rewriting *rewriting, enum method_outcome *outcome)
{
    const struct hooked_method *method = rewriting->method;
    int error = 0;

    *outcome = make_hooks(rewriting);
    if (*outcome != METHOD_HOOKED)
        return 0;
    decide_on_stack_map(rewriting);
    rewriting->layout.is_uncovered = method->is_uncovered || method->is_counted;
    if (method->is_constructor && !method->is_counted && rewriting->wants_stack_map)
        error = constructor_flow__mark(&rewriting->layout, rewriting->rewriter->pool,
                                       &rewriting->rewriter->flow_steps_left);
    if (!error) {
        *outcome = arrange(rewriting);
        error = *outcome == METHOD_HOOKED ? write_all(rewriting) : 0;
    }
    switch (error) {
    case LIMIT_FLOW:
        *outcome = METHOD_CONSTRUCTOR_UNCLEAR;
        return 0;
    case LIMIT_POOL:
        *outcome = METHOD_POOL_FULL;
        return 0;
    case LIMIT_STACK_MAP_BYTES:
        *outcome = METHOD_LOCALS_FULL;
        return 0;
    default:
        return error;
    }
}

int code_rewriter__rewrite(struct code_rewriter *rewriter, const struct hooked_method *method,
                           struct class_reader *reader, struct class_writer *writer,
                           enum method_outcome *outcome)
{
    struct rewriting rewriting = {
        .rewriter = rewriter, .method = method, .reader = reader, .writer = writer};
    int error = code_layout__open(&rewriting.layout, &method->code, reader);

    if (error)
        return error;
    error = rewrite_opened(&rewriting, outcome);
    code_layout__close(&rewriting.layout);
    return error;
}
