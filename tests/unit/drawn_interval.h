/*
 * What the tests of intervals share: one ledger, read, changed and read again. Include cmocka.h
 * first.
 */
#ifndef TREADLE_TESTS_DRAWN_INTERVAL_H
#define TREADLE_TESTS_DRAWN_INTERVAL_H

#include "tests/unit/drawn_report.h"
#include "tools/report/interval.h"

#define MS UINT64_C(1000000)
#define S  UINT64_C(1000000000)

/* One ledger that is read at 10 s and, after changes, at 11 s; the process consumed 2 s by then. */
struct bench {
    struct drawing drawing;
    struct report_model *before;
    struct report_model *now;
    struct interval *interval;
};

static inline void begin(struct bench *bench)
{
    *bench = (struct bench){0};
    drawing__begin(&bench->drawing, 1u << 20);
    struct ledger_header *header = bench->drawing.ledger.header;
    header->pid = 4242;
    header->profiling = 1;
    header->starts = 1;
    header->asof_ns = 10 * S;
    header->process_cpu_ns = 20 * S;
    header->process_user_ns = 15 * S;
    header->process_system_ns = 5 * S;
}

static inline void read_before(struct bench *bench)
{
    struct ledger_header *header = bench->drawing.ledger.header;
    bench->before = drawn__load(&bench->drawing);
    header->asof_ns = 11 * S;
    header->process_cpu_ns = 22 * S;
    header->process_user_ns = 16 * S;
    header->process_system_ns = 6 * S;
}

static inline void read_now(struct bench *bench)
{
    bench->now = drawn__load(&bench->drawing);
    bench->interval = interval__new(bench->before, bench->now);
}

static inline void end(struct bench *bench)
{
    interval__free(bench->interval);
    report_model__free(bench->before);
    report_model__free(bench->now);
    drawing__end(&bench->drawing);
}

static inline ledger_ref draw_thread(struct bench *bench, const char *name, uint64_t java_id,
                                     uint64_t start_ns, uint64_t cpu_ns)
{
    ledger_ref ref = drawing__thread(&bench->drawing, name, THREAD_PLATFORM, cpu_ns);
    struct ledger_thread *thread = drawing__thread_at(&bench->drawing, ref);
    thread->java_id = java_id;
    thread->start_ns = start_ns;
    thread->tid_count = 1;
    thread->tids[0] = (int32_t)(100 + java_id);
    return ref;
}

static inline struct ledger_thread *thread_at(struct bench *bench, ledger_ref ref)
{
    return drawing__thread_at(&bench->drawing, ref);
}

static inline struct ledger_node *root_at(struct bench *bench, ledger_ref thread)
{
    return drawing__node_at(&bench->drawing, thread_at(bench, thread)->root);
}

static inline void end_thread(struct bench *bench, ledger_ref ref, uint64_t end_ns)
{
    thread_at(bench, ref)->flags |= THREAD_TERMINATED;
    thread_at(bench, ref)->end_ns = end_ns;
}

static inline const struct interval_row *row_of(const struct bench *bench, const char *name)
{
    for (uint32_t i = 0; i < bench->interval->rows; i++) {
        const struct interval_row *row = &bench->interval->row[i];
        if (strcmp(interval__thread(bench->interval, row)->name.bytes, name) == 0)
            return row;
    }
    return NULL;
}

static inline uint64_t cpu_of(const struct bench *bench, const char *name)
{
    const struct interval_row *row = row_of(bench, name);
    assert_non_null(row);
    return row->value[COLUMN_CPU];
}

#endif
