#include "tools/report/thread_rows.h"

#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

static void add_thread(struct thread_row *row, const struct report_model *model,
                       const struct report_thread *thread)
{
    if (row->count == 0 || thread->start_ns < row->start_ns)
        row->start_ns = thread->start_ns;
    if (thread->end_ns > row->end_ns)
        row->end_ns = thread->end_ns;
    row->count += (uint32_t)thread->members;
    row->is_partial |= thread->is_partial;
    row->running += !(thread->flags & THREAD_TERMINATED);
    row->waiting_ns += report_thread__waiting_ns(model, thread);
    row->mounts += thread->mounts;
    row->pinned += thread->pinned;
    row->parked_ns += thread->parked_ns;
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        row->value[column] += report_thread__value(thread, column);
}

/* A thread on its way into a row. */
struct member {
    struct text folded;
    uint32_t thread;
    enum ledger_thread_kind kind;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a;
    const struct member *y = b;
    int order = text__compare(x->folded, y->folded);

    if (order)
        return order;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->thread < y->thread ? -1 : x->thread > y->thread;
}

static int compare_first(const void *a, const void *b)
{
    const struct thread_row *x = a;
    const struct thread_row *y = b;

    return x->first < y->first ? -1 : x->first > y->first;
}

struct thread_rows *thread_rows__new(const struct report_model *model, const bool *selected,
                                     bool fold)
{
    struct thread_rows *rows = memory__zeroed(1, sizeof(*rows));
    struct member *members = memory__zeroed(model->thread_count, sizeof(*members));
    uint32_t count = 0;

    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];
        struct text name = fold ? report_thread__folded_name(&rows->texts, thread) : thread->name;

        if (selected[i])
            members[count++] = (struct member){name, i, thread->kind};
    }
    if (fold)
        qsort(members, count, sizeof(*members), compare_members);
    rows->rows = memory__zeroed(count, sizeof(*rows->rows));
    for (uint32_t i = 0; i < count; i++) {
        const struct member *member = &members[i];
        const struct member *before = i > 0 ? member - 1 : NULL;
        bool joins = fold && before && before->kind == member->kind &&
                     text__compare(before->folded, member->folded) == 0;

        if (!joins)
            rows->rows[rows->count++] = (struct thread_row){
                .name = model->threads[member->thread].name, .first = member->thread};
        struct thread_row *row = &rows->rows[rows->count - 1];
        if (joins)
            row->name = member->folded;
        add_thread(row, model, &model->threads[member->thread]);
    }
    qsort(rows->rows, rows->count, sizeof(*rows->rows), compare_first);
    free(members);
    return rows;
}

void thread_rows__free(struct thread_rows *rows)
{
    text_store__release(&rows->texts);
    free(rows->rows);
    free(rows);
}

uint64_t thread_row__mounted_ns(const struct thread_row *row)
{
    uint64_t wall_ns = row->value[COLUMN_WALL];

    return wall_ns > row->parked_ns ? wall_ns - row->parked_ns : 0;
}

enum thread_sort thread_sort__by_name(const char *name)
{
    static const char *const names[] = {
        [SORT_BY_NAME] = "name",     [SORT_BY_WAITING] = "waiting", [SORT_BY_START] = "start",
        [SORT_BY_MOUNTS] = "mounts", [SORT_BY_PINNED] = "pinned",   [SORT_BY_PARKED] = "parked",
    };

    for (size_t i = SORT_BY_NAME; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(name, names[i]) == 0)
            return (enum thread_sort)i;
    return SORT_BY_COLUMN;
}

struct sorting {
    enum thread_sort sort;
    enum report_column column;
};

static int by_number(uint64_t x, uint64_t y)
{
    return x > y ? -1 : x < y;
}

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    const struct thread_row *x = a;
    const struct thread_row *y = b;
    int order = 0;

    switch (sorting->sort) {
    case SORT_BY_COLUMN:
        order = by_number(x->value[sorting->column], y->value[sorting->column]);
        break;
    case SORT_BY_NAME:
        order = text__compare(x->name, y->name);
        break;
    case SORT_BY_WAITING:
        order = by_number(x->waiting_ns, y->waiting_ns);
        break;
    case SORT_BY_START:
        order = by_number(y->start_ns, x->start_ns);
        break;
    case SORT_BY_MOUNTS:
        order = by_number(x->mounts, y->mounts);
        break;
    case SORT_BY_PINNED:
        order = by_number(x->pinned, y->pinned);
        break;
    case SORT_BY_PARKED:
        order = by_number(x->parked_ns, y->parked_ns);
        break;
    }
    return order ? order : compare_first(a, b);
}

void thread_rows__sort(struct thread_rows *rows, enum thread_sort sort, enum report_column column)
{
    struct sorting sorting = {sort, column};

    qsort_r(rows->rows, rows->count, sizeof(*rows->rows), compare_rows, &sorting);
}
