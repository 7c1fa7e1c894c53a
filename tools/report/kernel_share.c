#include "tools/report/kernel_share.h"

#include "tools/report/memory.h"
#include "tools/report/report_model.h"

#include <stdlib.h>

#define HALVINGS 60

/* What was shared out below an exact node, in ns of CPU. */
struct part {
    uint32_t owner; /* the exact node */
    uint32_t thread;
    uint32_t first; /* its sampled frames: from here … */
    uint32_t end;
    uint64_t kernel_ns;
    uint64_t user_ns; /* the owner's own samples, too */
};

struct fitting {
    struct report_model *model;
    struct part *parts; /* by thread */
    size_t part_count;
    size_t part_room;
};

static bool is_sampled(const struct report_model *model, uint32_t node)
{
    return ledger_node_kind__is_sampled(model->nodes[node].kind) &&
           model->nodes[node].kind != NODE_UNSEEN;
}

/* Sampled frames stand in one piece behind their exact node's exact children. */
static uint32_t end_of_piece(const struct report_model *model, uint32_t first)
{
    uint32_t end = first;
    uint32_t parent = model->nodes[first].parent;

    while (end < model->node_count && is_sampled(model, end) && model->nodes[end].parent >= parent)
        end = model->nodes[end].end;
    return end;
}

static void add_part(struct fitting *fitting, uint32_t first, uint32_t end)
{
    const struct report_model *model = fitting->model;
    const uint64_t *base = model->base[COLUMN_CPU];
    uint32_t owner = model->nodes[first].parent;
    struct part part = {.owner = owner,
                        .thread = model->nodes[owner].thread,
                        .first = first,
                        .end = end,
                        .user_ns = base[owner]};

    for (uint32_t i = first; i < end; i++)
        *(model->nodes[i].kind == NODE_KERNEL ? &part.kernel_ns : &part.user_ns) += base[i];
    fitting->parts = memory__grown(fitting->parts, &fitting->part_room, fitting->part_count + 1,
                                   sizeof(*fitting->parts));
    fitting->parts[fitting->part_count++] = part;
}

static void find_parts(struct fitting *fitting)
{
    const struct report_model *model = fitting->model;

    for (uint32_t i = 0; i < model->node_count;) {
        uint32_t end = is_sampled(model, i) ? end_of_piece(model, i) : i + 1;

        if (is_sampled(model, i))
            add_part(fitting, i, end);
        i = end;
    }
}

static double kernel_with(const struct part *part, double weight)
{
    double kernel = weight * (double)part->kernel_ns;
    double whole = (double)(part->kernel_ns + part->user_ns);

    return part->kernel_ns ? whole * kernel / (kernel + (double)part->user_ns) : 0;
}

/* Parts of threads that are fitted together. */
struct group {
    const struct fitting *fitting;
    const bool *threads; /* by index: those in it */
    size_t first;        /* parts, of these and maybe of others */
    size_t end;
};

static double kernel_of(const struct group *group, double weight)
{
    double sum = 0;

    for (size_t i = group->first; i < group->end; i++)
        if (group->threads[group->fitting->parts[i].thread])
            sum += kernel_with(&group->fitting->parts[i], weight);
    return sum;
}

static double system_of(const struct group *group)
{
    double sum = 0;

    for (size_t i = group->first; i < group->end; i++) {
        const struct part *part = &group->fitting->parts[i];
        const struct report_thread *thread = &group->fitting->model->threads[part->thread];

        if (group->threads[part->thread])
            sum += (double)(part->kernel_ns + part->user_ns) * (double)thread->moded_system_ns /
                   (double)thread->moded_cpu_ns;
    }
    return sum;
}

