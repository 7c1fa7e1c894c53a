#include "tools/report/report_knots.h"

#include "tools/report/memory.h"

#include <fnmatch.h>
#include <stdlib.h>

#define NOT_SEEN 0u

struct wait_edge {
    uint32_t from; /* threads */
    uint32_t to;
    uint64_t ns;
};

struct wait_graph {
    struct text *names; /* of threads, in order */
    uint32_t count;
    struct wait_edge *edges; /* by from, then by to; each once */
    uint32_t edge_count;
    uint32_t *first; /* by thread: its first edge; and one more */
    /* Tarjan's */
    uint32_t *number; /* in the order of visits, from 1 on */
    uint32_t *lowest;
    bool *is_open;
    uint32_t *open; /* a stack */
    uint32_t open_count;
    uint32_t visits;
    uint32_t *knot; /* by thread: 1 + the index of its knot; 0: none */
    struct report_cascade *cascade;
    size_t knot_room;
};

/* One that is being visited, and its next edge. */
struct visit {
    uint32_t thread;
    uint32_t edge;
};

static int by_name(const void *a, const void *b)
{
    return text__compare(*(const struct text *)a, *(const struct text *)b);
}

static int by_ends(const void *a, const void *b)
{
    const struct wait_edge *x = a, *y = b;
    int order = (x->from > y->from) - (x->from < y->from);

    return order ? order : (x->to > y->to) - (x->to < y->to);
}

static bool counts(const struct report_block *block, const char *glob)
{
    return block->wait_ns && block->holder_known &&
           text__compare(block->waiter, block->holder) != 0 &&
           (!glob || fnmatch(glob, block->waiter.bytes, 0) == 0);
}

static void find_names(struct wait_graph *graph, const struct report_model *model, const char *glob)
{
    uint32_t kept = 0;

    graph->names = memory__zeroed(2 * (size_t)model->block_count + 1, sizeof(*graph->names));
    for (uint32_t i = 0; i < model->block_count; i++)
        if (counts(&model->blocks[i], glob)) {
            graph->names[graph->count++] = model->blocks[i].waiter;
            graph->names[graph->count++] = model->blocks[i].holder;
        }
    qsort(graph->names, graph->count, sizeof(*graph->names), by_name);
    for (uint32_t i = 0; i < graph->count; i++)
        if (!kept || text__compare(graph->names[kept - 1], graph->names[i]) != 0)
            graph->names[kept++] = graph->names[i];
    graph->count = kept;
}

static uint32_t index_of(const struct wait_graph *graph, const struct text *name)
{
    const struct text *found =
        bsearch(name, graph->names, graph->count, sizeof(*graph->names), by_name);

    return (uint32_t)(found - graph->names);
}

static void find_edges(struct wait_graph *graph, const struct report_model *model, const char *glob)
{
    uint32_t kept = 0;

    graph->edges = memory__zeroed((size_t)model->block_count + 1, sizeof(*graph->edges));
    for (uint32_t i = 0; i < model->block_count; i++)
        if (counts(&model->blocks[i], glob))
            graph->edges[graph->edge_count++] = (struct wait_edge){
                index_of(graph, &model->blocks[i].waiter),
                index_of(graph, &model->blocks[i].holder), model->blocks[i].wait_ns};
    qsort(graph->edges, graph->edge_count, sizeof(*graph->edges), by_ends);
    for (uint32_t i = 0; i < graph->edge_count; i++)
        if (kept && by_ends(&graph->edges[kept - 1], &graph->edges[i]) == 0)
            graph->edges[kept - 1].ns += graph->edges[i].ns;
        else
            graph->edges[kept++] = graph->edges[i];
    graph->edge_count = kept;
    graph->first = memory__zeroed((size_t)graph->count + 1, sizeof(*graph->first));
    for (uint32_t i = 0; i < kept; i++)
        graph->first[graph->edges[i].from + 1] = i + 1;
    for (uint32_t i = 1; i <= graph->count; i++)
        if (graph->first[i] < graph->first[i - 1])
            graph->first[i] = graph->first[i - 1];
}

static void open_thread(struct wait_graph *graph, uint32_t thread)
{
    graph->number[thread] = graph->lowest[thread] = ++graph->visits;
    graph->is_open[thread] = true;
    graph->open[graph->open_count++] = thread;
}

