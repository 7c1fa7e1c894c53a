/* The threads view for programs: JSON and CSV. */
#include "native/metrics/kernel_metrics.h"
#include "tools/output/csv.h"
#include "tools/output/json_rows.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_busy.h"
#include "tools/report/thread_running.h"
#include "tools/views/hook_summary.h"
#include "tools/views/view_budget.h"
#include "tools/views/view_losses.h"
#include "tools/views/view_rows.h"
#include "tools/views/view_samples.h"

#include <string.h>

static uint32_t shown_rows(const struct view *view, const struct thread_rows *rows)
{
    return view->top && view->top < rows->count ? view->top : rows->count;
}

static const char *life_name(enum ledger_life life)
{
    static const char *const names[] = {
        [LEDGER_IS_CLOSED] = "closed", [LEDGER_IS_LIVE] = "live", [LEDGER_IS_ORPHAN] = "orphan"};

    return names[life];
}

/* {"first_ns":…,"slot_ns":…,"ppm":[…]} */
static json_t *busy_of(const struct report_model *model)
{
    struct report_busy busy = report_busy__of(model);
    json_t *object = json_object(), *ppm = json_array();

    for (uint32_t i = 0; i < busy.count; i++)
        json_array_append_new(ppm, json_row__integer(busy.ppm[i]));
    json_object_set_new(object, "first_ns",
                        json_row__integer(report_model__epoch_ns(model, busy.first_ns)));
    json_object_set_new(object, "slot_ns", json_row__integer(busy.slot_ns));
    json_object_set_new(object, "ppm", ppm);
    return object;
}

static json_t *process_of(const struct report_model *model)
{
    const struct ledger_header *header = &model->header;
    json_t *process = json_object();

    json_object_set_new(process, "pid", json_integer(header->pid));
    json_object_set_new(process, "command", json_row__text(model->command));
    json_object_set_new(process, "jvm", json_row__text(model->jvm));
    json_object_set_new(process, "start_ns", json_row__integer(report_process__start_ns(header)));
    if (model->since_ns) /* up to asof_ns */
        json_object_set_new(process, "since_ns",
                            json_row__integer(report_model__epoch_ns(model, model->since_ns)));
    json_object_set_new(process, "wall_ns", json_row__integer(report_process__wall_ns(model)));
    json_object_set_new(process, "cpu_ns", json_row__integer(header->process_cpu_ns));
    json_object_set_new(process, "user_ns", json_row__integer(header->process_user_ns));
    json_object_set_new(process, "sys_ns", json_row__integer(header->process_system_ns));
    json_object_set_new(process, "ledger", json_string(life_name(model->life)));
    json_object_set_new(
        process, "asof_ns",
        json_row__integer(report_model__epoch_ns(model, report_model__asof_ns(model))));
    json_object_set_new(process, "attached_after_ns",
                        json_row__integer(report_process__attached_after_ns(header)));
    json_object_set_new(process, "unprofiled_ns", json_row__integer(header->unprofiled_wall_ns));
    json_object_set_new(process, "stopped_ns",
                        json_row__integer(ledger_header__is_stopped(header)
                                              ? report_model__epoch_ns(model, header->since_ns)
                                              : 0));
    json_object_set_new(process, "machine", json_row__text(model->machine));
    json_object_set_new(process, "options", json_row__text(model->options));
    json_object_set_new(process, "busy", busy_of(model));
    return process;
}

static json_t *tids_of(const struct report_thread *thread)
{
    json_t *tids = json_array();

    for (uint32_t i = 0; i < thread->tid_count && i < LEDGER_THREAD_TIDS; i++)
        json_array_append_new(tids, json_integer(thread->tids[i]));
    return tids;
}

static json_t *metrics_of(const struct view *view, const struct thread_row *row)
{
    json_t *metrics = json_object();
    uint64_t columns = report_columns__of_threads(&view->model->header);

    for (enum report_column column = COLUMN_KERNEL; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column) &&
            report_thread__knows(&view->model->threads[row->first], column))
            json_object_set_new(metrics, report_column__key(column),
                                json_row__integer(row->value[column]));
    return metrics;
}

