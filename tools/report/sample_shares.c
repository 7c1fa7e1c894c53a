#include "tools/report/sample_shares.h"

#include "tools/report/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Samples of one kind, CPU or wall, and their time, of one exact node or of a thread. */
struct seen {
    uint64_t samples;
    uint64_t seen_ns;   /* what they stand for; 0: not known */
    uint64_t unseen_ns; /* what no sample saw */
    uint64_t error_ns;  /* of unseen_ns */
};

/* An exact node with samples. */
struct sampled_group {
    uint32_t exact;
    uint32_t first;
    uint32_t end;
    uint32_t row; /* its row of what was not sampled, or REPORT_NONE */
    struct seen cpu;
    struct seen wall;
};

static uint64_t part_of(uint64_t amount, uint64_t part, uint64_t whole)
{
    return (uint64_t)((unsigned __int128)amount * part / whole);
}

static bool add(struct sampled_group *group, const struct report_samples *samples)
{
    return !__builtin_add_overflow(group->cpu.samples, samples->cpu, &group->cpu.samples) &&
           !__builtin_add_overflow(group->wall.samples, samples->wall, &group->wall.samples) &&
           !__builtin_add_overflow(group->cpu.seen_ns, samples->seen_ns, &group->cpu.seen_ns);
}

bool sample_shares__note(struct loader *loader, uint32_t exact, uint32_t first_sampled)
{
    const struct report_model *model = loader->model;
    struct sampled_group group = {
        .exact = exact, .first = first_sampled, .end = model->node_count, .row = REPORT_NONE};
    bool fine = add(&group, &model->samples[exact]);

    for (uint32_t i = first_sampled; fine && i < model->node_count; i++)
        fine = add(&group, &model->samples[i]);
    if (!fine)
        return false;
    loader->groups = memory__grown(loader->groups, &loader->group_room, loader->group_count + 1,
                                   sizeof(*loader->groups));
    loader->groups[loader->group_count++] = group;
    return true;
}

/* By how much a part's time may exceed by chance the time that its samples stand for. The part has
 * no more samples than the whole. */
static uint64_t chance_ns(const struct seen *part, const struct seen *whole)
{
    double n = (double)part->samples;
    double p = n / (double)whole->samples;
    double each_ns = (double)whole->seen_ns / (double)whole->samples;
    double ns = each_ns * (1.96 * sqrt(n * (1 - p)) + 1);

    return ns < 0x1p64 ? (uint64_t)ns : UINT64_MAX;
}

static struct seen *kind_of(struct sampled_group *group, enum report_column column)
{
    return column == COLUMN_CPU ? &group->cpu : &group->wall;
}

static uint64_t excess_of(const struct report_model *model, struct sampled_group *group,
                          enum report_column column)
{
    uint64_t base_ns = model->base[column][group->exact];
    uint64_t seen_ns = kind_of(group, column)->seen_ns;

    return base_ns > seen_ns ? base_ns - seen_ns : 0;
}

/* Finds the time of a thread that its samples of that kind did not see, and the nodes that it is
 * of. */
static void find_unseen(struct loader *loader, uint32_t thread, enum report_column column)
{
    const struct report_model *model = loader->model;
    const struct report_thread *row = &model->threads[thread];
    struct seen whole = {0};
    uint64_t base_ns = 0, excess_ns = 0;

    for (uint32_t i = row->first_node; i < model->node_count; i++)
        base_ns += model->base[column][i];
    uint64_t of_others_ns = base_ns;
    for (size_t i = 0; i < loader->group_count; i++) {
        struct sampled_group *group = &loader->groups[i];
        struct seen *part = kind_of(group, column);

        if (!part->samples)
            continue;
        /* No JVM takes so many samples: a damaged ledger, whose numbers have no error. */
        if (__builtin_add_overflow(whole.samples, part->samples, &whole.samples) ||
            __builtin_add_overflow(whole.seen_ns, part->seen_ns, &whole.seen_ns))
            return;
        excess_ns += excess_of(model, group, column);
        of_others_ns -= model->base[column][group->exact];
    }
    if (!whole.seen_ns || base_ns <= whole.seen_ns + 2 * (whole.seen_ns / whole.samples))
        return;
    uint64_t unseen_ns = base_ns - whole.seen_ns;
    excess_ns += of_others_ns;
    for (size_t i = 0; i < loader->group_count; i++) {
        struct sampled_group *group = &loader->groups[i];
        struct seen *part = kind_of(group, column);
        uint64_t own_ns = part->samples ? excess_of(model, group, column) : 0;

        if (!part->samples || own_ns <= chance_ns(part, &whole))
            continue;
        uint64_t given_ns = unseen_ns < excess_ns ? part_of(own_ns, unseen_ns, excess_ns) : own_ns;
        if (given_ns <= whole.seen_ns / whole.samples)
            continue;
        part->unseen_ns = given_ns;
        part->error_ns = chance_ns(part, &whole);
    }
}

