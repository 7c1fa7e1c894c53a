/*
 * Names as text. A name from a JVM or a file is only bytes: here it becomes valid UTF-8 and, for a
 * terminal, text that cannot harm the terminal.
 */
#ifndef TREADLE_REPORT_TEXT_H
#define TREADLE_REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Valid UTF-8 and a NUL behind it; there may be NULs inside, too. */
struct text {
    const char *bytes;
    size_t length;
};

/* Memory for many texts, released together. Zero it to begin. */
struct text_store {
    struct text_block *blocks;
    size_t used;
    size_t room;
};

void text_store__release(struct text_store *store);

/* A copy of `length` bytes of UTF-8. */
struct text text__keep(struct text_store *store, const char *bytes, size_t length);

/* Valid UTF-8 of what should be UTF-8, modified (JVM) UTF-8 included: C0 80 becomes U+0000, two
 * surrogates of three bytes each become the one code point they stand for, anything else that is
 * not UTF-8 becomes U+FFFD. */
struct text text__from_java(struct text_store *store, const char *bytes, size_t length);

/* The same with '#' for each run of digits, "pool-#-thread-#", but no second '#' behind a '#'. The
 * agent names the rows that it folds in the same way, and "VirtualThread[#31]" joins these. */
struct text text__with_digits_folded(struct text_store *store, struct text text);

/* By bytes, as memcmp; the shorter one first. */
int text__compare(struct text x, struct text y);

/* The code point at *at (which must be < length) of valid UTF-8; moves *at behind it. */
uint32_t text__next(struct text text, size_t *at);

/* Writes a code point as UTF-8; returns the number of bytes, at most 4. */
size_t text__encode(uint32_t code_point, char bytes[4]);

/* Characters that take no room or turn the text around: invisible ways to make a name look like
 * another one. Control characters are none of them. */
bool text__is_invisible(uint32_t code_point);

/*
 * For people: control characters, bidi controls, zero-width characters and what the terminal
 * cannot show become visible escapes (\n, \x1b, \u202e); in a locale that is not UTF-8, all beyond
 * ASCII does. Cut to `columns` columns with an ellipsis at the end (0: not cut). The result is the
 * caller's to free.
 */
char *text__printable(struct text text, size_t columns);

/* The same, cut in the middle: for names whose end tells more than their middle. */
char *text__printable_middle(struct text text, size_t columns);

/* Columns that printable UTF-8 takes on a terminal. */
size_t text__columns(const char *printable);

/* Whether the locale can show more than ASCII. */
bool text__is_utf8_locale(void);

/* Sets the locale: the user's; UTF-8 if the user chose none. */
void text__set_locale(void);

#endif
