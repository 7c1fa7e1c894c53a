#include "tools/report/report_balance.h"

#include "native/cost/cost_model.h"
#include "native/metrics/kernel_metrics.h"
#include "tools/report/quantity.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int64_t clamp(__int128 value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

struct report_balance report_balance__of(const struct report_model *model)
{
    struct report_balance balance = {.kernel_ns = model->header.process_cpu_ns};

    for (uint32_t i = 0; i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];
        uint64_t *sum = thread->flags & THREAD_LAST_MOMENTS ? &balance.last_moments_ns
                        : thread->kind == THREAD_VM         ? &balance.vm_ns
                        : thread->kind == THREAD_NATIVE     ? &balance.native_ns
                                                            : &balance.java_ns;

        *sum += thread->cpu_ns;
    }
    balance.charged_ns =
        balance.java_ns + balance.vm_ns + balance.native_ns + balance.last_moments_ns;
    __int128 difference = (__int128)balance.kernel_ns - (__int128)balance.charged_ns;
    balance.difference_ns = clamp(difference);
    if (balance.kernel_ns)
        balance.difference_ppm = clamp(difference * 1000000 / (__int128)balance.kernel_ns);
    return balance;
}

uint64_t report_balance__looked_at_ns(const struct report_balance *balance)
{
    return balance->charged_ns - balance->last_moments_ns;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

const struct report_kernel_thread *report_balance__farthest(const struct report_model *model)
{
    const struct report_kernel_thread *farthest = model->kernel_threads;

    for (uint32_t i = 1; i < model->kernel_thread_count; i++) {
        const struct report_kernel_thread *other = &model->kernel_threads[i];

        if (distance(other->kernel_cpu_ns, other->charged_cpu_ns) >
            distance(farthest->kernel_cpu_ns, farthest->charged_cpu_ns))
            farthest = other;
    }
    return model->kernel_thread_count ? farthest : NULL;
}

/* The CPU time of the profiler's threads, from their rows, which are newer than the agent's own
 * last look. */
static uint64_t own_threads_ns(const struct report_model *model)
{
    const struct ledger_header *header = &model->header;
    uint64_t sum_ns = 0;

    for (uint32_t i = 0; header->profiler_tid && i < model->thread_count; i++) {
        const struct report_thread *thread = &model->threads[i];

        if (thread->kind == THREAD_NATIVE && thread->tids[0] == header->profiler_tid)
            sum_ns += thread->cpu_ns;
    }
    return sum_ns > header->own_cost.threads_ns ? sum_ns : header->own_cost.threads_ns;
}

struct report_own_cost report_own_cost__of(const struct report_model *model)
{
    const struct ledger_header *header = &model->header;
    struct report_own_cost cost = {.parts = header->own_cost};
    bool hooks = header->event_mode == LEDGER_EVENTS_INSTRUMENT;

    for (uint32_t i = 0; hooks && i < model->thread_count; i++)
        cost.calls += model->threads[i].calls;
    if (cost.calls)
        cost.call_ps = (uint64_t)((unsigned __int128)cost.parts.hooks_ns * 1000 / cost.calls);
    cost.parts.threads_ns = own_threads_ns(model);
    cost.sum_ns = ledger_own_cost__sum(&cost.parts);
    return cost;
}

uint64_t report_balance__out_ppm(const struct report_model *model,
                                 const struct report_balance *balance)
{
    const struct report_kernel_thread *farthest = report_balance__farthest(model);
    uint64_t out_ns = distance(balance->kernel_ns, report_balance__looked_at_ns(balance));

    if (farthest && distance(farthest->kernel_cpu_ns, farthest->charged_cpu_ns) > out_ns)
        out_ns = distance(farthest->kernel_cpu_ns, farthest->charged_cpu_ns);
    unsigned __int128 ppm =
        ((unsigned __int128)out_ns * 1000000 + balance->kernel_ns - 1) / balance->kernel_ns;
    return ppm > UINT64_MAX ? UINT64_MAX : (uint64_t)ppm;
}

uint64_t report_process__start_ns(const struct ledger_header *header)
{
    return header->process_start_epoch_ns ? header->process_start_epoch_ns : header->epoch_ns;
}

uint64_t report_process__attached_after_ns(const struct ledger_header *header)
{
    uint64_t start_ns = report_process__start_ns(header);

    return header->attached && header->epoch_ns > start_ns ? header->epoch_ns - start_ns : 0;
}

uint64_t report_process__wall_ns(const struct report_model *model)
{
    const struct ledger_header *header = &model->header;
    uint64_t start_ns = header->attached ? header->epoch_ns : report_process__start_ns(header);

    if (model->since_ns)
        start_ns = report_model__epoch_ns(model, model->profiled_since_ns);
    uint64_t end_ns = report_model__epoch_ns(model, report_model__profiled_to_ns(model));
    uint64_t whole_ns = end_ns > start_ns ? end_ns - start_ns : 0;
    return whole_ns > header->unprofiled_wall_ns ? whole_ns - header->unprofiled_wall_ns : 0;
}

const char *report_clock__name(uint32_t clock_kind)
{
    static const char *const names[] = {"unknown", "plain", "perf", "rseq"};

    return names[clock_kind <= LEDGER_CLOCK_RSEQ ? clock_kind : 0];
}

bool report_clock__is_refused(const struct ledger_header *header, uint32_t kind, char *why,
                              size_t why_bytes)
{
    int32_t error = header->clock_error[kind];

    if (!error || kind <= header->clock_kind)
        return false;
    if (error == ENOTSUP)
        snprintf(why, why_bytes, "does not tell every switch here");
    else if (error == ENOSYS)
        snprintf(why, why_bytes, "not registered");
    else
        snprintf(why, why_bytes, "%s", strerror(error));
    return true;
}

const char *report_events__name(uint32_t event_mode)
{
    static const char *const names[] = {[LEDGER_EVENTS_NONE] = "none",
                                        [LEDGER_EVENTS_JVMTI] = "jvmti",
                                        [LEDGER_EVENTS_INSTRUMENT] = "instrument"};

    return event_mode <= LEDGER_EVENTS_INSTRUMENT ? names[event_mode] : "unknown";
}

struct report_loss report_loss__of(const struct ledger_header *header, unsigned index)
{
    const struct report_loss losses[REPORT_LOSSES] = {
        {header->dropped_enters, "call", "calls not recorded, their cost is charged to the caller",
         "dropped_events"},
        {header->dropped_threads, "thread", "threads not recorded", "dropped_threads"},
        {header->dropped_side_values, "metric value", "metric values not charged to a method",
         "dropped_side_values"},
        {header->unfollowed_mounts, "mount",
         "mounts of virtual threads: their calls are not recorded, their CPU is their carriers'",
         "unfollowed_mounts"},
        {header->resynchronised, "exit", "exits that did not match the current method",
         "resynchronised"},
        {header->dropped_samples, "sample", "samples dropped: there was no room for them",
         "dropped_samples"},
        {header->homeless_samples, "sample", "samples of kernel threads that have no row",
         "homeless_samples"},
        {header->lost_tallies, "sample",
         "samples for which `report --check` does not know all methods", "lost_tallies"},
        {header->lost_blocks, "wait", "waits for locks not recorded, nor for whom", "lost_waits"},
        {header->unmeasured_calls, "call",
         "calls of methods of latency= in no histogram: no room, or no exit seen",
         "unmeasured_calls"},
        {header->lost_hazards, "hazard", "hazards not recorded: deadlocks, or orders of locks",
         "lost_hazards"},
        {header->unwatched_waits, "wait",
         "waits for locks in which deadlocks are not found: no room", "unwatched_waits"},
        {header->lost_holds, "hold", "holds of locks not recorded", "lost_holds"},
        {header->lost_parts, "part", "parts of chains not recorded: there was no room for them",
         "lost_parts"},
        {header->unwrapped_images, "image",
         "images of native libraries whose waits are not recorded: their calls could not "
         "be replaced",
         "unwrapped_images"},
        {header->unnamed_images, "image",
         "images of native libraries that are not named where their locks are", "unnamed_images"},
    };

    return losses[index];
}

void report_loss__text(const struct report_loss *loss, char text[LOSS_TEXT_BYTES])
{
    snprintf(text, LOSS_TEXT_BYTES, "%s%s", quantity__counted(loss->count, loss->one).text,
             loss->meaning + strlen(loss->one) + 1);
}

uint64_t report_source__missing(const struct report_model *model, enum ledger_metric_source source)
{
    uint64_t missing = 0;
    uint64_t known = model->header.metrics_charged | model->header.metrics_totals;

    if (model->header.source_error[source] == 0)
        return 0;
    for (unsigned metric = 0; metric < METRIC_COUNT; metric++)
        if (kernel_metric__get((enum ledger_metric)metric)->source == source &&
            !(known >> metric & 1))
            missing |= UINT64_C(1) << metric;
    return missing;
}
