#include "tools/merge/merge_parts.h"
#include "tools/report/report_inside.h"

#include <inttypes.h>
#include <string.h>

#define RENAMES_MAX 1000u /* a longer list is a circle */

static struct ledger_thread *thread_at(struct ledger_merge *merge, ledger_ref ref)
{
    return ledger__at(&merge->ledger, ref);
}

/* Newest first, as they are linked. */
static ledger_ref copy_renames(struct ledger_merge *merge, struct merge_input *input,
                               ledger_ref newest)
{
    ledger_ref first = 0;
    ledger_ref last = 0;

    for (unsigned count = 0; newest; count++) {
        const struct ledger_rename *record = ledger_reader__rename(input->reader, newest);

        if (!record || count == RENAMES_MAX) {
            merge__skip(input, newest,
                        record ? "a thread with too many renames" : "expected a rename");
            break;
        }
        ledger_ref ref = merge__take(merge, LEDGER_RENAMES, sizeof(*record));
        if (!ref)
            break;
        struct ledger_rename *rename = ledger__at(&merge->ledger, ref);
        rename->name = merge__string(merge, input, record->name, newest);
        rename->when_ns = record->when_ns + input->shift_ns;
        if (last)
            ((struct ledger_rename *)ledger__at(&merge->ledger, last))->older = ref;
        else
            first = ref;
        last = ref;
        newest = record->older;
    }
    return first;
}

/* The parked time of a killed process's virtual threads since they were last unmounted. Otherwise
 * only the reader of an orphan adds it, and a merged ledger is no orphan. */
static uint64_t still_parked_ns(const struct merge_input *input, const struct ledger_thread *record)
{
    uint64_t unprofiled_ns = input->header->unprofiled_wall_ns - record->unprofiled_wall_ns;
    uint64_t since_ns = record->unmounted_ns + unprofiled_ns;
    bool waits = record->kind == THREAD_VIRTUAL && record->unmounted_ns && !record->end_ns;
    bool orphan = ledger_reader__life(input->reader) == LEDGER_IS_ORPHAN;

    return orphan && waits && input->asof_ns > since_ns ? input->asof_ns - since_ns : 0;
}

static void set_times(struct ledger_merge *merge, const struct merge_input *input,
                      const struct ledger_thread *record, struct ledger_thread *thread)
{
    const struct ledger_header *header = merge->ledger.header;
    uint64_t asof_ns = ledger_header__is_stopped(header) ? header->since_ns : header->asof_ns;
    uint64_t life_ns = ledger_header__profiled_life_ns(input->header, record->start_ns,
                                                       record->end_ns, input->asof_ns);

    thread->start_ns = record->start_ns + input->shift_ns;
    thread->end_ns = record->end_ns ? record->end_ns + input->shift_ns : 0;
    if (ledger_header__profiled_life_ns(header, thread->start_ns, thread->end_ns, asof_ns) ==
        life_ns)
        return;
    thread->end_ns = thread->start_ns + life_ns;
    if (thread->end_ns == 0)
        thread->end_ns = 1; /* 0 would say that it runs on */
}

static void copy_thread(struct ledger_merge *merge, struct merge_input *input,
                        const struct ledger_thread *record, ledger_ref ref)
{
    ledger_ref to = merge__take(merge, LEDGER_THREADS, sizeof(*record));
    uint64_t known = input->header->metrics_totals | input->header->metrics_charged;

    if (!to)
        return;
    struct ledger_thread *thread = thread_at(merge, to);
    *thread = *record;
    thread->name = merge__prefixed(merge, input, record->name, ref);
    thread->group_name =
        record->group_name ? merge__prefixed(merge, input, record->group_name, ref) : 0;
    thread->renames = copy_renames(merge, input, record->renames);
    thread->parent = 0;
    thread->root = merge_tree__copy(merge, input, record->root);
    thread->current = thread->root;
    thread->parked_ns += still_parked_ns(input, record);
    thread->unmounted_ns = 0;
    thread->unprofiled_wall_ns = 0;
    thread->token = 0;
    thread->lost_depth = 0;
    thread->block = 0;
    thread->open_calls = (struct ledger_open_calls){0};
    for (unsigned metric = 0; metric < LEDGER_METRIC_SLOTS; metric++)
        if (!(known >> metric & 1))
            thread->totals[metric] = 0;
    set_times(merge, input, record, thread);
    input->to[ref] = to;
}

