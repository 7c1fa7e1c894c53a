/*
 * The part of HOOK_CLASS (agent/methods/hook_class.h) that tells of holds of locks: acquired,
 * released, releasing, owning and sharing, which call their natives only while holds are heard,
 * and the last two only for locks that were contended once, as far as the lock itself knows that.
 */
#ifndef TREADLE_HOLD_HOOKS_H
#define TREADLE_HOLD_HOOKS_H

#include "agent/classfile/class_file.h"

/* HOOKS_LOCK_CLASS to HOOKS_SHARED_METHOD of agent/methods/hook_pool.h, whose names and types are
 * written before. */
void hold_hooks__write_pool(struct class_writer *out);
void hold_hooks__write_methods(struct class_writer *out);

#endif
