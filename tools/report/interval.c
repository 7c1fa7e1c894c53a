#include "tools/report/interval.h"

#include "native/thread/thread_fold.h"
#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

/* A thread as it is looked up in a sorted array. */
struct known_thread {
    const struct report_thread *thread;
    struct text name; /* of a group: its own; of others: what it would be folded under */
    uint32_t index;
};

struct known_threads {
    struct known_thread *items;
    uint32_t count;
};

struct matching {
    struct interval *interval;
    struct known_threads singles; /* of the earlier reading */
    struct known_threads groups;
    struct known_threads by_tid; /* rows without a Java thread */
    bool *found;                 /* by thread of the earlier reading: it has a row */
    struct known_threads now_groups;
    uint32_t *row_of; /* by thread of the later reading: 1 + its row */
    struct text_store texts;
};

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* A row without a Java thread is known by its kernel thread. */
static int compare_singles(const struct report_thread *a, const struct report_thread *b)
{
    int order = compare_numbers(a->java_id, b->java_id);

    if (!order)
        order = compare_numbers(a->start_ns, b->start_ns);
    if (!order && !a->java_id)
        order = compare_numbers((uint64_t)a->tids[0], (uint64_t)b->tids[0]);
    return order;
}

static bool is_group(const struct report_thread *thread)
{
    return thread->flags & THREAD_GROUP;
}

bool report_thread__is_same(const struct report_thread *a, const struct report_thread *b)
{
    if (is_group(a) || is_group(b))
        return is_group(a) && is_group(b) && a->kind == b->kind &&
               text__compare(a->name, b->name) == 0;
    return compare_singles(a, b) == 0;
}

static int by_identity(const void *a, const void *b)
{
    const struct known_thread *x = a, *y = b;

    return compare_singles(x->thread, y->thread);
}

static int by_name(const void *a, const void *b)
{
    const struct known_thread *x = a, *y = b;
    int order = compare_numbers(x->thread->kind, y->thread->kind);

    return order ? order : text__compare(x->name, y->name);
}

static int by_tid(const void *a, const void *b)
{
    const struct known_thread *x = a, *y = b;

    return compare_numbers((uint64_t)x->thread->tids[0], (uint64_t)y->thread->tids[0]);
}

static bool takes_single(const struct report_thread *thread)
{
    return !(thread->flags & (THREAD_GROUP | THREAD_LAST_MOMENTS));
}

static bool takes_kernel_thread(const struct report_thread *thread)
{
    return takes_single(thread) && thread->kind >= THREAD_VM && thread->tid_count;
}

static struct known_threads collect(const struct report_model *model,
                                    bool (*takes)(const struct report_thread *),
                                    int (*order)(const void *, const void *))
{
    struct known_threads known = {memory__zeroed(model->thread_count, sizeof(*known.items)), 0};

    for (uint32_t i = 0; i < model->thread_count; i++)
        if (takes(&model->threads[i]))
            known.items[known.count++] =
                (struct known_thread){&model->threads[i], model->threads[i].name, i};
    if (known.count)
        qsort(known.items, known.count, sizeof(*known.items), order);
    return known;
}

static uint32_t find(const struct known_threads *known, const struct known_thread *key,
                     int (*order)(const void *, const void *))
{
    const struct known_thread *found =
        known->count ? bsearch(key, known->items, known->count, sizeof(*known->items), order)
                     : NULL;

    return found ? found->index : REPORT_NONE;
}

/* 0 where the later one is smaller: readings may be off by a tick. */
static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static void subtract(struct interval_row *row, const struct report_thread *before)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        row->value[column] = growth(row->value[column], report_thread__value(before, column));
    row->mounts = growth(row->mounts, before->mounts);
    row->pinned = growth(row->pinned, before->pinned);
    row->parked_ns = growth(row->parked_ns, before->parked_ns);
}

/* Everything since it began; what it had before is subtracted later. */
static struct interval_row whole_row(const struct report_model *now, uint32_t index)
{
    const struct report_thread *thread = &now->threads[index];
    struct interval_row row = {
        .now = index,
        .before = REPORT_NONE,
        .mounts = thread->mounts,
        .pinned = thread->pinned,
        .parked_ns = thread->parked_ns,
    };

    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        row.value[column] = report_thread__value(thread, column);
    return row;
}

/* The row of a kernel thread that turned out to run a Java thread is gone; what it had is that
 * thread's. */
static uint32_t find_hidden(const struct matching *matching, const struct report_thread *thread)
{
    uint32_t index = REPORT_NONE;

    if (thread->java_id && thread->tid_count)
        index = find(&matching->by_tid, &(struct known_thread){thread, thread->name, 0}, by_tid);
    return index != REPORT_NONE && !matching->found[index] ? index : REPORT_NONE;
}

