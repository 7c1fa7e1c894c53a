#include "tools/report/report_folded.h"

/* No more than all that its method had there, and no more than its thread says; but of calls that
 * never had a node, which are below the root, nothing is known. */
uint64_t report_folded__most_cpu_ns(const struct report_model *model,
                                    const struct report_thread *thread)
{
    uint64_t most_ns = 0;

    for (uint32_t i = thread->first_node; i < thread->end_node; i++) {
        uint32_t parent = model->nodes[i].parent;
        uint64_t base_ns = model->base[COLUMN_CPU][i];

        if (parent == REPORT_NONE || model->nodes[parent].kind != NODE_FOLDED)
            continue;
        bool may_be_unplaced = thread->unplaced_calls && model->nodes[parent].depth <= 1;
        if (!may_be_unplaced && base_ns > thread->folded_bound_ns)
            base_ns = thread->folded_bound_ns;
        most_ns = base_ns > most_ns ? base_ns : most_ns;
    }
    return most_ns;
}

uint64_t report_folded__calls(const struct report_model *model)
{
    uint64_t calls = 0;

    for (uint32_t i = 0; i < model->node_count; i++)
        if (model->nodes[i].kind == NODE_FOLDED)
            calls += model->cum[COLUMN_CALLS][i];
    return calls;
}

uint64_t report_folded__times(const struct report_model *model)
{
    uint64_t times = 0;

    for (uint32_t i = 0; i < model->thread_count; i++)
        times += model->threads[i].foldings;
    return times;
}
