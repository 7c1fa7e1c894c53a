#include "agent/option_values.h"

#include "native/clock/kernel_clock.h"
#include "native/metrics/kernel_metrics.h"
#include "native/nearest_name.h"
#include "native/snapshot/snapshot.h"
#include "native/unit_number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_MEM_LEAST (1ull << 20)
#define MAX_MEM_MOST  (16ull << 30)

static int keep(char **slot, const char *value)
{
    free(*slot);

    *slot = strdup(value);
    return *slot ? 0 : -ENOMEM;
}

static int expect(struct value_refusal *refusal, const char *expected)
{
    snprintf(refusal->expected, sizeof(refusal->expected), "%s", expected);
    return -EINVAL;
}

/* Is `value` so near to a name that this one must have been meant? */
static bool is_near(const char *value, const char *name)
{
    unsigned distance = name__distance(value, name);

    return strcasecmp(value, name) == 0 || (distance <= 2 && distance * 2 < strlen(name));
}

static void list_names(char *text, size_t text_bytes, const char *const *names, size_t count)
{
    size_t used = 0;

    for (size_t i = 0; i < count && used < text_bytes; i++)
        if (names[i])
            used += (size_t)snprintf(text + used, text_bytes - used, "%s%s",
                                     !used            ? ""
                                     : i + 1 == count ? " or "
                                                      : ", ",
                                     names[i]);
}

static int choose(const char *const *names, size_t count, const char *value,
                  struct value_refusal *refusal)
{
    const char *nearest;

    for (size_t i = 0; i < count; i++)
        if (names[i] && strcmp(names[i], value) == 0)
            return (int)i;
    nearest = name__nearest(value, names, count);
    if (nearest && is_near(value, nearest))
        snprintf(refusal->nearest, sizeof(refusal->nearest), "%s", nearest);
    list_names(refusal->expected, sizeof(refusal->expected), names, count);
    return -EINVAL;
}

static int read_number(const struct unit_numbers *numbers, const char *value, uint64_t *number,
                       struct value_refusal *refusal)
{
    if (unit_number__read(numbers, value, number) == 0)
        return 0;
    if (!unit_number__nearest(numbers, value, refusal->nearest, sizeof(refusal->nearest)))
        refusal->nearest[0] = '\0';
    return expect(refusal, numbers->range);
}

static int read_file(struct agent_options *options, const char *value,
                     struct value_refusal *refusal)
{
    char path[PATH_MAX];

    if (!*value || snapshot__path(path, sizeof(path), value, 1, 1) != 0)
        return expect(refusal, "a path with %p, %n, %t");
    return keep(&options->file, value);
}

static int read_live_dir(struct agent_options *options, const char *value,
                         struct value_refusal *refusal)
{
    return *value ? keep(&options->live_dir, value) : expect(refusal, "a folder");
}

static int read_globs(struct glob_list **list, const char *value, struct value_refusal *refusal)
{
    struct glob_list *read = NULL;
    int error;

    if (!*value || strcmp(value, "@") == 0)
        return expect(refusal, "pkg.Class.method;… or @FILE");
    error = glob_list__new(&read, value, refusal->message, sizeof(refusal->message));
    if (error)
        return error;
    glob_list__delete(*list);
    *list = read;
    return 0;
}

static int read_include(struct agent_options *options, const char *value,
                        struct value_refusal *refusal)
{
    return read_globs(&options->filter.include, value, refusal);
}

static int read_exclude(struct agent_options *options, const char *value,
                        struct value_refusal *refusal)
{
    return read_globs(&options->filter.exclude, value, refusal);
}

static int read_latency(struct agent_options *options, const char *value,
                        struct value_refusal *refusal)
{
    int error = read_globs(&options->latency, value, refusal);

    options->filter.latency = options->latency;
    return error;
}

