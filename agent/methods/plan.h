/*
 * What an earlier run of the program learned (plan=LEDGER). Methods that are called too often get
 * no hooks from the beginning, so nothing has to be learned twice: those that the earlier run
 * silenced and that would tell little for their price, or, if that run recorded every call
 * (overhead=any), those with too many calls. Of the other methods so many get hooks as the budget
 * bears, if the program takes as much CPU time as then: those that tell most
 * (agent/methods/plan_choice.h). The rest is postponed, methods without a call in the earlier run
 * among them: these once a method of the earlier run has come, and in its packages only, for the
 * plan of another program says nothing of this one, though both may use the same library. A method
 * is recognized by its names and, where the ledger has it, a hash of its code; a method whose code
 * has changed is treated as one without a call. Made once, then asked by any thread; not in hooks.
 */
#ifndef TREADLE_PLAN_H
#define TREADLE_PLAN_H

#include "agent/classfile/class_rewriter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct plan;
struct planned_class;

/* Reads the ledger for a run with that budget, in ppm of the process's CPU. 0 or -errno with one
 * line in message; also 0 with a line, if a part of the ledger cannot be read, and "" otherwise. */
int plan__read(struct plan **plan, const char *path, uint32_t overhead_ppm, char *message,
               size_t message_bytes);
void plan__delete(struct plan *plan); /* NULL is fine */

/* What the plan says of a method. */
struct plan_advice {
    uint32_t rate;     /* calls a second for which the method is left out; 0: it is to have hooks */
    uint32_t calls;    /* that it may make, since the earlier run counted so many; 0: not known */
    bool is_postponed; /* other methods get hooks first; rate: of the earlier run, 0: not called */
};

/* The class of that name ("pkg.Class"), or its package, for its methods' advice; NULL: the earlier
 * run called nothing in the package, or there is no plan (NULL). It lives as long as the plan. */
const struct planned_class *plan__class(const struct plan *plan, const char *dotted_name);

/* Without a plan (NULL) all zero. class: the method's, or NULL. */
struct plan_advice plan__advice(struct plan *plan, const struct planned_class *class,
                                const struct class_method *method);

/* FNV-1a of the method's code. */
uint32_t plan__code_hash(const struct class_method *method);

#endif