/* The more they weigh the more the kernel's frames have. */
static double find_weight(const struct group *group)
{
    double wanted = system_of(group);
    double low = 1 / KERNEL_WEIGHT_MAX;
    double high = KERNEL_WEIGHT_MAX;

    for (int i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;

        if (kernel_of(group, middle) < wanted)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Shares `amount` out as it stands in the frames of one kind, `sum` in all, in whole ns; what the
 * frames do not take is returned. */
static uint64_t scale(const struct report_model *model, const struct part *part, bool kernel,
                      uint64_t amount, uint64_t sum)
{
    uint64_t *base = model->base[COLUMN_CPU];
    uint64_t *wall = model->base[COLUMN_WALL];
    uint64_t counted = 0;
    uint64_t given = 0;

    for (uint32_t i = part->first; i < part->end; i++) {
        if ((model->nodes[i].kind == NODE_KERNEL) != kernel)
            continue;
        bool same = wall && wall[i] == base[i];
        counted += base[i];
        uint64_t due = (uint64_t)((unsigned __int128)amount * counted / sum);
        base[i] = due - given;
        given = due;
        if (same)
            wall[i] = base[i];
    }
    return amount - given;
}

static uint64_t wall_of(const struct report_model *model, const struct part *part)
{
    uint64_t sum = 0;

    for (uint32_t i = part->first; model->base[COLUMN_WALL] && i < part->end; i++)
        sum += model->base[COLUMN_WALL][i];
    return sum;
}

/* Frames whose wall time is not their CPU time keep it where the others get more: together they
 * have what there is, and their exact node the rest. */
static void settle_wall(const struct report_model *model, const struct part *part, uint64_t whole)
{
    uint64_t *wall = model->base[COLUMN_WALL];
    uint64_t sum = wall_of(model, part);
    uint64_t counted = 0;
    uint64_t given = 0;

    for (uint32_t i = part->first; sum > whole && i < part->end; i++) {
        counted += wall[i];
        uint64_t due = (uint64_t)((unsigned __int128)whole * counted / sum);
        wall[i] = due - given;
        given = due;
    }
    wall[part->owner] = whole - (sum > whole ? given : sum);
}

static void weigh(const struct report_model *model, const struct part *part, double weight)
{
    uint64_t whole = part->kernel_ns + part->user_ns;
    const uint64_t *wall = model->base[COLUMN_WALL];
    uint64_t whole_wall = wall ? wall[part->owner] + wall_of(model, part) : 0;
    double kernel = kernel_with(part, weight);
    uint64_t kernel_ns = kernel < (double)whole ? (uint64_t)kernel : whole;

    if (part->kernel_ns == 0 || part->user_ns == 0)
        return;
    uint64_t rest = scale(model, part, true, kernel_ns, part->kernel_ns);
    rest += scale(model, part, false, whole - kernel_ns, part->user_ns);
    model->base[COLUMN_CPU][part->owner] = rest;
    if (wall)
        settle_wall(model, part, whole_wall);
}

static void fit(const struct group *group)
{
    double weight = kernel_of(group, 1) > 0 ? find_weight(group) : 1;

    for (size_t i = group->first; i < group->end; i++)
        if (group->threads[group->fitting->parts[i].thread])
            weigh(group->fitting->model, &group->fitting->parts[i], weight);
}

static uint64_t samples_of(const struct report_model *model, const struct report_thread *thread)
{
    uint64_t sum = 0;

    for (uint32_t i = thread->first_node; i < thread->end_node; i++)
        sum += model->samples[i].cpu;
    return sum;
}

/* Each thread that has enough samples; the others, whose division is known, together. */
static void fit_all(struct fitting *fitting)
{
    const struct report_model *model = fitting->model;
    bool *alone = memory__zeroed(model->thread_count, sizeof(*alone));
    bool *together = memory__zeroed(model->thread_count, sizeof(*together));

    for (uint32_t i = 0; i < model->thread_count; i++) {
        bool known = model->threads[i].moded_cpu_ns != 0;
        bool enough = known && samples_of(model, &model->threads[i]) >= KERNEL_SAMPLES_LEAST;

        alone[i] = known && enough;
        together[i] = known && !enough;
    }
    for (size_t first = 0, end; first < fitting->part_count; first = end) {
        for (end = first; end < fitting->part_count &&
                          fitting->parts[end].thread == fitting->parts[first].thread;)
            end++;
        fit(&(struct group){fitting, alone, first, end});
    }
    fit(&(struct group){fitting, together, 0, fitting->part_count});
    free(alone);
    free(together);
}

void kernel_share__fit(struct report_model *model)
{
    struct fitting fitting = {.model = model};

    if (!model->samples)
        return;
    find_parts(&fitting);
    fit_all(&fitting);
    free(fitting.parts);
}
