#include "tools/report/quantity.h"

#include "tools/report/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define NS_PER_S 1000000000u

/* A value in steps of `unit` with four significant digits at most: 1.234, 12.34, 123.4. */
static struct quantity scaled(uint64_t value, uint64_t unit, const char *name)
{
    struct quantity result;
    double number = (double)value / (double)unit;
    int digits = number < 9.9995 ? 3 : number < 99.995 ? 2 : 1;

    snprintf(result.text, sizeof(result.text), "%.*f %s", digits, number, name);
    return result;
}

/* The same with three digits: 1.23, 12.3, 123. */
static struct quantity short_scaled(double number, const char *name)
{
    struct quantity result;
    int digits = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;

    snprintf(result.text, sizeof(result.text), "%.*f %s", digits, number, name);
    return result;
}

static struct quantity two_parts(uint64_t large, const char *large_name, uint64_t small,
                                 const char *small_name)
{
    struct quantity result;

    snprintf(result.text, sizeof(result.text), "%" PRIu64 " %s %02" PRIu64 " %s", large, large_name,
             small, small_name);
    return result;
}

struct quantity quantity__ns(uint64_t ns)
{
    struct quantity result = {"0"};
    uint64_t seconds = ns / NS_PER_S;

    if (ns == 0)
        return result;
    if (ns < 1000) {
        snprintf(result.text, sizeof(result.text), "%" PRIu64 " ns", ns);
        return result;
    }
    if (ns < 999500)
        return short_scaled((double)ns / 1e3, text__is_utf8_locale() ? "µs" : "us");
    if (ns < 999500000)
        return short_scaled((double)ns / 1e6, "ms");
    if (seconds < 100)
        return scaled(ns, NS_PER_S, "s");
    if (seconds < 3600)
        return two_parts(seconds / 60, "m", seconds % 60, "s");
    if (seconds < 100 * 3600)
        return two_parts(seconds / 3600, "h", seconds / 60 % 60, "m");
    return two_parts(seconds / 86400, "d", seconds / 3600 % 24, "h");
}

struct quantity quantity__bytes(uint64_t bytes)
{
    static const char *const names[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    struct quantity result = {"0"};

    if (bytes == 0)
        return result;
    if (bytes < 1024) {
        snprintf(result.text, sizeof(result.text), "%" PRIu64 " B", bytes);
        return result;
    }
    double number = (double)bytes / 1024;
    size_t unit = 0;
    for (; number >= 1023.5 && unit < 5; unit++)
        number /= 1024;
    return short_scaled(number, names[unit]);
}

struct quantity quantity__count(uint64_t count)
{
    static const char *const names[] = {"M", "G", "T", "P", "E"};
    struct quantity result;

    if (count < 1000) {
        snprintf(result.text, sizeof(result.text), "%" PRIu64, count);
        return result;
    }
    if (count < 1000000) {
        snprintf(result.text, sizeof(result.text), "%" PRIu64 " %03" PRIu64, count / 1000,
                 count % 1000);
        return result;
    }
    double number = (double)count / 1e6;
    size_t unit = 0;
    for (; number >= 999.5 && unit < 4; unit++)
        number /= 1000;
    return short_scaled(number, names[unit]);
}

struct quantity quantity__counted(uint64_t count, const char *one)
{
    struct quantity result;

    snprintf(result.text, sizeof(result.text), "%.12s %.16s%s", quantity__count(count).text, one,
             count == 1 ? "" : "s");
    return result;
}

struct quantity quantity__moment(uint64_t epoch_ns)
{
    struct quantity result = {"?"};
    time_t seconds = (time_t)(epoch_ns / NS_PER_S);
    struct tm parts;

    if (!localtime_r(&seconds, &parts) ||
        strftime(result.text, sizeof(result.text), "%Y-%m-%d %H:%M:%S", &parts) == 0)
        snprintf(result.text, sizeof(result.text), "?");
    return result;
}

struct quantity quantity__of(uint64_t value, enum metric_unit unit)
{
    return unit == UNIT_NS      ? quantity__ns(value)
           : unit == UNIT_BYTES ? quantity__bytes(value)
                                : quantity__count(value);
}

struct quantity quantity__share(uint64_t part, uint64_t whole)
{
    struct quantity result = {""};

    if (whole == 0)
        return result;
    double percent = 100.0 * (double)part / (double)whole;
    if (part == 0)
        snprintf(result.text, sizeof(result.text), "0 %%");
    else if (percent < 0.01)
        snprintf(result.text, sizeof(result.text), "<0.01 %%");
    else
        snprintf(result.text, sizeof(result.text), "%.*f %%", percent < 0.095 ? 2 : 1, percent);
    return result;
}
