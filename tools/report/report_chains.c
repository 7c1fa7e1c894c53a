#include "tools/report/report_chains.h"

#include "tools/report/loader.h"
#include "tools/report/memory.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- loading ---- */

static void load_part(struct loader *loader, ledger_ref ref, struct report_part *part)
{
    const struct ledger_part *record = ledger_reader__part(loader->reader, ref);

    *part = (struct report_part){
        .turn = record->state >> PART_STATE_BITS,
        .id = {record->id[0], record->id[1]},
        .begin_ns = record->begin_ns,
        .java_id = record->java_id,
        .tid = record->tid,
        .pid = record->pid,
        .process = record->process,
        .depth = record->depth,
        .is_open = ledger_part__state(record) == PART_OPEN,
        .is_unended = record->flags & PART_UNENDED,
        .is_otel = record->flags & PART_OTEL,
        .is_virtual = record->flags & PART_VIRTUAL,
    };
    if (!part->is_open && !part->is_unended) {
        part->elapsed_ns = record->elapsed_ns < INT64_MAX / 2 ? record->elapsed_ns : 0;
        part->cpu_ns = record->cpu_ns < INT64_MAX / 2 ? record->cpu_ns : 0;
    }
    if (part->is_open)
        part->open_ns = record->elapsed_ns < INT64_MAX / 2 ? record->elapsed_ns : 0;
    part->thread = loader__text(loader, record->thread, ref);
    for (unsigned i = PART_FRAMES; i-- > 0;) {
        uint32_t method = ledger_reader__method(loader->reader, record->path[i])
                              ? loader__index_or_none(loader, record->path[i])
                              : REPORT_NONE;

        if (method != REPORT_NONE)
            part->methods[part->frames++] = method;
    }
}

void loader__load_chains(struct loader *loader)
{
    struct report_model *model = loader->model;
    ledger_ref last = 0, ref = 0;
    uint32_t count = loader__count_records(loader, LEDGER_PARTS, &last);

    model->parts = memory__zeroed(count, sizeof(*model->parts));
    while ((ref = ledger_reader__next(loader->reader, LEDGER_PARTS, ref)) != 0) {
        const struct ledger_part *record = ledger_reader__part(loader->reader, ref);

        if (!record->state)
            continue;
        if (ledger_part__is_whole(record))
            load_part(loader, ref, &model->parts[model->part_count++]);
        else
            model->header.torn_parts++;
    }
}

/* ---- intervals ---- */

static int by_turn(const void *left, const void *right)
{
    const struct report_part *a = left, *b = right;

    if (a->process != b->process)
        return a->process < b->process ? -1 : 1;
    return (a->turn > b->turn) - (a->turn < b->turn);
}

void report_chains__subtract(struct report_model *model, const struct report_model *before)
{
    struct report_part *over = memory__zeroed(before->part_count, sizeof(*over));
    uint32_t count = 0, kept = 0;

    for (uint32_t i = 0; i < before->part_count; i++)
        if (!before->parts[i].is_open)
            over[count++] = before->parts[i];
    if (count)
        qsort(over, count, sizeof(*over), by_turn);
    for (uint32_t i = 0; i < model->part_count; i++)
        if (!count || !bsearch(&model->parts[i], over, count, sizeof(*over), by_turn))
            model->parts[kept++] = model->parts[i];
    model->part_count = kept;
    free(over);
}

/* ---- one clock ---- */

/* From the clock of a ledger's parts to the epoch. Ledgers of one boot have one distance. */
static uint64_t epoch_of(const struct report_model *const *models, uint32_t index)
{
    const struct ledger_header *of = &models[index]->header;

    for (uint32_t i = 0; i < index && of->boot_id[0]; i++)
        if (memcmp(models[i]->header.boot_id, of->boot_id, sizeof(of->boot_id)) == 0) {
            of = &models[i]->header;
            break;
        }
    return of->epoch_ns - of->monotonic_ns;
}

/* ---- snapshots of one ledger ---- */

static int compare_ids(const struct report_part *a, const struct report_part *b)
{
    if (a->id[0] != b->id[0])
        return a->id[0] < b->id[0] ? -1 : 1;
    return (a->id[1] > b->id[1]) - (a->id[1] < b->id[1]);
}

/* Two files of one ledger: copies, or snapshots of different moments. */
static bool is_same_ledger(const struct report_model *a, const struct report_model *b)
{
    return a->header.pid && a->header.pid == b->header.pid &&
           a->header.start_ticks == b->header.start_ticks &&
           a->header.epoch_ns == b->header.epoch_ns &&
           a->header.monotonic_ns == b->header.monotonic_ns &&
           memcmp(a->header.boot_id, b->header.boot_id, sizeof(a->header.boot_id)) == 0;
}

