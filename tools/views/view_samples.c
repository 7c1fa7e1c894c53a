/* How the samples were taken, what became of them, and how sure what they say is. */
#include "tools/views/view_samples.h"

#include "tools/output/json_rows.h"
#include "tools/report/quantity.h"
#include "tools/report/report_samples.h"
#include "tools/views/view_budget.h"
#include "tools/views/view_losses.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define NAME_COLUMNS  31u
#define COUNT_COLUMNS 16u
#define SHARE_COLUMNS 14u

static void count_line(const struct view *view, const char *name, uint64_t count, uint64_t whole)
{
    fputs("  ", view->screen.out);
    screen__left(&view->screen, name, NAME_COLUMNS);
    screen__right(&view->screen, quantity__count(count).text, COUNT_COLUMNS);
    if (whole)
        screen__right(&view->screen, quantity__share(count, whole).text, SHARE_COLUMNS);
    fputc('\n', view->screen.out);
}

static void mode_line(const struct view *view)
{
    static const char *const how[] = {
        [LEDGER_SAMPLE_CLOCK_NONE] = "",
        [LEDGER_SAMPLE_CLOCK_PERF] = ": a perf event on each kernel thread's CPU clock",
        [LEDGER_SAMPLE_CLOCK_TIMER] = ": a timer on each kernel thread's CPU clock",
        [LEDGER_SAMPLE_CLOCK_WALL] = ": the profiler's thread asks threads in turn",
    };
    const struct ledger_header *header = &view->model->header;
    bool known = header->sample_clock <= LEDGER_SAMPLE_CLOCK_WALL;

    if (report_samples__are_from_outside(header)) {
        fprintf(
            view->screen.out,
            "  one sample of each stack every %s, read in shared memory; threads' states and times "
            "from /proc\n",
            quantity__ns(header->sample_interval_ns).text);
        return;
    }

    fprintf(view->screen.out, "  mode %s, one sample every %s, clock %s%s",
            report_samples__mode_name(header->sample_mode),
            quantity__ns(header->sample_interval_ns).text,
            report_samples__clock_name(header->sample_clock),
            known ? how[header->sample_clock] : "");
    if (header->sample_clock_error)
        fprintf(view->screen.out, " (perf events were refused: %s)",
                strerror(header->sample_clock_error));
    if (header->sample_timer_error)
        fprintf(view->screen.out, " (threads were refused their timers: %s)",
                strerror(header->sample_timer_error));
    fputc('\n', view->screen.out);
}

static void unwind_line(const struct view *view)
{
    static const char *const how[LEDGER_UNWIND_KINDS] = {
        [LEDGER_UNWIND_NOTHING] = "nothing: a stack ends at its first native frame",
        [LEDGER_UNWIND_TABLES] = "tables, made of the images' call frame information",
        [LEDGER_UNWIND_LIBUNWIND] = "libunwind",
    };
    uint32_t unwind = view->model->header.sample_unwind;

    if (unwind < LEDGER_UNWIND_KINDS && how[unwind])
        fprintf(view->screen.out, "  native frames walked with %s\n", how[unwind]);
}

static uint64_t failed_walks(const struct ledger_header *header)
{
    uint64_t failed = 0;

    for (unsigned i = 0; i < WALK_FAILURE_COUNT; i++)
        failed += header->walk_failures[i];
    return failed;
}

static void walk_lines(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;

    count_line(view, "stacks not walked to their end", failed_walks(header), header->samples);
    for (unsigned i = 0; i < WALK_FAILURE_COUNT; i++) {
        uint64_t count = header->walk_failures[i];

        if (count)
            fprintf(view->screen.out, "    %s: %s\n", quantity__count(count).text,
                    report_samples__walk_failure((enum ledger_walk_failure)i)->meaning);
    }
}

/* Of all threads; those with samples of one kind only have them all as COLUMN_SAMPLES. */
static uint64_t all_of(const struct report_model *model, enum report_column column)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < model->thread_count; i++)
        sum += report_thread__value(&model->threads[i], column);
    return sum;
}

static uint64_t error_ppm(const struct report_model *model, enum report_column shown)
{
    const struct ledger_header *header = &model->header;
    enum report_column column = report_columns__samples_of(header, shown);

    return column == COLUMN_SAMPLES
               ? report_samples__error_of_2_percent_ppm(header)
               : report_samples__error_of_2_percent_in_ppm(all_of(model, column));
}

static void kind_lines(const struct view *view)
{
    const struct report_model *model = view->model;

    if (!report_columns__has_both_samples(&model->header))
        return;
    count_line(view, "of which of CPU time", all_of(model, COLUMN_CPU_SAMPLES),
               model->header.samples);
    count_line(view, "of which of wall time", all_of(model, COLUMN_WALL_SAMPLES),
               model->header.samples);
    enum report_column counted = report_columns__samples_of(&model->header, view->column);
    if (counted != COLUMN_SAMPLES)
        fprintf(view->screen.out, "    the %s count here%s\n", report_column__title(counted),
                counted == COLUMN_WALL_SAMPLES ? "" : "; those of wall time: --metric wall");
}

