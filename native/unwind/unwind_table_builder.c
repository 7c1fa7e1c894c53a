/* Makes an unwind table: gathers the functions, sorts them, runs each one's program. */
#include "native/unwind/call_frame_info.h"
#include "native/unwind/unwind_table_format.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* More functions or rows than any image has: what claims more is damaged. */
#define FUNCTIONS_MAX (UINT32_C(1) << 24)
#define ROWS_MAX      (UINT32_C(1) << 28)
#define RULES_MAX     UINT32_C(0xffff)

/* Slots of the hash table from rules to their numbers; a power of two, never full. */
#define RULE_SLOTS (UINT32_C(1) << 17)

struct found_function {
    uint32_t start, size;
    size_t entry; /* offset of its description in .eh_frame */
};

struct builder {
    const struct unwind_source *source;
    struct unwind_table *table;
    struct found_function *functions;
    uint32_t function_count, function_room;
    uint32_t stretch_room, row_room, rule_room;
    uint16_t *rule_slots;                 /* a rule's number + 1; 0: free */
    const struct found_function *running; /* the function whose rows are added now */
    int error;
};

/* Returns the array with room for one more element, which doubles the room if need be. NULL: no
 * memory. */
static void *grown(struct builder *builder, void *array, uint32_t count, uint32_t *room,
                   size_t element_bytes)
{
    uint32_t more = *room ? *room * 2 : 256;
    void *larger;

    if (count < *room)
        return array;
    larger = realloc(array, more * element_bytes);
    if (larger)
        *room = more;
    else
        builder->error = -ENOMEM;
    return larger;
}

static void add_function(struct builder *builder, size_t offset,
                         const struct call_frame_entry *entry)
{
    const struct unwind_source *source = builder->source;
    struct found_function *larger;

    if (entry->size == 0 || entry->start < source->code_start || entry->start >= source->code_end ||
        entry->size > source->code_end - entry->start || builder->function_count == FUNCTIONS_MAX)
        return;
    larger = grown(builder, builder->functions, builder->function_count, &builder->function_room,
                   sizeof(*larger));
    if (!larger)
        return;
    builder->functions = larger;
    larger[builder->function_count++] = (struct found_function){
        .start = (uint32_t)(entry->start - source->code_start),
        .size = (uint32_t)entry->size,
        .entry = offset,
    };
}

/* Gathers functions by the header's table, as unwinders do: what the linker took out is not in the
 * table. */
static void gather_by_table(struct builder *builder, const struct frame_header *header)
{
    const struct frame_section *eh_frame = builder->source->eh_frame;
    struct call_frame_entry entry;

    for (uint64_t i = 0; !builder->error && i < header->count && i < FUNCTIONS_MAX; i++) {
        uint64_t address = frame_header__description(builder->source->header, header, i);

        if (address == 0)
            break;
        if (address < eh_frame->address || address - eh_frame->address >= eh_frame->length)
            continue;
        if (call_frame_info__entry(eh_frame, (size_t)(address - eh_frame->address), &entry) == 1)
            add_function(builder, (size_t)(address - eh_frame->address), &entry);
    }
}

static void gather_in_order(struct builder *builder)
{
    const struct frame_section *eh_frame = builder->source->eh_frame;
    struct call_frame_entry entry;
    size_t offset = 0;
    int kind;

    while (!builder->error &&
           (kind = call_frame_info__entry(eh_frame, offset, &entry)) != -ENODATA) {
        if (kind == 1)
            add_function(builder, offset, &entry);
        offset += entry.length;
    }
}

static int compare_starts(const void *left, const void *right)
{
    const struct found_function *a = left, *b = right;

    return (a->start > b->start) - (a->start < b->start);
}

/* The table in the header is sorted by them, as a rule. */
static bool is_sorted(const struct found_function *functions, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (functions[i].start < functions[i - 1].start)
            return false;
    return true;
}

/* Sorts the functions. Of two that overlap, the one that starts first keeps what lies before the
 * other. */
