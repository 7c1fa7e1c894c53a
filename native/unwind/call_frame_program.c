#include "native/unwind/call_frame_info.h"
#include "native/unwind/encoded_pointer.h"

/* A program may remember so many states at once; compilers stay far below. */
#define REMEMBERED_MAX 16u

/* Instructions with their operand in the low six bits. */
#define PRIMARY      0xc0u
#define PRIMARY_REST 0x3fu

enum {
    ADVANCE_LOC = 0x40,
    OFFSET = 0x80,
    RESTORE = 0xc0,
};

/* DWARF 5, 7.24; the last three are GNU's. */
enum {
    NOP = 0x00,
    SET_LOC = 0x01,
    ADVANCE_LOC1 = 0x02,
    ADVANCE_LOC2 = 0x03,
    ADVANCE_LOC4 = 0x04,
    OFFSET_EXTENDED = 0x05,
    RESTORE_EXTENDED = 0x06,
    UNDEFINED = 0x07,
    SAME_VALUE = 0x08,
    REGISTER = 0x09,
    REMEMBER_STATE = 0x0a,
    RESTORE_STATE = 0x0b,
    DEF_CFA = 0x0c,
    DEF_CFA_REGISTER = 0x0d,
    DEF_CFA_OFFSET = 0x0e,
    DEF_CFA_EXPRESSION = 0x0f,
    EXPRESSION = 0x10,
    OFFSET_EXTENDED_SF = 0x11,
    DEF_CFA_SF = 0x12,
    DEF_CFA_OFFSET_SF = 0x13,
    VAL_OFFSET = 0x14,
    VAL_OFFSET_SF = 0x15,
    VAL_EXPRESSION = 0x16,
    GNU_ARGS_SIZE = 0x2e,
    GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
    INSTRUCTION_COUNT = 0x30,
};

struct run {
    const struct call_frame_entry *entry;
    const struct tracked_registers *tracked;
    struct byte_cursor cursor;
    const struct frame_section *program;
    struct call_frame_row row;
    struct call_frame_row initial;     /* what "restore" goes back to */
    struct call_frame_row *remembered; /* room for REMEMBERED_MAX */
    unsigned remembered_count;
    uint64_t offset; /* of the row, from the function's start */
    call_frame_row_found found;
    void *context;
    bool enough; /* no more rows are wanted */
};

static uint64_t wrapped_product(uint64_t factor, int64_t align)
{
    return factor * (uint64_t)align;
}

static void save(struct run *run, uint64_t number, struct saved_register saved)
{
    for (int i = 0; i < TRACKED_COUNT; i++)
        if (run->tracked->number[i] == number)
            run->row.saved[i] = saved;
}

static void save_at_cfa(struct run *run, uint64_t number, uint64_t factor)
{
    struct saved_register saved = {
        .kind = SAVED_AT_CFA,
        .offset = (int64_t)wrapped_product(factor, run->entry->data_align),
    };

    save(run, number, saved);
}

static void restore(struct run *run, uint64_t number)
{
    for (int i = 0; i < TRACKED_COUNT; i++)
        if (run->tracked->number[i] == number)
            run->row.saved[i] = run->initial.saved[i];
}

static void advance_to(struct run *run, uint64_t offset)
{
    if (offset < run->offset) {
        run->cursor.failed = true;
        return;
    }
    if (offset == run->offset)
        return;
    if (!run->found(run->context, run->offset, &run->row) || offset >= run->entry->size)
        run->enough = true;
    run->offset = offset;
}

static void advance(struct run *run, uint64_t factor)
{
    /* Both factors have at most 32 bits, so no sum of such products wraps before it is beyond the
     * function. */
    advance_to(run, run->offset + factor * (uint32_t)run->entry->code_align);
}

static struct expression take_expression(struct run *run)
{
    uint64_t length = byte_cursor__uleb(&run->cursor);
    const uint8_t *bytes = byte_cursor__take(&run->cursor, length);

