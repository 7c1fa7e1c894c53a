/* What stands above and below the threads table: the process, and whether to believe the numbers.
 */
#include "native/metrics/kernel_metrics.h"
#include "tools/report/quantity.h"
#include "tools/report/report_balance.h"
#include "tools/report/report_busy.h"
#include "tools/report/report_losses.h"
#include "tools/report/report_samples.h"
#include "tools/views/hook_summary.h"
#include "tools/views/own_cost.h"
#include "tools/views/view_budget.h"
#include "tools/views/view_samples.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_BARS_MAX 60u

#define LABEL_COLUMNS 12u

static void label(const struct view *view, const char *name)
{
    fputs(screen__bold(&view->screen), view->screen.out);
    screen__left(&view->screen, name, LABEL_COLUMNS);
    fputs(screen__plain(&view->screen), view->screen.out);
}

/* A paragraph behind a label of so many columns, its words kept whole, its lines as wide as the
 * screen and indented. */
static void paragraph(const struct view *view, size_t indent, const char *text)
{
    size_t column = indent;

    while (*text) {
        size_t length = strcspn(text, " ");
        bool first = column == indent;

        if (!first && view->screen.columns && column + 1 + length > view->screen.columns) {
            fprintf(view->screen.out, "\n%*s", (int)indent, "");
            column = indent;
        } else if (!first) {
            fputc(' ', view->screen.out);
            column++;
        }
        fprintf(view->screen.out, "%.*s", (int)length, text);
        column += length;
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', view->screen.out);
}

static void text_line(const struct view *view, const char *name, struct text text)
{
    size_t columns = view->screen.columns ? view->screen.columns : 2 * NAME_COLUMNS_MAX;

    if (text.length == 0)
        return;
    char *printable = text__printable_middle(text, columns - LABEL_COLUMNS);
    label(view, name);
    fprintf(view->screen.out, "%s\n", printable);
    free(printable);
}

/* When the agent came, if that was later, and whether it is at work. */
static void profiling_line(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;
    uint64_t after_ns = report_process__attached_after_ns(header);
    bool stopped = ledger_header__is_stopped(header);
    const char *before = "";
    bool paused = header->starts > 1; /* before the first start only the agent's own begin is */

    if (!header->attached && !stopped && !paused)
        return;
    label(view, "profiling");
    if (header->attached) {
        fprintf(view->screen.out, "attached %s after the process began",
                quantity__ns(after_ns).text);
        before = ", ";
    }
    if (stopped) {
        uint64_t since_ns = report_model__epoch_ns(view->model, header->since_ns);

        fprintf(view->screen.out, "%sstopped since %s", before, quantity__moment(since_ns).text);
        before = ", ";
    }
    if (paused)
        fprintf(view->screen.out, "%snot profiled for %s in between", before,
                quantity__ns(header->unprofiled_wall_ns).text);
    fputc('\n', view->screen.out);
}

static void process_line(const struct view *view)
{
    const struct report_model *model = view->model;
    uint64_t asof_ns = report_model__asof_ns(model);

    label(view, "process");
    if (model->header.pid)
        fprintf(view->screen.out, "%" PRId32 ", started %s", model->header.pid,
                quantity__moment(report_process__start_ns(&model->header)).text);
    else /* merged: the threads' names tell */
        fprintf(view->screen.out, "several, the first started %s",
                quantity__moment(report_process__start_ns(&model->header)).text);
    switch (model->life) {
    case LEDGER_IS_LIVE:
        fputs(", alive\n", view->screen.out);
        break;
    case LEDGER_IS_CLOSED:
        fprintf(view->screen.out, ", snapshot of %s\n",
                quantity__moment(report_model__epoch_ns(model, asof_ns)).text);
        break;
    case LEDGER_IS_ORPHAN:
        fprintf(view->screen.out,
                "\n%*s%sorphan: its process ended without closing it; charged up to %s%s\n",
                (int)LABEL_COLUMNS, "", screen__warn(&view->screen), quantity__ns(asof_ns).text,
                screen__plain(&view->screen));
        break;
    }
}

/* The two moments whose difference is shown. */
static void interval_line(const struct view *view)
{
    const struct report_model *model = view->model;

    if (!model->since_ns)
        return;
    uint64_t since_ns = report_model__epoch_ns(model, model->since_ns);
    uint64_t until_ns = report_model__epoch_ns(model, report_model__asof_ns(model));
    label(view, "interval");
    fprintf(view->screen.out, "from the snapshot of %s to that of %s: what happened in between\n",
            quantity__moment(since_ns).text, quantity__moment(until_ns).text);
}

static void time_line(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;
    uint64_t wall_ns = report_process__wall_ns(view->model);

    label(view, "time");
    fprintf(view->screen.out, "%s wall, %s CPU", quantity__ns(wall_ns).text,
            quantity__ns(header->process_cpu_ns).text);
    fprintf(view->screen.out, " (%s user, %s system)", quantity__ns(header->process_user_ns).text,
            quantity__ns(header->process_system_ns).text);
    if (wall_ns)
        fprintf(view->screen.out, ", %.2f processors busy",
                (double)header->process_cpu_ns / (double)wall_ns);
    fputc('\n', view->screen.out);
}

static void clock_line(const struct view *view)
{
    static const char *const how[] = {
        [LEDGER_CLOCK_PLAIN] = "the kernel's CPU clock, read at every event",
        [LEDGER_CLOCK_PERF] = "TSC between switches, which a perf event's page shows",
        [LEDGER_CLOCK_RSEQ] = "TSC between switches, which rseq shows",
    };
    const struct ledger_header *header = &view->model->header;
    bool known =
        header->clock_kind >= LEDGER_CLOCK_PLAIN && header->clock_kind <= LEDGER_CLOCK_RSEQ;

    if (report_samples__are_from_outside(header))
        return;
    label(view, "clock");
    fprintf(view->screen.out, "%s", report_clock__name(header->clock_kind));
    if (known)
        fprintf(view->screen.out, ": %s (%s)", how[header->clock_kind],
                header->clock_forced ? "by option" : "by self-test");
    fputc('\n', view->screen.out);
}

static void events_line(const struct view *view)
{
    static const char *const how[] = {
        [LEDGER_EVENTS_NONE] = ": no calls are recorded",
        [LEDGER_EVENTS_JVMTI] = ": MethodEntry and MethodExit",
        [LEDGER_EVENTS_INSTRUMENT] = ": hooks in the classes",
    };
    const struct ledger_header *header = &view->model->header;
    bool of_functions = hook_summary__are_of_functions(header);

    label(view, "events");
    if (report_samples__are_from_outside(header)) {
        fputs("none: logical stacks, which treadle sample read from outside\n", view->screen.out);
        return;
    }
    fprintf(view->screen.out, "%s%s", report_events__name(header->event_mode),
            of_functions ? ": functions built with -finstrument-functions"
            : header->event_mode <= LEDGER_EVENTS_INSTRUMENT ? how[header->event_mode]
                                                             : "");
    fprintf(view->screen.out, "; gaps go to the %s thread", header->reuse_new ? "new" : "previous");
    if (header->recursion)
        fprintf(view->screen.out, "; levels of recursion kept apart: %" PRIu32, header->recursion);
    fputc('\n', view->screen.out);
}

/* What has hooks and what has none, and why. */
static void hooks_lines(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;
    char count[HOOKS_TEXT_BYTES], rule[HOOKS_TEXT_BYTES], text[2 * HOOKS_TEXT_BYTES + 16];

    if (!hook_summary__are_used(header) || hook_summary__are_of_functions(header))
        return;
    hook_summary__count(header, count);
    hook_summary__rule(header, rule);
    snprintf(text, sizeof(text), "%s; %s", count, rule);
    label(view, "hooks");
    paragraph(view, LABEL_COLUMNS, text);
    hook_summary__unhooked_reasons(header, count);
    if (!count[0])
        return;
    snprintf(text, sizeof(text), "left alone: %s", count);
    label(view, "");
    paragraph(view, LABEL_COLUMNS, text);
}

static void head_paragraph(const struct view *view, const char *name, const char *text)
{
    if (!text[0])
        return;
    label(view, name);
    paragraph(view, LABEL_COLUMNS, text);
}

void view_head__text(const struct view *view)
{
    char text[HOOKS_TEXT_BYTES];

    view_budget__text(view->model, text);
    head_paragraph(view, "budget", text);
    view_budget__resolution_text(view->model, text);
    head_paragraph(view, "resolution", text);
}

/* Of up to so many slots from that one on. */
static uint64_t mean_ppm(const struct report_busy *busy, uint32_t first, uint32_t most)
{
    uint64_t sum = 0;
    uint32_t slots = 0;

    for (; slots < most && first + slots < busy->count; slots++)
        sum += busy->ppm[first + slots];
    return slots ? sum / slots : 0;
}

/* "busy        ▁▃▅█▇▂  up to 1.98 processors; a column: 500 ms" */
static void busy_line(const struct view *view)
{
    static const char *const bars[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    struct report_busy busy = report_busy__of(view->model);
    uint64_t most_ppm = report_busy__most_ppm(&busy);
    uint32_t slots_a_bar = (busy.count ? busy.count - 1 : 0) / BUSY_BARS_MAX + 1;
    FILE *out = view->screen.out;

    if (busy.count < 2 || !most_ppm)
        return;
    fprintf(out, "%-12s", "busy");
    for (uint32_t i = 0; text__is_utf8_locale() && i < busy.count; i += slots_a_bar) {
        uint64_t ppm = mean_ppm(&busy, i, slots_a_bar);

        fputs(bars[(ppm * 8 + most_ppm - 1) / most_ppm], out);
    }
    fprintf(out, "  up to %.2f processors in %s; a column: %s\n", (double)most_ppm / 1000000,
            quantity__ns(busy.slot_ns).text, quantity__ns(busy.slot_ns * slots_a_bar).text);
}

void view_process__text(const struct view *view)
{
    const struct report_model *model = view->model;

    process_line(view);
    profiling_line(view);
    text_line(view, "command", model->command);
    text_line(view, "JVM", model->jvm);
    text_line(view, "machine", model->machine);
    text_line(view, "options", model->options);
    clock_line(view);
    events_line(view);
    hooks_lines(view);
    interval_line(view);
    time_line(view);
    busy_line(view);
    view_head__text(view);
    fputc('\n', view->screen.out);
}

/* Seconds to the microsecond: a balance is read by comparing its lines. */
static void sum_line(const struct view *view, const char *name, uint64_t ns, uint64_t whole)
{
    char seconds[48];

    snprintf(seconds, sizeof(seconds), "%" PRIu64 ".%06" PRIu64 " s", ns / 1000000000,
             ns % 1000000000 / 1000);
    fputs("  ", view->screen.out);
    screen__left(&view->screen, name, 31);
    screen__right(&view->screen, seconds, 16);
    if (whole)
        screen__right(&view->screen, quantity__share(ns, whole).text, 14);
    fputc('\n', view->screen.out);
}

static void difference_line(const struct view *view, const struct report_balance *balance)
{
    int64_t ns = balance->difference_ns;
    uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    char text[64];

    if (balance->kernel_ns == 0) {
        fputs("  (the kernel's total of this process was not read yet)\n", view->screen.out);
        return;
    }
    bool large = balance->difference_ppm > 10000 || balance->difference_ppm < -10000;
    snprintf(text, sizeof(text), "%s%s", ns < 0 ? "-" : ns > 0 ? "+" : "", quantity__ns(size).text);
    fputs("  ", view->screen.out);
    fputs(large ? screen__warn(&view->screen) : "", view->screen.out);
    screen__left(&view->screen, "difference (kernel - charged)", 31);
    screen__right(&view->screen, text, 16);
    snprintf(text, sizeof(text), "%" PRId64 " ppm", balance->difference_ppm);
    screen__right(&view->screen, text, 14);
    fputs(large ? screen__plain(&view->screen) : "", view->screen.out);
    fputc('\n', view->screen.out);
}

static void kernel_threads_line(const struct view *view)
{
    const struct report_model *model = view->model;
    const struct report_kernel_thread *farthest = report_balance__farthest(model);
    char text[64];

    if (!farthest)
        return;
    bool less = farthest->charged_cpu_ns > farthest->kernel_cpu_ns;
    uint64_t apart_ns = less ? farthest->charged_cpu_ns - farthest->kernel_cpu_ns
                             : farthest->kernel_cpu_ns - farthest->charged_cpu_ns;
    snprintf(text, sizeof(text), "%s, the farthest",
             quantity__counted(model->kernel_thread_count, "kernel thread").text);
    fputs("  ", view->screen.out);
    screen__left(&view->screen, text, 31);
    snprintf(text, sizeof(text), "%s%s",
             less       ? "-"
             : apart_ns ? "+"
                        : "",
             quantity__ns(apart_ns).text);
    screen__right(&view->screen, text, 16);
    snprintf(text, sizeof(text), "tid %" PRId32, farthest->tid);
    screen__right(&view->screen, text, 14);
    fputc('\n', view->screen.out);
}

/* The profiler's own cost, which the lines above contain: the hooks of a method are charged to the
 * method. */
static void own_cost_lines(const struct view *view, uint64_t whole)
{
    struct report_own_cost cost = report_own_cost__of(view->model);
    char text[HOOKS_TEXT_BYTES];

    if (cost.sum_ns == 0)
        return;
    sum_line(view, "of which the profiler's own", cost.sum_ns, whole);
    own_cost__text(&cost, text);
    fputs("    ", view->screen.out);
    paragraph(view, 4, text);
}

static void loss_lines(const struct view *view)
{
    struct report_losses_line lines[REPORT_LOSSES_LINES];
    size_t count = report_losses__of(view->model, lines);
    char corrected[CORRECTED_TEXT_BYTES];

    for (size_t i = 0; i < count; i++)
        fprintf(view->screen.out, "  %s%s%s  %s\n", screen__warn(&view->screen), lines[i].word,
                screen__plain(&view->screen), lines[i].text);
    if (!count)
        fputs("  nothing lost\n", view->screen.out);
    report_losses__corrected(&view->model->header, corrected);
    if (corrected[0])
        fprintf(view->screen.out, "  %s\n", corrected);
}

static void missing_line(const struct view *view, enum ledger_metric_source source)
{
    uint64_t missing = report_source__missing(view->model, source);
    const struct kernel_metric_source *row = kernel_metric_source__get(source);
    static const char before[] = "  not available  ";
    char text[2048];
    size_t used = 0;

    if (!missing)
        return;
    for (unsigned metric = 0; metric < METRIC_COUNT; metric++)
        if (missing >> metric & 1)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", used ? ", " : "",
                                     kernel_metric__get((enum ledger_metric)metric)->name);
    snprintf(text + used, sizeof(text) - used, " (%s: %s); needs %s", row->name,
             strerror(view->model->header.source_error[source]), row->needs);
    fputs(before, view->screen.out);
    paragraph(view, strlen(before), text);
}

void view_balance__text(const struct view *view)
{
    struct report_balance balance = report_balance__of(view->model);
    uint64_t whole = balance.kernel_ns;

    fprintf(view->screen.out, "\n%sBalance%s\n", screen__bold(&view->screen),
            screen__plain(&view->screen));
    sum_line(view, "kernel CPU of the process", balance.kernel_ns, 0);
    if (!(hook_summary__are_of_functions(&view->model->header) ||
          report_samples__are_from_outside(&view->model->header)) ||
        balance.java_ns) {
        sum_line(view, "charged to Java threads", balance.java_ns, whole);
        sum_line(view, "charged to VM threads", balance.vm_ns, whole);
    }
    sum_line(view, "charged to native threads", balance.native_ns, whole);
    if (balance.last_moments_ns)
        sum_line(view, "after a thread's last look", balance.last_moments_ns, whole);
    difference_line(view, &balance);
    kernel_threads_line(view);
    own_cost_lines(view, whole);
    fprintf(view->screen.out, "  clock %s\n", report_clock__name(view->model->header.clock_kind));
    loss_lines(view);
    for (unsigned source = 0; source < SOURCE_COUNT; source++)
        missing_line(view, (enum ledger_metric_source)source);
    view_samples__text(view);
}
