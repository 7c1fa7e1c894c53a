/*
 * Where in a constructor `this` is surely initialised: behind an invokespecial of an <init> on
 * `this`, on every path; and where `this` surely is not initialised and still is in local variable
 * 0. The code is interpreted with one fact per local variable and stack slot: whether it holds the
 * uninitialised `this`. Where paths join with and without initialisation the state is "maybe", and
 * no later call changes that. One thread at a time.
 *
 * The call of the <init> itself belongs to neither: HotSpot checks a handler's frame with `this`
 * both as before the call and, if the call completes, as behind it, and no frame suits both.
 */
#ifndef TREADLE_CONSTRUCTOR_FLOW_H
#define TREADLE_CONSTRUCTOR_FLOW_H

#include "agent/classfile/code_layout.h"
#include "agent/classfile/constant_pool.h"

#define CONSTRUCTOR_FLOW_STEPS (1u << 22) /* enough for all constructors of any plausible class */

/* Sets CODE_EARLY on instructions where `this` surely is not initialised, CODE_UNCOVERED on
 * instructions of neither kind, and subtracts the steps it took from *steps_left. 0, -ENOMEM, or
 * LIMIT_FLOW: the code cannot be followed. */
int constructor_flow__mark(struct code_layout *layout, const struct constant_pool *pool,
                           uint32_t *steps_left);

#endif