    return (struct expression){bytes, bytes ? (size_t)length : 0};
}

static void set_loc(struct run *run)
{
    struct pointer_bases bases = {run->program->bytes, run->program->address, 0};
    uint64_t address = encoded_pointer__read(&run->cursor, run->entry->pointer_encoding, &bases);

    advance_to(run, address - run->entry->start);
}

static void advance_loc1(struct run *run)
{
    advance(run, byte_cursor__number(&run->cursor, 1));
}

static void advance_loc2(struct run *run)
{
    advance(run, byte_cursor__number(&run->cursor, 2));
}

static void advance_loc4(struct run *run)
{
    advance(run, byte_cursor__number(&run->cursor, 4));
}

static void nop(struct run *run)
{
    (void)run;
}

static void offset_extended(struct run *run)
{
    uint64_t number = byte_cursor__uleb(&run->cursor);

    save_at_cfa(run, number, byte_cursor__uleb(&run->cursor));
}

static void offset_extended_sf(struct run *run)
{
    uint64_t number = byte_cursor__uleb(&run->cursor);

    save_at_cfa(run, number, (uint64_t)byte_cursor__sleb(&run->cursor));
}

static void negative_offset_extended(struct run *run)
{
    uint64_t number = byte_cursor__uleb(&run->cursor);

    save_at_cfa(run, number, 0 - byte_cursor__uleb(&run->cursor));
}

static void restore_extended(struct run *run)
{
    restore(run, byte_cursor__uleb(&run->cursor));
}

static void undefined(struct run *run)
{
    save(run, byte_cursor__uleb(&run->cursor), (struct saved_register){.kind = SAVED_UNDEFINED});
}

static void same_value(struct run *run)
{
    save(run, byte_cursor__uleb(&run->cursor), (struct saved_register){.kind = SAVED_NOWHERE});
}

static void save_otherwise(struct run *run)
{
    uint64_t number = byte_cursor__uleb(&run->cursor);

    (void)byte_cursor__uleb(&run->cursor);
    save(run, number, (struct saved_register){.kind = SAVED_OTHERWISE});
}

static void save_otherwise_by_expression(struct run *run)
{
    uint64_t number = byte_cursor__uleb(&run->cursor);

    (void)take_expression(run);
    save(run, number, (struct saved_register){.kind = SAVED_OTHERWISE});
}

static void save_by_expression(struct run *run)
{
    uint64_t number = byte_cursor__uleb(&run->cursor);

    save(run, number,
         (struct saved_register){.kind = SAVED_BY_EXPRESSION, .expression = take_expression(run)});
}

static void remember_state(struct run *run)
{
    if (run->remembered_count == REMEMBERED_MAX)
        run->cursor.failed = true;
    else
        run->remembered[run->remembered_count++] = run->row;
}

static void restore_state(struct run *run)
{
    if (run->remembered_count == 0)
        run->cursor.failed = true;
    else
        run->row = run->remembered[--run->remembered_count];
}

static void def_cfa_register(struct run *run)
{
    run->row.cfa = run->row.cfa == CFA_OF_EXPRESSION ? CFA_UNCLEAR : CFA_OF_REGISTER;
    run->row.cfa_register = byte_cursor__uleb(&run->cursor);
}

static void def_cfa_offset(struct run *run)
{
    run->row.cfa_offset = (int64_t)byte_cursor__uleb(&run->cursor);
}

static void def_cfa_offset_sf(struct run *run)
{
    uint64_t factor = (uint64_t)byte_cursor__sleb(&run->cursor);

    run->row.cfa_offset = (int64_t)wrapped_product(factor, run->entry->data_align);
}

static void def_cfa(struct run *run)
{
    run->row.cfa = CFA_OF_REGISTER;
    run->row.cfa_register = byte_cursor__uleb(&run->cursor);
    def_cfa_offset(run);
}

