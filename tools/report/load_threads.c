/* Threads, their names, and the kernel threads that ran them. */
#include "tools/report/loader.h"
#include "tools/report/memory.h"

#include <inttypes.h>
#include <string.h>

#define RENAMES_MAX 1000u /* a longer list is a circle */

static void load_renames(struct loader *loader, struct report_thread *thread, ledger_ref newest)
{
    ledger_ref names[RENAMES_MAX];
    size_t count = 0;

    while (newest != 0 && count < RENAMES_MAX) {
        const struct ledger_rename *rename = ledger_reader__rename(loader->reader, newest);

        if (!rename) {
            if (!loader__is_being_written(loader))
                loader__skip(loader, newest, "expected a rename");
            break;
        }
        names[count++] = rename->name;
        newest = rename->older;
    }
    if (count == RENAMES_MAX)
        loader__skip(loader, newest, "more than %u renames of one thread", RENAMES_MAX);
    thread->renames = memory__zeroed(count, sizeof(*thread->renames));
    thread->rename_count = count;
    for (size_t i = 0; i < count; i++)
        thread->renames[i] = loader__text(loader, names[count - 1 - i], newest);
}

/* A virtual thread that has no carrier waits for that, at least. */
static unsigned wait_reason_of(const struct ledger_thread *record)
{
    unsigned reason = ledger_thread__wait_reason(record);

    if (record->end_ns || record->flags & (THREAD_TERMINATED | THREAD_GROUP))
        return 0;
    if (!reason && record->kind == THREAD_VIRTUAL && record->unmounted_ns)
        return METRIC_UNMOUNTED;
    return reason;
}

static void load_thread(struct loader *loader, const struct ledger_thread *record, ledger_ref ref)
{
    struct report_model *model = loader->model;
    struct report_thread *thread = &model->threads[model->thread_count++];

    *thread = (struct report_thread){
        .name = loader__text(loader, record->name, ref),
        .group_name = record->group_name ? loader__text(loader, record->group_name, ref)
                                         : (struct text){NULL, 0},
        .parent = REPORT_NONE,
        .kind = (enum ledger_thread_kind)record->kind,
        .flags = record->flags,
        .java_id = record->java_id,
        .start_ns = record->start_ns,
        .end_ns = record->end_ns,
        .lost_enters = record->lost_enters,
        .folded_bound_ns = record->folded_bound_ns,
        .foldings = record->foldings,
        .unplaced_calls = record->unplaced_calls,
        .left_cpu_ns = record->left_cpu_ns,
        .moded_cpu_ns = record->moded_cpu_ns,
        .moded_system_ns = record->moded_system_ns < record->moded_cpu_ns ? record->moded_system_ns
                                                                          : record->moded_cpu_ns,
        .members = record->flags & THREAD_GROUP ? record->members : 1,
        .mounts = record->mounts,
        .pinned = record->pinned,
        .parked_ns = record->parked_ns,
        .wait_reason = wait_reason_of(record),
        .block = record->end_ns ? 0 : record->block,
        .tid_count = record->tid_count,
    };
    model->header.dropped_enters += record->lost_enters;
    memcpy(thread->tids, record->tids, sizeof(thread->tids));
    uint64_t known = model->header.metrics_totals | model->header.metrics_charged;
    for (size_t metric = 0; metric < METRIC_COUNT; metric++)
        if (known >> metric & 1)
            thread->totals[metric] = record->totals[metric];
    load_renames(loader, thread, record->renames);
    loader->index_of[ref] = model->thread_count;
}

void loader__load_threads(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref last = 0;
    uint32_t count = loader__count_records(loader, LEDGER_THREADS, &last);

    model->threads = memory__zeroed(count, sizeof(*model->threads));
    ledger_ref ref = 0;
    while ((ref = ledger_reader__next(loader->reader, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *record = ledger_reader__thread(loader->reader, ref);

        if (record->flags & THREAD_HIDDEN)
            continue;
        if (record->kind >= THREAD_PLATFORM && record->kind <= THREAD_NATIVE)
            load_thread(loader, record, ref);
        else if (record->kind || (record->root && !loader__is_being_written(loader)))
            loader__skip(loader, ref, "thread kind %" PRIu32 ", expected 1 to 5", record->kind);
    }
}

void loader__load_kernel_threads(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref ref = 0, last = 0;
    uint32_t count = loader__count_records(loader, LEDGER_KERNEL_THREADS, &last);

    model->kernel_threads = memory__zeroed(count, sizeof(*model->kernel_threads));
    while ((ref = ledger_reader__next(loader->reader, LEDGER_KERNEL_THREADS, ref)) != 0) {
        const struct ledger_kernel_thread *record =
            ledger_reader__kernel_thread(loader->reader, ref);

        if (record->tid && record->kernel_cpu_ns)
            model->kernel_threads[model->kernel_thread_count++] = (struct report_kernel_thread){
                .tid = record->tid,
                .thread = loader__thread_or_none(loader, record->thread),
                .kernel_cpu_ns = record->kernel_cpu_ns,
                .charged_cpu_ns = record->charged_cpu_ns,
            };
    }
}
