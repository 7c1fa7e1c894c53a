/* Numbers with a unit, as in options: 10ms, 256M. */
#ifndef TREADLE_UNIT_NUMBER_H
#define TREADLE_UNIT_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unit_number_unit {
    const char *name;
    uint64_t factor;
};

struct unit_numbers {
    const struct unit_number_unit *units; /* the smallest first */
    size_t unit_count;
    uint64_t least; /* in units of factor 1 */
    uint64_t most;
    const char *range; /* both bounds as a user writes them: "100us to 1s" */
    const char *usual; /* the unit to suggest for a number without one */
};

/* 0, or -EINVAL: not a number with one of the units, or out of the range. */
int unit_number__read(const struct unit_numbers *numbers, const char *text, uint64_t *value);

/* Writes the valid number that was probably meant: the nearest end of the range, the unit in the
 * right case, or a fraction in a smaller unit. False: the text is nothing like a number. */
bool unit_number__nearest(const struct unit_numbers *numbers, const char *text, char *nearest,
                          size_t nearest_bytes);

#endif
