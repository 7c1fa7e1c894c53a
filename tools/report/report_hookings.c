#include "tools/report/report_hookings.h"

#include "tools/report/loader.h"
#include "tools/report/memory.h"
#include "tools/report/report_explain.h"

#include <inttypes.h>
#include <stdlib.h>

#define MILLION 1000000u

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t since(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Of states, the one that tells more comes first. */
static unsigned rank(uint32_t state)
{
    return state == HOOKING_OFF ? HOOKING_STATES : state;
}

/* For how long calls were only counted. */
static uint64_t counted_ns(const struct ledger_hooking *record, uint64_t asof_ns)
{
    return record->counted_ns +
           (ledger_hooking__is_counting(record) ? since(record->since_ns, asof_ns) : 0);
}

/* `known`: without what may be missing in it. */
static void add(struct report_hooking *sum, const struct ledger_hooking *record,
                const struct ledger_hooking *known, uint64_t ledger_end_ns)
{
    uint64_t asof_ns = record->end_ns ? record->end_ns : ledger_end_ns;
    bool heard = record->state == HOOKING_HEARD;
    uint64_t begin_ns = record->from_ns ? record->from_ns : record->since_ns;
    uint64_t state_ns = since(record->since_ns, asof_ns);
    uint64_t heard_ns = record->heard_ns + (heard ? state_ns : 0);
    uint64_t known_ns = counted_ns(known, asof_ns);

    sum->is_left_out = record->left_out && (!sum->is_partial || sum->is_left_out);
    if (!sum->is_partial || rank(record->state) < rank(sum->state))
        sum->state = record->state;
    if (record->from_ns && (!sum->from_ns || record->from_ns < sum->from_ns))
        sum->from_ns = record->from_ns;
    if (!heard && record->from_ns)
        sum->until_ns = later(sum->until_ns, record->since_ns);
    sum->heard_ns += heard_ns;
    sum->known_ns += heard_ns + known_ns;
    sum->unsure_ns += since(known_ns, counted_ns(record, asof_ns));
    sum->counted += ledger_hooking__counted(record);
    sum->span_ns += later(since(begin_ns, asof_ns), heard_ns);
    sum->mutes += record->mutes;
    sum->calls += record->heard_calls;
    if (record->from_ns)
        sum->since_ns = later(sum->since_ns, record->since_ns);
    if (record->rate > sum->rate) {
        sum->rate = record->rate;
        sum->rate_max = record->rate_max;
    }
    sum->is_partial = true;
}

/* A time in which include= and exclude= left the method out, which the budget's records take for
 * one in which it was heard; but for the time before its first hooks. Records are of either kind:
 * after the budget's own. */
static void add_left_out(struct report_hooking *sum, const struct ledger_hooking *record,
                         uint64_t ledger_end_ns)
{
    uint64_t asof_ns = record->end_ns ? record->end_ns : ledger_end_ns;
    bool is_only = !sum->is_partial || sum->is_left_out;

    if (!sum->is_partial)
        *sum = (struct report_hooking){.is_partial = true,
                                       .is_left_out = true,
                                       .state = HOOKING_HEARD,
                                       .from_ns = 1,
                                       .heard_ns = asof_ns,
                                       .span_ns = asof_ns};
    else if (!is_only)
        sum->span_ns += record->from_ns;
    if (is_only)
        sum->from_ns = later(sum->from_ns, record->from_ns);
    if (is_only)
        sum->since_ns = later(sum->since_ns, record->since_ns);
    sum->heard_ns = since(since(is_only ? 0 : record->from_ns, record->heard_ns), sum->heard_ns);
    sum->left_ns += record->heard_ns;
    sum->mutes += record->mutes;
}

static void mark_threads(struct report_model *model)
{
    for (uint32_t i = 0; i < model->thread_count; i++)
        model->threads[i].is_partial = false;
    for (uint32_t i = 0; i < model->node_count; i++)
        if (report_node__is_partial(model, i))
            model->threads[model->nodes[i].thread].is_partial = true;
}

/* A time in which the method was left out; not one that lasts up to a merged process's end. */
static bool is_interlude(const struct ledger_hooking *record)
{
    return record->left_out && record->state == HOOKING_HEARD;
}

static void load(struct loader *loader, bool interludes, uint64_t asof_ns)
{
    struct report_model *model = loader->model;
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(loader->reader, LEDGER_HOOKINGS, ref)) != 0) {
        const struct ledger_hooking *record = ledger_reader__hooking(loader->reader, ref);
        bool of_method = ledger_reader__method(loader->reader, record->method) != NULL;
        uint32_t method =
            of_method ? loader__index_or_none(loader, record->method) : (uint32_t)REPORT_NONE;

        if (method == REPORT_NONE || record->state >= HOOKING_STATES) {
            if (!interludes && record->method && !loader__is_being_written(loader))
                loader__skip(loader, ref, "ref %" PRIu32 ", expected the method of a hook",
                             record->method);
            continue;
        }
        if (is_interlude(record) != interludes)
            continue;
        if (!model->hookings)
            model->hookings = memory__zeroed(model->method_count, sizeof(*model->hookings));
        const struct ledger_hooking known = ledger_reader__known_hooking(loader->reader, record);
        if (interludes)
            add_left_out(&model->hookings[method], record, asof_ns);
        else
            add(&model->hookings[method], record, &known, asof_ns);
    }
}

