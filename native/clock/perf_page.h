/*
 * The user page of a software perf event of the calling thread: its lock word changes whenever the
 * kernel switches the thread in.
 */
#ifndef TREADLE_PERF_PAGE_H
#define TREADLE_PERF_PAGE_H

#include <stdint.h>

struct perf_event_mmap_page;

struct perf_page {
    int fd;
    struct perf_event_mmap_page *page;
};

/* Opens the event for the calling thread. 0 or -errno: -EACCES or -EPERM where perf is refused;
 * -EMFILE if the descriptor would come from the upper half of the process's descriptor limit. */
int perf_page__open(struct perf_page *page);
void perf_page__close(struct perf_page *page);

/* The lock word; its value changes with every switch. */
const volatile uint64_t *perf_page__word(const struct perf_page *page);

#endif
