#include "agent/options.h"

#include "native/kernel_clock.h"
#include "native/kernel_metrics.h"
#include "native/nearest_name.h"
#include "native/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_MEM_LEAST   (1ull << 20)
#define MAX_MEM_DEFAULT (256ull << 20)

/* Reads one option's value. 0, or -EINVAL; *nearest then is what would have been right. */
typedef int (*read_value)(struct agent_options *options, const char *value, const char **nearest);

static int keep(char **slot, const char *value)
{
    free(*slot);
    *slot = strdup(value);
    return *slot ? 0 : -ENOMEM;
}

static int choose(const char *const *names, size_t count, const char *value, const char **nearest)
{
    for (size_t i = 0; i < count; i++)
        if (names[i] && strcmp(names[i], value) == 0)
            return (int)i;
    *nearest = name__nearest(value, names, count);
    return -EINVAL;
}

static int read_file(struct agent_options *options, const char *value, const char **nearest)
{
    char path[PATH_MAX];

    if (!*value || snapshot__path(path, sizeof path, value, 1, 1) != 0) {
        *nearest = "a path with %p, %n, %t";
        return -EINVAL;
    }
    return keep(&options->file, value);
}

static int read_live_dir(struct agent_options *options, const char *value, const char **nearest)
{
    *nearest = "a folder";
    return *value ? keep(&options->live_dir, value) : -EINVAL;
}

static int read_include(struct agent_options *options, const char *value, const char **nearest)
{
    *nearest = "pkg.Class.method;…";
    return *value ? keep(&options->include, value) : -EINVAL;
}

static int read_exclude(struct agent_options *options, const char *value, const char **nearest)
{
    *nearest = "pkg.Class.method;…";
    return *value ? keep(&options->exclude, value) : -EINVAL;
}

static int read_events(struct agent_options *options, const char *value, const char **nearest)
{
    static const char *const names[] = {
        [LEDGER_EVENTS_NONE] = "none",
        [LEDGER_EVENTS_JVMTI] = "jvmti",
        [LEDGER_EVENTS_INSTRUMENT] = "instrument",
    };
    int chosen = choose(names, sizeof names / sizeof *names, value, nearest);

    if (chosen >= 0)
        options->events = (enum ledger_event_mode)chosen;
    return chosen < 0 ? chosen : 0;
}

static int read_metrics(struct agent_options *options, const char *value, const char **nearest)
{
    uint64_t bits = 0;

    while (*value) {
        size_t length = strcspn(value, "+");
        bool known;

        bits |= kernel_metrics__bits(value, length, &known);
        if (!known) {
            *nearest = kernel_metrics__groups();
            return -EINVAL;
        }
        value += length;
        value += *value == '+';
    }
    options->metrics |= bits;
    return 0;
}

static int read_sample(struct agent_options *options, const char *value, const char **nearest)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_NONE] = "none",
        [LEDGER_SAMPLE_CPU] = "cpu",
        [LEDGER_SAMPLE_WALL] = "wall",
    };
    int chosen = choose(names, sizeof names / sizeof *names, value, nearest);

    if (chosen >= 0)
        options->sample = (enum ledger_sample_mode)chosen;
    return chosen < 0 ? chosen : 0;
}

/* A number with its unit: 100us, 10ms, 1s. */
static int read_interval(struct agent_options *options, const char *value, const char **nearest)
{
    static const struct {
        const char *name;
        uint64_t ns;
    } units[] = {{"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    char *end;
    unsigned long long number = strtoull(value, &end, 10);

    *nearest = "100us to 1s";
    if (*value < '0' || *value > '9' || number > SAMPLE_INTERVAL_NS_MOST)
        return -EINVAL;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (strcmp(end, units[i].name) != 0)
            continue;
        options->interval_ns = number * units[i].ns;
        return options->interval_ns < SAMPLE_INTERVAL_NS_LEAST ||
                       options->interval_ns > SAMPLE_INTERVAL_NS_MOST
                   ? -EINVAL
                   : 0;
    }
    return -EINVAL;
}

static int read_sample_clock(struct agent_options *options, const char *value, const char **nearest)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_CLOCK_NONE] = "auto",
        [LEDGER_SAMPLE_CLOCK_PERF] = "perf",
        [LEDGER_SAMPLE_CLOCK_TIMER] = "timer",
    };
    int chosen = choose(names, sizeof names / sizeof *names, value, nearest);

    if (chosen >= 0)
        options->sample_clock = (enum ledger_sample_clock)chosen;
    return chosen < 0 ? chosen : 0;
}

static int read_reuse(struct agent_options *options, const char *value, const char **nearest)
{
    static const char *const names[] = {"previous", "new"};
    int chosen = choose(names, sizeof names / sizeof *names, value, nearest);

    options->reuse_new = chosen == 1;
    return chosen < 0 ? chosen : 0;
}

static int read_fold(struct agent_options *options, const char *value, const char **nearest)
{
    static const char *const names[] = {"auto", "none"};
    int chosen = choose(names, sizeof names / sizeof *names, value, nearest);

    options->fold_none = chosen == 1;
    return chosen < 0 ? chosen : 0;
}

