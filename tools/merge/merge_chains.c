#include "tools/merge/merge_parts.h"

#include <string.h>

/* From CLOCK_MONOTONIC of the input's machine to time since the merge's epoch. Inputs of one boot
 * have one distance, so that their parts stand to each other as they stood. */
static uint64_t shift_of(const struct ledger_merge *merge, const struct merge_input *input)
{
    const struct ledger_header *of = input->header;

    if (!of->boot_id[0])
        return of->epoch_ns - merge->ledger.header->epoch_ns; /* a merge itself */
    for (size_t i = 0; i < input->number; i++)
        if (memcmp(merge->inputs[i].header->boot_id, of->boot_id, sizeof(of->boot_id)) == 0) {
            of = merge->inputs[i].header;
            break;
        }
    return of->epoch_ns - of->monotonic_ns - merge->ledger.header->epoch_ns;
}

/* Of a part that was open when its own ledger was written. Such of an input that is a merge has it.
 */
static uint64_t open_for_ns(const struct merge_input *input, const struct ledger_part *part)
{
    uint64_t written_ns = input->header->monotonic_ns + input->asof_ns;

    if (part->process)
        return part->elapsed_ns;
    return written_ns > part->begin_ns ? written_ns - part->begin_ns : 0;
}

static void copy_part(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref)
{
    const struct ledger_part *record = ledger_reader__part(input->reader, ref);
    unsigned frames = 0;
    ledger_ref to;

    if (!record->state)
        return;
    if (!ledger_part__is_whole(record)) {
        merge->ledger.header->torn_parts++;
        return;
    }
    to = merge__take(merge, LEDGER_PARTS, sizeof(*record));
    if (!to)
        return;
    struct ledger_part *part = ledger__at(&merge->ledger, to);
    *part = *record;
    if (ledger_part__state(record) == PART_OPEN)
        part->elapsed_ns = open_for_ns(input, record);
    part->process = (uint32_t)input->number + 1;
    part->begin_ns += shift_of(merge, input);
    part->thread = record->thread ? merge__prefixed(merge, input, record->thread, ref) : 0;
    for (unsigned i = 0; i < PART_FRAMES; i++)
        part->path[i] = 0;
    for (unsigned i = 0; i < PART_FRAMES; i++)
        if ((part->path[frames] = merge__method(input, record->path[i])) != 0)
            frames++;
    part->check = ledger_part__check(part);
}

void merge_chains__add(struct ledger_merge *merge, struct merge_input *input)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(input->reader, LEDGER_PARTS, ref)) != 0 && !merge->full)
        copy_part(merge, input, ref);
}
