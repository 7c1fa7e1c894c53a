#include "native/metrics/kernel_metrics.h"

#include "native/metrics/metric_reader.h"
#include "native/proc/task_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>

#define BIT(metric) (UINT64_C(1) << (metric))

static const struct kernel_metric metrics[METRIC_COUNT] = {
    [METRIC_USER] = {METRIC_USER, "user", "cpu", "user", UNIT_NS, SOURCE_RUSAGE,
                     "CPU time in user mode"},
    [METRIC_SYSTEM] = {METRIC_SYSTEM, "system", "cpu", "system", UNIT_NS, SOURCE_RUSAGE,
                       "CPU time in the kernel"},
    [METRIC_VOLUNTARY_SWITCHES] = {METRIC_VOLUNTARY_SWITCHES, "voluntary_switches", "switches",
                                   "vol sw", UNIT_COUNT, SOURCE_RUSAGE,
                                   "times the thread gave up the processor to wait"},
    [METRIC_INVOLUNTARY_SWITCHES] = {METRIC_INVOLUNTARY_SWITCHES, "involuntary_switches",
                                     "switches", "invol sw", UNIT_COUNT, SOURCE_RUSAGE,
                                     "times the kernel took the processor away"},
    [METRIC_MINOR_FAULTS] = {METRIC_MINOR_FAULTS, "minor_faults", "faults", "min flt", UNIT_COUNT,
                             SOURCE_RUSAGE, "page faults served without I/O"},
    [METRIC_MAJOR_FAULTS] = {METRIC_MAJOR_FAULTS, "major_faults", "faults", "maj flt", UNIT_COUNT,
                             SOURCE_RUSAGE, "page faults that had to wait for I/O"},
    [METRIC_BLOCK_INPUTS] = {METRIC_BLOCK_INPUTS, "block_inputs", "blocks", "blk in", UNIT_COUNT,
                             SOURCE_RUSAGE, "blocks of 512 bytes fetched from storage"},
    [METRIC_BLOCK_OUTPUTS] = {METRIC_BLOCK_OUTPUTS, "block_outputs", "blocks", "blk out",
                              UNIT_COUNT, SOURCE_RUSAGE,
                              "blocks of 512 bytes to be sent to storage"},
    [METRIC_READ_BYTES] = {METRIC_READ_BYTES, "read_bytes", "io", "read", UNIT_BYTES, SOURCE_IO,
                           "bytes read through system calls, from anything"},
    [METRIC_WRITE_BYTES] = {METRIC_WRITE_BYTES, "write_bytes", "io", "written", UNIT_BYTES,
                            SOURCE_IO, "bytes written through system calls, to anything"},
    [METRIC_DISK_READ_BYTES] = {METRIC_DISK_READ_BYTES, "disk_read_bytes", "io", "disk read",
                                UNIT_BYTES, SOURCE_IO, "bytes fetched from storage"},
    [METRIC_DISK_WRITE_BYTES] = {METRIC_DISK_WRITE_BYTES, "disk_write_bytes", "io", "disk written",
                                 UNIT_BYTES, SOURCE_IO, "bytes to be sent to storage"},
    [METRIC_RUN_QUEUE_DELAY] = {METRIC_RUN_QUEUE_DELAY, "run_queue_delay", "delay", "run queue",
                                UNIT_NS, SOURCE_SCHEDSTAT,
                                "time ready to run, waiting for a processor"},
    [METRIC_TIMESLICES] = {METRIC_TIMESLICES, "timeslices", "delay", "slices", UNIT_COUNT,
                           SOURCE_SCHEDSTAT, "times the thread was put on a processor"},
    [METRIC_BLOCK_IO_DELAY] = {METRIC_BLOCK_IO_DELAY, "block_io_delay", "taskstats", "blk io",
                               UNIT_NS, SOURCE_TASKSTATS, "time waiting for block I/O"},
    [METRIC_SWAP_IN_DELAY] = {METRIC_SWAP_IN_DELAY, "swap_in_delay", "taskstats", "swap in",
                              UNIT_NS, SOURCE_TASKSTATS, "time waiting for pages to be swapped in"},
    [METRIC_RECLAIM_DELAY] = {METRIC_RECLAIM_DELAY, "reclaim_delay", "taskstats", "reclaim",
                              UNIT_NS, SOURCE_TASKSTATS, "time reclaiming memory"},
    [METRIC_THRASHING_DELAY] = {METRIC_THRASHING_DELAY, "thrashing_delay", "taskstats", "thrashing",
                                UNIT_NS, SOURCE_TASKSTATS,
                                "time waiting for pages that were evicted just before"},
    [METRIC_COMPACT_DELAY] = {METRIC_COMPACT_DELAY, "compact_delay", "taskstats", "compact",
                              UNIT_NS, SOURCE_TASKSTATS, "time compacting memory"},
    [METRIC_WRITE_PROTECT_DELAY] = {METRIC_WRITE_PROTECT_DELAY, "write_protect_delay", "taskstats",
                                    "wp copy", UNIT_NS, SOURCE_TASKSTATS,
                                    "time copying pages on the first write"},
    [METRIC_INTERRUPT_DELAY] = {METRIC_INTERRUPT_DELAY, "interrupt_delay", "taskstats", "irq",
                                UNIT_NS, SOURCE_TASKSTATS,
                                "time that interrupts took from the thread"},
    [METRIC_PINNED] = {METRIC_PINNED, "pinned", "pinned", "pinned", UNIT_COUNT, SOURCE_JVM,
                       "times a virtual thread was to leave its carrier, and blocked it instead"},
    [METRIC_MONITOR_WAIT] = {METRIC_MONITOR_WAIT, "monitor_wait", "waits", "monitor", UNIT_NS,
                             SOURCE_WAITS, "time blocked at the entry of a contended monitor"},
    [METRIC_OBJECT_WAIT] = {METRIC_OBJECT_WAIT, "object_wait", "waits", "obj wait", UNIT_NS,
                            SOURCE_WAITS, "time in Object.wait"},
    [METRIC_PARK] = {METRIC_PARK, "park", "waits", "park", UNIT_NS, SOURCE_WAITS,
                     "time parked, as by LockSupport.park"},
    [METRIC_SLEEP] = {METRIC_SLEEP, "sleep", "waits", "sleep", UNIT_NS, SOURCE_WAITS,
                      "time in Thread.sleep"},
    [METRIC_IO_WAIT] = {METRIC_IO_WAIT, "io_wait", "waits", "io wait", UNIT_NS, SOURCE_WAITS,
                        "time waiting for files, pipes, sockets and the ends of processes"},
    [METRIC_SAFEPOINT] = {METRIC_SAFEPOINT, "safepoint", "waits", "safepoint", UNIT_NS,
                          SOURCE_WAITS,
                          "time in which the JVM had stopped the thread, as for a GC pause"},
    [METRIC_UNMOUNTED] =
        {METRIC_UNMOUNTED, "unmounted", "waits", "unmounted", UNIT_NS, SOURCE_WAITS,
         "time in which a virtual thread had no carrier, for no reason that is known"},
    [METRIC_MIGRATIONS] = {METRIC_MIGRATIONS, "migrations", "migrations", "migr", UNIT_COUNT,
                           SOURCE_CLOCK,
                           "times the thread was on another processor after a switch than before"},
};

