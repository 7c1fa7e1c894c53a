#include "native/clock/perf_page.h"

#include "native/standard_files.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

static int leaves_room(int fd)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd < limit.rlim_cur / 2;
}

int perf_page__open(struct perf_page *page)
{
    struct perf_event_attr attr;
    int error;

    memset(&attr, 0, sizeof(attr));
    attr.size = sizeof(attr);
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    page->page = NULL;
    page->fd = standard_files__avoid(
        (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (page->fd < 0)
        return -errno;
    if (!leaves_room(page->fd)) {
        error = -EMFILE;
        goto fail_room;
    }
    page->page = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_SHARED, page->fd, 0);
    if (page->page == MAP_FAILED) {
        error = -errno;
        goto fail_room;
    }
    return 0;

fail_room:
    close(page->fd);
    page->fd = -1;
    page->page = NULL;
    return error;
}

void perf_page__close(struct perf_page *page)
{
    if (page->page)
        munmap(page->page, PAGE_BYTES);
    if (page->fd >= 0)
        close(page->fd);
    page->page = NULL;
    page->fd = -1;
}

const volatile uint64_t *perf_page__word(const struct perf_page *page)
{
    _Static_assert(offsetof(struct perf_event_mmap_page, lock) == 8, "lock and index: one word");

    return (const volatile uint64_t *)((const char *)page->page +
                                       offsetof(struct perf_event_mmap_page, lock));
}
