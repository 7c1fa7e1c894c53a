#include "tools/merge/merge_parts.h"
#include "tools/report/memory.h"
#include "tools/report/report_balance.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FIELD(name) offsetof(struct ledger_header, name)

static const size_t summed[] = {
    FIELD(process_cpu_ns),      FIELD(process_user_ns),      FIELD(process_system_ns),
    FIELD(dropped_enters),      FIELD(dropped_threads),      FIELD(dropped_side_values),
    FIELD(resynchronised),      FIELD(unfollowed_mounts),    FIELD(unprofiled_cpu_ns),
    FIELD(unprofiled_user_ns),  FIELD(unprofiled_system_ns), FIELD(hooked_classes),
    FIELD(hooked_methods),      FIELD(filtered_methods),     FIELD(kept_threads),
    FIELD(folded_threads),      FIELD(carried_cpu_ns),       FIELD(samples),
    FIELD(dropped_samples),     FIELD(homeless_samples),     FIELD(lost_scopes),
    FIELD(lost_tallies),        FIELD(kernel_samples),       FIELD(kernel_stacks),
    FIELD(own_cost.hooks_ns),   FIELD(own_cost.samples_ns),  FIELD(own_cost.threads_ns),
    FIELD(own_cost.classes_ns), FIELD(own_cost.jvm_ns),      FIELD(positions_corrected),
    FIELD(muted_methods),       FIELD(off_methods),          FIELD(unlisted_classes),
    FIELD(listed_bytes),        FIELD(senseless_records),    FIELD(own_cost.waits_ns),
    FIELD(heard_waits),         FIELD(unheard_waits),        FIELD(lost_blocks),
    FIELD(lost_blocks_ns),      FIELD(unmeasured_calls),     FIELD(other_parameters),
    FIELD(cut_parameters),      FIELD(lost_frames),          FIELD(lost_slots),
    FIELD(lost_identifiers),    FIELD(torn_stacks),          FIELD(late_samples),
    FIELD(lost_hazards),        FIELD(lost_holds),           FIELD(unseen_holds),
    FIELD(timed_waits),         FIELD(other_parts),          FIELD(other_parts_unended),
    FIELD(other_parts_cpu_ns),  FIELD(other_parts_ns),       FIELD(lost_parts),
    FIELD(torn_parts),          FIELD(postponed_methods),    FIELD(unwrapped_images),
    FIELD(unnamed_images),      FIELD(unheard_virtual),      FIELD(cut_identifiers),
    FIELD(unwatched_waits),
};

static const size_t largest[] = {
    FIELD(max_bytes),
    FIELD(sample_buffer_bytes),
    FIELD(sample_fill_bytes),
};

/* uint32_t; what differs is 0, "unknown" or "no". */
static const size_t common[] = {
    FIELD(clock_kind),     FIELD(clock_forced), FIELD(reuse_new),
    FIELD(default_filter), FIELD(fold_none),    FIELD(uid),
    FIELD(overhead_ppm),   FIELD(rate_max),     FIELD(sample_unwind),
};

/* uint32_t: where one says yes, or has the more of it, that holds. */
static const size_t highest[] = {
    FIELD(event_mode),         FIELD(calls_lost),          FIELD(sample_mode), FIELD(sample_clock),
    FIELD(kernel_stack_error), FIELD(kernel_symbol_error), FIELD(planned),     FIELD(recursion),
};

static uint64_t *wide(struct ledger_header *header, size_t offset)
{
    return (uint64_t *)(void *)((char *)header + offset);
}

static uint32_t *narrow(struct ledger_header *header, size_t offset)
{
    return (uint32_t *)(void *)((char *)header + offset);
}