static int read_events(struct agent_options *options, const char *value,
                       struct value_refusal *refusal)
{
    static const char *const names[] = {
        [LEDGER_EVENTS_NONE] = "none",
        [LEDGER_EVENTS_JVMTI] = "jvmti",
        [LEDGER_EVENTS_INSTRUMENT] = "instrument",
    };
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->events = (enum ledger_event_mode)chosen;
    return chosen < 0 ? chosen : 0;
}

#define METRIC_NAMES (2 * METRIC_COUNT)

/* What metrics= takes; NULL in the place of what it does not. */
static void list_metrics(const char *names[METRIC_NAMES])
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct kernel_metric *metric = kernel_metric__get((enum ledger_metric)id);
        bool known;

        (void)kernel_metrics__bits(metric->name, strlen(metric->name), &known);
        names[2 * id] = known ? metric->group : NULL;
        names[2 * id + 1] = known ? metric->name : NULL;
    }
}

static int refuse_metric(const char *word, size_t length, struct value_refusal *refusal)
{
    const char *names[METRIC_NAMES];
    char copy[64];

    list_metrics(names);
    snprintf(copy, sizeof(copy), "%.*s", (int)length, word);
    (void)choose(names, sizeof(names) / sizeof(*names), copy, refusal);
    return expect(refusal, kernel_metrics__groups());
}

int option_value__read_metrics(struct agent_options *options, const char *value,
                               struct value_refusal *refusal)
{
    uint64_t bits = 0;

    while (*value) {
        size_t length = strcspn(value, "+");
        bool known;

        bits |= kernel_metrics__bits(value, length, &known);
        if (!known)
            return refuse_metric(value, length, refusal);
        value += length;
        value += *value == '+';
    }
    options->metrics |= bits;
    return 0;
}

static int read_sample(struct agent_options *options, const char *value,
                       struct value_refusal *refusal)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_NONE] = "none",
        [LEDGER_SAMPLE_CPU] = "cpu",
        [LEDGER_SAMPLE_WALL] = "wall",
    };
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->sample = (enum ledger_sample_mode)chosen;
    return chosen < 0 ? chosen : 0;
}

static int read_interval(struct agent_options *options, const char *value,
                         struct value_refusal *refusal)
{
    static const struct unit_number_unit units[] = {
        {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    static const struct unit_numbers intervals = {
        .units = units,
        .unit_count = sizeof(units) / sizeof(*units),
        .least = SAMPLE_INTERVAL_NS_LEAST,
        .most = SAMPLE_INTERVAL_NS_MOST,
        .range = "100us to 1s",
        .usual = "ms",
    };

    return read_number(&intervals, value, &options->interval_ns, refusal);
}

static int read_sample_clock(struct agent_options *options, const char *value,
                             struct value_refusal *refusal)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_CLOCK_NONE] = "auto",
        [LEDGER_SAMPLE_CLOCK_PERF] = "perf",
        [LEDGER_SAMPLE_CLOCK_TIMER] = "timer",
    };
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->sample_clock = (enum ledger_sample_clock)chosen;
    return chosen < 0 ? chosen : 0;
}

static int read_unwind(struct agent_options *options, const char *value,
                       struct value_refusal *refusal)
{
    static const char *const names[] = {"tables", "libunwind"};
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->unwind = chosen ? LEDGER_UNWIND_LIBUNWIND : LEDGER_UNWIND_TABLES;
    return chosen < 0 ? chosen : 0;
}

/* "2%", "0.5%": parts in a million, or 0 if it is no such number. */
static uint32_t read_percent(const char *value)
{
    uint32_t ppm = 0, unit = 10000;
    const char *at = value;

    for (; *at >= '0' && *at <= '9' && ppm <= OVERHEAD_PPM_MOST; at++)
        ppm = ppm * 10 + (uint32_t)(*at - '0') * unit;
    if (at > value && *at == '.')
        for (at++; *at >= '0' && *at <= '9'; at++)
            ppm += (uint32_t)(*at - '0') * (unit /= 10);
    return strcmp(at, "%") == 0 && ppm <= OVERHEAD_PPM_MOST ? ppm : 0;
}

