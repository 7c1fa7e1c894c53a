#include "tools/report/report_balance.h"

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

uint64_t report_process__start_ns(const struct report_model *model)
{
    return model->header.process_start_epoch_ns ? model->header.process_start_epoch_ns
                                                : model->header.epoch_ns;
}

uint64_t report_process__wall_ns(const struct report_model *model)
{
    uint64_t end_ns = report_model__epoch_ns(model, report_model__asof_ns(model));
    uint64_t start_ns = report_process__start_ns(model);
    return end_ns > start_ns ? end_ns - start_ns : 0;
}

const char *report_clock__name(uint32_t clock_kind)
{
    static const char *const names[] = {"unknown", "plain", "perf", "rseq"};
    return names[clock_kind <= LEDGER_CLOCK_RSEQ ? clock_kind : 0];
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
