/*
 * The threads view's rows: one a thread, or one for all threads whose names differ in digits only.
 */
#ifndef TREADLE_THREAD_ROWS_H
#define TREADLE_THREAD_ROWS_H

#include "tools/report/report_model.h"

struct thread_row {
    struct text name; /* "worker-7"; of several: "worker-#" */
    uint32_t first;   /* index of the (first) thread */
    uint32_t count;   /* threads in this row */
    uint32_t running; /* of them, not terminated */
    bool is_partial;  /* its number of calls is a lower bound */
    uint64_t waiting_ns;
    uint64_t mounts; /* of virtual threads, as are the next two */
    uint64_t pinned;
    uint64_t parked_ns;
    uint64_t start_ns; /* the earliest */
    uint64_t end_ns;   /* the latest of those that are over; 0: none is */
    uint64_t value[COLUMN_COUNT];
};

struct thread_rows {
    struct thread_row *rows;
    uint32_t count;
    struct text_store texts;
};

struct thread_rows *thread_rows__new(const struct report_model *model, const bool *selected,
                                     bool fold);
void thread_rows__free(struct thread_rows *rows);

/* Of virtual threads: how long they were on a carrier. */
uint64_t thread_row__mounted_ns(const struct thread_row *row);

/* Keys that are no columns. */
enum thread_sort {
    SORT_BY_COLUMN,
    SORT_BY_NAME,
    SORT_BY_WAITING,
    SORT_BY_START,
    SORT_BY_MOUNTS,
    SORT_BY_PINNED,
    SORT_BY_PARKED,
};

/* "name", "waiting", …; SORT_BY_COLUMN for all else. */
enum thread_sort thread_sort__by_name(const char *name);

/* Largest first; names alphabetically, starts oldest first. Equal rows keep their order. */
void thread_rows__sort(struct thread_rows *rows, enum thread_sort sort, enum report_column column);

#endif