/* A wall sample's time is known by thread only: they all have the same. */
static void spread_wall(struct loader *loader, uint64_t seen_wall_ns)
{
    uint64_t samples = 0;

    for (size_t i = 0; i < loader->group_count; i++)
        if (__builtin_add_overflow(samples, loader->groups[i].wall.samples, &samples))
            return;
    for (size_t i = 0; samples && i < loader->group_count; i++)
        loader->groups[i].wall.seen_ns =
            part_of(seen_wall_ns, loader->groups[i].wall.samples, samples);
}

/* One kind of samples of a node, weighed. */
typedef uint64_t weight_of(const struct report_samples *samples);

static uint64_t cpu_samples_of(const struct report_samples *samples)
{
    return samples->cpu;
}

static uint64_t cpu_time_of(const struct report_samples *samples)
{
    return samples->seen_ns;
}

static uint64_t wall_samples_of(const struct report_samples *samples)
{
    return samples->wall;
}

/* Each frame gets what the running total grows by: no part is off by a nanosecond, and nothing is
 * lost on the way. */
static void share_out(struct report_model *model, enum report_column column, uint64_t amount,
                      const struct sampled_group *group, weight_of *weight, uint64_t sum)
{
    uint64_t *base = model->base[column];
    uint64_t counted = 0;
    uint64_t given = 0;

    for (uint32_t i = group->first; i < group->end; i++) {
        counted += weight(&model->samples[i]);
        uint64_t due = part_of(amount, counted, sum);
        base[i] = due - given;
        given = due;
    }
    base[group->exact] -= given;
}

static void share_by_cpu(struct report_model *model, enum report_column column, uint64_t amount,
                         const struct sampled_group *group)
{
    if (group->cpu.seen_ns)
        share_out(model, column, amount, group, cpu_time_of, group->cpu.seen_ns);
    else if (group->cpu.samples)
        share_out(model, column, amount, group, cpu_samples_of, group->cpu.samples);
}

/* The rows of what was not sampled are empty still: they get theirs here. */
static void settle_group(struct report_model *model, const struct sampled_group *group)
{
    uint64_t cpu_ns = model->base[COLUMN_CPU][group->exact];

    share_by_cpu(model, COLUMN_CPU, cpu_ns - group->cpu.unseen_ns, group);
    if (!model->base[COLUMN_WALL])
        return;
    uint64_t wall_ns = model->base[COLUMN_WALL][group->exact];
    if (group->wall.samples) {
        share_out(model, COLUMN_WALL, wall_ns - group->wall.unseen_ns, group, wall_samples_of,
                  group->wall.samples);
        return;
    }
    uint64_t seen_ns = cpu_ns - group->cpu.unseen_ns;
    share_by_cpu(model, COLUMN_WALL, seen_ns < wall_ns ? seen_ns : wall_ns, group);
}

static void give_unseen(struct report_model *model, const struct sampled_group *group,
                        enum report_column column, uint64_t unseen_ns)
{
    uint64_t *base = model->base[column];

    if (!base)
        return;
    if (unseen_ns > base[group->exact])
        unseen_ns = base[group->exact];
    base[group->row] = unseen_ns;
    base[group->exact] -= unseen_ns;
}

static void move_node(struct report_model *model, uint32_t from, uint32_t to)
{
    model->nodes[to] = model->nodes[from];
    model->samples[to] = model->samples[from];
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (model->base[column])
            model->base[column][to] = model->base[column][from];
}

