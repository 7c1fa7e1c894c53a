#include "native/preload/preload_options.h"

#include "native/clock/kernel_clock.h"
#include "native/metrics/kernel_metrics.h"
#include "native/nearest_name.h"
#include "native/snapshot/snapshot.h"
#include "native/unit_number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_BYTES     PATH_MAX
#define MAX_MEM_DEFAULT (UINT64_C(64) << 20)
#define PPM             1000000.0

/* Why a value was refused: what is taken, or the whole line. */
struct refusal {
    char expected[256];
    char message[512];
};

typedef int read_value(struct preload_options *options, const char *value, struct refusal *refusal);

static int expect(struct refusal *refusal, const char *expected)
{
    snprintf(refusal->expected, sizeof(refusal->expected), "%s", expected);
    return -EINVAL;
}

/* The place of the value among `names`, the first of which is number 0. */
static int choose(const char *const *names, int count, const char *value, const char *expected,
                  struct refusal *refusal)
{
    for (int i = 0; i < count; i++)
        if (names[i] && strcmp(names[i], value) == 0)
            return i;
    return expect(refusal, expected);
}

static int read_file(struct preload_options *options, const char *value, struct refusal *refusal)
{
    char path[PATH_MAX];

    if (!*value || snapshot__path(path, sizeof(path), value, 1, 1) != 0)
        return expect(refusal, "a path with %p, %n, %t");
    snprintf(options->file, sizeof(options->file), "%s", value);
    return 0;
}

static int read_live_dir(struct preload_options *options, const char *value,
                         struct refusal *refusal)
{
    if (!*value)
        return expect(refusal, "a folder");
    snprintf(options->live_dir, sizeof(options->live_dir), "%s", value);
    return 0;
}

static int read_answer(struct preload_options *options, const char *value, struct refusal *refusal)
{
    (void)refusal;
    snprintf(options->answer, sizeof(options->answer), "%s", value);
    return 0;
}

static int read_globs(struct glob_list **list, const char *value, struct refusal *refusal)
{
    struct glob_list *read = NULL;
    int error;

    if (!*value || strcmp(value, "@") == 0)
        return expect(refusal, "FUNCTION;IMAGE.FUNCTION;... or @FILE");
    error = glob_list__new(&read, value, refusal->message, sizeof(refusal->message));
    if (error)
        return error;
    glob_list__delete(*list);
    *list = read;
    return 0;
}

static int read_include(struct preload_options *options, const char *value, struct refusal *refusal)
{
    return read_globs(&options->include, value, refusal);
}

static int read_exclude(struct preload_options *options, const char *value, struct refusal *refusal)
{
    return read_globs(&options->exclude, value, refusal);
}

static int read_metrics(struct preload_options *options, const char *value, struct refusal *refusal)
{
    uint64_t bits = 0;

    while (*value) {
        size_t length = strcspn(value, "+");
        bool known;

        bits |= kernel_metrics__bits(value, length, &known);
        if (!known)
            return expect(refusal, kernel_metrics__groups());
        value += length;
        value += *value == '+';
    }
    options->metrics |= bits;
    return 0;
}

static int read_sample(struct preload_options *options, const char *value, struct refusal *refusal)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_NONE] = "none",
        [LEDGER_SAMPLE_CPU] = "cpu",
    };
    int chosen = choose(names, 2, value, "cpu or none; wall is for JVMs", refusal);

    options->sample = chosen < 0 ? options->sample : (enum ledger_sample_mode)chosen;
    options->has_sample = true;
    return chosen < 0 ? chosen : 0;
}

static int read_sample_clock(struct preload_options *options, const char *value,
                             struct refusal *refusal)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_CLOCK_NONE] = "auto",
        [LEDGER_SAMPLE_CLOCK_PERF] = "perf",
        [LEDGER_SAMPLE_CLOCK_TIMER] = "timer",
    };
    int chosen = choose(names, 3, value, "auto, perf or timer", refusal);

    options->sample_clock = chosen < 0 ? options->sample_clock : (enum ledger_sample_clock)chosen;
    return chosen < 0 ? chosen : 0;
}

