/*
 * Logical stacks for other languages: plain functions with a stable ABI, in libtreadle-activity.a
 * and libtreadle-activity.so. They do what treadle.h says, with two differences: texts are looked
 * at during the call only, and a frame does not know its place on the C stack, which says nothing
 * about frames of another language. So a missed pop is made good by treadle_activity_pop_to only.
 */
#ifndef TREADLE_ACTIVITY_H
#define TREADLE_ACTIVITY_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The TREADLE_FORMAT that the library writes. */
uint32_t treadle_activity_format(void);

/* Each begins a frame and returns its mark. `parameter` may be NULL. */
uint64_t treadle_activity_push(const char *identifier, const char *parameter);
uint64_t treadle_activity_push_number(const char *identifier, int64_t parameter);

/* A frame that begins a chain, with a new id; one with an id from elsewhere, as text (NULL, or what
 * is no id: the frame has none). Since version 2 of the library. */
uint64_t treadle_activity_begin(const char *identifier, const char *parameter);
uint64_t treadle_activity_adopt(const char *id, const char *identifier, const char *parameter);

/* Writes the id of the youngest frame that has one: 32 hexadecimal digits and a NUL. Returns 1, or
 * 0 and "": there is none. Since version 2. */
int treadle_activity_id(char text[33]);

/* Ends the youngest frame; the frame with that mark and all younger ones. */
void treadle_activity_pop(void);
void treadle_activity_pop_to(uint64_t mark);

#ifdef __cplusplus
}
#endif

#endif