static void join_fields(struct ledger_header *sum, const struct ledger_header *other)
{
    struct ledger_header more = *other;

    for (size_t i = 0; i < sizeof(summed) / sizeof(summed[0]); i++)
        *wide(sum, summed[i]) += *wide(&more, summed[i]);
    for (size_t i = 0; i < sizeof(largest) / sizeof(largest[0]); i++)
        if (*wide(&more, largest[i]) > *wide(sum, largest[i]))
            *wide(sum, largest[i]) = *wide(&more, largest[i]);
    for (size_t i = 0; i < sizeof(common) / sizeof(common[0]); i++)
        if (*narrow(&more, common[i]) != *narrow(sum, common[i]))
            *narrow(sum, common[i]) = 0;
    for (size_t i = 0; i < sizeof(highest) / sizeof(highest[0]); i++)
        if (*narrow(&more, highest[i]) > *narrow(sum, highest[i]))
            *narrow(sum, highest[i]) = *narrow(&more, highest[i]);
}

static void join_lists(struct ledger_header *sum, const struct ledger_header *more)
{
    for (unsigned i = 0; i < LEDGER_UNHOOKED_SLOTS; i++)
        sum->unhooked[i] += more->unhooked[i];
    for (unsigned i = 0; i < LEDGER_WALK_FAILURE_SLOTS; i++)
        sum->walk_failures[i] += more->walk_failures[i];
    for (unsigned i = 0; i < sizeof(sum->source_error) / sizeof(sum->source_error[0]); i++)
        if (more->source_error[i] > sum->source_error[i])
            sum->source_error[i] = more->source_error[i];
    sum->metrics_charged |= more->metrics_charged;
    sum->metrics_totals |= more->metrics_totals;
    sum->sample_modes |= more->sample_modes;
    if (more->full_error > sum->full_error)
        sum->full_error = more->full_error;
    if (more->sample_clock_error > sum->sample_clock_error)
        sum->sample_clock_error = more->sample_clock_error;
    if (more->sample_timer_error > sum->sample_timer_error)
        sum->sample_timer_error = more->sample_timer_error;
}

/* When profiling began: when the process began, unless the agent was attached later. */
static uint64_t begin_ns(const struct ledger_header *header)
{
    return header->attached ? header->epoch_ns : report_process__start_ns(header);
}

/* The mean interval over all samples, so that together they stand for the same time as before. */
static uint64_t mean_interval_ns(const struct ledger_merge *merge)
{
    unsigned __int128 time_ns = 0;
    uint64_t samples = 0;

    for (size_t i = 0; i < merge->input_count; i++) {
        const struct ledger_header *header = merge->inputs[i].header;

        time_ns += (unsigned __int128)header->samples * header->sample_interval_ns;
        samples += header->samples;
    }
    return samples ? (uint64_t)(time_ns / samples) : merge->inputs[0].header->sample_interval_ns;
}

/* Joins the headers of several processes: fields that name one process are cleared, and the time
 * that was not profiled is kept in the threads' beginnings and ends. */
static void join_all(struct ledger_merge *merge, struct ledger_header *sum)
{
    uint64_t epoch_ns = sum->epoch_ns;
    uint64_t first_ns = begin_ns(sum);
    bool balanced = true;

    for (size_t i = 0; i < merge->input_count; i++) {
        const struct ledger_header *header = merge->inputs[i].header;

        epoch_ns = header->epoch_ns < epoch_ns ? header->epoch_ns : epoch_ns;
        first_ns = begin_ns(header) < first_ns ? begin_ns(header) : first_ns;
        balanced &= header->process_cpu_ns != 0;
        if (i > 0) {
            join_fields(sum, header);
            join_lists(sum, header);
        }
    }
    if (!balanced)
        sum->process_cpu_ns = sum->process_user_ns = sum->process_system_ns = 0;
    sum->sample_interval_ns = mean_interval_ns(merge);
    sum->pid = 0;
    sum->profiler_tid = 0;
    sum->start_ticks = 0;
    memset(sum->boot_id, 0, sizeof(sum->boot_id));
    sum->monotonic_ns = sum->tsc_zero = sum->tsc_mult = 0;
    sum->attached = 0;
    sum->profiling = 1;
    sum->starts = 1;
    sum->since_ns = sum->unprofiled_wall_ns = 0;
    sum->filter_since_ns = 0; /* merge_left_out.c has a record for each method of it */
    sum->process_start_epoch_ns = first_ns;
    sum->epoch_ns = epoch_ns;
    sum->asof_ns = 0;
    sum->recent_wall_ns = sum->recent_cpu_ns = sum->recent_own_ns = 0;
    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];

        input->shift_ns = input->header->epoch_ns - epoch_ns;
        if (input->asof_ns + input->shift_ns > sum->asof_ns)
            sum->asof_ns = input->asof_ns + input->shift_ns;
    }
}

