#include "tools/merge/ledger_merge.h"

#include "tools/merge/merge_parts.h"
#include "tools/report/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names grow by their prefixes, and what is left of chunks may be wasted: twice as much will do. */
#define ROOM_BYTES (64u << 20)

void merge__skip(struct merge_input *input, ledger_ref ref, const char *format, ...)
{
    if (input->skipped++ > 0)
        return;
    int at = snprintf(input->skipped_where, sizeof(input->skipped_where), "byte %" PRIu64 ": ",
                      (uint64_t)ref * LEDGER_CELL_BYTES);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(input->skipped_where + at, sizeof(input->skipped_where) - (size_t)at, format,
              arguments);
    va_end(arguments);
}

ledger_ref merge__take(struct ledger_merge *merge, enum ledger_table table, size_t bytes)
{
    ledger_ref ref =
        ledger__take_shared(&merge->ledger, table, (uint32_t)(bytes / LEDGER_CELL_BYTES));

    merge->full |= ref == 0;
    return ref;
}

static ledger_ref take_string(struct ledger_merge *merge, const char *bytes, size_t length)
{
    ledger_ref ref = ledger__string(&merge->ledger, bytes, length);

    merge->full |= ref == 0;
    return ref;
}

ledger_ref merge__string(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref,
                         ledger_ref user)
{
    size_t length = 0;
    const char *bytes = ledger_reader__string(input->reader, ref, &length);

    if (!bytes && ref)
        merge__skip(input, user, "ref %" PRIu32 ", expected a string", ref);
    if (!bytes)
        return 0;
    if (!input->to) /* only the header is left */
        return take_string(merge, bytes, length);
    if (!input->to[ref])
        input->to[ref] = take_string(merge, bytes, length);
    return input->to[ref];
}

ledger_ref merge__prefixed(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref,
                           ledger_ref user)
{
    size_t length = 0;
    size_t prefix = strlen(input->prefix);
    const char *bytes = ledger_reader__string(input->reader, ref, &length);

    if (!bytes && ref)
        merge__skip(input, user, "ref %" PRIu32 ", expected a string", ref);
    if (!bytes)
        length = 0;
    if (length > LEDGER_STRING_MAX - prefix)
        length = LEDGER_STRING_MAX - prefix;
    /* A ledger that is itself the result of a merge has the prefix already. */
    if (bytes && length >= prefix && memcmp(bytes, input->prefix, prefix) == 0)
        prefix = 0;
    char *name = memory__zeroed(prefix + length, 1);
    memcpy(name, input->prefix, prefix);
    if (length)
        memcpy(name + prefix, bytes, length);
    ledger_ref named = take_string(merge, name, prefix + length);
    free(name);
    return named;
}

ledger_ref merge__method(const struct merge_input *input, ledger_ref ref)
{
    return ledger_reader__method(input->reader, ref) ? input->to[ref] : 0;
}

/* As a report has it: when it was stopped, when it was settled, or the latest that is known. */
static uint64_t profiled_to_ns(const struct merge_input *input)
{
    uint64_t latest_ns = input->header->asof_ns;
    ledger_ref ref = 0;

    if (ledger_header__is_stopped(input->header))
        return input->header->since_ns;
    while (!input->header->asof_ns &&
           (ref = ledger_reader__next(input->reader, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger_reader__thread(input->reader, ref);
        uint64_t known_ns = thread->end_ns ? thread->end_ns : thread->start_ns;
        bool counts = !(thread->flags & THREAD_HIDDEN) && thread->kind >= THREAD_PLATFORM &&
                      thread->kind <= THREAD_NATIVE;

        latest_ns = counts && known_ns > latest_ns ? known_ns : latest_ns;
    }
    return latest_ns;
}

static void open_input(struct ledger_merge *merge, size_t number,
                       const struct ledger_reader *reader)
{
    struct merge_input *input = &merge->inputs[number];

    input->reader = reader;
    input->header = ledger_reader__header(reader);
    input->number = number;
    input->asof_ns = profiled_to_ns(input);
    input->skipped = ledger_reader__skipped(reader);
    snprintf(input->skipped_where, sizeof(input->skipped_where), "%s",
             ledger_reader__skipped_where(reader));
    merge_prefix__set(merge, input);
}

static void add_input(struct ledger_merge *merge, struct merge_input *input)
{
    input->refs = ledger_reader__refs(input->reader);
    input->to = memory__zeroed(input->refs, sizeof(*input->to));
    merge_methods__add(merge, input);
    merge_threads__add(merge, input);
    merge_blocks__add(merge, input);
    merge_latencies__add(merge, input);
    merge_hazards__add(merge, input);
    merge_chains__add(merge, input);
    free(input->to);
    input->to = NULL;
}

static int create(struct ledger_merge *merge)
{
    uint64_t bytes = ROOM_BYTES;

    for (size_t i = 0; i < merge->input_count; i++)
        bytes += 2 * (uint64_t)merge->inputs[i].header->chunks_used * LEDGER_CHUNK_BYTES;
    return ledger__create(&merge->ledger, NULL, bytes);
}

int ledger_merge__new(struct ledger_merge **merge, struct ledger_reader *const *readers,
                      size_t count)
{
    struct ledger_merge *made = memory__zeroed(1, sizeof(*made));

    made->inputs = memory__zeroed(count, sizeof(*made->inputs));
    made->input_count = count;
    for (size_t i = 0; i < count; i++)
        open_input(made, i, readers[i]);
    int error = create(made);
    if (error) {
        free(made->inputs);
        free(made);
        return error;
    }
    merge_header__fill(made);
    for (size_t i = 0; i < count && !made->full; i++)
        add_input(made, &made->inputs[i]);
    for (size_t i = 0; i < count && !made->full; i++)
        merge_postponed__add(made, &made->inputs[i]);
    merge_header__finish(made);
    if (made->full) {
        ledger_merge__free(made);
        return -ENOMEM;
    }
    *merge = made;
    return 0;
}

void ledger_merge__free(struct ledger_merge *merge)
{
    if (!merge)
        return;
    ledger__close(&merge->ledger);
    index_table__release(&merge->method_table);
    index_table__release(&merge->place_table);
    free(merge->methods);
    free(merge->places);
    free(merge->inputs);
    free(merge);
}

uint64_t ledger_merge__skipped(const struct ledger_merge *merge, size_t input)
{
    return merge->inputs[input].skipped;
}

const char *ledger_merge__skipped_where(const struct ledger_merge *merge, size_t input)
{
    return merge->inputs[input].skipped_where;
}

const char *ledger_merge__bytes(const struct ledger_merge *merge, size_t *bytes)
{
    *bytes = (size_t)merge->ledger.header->chunks_used * LEDGER_CHUNK_BYTES;
    return merge->ledger.base;
}
