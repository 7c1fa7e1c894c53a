/* What samples had on their stacks, by thread and method. */
#include "tools/report/loader.h"
#include "tools/report/memory.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    const struct report_tally *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return x->method < y->method ? -1 : x->method > y->method;
}

/* False: it is of a thread that is over and folded, or it makes no sense. */
static bool load(struct loader *loader, ledger_ref ref, struct report_tally *tally)
{
    const struct ledger_tally *record = ledger_reader__tally(loader->reader, ref);
    const struct ledger_thread *owner = ledger_reader__thread(loader->reader, record->thread);
    uint32_t thread = loader__thread_or_none(loader, record->thread);
    uint32_t method = METHOD_OF_THREAD;

    if (!owner || thread == REPORT_NONE || owner->start_ns != record->start_ns ||
        owner->flags & THREAD_GROUP)
        return false;
    if (record->method)
        method = ledger_reader__method(loader->reader, record->method)
                     ? loader__index_or_none(loader, record->method)
                     : REPORT_NONE;
    if (method == REPORT_NONE)
        return false;
    *tally = (struct report_tally){.thread = thread,
                                   .method = method,
                                   .samples = record->samples,
                                   .seen_ns = record->seen_ns,
                                   .doubtful_ns = record->doubtful_ns,
                                   .most_ns = record->most_ns,
                                   .call_ps = record->call_ps,
                                   .lacks_frames = record->lacks_frames != 0};
    return true;
}

/* Methods that mean the same are one. */
static void join_equal(struct report_model *model)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < model->tally_count; i++) {
        const struct report_tally *next = &model->tallies[i];
        struct report_tally *last = kept ? &model->tallies[kept - 1] : NULL;

        if (!last || compare(last, next) != 0) {
            model->tallies[kept++] = *next;
            continue;
        }
        last->samples += next->samples;
        last->seen_ns += next->seen_ns;
        last->doubtful_ns += next->doubtful_ns;
    }
    model->tally_count = kept;
}

/* Frames of methods whose hooks were silent for a while have no exact nodes for so long. */
static void note_partly_heard(struct loader *loader)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(loader->reader, LEDGER_HOOKINGS, ref)) != 0) {
        const struct ledger_hooking *hooking = ledger_reader__hooking(loader->reader, ref);
        uint32_t method = ledger_reader__method(loader->reader, hooking->method)
                              ? loader__index_or_none(loader, hooking->method)
                              : REPORT_NONE;

        if (method != REPORT_NONE)
            loader->model->methods[method].partly_heard = true;
    }
}

void loader__load_tallies(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref last = 0, ref = 0;
    uint32_t count = loader__count_records(loader, LEDGER_TALLIES, &last);

    model->tallies = memory__zeroed(count, sizeof(*model->tallies));
    while ((ref = ledger_reader__next(loader->reader, LEDGER_TALLIES, ref)) != 0)
        model->tally_count += load(loader, ref, &model->tallies[model->tally_count]);
    qsort(model->tallies, model->tally_count, sizeof(*model->tallies), compare);
    join_equal(model);
    note_partly_heard(loader);
}