static const struct kernel_metric_source sources[SOURCE_COUNT] = {
    [SOURCE_CLOCK] = {SOURCE_CLOCK, "clock_gettime(CLOCK_THREAD_CPUTIME_ID)",
                      BIT(METRIC_MIGRATIONS), 370, false,
                      "a kernel with CPU clocks of threads, which every Linux since 2.6.12 is"},
    [SOURCE_RUSAGE] = {SOURCE_RUSAGE, "getrusage(RUSAGE_THREAD)",
                       BIT(METRIC_USER) | BIT(METRIC_SYSTEM) | BIT(METRIC_VOLUNTARY_SWITCHES) |
                           BIT(METRIC_INVOLUNTARY_SWITCHES) | BIT(METRIC_MINOR_FAULTS) |
                           BIT(METRIC_MAJOR_FAULTS) | BIT(METRIC_BLOCK_INPUTS) |
                           BIT(METRIC_BLOCK_OUTPUTS),
                       210, false,
                       "a kernel with RUSAGE_THREAD, which every Linux since 2.6.26 is"},
    [SOURCE_IO] = {SOURCE_IO, "/proc/PID/task/TID/io",
                   BIT(METRIC_READ_BYTES) | BIT(METRIC_WRITE_BYTES) | BIT(METRIC_DISK_READ_BYTES) |
                       BIT(METRIC_DISK_WRITE_BYTES),
                   980, false,
                   "/proc/self/io readable (a kernel with CONFIG_TASK_IO_ACCOUNTING, no container "
                   "profile that hides it), and half of `ulimit -n` free"},
    [SOURCE_SCHEDSTAT] = {SOURCE_SCHEDSTAT, "/proc/PID/task/TID/schedstat",
                          BIT(METRIC_RUN_QUEUE_DELAY) | BIT(METRIC_TIMESLICES), 550, true,
                          "/proc/self/schedstat readable (a kernel with CONFIG_SCHEDSTATS or "
                          "CONFIG_TASK_DELAY_ACCT), and half of `ulimit -n` free"},
    [SOURCE_TASKSTATS] = {SOURCE_TASKSTATS, "taskstats",
                          BIT(METRIC_BLOCK_IO_DELAY) | BIT(METRIC_SWAP_IN_DELAY) |
                              BIT(METRIC_RECLAIM_DELAY) | BIT(METRIC_THRASHING_DELAY) |
                              BIT(METRIC_COMPACT_DELAY) | BIT(METRIC_WRITE_PROTECT_DELAY) |
                              BIT(METRIC_INTERRUPT_DELAY),
                          4200, false,
                          "CAP_NET_ADMIN (in a container: of the host), and sysctl "
                          "kernel.task_delayacct=1 before the JVM starts"},
    [SOURCE_JVM] = {SOURCE_JVM, "the JVM", BIT(METRIC_PINNED), 0, false, "JDK 21 or later"},
    [SOURCE_WAITS] = {SOURCE_WAITS, "the JVM's waits", LEDGER_WAIT_METRICS | LEDGER_INFERRED_WAITS,
                      0, false,
                      "waits=on; safepoint also -XX:+UsePerfData, unmounted also virtual threads"},
};