static void add_running(json_t *object, const struct thread_running *running)
{
    json_object_set_new(object, "lived_ns", json_row__integer(running->lived_ns));
    json_object_set_new(object, "parallel_ppm", json_row__integer(running->parallel_ppm));
    if (!running->has_switches)
        return;
    json_object_set_new(object, "quantum_ns", json_row__integer(running->quantum_ns));
    json_object_set_new(object, "preempted_ppm", json_integer(running->preempted_ppm));
}

/* What only a single thread has, not a row of several. */
static void add_single(json_t *object, const struct report_model *model,
                       const struct report_thread *thread)
{
    json_t *renames = json_array();

    for (size_t i = 0; i < thread->rename_count; i++)
        json_array_append_new(renames, json_row__text(thread->renames[i]));
    json_object_set_new(object, "renames", renames);
    json_object_set_new(object, "daemon", json_boolean(thread->flags & THREAD_DAEMON));
    json_object_set_new(object, "java_id", json_row__integer(thread->java_id));
    json_object_set_new(object, "started_ns",
                        json_row__integer(report_model__epoch_ns(model, thread->start_ns)));
    json_object_set_new(object, "ended_ns",
                        thread->end_ns
                            ? json_row__integer(report_model__epoch_ns(model, thread->end_ns))
                            : json_null());
    json_object_set_new(object, "dropped_enters", json_row__integer(thread->lost_enters));
}

static void add_virtual(json_t *object, const struct thread_row *row,
                        const struct report_thread *thread)
{
    json_object_set_new(object, "mounts", json_row__integer(row->mounts));
    json_object_set_new(object, "pinned", json_row__integer(row->pinned));
    json_object_set_new(object, "mounted_ns", json_row__integer(thread_row__mounted_ns(row)));
    json_object_set_new(object, "parked_ns", json_row__integer(row->parked_ns));
    if (row->count > 1)
        return;
    json_object_set_new(object, "more_tids", json_boolean(thread->flags & THREAD_MORE_TIDS));
    json_object_set_new(object, "group",
                        thread->group_name.length ? json_row__text(thread->group_name)
                                                  : json_null());
}

static json_t *row_object(const struct view *view, const struct thread_row *row)
{
    const struct report_model *model = view->model;
    const struct report_thread *thread = &model->threads[row->first];
    struct thread_running running = thread_running__of(model, row);
    json_t *object = json_object();

    json_object_set_new(object, "name", json_row__text(row->name));
    json_object_set_new(object, "kind", json_string(report_thread_kind__name(thread->kind)));
    json_object_set_new(object, "tids", row->count == 1 ? tids_of(thread) : json_array());
    json_object_set_new(object, "terminated", json_boolean(row->running == 0));
    json_object_set_new(object, "parent",
                        row->count == 1 && thread->parent != REPORT_NONE
                            ? json_row__text(model->threads[thread->parent].name)
                            : json_null());
    json_object_set_new(object, "cpu_ns", json_row__integer(row->value[COLUMN_CPU]));
    json_object_set_new(object, "wall_ns", json_row__integer(row->value[COLUMN_WALL]));
    json_object_set_new(object, "waiting_ns", json_row__integer(row->waiting_ns));
    json_object_set_new(object, "calls", json_row__integer(row->value[COLUMN_CALLS]));
    if (row->is_partial)
        json_object_set_new(object, "calls_at_least", json_true());
    view_row__add_samples(object, view, row->value, NULL);
    add_running(object, &running);
    json_object_set_new(object, "metrics", metrics_of(view, row));
    if (view->fold || row->count > 1) {
        json_object_set_new(object, "count", json_integer(row->count));
        json_object_set_new(object, "running", json_integer(row->running));
    }
    if (row->count == 1)
        add_single(object, model, thread);
    if (thread->kind == THREAD_VIRTUAL)
        add_virtual(object, row, thread);
    return object;
}

