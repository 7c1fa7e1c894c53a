#include "tools/report/report_columns.h"

#include <stdio.h>
#include <string.h>

struct own_column {
    const char *name;
    const char *key;
    const char *title;
    enum metric_unit unit;
};

/* The columns that are no kernel metrics, indexed by enum report_column. */
static const struct own_column own[COLUMN_KERNEL] = {
    [COLUMN_CPU] = {"cpu", "cpu_ns", "CPU", UNIT_NS},
    [COLUMN_WALL] = {"wall", "wall_ns", "wall", UNIT_NS},
    [COLUMN_CALLS] = {"calls", "calls", "calls", UNIT_COUNT},
    [COLUMN_SAMPLES] = {"samples", "samples", "samples", UNIT_COUNT},
    [COLUMN_CPU_SAMPLES] = {"cpu_samples", "cpu_samples", "CPU samples", UNIT_COUNT},
    [COLUMN_WALL_SAMPLES] = {"wall_samples", "wall_samples", "wall samples", UNIT_COUNT},
};

static const struct kernel_metric *metric_of(enum report_column column)
{
    return kernel_metric__get((enum ledger_metric)((unsigned)column - (unsigned)COLUMN_KERNEL));
}

const char *report_column__name(enum report_column column)
{
    return column < COLUMN_KERNEL ? own[column].name : metric_of(column)->name;
}

const char *report_column__key(enum report_column column)
{
    return column < COLUMN_KERNEL ? own[column].key : metric_of(column)->name;
}

const char *report_column__csv_name(enum report_column column)
{
    static char names[COLUMN_COUNT][48];

    if (column < COLUMN_KERNEL)
        return own[column].key;
    const struct kernel_metric *metric = metric_of(column);
    snprintf(names[column], sizeof(names[column]), "%s%s", metric->name,
             metric->unit == UNIT_NS ? "_ns" : "");
    return names[column];
}

const char *report_column__title(enum report_column column)
{
    return column < COLUMN_KERNEL ? own[column].title : metric_of(column)->title;
}

enum metric_unit report_column__unit(enum report_column column)
{
    return column < COLUMN_KERNEL ? own[column].unit : metric_of(column)->unit;
}

enum report_column report_column__by_name(const char *name)
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        if (strcmp(name, report_column__name(column)) == 0 ||
            strcmp(name, report_column__csv_name(column)) == 0)
            return column;
    return COLUMN_COUNT;
}

enum ledger_metric_source report_column__source(enum report_column column)
{
    return column < COLUMN_KERNEL ? SOURCE_CLOCK : metric_of(column)->source;
}

bool report_columns__has_samples(const struct ledger_header *header)
{
    return header->samples > 0 || header->sample_mode != LEDGER_SAMPLE_NONE;
}

bool report_columns__has_both_samples(const struct ledger_header *header)
{
    uint32_t both = 1u << LEDGER_SAMPLE_CPU | 1u << LEDGER_SAMPLE_WALL;

    return (header->sample_modes & both) == both;
}

enum report_column report_columns__samples_of(const struct ledger_header *header,
                                              enum report_column column)
{
    if (column == COLUMN_SAMPLES || !report_columns__has_both_samples(header))
        return COLUMN_SAMPLES;
    return column == COLUMN_WALL || column == COLUMN_WALL_SAMPLES ? COLUMN_WALL_SAMPLES
                                                                  : COLUMN_CPU_SAMPLES;
}

static uint64_t of_samples(const struct ledger_header *header)
{
    uint64_t columns =
        report_columns__has_samples(header) ? COLUMN_BIT(COLUMN_SAMPLES) : UINT64_C(0);

    if (report_columns__has_both_samples(header))
        columns |= COLUMN_BIT(COLUMN_CPU_SAMPLES) | COLUMN_BIT(COLUMN_WALL_SAMPLES);
    return columns;
}

static uint64_t of_metrics(const struct ledger_header *header, uint64_t metrics)
{
    uint64_t known = (UINT64_C(1) << METRIC_COUNT) - 1;

    return (metrics & known) << COLUMN_KERNEL | COLUMN_BIT(COLUMN_CPU) | COLUMN_BIT(COLUMN_WALL) |
           COLUMN_BIT(COLUMN_CALLS) | of_samples(header);
}

uint64_t report_columns__of_nodes(const struct ledger_header *header)
{
    return of_metrics(header, header->metrics_charged);
}

uint64_t report_columns__of_threads(const struct ledger_header *header)
{
    return of_metrics(header, header->metrics_charged | header->metrics_totals);
}
