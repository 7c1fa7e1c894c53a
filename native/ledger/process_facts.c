#include "native/ledger/process_facts.h"

#include "native/proc/process_stat.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define COMMAND_MAX 8192u

static ssize_t read_file(const char *path, char *text, size_t text_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;

    if (fd < 0)
        return -1;
    length = read(fd, text, text_bytes - 1);
    close(fd);
    text[length > 0 ? length : 0] = '\0';
    return length;
}

static ledger_ref command(struct ledger *ledger, bool (*is_our_own)(const char *argument))
{
    char text[COMMAND_MAX], line[COMMAND_MAX];
    ssize_t length = read_file("/proc/self/cmdline", text, sizeof(text));
    size_t used = 0;

    for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1) {
        if (is_our_own && is_our_own(text + at))
            continue;
        used +=
            (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", used ? " " : "", text + at);
        if (used >= sizeof(line))
            used = sizeof(line) - 1;
    }
    return used ? ledger__string(ledger, line, used) : 0;
}

static ledger_ref machine(struct ledger *ledger)
{
    char cpu[4096], text[512];
    struct utsname system;
    const char *model = NULL;
    int length;

    if (uname(&system) != 0)
        return 0;
    if (read_file("/proc/cpuinfo", cpu, sizeof(cpu)) > 0) {
        model = strstr(cpu, "model name");
        model = model ? strchr(model, ':') : NULL;
    }
    model = model ? model + 1 + (model[1] == ' ') : "unknown processor";
    length = snprintf(text, sizeof(text), "%s %s %s, %ld processors, %.*s", system.sysname,
                      system.release, system.machine, sysconf(_SC_NPROCESSORS_ONLN),
                      (int)strcspn(model, "\n"), model);
    return ledger__string(ledger, text,
                          (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1);
}

static void record_times(struct ledger_header *header, const struct ledger_time *time)
{
    uint64_t tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK);
    uint64_t since_ns, age_ns;

    header->tsc_zero = time->tsc_zero;
    header->tsc_mult = time->tsc_mult;
    header->monotonic_ns = time->monotonic_zero_ns;
    since_ns = ledger_time__now_ns(time);
    header->epoch_ns = clock_ns(CLOCK_REALTIME) - since_ns;
    if (process_start__read(getpid(), &header->start_ticks) != 0)
        return;
    age_ns = clock_ns(CLOCK_BOOTTIME) - header->start_ticks * tick_ns;
    header->process_start_epoch_ns = clock_ns(CLOCK_REALTIME) - age_ns;
    if (header->process_start_epoch_ns > header->epoch_ns)
        header->process_start_epoch_ns = header->epoch_ns;
}

static bool is_of_profile(const char *option, size_t length)
{
    return strncmp(option, "answer", 6) != 0 && strncmp(option, "strict=", 7) != 0 &&
           !(length == 5 && strncmp(option, "start", 5) == 0);
}

/* Appends the options that are part of the profile, after `before` if there are any. */
static size_t append_options(char text[COMMAND_MAX], size_t used, const char *before,
                             const char *options)
{
    const char *between = before;

    while (options && *options) {
        size_t length = strcspn(options, ",");

        if (is_of_profile(options, length) && used + strlen(between) + length + 1 < COMMAND_MAX) {
            used += (size_t)snprintf(text + used, COMMAND_MAX - used, "%s%.*s", between,
                                     (int)length, options);
            between = ",";
        }
        options += length;
        options += *options == ',';
    }
    return used;
}

ledger_ref process_facts__options(struct ledger *ledger, const char *options)
{
    char text[COMMAND_MAX];

    return ledger__string(ledger, text, append_options(text, 0, "", options));
}

ledger_ref process_facts__options_since(struct ledger *ledger, ledger_ref options,
                                        const char *start)
{
    const struct ledger_string *given = ledger__at(ledger, options);
    size_t first = options && given->length < COMMAND_MAX ? given->length : 0, used;
    char text[COMMAND_MAX];

    memcpy(text, given->bytes, first);
    used = append_options(text, first, first ? "; then start: " : "start: ", start);
    return used > first ? ledger__string(ledger, text, used) : 0;
}

void process_facts__record(struct ledger *ledger, const struct ledger_time *time,
                           bool (*is_our_own)(const char *argument))
{
    struct ledger_header *header = ledger->header;

    record_times(header, time);
    (void)read_file("/proc/sys/kernel/random/boot_id", header->boot_id, sizeof(header->boot_id));
    header->boot_id[strcspn(header->boot_id, "\n")] = '\0';
    header->machine = machine(ledger);
    header->command = command(ledger, is_our_own);
}