/* "2.5%" of "2.5", "5%" of "5 %", "100%" of what is more; or nothing. */
static void suggest_percent(const char *value, struct value_refusal *refusal)
{
    char with_sign[32], *end;
    unsigned long number = strtoul(value, &end, 10);

    if (end == value || value[0] == '-')
        return;
    snprintf(with_sign, sizeof(with_sign), "%.20s%%", value);
    if (!read_percent(with_sign))
        snprintf(with_sign, sizeof(with_sign), "%lu%%", number);
    if (number && !read_percent(with_sign))
        snprintf(with_sign, sizeof(with_sign), "100%%");
    if (read_percent(with_sign))
        snprintf(refusal->nearest, sizeof(refusal->nearest), "%s", with_sign);
}

static int read_overhead(struct agent_options *options, const char *value,
                         struct value_refusal *refusal)
{
    uint32_t ppm = read_percent(value);

    if (strcmp(value, "any") != 0 && !ppm) {
        if (is_near(value, "any"))
            snprintf(refusal->nearest, sizeof(refusal->nearest), "any");
        else
            suggest_percent(value, refusal);
        return expect(refusal, "0.0001% to 100%, or any");
    }
    options->overhead_ppm = ppm;
    return 0;
}

static int read_plan(struct agent_options *options, const char *value,
                     struct value_refusal *refusal)
{
    return *value ? keep(&options->plan, value) : expect(refusal, "a ledger's path");
}

static int read_reuse(struct agent_options *options, const char *value,
                      struct value_refusal *refusal)
{
    static const char *const names[] = {"previous", "new"};
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    options->reuse_new = chosen == 1;
    return chosen < 0 ? chosen : 0;
}

static int read_fold(struct agent_options *options, const char *value,
                     struct value_refusal *refusal)
{
    static const char *const names[] = {"auto", "none"};
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    options->fold_none = chosen == 1;
    return chosen < 0 ? chosen : 0;
}

static int read_orphans(struct agent_options *options, const char *value,
                        struct value_refusal *refusal)
{
    static const char *const names[] = {"tidy", "keep"};
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    options->keep_orphans = chosen == 1;
    return chosen < 0 ? chosen : 0;
}

static int read_max_mem(struct agent_options *options, const char *value,
                        struct value_refusal *refusal)
{
    static const struct unit_number_unit units[] = {
        {"", 1},           {"k", 1ull << 10}, {"K", 1ull << 10}, {"m", 1ull << 20},
        {"M", 1ull << 20}, {"g", 1ull << 30}, {"G", 1ull << 30},
    };
    static const struct unit_numbers sizes = {
        .units = units,
        .unit_count = sizeof(units) / sizeof(*units),
        .least = MAX_MEM_LEAST,
        .most = MAX_MEM_MOST,
        .range = "1M to 16G",
        .usual = "",
    };

    return read_number(&sizes, value, &options->max_mem, refusal);
}

static int read_recursion(struct agent_options *options, const char *value,
                          struct value_refusal *refusal)
{
    static const struct unit_number_unit units[] = {{"", 1}};
    static const struct unit_numbers levels = {
        .units = units,
        .unit_count = sizeof(units) / sizeof(*units),
        .least = 1,
        .most = LEDGER_RECURSION_MAX,
        .range = "1 to 16, or all",
        .usual = "",
    };
    uint64_t number = 0;
    int error = strcmp(value, "all") == 0 ? 0 : read_number(&levels, value, &number, refusal);

    if (error && is_near(value, "all"))
        snprintf(refusal->nearest, sizeof(refusal->nearest), "all");
    options->recursion = (uint32_t)number;
    return error;
}

static int read_waits(struct agent_options *options, const char *value,
                      struct value_refusal *refusal)
{
    static const char *const names[] = {"off", "on"};
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    options->waits = chosen == 1;
    return chosen < 0 ? chosen : 0;
}