static void error_line(const struct view *view)
{
    uint64_t ppm = error_ppm(view->model, view->column);

    if (ppm == 0)
        return;
    fprintf(view->screen.out,
            "  a share of 2 %% is known to %s %" PRIu64 ".%02" PRIu64 " %% points (95 %%)\n",
            text__is_utf8_locale() ? "±" : "+-", ppm / 10000, ppm % 10000 / 100);
}

static void kernel_lines(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;
    const char *needs = report_samples__kernel_needs(header);

    if (header->kernel_samples)
        count_line(view, "in the kernel", header->kernel_samples, header->samples);
    if (needs)
        fprintf(view->screen.out, "    the kernel's functions need %s\n", needs);
}

void view_samples__text(const struct view *view)
{
    const struct ledger_header *header = &view->model->header;

    if (!report_columns__has_samples(header))
        return;
    fprintf(view->screen.out, "\n%sSamples%s\n", screen__bold(&view->screen),
            screen__plain(&view->screen));
    mode_line(view);
    unwind_line(view);
    count_line(view, "taken", header->samples, 0);
    kind_lines(view);
    count_line(view, "of which dropped, no room", header->dropped_samples, header->samples);
    count_line(view, "of which no thread's", header->homeless_samples, header->samples);
    if (!report_samples__are_from_outside(header))
        walk_lines(view);
    kernel_lines(view);
    if (header->lost_scopes)
        count_line(view, "frames of code that was gone", header->lost_scopes, 0);
    if (header->sample_buffer_bytes)
        fprintf(view->screen.out, "  the fullest buffer was %s full\n",
                quantity__share(header->sample_fill_bytes, header->sample_buffer_bytes).text);
    error_line(view);
}

static json_t *kernel_json(const struct ledger_header *header)
{
    const char *needs = report_samples__kernel_needs(header);
    json_t *object = json_object();

    json_object_set_new(object, "samples", json_row__integer(header->kernel_samples));
    json_object_set_new(object, "with_functions", json_row__integer(header->kernel_stacks));
    json_object_set_new(object, "needs", needs ? json_string(needs) : json_null());
    return object;
}

json_t *view_samples__json(const struct report_model *model)
{
    const struct ledger_header *header = &model->header;
    json_t *object = json_object();
    json_t *walks = json_object();

    for (unsigned i = 0; i < WALK_FAILURE_COUNT; i++)
        json_object_set_new(walks, report_samples__walk_failure((enum ledger_walk_failure)i)->key,
                            json_row__integer(header->walk_failures[i]));
    json_object_set_new(object, "mode",
                        json_string(report_samples__mode_name(header->sample_mode)));
    json_object_set_new(object, "interval_ns", json_row__integer(header->sample_interval_ns));
    json_object_set_new(object, "clock",
                        json_string(report_samples__clock_name(header->sample_clock)));
    json_object_set_new(object, "clock_errno", json_integer(header->sample_clock_error));
    json_object_set_new(object, "timer_errno", json_integer(header->sample_timer_error));
    json_object_set_new(object, "unwind",
                        json_string(report_samples__unwind_name(header->sample_unwind)));
    json_object_set_new(object, "taken", json_row__integer(header->samples));
    if (report_columns__has_both_samples(header)) {
        json_object_set_new(object, "cpu_samples",
                            json_row__integer(all_of(model, COLUMN_CPU_SAMPLES)));
        json_object_set_new(object, "wall_samples",
                            json_row__integer(all_of(model, COLUMN_WALL_SAMPLES)));
    }
    json_object_set_new(object, "dropped", json_row__integer(header->dropped_samples));
    json_object_set_new(object, "homeless", json_row__integer(header->homeless_samples));
    json_object_set_new(object, "frames_of_gone_code", json_row__integer(header->lost_scopes));
    json_object_set_new(object, "buffer_bytes", json_row__integer(header->sample_buffer_bytes));
    json_object_set_new(object, "fill_bytes", json_row__integer(header->sample_fill_bytes));
    json_object_set_new(object, "failed_walks", walks);
    json_object_set_new(object, "kernel", kernel_json(header));
    json_object_set_new(object, "error_of_2_percent_ppm",
                        json_row__integer(report_samples__error_of_2_percent_ppm(header)));
    return object;
}

void view_samples__end_json(const struct view *view)
{
    if (report_columns__has_samples(&view->model->header)) {
        fputs(",\n\"balance\":", view->screen.out);
        json_row__write(view->screen.out,
                        json_pack("{so}", "samples", view_samples__json(view->model)));
    }
    json_t *members = json_object();
    view_budget__add_to(members, view->model);
    fputs(",\n", view->screen.out);
    json_row__write_members(view->screen.out, members);
    view_losses__add_json(view);
    fputs("}\n", view->screen.out);
}
