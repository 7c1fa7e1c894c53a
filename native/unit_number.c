#include "native/unit_number.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int unit_number__read(const struct unit_numbers *numbers, const char *text, uint64_t *value)
{
    char *unit;
    unsigned long long number = strtoull(text, &unit, 10);

    if (!isdigit((unsigned char)text[0]) || number > numbers->most)
        return -EINVAL;
    for (size_t i = 0; i < numbers->unit_count; i++) {
        if (strcmp(unit, numbers->units[i].name) != 0)
            continue;
        if (number > numbers->most / numbers->units[i].factor)
            return -EINVAL;
        *value = number * numbers->units[i].factor;
        return *value < numbers->least ? -EINVAL : 0;
    }
    return -EINVAL;
}

/* "ms", "MS"; "MB" for M. */
static bool is_like_unit(const char *text, const char *name)
{
    size_t length = strlen(name);

    if (!length)
        return text[0] == '\0';
    return strncasecmp(text, name, length) == 0 &&
           (text[length] == '\0' || strcasecmp(text + length, "b") == 0);
}

static const char *without_end_blanks(const char *text, char *copy, size_t copy_bytes)
{
    size_t length;

    while (isspace((unsigned char)*text) || *text == '+')
        text++;
    snprintf(copy, copy_bytes, "%s", text);
    length = strlen(copy);
    while (length && isspace((unsigned char)copy[length - 1]))
        copy[--length] = '\0';
    return copy;
}

static void write_number(const struct unit_numbers *numbers, uint64_t value, char *text,
                         size_t text_bytes)
{
    for (size_t i = numbers->unit_count; i-- > 0;)
        if (value % numbers->units[i].factor == 0) {
            snprintf(text, text_bytes, "%" PRIu64 "%s", value / numbers->units[i].factor,
                     numbers->units[i].name);
            return;
        }
    snprintf(text, text_bytes, "%" PRIu64 "%s", value / numbers->units[0].factor,
             numbers->units[0].name);
}

bool unit_number__nearest(const struct unit_numbers *numbers, const char *text, char *nearest,
                          size_t nearest_bytes)
{
    char copy[64];
    const char *unit;
    char *end;
    double number, value;

    text = without_end_blanks(text, copy, sizeof(copy));
    number = strtod(text, &end);
    unit = end;
    if (!isdigit((unsigned char)text[0]))
        return false;
    while (isspace((unsigned char)*unit))
        unit++;
    if (!*unit)
        unit = numbers->usual;
    for (size_t i = 0; i < numbers->unit_count; i++) {
        if (!is_like_unit(unit, numbers->units[i].name))
            continue;
        value = number * (double)numbers->units[i].factor;
        write_number(numbers,
                     value < (double)numbers->least  ? numbers->least
                     : value > (double)numbers->most ? numbers->most
                                                     : (uint64_t)value,
                     nearest, nearest_bytes);
        return true;
    }
    return false;
}