/* The first of the models that is the same ledger. */
static uint32_t ledger_of(const struct report_model *const *models, uint32_t index)
{
    uint32_t first = 0;

    while (first < index && !is_same_ledger(models[first], models[index]))
        first++;
    return first;
}

/* Its counts include those of the ledger's earlier snapshots. */
static bool is_latest(const struct report_model *const *models, uint32_t count, uint32_t index)
{
    uint64_t asof_ns = models[index]->header.asof_ns;

    for (uint32_t i = 0; i < count; i++)
        if (i != index && is_same_ledger(models[i], models[index]) &&
            (models[i]->header.asof_ns > asof_ns ||
             (models[i]->header.asof_ns == asof_ns && i < index)))
            return false;
    return true;
}

/* What does not change from one snapshot to the next. */
static int compare_records(const struct chain_part *a, const struct chain_part *b)
{
    int order = (a->ledger > b->ledger) - (a->ledger < b->ledger);

    if (!order)
        order = by_turn(a->part, b->part);
    if (!order)
        order = compare_ids(a->part, b->part);
    if (!order)
        order = (a->part->begin_ns > b->part->begin_ns) - (a->part->begin_ns < b->part->begin_ns);
    return order ? order : (a->part->tid > b->part->tid) - (a->part->tid < b->part->tid);
}

/* Of one part in several snapshots the one that knows the most is the first. */
static int by_record(const void *left, const void *right)
{
    const struct chain_part *a = left, *b = right;
    int order = compare_records(a, b);

    if (!order)
        order = a->part->is_open - b->part->is_open;
    if (!order)
        order = (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
    return order ? order
                 : (a->part->cpu_ns < b->part->cpu_ns) - (a->part->cpu_ns > b->part->cpu_ns);
}

/* `part` comes after `kept` in that order. */
static bool is_repeated(const struct chain_part *kept, const struct chain_part *part)
{
    return kept->model != part->model && compare_records(kept, part) == 0 &&
           (part->part->is_open || (kept->part->elapsed_ns == part->part->elapsed_ns &&
                                    kept->part->cpu_ns == part->part->cpu_ns));
}

static void drop_repeated(struct report_chains *chains)
{
    uint32_t kept = 0;

    if (chains->part_count)
        qsort(chains->parts, chains->part_count, sizeof(*chains->parts), by_record);
    for (uint32_t i = 0; i < chains->part_count; i++) {
        const struct chain_part *part = &chains->parts[i],
                                *last = kept ? &chains->parts[kept - 1] : NULL;

        if (!last || !is_repeated(last, part))
            chains->parts[kept++] = *part;
    }
    chains->part_count = kept;
}

static void add_parts(struct report_chains *chains, const struct report_model *const *models,
                      uint32_t index)
{
    const struct report_model *model = models[index];
    uint64_t to_epoch = epoch_of(models, index);
    uint32_t ledger = ledger_of(models, index);
    uint64_t written_ns =
        to_epoch + model->header.monotonic_ns + report_model__profiled_to_ns(model);

    for (uint32_t i = 0; i < model->part_count; i++) {
        const struct report_part *part = &model->parts[i];
        uint64_t begin_ns = part->begin_ns + to_epoch, end_ns = begin_ns + part->elapsed_ns;

        if (part->open_ns)
            end_ns = begin_ns + part->open_ns;
        else if (part->is_open && written_ns > begin_ns)
            end_ns = written_ns;
        if (begin_ns > INT64_MAX || end_ns > INT64_MAX)
            begin_ns = end_ns = 0; /* no moment that a clock can show */
        chains->parts[chains->part_count++] = (struct chain_part){
            .part = part,
            .model = model,
            .ledger = ledger,
            .begin_ns = begin_ns,
            .end_ns = end_ns,
            .wait_ns = part->elapsed_ns > part->cpu_ns ? part->elapsed_ns - part->cpu_ns : 0};
    }
}

/* Of two that begin together the longer one is the caller. */
static int by_chain(const void *left, const void *right)
{
    const struct chain_part *a = left, *b = right;
    int order = compare_ids(a->part, b->part);

    if (!order)
        order = (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
    if (!order)
        order = (a->end_ns < b->end_ns) - (a->end_ns > b->end_ns);
    return order;
}

/* ---- what explains waits ---- */

/* Disjoint stretches of time, the latest first. */
struct stretch {
    uint64_t begin_ns;
    uint64_t end_ns;
    uint64_t later_ns; /* of those that come later */
};

static uint64_t length_of(const struct stretch *stretch)
{
    return stretch->end_ns - stretch->begin_ns;
}

/* How much of the stretches lies before a moment. */
static uint64_t before(const struct stretch *stretches, uint32_t count, uint64_t end_ns)
{
    uint32_t low = 0, high = count; /* of those before `low`: they begin at the moment or later */
    uint64_t all_ns, after_ns;

    if (!count)
        return 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (stretches[middle].begin_ns >= end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count)
        return 0;
    all_ns = stretches[count - 1].later_ns + length_of(&stretches[count - 1]);
    after_ns = stretches[low].later_ns;
    if (stretches[low].end_ns > end_ns)
        after_ns += stretches[low].end_ns - end_ns;
    return all_ns - after_ns;
}

/* Adds a stretch that begins before all others, or with the earliest. Returns their number. */
static uint32_t add_stretch(struct stretch *stretches, uint32_t count, struct stretch added)
{
    while (count && stretches[count - 1].begin_ns <= added.end_ns) {
        if (stretches[count - 1].end_ns > added.end_ns)
            added.end_ns = stretches[count - 1].end_ns;
        count--;
    }
    added.later_ns = count ? stretches[count - 1].later_ns + length_of(&stretches[count - 1]) : 0;
    stretches[count++] = added;
    return count;
}

/* The parts of one chain, in their order. */
static void explain(struct chain_part *parts, uint32_t count, struct stretch *stretches)
{
    uint32_t used = 0;

    for (uint32_t i = count; i-- > 0;) {
        struct chain_part *part = &parts[i];
        uint64_t others_ns = before(stretches, used, part->end_ns);

        part->explained_ns = others_ns < part->wait_ns ? others_ns : part->wait_ns;
        if (part->end_ns > part->begin_ns)
            used = add_stretch(stretches, used, (struct stretch){part->begin_ns, part->end_ns, 0});
    }
}

/* ---- sums ---- */

static uint64_t sum(uint64_t a, uint64_t b)
{
    return a + b < INT64_MAX ? a + b : INT64_MAX;
}

static void add_to_sum(struct chain_sum *to, const struct chain_part *part)
{
    if (!to->count || part->begin_ns < to->begin_ns)
        to->begin_ns = part->begin_ns;
    if (!to->count || part->end_ns > to->end_ns)
        to->end_ns = part->end_ns;
    to->count++;
    to->elapsed_ns = sum(to->elapsed_ns, part->part->elapsed_ns);
    to->cpu_ns = sum(to->cpu_ns, part->part->cpu_ns);
    to->wait_ns = sum(to->wait_ns, part->wait_ns);
    to->explained_ns = sum(to->explained_ns, part->explained_ns);
}

static bool is_in_thread(const struct chain_part *part, const char *glob)
{
    char *name = text__printable(part->part->thread, 0);
    bool is = fnmatch(glob, name, 0) == 0;

    free(name);
    return is;
}

static bool any_in_thread(const struct chain_part *parts, uint32_t count, const char *glob)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_in_thread(&parts[i], glob))
            return true;
    return false;
}