static void put_row(struct report_model *model, struct sampled_group *group, uint32_t at)
{
    const struct report_node *exact = &model->nodes[group->exact];

    model->nodes[at] = (struct report_node){.parent = group->exact,
                                            .method = METHOD_OF_UNSEEN,
                                            .thread = exact->thread,
                                            .depth = exact->depth + 1,
                                            .kind = NODE_UNSEEN};
    model->samples[at] = (struct report_samples){
        .seen_ns = group->cpu.unseen_ns ? group->cpu.error_ns : group->wall.error_ns};
    for (size_t column = 0; column < COLUMN_COUNT; column++)
        if (model->base[column])
            model->base[column][at] = 0;
    group->row = at;
}

static bool has_row(const struct sampled_group *group)
{
    return group->cpu.unseen_ns || group->wall.unseen_ns;
}

/* From the last node on: each moves behind the rows that come before it. Groups stand in the order
 * of their ends. */
static void insert_rows(struct loader *loader, uint32_t first, uint32_t count)
{
    struct report_model *model = loader->model;
    uint32_t old_end = model->node_count;
    uint32_t *moved = memory__zeroed(old_end - first, sizeof(*moved));
    size_t left = loader->group_count;

    loader__make_room(loader, count);
    model->node_count += count;
    uint32_t to = model->node_count;
    for (uint32_t i = old_end; i-- > first;) {
        for (; left > 0 && loader->groups[left - 1].end > i; left--)
            if (has_row(&loader->groups[left - 1]))
                put_row(model, &loader->groups[left - 1], --to);
        move_node(model, i, --to);
        moved[i - first] = to;
    }
    for (size_t i = 0; i < loader->group_count; i++)
        loader->groups[i].exact = moved[loader->groups[i].exact - first];
    for (uint32_t i = first; i < model->node_count; i++) {
        struct report_node *node = &model->nodes[i];

        node->end = i + 1;
        if (node->parent != REPORT_NONE)
            node->parent = moved[node->parent - first];
    }
    for (uint32_t i = model->node_count; i-- > first + 1;) {
        struct report_node *parent = &model->nodes[model->nodes[i].parent];

        if (parent->end < model->nodes[i].end)
            parent->end = model->nodes[i].end;
    }
    free(moved);
}

static void give_rows_theirs(struct report_model *model, const struct sampled_group *group)
{
    if (!has_row(group))
        return;
    give_unseen(model, group, COLUMN_CPU, group->cpu.unseen_ns);
    give_unseen(model, group, COLUMN_WALL,
                group->wall.samples ? group->wall.unseen_ns : group->cpu.unseen_ns);
}

void sample_shares__settle_again(struct report_model *model, uint32_t exact, uint32_t first_sampled,
                                 uint32_t end)
{
    const struct report_node *last = &model->nodes[end - 1];
    struct sampled_group group = {
        .exact = exact, .first = first_sampled, .end = end, .row = REPORT_NONE};

    if (last->kind == NODE_UNSEEN && last->parent == exact)
        group.row = --group.end;
    bool fine = add(&group, &model->samples[exact]);
    for (uint32_t i = first_sampled; fine && i < group.end; i++)
        fine = add(&group, &model->samples[i]);
    if (!fine)
        return;
    if (group.row != REPORT_NONE && group.cpu.seen_ns)
        group.cpu.unseen_ns = excess_of(model, &group, COLUMN_CPU);
    settle_group(model, &group);
    give_rows_theirs(model, &group);
}

void sample_shares__settle(struct loader *loader, uint32_t thread, uint64_t seen_wall_ns)
{
    struct report_model *model = loader->model;
    uint32_t first = model->threads[thread].first_node;
    uint32_t rows = 0;

    if (loader->group_count == 0)
        return;
    spread_wall(loader, seen_wall_ns);
    find_unseen(loader, thread, COLUMN_CPU);
    if (model->base[COLUMN_WALL])
        find_unseen(loader, thread, COLUMN_WALL);
    for (size_t i = 0; i < loader->group_count; i++) {
        settle_group(model, &loader->groups[i]);
        rows += has_row(&loader->groups[i]);
    }
    if (rows)
        insert_rows(loader, first, rows);
    for (size_t i = 0; rows && i < loader->group_count; i++)
        give_rows_theirs(model, &loader->groups[i]);
    loader->group_count = 0;
}