static void match_single(struct matching *matching, struct interval_row *row)
{
    const struct report_thread *thread = interval__thread(matching->interval, row);
    struct known_thread key = {thread, thread->name, 0};

    row->before = find(&matching->singles, &key, by_identity);
    if (row->before == REPORT_NONE)
        return;
    matching->found[row->before] = true;
    subtract(row, &matching->interval->before->threads[row->before]);
}

static void match_group(struct matching *matching, struct interval_row *row)
{
    const struct report_thread *thread = interval__thread(matching->interval, row);
    struct known_thread key = {thread, thread->name, 0};

    row->before = find(&matching->groups, &key, by_name);
    if (row->before != REPORT_NONE)
        subtract(row, &matching->interval->before->threads[row->before]);
}

static void add_rows(struct matching *matching)
{
    struct interval *interval = matching->interval;

    for (uint32_t i = 0; i < interval->now->thread_count; i++) {
        const struct report_thread *thread = &interval->now->threads[i];

        if (thread->flags & THREAD_LAST_MOMENTS)
            continue;
        struct interval_row *row = &interval->row[interval->rows++];
        *row = whole_row(interval->now, i);
        matching->row_of[i] = interval->rows;
        if (is_group(thread))
            match_group(matching, row);
        else
            match_single(matching, row);
    }
    for (uint32_t i = 0; i < interval->rows; i++) {
        struct interval_row *row = &interval->row[i];
        const struct report_thread *thread = interval__thread(interval, row);
        uint32_t hidden = row->before == REPORT_NONE && !is_group(thread)
                              ? find_hidden(matching, thread)
                              : REPORT_NONE;

        if (hidden == REPORT_NONE)
            continue;
        matching->found[hidden] = true;
        subtract(row, &interval->before->threads[hidden]);
    }
}

/* The row of the group that a thread, which is gone, was folded into. */
static struct interval_row *group_of(struct matching *matching, const struct report_thread *thread)
{
    struct text name = report_thread__folded_name(&matching->texts, thread);

    if (name.length > FOLD_NAME_BYTES)
        name.length = FOLD_NAME_BYTES;
    uint32_t index = find(&matching->now_groups, &(struct known_thread){thread, name, 0}, by_name);
    return index == REPORT_NONE ? NULL : &matching->interval->row[matching->row_of[index] - 1];
}

static bool takes_group(const struct report_thread *thread)
{
    return is_group(thread);
}

static uint64_t members_before(const struct interval *interval, const struct interval_row *row)
{
    return row->before == REPORT_NONE ? 0 : interval->before->threads[row->before].members;
}

static void count_members(struct interval *interval)
{
    for (uint32_t i = 0; i < interval->rows; i++) {
        const struct interval_row *row = &interval->row[i];
        const struct report_thread *thread = interval__thread(interval, row);

        if (!is_group(thread))
            continue;
        uint64_t joined = growth(thread->members, members_before(interval, row));
        interval->started += joined;
        interval->ended += joined;
    }
}

/* Threads that have no row any more are in their groups by now. */
static void take_folded_off(struct matching *matching)
{
    struct interval *interval = matching->interval;

    count_members(interval);
    for (uint32_t i = 0; i < interval->before->thread_count; i++) {
        const struct report_thread *thread = &interval->before->threads[i];
        struct interval_row *row;

        if (matching->found[i] || !takes_single(thread))
            continue;
        row = group_of(matching, thread);
        if (!row)
            continue;
        subtract(row, thread);
        interval->started = growth(interval->started, 1);
        if (thread->flags & THREAD_TERMINATED)
            interval->ended = growth(interval->ended, 1);
    }
}

/* How long of the interval the thread was there, on the ledger's clock. */
static uint64_t presence_ns(const struct interval *interval, const struct report_thread *thread)
{
    uint64_t from_ns = report_model__asof_ns(interval->before);
    uint64_t to_ns = report_model__asof_ns(interval->now);

    if (thread->start_ns > from_ns)
        from_ns = thread->start_ns;
    if (thread->end_ns && thread->end_ns < to_ns)
        to_ns = thread->end_ns;
    return growth(to_ns, from_ns);
}

static void cut(struct interval *interval, struct interval_row *row)
{
    bool group = is_group(interval__thread(interval, row));
    uint64_t most_ns = group ? interval->cpu_ns : interval->wall_ns;

    if (row->value[COLUMN_CPU] <= most_ns + INTERVAL_CLOCK_LAG_NS)
        return;
    row->value[COLUMN_CPU] = most_ns;
    interval->cut++;
}