/* Records of threads that are over may be gone, or be those of other threads. */
static bool may_have_folded(const struct ledger_header *header)
{
    return header->folded_threads != 0;
}

static void set_parent(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref)
{
    const struct ledger_thread *record = ledger_reader__thread(input->reader, ref);
    const struct ledger_thread *parent = ledger_reader__thread(input->reader, record->parent);

    if (parent && parent->java_id == record->parent_id)
        thread_at(merge, input->to[ref])->parent = input->to[record->parent];
    else if (record->parent && !may_have_folded(input->header))
        merge__skip(input, ref, "ref %" PRIu32 ", expected the thread that started it",
                    record->parent);
}

/* Only what a report says of kernel threads: the rest is for a process that goes on. */
static void copy_kernel_thread(struct ledger_merge *merge, const struct merge_input *input,
                               const struct ledger_kernel_thread *record)
{
    if (!record->tid || !record->kernel_cpu_ns)
        return;
    ledger_ref ref = merge__take(merge, LEDGER_KERNEL_THREADS, sizeof(*record));
    if (!ref)
        return;
    struct ledger_kernel_thread *copy = ledger__at(&merge->ledger, ref);
    *copy = *record;
    copy->current = 0;
    copy->thread =
        ledger_reader__thread(input->reader, record->thread) ? input->to[record->thread] : 0;
}

/* A tally of a thread that was folded meanwhile is left out: its record may be another thread's. */
static void copy_tally(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref)
{
    const struct ledger_tally *record = ledger_reader__tally(input->reader, ref);
    const struct ledger_thread *owner = ledger_reader__thread(input->reader, record->thread);
    ledger_ref method = merge__method(input, record->method);

    if (!owner || !input->to[record->thread] || owner->start_ns != record->start_ns)
        return;
    if (record->method && !method) {
        merge__skip(input, ref, "ref %" PRIu32 ", expected the method of a tally", record->method);
        return;
    }
    ledger_ref to = merge__take(merge, LEDGER_TALLIES, sizeof(*record));
    if (!to)
        return;
    struct ledger_tally *tally = ledger__at(&merge->ledger, to);
    *tally = *record;
    tally->thread = input->to[record->thread];
    tally->method = method;
    tally->start_ns = thread_at(merge, tally->thread)->start_ns;
    if (method)
        return;
    tally->lacks_frames |= !report_inside__has_all_frames(input->header);
    if (!tally->call_ps)
        tally->call_ps = report_inside__call_ps(input->header);
}

void merge_threads__add(struct ledger_merge *merge, struct merge_input *input)
{
    const struct ledger_reader *reader = input->reader;
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(reader, LEDGER_THREADS, ref)) != 0 && !merge->full) {
        const struct ledger_thread *record = ledger_reader__thread(reader, ref);

        if (record->flags & THREAD_HIDDEN)
            continue;
        if (record->kind >= THREAD_PLATFORM && record->kind <= THREAD_NATIVE)
            copy_thread(merge, input, record, ref);
        else if (record->kind || record->root)
            merge__skip(input, ref, "thread kind %" PRIu32 ", expected 1 to 5", record->kind);
    }
    while ((ref = ledger_reader__next(reader, LEDGER_THREADS, ref)) != 0)
        if (input->to[ref])
            set_parent(merge, input, ref);
    while ((ref = ledger_reader__next(reader, LEDGER_KERNEL_THREADS, ref)) != 0 && !merge->full)
        copy_kernel_thread(merge, input, ledger_reader__kernel_thread(reader, ref));
    while ((ref = ledger_reader__next(reader, LEDGER_TALLIES, ref)) != 0 && !merge->full)
        copy_tally(merge, input, ref);
}
