/* Knows the one profiler: callers pass nothing of ours. */
#include "native/preload/function_hooks.h"

#include "native/preload/forks.h"
#include "native/preload/preload.h"
#include "native/thread/kernel_thread_events.h"
#include "native/thread/open_calls.h"

/* The frame of a hook, and with it that of the function that called it: code of both processors has
 * frame pointers here, and the caller's stack ends right above the hook's two words. */
#define HOOK_FRAME()                                                                               \
    {                                                                                              \
        .place = (uint64_t)(uintptr_t)__builtin_return_address(0),                                 \
        .sp = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16,                                \
        .fp = *(const uint64_t *)__builtin_frame_address(0),                                       \
    }

/* A hook that was left by longjmp, from a handler of a signal that came in its middle, lies further
 * in than the one that is called now, or not on the thread's own stack. On another stack than that
 * a handler may be running, whose stack may lie anywhere: then the hook is still in its middle. */
static bool is_left(uint64_t busy, uint64_t frame)
{
    const struct preload_thread *mine = preload_mine.thread;
    uint64_t low = mine ? mine->functions.low : 0, high = mine ? mine->functions.high : UINT64_MAX;

    if (frame - low > high - low)
        return false;
    return busy < frame || (busy != UINT64_MAX && busy - low > high - low);
}

static bool may_go_on(uint64_t frame)
{
    return !preload_mine.busy || is_left(preload_mine.busy, frame);
}

__attribute__((noinline, cold)) bool function_hooks__may_enter(uint64_t frame)
{
    struct preload *preload = &preload_process;

    if (atomic_load(&preload->stage) == PRELOAD_NOT_BEGUN)
        preload__begin(preload);
    forks__note_unheard(preload);
    if (preload_mine.is_forked && may_go_on(frame))
        forks__begin_child(preload);
    if (!preload__is_active(preload) || preload_mine.is_no_ones)
        return false;
    if (!may_go_on(frame)) {
        ledger__count(&preload->ledger.header->dropped_enters, 1);
        return false;
    }
    if (!preload_mine.thread) {
        preload_mine.busy = frame;
        preload_threads__begin(&preload->threads, NULL);
        preload_mine.busy = 0;
    }
    return preload_mine.thread && preload_mine.thread->kernel;
}

/* A thread that has not begun has nothing to leave. */
bool function_hooks__may_leave(uint64_t frame)
{
    const struct preload_thread *mine;

    forks__note_unheard(&preload_process);
    mine = preload_mine.thread;
    return mine && mine->kernel && may_go_on(frame);
}

static inline uint64_t end_of(const struct hook_frame *frame)
{
    uint64_t end = call_frames__end(&preload_process.frames, frame);

    return __builtin_expect(end != 0, 1) ? end : frame->sp | 1;
}

__attribute__((noinline)) void function_hooks__drop(struct preload_thread *mine, uint32_t depth)
{
    struct kernel_thread *kernel = mine->kernel;
    uint64_t token = mine->functions.frames[depth].token;

    /* The fast way does not look at parts of chains, and those end with a look at the kernel's
     * clock. */
    if (kernel->open_calls.top) {
        kernel_thread__charge_slowly(kernel);
        kernel_thread__pop_slowly(kernel, token);
    } else {
        kernel_thread__pop(kernel, token);
    }
    mine->functions.depth = depth;
}

__attribute__((noinline)) void function_hooks__drop_dead(struct preload_thread *mine,
                                                         uint32_t depth)
{
    if (mine->kernel->open_calls.top)
        open_calls__give_up(mine->kernel, mine->functions.frames[depth].token);
    function_hooks__drop(mine, depth);
}