static int read_interval(struct preload_options *options, const char *value,
                         struct refusal *refusal)
{
    static const struct unit_number_unit units[] = {
        {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    static const struct unit_numbers intervals = {.units = units,
                                                  .unit_count = 3,
                                                  .least = 100000,
                                                  .most = 1000000000,
                                                  .range = "100us to 1s",
                                                  .usual = "ms"};

    return unit_number__read(&intervals, value, &options->interval_ns) == 0
               ? 0
               : expect(refusal, intervals.range);
}

static int read_overhead(struct preload_options *options, const char *value,
                         struct refusal *refusal)
{
    char *end;
    double percent = strtod(value, &end);

    if (strcmp(value, "any") == 0) {
        options->overhead_ppm = 0;
        return 0;
    }
    if (end == value || strcmp(end, "%") != 0 || !(percent >= 0.0001) || percent > 100)
        return expect(refusal, "0.0001% to 100%, or any");
    options->overhead_ppm = (uint32_t)(percent * PPM / 100);
    return 0;
}

static int read_recursion(struct preload_options *options, const char *value,
                          struct refusal *refusal)
{
    char *end;
    unsigned long levels = strtoul(value, &end, 10);

    if (strcmp(value, "all") != 0 &&
        (end == value || *end || levels < 1 || levels > LEDGER_RECURSION_MAX))
        return expect(refusal, "1 to 16, or all");
    options->recursion = strcmp(value, "all") == 0 ? 0 : (uint32_t)levels;
    return 0;
}

static int read_max_mem(struct preload_options *options, const char *value, struct refusal *refusal)
{
    static const struct unit_number_unit units[] = {
        {"", 1},           {"k", 1ull << 10}, {"K", 1ull << 10}, {"m", 1ull << 20},
        {"M", 1ull << 20}, {"g", 1ull << 30}, {"G", 1ull << 30},
    };
    static const struct unit_numbers sizes = {.units = units,
                                              .unit_count = sizeof(units) / sizeof(*units),
                                              .least = 1ull << 20,
                                              .most = 16ull << 30,
                                              .range = "1M to 16G",
                                              .usual = ""};

    return unit_number__read(&sizes, value, &options->max_mem) == 0 ? 0
                                                                    : expect(refusal, sizes.range);
}

static int read_one_of_two(bool *second, const char *const names[2], const char *value,
                           const char *expected, struct refusal *refusal)
{
    int chosen = choose(names, 2, value, expected, refusal);

    *second = chosen == 1;
    return chosen < 0 ? chosen : 0;
}

static int read_reuse(struct preload_options *options, const char *value, struct refusal *refusal)
{
    static const char *const names[] = {"previous", "new"};

    return read_one_of_two(&options->reuse_new, names, value, "previous or new", refusal);
}

static int read_fold(struct preload_options *options, const char *value, struct refusal *refusal)
{
    static const char *const names[] = {"auto", "none"};

    return read_one_of_two(&options->fold_none, names, value, "auto or none", refusal);
}

static int read_orphans(struct preload_options *options, const char *value, struct refusal *refusal)
{
    static const char *const names[] = {"tidy", "keep"};

    return read_one_of_two(&options->keep_orphans, names, value, "tidy or keep", refusal);
}

static int read_clock(struct preload_options *options, const char *value, struct refusal *refusal)
{
    options->clock = kernel_clock__by_name(value);
    return options->clock || strcmp(value, "auto") == 0
               ? 0
               : expect(refusal, "auto, rseq, perf or plain");
}

static int read_log(struct preload_options *options, const char *value, struct refusal *refusal)
{
    static const char *const names[] = {"error", "warn", "info", "debug"};
    int chosen = choose(names, 4, value, "error, warn, info or debug", refusal);

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
    {"answer", read_answer},
};

#define VALUES (sizeof(values) / sizeof(*values))

/* What only JVMs have: `treadle run` gives all programs the same options. */
static bool is_of_jvms(const char *word)
{
    static const char *const names[] = {"events", "plan",   "waits",        "latency",
                                        "unwind", "strict", "timeline",     "timeline-calls",
                                        "start",  "stop",   "timeline-for", "dump"};

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
    struct refusal refusal = {{0}, {0}};
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
        if (error && refusal.message[0])
            snprintf(message, message_bytes, "option %s: %s", token, refusal.message);
        else if (error)
            snprintf(message, message_bytes, "option %s: bad value '%.200s'; did you mean %s?",
                     token, value, refusal.expected);
        return error;
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
    return error;
}

void preload_options__free(struct preload_options *options)
{
    glob_list__delete(options->include);
    glob_list__delete(options->exclude);
    options->include = options->exclude = NULL;
}