/* The open threads from this one on are a component. */
static void close_component(struct wait_graph *graph, uint32_t thread)
{
    struct report_cascade *cascade = graph->cascade;
    uint32_t from = graph->open_count;
    struct cascade_knot *knot;

    do
        graph->is_open[graph->open[--from]] = false;
    while (graph->open[from] != thread);
    if (graph->open_count - from > 1) {
        cascade->knots = memory__grown(cascade->knots, &graph->knot_room, cascade->knot_count + 1,
                                       sizeof(*cascade->knots));
        knot = &cascade->knots[cascade->knot_count++];
        *knot = (struct cascade_knot){.count = graph->open_count - from, .is_cycle = true};
        knot->threads = memory__zeroed(knot->count, sizeof(*knot->threads));
        for (uint32_t i = 0; i < knot->count; i++) {
            knot->threads[i] = graph->names[graph->open[from + i]];
            graph->knot[graph->open[from + i]] = cascade->knot_count;
        }
        qsort(knot->threads, knot->count, sizeof(*knot->threads), by_name);
    }
    graph->open_count = from;
}

static uint32_t smaller(uint32_t x, uint32_t y)
{
    return x < y ? x : y;
}

/* Without recursion: there may be thousands of threads in a row. */
static void visit_from(struct wait_graph *graph, uint32_t thread, struct visit *visits)
{
    uint32_t depth = 0;

    visits[depth] = (struct visit){thread, graph->first[thread]};
    open_thread(graph, thread);
    for (;;) {
        struct visit *now = &visits[depth];

        if (now->edge < graph->first[now->thread + 1]) {
            uint32_t to = graph->edges[now->edge++].to;

            if (graph->number[to] == NOT_SEEN) {
                visits[++depth] = (struct visit){to, graph->first[to]};
                open_thread(graph, to);
            } else if (graph->is_open[to]) {
                graph->lowest[now->thread] = smaller(graph->lowest[now->thread], graph->number[to]);
            }
            continue;
        }
        if (graph->lowest[now->thread] == graph->number[now->thread])
            close_component(graph, now->thread);
        if (depth == 0)
            return;
        depth--;
        graph->lowest[visits[depth].thread] =
            smaller(graph->lowest[visits[depth].thread], graph->lowest[visits[depth + 1].thread]);
    }
}

static void sum_knots(struct wait_graph *graph)
{
    for (uint32_t i = 0; i < graph->count; i++) {
        uint32_t knot = graph->knot[i], inside = 0;

        for (uint32_t edge = graph->first[i]; knot && edge < graph->first[i + 1]; edge++)
            if (graph->knot[graph->edges[edge].to] == knot) {
                graph->cascade->knots[knot - 1].ns += graph->edges[edge].ns;
                inside++;
            }
        if (inside > 1)
            graph->cascade->knots[knot - 1].is_cycle = false;
    }
}

static int knots_by_ns(const void *a, const void *b)
{
    const struct cascade_knot *x = a, *y = b;

    return (x->ns < y->ns) - (x->ns > y->ns);
}

void report_knots__find(const struct report_model *model, const char *glob,
                        struct report_cascade *cascade)
{
    struct wait_graph graph = {.cascade = cascade};
    struct visit *visits;
    size_t count;

    find_names(&graph, model, glob);
    find_edges(&graph, model, glob);
    count = (size_t)graph.count + 1;
    graph.number = memory__zeroed(count, sizeof(*graph.number));
    graph.lowest = memory__zeroed(count, sizeof(*graph.lowest));
    graph.is_open = memory__zeroed(count, sizeof(*graph.is_open));
    graph.open = memory__zeroed(count, sizeof(*graph.open));
    graph.knot = memory__zeroed(count, sizeof(*graph.knot));
    visits = memory__zeroed(count, sizeof(*visits));
    for (uint32_t i = 0; i < graph.count; i++)
        if (graph.number[i] == NOT_SEEN)
            visit_from(&graph, i, visits);
    sum_knots(&graph);
    if (cascade->knot_count)
        qsort(cascade->knots, cascade->knot_count, sizeof(*cascade->knots), knots_by_ns);
    free(graph.names);
    free(graph.edges);
    free(graph.first);
    free(graph.number);
    free(graph.lowest);
    free(graph.is_open);
    free(graph.open);
    free(graph.knot);
    free(visits);
}
