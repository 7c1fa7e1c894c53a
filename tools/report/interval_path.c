#include "tools/report/interval_path.h"

#include "tools/report/memory.h"

#include <stdlib.h>

/* Where the walk stands in both readings. */
struct walk {
    const struct report_model *before;
    const struct report_model *now;
    uint32_t *child_of_method; /* 1 + the node of the earlier reading; all 0 between two uses */
    struct interval_path path;
    size_t room;
};

static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

static bool is_same_method(const struct report_method *a, const struct report_method *b)
{
    return text__compare(a->name, b->name) == 0 &&
           text__compare(a->class_name, b->class_name) == 0 &&
           text__compare(a->signature, b->signature) == 0;
}

/* The table of methods only grows, so that as a rule a method stands where it stood. */
static uint32_t method_before(const struct walk *walk, uint32_t method)
{
    const struct report_method *wanted = &walk->now->methods[method];

    if (method < walk->before->method_count &&
        is_same_method(wanted, &walk->before->methods[method]))
        return method;
    for (uint32_t i = METHOD_FIRST_REAL; i < walk->before->method_count; i++)
        if (is_same_method(wanted, &walk->before->methods[i]))
            return i;
    return REPORT_NONE;
}

/* Sampled frames have no CPU time of their own. */
static bool has_cpu(const struct report_node *node)
{
    return !ledger_node_kind__is_sampled(node->kind);
}

static uint64_t value_of(const struct report_model *model, enum report_column column, bool cum,
                         uint32_t node)
{
    if (node == REPORT_NONE)
        return 0;
    return cum ? model->cum[column][node] : model->base[column][node];
}

static uint64_t node_growth(const struct walk *walk, enum report_column column, bool cum,
                            uint32_t now, uint32_t before)
{
    return growth(value_of(walk->now, column, cum, now),
                  value_of(walk->before, column, cum, before));
}

static void add_step(struct walk *walk, uint32_t now, uint32_t before, uint64_t most_ns)
{
    uint64_t cum_ns = node_growth(walk, COLUMN_CPU, true, now, before);
    uint64_t base_ns = node_growth(walk, COLUMN_CPU, false, now, before);

    if (cum_ns > most_ns)
        cum_ns = most_ns;
    walk->path.steps = memory__grown(walk->path.steps, &walk->room, (size_t)walk->path.count + 1,
                                     sizeof(*walk->path.steps));
    walk->path.steps[walk->path.count++] = (struct interval_step){
        .node = now,
        .calls = node_growth(walk, COLUMN_CALLS, false, now, before),
        .base_ns = base_ns < cum_ns ? base_ns : cum_ns,
        .cum_ns = cum_ns,
    };
}

/* Notes the children of a node of the earlier reading by their methods, or forgets them again. */
static void note_children(struct walk *walk, uint32_t parent, bool forget)
{
    if (parent == REPORT_NONE)
        return;
    uint32_t end = walk->before->nodes[parent].end;
    for (uint32_t i = parent + 1; i < end; i = walk->before->nodes[i].end)
        if (has_cpu(&walk->before->nodes[i]))
            walk->child_of_method[walk->before->nodes[i].method] = forget ? 0 : i + 1;
}

static uint32_t child_before(const struct walk *walk, uint32_t child)
{
    uint32_t method = method_before(walk, walk->now->nodes[child].method);
    uint32_t noted = method == REPORT_NONE ? 0 : walk->child_of_method[method];

    return noted ? noted - 1 : REPORT_NONE;
}

/* Moves both to the heaviest child. False: there is none that consumed anything. */
static bool descend(struct walk *walk, uint32_t *now, uint32_t *before)
{
    uint64_t heaviest_ns = 0;
    uint32_t end = walk->now->nodes[*now].end, best = REPORT_NONE, best_before = REPORT_NONE;

    note_children(walk, *before, false);
    for (uint32_t child = *now + 1; child < end; child = walk->now->nodes[child].end) {
        /* Only growth can be heavy, and finding out costs more. */
        if (!has_cpu(&walk->now->nodes[child]) || walk->now->cum[COLUMN_CPU][child] <= heaviest_ns)
            continue;
        uint32_t was = child_before(walk, child);
        uint64_t cum_ns = node_growth(walk, COLUMN_CPU, true, child, was);
        if (cum_ns > heaviest_ns) {
            heaviest_ns = cum_ns;
            best = child;
            best_before = was;
        }
    }
    note_children(walk, *before, true);
    if (best == REPORT_NONE || node_growth(walk, COLUMN_CPU, false, *now, *before) > heaviest_ns)
        return false;
    *now = best;
    *before = best_before;
    return true;
}

static uint32_t root_of(const struct report_model *model, uint32_t thread)
{
    if (thread == REPORT_NONE ||
        model->threads[thread].first_node >= model->threads[thread].end_node)
        return REPORT_NONE;
    return model->threads[thread].first_node;
}

struct interval_path interval_path__of(const struct interval *interval,
                                       const struct interval_row *row)
{
    struct walk walk = {.before = interval->before, .now = interval->now};
    uint32_t now = root_of(walk.now, row->now);
    uint32_t before = root_of(walk.before, row->before);

    if (now == REPORT_NONE || row->value[COLUMN_CPU] == 0)
        return walk.path;
    walk.child_of_method = memory__zeroed(walk.before->method_count, sizeof(uint32_t));
    add_step(&walk, now, before, row->value[COLUMN_CPU]);
    while (descend(&walk, &now, &before))
        add_step(&walk, now, before, walk.path.steps[walk.path.count - 1].cum_ns);
    free(walk.child_of_method);
    return walk.path;
}