static int read_timeline(struct agent_options *options, const char *value,
                         struct value_refusal *refusal)
{
    static const struct unit_number_unit units[] = {
        {"", 1},           {"k", 1ull << 10}, {"K", 1ull << 10}, {"m", 1ull << 20},
        {"M", 1ull << 20}, {"g", 1ull << 30}, {"G", 1ull << 30},
    };
    static const struct unit_numbers sizes = {
        .units = units,
        .unit_count = sizeof(units) / sizeof(*units),
        .least = TIMELINE_BYTES_LEAST,
        .most = TIMELINE_BYTES_MOST,
        .range = "256K to 1G, or off",
        .usual = "",
    };
    int error;

    options->timeline_bytes = 0;
    error = strcmp(value, "off") == 0
                ? 0
                : read_number(&sizes, value, &options->timeline_bytes, refusal);
    if (error && is_near(value, "off"))
        snprintf(refusal->nearest, sizeof(refusal->nearest), "off");
    options->has_timeline = !error;
    return error;
}

static const struct unit_number_unit times[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};

static int read_timeline_calls(struct agent_options *options, const char *value,
                               struct value_refusal *refusal)
{
    static const struct unit_numbers thresholds = {
        .units = times,
        .unit_count = sizeof(times) / sizeof(*times),
        .least = 1000,
        .most = TIMELINE_FOR_NS_MOST,
        .range = "1us to 3600s",
        .usual = "ms",
    };

    return read_number(&thresholds, value, &options->timeline_calls_ns, refusal);
}

static int read_timeline_for(struct agent_options *options, const char *value,
                             struct value_refusal *refusal)
{
    static const struct unit_numbers lengths = {
        .units = times,
        .unit_count = sizeof(times) / sizeof(*times),
        .least = 1000000,
        .most = TIMELINE_FOR_NS_MOST,
        .range = "1ms to 3600s",
        .usual = "s",
    };

    return read_number(&lengths, value, &options->timeline_for_ns, refusal);
}

static int read_log(struct agent_options *options, const char *value, struct value_refusal *refusal)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->log = (enum log_level)chosen;
    return chosen < 0 ? chosen : 0;
}

static int read_clock(struct agent_options *options, const char *value,
                      struct value_refusal *refusal)
{
    static const char *const names[] = {"rseq", "perf", "plain"};
    int chosen = choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->clock = kernel_clock__by_name(value);
    return chosen < 0 ? chosen : 0;
}

static int read_answer(struct agent_options *options, const char *value,
                       struct value_refusal *refusal)
{
    return *value ? keep(&options->answer, value) : expect(refusal, "a file's path");
}

/* `strict` alone is a flag. */
static int read_strict(struct agent_options *options, const char *value,
                       struct value_refusal *refusal)
{
    options->strict_options = strcmp(value, "options") == 0;
    return options->strict_options ? 0 : expect(refusal, "strict or strict=options");
}

const struct option_value option_values[OPTION_VALUES] = {
    {"file", read_file},
    {"live-dir", read_live_dir},
    {"include", read_include},
    {"exclude", read_exclude},
    {"events", read_events},
    {"metrics", option_value__read_metrics},
    {"reuse", read_reuse},
    {"max-mem", read_max_mem},
    {"log", read_log},
    {"clock", read_clock},
    {"answer", read_answer},
    {"fold", read_fold},
    {"strict", read_strict},
    {"sample", read_sample},
    {"interval", read_interval},
    {"sample-clock", read_sample_clock},
    {"unwind", read_unwind},
    {"overhead", read_overhead},
    {"plan", read_plan},
    {"recursion", read_recursion},
    {"orphans", read_orphans},
    {"waits", read_waits},
    {"latency", read_latency},
    {"timeline", read_timeline},
    {"timeline-calls", read_timeline_calls},
    {"timeline-for", read_timeline_for},
};

const char *option_value__nearest_metric(const char *word)
{
    const char *names[METRIC_NAMES];

    list_metrics(names);
    return name__nearest(word, names, METRIC_NAMES);
}
