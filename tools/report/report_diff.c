#include "tools/report/report_diff.h"

#include "tools/report/diff_tree.h"
#include "tools/report/index_table.h"
#include "tools/report/memory.h"

#include <stdlib.h>

struct diff_change diff_change__of(const uint64_t values[DIFF_SIDES])
{
    uint64_t a = values[DIFF_A];
    uint64_t b = values[DIFF_B];

    return b < a ? (struct diff_change){a - b, true} : (struct diff_change){b - a, false};
}

int diff_change__compare(struct diff_change x, struct diff_change y)
{
    return x.size > y.size ? -1 : x.size < y.size;
}

static bool same_method(const struct report_method *x, const struct report_method *y)
{
    return text__compare(x->name, y->name) == 0 &&
           text__compare(x->class_name, y->class_name) == 0 &&
           text__compare(x->signature, y->signature) == 0;
}

static uint64_t hash_method(const struct report_method *method)
{
    uint64_t hash = index_table__hash_bytes(0, method->class_name.bytes, method->class_name.length);

    hash = index_table__hash_bytes(hash, method->name.bytes, method->name.length);
    return index_table__hash_bytes(hash, method->signature.bytes, method->signature.length);
}

static uint32_t find_method(const struct report_diff *diff, const struct index_table *table,
                            const struct report_method *names, uint64_t hash)
{
    size_t probe = 0;
    uint32_t index;

    do
        index = index_table__next(table, hash, &probe);
    while (index != INDEX_TABLE_NONE && !same_method(&diff->methods[index], names));
    return index;
}

/* One list for both sides; to[side][method of the model] is the index in it. What stands for no
 * method comes first on both sides and so gets the same numbers. */
static void match_methods(struct report_diff *diff,
                          const struct report_model *const models[DIFF_SIDES],
                          uint32_t *to[DIFF_SIDES])
{
    struct index_table table = {0};
    size_t most = (size_t)models[DIFF_A]->method_count + models[DIFF_B]->method_count;

    diff->methods = memory__zeroed(most, sizeof(*diff->methods));
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        const struct report_model *model = models[side];

        to[side] = memory__zeroed(model->method_count, sizeof(*to[side]));
        for (uint32_t i = 0; i < model->method_count; i++) {
            const struct report_method *names = &model->methods[i];
            uint64_t hash = hash_method(names);
            uint32_t index = find_method(diff, &table, names, hash);

            if (index == INDEX_TABLE_NONE) {
                index = diff->method_count++;
                diff->methods[index] = *names;
                index_table__add(&table, hash, index);
            }
            to[side][i] = index;
        }
    }
    index_table__release(&table);
    report_methods__find_overloads(diff->methods, diff->method_count);
}

/* A row while it is filled: what its threads are called together. */
struct open_row {
    struct text folded;
    struct text name;
    bool several_names;
};

struct thread_match {
    struct report_diff *diff;
    struct open_row *open;
    struct index_table table;
};

static uint32_t find_row(struct thread_match *match, const struct report_thread *thread)
{
    struct report_diff *diff = match->diff;
    struct text folded = report_thread__folded_name(&diff->texts, thread);
    uint64_t hash = index_table__hash_bytes((uint64_t)thread->kind, folded.bytes, folded.length);
    size_t probe = 0;
    uint32_t row;

    while ((row = index_table__next(&match->table, hash, &probe)) != INDEX_TABLE_NONE)
        if (diff->threads[row].kind == thread->kind &&
            text__compare(match->open[row].folded, folded) == 0)
            break;
    if (row != INDEX_TABLE_NONE) {
        match->open[row].several_names |= text__compare(match->open[row].name, thread->name) != 0;
        return row;
    }
    row = diff->thread_count++;
    diff->threads[row].kind = thread->kind;
    match->open[row] = (struct open_row){folded, thread->name, false};
    index_table__add(&match->table, hash, row);
    return row;
}

