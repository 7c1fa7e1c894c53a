#include "agent/classfile/stack_map.h"

#include "agent/classfile/descriptor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX     65535u
#define ARGUMENTS_MAX 255u /* JVMS 4.3.3 */

enum frame_type {
    FRAME_SAME = 0,
    FRAME_SAME_LAST = 63,
    FRAME_ONE_STACK = 64,
    FRAME_ONE_STACK_LAST = 127,
    FRAME_ONE_STACK_EXTENDED = 247,
    FRAME_CHOP = 248,
    FRAME_SAME_EXTENDED = 251,
    FRAME_APPEND_LAST = 254,
    FRAME_FULL = 255,
};

enum item_tag {
    ITEM_TOP = 0,
    ITEM_INTEGER = 1,
    ITEM_FLOAT = 2,
    ITEM_DOUBLE = 3,
    ITEM_LONG = 4,
    ITEM_UNINITIALIZED_THIS = 6,
    ITEM_OBJECT = 7,
    ITEM_UNINITIALIZED = 8,
};

struct item {
    uint8_t tag;
    uint16_t value; /* a class, or the pc of a `new` */
};

struct item_list {
    struct item *items;
    uint32_t count;
    uint32_t capacity;
};

/* A frame after the changes that one entry of the table makes to the previous frame. */
struct frame {
    uint8_t type;
    uint32_t pc;
    struct item_list locals;
    struct item_list stack;
};

struct frame_writer {
    struct class_writer *out;
    const struct stack_map_method *method;
    const struct code_layout *layout;
    struct item_list initial; /* the locals that the method starts with */
    uint32_t next_position;   /* the least the next frame may have */
    uint32_t count;
};

static bool make_room(struct item_list *list, uint32_t more)
{
    uint32_t needed = list->count + more;
    struct item *grown;

    if (needed <= list->capacity)
        return true;
    grown = realloc(list->items, (needed + needed / 2) * sizeof(*grown));
    if (!grown)
        return false;
    list->items = grown;
    list->capacity = needed + needed / 2;
    return true;
}

static void close_frame(struct frame *frame)
{
    free(frame->locals.items);
    free(frame->stack.items);
}

static int read_items(struct class_reader *reader, struct item_list *list, uint32_t count)
{
    if (count > ITEMS_MAX - list->count) {
        class_reader__fail(reader, reader->at, "at most 65535 local variables");
        return -EBADMSG;
    }
    if (!make_room(list, count))
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        struct item item = {.tag = class_reader__u1(reader)};

        if (item.tag > ITEM_UNINITIALIZED)
            class_reader__fail(reader, reader->at - 1, "a verification type");
        if (item.tag >= ITEM_OBJECT)
            item.value = class_reader__u2(reader);
        list->items[list->count++] = item;
    }
    return class_reader__ok(reader) ? 0 : -EBADMSG;
}

/* Reads what comes behind the offset delta. */
static int read_changes(struct class_reader *reader, struct frame *frame)
{
    int error;

    frame->stack.count = 0;
    if (frame->type == FRAME_FULL) {
        frame->locals.count = 0;
        error = read_items(reader, &frame->locals, class_reader__u2(reader));
        return error ? error : read_items(reader, &frame->stack, class_reader__u2(reader));
    }
    if (frame->type > FRAME_SAME_EXTENDED)
        return read_items(reader, &frame->locals, frame->type - FRAME_SAME_EXTENDED);
    if (frame->type >= FRAME_CHOP) {
        uint32_t chopped = FRAME_SAME_EXTENDED - frame->type;

        frame->locals.count -= chopped < frame->locals.count ? chopped : frame->locals.count;
        return 0;
    }
    return frame->type >= FRAME_ONE_STACK ? read_items(reader, &frame->stack, 1) : 0;
}

/* The next entry. */
static int read_frame(struct class_reader *reader, const struct code_layout *layout,
                      struct frame *frame, bool is_first)
{
    size_t offset = reader->at;
    uint32_t delta;

    frame->type = class_reader__u1(reader);
    if (frame->type > FRAME_ONE_STACK_LAST && frame->type < FRAME_ONE_STACK_EXTENDED)
        class_reader__fail(reader, offset, "a stack map frame type");
    if (frame->type >= FRAME_ONE_STACK_EXTENDED)
        delta = class_reader__u2(reader);
    else
        delta = frame->type % FRAME_ONE_STACK;
    frame->pc = is_first ? delta : frame->pc + delta + 1;
    if (!code_layout__is_instruction(layout, frame->pc))
        class_reader__fail(reader, offset, "a stack map frame at an instruction");
    return class_reader__ok(reader) ? read_changes(reader, frame) : -EBADMSG;
}

