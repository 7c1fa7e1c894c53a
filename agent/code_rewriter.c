#include "agent/code_rewriter.h"

#include "agent/bytecode.h"
#include "agent/code_attributes.h"
#include "agent/code_layout.h"
#include "agent/constructor_flow.h"
#include "agent/stack_map.h"

#include <errno.h>
#include <string.h>

#define HANDLER_STACK      2u  /* the exception and the id */
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
    bool has_handler;
};

/* A stretch of positions that the handler covers; `pc` is where to look for the next one. */
struct covered_piece {
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

void code_rewriter__prepare(struct code_rewriter *rewriter)
{
    struct constant_pool *pool = rewriter->pool;
    uint32_t owner, type;

    if (rewriter->is_prepared)
        return;
    rewriter->is_prepared = true;
    owner = constant_pool__add_class(pool, text_of(rewriter->hook_class));
    type = constant_pool__add_text(pool, text_of("(I)V"));
    rewriter->leave = add_hook(pool, owner, "leave", type);
    rewriter->throwable = constant_pool__add_class(pool, text_of("java/lang/Throwable"));
    if (rewriter->major_version >= VERSION_STACK_MAPS)
        rewriter->stack_map_name = constant_pool__add_text(pool, text_of("StackMapTable"));
    rewriter->enter = add_hook(pool, owner, "enter", type); /* the last: if this is there, all is */
}

static uint8_t make_hook(uint8_t *hook, uint32_t id_index, uint32_t method_index)
{
    uint8_t length = 0;

    hook[length++] = id_index <= UINT8_MAX ? OP_LDC : OP_LDC_W;
    if (id_index > UINT8_MAX)
        hook[length++] = (uint8_t)(id_index >> 8);
    hook[length++] = (uint8_t)id_index;
    hook[length++] = OP_INVOKESTATIC;
    hook[length++] = (uint8_t)(method_index >> 8);
    hook[length++] = (uint8_t)method_index;
    return length;
}

static enum method_outcome make_hooks(struct rewriting *rewriting)
{
    struct code_rewriter *rewriter = rewriting->rewriter;
    uint32_t id_index = 0;

    if (rewriter->enter)
        id_index = constant_pool__add_integer(rewriter->pool, rewriting->method->id);
    if (!id_index)
        return METHOD_POOL_FULL;
    make_hook(rewriting->hooks.enter, id_index, rewriter->enter);
    rewriting->hooks.length = make_hook(rewriting->hooks.leave, id_index, rewriter->leave);
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

static bool is_covered(const struct code_layout *layout, uint32_t pc)
{
    return !(layout->flags[pc] & (CODE_RETURN | CODE_UNCOVERED));
}

static bool next_piece(const struct code_layout *layout, struct covered_piece *piece)
{
    uint32_t length = layout->method->length;
    uint32_t pc = piece->pc;

    while (pc < length && !is_covered(layout, pc))
        pc = code_layout__next(layout, pc);
    if (pc == length)
        return false;
    piece->start = layout->label[pc];
    do {
        pc = code_layout__next(layout, pc);
        piece->end = code_layout__range_end(layout, pc);
    } while (pc < length && is_covered(layout, pc) && piece->end == layout->label[pc]);
    piece->pc = pc;
    return true;
}

static uint32_t count_pieces(const struct code_layout *layout)
{
    struct covered_piece piece = {0};
    uint32_t count = 0;

    while (next_piece(layout, &piece))
        count++;
    return count;
}

static enum method_outcome arrange(struct rewriting *rewriting)
{
    const struct method_code *code = &rewriting->method->code;
    struct code_layout *layout = &rewriting->layout;
    uint32_t handler_length = rewriting->hooks.length + 1u;
    uint32_t pieces;

    switch (code_layout__place(layout, rewriting->hooks.length, rewriting->wants_stack_map)) {
    case 0:
        break;
    case -E2BIG:
        return METHOD_CODE_TOO_LARGE;
    default:
        return METHOD_BRANCH_OUT_OF_REACH;
    }
    pieces = count_pieces(layout);
    rewriting->has_handler = pieces > 0;
    if (rewriting->has_handler && layout->end + handler_length > METHOD_CODE_BYTES_MAX)
        return METHOD_CODE_TOO_LARGE;
    if (pieces + code->exception_count > UINT16_MAX)
        return METHOD_TOO_MANY_HANDLERS;
    if (code->max_stack > UINT16_MAX - HANDLER_STACK)
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
    struct covered_piece piece = {0};

    class_writer__u2(rewriting->writer, code->exception_count + count_pieces(layout));
    for (uint32_t i = 0; i < code->exception_count; i++) {
        struct exception_range range = method_code__exception(code, i);

        write_exception(rewriting->writer, layout->label[range.start],
                        code_layout__range_end(layout, range.end), layout->label[range.handler],
                        range.catch_type);
    }
    while (next_piece(layout, &piece))
        write_exception(rewriting->writer, piece.start, piece.end, layout->end, 0);
}

static void write_code(const struct rewriting *rewriting)
{
    const struct method_code *code = &rewriting->method->code;
    struct class_writer *writer = rewriting->writer;
    uint32_t max_stack = code->max_stack + 1u;
    size_t length_at;

    class_writer__u2(writer, max_stack < HANDLER_STACK ? HANDLER_STACK : max_stack);
    class_writer__u2(writer, code->max_locals);
    length_at = writer->length;
    class_writer__u4(writer, 0);
    code_layout__write(&rewriting->layout, &rewriting->hooks, writer);
    if (rewriting->has_handler) {
        class_writer__copy(writer, rewriting->hooks.leave, rewriting->hooks.length);
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
        .throwable = rewriting->has_handler ? rewriter->throwable : 0,
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

/* 0 or an errno that the caller understands. */
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
    if (rewriting->has_stack_map || (rewriting->wants_stack_map && rewriting->has_handler)) {
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
    if (method->is_constructor)
        error = constructor_flow__mark(&rewriting->layout, rewriting->rewriter->pool,
                                       &rewriting->rewriter->flow_steps_left);
    if (!error) {
        *outcome = arrange(rewriting);
        error = *outcome == METHOD_HOOKED ? write_all(rewriting) : 0;
    }
    if (error == -EDOM)
        *outcome = METHOD_CONSTRUCTOR_UNCLEAR;
    if (error == -ENOSPC)
        *outcome = METHOD_POOL_FULL;
    return error == -EDOM || error == -ENOSPC ? 0 : error;
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
