#include "native/options/option_value.h"

#include "native/metrics/kernel_metrics.h"
#include "native/nearest_name.h"
#include "native/snapshot/snapshot.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define INTERVAL_NS_LEAST 100000u
#define INTERVAL_NS_MOST  1000000000u
#define OVERHEAD_PPM_MOST 1000000u
#define MAX_MEM_LEAST     (1ull << 20)
#define MAX_MEM_MOST      (16ull << 30)

int option_value__expect(struct value_refusal *refusal, const char *expected)
{
    snprintf(refusal->expected, sizeof(refusal->expected), "%s", expected);
    return -EINVAL;
}

bool option_value__is_near(const char *value, const char *name)
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

int option_value__choose(const char *const *names, size_t count, const char *value,
                         struct value_refusal *refusal)
{
    const char *nearest;

    for (size_t i = 0; i < count; i++)
        if (names[i] && strcmp(names[i], value) == 0)
            return (int)i;
    nearest = name__nearest(value, names, count);
    if (nearest && option_value__is_near(value, nearest))
        snprintf(refusal->nearest, sizeof(refusal->nearest), "%s", nearest);
    list_names(refusal->expected, sizeof(refusal->expected), names, count);
    return -EINVAL;
}

int option_value__number(const struct unit_numbers *numbers, const char *value, uint64_t *number,
                         struct value_refusal *refusal)
{
    if (unit_number__read(numbers, value, number) == 0)
        return 0;
    if (!unit_number__nearest(numbers, value, refusal->nearest, sizeof(refusal->nearest)))
        refusal->nearest[0] = '\0';
    return option_value__expect(refusal, numbers->range);
}

int option_value__path_pattern(const char *value, struct value_refusal *refusal)
{
    char path[PATH_MAX];

    if (!*value || snapshot__path(path, sizeof(path), value, 1, 1) != 0)
        return option_value__expect(refusal, "a path with %p, %n, %t");
    return 0;
}

int option_value__globs(struct glob_list **list, const char *value, const char *expected,
                        struct value_refusal *refusal)
{
    struct glob_list *read = NULL;
    int error;

    if (!*value || strcmp(value, "@") == 0)
        return option_value__expect(refusal, expected);
    error = glob_list__new(&read, value, refusal->message, sizeof(refusal->message));
    if (error)
        return error;
    glob_list__delete(*list);
    *list = read;
    return 0;
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
    (void)option_value__choose(names, sizeof(names) / sizeof(*names), copy, refusal);
    return option_value__expect(refusal, kernel_metrics__groups());
}

const char *option_value__nearest_metric(const char *word)
{
    const char *names[METRIC_NAMES];

    list_metrics(names);
    return name__nearest(word, names, METRIC_NAMES);
}

int option_value__metrics(uint64_t *metrics, const char *value, struct value_refusal *refusal)
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
    *metrics |= bits;
    return 0;
}

int option_value__interval(uint64_t *interval_ns, const char *value, struct value_refusal *refusal)
{
    static const struct unit_number_unit units[] = {
        {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}};
    static const struct unit_numbers intervals = {
        .units = units,
        .unit_count = sizeof(units) / sizeof(*units),
        .least = INTERVAL_NS_LEAST,
        .most = INTERVAL_NS_MOST,
        .range = "100us to 1s",
        .usual = "ms",
    };

    return option_value__number(&intervals, value, interval_ns, refusal);
}

int option_value__sample_clock(enum ledger_sample_clock *clock, const char *value,
                               struct value_refusal *refusal)
{
    static const char *const names[] = {
        [LEDGER_SAMPLE_CLOCK_NONE] = "auto",
        [LEDGER_SAMPLE_CLOCK_PERF] = "perf",
        [LEDGER_SAMPLE_CLOCK_TIMER] = "timer",
    };
    int chosen = option_value__choose(names, sizeof(names) / sizeof(*names), value, refusal);

    if (chosen >= 0)
        *clock = (enum ledger_sample_clock)chosen;
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

int option_value__overhead(uint32_t *overhead_ppm, const char *value, struct value_refusal *refusal)
{
    uint32_t ppm = read_percent(value);

    if (strcmp(value, "any") != 0 && !ppm) {
        if (option_value__is_near(value, "any"))
            snprintf(refusal->nearest, sizeof(refusal->nearest), "any");
        else
            suggest_percent(value, refusal);
        return option_value__expect(refusal, "0.0001% to 100%, or any");
    }
    *overhead_ppm = ppm;
    return 0;
}

int option_value__bytes(uint64_t *bytes, uint64_t least, uint64_t most, const char *range,
                        const char *value, struct value_refusal *refusal)
{
    static const struct unit_number_unit units[] = {
        {"", 1},           {"k", 1ull << 10}, {"K", 1ull << 10}, {"m", 1ull << 20},
        {"M", 1ull << 20}, {"g", 1ull << 30}, {"G", 1ull << 30},
    };
    const struct unit_numbers sizes = {
        .units = units,
        .unit_count = sizeof(units) / sizeof(*units),
        .least = least,
        .most = most,
        .range = range,
        .usual = "",
    };

    return option_value__number(&sizes, value, bytes, refusal);
}

int option_value__max_mem(uint64_t *bytes, const char *value, struct value_refusal *refusal)
{
    return option_value__bytes(bytes, MAX_MEM_LEAST, MAX_MEM_MOST, "1M to 16G", value, refusal);
}

int option_value__recursion(uint32_t *most, const char *value, struct value_refusal *refusal)
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
    int error =
        strcmp(value, "all") == 0 ? 0 : option_value__number(&levels, value, &number, refusal);

    if (error && option_value__is_near(value, "all"))
        snprintf(refusal->nearest, sizeof(refusal->nearest), "all");
    *most = (uint32_t)number;
    return error;
}

/* The second of two names? */
static int is_second(bool *second, const char *const names[2], const char *value,
                     struct value_refusal *refusal)
{
    int chosen = option_value__choose(names, 2, value, refusal);

    *second = chosen == 1;
    return chosen < 0 ? chosen : 0;
}

int option_value__reuse_new(bool *is_so, const char *value, struct value_refusal *refusal)
{
    static const char *const names[] = {"previous", "new"};

    return is_second(is_so, names, value, refusal);
}

int option_value__fold_none(bool *is_so, const char *value, struct value_refusal *refusal)
{
    static const char *const names[] = {"auto", "none"};

    return is_second(is_so, names, value, refusal);
}

int option_value__waits(bool *is_so, const char *value, struct value_refusal *refusal)
{
    static const char *const names[] = {"off", "on"};

    return is_second(is_so, names, value, refusal);
}

int option_value__keep_orphans(bool *is_so, const char *value, struct value_refusal *refusal)
{
    static const char *const names[] = {"tidy", "keep"};

    return is_second(is_so, names, value, refusal);
}

int option_value__refuse(const char *option, const char *value, const struct value_refusal *refusal,
                         int error, char *message, size_t message_bytes)
{
    if (error == -ENOMEM)
        snprintf(message, message_bytes, "no memory for options");
    else if (refusal->message[0])
        snprintf(message, message_bytes, "option %s: %s", option, refusal->message);
    else if (refusal->nearest[0])
        snprintf(message, message_bytes, "option %s: bad value '%.200s'; did you mean %s? (%s)",
                 option, value, refusal->nearest, refusal->expected);
    else
        snprintf(message, message_bytes, "option %s: bad value '%.200s'; did you mean %s?", option,
                 value, refusal->expected);
    return error;
}
