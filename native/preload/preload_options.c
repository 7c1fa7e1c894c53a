#include "native/preload/preload_options.h"

#include "native/clock/kernel_clock.h"
#include "native/metrics/kernel_metrics.h"
#include "native/nearest_name.h"
#include "native/options/option_value.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TOKEN_BYTES     PATH_MAX
#define MAX_MEM_DEFAULT (UINT64_C(64) << 20)

typedef int read_value(struct preload_options *options, const char *value,
                       struct value_refusal *refusal);

static int read_file(struct preload_options *options, const char *value,
                     struct value_refusal *refusal)
{
    int error = option_value__path_pattern(value, refusal);

    if (!error)
        snprintf(options->file, sizeof(options->file), "%s", value);
    return error;
}

static int read_live_dir(struct preload_options *options, const char *value,
                         struct value_refusal *refusal)
{
    if (!*value)
        return option_value__expect(refusal, "a folder");
    snprintf(options->live_dir, sizeof(options->live_dir), "%s", value);
    return 0;
}

static int read_answer(struct preload_options *options, const char *value,
                       struct value_refusal *refusal)
{
    (void)refusal;
    snprintf(options->answer, sizeof(options->answer), "%s", value);
    return 0;
}

static int read_globs(struct glob_list **list, const char *value, struct value_refusal *refusal)
{
    return option_value__globs(list, value, "FUNCTION;IMAGE.FUNCTION;... or @FILE", refusal);
}

static int read_include(struct preload_options *options, const char *value,
                        struct value_refusal *refusal)
{
    return read_globs(&options->include, value, refusal);
}

static int read_exclude(struct preload_options *options, const char *value,
                        struct value_refusal *refusal)
{
    return read_globs(&options->exclude, value, refusal);
}

static int read_metrics(struct preload_options *options, const char *value,
                        struct value_refusal *refusal)
{
    return option_value__metrics(&options->metrics, value, refusal);
}

static int read_sample(struct preload_options *options, const char *value,
                       struct value_refusal *refusal)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_NONE] = "none",
        [LEDGER_SAMPLE_CPU] = "cpu",
    };
    int chosen = option_value__choose(names, 2, value, refusal);

    options->has_sample = true;
    if (chosen < 0)
        return option_value__expect(refusal, "cpu or none; wall is for JVMs");
    options->sample = (enum ledger_sample_mode)chosen;
    return 0;
}

static int read_sample_clock(struct preload_options *options, const char *value,
                             struct value_refusal *refusal)
{
    return option_value__sample_clock(&options->sample_clock, value, refusal);
}

static int read_interval(struct preload_options *options, const char *value,
                         struct value_refusal *refusal)
{
    return option_value__interval(&options->interval_ns, value, refusal);
}

static int read_overhead(struct preload_options *options, const char *value,
                         struct value_refusal *refusal)
{
    return option_value__overhead(&options->overhead_ppm, value, refusal);
}

static int read_recursion(struct preload_options *options, const char *value,
                          struct value_refusal *refusal)
{
    return option_value__recursion(&options->recursion, value, refusal);
}

static int read_max_mem(struct preload_options *options, const char *value,
                        struct value_refusal *refusal)
{
    return option_value__max_mem(&options->max_mem, value, refusal);
}

static int read_reuse(struct preload_options *options, const char *value,
                      struct value_refusal *refusal)
{
    return option_value__reuse_new(&options->reuse_new, value, refusal);
}

static int read_fold(struct preload_options *options, const char *value,
                     struct value_refusal *refusal)
{
    return option_value__fold_none(&options->fold_none, value, refusal);
}

static int read_orphans(struct preload_options *options, const char *value,
                        struct value_refusal *refusal)
{
    return option_value__keep_orphans(&options->keep_orphans, value, refusal);
}

static int read_waits(struct preload_options *options, const char *value,
                      struct value_refusal *refusal)
{
    options->has_waits = true;
    return option_value__waits(&options->waits, value, refusal);
}

static int read_clock(struct preload_options *options, const char *value,
                      struct value_refusal *refusal)
{
    options->clock = kernel_clock__by_name(value);
    return options->clock || strcmp(value, "auto") == 0
               ? 0
               : option_value__expect(refusal, "auto, rseq, perf or plain");
}

