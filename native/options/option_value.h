/*
 * The values of options that profilers have in common, whatever they profile, and what is said of a
 * bad one. What an option means stands in the man page of `treadle run`.
 *
 * Each reader returns 0, or -errno: *refusal then says why, and the place for the value may have
 * changed.
 */
#ifndef TREADLE_OPTION_VALUE_H
#define TREADLE_OPTION_VALUE_H

#include "native/glob_list.h"
#include "native/ledger/ledger_format.h"
#include "native/unit_number.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is said of a bad value. */
struct value_refusal {
    char nearest[128];  /* what was probably meant; "": nobody can tell */
    char expected[256]; /* what is taken */
    char message[512];  /* instead of both, when the value itself is as it should be */
};

/* -EINVAL: notes what is taken. */
int option_value__expect(struct value_refusal *refusal, const char *expected);

/* Writes the line that names the option, the value and what was expected. Returns the error. */
int option_value__refuse(const char *option, const char *value, const struct value_refusal *refusal,
                         int error, char *message, size_t message_bytes);

/* True if the value is so near to a name that this one must have been meant. */
bool option_value__is_near(const char *value, const char *name);

/* The place of the value among the names, some of which may be NULL; or -EINVAL. */
int option_value__choose(const char *const *names, size_t count, const char *value,
                         struct value_refusal *refusal);

int option_value__number(const struct unit_numbers *numbers, const char *value, uint64_t *number,
                         struct value_refusal *refusal);

/* file=: is the value one? */
int option_value__path_pattern(const char *value, struct value_refusal *refusal);

/* include=, exclude=: the list takes the place of the one before. `expected`: as users write it. */
int option_value__globs(struct glob_list **list, const char *value, const char *expected,
                        struct value_refusal *refusal);

/* metrics=: adds to the bits. */
int option_value__metrics(uint64_t *metrics, const char *value, struct value_refusal *refusal);

/* The name of a metric or group of them that is nearest to the word. */
const char *option_value__nearest_metric(const char *word);

int option_value__interval(uint64_t *interval_ns, const char *value, struct value_refusal *refusal);
int option_value__sample_clock(enum ledger_sample_clock *clock, const char *value,
                               struct value_refusal *refusal);
int option_value__overhead(uint32_t *overhead_ppm, const char *value,
                           struct value_refusal *refusal); /* 0: any */
/* A size in bytes, "64K", "2G"; range: what is told of the least and the most. */
int option_value__bytes(uint64_t *bytes, uint64_t least, uint64_t most, const char *range,
                        const char *value, struct value_refusal *refusal);
int option_value__max_mem(uint64_t *bytes, const char *value, struct value_refusal *refusal);
int option_value__recursion(uint32_t *most, const char *value,
                            struct value_refusal *refusal); /* 0: all */
int option_value__reuse_new(bool *is_so, const char *value, struct value_refusal *refusal);
int option_value__fold_none(bool *is_so, const char *value, struct value_refusal *refusal);
int option_value__waits(bool *is_so, const char *value, struct value_refusal *refusal);
int option_value__keep_orphans(bool *is_so, const char *value, struct value_refusal *refusal);

#endif
