#include "agent/option_values.h"

#include "native/clock/kernel_clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int keep(char **slot, const char *value)
{
    free(*slot);

    *slot = strdup(value);
    return *slot ? 0 : -ENOMEM;
}

static int read_file(struct agent_options *options, const char *value,
                     struct value_refusal *refusal)
{
    int error = option_value__path_pattern(value, refusal);

    return error ? error : keep(&options->file, value);
}

static int read_live_dir(struct agent_options *options, const char *value,
                         struct value_refusal *refusal)
{
    return *value ? keep(&options->live_dir, value) : option_value__expect(refusal, "a folder");
}

static int read_globs(struct glob_list **list, const char *value, struct value_refusal *refusal)
{
    return option_value__globs(list, value, "pkg.Class.method;… or @FILE", refusal);
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
    int chosen = option_value__choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->events = (enum ledger_event_mode)chosen;
    return chosen < 0 ? chosen : 0;
}

int option_values__read_metrics(struct agent_options *options, const char *value,
                                struct value_refusal *refusal)
{
    return option_value__metrics(&options->metrics, value, refusal);
}

static int read_interval(struct agent_options *options, const char *value,
                         struct value_refusal *refusal)
{
    return option_value__interval(&options->interval_ns, value, refusal);
}

static int read_sample_clock(struct agent_options *options, const char *value,
                             struct value_refusal *refusal)
{
    return option_value__sample_clock(&options->sample_clock, value, refusal);
}

static int read_overhead(struct agent_options *options, const char *value,
                         struct value_refusal *refusal)
{
    return option_value__overhead(&options->overhead_ppm, value, refusal);
}

static int read_reuse(struct agent_options *options, const char *value,
                      struct value_refusal *refusal)
{
    return option_value__reuse_new(&options->reuse_new, value, refusal);
}

static int read_fold(struct agent_options *options, const char *value,
                     struct value_refusal *refusal)
{
    return option_value__fold_none(&options->fold_none, value, refusal);
}

static int read_orphans(struct agent_options *options, const char *value,
                        struct value_refusal *refusal)
{
    return option_value__keep_orphans(&options->keep_orphans, value, refusal);
}

static int read_max_mem(struct agent_options *options, const char *value,
                        struct value_refusal *refusal)
{
    return option_value__max_mem(&options->max_mem, value, refusal);
}

static int read_recursion(struct agent_options *options, const char *value,
                          struct value_refusal *refusal)
{
    return option_value__recursion(&options->recursion, value, refusal);
}

static int read_sample(struct agent_options *options, const char *value,
                       struct value_refusal *refusal)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_NONE] = "none",
        [LEDGER_SAMPLE_CPU] = "cpu",
        [LEDGER_SAMPLE_WALL] = "wall",
    };
    int chosen = option_value__choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->sample = (enum ledger_sample_mode)chosen;
    return chosen < 0 ? chosen : 0;
}

static int read_unwind(struct agent_options *options, const char *value,
                       struct value_refusal *refusal)
{
    static const char *const names[] = {"tables", "libunwind"};
    int chosen = option_value__choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->unwind = chosen ? LEDGER_UNWIND_LIBUNWIND : LEDGER_UNWIND_TABLES;
    return chosen < 0 ? chosen : 0;
}

static int read_plan(struct agent_options *options, const char *value,
                     struct value_refusal *refusal)
{
    return *value ? keep(&options->plan, value) : option_value__expect(refusal, "a ledger's path");
}

static int read_waits(struct agent_options *options, const char *value,
                      struct value_refusal *refusal)
{
    return option_value__waits(&options->waits, value, refusal);
}

static int read_timeline(struct agent_options *options, const char *value,
                         struct value_refusal *refusal)
{
    int error = 0;

    options->timeline_bytes = 0;
    if (strcmp(value, "off") != 0)
        error = option_value__bytes(&options->timeline_bytes, TIMELINE_BYTES_LEAST,
                                    TIMELINE_BYTES_MOST, "256K to 1G, or off", value, refusal);
    if (error && option_value__is_near(value, "off"))
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

    return option_value__number(&thresholds, value, &options->timeline_calls_ns, refusal);
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

    return option_value__number(&lengths, value, &options->timeline_for_ns, refusal);
}

static int read_log(struct agent_options *options, const char *value, struct value_refusal *refusal)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    int chosen = option_value__choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->log = (enum log_level)chosen;
    return chosen < 0 ? chosen : 0;
}

static int read_clock(struct agent_options *options, const char *value,
                      struct value_refusal *refusal)
{
    static const char *const names[] = {"rseq", "perf", "plain"};
    int chosen = option_value__choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        options->clock = kernel_clock__by_name(value);
    return chosen < 0 ? chosen : 0;
}

static int read_answer(struct agent_options *options, const char *value,
                       struct value_refusal *refusal)
{
    return *value ? keep(&options->answer, value) : option_value__expect(refusal, "a file's path");
}

/* `strict` alone is a flag. */
static int read_strict(struct agent_options *options, const char *value,
                       struct value_refusal *refusal)
{
    options->strict_options = strcmp(value, "options") == 0;
    return options->strict_options ? 0 : option_value__expect(refusal, "strict or strict=options");
}

const struct option_value option_values[OPTION_VALUES] = {
    {"file", read_file},
    {"live-dir", read_live_dir},
    {"include", read_include},
    {"exclude", read_exclude},
    {"events", read_events},
    {"metrics", option_values__read_metrics},
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