static int read_log(struct preload_options *options, const char *value,
                    struct value_refusal *refusal)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    int chosen = option_value__choose(names, 4, value, refusal);

    options->is_quiet = chosen == 0;
    return chosen < 0 ? chosen : 0;
}

static const struct {
    const char *name;
    read_value *read;
} values[] = {
    {"file", read_file},         {"live-dir", read_live_dir},
    {"include", read_include},   {"exclude", read_exclude},
    {"metrics", read_metrics},   {"sample", read_sample},
    {"interval", read_interval}, {"sample-clock", read_sample_clock},
    {"overhead", read_overhead}, {"recursion", read_recursion},
    {"max-mem", read_max_mem},   {"reuse", read_reuse},
    {"fold", read_fold},         {"orphans", read_orphans},
    {"clock", read_clock},       {"log", read_log},
    {"answer", read_answer},     {"waits", read_waits},
};

#define VALUES (sizeof(values) / sizeof(*values))

/* What only JVMs have: `treadle run` gives all programs the same options. */
static bool is_of_jvms(const char *word)
{
    static const char *const names[] = {
        "events",         "plan",  "latency", "unwind",       "strict", "timeline",
        "timeline-calls", "start", "stop",    "timeline-for", "dump"};

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(word, names[i]) == 0)
            return true;
    return false;
}

static int refuse_word(const char *word, char *message, size_t message_bytes)
{
    const char *names[VALUES];

    for (size_t i = 0; i < VALUES; i++)
        names[i] = values[i].name;
    snprintf(message, message_bytes, "unknown option '%.200s' of native programs; did you mean %s?",
             word, name__nearest(word, names, VALUES));
    return -EINVAL;
}

/* A bare word after metrics= is one more of its metrics. */
static int read_token(struct preload_options *options, char *token, bool *in_metrics, char *message,
                      size_t message_bytes)
{
    size_t key_length = strcspn(token, "=:");
    bool has_value = token[key_length] != '\0';
    const char *value = token + key_length + has_value;
    struct value_refusal refusal = {0};
    int error;

    if (!has_value && *in_metrics && read_metrics(options, token, &refusal) == 0)
        return 0;
    token[key_length] = '\0';
    for (size_t i = 0; i < VALUES; i++) {
        if (strcmp(token, values[i].name) != 0)
            continue;
        *in_metrics = values[i].read == read_metrics;
        if (*in_metrics)
            options->metrics = 0;
        error = values[i].read(options, value, &refusal);
        return error ? option_value__refuse(token, value, &refusal, error, message, message_bytes)
                     : 0;
    }
    return is_of_jvms(token) ? 0 : refuse_word(token, message, message_bytes);
}

static void set_defaults(struct preload_options *options)
{
    bool known;

    *options = (struct preload_options){
        .file = "treadle-%p.ledger",
        .sample = LEDGER_SAMPLE_CPU,
        .interval_ns = 10000000,
        .overhead_ppm = 20000,
        .recursion = 1,
        .max_mem = MAX_MEM_DEFAULT,
        .metrics =
            kernel_metrics__bits("cpu", 3, &known) | kernel_metrics__bits("switches", 8, &known) |
            kernel_metrics__bits("faults", 6, &known) | kernel_metrics__bits("blocks", 6, &known),
    };
}

int preload_options__read(struct preload_options *options, const char *text, char *message,
                          size_t message_bytes)
{
    char token[TOKEN_BYTES];
    bool in_metrics = false;
    int error = 0;

    set_defaults(options);
    while (!error && text && *text) {
        size_t length = strcspn(text, ",");

        if (length >= sizeof(token)) {
            snprintf(message, message_bytes, "an option of %zu bytes is too long", length);
            return -ENAMETOOLONG;
        }
        memcpy(token, text, length);
        token[length] = '\0';
        text += length;
        text += *text == ',';
        if (*token)
            error = read_token(options, token, &in_metrics, message, message_bytes);
    }
    if (!options->has_sample && !options->overhead_ppm)
        options->sample = LEDGER_SAMPLE_NONE;
    if (!options->has_waits)
        options->waits = options->overhead_ppm != 0;
    return error;
}

void preload_options__free(struct preload_options *options)
{
    glob_list__delete(options->include);
    glob_list__delete(options->exclude);
    options->include = options->exclude = NULL;
}
