#include "agent/host_facts.h"

#include "agent/agent.h"
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

/* What loaded us is no part of the program; the options stand in a field of their own. */
static bool is_our_own(const char *argument)
{
    if (strncmp(argument, "-J", 2) == 0)
        argument += 2;
    return strncmp(argument, "-agentpath:", 11) == 0 && strstr(argument, "libtreadle.so");
}

static ledger_ref command(struct ledger *ledger)
{
    char text[COMMAND_MAX], line[COMMAND_MAX];
    ssize_t length = read_file("/proc/self/cmdline", text, sizeof(text));
    size_t used = 0;

    for (ssize_t at = 0; at < length; at += (ssize_t)strlen(text + at) + 1) {
        if (is_our_own(text + at))
            continue;
        used +=
            (size_t)snprintf(line + used, sizeof(line) - used, "%s%s", used ? " " : "", text + at);
        if (used >= sizeof(line))
            used = sizeof(line) - 1;
    }
    return used ? ledger__string(ledger, line, used) : 0;
}

/* The options as given, without the file for the attaching user's answer, which is not part of the
 * profile. */
static ledger_ref given_options(struct ledger *ledger, const char *options)
{
    char text[COMMAND_MAX];
    size_t used = 0;

    while (options && *options) {
        size_t length = strcspn(options, ",");

        if (strncmp(options, "answer", 6) != 0 && strncmp(options, "strict=", 7) != 0 &&
            used + length + 2 < sizeof(text))
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%.*s", used ? "," : "",
                                     (int)length, options);
        options += length;
        options += *options == ',';
    }
    return ledger__string(ledger, text, used);
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

void host_facts__record(struct agent *agent, const char *options)
{
    struct ledger *ledger = &agent->ledger;
    struct ledger_header *header = ledger->header;

    record_times(header, &agent->setup.time);
    (void)read_file("/proc/sys/kernel/random/boot_id", header->boot_id, sizeof(header->boot_id));
    header->boot_id[strcspn(header->boot_id, "\n")] = '\0';
    header->machine = machine(ledger);
    header->command = command(ledger);
    header->options = given_options(ledger, options);
    header->clock_kind = agent->setup.clock;
    header->clock_forced = agent->options.clock == agent->setup.clock;
    header->metrics_charged = agent->setup.metrics_charged;
    header->metrics_totals = agent->setup.metrics_totals;
    header->reuse_new = agent->options.reuse_new;
    header->fold_none = agent->options.fold_none;
    header->recursion = agent->options.recursion;
    header->event_mode = agent->options.events;
}

void host_facts__record_jvm(struct agent *agent)
{
    jvmtiEnv *jvmti = agent->jvmti;
    char *name = NULL, *version = NULL;
    char text[512];

    (*jvmti)->GetSystemProperty(jvmti, "java.vm.name", &name);
    (*jvmti)->GetSystemProperty(jvmti, "java.vm.version", &version);
    snprintf(text, sizeof(text), "%s %s", name ? name : "unknown JVM", version ? version : "");
    (*jvmti)->Deallocate(jvmti, (unsigned char *)name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)version);
    agent->ledger.header->jvm = ledger__string(&agent->ledger, text, strlen(text));
}