static json_t *unavailable_of(const struct report_model *model)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < SOURCE_COUNT; i++) {
        enum ledger_metric_source source = (enum ledger_metric_source)i;
        uint64_t missing = report_source__missing(model, source);
        json_t *names = json_array();

        for (unsigned metric = 0; metric < METRIC_COUNT; metric++)
            if (missing >> metric & 1)
                json_array_append_new(
                    names, json_string(kernel_metric__get((enum ledger_metric)metric)->name));
        if (missing) {
            const struct kernel_metric_source *row = kernel_metric_source__get(source);
            json_t *object = json_object();

            json_object_set_new(object, "source", json_string(row->name));
            json_object_set(object, "metrics", names);
            json_object_set_new(object, "errno", json_integer(model->header.source_error[i]));
            json_object_set_new(object, "needs", json_string(row->needs));
            json_array_append_new(list, object);
        }
        json_decref(names);
    }
    return list;
}

static json_t *kernel_threads_of(const struct report_model *model)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < model->kernel_thread_count; i++) {
        const struct report_kernel_thread *kernel_thread = &model->kernel_threads[i];
        json_t *object = json_object();

        json_object_set_new(object, "tid", json_integer(kernel_thread->tid));
        json_object_set_new(object, "thread",
                            kernel_thread->thread == REPORT_NONE
                                ? json_null()
                                : json_row__text(model->threads[kernel_thread->thread].name));
        json_object_set_new(object, "kernel_cpu_ns",
                            json_row__integer(kernel_thread->kernel_cpu_ns));
        json_object_set_new(object, "charged_cpu_ns",
                            json_row__integer(kernel_thread->charged_cpu_ns));
        json_array_append_new(list, object);
    }
    return list;
}

static json_t *own_cost_of(const struct report_model *model)
{
    struct report_own_cost cost = report_own_cost__of(model);
    json_t *object = json_object();

    json_object_set_new(object, "cpu_ns", json_row__integer(cost.sum_ns));
    json_object_set_new(object, "threads_cpu_ns", json_row__integer(cost.parts.threads_ns));
    json_object_set_new(object, "hooks_cpu_ns", json_row__integer(cost.parts.hooks_ns));
    json_object_set_new(object, "calls", json_row__integer(cost.calls));
    json_object_set_new(object, "call_ps", json_row__integer(cost.call_ps));
    return object;
}

static json_t *balance_of(const struct report_model *model)
{
    const struct ledger_header *header = &model->header;
    struct report_balance balance = report_balance__of(model);
    json_t *object = json_object();

    json_object_set_new(object, "kernel_cpu_ns", json_row__integer(balance.kernel_ns));
    json_object_set_new(object, "charged_cpu_ns", json_row__integer(balance.charged_ns));
    json_object_set_new(object, "difference_ppm", json_integer(balance.difference_ppm));
    for (unsigned i = 0; i < REPORT_LOSSES; i++) {
        struct report_loss loss = report_loss__of(header, i);

        json_object_set_new(object, loss.key, json_row__integer(loss.count));
    }
    json_object_set_new(object, "positions_corrected",
                        json_row__integer(header->positions_corrected));
    json_object_set_new(object, "clock", json_string(report_clock__name(header->clock_kind)));
    json_object_set_new(object, "charged_java_ns", json_row__integer(balance.java_ns));
    json_object_set_new(object, "charged_vm_ns", json_row__integer(balance.vm_ns));
    json_object_set_new(object, "charged_native_ns", json_row__integer(balance.native_ns));
    json_object_set_new(object, "last_moments_ns", json_row__integer(balance.last_moments_ns));
    json_object_set_new(object, "skipped_records", json_row__integer(model->skipped));
    json_object_set_new(object, "full_errno", json_integer(header->full_error));
    json_object_set_new(object, "unavailable", unavailable_of(model));
    json_object_set_new(object, "kernel_threads", kernel_threads_of(model));
    json_object_set_new(object, "profiler", own_cost_of(model));
    if (report_columns__has_samples(header))
        json_object_set_new(object, "samples", view_samples__json(model));
    return object;
}

