#include "tools/export/icicle.h"

#include "tools/report/memory.h"

#include <stdlib.h>

/* A node that is open. */
struct span {
    uint32_t node;
    uint64_t free; /* where its next child begins */
    uint64_t end;
};

struct layout {
    const struct icicle_events *events;
    struct span *open;
    size_t room;
    size_t depth;
};

static void close_top(struct layout *layout)
{
    struct span *top = &layout->open[--layout->depth];

    layout->events->close(layout->events->context, top->node, top->end);
    if (layout->depth > 0)
        layout->open[layout->depth - 1].free = top->end;
}

static void open_node(struct layout *layout, uint32_t node, uint64_t width)
{
    const struct span *parent = layout->depth ? &layout->open[layout->depth - 1] : NULL;
    uint64_t begin = parent ? parent->free : 0;
    uint64_t limit = parent ? parent->end : INT64_MAX;
    uint64_t end = width < limit - begin ? begin + width : limit;

    layout->open =
        memory__grown(layout->open, &layout->room, layout->depth + 1, sizeof(*layout->open));
    layout->open[layout->depth++] = (struct span){node, begin, end};
    layout->events->open(layout->events->context, node, begin);
}

uint64_t icicle__lay_out(const struct report_model *model, uint32_t thread,
                         enum report_column column, const struct icicle_events *events)
{
    struct layout layout = {.events = events};
    const uint64_t *cum = model->cum[column];
    const struct report_thread *row = &model->threads[thread];
    uint32_t next;

    for (uint32_t i = row->first_node; i < row->end_node; i = next) {
        const struct report_node *node = &model->nodes[i];
        bool skipped = node->depth > 0 && cum[i] == 0;

        next = skipped ? node->end : i + 1;
        while (layout.depth > node->depth)
            close_top(&layout);
        if (!skipped)
            open_node(&layout, i, cum[i]);
    }
    uint64_t end = layout.depth ? layout.open[0].end : 0;
    while (layout.depth > 0)
        close_top(&layout);
    free(layout.open);
    return end;
}