void loader__load_hookings(struct loader *loader)
{
    struct report_model *model = loader->model;
    uint64_t asof_ns = report_model__profiled_to_ns(model);

    load(loader, false, asof_ns);
    for (uint32_t i = 0; model->hookings && i < model->method_count; i++)
        if (model->hookings[i].state == HOOKING_HEARD)
            model->hookings[i].until_ns = 0;
    /* Whether the filter that was set anew left a counted method out is not known here. */
    for (uint32_t i = 0; model->hookings && i < model->method_count; i++)
        if (model->header.filter_since_ns)
            model->hookings[i].known_ns = model->hookings[i].unsure_ns = 0;
    load(loader, true, asof_ns);
    if (model->hookings)
        mark_threads(model);
}

static void leave_out(struct report_hooking *hooking, uint64_t since_ns, uint64_t asof_ns)
{
    uint64_t silent_ns = since(since_ns, asof_ns);

    if (!hooking->is_partial)
        *hooking = (struct report_hooking){
            .is_partial = true, .from_ns = 1, .heard_ns = asof_ns, .span_ns = asof_ns};
    hooking->heard_ns = since(silent_ns, hooking->heard_ns);
    hooking->until_ns = hooking->since_ns = since_ns;
    hooking->state = HOOKING_OFF;
    hooking->is_left_out = true;
}

void report_hookings__leave_out(struct report_model *model, const struct ledger_reader *reader)
{
    struct explanations *all;

    if (!model->header.filter_since_ns)
        return;
    all = explanations__new(model, reader, "*");
    if (!model->hookings)
        model->hookings = memory__zeroed(model->method_count, sizeof(*model->hookings));
    for (size_t i = 0; i < all->count; i++)
        if (all->all[i].hook == EXPLAINED_LEFT_SINCE && all->all[i].calls)
            leave_out(&model->hookings[all->all[i].method], model->header.filter_since_ns,
                      report_model__profiled_to_ns(model));
    explanations__free(all);
    mark_threads(model);
}

const struct report_hooking *report_hooking__of(const struct report_model *model, uint32_t method)
{
    return model->hookings && model->hookings[method].is_partial ? &model->hookings[method] : NULL;
}

/* What include= and exclude= left out is in no count. */
static bool knows(const struct report_hooking *hooking, uint64_t known_ns)
{
    return hooking->from_ns && !hooking->is_left_out && !hooking->left_ns &&
           known_ns >= hooking->span_ns;
}

bool report_hooking__knows_calls(const struct report_hooking *hooking)
{
    return knows(hooking, hooking->known_ns);
}

/* True if all calls are known, or will be once the process has written down what it counted. */
static bool is_counted(const struct report_hooking *hooking)
{
    return knows(hooking, hooking->known_ns + hooking->unsure_ns);
}