static const char group_names[] = "cpu,wall,switches,faults,blocks,io,delay,taskstats,all";

const struct kernel_metric *kernel_metric__get(enum ledger_metric id)
{
    return &metrics[id];
}

const struct kernel_metric_source *kernel_metric_source__get(enum ledger_metric_source id)
{
    return &sources[id];
}

/* The JVM's metrics are counted where it tells of them, and those of the clock where the clock
 * notices a switch; they are not read. */
static bool is_read(enum ledger_metric_source source)
{
    return source != SOURCE_JVM && source != SOURCE_WAITS && source != SOURCE_CLOCK;
}

static bool is_name(const char *constant, const char *name, size_t length)
{
    return strlen(constant) == length && memcmp(constant, name, length) == 0;
}

uint64_t kernel_metrics__bits(const char *name, size_t length, bool *known)
{
    bool all = is_name("all", name, length);
    uint64_t bits = 0;

    for (size_t i = 0; i < METRIC_COUNT; i++) {
        const struct kernel_metric *metric = &metrics[i];

        if (!is_read(metric->source))
            continue;
        if (all || is_name(metric->group, name, length) || is_name(metric->name, name, length))
            bits |= BIT(metric->id);
    }
    *known = bits != 0 || is_name("wall", name, length);
    return bits;
}

uint64_t kernel_metrics__of_switches(void)
{
    uint64_t bits = 0;

    for (size_t i = 0; i < SOURCE_COUNT; i++)
        bits |= sources[i].changes_only_on_switch ? sources[i].bits : 0;
    return bits;
}

uint64_t kernel_metrics__of_others(void)
{
    uint64_t bits = UINT64_C(1) << METRIC_BLOCK_INPUTS | UINT64_C(1) << METRIC_BLOCK_OUTPUTS;

    return ~(bits | kernel_metric_source__get(SOURCE_TASKSTATS)->bits);
}

const char *kernel_metrics__groups(void)
{
    return group_names;
}

/* A kernel without this file (before 5.14) accounts delays unless it was told not to at boot; the
 * reading itself shows that. */
static bool delays_are_off(void)
{
    char text[TASK_FILE_BYTES];
    int length = task_file__load(AT_FDCWD, "/proc/sys/kernel/task_delayacct", text);

    return length > 0 && text[0] == '0';
}

static int probe_clock(void)
{
    struct timespec now;

    return clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) == 0 ? 0 : errno;
}

static int probe_source(const struct kernel_metric_source *source, uint64_t *bits)
{
    struct metric_reader reader;
    int error = metric_reader__open(&reader, source->bits);

    *bits = reader.wanted;
    metric_reader__close(&reader);
    if (error == 0 && source->id == SOURCE_TASKSTATS && delays_are_off())
        error = -ENODATA;
    if (error != 0)
        *bits = 0;
    return -error;
}

uint64_t kernel_metrics__probe(int32_t error[SOURCE_COUNT])
{
    uint64_t found = 0;

    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        error[i] = i == SOURCE_CLOCK ? probe_clock() : 0;
        if (i == SOURCE_CLOCK || !is_read((enum ledger_metric_source)i))
            continue;
        uint64_t bits = 0;
        error[i] = probe_source(&sources[i], &bits);
        found |= bits;
    }
    return found;
}