static inline void enter(struct preload_thread *mine, struct function *function,
                         const struct hook_frame *frame, uint64_t call_site)
{
    struct function_stack *stack = &mine->functions;
    struct open_function entering = {
        .end = end_of(frame),
        .site = call_site,
        .place = frame->place,
        .key = function_table__key(&preload_process.functions, function),
    };
    uint32_t alive = function_stack__alive(stack, &entering);
    uint8_t *pushes = mine->kernel->key_pushes;

    if (__builtin_expect(alive != stack->depth, 0))
        function_hooks__drop_dead(mine, alive);
    if (__builtin_expect(!stack->frames, 0))
        function_stack__init(stack);
    if (__builtin_expect(alive == FUNCTION_STACK_MOST || !stack->frames, 0)) {
        ledger__count(&preload_process.ledger.header->dropped_enters, 1);
        return;
    }
    entering.token = kernel_thread__push(mine->kernel, entering.key);
    function_stack__add(stack, &entering);
    if (pushes && __builtin_expect((++pushes[entering.key] & (FUNCTION_STEP - 1)) == 0, 0))
        function_budget__step(&preload_process.budget, function);
}

static __attribute__((noinline, cold)) bool is_heard(struct function *function)
{
    struct preload *preload = &preload_process;

    if (!function) {
        ledger__count(&preload->ledger.header->dropped_enters, 1);
        return false;
    }
    if (function_table__state(&preload->functions, function) == FUNCTION_NEW)
        return function_names__decide(&preload->names, function) == FUNCTION_HEARD;
    return function_table__state(&preload->functions, function) == FUNCTION_HEARD;
}

void __cyg_profile_func_enter(void *function, void *call_site)
{
    struct hook_frame frame = HOOK_FRAME();
    struct preload_thread *mine = preload_mine__begin_hook(frame.sp);
    struct function *entered;

    if (__builtin_expect(!mine, 0)) {
        if (!function_hooks__may_enter(frame.sp))
            return;
        mine = preload_mine__begin_hook_anyway(frame.sp);
    }
    entered = function_table__find(&preload_process.functions, (uint64_t)(uintptr_t)function);
    if (__builtin_expect(
            entered && __atomic_load_n(&entered->state, __ATOMIC_ACQUIRE) == FUNCTION_HEARD, 1) ||
        is_heard(entered))
        enter(mine, entered, &frame, (uint64_t)(uintptr_t)call_site);
    preload_mine__end_hook();
}

static __attribute__((noinline)) void leave_slowly(struct preload_thread *mine,
                                                   const struct open_function *leaving)
{
    bool found;
    uint32_t depth = function_stack__leaving(&mine->functions, leaving, &found);

    if (depth == mine->functions.depth)
        return;
    if (found)
        function_hooks__drop(mine, depth);
    else
        function_hooks__drop_dead(mine, depth);
}

/* A function that jumps to its last hook has left its frame: the hook returns to the caller, and
 * the caller's stack begins right above. */
static inline uint64_t end_of_leaving(const struct hook_frame *frame, uint64_t call_site)
{
    return HOOK_SP_IS_END && frame->place == call_site ? frame->sp : end_of(frame);
}

static inline void leave(struct preload_thread *mine, uint64_t function,
                         const struct hook_frame *frame, uint64_t call_site)
{
    struct function_stack *stack = &mine->functions;
    const struct open_function *youngest = &stack->frames[stack->depth - 1];
    struct open_function leaving = {.end = end_of_leaving(frame, call_site), .site = call_site};
    const struct function *left;

    left = function_table__find(&preload_process.functions, function);
    if (!left)
        return;
    leaving.key = function_table__key(&preload_process.functions, left);
    if (__builtin_expect(youngest->key == leaving.key && youngest->end == leaving.end &&
                             youngest->site == leaving.site,
                         1)) {
        kernel_thread__pop(mine->kernel, youngest->token);
        stack->depth--;
        return;
    }
    leave_slowly(mine, &leaving);
}

void __cyg_profile_func_exit(void *function, void *call_site)
{
    struct hook_frame frame = HOOK_FRAME();
    struct preload_thread *mine = preload_mine__begin_hook(frame.sp);

    if (__builtin_expect(!mine, 0)) {
        if (!function_hooks__may_leave(frame.sp))
            return;
        mine = preload_mine__begin_hook_anyway(frame.sp);
    }
    if (__builtin_expect(mine->functions.depth != 0, 1))
        leave(mine, (uint64_t)(uintptr_t)function, &frame, (uint64_t)(uintptr_t)call_site);
    preload_mine__end_hook();
}