static void find_chains(struct report_chains *chains, const char *thread)
{
    struct stretch *stretches = memory__zeroed(chains->part_count, sizeof(*stretches));
    uint32_t kept = 0;

    chains->chains = memory__zeroed(chains->part_count, sizeof(*chains->chains));
    for (uint32_t first = 0, end; first < chains->part_count; first = end) {
        struct chain_part *parts = &chains->parts[first];
        struct chain_sum chain = {.first = kept};

        for (end = first + 1;
             end < chains->part_count && compare_ids(chains->parts[end].part, parts->part) == 0;)
            end++;
        if (thread && !any_in_thread(parts, end - first, thread))
            continue;
        explain(parts, end - first, stretches);
        for (uint32_t i = first; i < end; i++) {
            add_to_sum(&chain, &chains->parts[i]);
            chains->parts[kept++] = chains->parts[i];
        }
        chains->chains[chains->chain_count++] = chain;
    }
    chains->part_count = kept;
    free(stretches);
}

static int by_key(const void *left, const void *right)
{
    const struct chain_sum *a = left, *b = right;

    return a->key != b->key ? (a->key < b->key) - (a->key > b->key)
                            : (a->first > b->first) - (a->first < b->first);
}

static uint64_t key_of(const struct chain_sum *chain, enum chain_order order)
{
    const uint64_t keys[] = {
        [CHAINS_BY_ELAPSED] = chain->end_ns - chain->begin_ns,
        [CHAINS_BY_CPU] = chain->cpu_ns,
        [CHAINS_BY_WAIT] = chain->wait_ns,
        [CHAINS_BY_COUNT] = chain->count,
        [CHAINS_BY_BEGIN] = UINT64_MAX - chain->begin_ns,
    };

    return keys[order];
}