int view_threads__json(const struct view *view)
{
    FILE *out = view->screen.out;
    struct thread_rows *rows = view_threads__rows(view);

    fputs("{\"process\":", out);
    json_row__write(out, process_of(view->model));
    fputs(",\n\"threads\":[", out);
    for (uint32_t i = 0; i < shown_rows(view, rows); i++) {
        fputs(i ? ",\n" : "\n", out);
        json_row__write(out, row_object(view, &rows->rows[i]));
    }
    fputs("],\n\"balance\":", out);
    json_row__write(out, balance_of(view->model));
    json_t *budget = json_object();
    view_budget__add_to(budget, view->model);
    fputs(",\n", out);
    json_row__write_members(out, budget);
    if (hook_summary__are_used(&view->model->header)) {
        fputs(",\n\"hooks\":", out);
        json_row__write(out, hook_summary__json(&view->model->header));
    }
    view_losses__add_json(view);
    fputs("}\n", out);
    thread_rows__free(rows);
    return 0;
}

static void write_tids(struct csv *csv, const struct report_thread *thread, uint32_t count)
{
    char tids[LEDGER_THREAD_TIDS * 12 + 1] = "";
    size_t at = 0;

    for (uint32_t i = 0; count == 1 && i < thread->tid_count && i < LEDGER_THREAD_TIDS; i++)
        at += (size_t)snprintf(tids + at, sizeof(tids) - at, "%s%d", i ? " " : "", thread->tids[i]);
    csv__word(csv, tids);
}

static void write_virtual(struct csv *csv, const struct thread_row *row, bool is_virtual)
{
    const uint64_t values[] = {row->mounts, row->pinned, thread_row__mounted_ns(row),
                               row->parked_ns};

    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        if (is_virtual)
            csv__integer(csv, values[i]);
        else
            csv__empty(csv);
}

static void write_running(struct csv *csv, const struct report_model *model,
                          const struct thread_row *row)
{
    struct thread_running running = thread_running__of(model, row);

    csv__integer(csv, running.parallel_ppm);
    if (running.has_switches) {
        csv__integer(csv, running.quantum_ns);
        csv__integer(csv, running.preempted_ppm);
    } else {
        csv__empty(csv);
        csv__empty(csv);
    }
}

static void write_row(struct csv *csv, const struct view *view, const struct thread_row *row,
                      uint64_t columns, bool virtual_threads)
{
    const struct report_thread *thread = &view->model->threads[row->first];

    csv__text(csv, row->name);
    csv__word(csv, report_thread_kind__name(thread->kind));
    write_tids(csv, thread, row->count);
    csv__integer(csv, row->count);
    csv__integer(csv, row->running);
    csv__integer(csv, row->waiting_ns);
    write_running(csv, view->model, row);
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column) && !report_thread__knows(thread, column))
            csv__empty(csv);
        else if (columns & COLUMN_BIT(column))
            csv__integer(csv, row->value[column]);
    if (virtual_threads)
        write_virtual(csv, row, thread->kind == THREAD_VIRTUAL);
    view_row__csv_at_least(csv, view->model, row->is_partial);
    csv__end_record(csv);
}

int view_threads__csv(const struct view *view)
{
    static const char *const heads[] = {"thread",       "kind",       "tids",
                                        "count",        "running",    "waiting_ns",
                                        "parallel_ppm", "quantum_ns", "preempted_ppm"};
    static const char *const virtual_heads[] = {"mounts", "pinned", "mounted_ns", "parked_ns"};
    struct csv csv = {.out = view->screen.out};
    struct thread_rows *rows = view_threads__rows(view);
    uint64_t columns = report_columns__of_threads(&view->model->header);
    bool virtual_threads = report_model__has_virtual_threads(view->model);

    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++)
        csv__word(&csv, heads[i]);
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column))
            csv__word(&csv, report_column__csv_name(column));
    for (size_t i = 0; virtual_threads && i < sizeof(virtual_heads) / sizeof(virtual_heads[0]); i++)
        csv__word(&csv, virtual_heads[i]);
    view_row__csv_at_least_head(&csv, view->model);
    csv__end_record(&csv);
    for (uint32_t i = 0; i < shown_rows(view, rows); i++)
        write_row(&csv, view, &rows->rows[i], columns, virtual_threads);
    thread_rows__free(rows);
    return 0;
}
