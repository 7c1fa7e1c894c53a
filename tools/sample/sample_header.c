#include "tools/sample/sample_header.h"

#include "native/activity/activity_tree.h"
#include "native/ledger/ledger_time.h"
#include "native/metrics/task_status.h"
#include "native/proc/process_stat.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static size_t read_text(const char *path, char *text, size_t text_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, text_bytes - 1);

    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

static ledger_ref command_of(struct ledger *ledger, pid_t pid)
{
    char path[64], text[8192];

    snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
    size_t length = read_text(path, text, sizeof(text));
    while (length && !text[length - 1])
        length--;
    for (size_t i = 0; i < length; i++)
        text[i] = text[i] ? text[i] : ' ';
    return length ? ledger__string(ledger, text, length) : 0;
}

static ledger_ref machine_of(struct ledger *ledger)
{
    struct utsname system;
    char text[512];

    if (uname(&system) != 0)
        return 0;
    int length = snprintf(text, sizeof(text), "%s %s %s, %ld processors", system.sysname,
                          system.release, system.machine, sysconf(_SC_NPROCESSORS_ONLN));
    return ledger__string(ledger, text, (size_t)length);
}

void sample_header__begin(struct ledger *ledger, pid_t pid, uint64_t start_ticks, uint64_t every_ns)
{
    struct ledger_header *header = ledger->header;
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    char text[64];

    header->pid = pid;
    header->uid = geteuid();
    header->epoch_ns = clock_ns(CLOCK_REALTIME);
    header->monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    header->start_ticks = start_ticks;
    if (!start_ticks && process_start__read(pid, &header->start_ticks) != 0)
        header->start_ticks = 0;
    header->process_start_epoch_ns =
        header->epoch_ns - (clock_ns(CLOCK_BOOTTIME) - header->start_ticks * tick_ns);
    (void)read_text("/proc/sys/kernel/random/boot_id", header->boot_id, sizeof(header->boot_id));
    header->boot_id[strcspn(header->boot_id, "\n")] = '\0';
    header->machine = machine_of(ledger);
    header->command = command_of(ledger, pid);
    int length = snprintf(text, sizeof(text), "sample --every %" PRIu64 "%s",
                          every_ns / (every_ns % 1000000 ? 1000 : 1000000),
                          every_ns % 1000000 ? "us" : "ms");
    header->options = ledger__string(ledger, text, (size_t)length);
    header->clock_kind = LEDGER_CLOCK_PLAIN;
    header->event_mode = LEDGER_EVENTS_NONE;
    header->attached = 1;
    header->starts = 1;
    header->profiling = 1;
    header->snapshots = 1;
    header->metrics_charged = activity_tree__metrics();
    header->metrics_totals = activity_tree__metrics();
    header->sample_mode = LEDGER_SAMPLE_WALL;
    header->sample_modes = 1u << LEDGER_SAMPLE_WALL;
    header->sample_clock = LEDGER_SAMPLE_CLOCK_WALL;
    header->sample_interval_ns = every_ns;
    (void)process_cpu__read(pid, &header->unprofiled_cpu_ns, &header->unprofiled_user_ns,
                            &header->unprofiled_system_ns);
}

static uint64_t growth(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

void sample_header__read_totals(struct ledger *ledger, uint64_t now_ns)
{
    struct ledger_header *header = ledger->header;
    uint64_t cpu_ns, user_ns, system_ns;

    header->asof_ns = now_ns;
    if (process_cpu__read(header->pid, &cpu_ns, &user_ns, &system_ns) != 0)
        return;
    header->process_cpu_ns = growth(cpu_ns, header->unprofiled_cpu_ns);
    header->process_user_ns = growth(user_ns, header->unprofiled_user_ns);
    header->process_system_ns = growth(system_ns, header->unprofiled_system_ns);
}
