#include "tools/report/report_cascade.h"

#include "tools/report/index_table.h"
#include "tools/report/memory.h"
#include "tools/report/report_knots.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_OF 1000u /* shares of all waits below one in so many are not followed */

struct following {
    const struct report_model *model;
    struct report_cascade *cascade;
    struct index_table chains;
    size_t chain_room;
    uint64_t least_ns;
    struct cascade_chain now; /* followed at the moment */
};

/* ---- where a thread stood ---- */

/* True if the path goes through the place: its frames are those of the place, and more below. */
static bool is_below(const struct report_path *path, const struct report_path *place)
{
    uint32_t last = place->frames, at = path->frames;

    if (!last)
        return true;
    for (; at > 0; at--) {
        uint32_t same = 0;

        while (same < last && same < at &&
               path->methods[at - 1 - same] == place->methods[last - 1 - same])
            same++;
        /* What is missing of either was cut off further out. */
        if (same == last || (same == at && path->frames == BLOCK_FRAMES))
            return true;
    }
    return false;
}

/* True if the node is the place. */
static bool is_at(const struct report_model *model, uint32_t index, const struct report_path *place)
{
    uint32_t left = place->frames;

    while (left > 0) {
        const struct report_node *node = &model->nodes[index];

        if (!node->depth || node->method != place->methods[left - 1])
            return false;
        index = node->parent;
        left--;
    }
    return place->frames == BLOCK_FRAMES || model->nodes[index].depth == 0;
}

static void add_node(const struct report_model *model, uint32_t index, struct thread_row *sum)
{
    for (unsigned column = 0; column < COLUMN_COUNT; column++)
        if (model->cum[column])
            sum->value[column] += model->cum[column][index];
}

/* What the thread's time at the place, and below, consists of. */
static struct wait_parts parts_at(const struct report_model *model, struct text thread,
                                  const struct report_path *place)
{
    struct thread_row sum = {.count = 1};

    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct report_thread *one = &model->threads[i];

        if (text__compare(one->name, thread) != 0)
            continue;
        for (uint32_t node = one->first_node; node < one->end_node;) {
            bool found = is_at(model, node, place);

            if (found)
                add_node(model, node, &sum);
            node = found ? model->nodes[node].end : node + 1;
        }
    }
    return wait_parts__of(&sum);
}

/* ---- chains ---- */

static bool is_same_chain(const struct cascade_chain *x, const struct cascade_chain *y)
{
    if (x->count != y->count || x->does != y->does)
        return false;
    for (uint32_t i = 0; i < x->count; i++)
        if (text__compare(x->threads[i], y->threads[i]) != 0 ||
            text__compare(x->locks[i], y->locks[i]) != 0)
            return false;
    return true;
}

static void end_chain(struct following *following, unsigned does, uint64_t ns)
{
    struct report_cascade *cascade = following->cascade;
    struct cascade_chain *now = &following->now;
    uint64_t hash = does;
    size_t probe = 0;
    uint32_t index;

    if (!ns)
        return;
    now->does = does;
    for (uint32_t i = 0; i < now->count; i++) {
        hash = index_table__hash_bytes(hash, now->threads[i].bytes, now->threads[i].length);
        hash = index_table__hash_bytes(hash, now->locks[i].bytes, now->locks[i].length);
    }
    while ((index = index_table__next(&following->chains, hash, &probe)) != INDEX_TABLE_NONE)
        if (is_same_chain(&cascade->chains[index], now)) {
            cascade->chains[index].ns += ns;
            return;
        }
    cascade->chains = memory__grown(cascade->chains, &following->chain_room,
                                    cascade->chain_count + 1, sizeof(*cascade->chains));
    index_table__add(&following->chains, hash, cascade->chain_count);
    cascade->chains[cascade->chain_count] = *now;
    cascade->chains[cascade->chain_count++].ns = ns;
}

static bool is_in_chain(const struct cascade_chain *chain, struct text thread)
{
    for (uint32_t i = 0; i < chain->count; i++)
        if (text__compare(chain->threads[i], thread) == 0)
            return true;
    return false;
}

