#include "agent/options.h"

#include "agent/option_values.h"
#include "native/metrics/kernel_metrics.h"
#include "native/nearest_name.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MEM_DEFAULT (64ull << 20)

static const struct {
    const char *name;
    size_t offset; /* of a bool */
} flags[] = {
    {"strict", offsetof(struct agent_options, strict)},
    {"dump", offsetof(struct agent_options, dump)},
    {"start", offsetof(struct agent_options, start)},
    {"stop", offsetof(struct agent_options, stop)},
};

#define FLAG_COUNT (sizeof(flags) / sizeof(*flags))

bool agent_options__has(const struct agent_options *options, const char *name)
{
    for (size_t i = 0; i < OPTION_VALUES; i++)
        if (strcmp(option_values[i].name, name) == 0)
            return options->given & UINT64_C(1) << i;
    return false;
}

const char *agent_options__other(const struct agent_options *options, const char *const *names)
{
    for (size_t i = 0; i < OPTION_VALUES; i++) {
        const char *const *name = names;

        while (*name && strcmp(*name, option_values[i].name) != 0)
            name++;
        if (!*name && options->given & UINT64_C(1) << i)
            return option_values[i].name;
    }
    return NULL;
}

static const char *nearest_option(const char *word)
{
    const char *names[OPTION_VALUES + FLAG_COUNT];

    for (size_t i = 0; i < OPTION_VALUES; i++)
        names[i] = option_values[i].name;
    for (size_t i = 0; i < FLAG_COUNT; i++)
        names[OPTION_VALUES + i] = flags[i].name;
    return name__nearest(word, names, OPTION_VALUES + FLAG_COUNT);
}

static bool read_flag(struct agent_options *options, const char *word)
{
    for (size_t i = 0; i < FLAG_COUNT; i++)
        if (strcmp(word, flags[i].name) == 0) {
            *(bool *)((char *)options + flags[i].offset) = true;
            return true;
        }
    return false;
}

/* True if a bare word after metrics= was meant as one more of its metrics. */
static bool is_meant_as_metric(const char *word, const char *option)
{
    unsigned distance = name__distance(word, option);

    return distance > 2 || name__distance(word, option_value__nearest_metric(word)) < distance;
}

static int refuse_word(const char *word, bool in_metrics, char *message, size_t message_bytes)
{
    const char *nearest = nearest_option(word);
    struct value_refusal no_metric = {0};

    if (in_metrics && is_meant_as_metric(word, nearest)) {
        snprintf(no_metric.expected, sizeof(no_metric.expected), "%s", kernel_metrics__groups());
        return option_value__refuse("metrics", word, &no_metric, -EINVAL, message, message_bytes);
    }
    if (strcmp(word, nearest) == 0)
        snprintf(message, message_bytes, "option %s takes no value", word);
    else
        snprintf(message, message_bytes, "unknown option '%.200s'; did you mean %s?", word,
                 nearest);
    return -EINVAL;
}

/* One `key=value`, `key:value` or flag. A bare word after metrics= is one more of its metrics. */
static int read_token(struct agent_options *options, char *token, bool *in_metrics, char *message,
                      size_t message_bytes)
{
    size_t key_length = strcspn(token, "=:");
    bool has_value = token[key_length] != '\0';
    const char *value = token + key_length + has_value;
    int error;
    struct value_refusal refusal = {0};

    if (!has_value && read_flag(options, token))
        return 0;
    if (!has_value && *in_metrics && option_values__read_metrics(options, token, &refusal) == 0)
        return 0;
    token[key_length] = '\0';
    for (size_t i = 0; i < OPTION_VALUES; i++) {
        if (strcmp(token, option_values[i].name) != 0)
            continue;
        *in_metrics = option_values[i].read == option_values__read_metrics;
        options->given |= UINT64_C(1) << i;
        if (*in_metrics)
            options->metrics = 0;
        error = option_values[i].read(options, value, &refusal);
        if (!error)
            return 0;
        return option_value__refuse(token, value, &refusal, error, message, message_bytes);
    }
    return refuse_word(token, *in_metrics && !has_value, message, message_bytes);
}

/* What costs one getrusage at a switch. Everything else is known per thread at least. */
static uint64_t default_metrics(void)
{
    bool known;

    return kernel_metrics__bits("cpu", 3, &known) | kernel_metrics__bits("switches", 8, &known) |
           kernel_metrics__bits("faults", 6, &known) | kernel_metrics__bits("blocks", 6, &known);
}

static int set_defaults(struct agent_options *options)
{
    memset(options, 0, sizeof(*options));
    options->events = LEDGER_EVENTS_INSTRUMENT;
    options->overhead_ppm = OVERHEAD_PPM_DEFAULT;
    options->interval_ns = SAMPLE_INTERVAL_NS_DEFAULT;
    options->max_mem = MAX_MEM_DEFAULT;
    options->recursion = RECURSION_DEFAULT;
    options->timeline_for_ns = TIMELINE_FOR_NS_DEFAULT;
    options->log = LOG_WARN;
    options->metrics = default_metrics();
    options->file = strdup("treadle-%p.ledger");
    return options->file ? 0 : -ENOMEM;
}

/* The next token, to be freed; NULL at the end or without memory. */
static char *next_token(const char **text)
{
    size_t length = strcspn(*text, ",");
    char *token = strndup(*text, length);

    *text += length;
    *text += **text == ',';
    return token;
}

/* With a budget, what has no hooks is sampled, and waits have reasons as far as there is room; only
 * hooks can be kept within one. */
static void set_budget(struct agent_options *options)
{
    if (options->events != LEDGER_EVENTS_INSTRUMENT)
        options->overhead_ppm = 0;
    if (!agent_options__has(options, "waits"))
        options->waits = options->overhead_ppm > 0;
    else
        options->waits_asked = options->waits;
    options->samples_by_budget =
        options->overhead_ppm > 0 && !agent_options__has(options, "sample");
    if (options->samples_by_budget)
        options->sample = LEDGER_SAMPLE_CPU;
}

int agent_options__parse(struct agent_options *options, const char *text, char *message,
                         size_t message_bytes)
{
    int error = set_defaults(options);
    bool in_metrics = false;

    if (error)
        snprintf(message, message_bytes, "no memory for options");
    while (text && *text) {
        char *token = next_token(&text);

        if (!token) {
            snprintf(message, message_bytes, "no memory for options");
            return -ENOMEM;
        }
        /* After the first error only `strict` still counts. */
        if (error)
            (void)(strcmp(token, "strict") == 0 && read_flag(options, token));
        else if (*token)
            error = read_token(options, token, &in_metrics, message, message_bytes);
        free(token);
    }
    set_budget(options);
    return error;
}

void agent_options__free(struct agent_options *options)
{
    free(options->file);
    free(options->live_dir);
    method_filter__release(&options->filter);
    glob_list__delete(options->latency);
    free(options->answer);
    free(options->plan);
    memset(options, 0, sizeof(*options));
}
