/* A ledger and a kernel thread table, for threads of the test that play Java threads. */
#ifndef TREADLE_TEST_JAVA_WORLD_H
#define TREADLE_TEST_JAVA_WORLD_H

#include "drawn_tree.h"
#include "native/clock/kernel_clock.h"
#include "native/metrics/kernel_metrics.h"
#include "native/proc/process_stat.h"
#include "native/thread/kernel_thread_table.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

struct java_world {
    struct ledger ledger;
    struct method_maker maker;
    struct kernel_thread_setup setup;
    struct kernel_thread_table table;
    struct java_world *older; /* all can be reached, for the leak checker */
};

/* What host_facts.c of the agent says of the process. */
static inline void java_world__fill_header(struct java_world *world)
{
    struct ledger_header *header = world->ledger.header;
    struct timespec now;
    uint64_t boot_ns = 0;
    (void)process_start__read(getpid(), &header->start_ticks);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    header->epoch_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    boot_ns = header->epoch_ns - ((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
    header->process_start_epoch_ns =
        boot_ns + header->start_ticks * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    header->monotonic_ns = world->setup.time.monotonic_zero_ns;
    header->tsc_zero = world->setup.time.tsc_zero;
    header->tsc_mult = world->setup.time.tsc_mult;
    header->clock_kind = world->setup.clock;
    header->metrics_charged = world->setup.metrics_charged;
    header->metrics_totals = world->setup.metrics_totals;
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)!read(fd, header->boot_id, sizeof header->boot_id - 1);
        header->boot_id[strcspn(header->boot_id, "\n")] = '\0';
        (void)close(fd);
    }
}

/* The world lasts as long as the process, as its threads' entries do. clock 0: the best one. NULL
 * if it cannot be made. */
static inline struct java_world *java_world__make(uint64_t max_bytes, enum ledger_clock_kind clock,
                                                  uint64_t metrics, bool reuse_new)
{
    static struct java_world *newest;
    struct java_world *world = calloc(1, sizeof *world);
    int32_t errors[SOURCE_COUNT];
    int error = 0;
    if (world == NULL || ledger__create(&world->ledger, NULL, max_bytes) != 0) {
        free(world);
        return NULL;
    }
    world->older = newest;
    newest = world;
    world->maker = (struct method_maker){&world->ledger, "X"};
    ledger_time__start(&world->setup.time, LEDGER_TIME_COMPARE_NS);
    uint64_t available = kernel_metrics__probe(errors);
    world->setup.epoch = 1;
    world->setup.ledger = &world->ledger;
    world->setup.clock = kernel_clock__choose(clock, &world->setup.time, &error);
    world->setup.metrics_charged = metrics & available;
    world->setup.metrics_totals = metrics & available;
    world->setup.reuse_new = reuse_new;
    world->setup.resolve = make_letter_method;
    world->setup.resolve_context = &world->maker;
    java_world__fill_header(world);
    return kernel_thread_table__init(&world->table, &world->setup) == 0 ? world : NULL;
}

/* The calling thread runs Java threads of this world: beside the table, which has a kernel thread's
 * entry in one world only. Until kernel_thread__end; the record is written until then. */
static inline void java_world__begin_here(struct java_world *world, struct kernel_thread *mine,
                                          struct ledger_kernel_thread *record)
{
    *mine = (struct kernel_thread){0};
    *record = (struct ledger_kernel_thread){.tid = gettid(), .generation = 1};
    call_tree__init(&mine->tree, &world->ledger, world->setup.resolve,
                    world->setup.resolve_context);
    kernel_thread__begin(mine, &world->setup, record);
}

static inline int start_java(struct kernel_thread *kernel_thread, const char *name,
                             uint64_t java_id)
{
    const struct java_thread_facts facts = {
        .name = name,
        .name_length = strlen(name),
        .kind = THREAD_PLATFORM,
        .java_id = java_id,
    };
    return kernel_thread__start_java(kernel_thread, &facts);
}

static inline const struct ledger_thread *find_thread(const struct ledger *ledger, uint64_t java_id)
{
    ledger_ref ref = 0;
    while ((ref = ledger__next(ledger, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger__at(ledger, ref);
        if (thread->java_id == java_id)
            return thread;
    }
    return NULL;
}

static inline bool is_named(const struct ledger *ledger, ledger_ref ref, const char *name)
{
    const struct ledger_string *string = ledger__at(ledger, ref);
    return ref != 0 && string->length == strlen(name) &&
           memcmp(string->bytes, name, strlen(name)) == 0;
}

/* CPU time of the tree's node that the keys lead to from the root; 0 if it is not there. */
static inline uint64_t cpu_at(const struct ledger *ledger, const struct ledger_thread *thread,
                              const char *keys)
{
    ledger_ref ref = thread->root;
    for (const char *key = keys; *key != '\0' && ref != 0; key++)
        ref = child_of(ledger, ref, (uint64_t)*key);
    return ref != 0 ? node_at(ledger, ref)->cpu_ns : 0;
}

static inline uint64_t gap_cpu_ns(const struct ledger *ledger, const struct ledger_thread *thread)
{
    uint64_t sum_ns = 0;
    for (ledger_ref ref = node_at(ledger, thread->root)->first_child; ref != 0;
         ref = node_at(ledger, ref)->next_sibling)
        if (ledger_node__kind(node_at(ledger, ref)) == NODE_GAP)
            sum_ns += node_at(ledger, ref)->cpu_ns;
    return sum_ns;
}

#endif