/* row_of[side][thread of the model] is the row, or REPORT_NONE for one that was not selected. */
static void match_threads(struct report_diff *diff,
                          const struct report_model *const models[DIFF_SIDES],
                          const bool *const selected[DIFF_SIDES], uint32_t *row_of[DIFF_SIDES])
{
    size_t most = (size_t)models[DIFF_A]->thread_count + models[DIFF_B]->thread_count;
    struct thread_match match = {.diff = diff};

    match.open = memory__zeroed(most, sizeof(*match.open));
    diff->threads = memory__zeroed(most, sizeof(*diff->threads));
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        row_of[side] = memory__zeroed(models[side]->thread_count, sizeof(*row_of[side]));
        for (uint32_t i = 0; i < models[side]->thread_count; i++) {
            const struct report_thread *thread = &models[side]->threads[i];

            row_of[side][i] = selected[side][i] ? find_row(&match, thread) : REPORT_NONE;
            if (!selected[side][i])
                continue;
            struct diff_thread *row = &diff->threads[row_of[side][i]];
            row->present[side] += (uint32_t)thread->members;
            row->value[side] += report_thread__value(thread, diff->column);
            row->calls[side] += thread->calls;
            row->at_least[side] |= thread->is_partial;
        }
    }
    for (uint32_t i = 0; i < diff->thread_count; i++) {
        struct diff_thread *row = &diff->threads[i];
        bool single = row->present[DIFF_A] <= 1 && row->present[DIFF_B] <= 1;

        row->name =
            single && !match.open[i].several_names ? match.open[i].name : match.open[i].folded;
    }
    index_table__release(&match.table);
    free(match.open);
}

static void sum_totals(struct report_diff *diff)
{
    for (uint32_t i = 0; i < diff->thread_count; i++)
        for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
            diff->total[side] += diff->threads[i].value[side];
            diff->total_calls[side] += diff->threads[i].calls[side];
            diff->total_at_least[side] |= diff->threads[i].at_least[side];
            diff->is_partial |= diff->threads[i].at_least[side];
        }
}

static void scale_threads(struct report_diff *diff)
{
    for (uint32_t i = 0; i < diff->thread_count; i++) {
        struct diff_thread *row = &diff->threads[i];

        row->value[DIFF_A] = diff_tree__scaled(row->value[DIFF_A], diff->total);
        row->calls[DIFF_A] = diff_tree__scaled(row->calls[DIFF_A], diff->total_calls);
    }
}

static int compare_threads(const void *a, const void *b, void *context)
{
    const struct diff_request *request = context;
    const struct diff_thread *x = a;
    const struct diff_thread *y = b;
    int order = 0;

    if (!request->steady)
        order = diff_change__compare(diff_change__of(x->value), diff_change__of(y->value));
    if (!order)
        order = diff_change__compare(diff_change__of(x->calls), diff_change__of(y->calls));
    if (!order)
        order = text__compare(x->name, y->name);
    return order ? order : x->kind < y->kind ? -1 : x->kind > y->kind;
}

/* The rows' order is known only when they are complete; until then first_node, which is not needed
 * yet, keeps which row came first. */
static void sort_threads(struct report_diff *diff, const struct report_model *const models[],
                         uint32_t *row_of[DIFF_SIDES], const struct diff_request *request)
{
    uint32_t *moved = memory__zeroed(diff->thread_count, sizeof(*moved));

    for (uint32_t i = 0; i < diff->thread_count; i++)
        diff->threads[i].first_node = i;
    qsort_r(diff->threads, diff->thread_count, sizeof(*diff->threads), compare_threads,
            (void *)request);
    for (uint32_t i = 0; i < diff->thread_count; i++) {
        moved[diff->threads[i].first_node] = i;
        diff->threads[i].first_node = 0;
    }
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++)
        for (uint32_t i = 0; i < models[side]->thread_count; i++)
            if (row_of[side][i] != REPORT_NONE)
                row_of[side][i] = moved[row_of[side][i]];
    free(moved);
}

struct report_diff *report_diff__new(const struct report_model *const models[DIFF_SIDES],
                                     const bool *const selected[DIFF_SIDES],
                                     const struct diff_request *request)
{
    struct report_diff *diff = memory__zeroed(1, sizeof(*diff));
    uint32_t *method_of[DIFF_SIDES];
    uint32_t *row_of[DIFF_SIDES];

    diff->column = request->column;
    match_methods(diff, models, method_of);
    match_threads(diff, models, selected, row_of);
    sum_totals(diff);
    if (request->normalize)
        scale_threads(diff);
    sort_threads(diff, models, row_of, request);
    if (request->trees)
        diff_tree__build(diff, models, method_of, row_of, request);
    for (unsigned side = DIFF_A; side < DIFF_SIDES; side++) {
        free(method_of[side]);
        free(row_of[side]);
    }
    return diff;
}

void report_diff__free(struct report_diff *diff)
{
    if (!diff)
        return;
    free(diff->methods);
    free(diff->threads);
    free(diff->nodes);
    text_store__release(&diff->texts);
    free(diff);
}