static void finish_row(struct interval *interval, struct interval_row *row)
{
    const struct report_thread *thread = interval__thread(interval, row);
    bool ended_before = row->before != REPORT_NONE &&
                        interval->before->threads[row->before].flags & THREAD_TERMINATED;

    cut(interval, row);
    row->ended = is_group(thread) || (thread->flags & THREAD_TERMINATED && !ended_before);
    row->wall_ns = is_group(thread) ? 0 : presence_ns(interval, thread);
    row->value[COLUMN_WALL] = row->wall_ns;
    uint64_t profiled_ns =
        row->wall_ns < interval->profiled_ns ? row->wall_ns : interval->profiled_ns;
    uint64_t busy_ns =
        row->value[COLUMN_CPU] + row->value[report_column__of_metric(METRIC_RUN_QUEUE_DELAY)];
    row->waiting_ns = growth(profiled_ns, busy_ns);
    if (row->parked_ns > row->wall_ns && !is_group(thread))
        row->parked_ns = row->wall_ns;
    if (is_group(thread))
        return;
    interval->running += !(thread->flags & THREAD_TERMINATED);
    interval->started += row->before == REPORT_NONE;
    interval->ended += row->ended;
}

/* What was over before the interval has no part in it. */
static bool has_part(const struct interval *interval, const struct interval_row *row)
{
    const struct report_thread *thread = interval__thread(interval, row);
    bool over = thread->flags & (THREAD_TERMINATED | THREAD_GROUP);

    return !over || (row->ended && !is_group(thread)) || row->value[COLUMN_CPU] ||
           row->value[COLUMN_CALLS];
}

static void finish(struct interval *interval)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < interval->rows; i++) {
        struct interval_row *row = &interval->row[i];

        finish_row(interval, row);
        if (!has_part(interval, row))
            continue;
        interval->charged_ns += row->value[COLUMN_CPU];
        interval->calls += row->value[COLUMN_CALLS];
        interval->row[kept++] = *row;
    }
    interval->rows = kept;
    if (interval->cpu_ns) {
        __int128 ppm = ((__int128)interval->cpu_ns - (__int128)interval->charged_ns) * 1000000 /
                       (__int128)interval->cpu_ns;

        interval->difference_ppm = ppm < -INT64_MAX ? -INT64_MAX : (int64_t)ppm;
    }
}

static bool are_of_one_ledger(const struct ledger_header *a, const struct ledger_header *b)
{
    return a->pid == b->pid && a->start_ticks == b->start_ticks && a->epoch_ns == b->epoch_ns &&
           a->monotonic_ns == b->monotonic_ns;
}

/* Up to when a reading has what was profiled, without the pauses. */
static uint64_t profiled_ns(const struct report_model *model)
{
    return growth(report_model__profiled_to_ns(model), model->header.unprofiled_wall_ns);
}

struct interval *interval__new(const struct report_model *before, const struct report_model *now)
{
    if (!are_of_one_ledger(&before->header, &now->header) ||
        report_model__asof_ns(now) < report_model__asof_ns(before))
        return NULL;
    struct interval *interval = memory__zeroed(1, sizeof(*interval));
    *interval = (struct interval){
        .before = before,
        .now = now,
        .wall_ns = report_model__asof_ns(now) - report_model__asof_ns(before),
        .profiled_ns = growth(profiled_ns(now), profiled_ns(before)),
        .cpu_ns = growth(now->header.process_cpu_ns, before->header.process_cpu_ns),
        .user_ns = growth(now->header.process_user_ns, before->header.process_user_ns),
        .system_ns = growth(now->header.process_system_ns, before->header.process_system_ns),
        .row = memory__zeroed(now->thread_count, sizeof(struct interval_row)),
    };
    struct matching matching = {
        .interval = interval,
        .singles = collect(before, takes_single, by_identity),
        .groups = collect(before, takes_group, by_name),
        .by_tid = collect(before, takes_kernel_thread, by_tid),
        .now_groups = collect(now, takes_group, by_name),
        .found = memory__zeroed(before->thread_count, sizeof(bool)),
        .row_of = memory__zeroed(now->thread_count, sizeof(uint32_t)),
    };
    add_rows(&matching);
    take_folded_off(&matching);
    finish(interval);
    free(matching.singles.items);
    free(matching.groups.items);
    free(matching.by_tid.items);
    free(matching.now_groups.items);
    free(matching.found);
    free(matching.row_of);
    text_store__release(&matching.texts);
    return interval;
}

void interval__free(struct interval *interval)
{
    if (!interval)
        return;
    free(interval->row);
    free(interval);
}

uint64_t interval__per_second(const struct interval *interval, uint64_t count)
{
    if (!interval->wall_ns)
        return 0;
    unsigned __int128 rate =
        ((unsigned __int128)count * 1000000000u + interval->wall_ns / 2) / interval->wall_ns;
    return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

uint64_t interval_row__permille(const struct interval *interval, const struct interval_row *row)
{
    uint64_t permille = interval__per_second(interval, row->value[COLUMN_CPU]) / 1000000u;
    bool one = !is_group(interval__thread(interval, row));

    return one && permille > 1000 ? 1000 : permille;
}
