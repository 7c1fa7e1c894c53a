/*
 * Address space that the first of several threads maps. Nothing locks: of two threads that begin
 * at once, one has its way. For hooks and signal handlers.
 */
#ifndef TREADLE_MAPPED_ONCE_H
#define TREADLE_MAPPED_ONCE_H

#include <stddef.h>

/* Returns what *space points to, mapped now if that is NULL: zeroed bytes, which take memory as
 * they are used. NULL: there is no memory. */
void *mapped_once__at(void *_Atomic *space, size_t bytes);

#endif