static void write_items(const struct frame_writer *writer, const struct item *items, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = items[i].value;

        class_writer__u1(writer->out, items[i].tag);
        if (items[i].tag == ITEM_UNINITIALIZED)
            value = code_layout__instruction(writer->layout, value);
        if (items[i].tag >= ITEM_OBJECT)
            class_writer__u2(writer->out, value);
    }
}

static uint32_t slots_of(const struct item_list *locals)
{
    uint32_t slots = locals->count;

    for (uint32_t i = 0; i < locals->count; i++)
        slots += locals->items[i].tag == ITEM_LONG || locals->items[i].tag == ITEM_DOUBLE;
    return slots;
}

/* With the token behind the frame's own. LIMIT_LOCALS: those are more than the method has. */
static int write_locals(struct frame_writer *writer, const struct item_list *locals)
{
    uint32_t slots = slots_of(locals);
    uint32_t token_local = writer->method->token_local;
    uint32_t bytes = 3 * slots + token_local;

    if (slots > token_local)
        return LIMIT_LOCALS;
    if (bytes > *writer->method->bytes_left)
        return LIMIT_STACK_MAP_BYTES;
    *writer->method->bytes_left -= bytes;
    if (!writer->method->has_token) {
        class_writer__u2(writer->out, locals->count);
        write_items(writer, locals->items, locals->count);
        return 0;
    }
    class_writer__u2(writer->out, locals->count + (token_local - slots) + 1);
    write_items(writer, locals->items, locals->count);
    while (slots++ < token_local)
        class_writer__u1(writer->out, ITEM_TOP);
    class_writer__u1(writer->out, ITEM_LONG);
    return 0;
}

static void begin_entry(struct frame_writer *writer, uint8_t type, uint32_t position)
{
    uint32_t delta = position - writer->next_position;

    writer->next_position = position + 1;
    writer->count++;
    if (type == FRAME_SAME && delta > FRAME_SAME_LAST)
        type = FRAME_SAME_EXTENDED;
    else if (type == FRAME_ONE_STACK && delta > FRAME_SAME_LAST)
        type = FRAME_ONE_STACK_EXTENDED;
    else if (type != FRAME_FULL)
        type = (uint8_t)(type + delta);
    class_writer__u1(writer->out, type);
    if (type >= FRAME_ONE_STACK_EXTENDED)
        class_writer__u2(writer->out, delta);
}

static int write_full(struct frame_writer *writer, const struct frame *frame, uint32_t position)
{
    int error;

    begin_entry(writer, FRAME_FULL, position);
    error = write_locals(writer, &frame->locals);
    class_writer__u2(writer->out, frame->stack.count);
    write_items(writer, frame->stack.items, frame->stack.count);
    return error;
}

/* For a frame with the locals of the one before, which is written already. */
static void write_short(struct frame_writer *writer, const struct frame *frame, uint32_t position)
{
    begin_entry(writer, frame->stack.count ? FRAME_ONE_STACK : FRAME_SAME, position);
    write_items(writer, frame->stack.items, frame->stack.count);
}

static bool keeps_locals(uint8_t type)
{
    return type <= FRAME_ONE_STACK_EXTENDED || type == FRAME_SAME_EXTENDED;
}

static int item_of_argument(struct constant_pool *pool, struct class_text type, struct item *item)
{
    static const uint8_t tags[] = {
        ['B'] = ITEM_INTEGER, ['C'] = ITEM_INTEGER, ['I'] = ITEM_INTEGER, ['S'] = ITEM_INTEGER,
        ['Z'] = ITEM_INTEGER, ['F'] = ITEM_FLOAT,   ['D'] = ITEM_DOUBLE,  ['J'] = ITEM_LONG,
        ['L'] = ITEM_OBJECT,  ['['] = ITEM_OBJECT,
    };
    uint8_t kind = type.bytes[0];

    item->tag = kind < sizeof(tags) ? tags[kind] : 0;
    if (kind == 'L') {
        type.bytes++;
        type.length -= 2;
    }
    if (item->tag == ITEM_OBJECT)
        item->value = (uint16_t)constant_pool__add_class(pool, type);
    return item->tag != ITEM_OBJECT || item->value ? 0 : LIMIT_POOL;
}

