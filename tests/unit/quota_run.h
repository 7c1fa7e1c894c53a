/* A method with hooks in a run whose time is the test's own, as is the class of the hooks. */
#ifndef TREADLE_QUOTA_RUN_H
#define TREADLE_QUOTA_RUN_H

#include "agent/methods/counted_methods.h"
#include "agent/methods/hook_class.h"
#include "agent/methods/hook_quota.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define SECOND UINT64_C(1000000000)
#define METHOD 7u
#define JUDGED (HOOK_QUOTA_STEP + HOOK_QUOTA_CALLS) /* calls until a method is judged first */

static struct {
    bool muted, off, counted;
    uint16_t left;
    int32_t counter;
} hooks[HOOK_SLOTS_MAX];

/* What another thread does while one is about to mute a slot. */
static void (*meanwhile)(uint32_t slot);

/* How often another thread writes the old count back, over the new one. */
static unsigned writes_back;

void hook_class__mute(const struct hook_class *class, JNIEnv *jni, uint32_t slot, uint16_t calls)
{
    (void)class, (void)jni;
    if (meanwhile)
        meanwhile(slot);
    hooks[slot].muted = true;
    hooks[slot].left = writes_back ? 0 : calls;
    writes_back -= writes_back > 0;
}

void hook_class__unmute(const struct hook_class *class, JNIEnv *jni, uint32_t slot)
{
    (void)class, (void)jni;
    hooks[slot].muted = false;
}

int hook_class__silent_left(const struct hook_class *class, JNIEnv *jni, uint32_t slot)
{
    (void)class, (void)jni;
    return (int16_t)hooks[slot].left;
}

void hook_class__read_silent(const struct hook_class *class, JNIEnv *jni, int16_t *to,
                             uint32_t first, uint32_t count)
{
    (void)class, (void)jni;
    for (uint32_t i = 0; i < count; i++)
        to[i] = (int16_t)hooks[first + i].left;
}

void hook_class__turn_off(const struct hook_class *class, JNIEnv *jni, uint32_t slot)
{
    (void)class, (void)jni;
    hooks[slot].off = true;
    hooks[slot].counter = HOOK_NO_COUNTER;
}

void hook_class__set_counter(const struct hook_class *class, JNIEnv *jni, uint32_t slot,
                             int32_t counter)
{
    (void)class, (void)jni;
    hooks[slot].counter = counter;
}

void hook_class__count_only(const struct hook_class *class, JNIEnv *jni, uint32_t slot)
{
    (void)class, (void)jni;
    hooks[slot].counted = true;
}

struct run {
    struct ledger ledger;
    struct ledger_time time;
    struct hook_quotas quotas;
};

static void pass(struct run *run, uint64_t ns)
{
    run->time.monotonic_zero_ns -= ns;
}

static void begin(struct run *run, uint64_t age_ns)
{
    const struct ledger_method_names names = {.class_name = "A", .name = "b", .signature = "()V"};

    memset(run, 0, sizeof *run);
    memset(hooks, 0, sizeof hooks);
    run->time.monotonic_zero_ns = clock_ns(CLOCK_MONOTONIC) - age_ns;
    assert_int_equal(ledger__create(&run->ledger, NULL, 1u << 20), 0);
    assert_int_not_equal(ledger__add_method(&run->ledger, METHOD, &names, 0), 0);
    assert_int_equal(hook_quotas__begin(&run->quotas, &run->ledger, &run->time), 0);
    run->quotas.rate_max = 100;
    hook_quotas__add(&run->quotas, METHOD, false, 0, 0xabcd);
}

static void end(struct run *run)
{
    ledger__close(&run->ledger);
}

/* So many calls, evenly over the time. */
static inline void call(struct run *run, uint32_t calls, uint64_t ns)
{
    for (uint32_t step = 0; step < calls / HOOK_QUOTA_STEP; step++) {
        pass(run, ns / (calls / HOOK_QUOTA_STEP));
        hook_quotas__step(&run->quotas, NULL, METHOD, false);
    }
}

/* A method that is only counted makes so many calls at once, of which the thread tells. */
static inline void count_calls(struct run *run, uint32_t slot, uint32_t steps)
{
    assert_true(hooks[slot].counted && !hooks[slot].off);
    for (; steps > 0 && hooks[slot].counter > 0; steps--) {
        thread_counters__add(&run->quotas.counters, (uint32_t)hooks[slot].counter,
                             HOOK_COUNTED_STEP);
        counted_methods__step(&run->quotas, NULL, slot, 0);
    }
}

/* More than any method has in hand. */
#define TOO_MANY_STEPS 5u

#endif
