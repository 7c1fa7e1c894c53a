/*
 * Where in a constructor `this` is surely initialised: behind an invokespecial of an <init> on it,
 * on every path; and where it surely is not, and still in local variable 0. Found by following the
 * code with just as much state as tells whether a call is on `this` or on another object: which
 * local variables and stack slots hold the uninitialised `this`. Paths that join with and without
 * it stay "maybe", which no later call mends. One thread at a time.
 *
 * The call itself is neither: HotSpot checks a handler's frame with `this` as it is before the call
 * and, where the call goes on, as it is behind, and no frame suits both.
 */
#ifndef TREADLE_CONSTRUCTOR_FLOW_H
#define TREADLE_CONSTRUCTOR_FLOW_H

#include "agent/classfile/code_layout.h"
#include "agent/classfile/constant_pool.h"

#define CONSTRUCTOR_FLOW_STEPS (1u << 22) /* enough for all constructors of any sane class */

/* Sets CODE_EARLY on instructions of the second kind, CODE_UNCOVERED on those of neither, and takes
 * what it needed from *steps_left. 0, -ENOMEM, or -EDOM: the code cannot be followed (no verifier
 * would take it, or no steps are left). */
int constructor_flow__mark(struct code_layout *layout, const struct constant_pool *pool,
                           uint32_t *steps_left);

#endif
