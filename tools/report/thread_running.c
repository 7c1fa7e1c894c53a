#include "tools/report/thread_running.h"

#define MILLION    1000000u
#define KERNEL(id) ((enum report_column)((unsigned)COLUMN_KERNEL + METRIC_##id))

static bool has_switches(const struct ledger_header *header)
{
    uint64_t both = UINT64_C(1) << METRIC_VOLUNTARY_SWITCHES | UINT64_C(1)
                                                                   << METRIC_INVOLUNTARY_SWITCHES;

    return ((header->metrics_charged | header->metrics_totals) & both) == both;
}

static uint64_t ppm_of(uint64_t part, uint64_t whole)
{
    return whole ? (uint64_t)((unsigned __int128)part * MILLION / whole) : 0;
}

/* Of several threads: from the first one's start to the last one's end, without the time in which
 * profiling was stopped. Pauses in which none of them lived count. */
static uint64_t lived_ns(const struct report_model *model, const struct thread_row *row)
{
    uint64_t to_ns = report_model__profiled_to_ns(model);
    uint64_t from_ns = row->start_ns;
    uint64_t stopped_ns = model->header.unprofiled_wall_ns;
    uint64_t span_ns;

    if (row->count == 1)
        return row->value[COLUMN_WALL];
    if (row->running == 0 && row->end_ns < to_ns)
        to_ns = row->end_ns;
    if (from_ns < model->profiled_since_ns)
        from_ns = model->profiled_since_ns;
    span_ns = to_ns > from_ns ? to_ns - from_ns : 0;
    return span_ns > stopped_ns ? span_ns - stopped_ns : 0;
}

struct thread_running thread_running__of(const struct report_model *model,
                                         const struct thread_row *row)
{
    uint64_t involuntary = row->value[KERNEL(INVOLUNTARY_SWITCHES)];
    struct thread_running running = {.has_switches = has_switches(&model->header),
                                     .lived_ns = lived_ns(model, row)};

    running.parallel_ppm = ppm_of(row->value[COLUMN_CPU], running.lived_ns);
    if (!running.has_switches)
        return running;
    running.switches = row->value[KERNEL(VOLUNTARY_SWITCHES)] + involuntary + row->mounts;
    running.quantum_ns = row->value[COLUMN_CPU] / (running.switches ? running.switches : 1);
    running.preempted_ppm = (uint32_t)ppm_of(involuntary, running.switches);
    return running;
}