void report_chains__sort(struct report_chains *chains, enum chain_order order)
{
    for (uint32_t i = 0; i < chains->chain_count; i++)
        chains->chains[i].key = key_of(&chains->chains[i], order);
    if (chains->chain_count)
        qsort(chains->chains, chains->chain_count, sizeof(*chains->chains), by_key);
}

static int compare_frames(const struct chain_part *a, const struct chain_part *b, uint32_t frame)
{
    const struct report_method *x = &a->model->methods[a->part->methods[frame]];
    const struct report_method *y = &b->model->methods[b->part->methods[frame]];
    int order = text__compare(x->name, y->name);

    return order ? order : text__compare(x->signature, y->signature);
}

static int compare_rows(const struct chain_part *a, const struct chain_part *b)
{
    int order = (a->part->pid > b->part->pid) - (a->part->pid < b->part->pid);

    if (!order)
        order = (a->part->process > b->part->process) - (a->part->process < b->part->process);
    for (uint32_t i = 0; !order && i < a->part->frames && i < b->part->frames; i++)
        order = compare_frames(a, b, i);
    if (!order)
        order = (a->part->frames > b->part->frames) - (a->part->frames < b->part->frames);
    return order;
}

static int by_row(const void *left, const void *right)
{
    const struct chain_part *a = *(const struct chain_part *const *)left;
    const struct chain_part *b = *(const struct chain_part *const *)right;
    int order = compare_rows(a, b);

    return order ? order : (a > b) - (a < b);
}

static void find_rows(struct report_chains *chains)
{
    uint32_t count = chains->part_count;

    chains->by_row = memory__zeroed(count, sizeof(struct chain_part *));
    chains->rows = memory__zeroed(count, sizeof(*chains->rows));
    for (uint32_t i = 0; i < count; i++)
        chains->by_row[i] = &chains->parts[i];
    if (count)
        qsort((void *)chains->by_row, count, sizeof(struct chain_part *), by_row);
    for (uint32_t i = 0; i < count; i++) {
        if (!i || compare_rows(chains->by_row[i - 1], chains->by_row[i]) != 0)
            chains->rows[chains->row_count++].first = i;
        add_to_sum(&chains->rows[chains->row_count - 1], chains->by_row[i]);
    }
}

static void add_losses(struct chain_losses *losses, const struct ledger_header *header)
{
    losses->other_parts = sum(losses->other_parts, header->other_parts);
    losses->other_unended = sum(losses->other_unended, header->other_parts_unended);
    losses->other_cpu_ns = sum(losses->other_cpu_ns, header->other_parts_cpu_ns);
    losses->other_ns = sum(losses->other_ns, header->other_parts_ns);
    losses->lost_parts = sum(losses->lost_parts, header->lost_parts);
    losses->torn_parts = sum(losses->torn_parts, header->torn_parts);
}

struct report_chains *report_chains__new(const struct report_model *const *models, uint32_t count,
                                         const char *thread)
{
    struct report_chains *chains = memory__zeroed(1, sizeof(*chains));
    size_t parts = 0;

    for (uint32_t i = 0; i < count; i++)
        parts += models[i]->part_count;
    chains->parts = memory__zeroed(parts, sizeof(*chains->parts));
    for (uint32_t i = 0; i < count; i++) {
        add_parts(chains, models, i);
        if (is_latest(models, count, i))
            add_losses(&chains->losses, &models[i]->header);
    }
    drop_repeated(chains);
    if (parts)
        qsort(chains->parts, chains->part_count, sizeof(*chains->parts), by_chain);
    find_chains(chains, thread);
    find_rows(chains);
    report_chains__sort(chains, CHAINS_BY_ELAPSED);
    for (uint32_t i = 0; i < chains->row_count; i++)
        chains->rows[i].key = chains->rows[i].elapsed_ns;
    if (chains->row_count)
        qsort(chains->rows, chains->row_count, sizeof(*chains->rows), by_key);
    return chains;
}

void report_chains__free(struct report_chains *chains)
{
    if (!chains)
        return;
    free(chains->parts);
    free(chains->chains);
    free((void *)chains->by_row);
    free(chains->rows);
    free(chains);
}

void report_chains__id_text(const uint64_t id[2], char text[CHAIN_ID_BYTES])
{
    snprintf(text, CHAIN_ID_BYTES, "%016" PRIx64 "%016" PRIx64, id[0], id[1]);
}