/* The locals that the method starts with, which no table holds (JVMS 4.10.1.6). */
static int read_initial(const struct stack_map_method *method, struct item_list *locals)
{
    struct descriptor_arguments arguments;
    struct class_text type;
    int error = 0;

    if (!make_room(locals, ARGUMENTS_MAX + 1))
        return -ENOMEM;
    if (!method->is_static)
        locals->items[locals->count++] = (struct item){
            .tag = method->is_constructor ? ITEM_UNINITIALIZED_THIS : ITEM_OBJECT,
            .value = (uint16_t)method->this_class,
        };
    if (!descriptor__begin(&arguments, method->descriptor))
        return 0;
    while (!error && locals->count < ARGUMENTS_MAX + 1 && descriptor__next(&arguments, &type) &&
           type.length > 0)
        error = item_of_argument(method->pool, type, &locals->items[locals->count++]);
    return error;
}

static int begin_frame(struct frame *frame, const struct item_list *initial)
{
    frame->locals.count = frame->stack.count = 0;
    if (!make_room(&frame->locals, initial->count))
        return -ENOMEM;
    if (initial->count)
        memcpy(frame->locals.items, initial->items, initial->count * sizeof(*initial->items));
    frame->locals.count = initial->count;
    return 0;
}

/* The frame at pc, found by reading the table up to there. */
static int find_frame(const struct frame_writer *writer, struct class_reader table, uint32_t pc,
                      struct frame *frame)
{
    uint32_t count = class_reader__u2(&table);
    int error = begin_frame(frame, &writer->initial);

    for (uint32_t i = 0; i < count && !error; i++) {
        error = read_frame(&table, writer->layout, frame, i == 0);
        if (frame->pc == pc)
            return error;
    }
    if (!error)
        class_reader__fail(&table, table.at, "a stack map frame for each branch target");
    return error ? error : -EBADMSG;
}

/* The trampolines from *next on that stand before `position`. */
static int write_trampolines(struct frame_writer *writer, struct class_reader table, uint32_t *next,
                             uint32_t position)
{
    const struct code_layout *layout = writer->layout;
    struct frame frame = {0};
    int error = 0;

    while (*next < layout->trampoline_count && !error &&
           layout->trampolines[*next].position < position) {
        const struct code_trampoline *trampoline = &layout->trampolines[(*next)++];

        error = find_frame(writer, table, trampoline->target, &frame);
        if (!error)
            error = write_full(writer, &frame, trampoline->position);
    }
    close_frame(&frame);
    return error;
}

static int write_frames(struct frame_writer *writer, struct class_reader *reader)
{
    const struct code_layout *layout = writer->layout;
    struct class_reader table = *reader;
    uint32_t count = class_reader__u2(reader);
    uint32_t trampoline = 0;
    struct frame frame = {0};
    int error = begin_frame(&frame, &writer->initial);

    for (uint32_t i = 0; i < count && !error; i++) {
        uint32_t before = trampoline;

        error = read_frame(reader, layout, &frame, i == 0);
        if (error)
            break;
        error = write_trampolines(writer, table, &trampoline, layout->label[frame.pc]);
        if (i > 0 && before == trampoline && keeps_locals(frame.type))
            write_short(writer, &frame, layout->label[frame.pc]);
        else if (!error)
            error = write_full(writer, &frame, layout->label[frame.pc]);
    }
    if (error == LIMIT_LOCALS) {
        class_reader__fail(reader, reader->at, "at most max_locals variables");
        error = -EBADMSG;
    }
    if (!error && reader->at != reader->end)
        class_reader__fail(reader, reader->at, "the end of the stack map");
    if (!error && !class_reader__ok(reader))
        error = -EBADMSG;
    if (!error)
        error = write_trampolines(writer, table, &trampoline, layout->end);
    close_frame(&frame);
    return error;
}

static int write_handler(struct frame_writer *writer, enum stack_map_handler which)
{
    struct item throwable = {.tag = ITEM_OBJECT, .value = (uint16_t)writer->method->throwable};
    struct item this = {.tag = ITEM_UNINITIALIZED_THIS};
    struct frame frame = {
        .locals = {.items = &this, .count = which == HANDLER_EARLY},
        .stack = {.items = &throwable, .count = 1},
    };

    return write_full(writer, &frame, writer->method->handlers[which]);
}

int stack_map__write(const struct stack_map_method *method, struct class_reader *reader,
                     struct class_writer *writer)
{
    struct frame_writer frames = {.out = writer, .method = method, .layout = method->layout};
    size_t start = writer->length;
    int error = 0;

    class_writer__u2(writer, 0);
    if (reader)
        error = read_initial(method, &frames.initial);
    if (reader && !error)
        error = write_frames(&frames, reader);
    for (int i = 0; i < HANDLERS && !error; i++)
        if (method->handlers[i])
            error = write_handler(&frames, (enum stack_map_handler)i);
    if (!error)
        class_writer__set_u2(writer, start, frames.count);
    free(frames.initial.items);
    return error;
}