static void sort_functions(struct builder *builder)
{
    struct found_function *functions = builder->functions;
    uint32_t kept = 0;

    if (builder->function_count == 0)
        return;
    if (!is_sorted(functions, builder->function_count))
        qsort(functions, builder->function_count, sizeof(*functions), compare_starts);
    for (uint32_t i = 1; i < builder->function_count; i++) {
        struct found_function *before = &functions[kept];

        if (functions[i].start == before->start)
            continue;
        if (functions[i].start - before->start < before->size)
            before->size = functions[i].start - before->start;
        functions[++kept] = functions[i];
    }
    builder->function_count = kept + 1;
}

static uint32_t slot_of(const struct unwind_rule *rule)
{
    uint64_t word;

    _Static_assert(sizeof(word) == sizeof(*rule), "a rule is one word");

    memcpy(&word, rule, sizeof(word));
    return (uint32_t)((word * UINT64_C(0x9e3779b97f4a7c15)) >> 47) & (RULE_SLOTS - 1);
}

/* The rule's number. A rule beyond RULES_MAX has the number of no rule, 0. */
static uint16_t number_of(struct builder *builder, const struct unwind_rule *rule)
{
    struct unwind_table *table = builder->table;
    struct unwind_rule *larger;
    uint32_t slot = slot_of(rule);

    for (; table->rules && builder->rule_slots[slot]; slot = (slot + 1) & (RULE_SLOTS - 1)) {
        uint16_t number = (uint16_t)(builder->rule_slots[slot] - 1);

        if (memcmp(&table->rules[number], rule, sizeof(*rule)) == 0)
            return number;
    }
    if (table->rule_count == RULES_MAX)
        return 0;
    larger = grown(builder, table->rules, table->rule_count, &builder->rule_room, sizeof(*rule));
    if (!larger)
        return 0;
    table->rules = larger;
    larger[table->rule_count] = *rule;
    builder->rule_slots[slot] = (uint16_t)++table->rule_count;
    return (uint16_t)(table->rule_count - 1);
}

static void add_row(struct builder *builder, uint32_t offset, uint16_t rule)
{
    struct unwind_table *table = builder->table;
    struct unwind_row *larger =
        grown(builder, table->rows, table->row_count, &builder->row_room, sizeof(*larger));

    if (!larger)
        return;
    table->rows = larger;
    larger[table->row_count++] = (struct unwind_row){(uint16_t)offset, rule};
}

/* Adds a stretch of the running function, with its first row. */
static void add_stretch(struct builder *builder, uint32_t offset, uint16_t rule)
{
    const struct found_function *function = builder->running;
    struct unwind_table *table = builder->table;
    uint32_t left = function->size - offset;
    struct unwind_stretch *larger;

    /* With room for the one more at the end. */
    larger = grown(builder, table->stretches, table->stretch_count + 1, &builder->stretch_room,
                   sizeof(*larger));
    if (!larger)
        return;
    table->stretches = larger;
    larger[table->stretch_count++] = (struct unwind_stretch){
        .start = function->start + offset,
        .size = left < STRETCH_BYTES ? left : STRETCH_BYTES,
        .first_row = table->row_count & 0x7fffffff,
        .continues = offset != 0,
    };
    add_row(builder, 0, rule);
}

/* Adds stretches until the last one holds the offset. A stretch without a row of its own continues
 * the rule before it. */
static void stretch_to(struct builder *builder, uint32_t offset)
{
    const struct unwind_table *table = builder->table;
    uint32_t begun =
        table->stretches[table->stretch_count - 1].start - builder->running->start + STRETCH_BYTES;

    for (; begun <= offset && begun >= STRETCH_BYTES && !builder->error; begun += STRETCH_BYTES)
        add_stretch(builder, begun, table->rows[table->row_count - 1].rule);
}

