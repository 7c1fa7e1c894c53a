#include "tools/top/top_json.h"

#include "tools/output/json_rows.h"
#include "tools/report/report_balance.h"
#include "tools/report/wait_parts.h"

#include <stdlib.h>

static void set(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_row__integer(value));
}

static json_t *process_of(const struct interval *interval)
{
    const struct report_model *now = interval->now;
    json_t *process = json_object();

    json_object_set_new(process, "pid", json_integer(now->header.pid));
    json_object_set_new(process, "command", json_row__text(now->command));
    json_object_set_new(process, "jvm", json_row__text(now->jvm));
    set(process, "from_ns",
        report_model__epoch_ns(interval->before, report_model__asof_ns(interval->before)));
    set(process, "to_ns", report_model__epoch_ns(now, report_model__asof_ns(now)));
    set(process, "interval_ns", interval->wall_ns);
    set(process, "profiled_ns", interval->profiled_ns);
    set(process, "cpu_ns", interval->cpu_ns);
    set(process, "user_ns", interval->user_ns);
    set(process, "sys_ns", interval->system_ns);
    set(process, "cpu_permille", interval__per_second(interval, interval->cpu_ns) / 1000000u);
    set(process, "calls", interval->calls);
    set(process, "threads", interval->running);
    set(process, "started", interval->started);
    set(process, "ended", interval->ended);
    return process;
}

static json_t *metrics_of(const struct interval *interval, const struct interval_row *row)
{
    json_t *metrics = json_object();
    uint64_t columns = report_columns__of_threads(&interval->now->header);

    for (enum report_column column = COLUMN_KERNEL; column < COLUMN_COUNT; column++)
        if (columns & COLUMN_BIT(column))
            set(metrics, report_column__key(column), row->value[column]);
    return metrics;
}

static json_t *text_or_null(struct text text, bool known)
{
    return known && text.length ? json_row__text(text) : json_null();
}

/* For what the thread waits when the interval ends; null: for nothing that is known. */
static json_t *waits_of(const struct interval *interval, const struct interval_row *row)
{
    const struct report_thread *thread = interval__thread(interval, row);
    const char *reason = wait_part__word(row->ended ? 0 : thread->wait_reason);
    const struct report_block *block = report_blocks__find(interval->now, thread->block);
    json_t *object = json_object();

    if (!reason) {
        json_decref(object);
        return json_null();
    }
    json_object_set_new(object, "reason", json_string(reason));
    json_object_set_new(object, "lock",
                        block ? text_or_null(block->class_name, true) : json_null());
    json_object_set_new(object, "blocker",
                        block ? text_or_null(block->holder, block->holder_known) : json_null());
    return object;
}

static json_t *thread_object(const struct interval *interval, const struct interval_row *row)
{
    const struct report_thread *thread = interval__thread(interval, row);
    json_t *tids = json_array();
    json_t *object = json_object();

    for (uint32_t i = 0; i < thread->tid_count && i < LEDGER_THREAD_TIDS; i++)
        json_array_append_new(tids, json_integer(thread->tids[i]));
    json_object_set_new(object, "name", json_row__text(thread->name));
    json_object_set_new(object, "kind", json_string(report_thread_kind__name(thread->kind)));
    json_object_set_new(object, "tids", tids);
    set(object, "java_id", thread->java_id);
    set(object, "members", thread->members);
    json_object_set_new(object, "group", json_boolean(thread->flags & THREAD_GROUP));
    json_object_set_new(object, "began", json_boolean(row->before == REPORT_NONE));
    json_object_set_new(object, "ended", json_boolean(row->ended));
    set(object, "cpu_ns", row->value[COLUMN_CPU]);
    set(object, "cpu_permille", interval_row__permille(interval, row));
    set(object, "wall_ns", row->wall_ns);
    set(object, "waiting_ns", row->waiting_ns);
    set(object, "calls", row->value[COLUMN_CALLS]);
    set(object, "calls_per_s", interval__per_second(interval, row->value[COLUMN_CALLS]));
    json_object_set_new(object, "metrics", metrics_of(interval, row));
    json_object_set_new(object, "waits_for", waits_of(interval, row));
    if (thread->kind == THREAD_VIRTUAL) {
        set(object, "mounts", row->mounts);
        set(object, "pinned", row->pinned);
        set(object, "parked_ns", row->parked_ns);
    }
    return object;
}

static json_t *step_object(const struct report_model *now, const struct interval_step *step)
{
    const struct report_node *node = &now->nodes[step->node];
    const struct report_method *method = &now->methods[node->method];
    json_t *object = json_object();

    json_object_set_new(object, "class", json_row__text(method->class_name));
    json_object_set_new(object, "method", json_row__text(method->name));
    json_object_set_new(object, "signature", json_row__text(method->signature));
    json_object_set_new(object, "kind", json_string(report_node_kind__name(node->kind)));
    set(object, "calls", step->calls);
    set(object, "base_cpu_ns", step->base_ns);
    set(object, "cum_cpu_ns", step->cum_ns);
    return object;
}

static json_t *path_of(const struct top_view *view)
{
    json_t *object = json_object();
    json_t *steps = json_array();

    if (view->count) {
        const struct interval_row *row = &view->interval->row[view->order[0]];
        struct interval_path path = interval_path__of(view->interval, row);

        json_object_set_new(object, "thread",
                            json_row__text(interval__thread(view->interval, row)->name));
        for (uint32_t i = 0; i < path.count; i++)
            json_array_append_new(steps, step_object(view->interval->now, &path.steps[i]));
        free(path.steps);
    } else {
        json_object_set_new(object, "thread", json_null());
    }
    json_object_set_new(object, "steps", steps);
    return object;
}

static json_t *balance_of(const struct interval *interval)
{
    const struct ledger_header *before = &interval->before->header, *now = &interval->now->header;
    json_t *object = json_object();

    set(object, "kernel_cpu_ns", interval->cpu_ns);
    set(object, "charged_cpu_ns", interval->charged_ns);
    json_object_set_new(object, "difference_ppm", json_integer(interval->difference_ppm));
    for (unsigned i = 0; i < REPORT_LOSSES; i++) {
        struct report_loss was = report_loss__of(before, i), is = report_loss__of(now, i);

        set(object, is.key, is.count > was.count ? is.count - was.count : 0);
    }
    set(object, "cut_rows", interval->cut);
    json_object_set_new(object, "clock", json_string(report_clock__name(now->clock_kind)));
    return object;
}

void top_json__write(FILE *out, const struct top_view *view)
{
    fputs("{\"process\":", out);
    json_row__write(out, process_of(view->interval));
    fputs(",\"threads\":[", out);
    for (uint32_t i = 0; i < view->count; i++) {
        if (i)
            fputc(',', out);
        json_row__write(out, thread_object(view->interval, &view->interval->row[view->order[i]]));
    }
    fputs("],\"hot_path\":", out);
    json_row__write(out, path_of(view));
    fputs(",\"balance\":", out);
    json_row__write(out, balance_of(view->interval));
    fputs("}\n", out);
}