uint32_t report_hooking__share_ppm(const struct report_hooking *hooking)
{
    unsigned __int128 heard_ns = hooking->heard_ns;
    uint64_t ppm = hooking->span_ns ? (uint64_t)(heard_ns * MILLION / hooking->span_ns) : 0;

    return ppm < MILLION ? (uint32_t)ppm : MILLION - 1;
}

bool report_node__is_partial(const struct report_model *model, uint32_t node)
{
    return model->nodes[node].kind == NODE_EXACT && model->base[COLUMN_CALLS][node] &&
           report_hooking__of(model, model->nodes[node].method);
}

/* Within the interval it was heard always, if it was heard when that began and never fell silent.
 */
static void subtract(struct report_hooking *now, const struct report_hooking *before,
                     uint64_t since_ns, uint64_t asof_ns)
{
    uint64_t length_ns = since(since_ns, asof_ns);
    bool was_heard = before->is_partial && before->state == HOOKING_HEARD;

    if (was_heard && now->state == HOOKING_HEARD && now->mutes == before->mutes) {
        now->is_partial = false;
        return;
    }
    now->heard_ns = since(before->heard_ns, now->heard_ns);
    /* Calls that the earlier ledger lacks would be taken for the interval's. */
    now->known_ns = before->unsure_ns ? 0 : since(before->known_ns, now->known_ns);
    now->counted = since(before->counted, now->counted);
    now->span_ns = before->is_partial ? since(before->span_ns, now->span_ns) : length_ns;
    now->mutes -= before->mutes < now->mutes ? before->mutes : now->mutes;
}

/* A method that had no record before was heard until then, or had no hooks yet. The latter is sure
 * of one that has not fallen silent since, and of one that was heard for less than that. */
static void subtract_first(struct report_hooking *now, uint64_t since_ns)
{
    uint64_t before_ns = since(now->from_ns, since_ns);
    bool was_heard = now->mutes && now->heard_ns >= before_ns;

    if (!now->from_ns)
        return;
    now->heard_ns = was_heard ? now->heard_ns - before_ns : now->heard_ns;
    now->known_ns = was_heard ? now->known_ns - before_ns : now->known_ns;
    now->span_ns = since(before_ns, now->span_ns);
}

void report_hookings__subtract(struct report_model *model, const struct report_model *before,
                               const uint32_t *methods)
{
    uint64_t since_ns = report_model__profiled_to_ns(before);
    uint64_t asof_ns = report_model__profiled_to_ns(model);
    const struct report_hooking **old = NULL;

    if (!model->hookings)
        return;
    old = memory__zeroed(model->method_count, sizeof(const struct report_hooking *));
    for (uint32_t i = 0; i < before->method_count; i++)
        if (methods[i] != REPORT_NONE)
            old[methods[i]] = report_hooking__of(before, i);
    for (uint32_t i = 0; i < model->method_count; i++) {
        struct report_hooking *now = &model->hookings[i];

        if (!now->is_partial)
            continue;
        if (old[i])
            subtract(now, old[i], since_ns, asof_ns);
        else
            subtract_first(now, since_ns);
    }
    free((void *)old);
    mark_threads(model);
}

/* At some time; not a method whose first hooks came late. Of an interval, mutes are those in it. */
static bool fell_silent(const struct report_hooking *hooking)
{
    return hooking->mutes || hooking->calls;
}

struct report_hookings_count report_hookings__count(const struct report_model *model)
{
    struct report_hookings_count count = {0};

    for (uint32_t i = 0; model->hookings && i < model->method_count; i++) {
        const struct report_hooking *hooking = report_hooking__of(model, i);

        if (!hooking || hooking->is_left_out)
            continue;
        count.planned += hooking->from_ns == 0;
        count.silent += hooking->from_ns && hooking->state != HOOKING_HEARD;
        count.counted += hooking->from_ns && hooking->state != HOOKING_HEARD && is_counted(hooking);
        count.muted += hooking->from_ns && hooking->state == HOOKING_MUTED;
        count.again += hooking->state == HOOKING_HEARD && fell_silent(hooking);
    }
    return count;
}