static int read_max_mem(struct agent_options *options, const char *value, const char **nearest)
{
    static const char units[] = "KMG";
    char *end;
    unsigned long long bytes = strtoull(value, &end, 10);
    const char *unit = *end ? strchr(units, *end & ~0x20) : NULL;

    *nearest = "1M to 16G";
    if (end == value || *value == '-' || (*end && !unit) || (unit && end[1]))
        return -EINVAL;
    if (unit)
        bytes = bytes > (16ull << 30) ? ULLONG_MAX : bytes << (10 * (unit - units + 1));
    if (bytes < MAX_MEM_LEAST || bytes > (16ull << 30))
        return -EINVAL;
    options->max_mem = bytes;
    return 0;
}

static int read_log(struct agent_options *options, const char *value, const char **nearest)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    int chosen = choose(names, sizeof names / sizeof *names, value, nearest);

    if (chosen >= 0)
        options->log = (enum log_level)chosen;
    return chosen < 0 ? chosen : 0;
}

static int read_clock(struct agent_options *options, const char *value, const char **nearest)
{
    static const char *const names[] = {"rseq", "perf", "plain"};
    int chosen = choose(names, sizeof names / sizeof *names, value, nearest);

    if (chosen >= 0)
        options->clock = kernel_clock__by_name(value);
    return chosen < 0 ? chosen : 0;
}

static int read_answer(struct agent_options *options, const char *value, const char **nearest)
{
    *nearest = "a file's path";
    return *value ? keep(&options->answer, value) : -EINVAL;
}

static const struct {
    const char *name;
    read_value read;
} with_value[] = {
    {"file", read_file},       {"live-dir", read_live_dir}, {"include", read_include},
    {"exclude", read_exclude}, {"events", read_events},     {"metrics", read_metrics},
    {"reuse", read_reuse},     {"max-mem", read_max_mem},   {"log", read_log},
    {"clock", read_clock},     {"answer", read_answer},     {"fold", read_fold},
    {"sample", read_sample},   {"interval", read_interval}, {"sample-clock", read_sample_clock},
};

static const struct {
    const char *name;
    size_t offset; /* of a bool */
} flags[] = {
    {"strict", offsetof(struct agent_options, strict)},
    {"dump", offsetof(struct agent_options, dump)},
    {"start", offsetof(struct agent_options, start)},
    {"stop", offsetof(struct agent_options, stop)},
};

#define WITH_VALUE_COUNT (sizeof with_value / sizeof *with_value)
#define FLAG_COUNT       (sizeof flags / sizeof *flags)

bool agent_options__has(const struct agent_options *options, const char *name)
{
    for (size_t i = 0; i < WITH_VALUE_COUNT; i++)
        if (strcmp(with_value[i].name, name) == 0)
            return options->given & 1u << i;
    return false;
}

const char *agent_options__other(const struct agent_options *options, const char *const *names)
{
    for (size_t i = 0; i < WITH_VALUE_COUNT; i++) {
        const char *const *name = names;

        while (*name && strcmp(*name, with_value[i].name) != 0)
            name++;
        if (!*name && options->given & 1u << i)
            return with_value[i].name;
    }
    return NULL;
}

static const char *nearest_option(const char *word)
{
    const char *names[WITH_VALUE_COUNT + FLAG_COUNT];

    for (size_t i = 0; i < WITH_VALUE_COUNT; i++)
        names[i] = with_value[i].name;
    for (size_t i = 0; i < FLAG_COUNT; i++)
        names[WITH_VALUE_COUNT + i] = flags[i].name;
    return name__nearest(word, names, WITH_VALUE_COUNT + FLAG_COUNT);
}

static bool read_flag(struct agent_options *options, const char *word)
{
    for (size_t i = 0; i < FLAG_COUNT; i++) {
        if (strcmp(word, flags[i].name) == 0) {
            *(bool *)((char *)options + flags[i].offset) = true;
            return true;
        }
    }
    return false;
}

static int refuse_value(const char *option, const char *value, const char *nearest, char *message,
                        size_t message_bytes)
{
    snprintf(message, message_bytes, "option %s: bad value '%.200s'; did you mean %s?", option,
             value, nearest);
    return -EINVAL;
}

static int refuse_word(const char *word, bool in_metrics, char *message, size_t message_bytes)
{
    const char *nearest = nearest_option(word);

    if (in_metrics && name__distance(word, nearest) > 2)
        return refuse_value("metrics", word, kernel_metrics__groups(), message, message_bytes);
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
    const char *nearest = NULL;

    if (!has_value && read_flag(options, token))
        return 0;
    if (!has_value && *in_metrics && read_metrics(options, token, &nearest) == 0)
        return 0;
    token[key_length] = '\0';
    for (size_t i = 0; i < WITH_VALUE_COUNT; i++) {
        if (strcmp(token, with_value[i].name) != 0)
            continue;
        *in_metrics = with_value[i].read == read_metrics;
        options->given |= 1u << i;
        if (*in_metrics)
            options->metrics = 0;
        if (with_value[i].read(options, value, &nearest) == 0)
            return 0;
        return refuse_value(token, value, nearest, message, message_bytes);
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
    memset(options, 0, sizeof *options);
    options->events = LEDGER_EVENTS_INSTRUMENT;
    options->interval_ns = SAMPLE_INTERVAL_NS_DEFAULT;
    options->max_mem = MAX_MEM_DEFAULT;
    options->log = LOG_WARN;
    options->metrics = default_metrics();
    return keep(&options->file, "treadle-%p.ledger");
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
    return error;
}

void agent_options__free(struct agent_options *options)
{
    free(options->file);
    free(options->live_dir);
    free(options->include);
    free(options->exclude);
    free(options->answer);
    memset(options, 0, sizeof *options);
}
