#include "tools/report/report_resolution.h"

#include "tools/report/memory.h"

#include <stdlib.h>

#define STEP_OUTSIDE RESOLUTION_STEPS /* in no exact call */

static const uint64_t bounds_ns[RESOLUTION_STEPS] = {10000, 100000, 1000000, 10000000, 0};

static uint8_t step_of(uint64_t cum_ns, uint64_t calls)
{
    uint8_t step = 0;

    /* cum / calls < bound, of real numbers */
    while (step < RESOLUTION_STEPS - 1 &&
           (unsigned __int128)cum_ns >= (unsigned __int128)bounds_ns[step] * calls)
        step++;
    return step;
}

static bool is_java(const struct report_thread *thread)
{
    return thread->kind != THREAD_VM && thread->kind != THREAD_NATIVE &&
           !(thread->flags & THREAD_LAST_MOMENTS);
}

struct report_resolution report_resolution__of(const struct report_model *model)
{
    struct report_resolution resolution = {0};
    uint64_t in_step[RESOLUTION_STEPS + 1] = {0};
    const uint64_t *base = model->base[COLUMN_CPU];
    uint8_t *steps = memory__zeroed(model->node_count, sizeof(*steps));

    for (uint32_t i = 0; i < model->node_count; i++) {
        const struct report_node *node = &model->nodes[i];
        uint64_t calls = model->base[COLUMN_CALLS][i];

        if (!is_java(&model->threads[node->thread]))
            continue;
        if (node->kind == NODE_EXACT && calls)
            steps[i] = step_of(model->cum[COLUMN_CPU][i], calls);
        else
            steps[i] = node->parent == REPORT_NONE ? STEP_OUTSIDE : steps[node->parent];
        in_step[steps[i]] += base[i];
        resolution.java_ns += base[i];
    }
    for (unsigned i = 0; i < RESOLUTION_STEPS; i++) {
        resolution.below_ns[i] = bounds_ns[i];
        resolution.cpu_ns[i] = in_step[i] + (i ? resolution.cpu_ns[i - 1] : 0);
    }
    free(steps);
    return resolution;
}
