/*
 * What an earlier run of the program learned (plan=LEDGER): which methods were called so often that
 * their hooks were silenced. These methods get no hooks from the beginning, so nothing has to be
 * learned twice. A method is recognized by its names and a hash of its code; a method whose code
 * has changed is treated as new. Made once, then read by any thread; not in hooks.
 */
#ifndef TREADLE_PLAN_H
#define TREADLE_PLAN_H

#include "agent/classfile/class_rewriter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;

/* Reads the ledger's hookings. 0 or -errno with one line in message. */
int plan__read(struct plan **plan, const char *path, char *message, size_t message_bytes);
void plan__delete(struct plan *plan); /* NULL is fine */

/* Calls a second for which the method was silenced. 0: it was not silenced, its code has changed,
 * or there is no plan (NULL). */
uint32_t plan__silenced(const struct plan *plan, const struct class_method *method);

/* FNV-1a of the method's code. */
uint32_t plan__code_hash(const struct class_method *method);

#endif
