#include "native/preload/hook_price.h"

#include "native/preload/function_hooks.h"
#include "native/preload/preload_thread.h"

#include <stdlib.h>
#include <unistd.h>

#define LEDGER_BYTES (64u * 1024u)
#define TRIES        24u
#define CALLS        128u

static __attribute__((noinline)) void measured_function(void)
{
    __asm__ volatile("");
}

static uint64_t ticks_of_calls(void)
{
    void *function = (void *)(uintptr_t)measured_function;
    uint64_t before = cycle_counter__read();

    for (unsigned i = 0; i < CALLS; i++) {
        __cyg_profile_func_enter(function, function);
        measured_function();
        __cyg_profile_func_exit(function, function);
    }
    return cycle_counter__read() - before;
}

static ledger_ref resolve(void *context, uint64_t key)
{
    const struct ledger_method_names names = {.class_name = "", .name = "", .signature = ""};

    return ledger__add_method(context, key, &names, 0);
}

/* A thread of the program for the time of the measurement, with a ledger of its own. */
static uint64_t measure(const struct kernel_thread_setup *setup)
{
    const struct java_thread_facts facts = {.name = "", .kind = THREAD_NATIVE};
    struct kernel_thread *kernel = calloc(1, sizeof(*kernel));
    struct ledger_kernel_thread record = {.tid = gettid()};
    struct preload_thread thread = {.kernel = kernel};
    uint64_t least = UINT64_MAX;

    if (!kernel)
        return 0;
    function_stack__init(&thread.functions);
    call_tree__init(&kernel->tree, setup->ledger, setup->resolve, setup->resolve_context);
    kernel_thread__begin(kernel, setup, &record);
    if (kernel_thread__start_java(kernel, &facts) == 0) {
        preload_mine.thread = &thread;
        for (unsigned i = 0; i < TRIES; i++) {
            uint64_t ticks = ticks_of_calls();

            least = ticks < least ? ticks : least;
        }
        preload_mine.thread = NULL;
    }
    kernel_thread__end(kernel);
    function_stack__release(&thread.functions);
    free(kernel);
    return least == UINT64_MAX
               ? 0
               : (uint64_t)((unsigned __int128)least * setup->time.tsc_mult * 1000 >> 64) / CALLS;
}

uint64_t hook_price__measure_ps(const struct kernel_thread_setup *setup)
{
    struct kernel_thread_setup own = {
        .epoch = EPOCH_FIRST,
        .time = setup->time,
        .clock = setup->clock,
        .admits_all = true,
        .resolve = resolve,
    };
    struct ledger ledger;
    uint64_t price_ps;

    if (!setup->time.tsc_mult || preload_mine.thread || kernel_thread_mine ||
        ledger__create(&ledger, NULL, LEDGER_BYTES) != 0)
        return 0;
    own.ledger = &ledger;
    own.resolve_context = &ledger;
    price_ps = measure(&own);
    ledger__close(&ledger);
    return price_ps;
}
