#include "tools/top/top_readings.h"

#include "native/ledger/ledger_time.h"
#include "tools/ledgers/live_ledger.h"

#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

/* A process that ends closes its ledger a moment before it is gone. */
#define ENDING_TRIES 20
#define ENDING_US    50000

#define MEMORY_KEPT (1 << 30)

/* Each reading takes as much memory as the last one. Given back in between and asked for again, the
 * kernel clears every page of it, which costs as much as reading. */
static void keep_memory(void)
{
    (void)mallopt(M_MMAP_MAX, 0);
    (void)mallopt(M_TRIM_THRESHOLD, MEMORY_KEPT);
}

static struct report_model *read_model(struct top_readings *readings)
{
    struct ledger_reader *reader =
        live_ledger__read_running(readings->path, readings->message, sizeof(readings->message));
    struct report_model *model = reader ? report_model__load(reader, 0) : NULL;

    ledger_reader__close(reader);
    return model;
}

/* Of a process that was read before there is more to say than that its ledger is not there. */
static void explain_end(struct top_readings *readings)
{
    const struct ledger_header *header = &readings->now->header;

    for (int i = 0; i < ENDING_TRIES; i++) {
        if (ledger_header__life(header) != LEDGER_IS_LIVE) {
            snprintf(readings->message, sizeof(readings->message), "process %d has ended",
                     (int)header->pid);
            return;
        }
        usleep(ENDING_US);
    }
}

enum top_reading top_readings__take(struct top_readings *readings)
{
    uint64_t taken_ns = clock_ns(CLOCK_MONOTONIC);
    uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    struct report_model *model;

    if (!readings->now)
        keep_memory();
    model = read_model(readings);
    if (!model) {
        if (readings->now)
            explain_end(readings);
        return TOP_FAILED;
    }
    interval__free(readings->interval);
    report_model__free(readings->before);
    readings->before = readings->now;
    readings->now = model;
    readings->interval = readings->before ? interval__new(readings->before, model) : NULL;
    if (!readings->interval) {
        report_model__free(readings->before);
        readings->before = NULL;
    }
    readings->taken_ns = taken_ns;
    readings->cost_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
    return TOP_READ;
}

uint64_t top_readings__due_ns(const struct top_readings *readings, uint64_t interval_ns)
{
    uint64_t least_ns = readings->cost_ns * TOP_COST_PART;

    return readings->taken_ns + (interval_ns > least_ns ? interval_ns : least_ns);
}

void top_readings__release(struct top_readings *readings)
{
    interval__free(readings->interval);
    report_model__free(readings->before);
    report_model__free(readings->now);
    readings->interval = NULL;
    readings->before = readings->now = NULL;
}