static void def_cfa_sf(struct run *run)
{
    run->row.cfa = CFA_OF_REGISTER;
    run->row.cfa_register = byte_cursor__uleb(&run->cursor);
    def_cfa_offset_sf(run);
}

static void def_cfa_expression(struct run *run)
{
    run->row.cfa = CFA_OF_EXPRESSION;
    run->row.cfa_expression = take_expression(run);
}

static void args_size(struct run *run)
{
    (void)byte_cursor__uleb(&run->cursor);
}

typedef void (*instruction)(struct run *run);

static const instruction instructions[INSTRUCTION_COUNT] = {
    [NOP] = nop,
    [SET_LOC] = set_loc,
    [ADVANCE_LOC1] = advance_loc1,
    [ADVANCE_LOC2] = advance_loc2,
    [ADVANCE_LOC4] = advance_loc4,
    [OFFSET_EXTENDED] = offset_extended,
    [RESTORE_EXTENDED] = restore_extended,
    [UNDEFINED] = undefined,
    [SAME_VALUE] = same_value,
    [REGISTER] = save_otherwise,
    [REMEMBER_STATE] = remember_state,
    [RESTORE_STATE] = restore_state,
    [DEF_CFA] = def_cfa,
    [DEF_CFA_REGISTER] = def_cfa_register,
    [DEF_CFA_OFFSET] = def_cfa_offset,
    [DEF_CFA_EXPRESSION] = def_cfa_expression,
    [EXPRESSION] = save_by_expression,
    [OFFSET_EXTENDED_SF] = offset_extended_sf,
    [DEF_CFA_SF] = def_cfa_sf,
    [DEF_CFA_OFFSET_SF] = def_cfa_offset_sf,
    [VAL_OFFSET] = save_otherwise,
    [VAL_OFFSET_SF] = save_otherwise,
    [VAL_EXPRESSION] = save_otherwise_by_expression,
    [GNU_ARGS_SIZE] = args_size,
    [GNU_NEGATIVE_OFFSET_EXTENDED] = negative_offset_extended,
};

static void run_instruction(struct run *run)
{
    uint8_t code = (uint8_t)byte_cursor__number(&run->cursor, 1);
    uint8_t rest = code & PRIMARY_REST;

    switch (code & PRIMARY) {
    case ADVANCE_LOC:
        advance(run, rest);
        break;
    case OFFSET:
        save_at_cfa(run, rest, byte_cursor__uleb(&run->cursor));
        break;
    case RESTORE:
        restore(run, rest);
        break;
    default:
        if (code < INSTRUCTION_COUNT && instructions[code])
            instructions[code](run);
        else
            run->cursor.failed = true;
    }
}

/* False if the program cannot be followed to its end. */
static bool run_all(struct run *run, const struct frame_section *program)
{
    run->program = program;
    run->cursor = byte_cursor__of(program->bytes, program->length);
    while (byte_cursor__left(&run->cursor) && !run->enough && !run->cursor.failed)
        run_instruction(run);
    return !run->cursor.failed;
}

static bool no_row(void *context, uint64_t offset, const struct call_frame_row *row)
{
    (void)context;
    (void)offset;
    (void)row;
    return false;
}

void call_frame_program__run(const struct call_frame_entry *entry,
                             const struct tracked_registers *tracked, call_frame_row_found found,
                             void *context)
{
    struct call_frame_row remembered[REMEMBERED_MAX];
    struct run run = {
        .entry = entry,
        .tracked = tracked,
        .remembered = remembered,
        .found = no_row,
        .context = context,
    };
    bool followed = entry->understood && run_all(&run, &entry->initial) && run.offset == 0;

    run.enough = false;
    run.offset = 0;
    run.row.signal_frame = entry->signal_frame;
    run.initial = run.row;
    run.found = found;
    if (followed)
        followed = run_all(&run, &entry->program);
    if (!followed)
        run.row.cfa = CFA_UNCLEAR;
    if (!run.enough)
        (void)found(context, run.offset, &run.row);
}