static bool take_row(void *context, uint64_t offset, const struct call_frame_row *row)
{
    struct builder *builder = context;
    struct unwind_table *table = builder->table;
    struct unwind_rule rule = unwind_rule__of(row);
    uint16_t number = number_of(builder, &rule);
    struct unwind_row *last;
    uint32_t into;

    if (builder->error || offset >= builder->running->size || table->row_count >= ROWS_MAX)
        return false;
    if (offset == 0) {
        add_stretch(builder, 0, number);
        return !builder->error;
    }
    stretch_to(builder, (uint32_t)offset);
    if (builder->error)
        return false;
    last = &table->rows[table->row_count - 1];
    into = (uint32_t)offset -
           (table->stretches[table->stretch_count - 1].start - builder->running->start);
    if (into == last->offset)
        last->rule = number;
    else if (number != last->rule)
        add_row(builder, into, number);
    return !builder->error;
}

static void run_functions(struct builder *builder)
{
    struct unwind_table *table = builder->table;
    struct call_frame_entry entry;

    for (uint32_t i = 0; !builder->error && i < builder->function_count; i++) {
        uint32_t before = table->stretch_count;

        builder->running = &builder->functions[i];
        if (table->row_count >= ROWS_MAX ||
            call_frame_info__entry(builder->source->eh_frame, builder->running->entry, &entry) != 1)
            continue;
        call_frame_program__run(&entry, &tracked_registers, take_row, builder);
        if (table->stretch_count > before && !builder->error)
            stretch_to(builder, builder->running->size - 1);
    }
    table->functions = builder->function_count;
}

static void index_blocks(struct builder *builder)
{
    struct unwind_table *table = builder->table;
    uint64_t code_bytes = builder->source->code_end - builder->source->code_start;
    uint32_t stretch = 0;

    table->block_count = (uint32_t)((code_bytes - 1) >> BLOCK_SHIFT) + 1;
    table->blocks = calloc(table->block_count + 1, sizeof(*table->blocks));
    if (!table->blocks) {
        builder->error = -ENOMEM;
        return;
    }
    for (uint32_t block = 0; block <= table->block_count; block++) {
        uint64_t first = (uint64_t)block << BLOCK_SHIFT;

        while (stretch + 1 < table->stretch_count && table->stretches[stretch + 1].start <= first)
            stretch++;
        table->blocks[block] = stretch;
    }
    table->stretches[table->stretch_count] = (struct unwind_stretch){
        .start = UINT32_MAX,
        .first_row = table->row_count & 0x7fffffff,
    };
}

/* Gives back what doubling left over. */
static void trim(struct unwind_table *table)
{
    void *smaller;

    smaller = realloc(table->rows, table->row_count * sizeof(*table->rows));
    if (smaller)
        table->rows = smaller;
    smaller = realloc(table->stretches, (table->stretch_count + 1) * sizeof(*table->stretches));
    if (smaller)
        table->stretches = smaller;
    smaller = realloc(table->rules, table->rule_count * sizeof(*table->rules));
    if (smaller)
        table->rules = smaller;
}

static int build(struct builder *builder)
{
    const struct unwind_rule none = UNWIND_RULE_NONE;
    struct frame_header header;

    if (builder->source->code_end <= builder->source->code_start ||
        builder->source->code_end - builder->source->code_start > UINT32_MAX ||
        frame_header__read(builder->source->header, &header) != 0)
        return -EINVAL;
    (void)number_of(builder, &none);
    if (header.count)
        gather_by_table(builder, &header);
    else
        gather_in_order(builder);
    sort_functions(builder);
    if (!builder->error)
        run_functions(builder);
    if (!builder->error && builder->table->stretch_count == 0)
        return -EINVAL;
    if (!builder->error)
        index_blocks(builder);
    if (!builder->error)
        trim(builder->table);
    return builder->error;
}

int unwind_table__new(struct unwind_table **table, const struct unwind_source *source)
{
    struct builder builder = {.source = source};
    int error = -ENOMEM;

    *table = NULL;
    builder.table = calloc(1, sizeof(*builder.table));
    builder.rule_slots = calloc(RULE_SLOTS, sizeof(*builder.rule_slots));
    if (builder.table && builder.rule_slots)
        error = build(&builder);
    free(builder.rule_slots);
    free(builder.functions);
    if (error)
        unwind_table__delete(builder.table);
    else
        *table = builder.table;
    return error;
}
