/* What stands above and below the threads table: the process, and whether to believe the numbers.
 */
#include "tools/report/quantity.h"
#include "tools/report/report_balance.h"
#include "tools/view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LABEL_COLUMNS 10u

static void label(const struct view *view, const char *name)
{
    fputs(screen__bold(&view->screen), view->screen.out);
    screen__left(&view->screen, name, LABEL_COLUMNS);
    fputs(screen__plain(&view->screen), view->screen.out);
}

static void text_line(const struct view *view, const char *name, struct text text)
{
    size_t columns = view->screen.columns ? view->screen.columns : 2 * NAME_COLUMNS_MAX;
    if (text.length == 0)
        return;
    char *printable = text__printable(text, columns - LABEL_COLUMNS);
    label(view, name);
    fprintf(view->screen.out, "%s\n", printable);
    free(printable);
}

static void format_time(char *text, size_t text_bytes, uint64_t epoch_ns)
{
    time_t seconds = (time_t)(epoch_ns / 1000000000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) ||
        strftime(text, text_bytes, "%Y-%m-%d %H:%M:%S", &parts) == 0)
        snprintf(text, text_bytes, "?");
}

static void process_line(const struct view *view)
{
    const struct report_model *model = view->model;
    char started[64], when[64];
    format_time(started, sizeof(started), report_process__start_ns(model));
    label(view, "process");
    fprintf(view->screen.out, "%" PRId32 ", started %s", model->header.pid, started);
    switch (model->life) {
    case LEDGER_IS_LIVE:
        fputs(", running\n", view->screen.out);
        break;
    case LEDGER_IS_CLOSED:
        format_time(when, sizeof(when), model->header.epoch_ns + report_model__asof_ns(model));
        fprintf(view->screen.out, ", snapshot of %s\n", when);
        break;
    case LEDGER_IS_ORPHAN:
        fprintf(view->screen.out,
                "\n%*s%sorphan: its process ended without closing it; charged up to %s%s\n",
                (int)LABEL_COLUMNS, "", screen__warn(&view->screen),
                quantity__ns(report_model__asof_ns(model)).text, screen__plain(&view->screen));
        break;
    }
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
    label(view, "clock");
    fprintf(view->screen.out, "%s", report_clock__name(header->clock_kind));
    if (known)
        fprintf(view->screen.out, ": %s (%s)", how[header->clock_kind],
                header->clock_forced ? "by option" : "by self-test");
    fputc('\n', view->screen.out);
}

static void events_line(const struct view *view)
{
    static const char *const modes[] = {
        [LEDGER_EVENTS_NONE] = "none: no calls are recorded",
        [LEDGER_EVENTS_JVMTI] = "jvmti: MethodEntry and MethodExit",
        [LEDGER_EVENTS_INSTRUMENT] = "instrument: hooks in the classes",
    };
    const struct ledger_header *header = &view->model->header;
    label(view, "events");
    fprintf(view->screen.out, "%s",
            header->event_mode <= LEDGER_EVENTS_INSTRUMENT ? modes[header->event_mode] : "?");
    fprintf(view->screen.out, "; gaps go to the %s thread\n",
            header->reuse_new ? "new" : "previous");
}

void view_process__text(const struct view *view)
{
    const struct report_model *model = view->model;
    process_line(view);
    text_line(view, "command", model->command);
    text_line(view, "JVM", model->jvm);
    text_line(view, "machine", model->machine);
    text_line(view, "options", model->options);
    clock_line(view);
    events_line(view);
    time_line(view);
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

/* A count of what was lost, and what that means; nothing if there is nothing. */
static bool loss_line(const struct view *view, uint64_t count, const char *meaning)
{
    if (count == 0)
        return false;
    fprintf(view->screen.out, "  %slost%s  %s %s\n", screen__warn(&view->screen),
            screen__plain(&view->screen), quantity__count(count).text, meaning);
    return true;
}

static void full_line(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;
    int error = header->full_error;
    fprintf(view->screen.out, "  %sfull%s  the ledger ", screen__warn(&view->screen),
            screen__plain(&view->screen));
    if (error == ENOMEM)
        fprintf(view->screen.out, "reached max-mem (%s): raise it, or include fewer methods\n",
                quantity__bytes(header->max_bytes).text);
    else if (error == ENOSPC)
        fputs("filled its file system: a container's /dev/shm is often 64 MiB\n", view->screen.out);
    else
        fprintf(view->screen.out, "could not grow: %s\n", strerror(error));
}

static void loss_lines(const struct view *view)
{
    const struct report_model *model = view->model;
    const struct ledger_header *header = &model->header;
    bool lost = false;
    lost |= loss_line(view, header->dropped_enters,
                      "calls not recorded, their cost is charged to "
                      "the caller");
    lost |= loss_line(view, header->dropped_threads, "threads not recorded");
    lost |= loss_line(view, header->dropped_side_values, "metric values not charged to a method");
    lost |= loss_line(view, header->unfollowed_mounts,
                      "mounts of virtual threads: their calls are not recorded, their CPU is "
                      "their carriers'");
    lost |= loss_line(view, header->resynchronised, "exits that did not match the current method");
    if (model->skipped) {
        char meaning[256];
        snprintf(meaning, sizeof(meaning), "records unreadable, the first at %s",
                 model->skipped_where);
        lost |= loss_line(view, model->skipped, meaning);
    }
    if (header->full_error)
        full_line(view);
    if (!lost && !header->full_error)
        fputs("  nothing lost\n", view->screen.out);
}

/* A paragraph behind a label, its words kept whole, its lines as wide as the screen and indented.
 */
static void paragraph(const struct view *view, const char *before, const char *text)
{
    size_t indent = strlen(before);
    size_t column = indent;
    fputs(before, view->screen.out);
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

static void missing_line(const struct view *view, enum ledger_metric_source source)
{
    uint64_t missing = report_source__missing(view->model, source);
    const struct kernel_metric_source *row = kernel_metric_source__get(source);
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
    paragraph(view, "  not available  ", text);
}

void view_balance__text(const struct view *view)
{
    struct report_balance balance = report_balance__of(view->model);
    uint64_t whole = balance.kernel_ns;
    fprintf(view->screen.out, "\n%sBalance%s\n", screen__bold(&view->screen),
            screen__plain(&view->screen));
    sum_line(view, "kernel CPU of the process", balance.kernel_ns, 0);
    sum_line(view, "charged to Java threads", balance.java_ns, whole);
    sum_line(view, "charged to VM threads", balance.vm_ns, whole);
    sum_line(view, "charged to native threads", balance.native_ns, whole);
    if (balance.last_moments_ns)
        sum_line(view, "after a thread's last look", balance.last_moments_ns, whole);
    difference_line(view, &balance);
    fprintf(view->screen.out, "  clock %s\n", report_clock__name(view->model->header.clock_kind));
    loss_lines(view);
    for (unsigned source = 0; source < SOURCE_COUNT; source++)
        missing_line(view, (enum ledger_metric_source)source);
}