static bool contains(const ledger_ref *refs, size_t count, ledger_ref ref)
{
    for (size_t i = 0; i < count; i++)
        if (refs[i] == ref)
            return true;
    return false;
}

/* The different texts that the inputs have there, "; " between them. */
static ledger_ref join_texts(struct ledger_merge *merge, size_t offset)
{
    char *joined = memory__zeroed(LEDGER_STRING_MAX, 1);
    ledger_ref *met = memory__zeroed(merge->input_count, sizeof(*met));
    size_t used = 0;

    for (size_t i = 0; i < merge->input_count; i++) {
        struct merge_input *input = &merge->inputs[i];
        ledger_ref from;
        size_t length = 0;

        memcpy(&from, (const char *)input->header + offset, sizeof(from));
        const char *bytes = ledger_reader__string(input->reader, from, &length);
        met[i] = merge__string(merge, input, from, 0);
        if (!bytes || contains(met, i, met[i]) || used + length + 2 > LEDGER_STRING_MAX)
            continue;
        memcpy(joined + used, "; ", used ? 2 : 0);
        used += used ? 2 : 0;
        memcpy(joined + used, bytes, length);
        used += length;
    }
    ledger_ref ref = used ? ledger__string(&merge->ledger, joined, used) : 0;
    merge->full |= used && !ref;
    free(met);
    free(joined);
    return ref;
}

void merge_header__fill(struct ledger_merge *merge)
{
    struct ledger_header *header = merge->ledger.header;
    struct ledger_header sum = *merge->inputs[0].header;

    if (merge->input_count > 1)
        join_all(merge, &sum);
    else if (!sum.asof_ns)
        sum.asof_ns = merge->inputs[0].asof_ns;
    sum.state = LEDGER_CLOSED;
    sum.chunks_used = header->chunks_used;
    sum.counts_at_ns = LEDGER_COUNTS_WHOLE;
    sum.snapshots = 1;
    sum.filters = MERGED_FILTERS;
    sum.missing_bytes = 0;
    for (size_t i = 0; i < merge->input_count; i++)
        sum.missing_bytes += ledger_reader__missing_bytes(merge->inputs[i].reader);
    *header = sum;
    header->machine = join_texts(merge, FIELD(machine));
    header->jvm = join_texts(merge, FIELD(jvm));
    header->command = join_texts(merge, FIELD(command));
    header->options = join_texts(merge, FIELD(options));
}

/* The hooks' cost is told by the call: the mean over all calls, those without hooks included. */
void merge_header__finish(struct ledger_merge *merge)
{
    unsigned __int128 cost_ps = 0;
    unsigned __int128 calls = 0;

    for (size_t i = 0; merge->input_count > 1 && i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        bool hooks = input->header->event_mode == LEDGER_EVENTS_INSTRUMENT;

        calls += input->calls;
        cost_ps += hooks ? (unsigned __int128)input->calls * input->header->hook_cost_ps : 0;
    }
    if (merge->input_count > 1)
        merge->ledger.header->hook_cost_ps = calls ? (uint64_t)(cost_ps / calls) : 0;
}
