#include "native/metrics/task_lines.h"

#include "native/proc/task_file.h"

#include <string.h>

struct keyed_line {
    const char *key;
    enum ledger_metric metric;
};

static const struct keyed_line keyed_lines[] = {
    {"rchar:", METRIC_READ_BYTES},
    {"wchar:", METRIC_WRITE_BYTES},
    {"read_bytes:", METRIC_DISK_READ_BYTES},
    {"write_bytes:", METRIC_DISK_WRITE_BYTES},
    {"voluntary_ctxt_switches:", METRIC_VOLUNTARY_SWITCHES},
    {"nonvoluntary_ctxt_switches:", METRIC_INVOLUNTARY_SWITCHES},
};

#define KEYED_LINE_COUNT (sizeof(keyed_lines) / sizeof(keyed_lines[0]))

static uint64_t parse_line(const char *line, uint64_t bits, uint64_t value[LEDGER_METRIC_SLOTS])
{
    for (size_t i = 0; i < KEYED_LINE_COUNT; i++) {
        const struct keyed_line *row = &keyed_lines[i];
        uint64_t bit = UINT64_C(1) << row->metric;
        size_t length = strlen(row->key);

        if (!(bits & bit) || strncmp(line, row->key, length) != 0)
            continue;
        const char *number = line + length;
        return task_file__take_number(&number, &value[row->metric]) ? bit : 0;
    }
    return 0;
}

uint64_t task_lines__parse(const char *text, uint64_t bits, uint64_t value[LEDGER_METRIC_SLOTS])
{
    uint64_t found = 0;

    for (const char *line = text; line != NULL && *line != '\0';) {
        found |= parse_line(line, bits, value);
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return found;
}
