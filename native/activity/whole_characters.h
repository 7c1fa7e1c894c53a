/*
 * A text that was cut after so many bytes may end within a character of UTF-8, of which nothing
 * should be left. Async-signal-safe.
 */
#ifndef TREADLE_WHOLE_CHARACTERS_H
#define TREADLE_WHOLE_CHARACTERS_H

#include <stddef.h>

/* The length without what is of an unfinished character at the end. */
static inline size_t whole_characters__length(const char *text, size_t length)
{
    size_t behind = 0; /* bytes that go on with a character */
    unsigned char first;

    while (behind < 3 && behind < length &&
           ((unsigned char)text[length - behind - 1] & 0xc0) == 0x80)
        behind++;
    first = behind < length ? (unsigned char)text[length - behind - 1] : 0;
    if ((first >= 0xf0 && first <= 0xf4 && behind < 3) ||
        (first >= 0xe0 && first < 0xf0 && behind < 2) ||
        (first >= 0xc2 && first < 0xe0 && behind < 1))
        return length - behind - 1;
    return length;
}

#endif
