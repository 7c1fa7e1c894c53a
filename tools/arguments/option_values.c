#include "tools/arguments/option_values.h"

#include "native/metrics/kernel_metrics.h"
#include "tools/command.h"
#include "tools/report/nearest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void option_value__refuse(struct argp_state *state, const char *what, const char *given,
                                    const char *const *valid, size_t count)
{
    const char *near = nearest__of(given, valid, count);

    if (near) {
        argp_failure(state, 0, 0, "no %s '%s'; did you mean '%s'?", what, given, near);
    } else {
        char list[1024] = "";
        size_t at = 0;

        for (size_t i = 0; i < count && at < sizeof(list); i++)
            at += (size_t)snprintf(list + at, sizeof(list) - at, "%s%s", i ? ", " : "", valid[i]);
        argp_failure(state, 0, 0, "no %s '%s'; there are %s", what, given, list);
    }
    exit(EXIT_BAD_USAGE);
}

size_t option_value__among(struct argp_state *state, const char *what, const char *given,
                           const char *const *valid, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(given, valid[i]) == 0)
            return i;
    option_value__refuse(state, what, given, valid, count);
}

uint32_t option_value__number(const char *option, const char *text, uint32_t least,
                              struct argp_state *state)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*end || text[0] < '0' || text[0] > '9' || number < least || number > UINT32_MAX) {
        argp_failure(state, 0, 0, "%s '%s'; expected a whole number from %" PRIu32 " to %" PRIu32,
                     option, text, least, UINT32_MAX);
        exit(EXIT_BAD_USAGE);
    }
    return (uint32_t)number;
}

size_t option_value__metric_names(const char *names[])
{
    for (enum report_column column = 0; column < COLUMN_COUNT; column++)
        names[column] = report_column__name(column);
    return COLUMN_COUNT;
}

enum report_column option_value__metric(const char *name, struct argp_state *state)
{
    enum report_column column = report_column__by_name(name);

    if (column == COLUMN_COUNT) {
        const char *names[COLUMN_COUNT];

        option_value__refuse(state, "metric", name, names, option_value__metric_names(names));
    }
    return column;
}

int option_value__check_metric(enum report_column column, const struct ledger_header *header,
                               bool of_threads, const char *path)
{
    uint64_t known =
        of_threads ? report_columns__of_threads(header) : report_columns__of_nodes(header);

    if (known & COLUMN_BIT(column))
        return EXIT_FINE;
    if (column == COLUMN_SAMPLES)
        return command__fail("%s: has no samples: the agent's sample= did not ask for any", path);
    if (column == COLUMN_CPU_SAMPLES || column == COLUMN_WALL_SAMPLES)
        return command__fail(
            "%s: has no samples of both kinds, CPU and wall: --metric samples shows "
            "those that it has",
            path);
    enum ledger_metric_source source = report_column__source(column);
    bool refused = header->source_error[source] != 0 || source == SOURCE_JVM ||
                   source == SOURCE_WAITS; /* metrics= or not */
    return command__fail("%s: has no %s: %s%s", path, report_column__name(column),
                         refused ? "it needs " : "the agent's metrics= did not ask for it",
                         refused ? kernel_metric_source__get(source)->needs : "");
}