/* The part of `ns` that is part / whole, and at most what is left. */
static uint64_t share(uint64_t ns, uint64_t part, uint64_t whole, uint64_t left)
{
    double exact = whole ? (double)ns * ((double)part / (double)whole) : 0;

    /* A damaged ledger's sums may have shares that no integer holds. */
    return exact + 0.5 < (double)left ? (uint64_t)(exact + 0.5) : left;
}

static void follow(struct following *following, const struct report_block *block, uint64_t ns);

/* The waits for locks that the thread began at the place or below it, and their sum. */
static bool is_of(const struct report_block *block, struct text thread,
                  const struct report_path *place)
{
    return block->wait_ns && text__compare(block->waiter, thread) == 0 &&
           is_below(&block->waiter_path, place);
}

/* A thread that holds a lock does not wait for it meanwhile. */
static bool is_same_lock(const struct report_block *x, const struct report_block *y)
{
    return x->identity && x->identity == y->identity && x->kind == y->kind &&
           text__compare(x->class_name, y->class_name) == 0;
}

/* What the blocker of `of` waited for locks where it stood: for that lock, or for others. */
static uint64_t locks_ns(const struct report_model *model, const struct report_block *of, bool same)
{
    uint64_t ns = 0;

    for (uint32_t i = 0; i < model->block_count; i++)
        if (is_of(&model->blocks[i], of->holder, &of->holder_path) &&
            is_same_lock(&model->blocks[i], of) == same)
            ns += model->blocks[i].wait_ns;
    return ns;
}

/* Those that are recorded by lock take the place of the same waits among the parts. */
static void take_off(struct wait_parts *parts, uint64_t ns)
{
    static const enum wait_part of_locks[] = {PART_MONITOR, PART_PARK};

    for (size_t i = 0; i < sizeof(of_locks) / sizeof(of_locks[0]); i++) {
        uint64_t *part = &parts->ns[of_locks[i]];
        uint64_t less = ns < *part ? ns : *part;

        *part -= less;
        ns -= less;
    }
}

static void divide(struct following *following, const struct report_block *of, uint64_t ns)
{
    const struct report_model *model = following->model;
    struct wait_parts parts = parts_at(model, of->holder, &of->holder_path);
    uint64_t others_ns = locks_ns(model, of, false), whole_ns = others_ns, left_ns = ns;

    take_off(&parts, others_ns + locks_ns(model, of, true));
    for (unsigned part = 0; part < WAIT_PARTS; part++)
        whole_ns += parts.ns[part];
    for (uint32_t i = 0; i < model->block_count && others_ns; i++) {
        const struct report_block *block = &model->blocks[i];
        uint64_t one_ns = 0;

        if (is_of(block, of->holder, &of->holder_path) && !is_same_lock(block, of))
            one_ns = share(ns, block->wait_ns, whole_ns, left_ns);
        if (one_ns)
            follow(following, block, one_ns);
        left_ns -= one_ns;
    }
    for (unsigned part = 0; part < PART_UNKNOWN; part++) {
        uint64_t one_ns = share(ns, parts.ns[part], whole_ns, left_ns);

        end_chain(following, part, one_ns);
        left_ns -= one_ns;
    }
    end_chain(following, PART_UNKNOWN, left_ns);
}

/* The chain's last thread waits, as the block says. */
static void follow(struct following *following, const struct report_block *block, uint64_t ns)
{
    struct cascade_chain *now = &following->now;
    struct cascade_chain before = *now;

    now->locks[now->count - 1] = block->class_name;
    if (!block->holder_known) {
        end_chain(following, CASCADE_OWNER_UNKNOWN, ns);
    } else if (is_in_chain(now, block->holder)) {
        /* Threads of one folded name need not be the same one. */
        end_chain(following, block->identity ? CASCADE_CYCLE : PART_UNKNOWN, ns);
    } else if (now->count == CASCADE_THREADS) {
        end_chain(following, PART_UNKNOWN, ns);
    } else {
        now->threads[now->count] = block->holder;
        now->locks[now->count++] = (struct text){"", 0};
        now->path = block->holder_path;
        if (ns >= following->least_ns)
            divide(following, block, ns);
        else
            end_chain(following, PART_UNKNOWN, ns);
    }
    *now = before;
}

static int by_ns(const void *a, const void *b)
{
    const struct cascade_chain *x = a, *y = b;

    return (x->ns < y->ns) - (x->ns > y->ns);
}

static int ends_by_ns(const void *a, const void *b)
{
    const struct cascade_end *x = a, *y = b;
    int order = (x->ns < y->ns) - (x->ns > y->ns);

    return order ? order : text__compare(x->thread, y->thread);
}

/* The chains are in order already: the first one of an end is its heaviest. */
static void sum_ends(struct report_cascade *cascade)
{
    cascade->ends = memory__zeroed(cascade->chain_count, sizeof(*cascade->ends));
    for (uint32_t i = 0; i < cascade->chain_count; i++) {
        const struct cascade_chain *chain = &cascade->chains[i];
        struct text last = chain->threads[chain->count - 1];
        uint32_t end = 0;

        while (end < cascade->end_count && (cascade->ends[end].does != chain->does ||
                                            text__compare(cascade->ends[end].thread, last) != 0))
            end++;
        if (end == cascade->end_count)
            cascade->ends[cascade->end_count++] =
                (struct cascade_end){.thread = last, .does = chain->does, .heaviest = i};
        cascade->ends[end].ns += chain->ns;
        if (chain->count <= 2)
            cascade->ends[end].direct_ns += chain->ns;
    }
    qsort(cascade->ends, cascade->end_count, sizeof(*cascade->ends), ends_by_ns);
}

static bool counts(const struct report_block *block, const char *glob)
{
    return block->wait_ns && (!glob || fnmatch(glob, block->waiter.bytes, 0) == 0);
}

struct report_cascade *report_cascade__new(const struct report_model *model, const char *glob)
{
    struct report_cascade *cascade = memory__zeroed(1, sizeof(*cascade));
    struct following following = {.model = model, .cascade = cascade};

    for (uint32_t i = 0; i < model->block_count; i++)
        if (counts(&model->blocks[i], glob))
            following.least_ns += model->blocks[i].wait_ns / LEAST_OF;
    for (uint32_t i = 0; i < model->block_count; i++) {
        if (!counts(&model->blocks[i], glob))
            continue;
        following.now = (struct cascade_chain){.threads = {model->blocks[i].waiter}, .count = 1};
        follow(&following, &model->blocks[i], model->blocks[i].wait_ns);
    }
    index_table__release(&following.chains);
    if (cascade->chain_count)
        qsort(cascade->chains, cascade->chain_count, sizeof(*cascade->chains), by_ns);
    sum_ends(cascade);
    report_knots__find(model, glob, cascade);
    return cascade;
}

void report_cascade__free(struct report_cascade *cascade)
{
    for (uint32_t i = 0; i < cascade->knot_count; i++)
        free(cascade->knots[i].threads);
    free(cascade->knots);
    free(cascade->chains);
    free(cascade->ends);
    free(cascade);
}

const char *cascade_end__word(unsigned does)
{
    static const char *const words[CASCADE_ENDS] = {
        [PART_CPU] = "cpu",
        [PART_RUNNABLE] = "runnable",
        [PART_MONITOR] = "monitor",
        [PART_OBJECT_WAIT] = "object_wait",
        [PART_PARK] = "park",
        [PART_SLEEP] = "sleep",
        [PART_IO] = "io",
        [PART_FAULT] = "fault",
        [PART_SAFEPOINT] = "safepoint",
        [PART_UNMOUNTED] = "unmounted",
        [PART_UNKNOWN] = "unknown",
        [CASCADE_CYCLE] = "cycle",
        [CASCADE_OWNER_UNKNOWN] = "owner_unknown",
    };

    return words[does];
}
