/* Knows the one profiler: callers pass nothing of ours. */
#include "native/preload/logical_hooks.h"

#include "native/preload/preload.h"
#include "native/thread/kernel_thread_events.h"
#include "native/thread/open_calls.h"
#include "native/thread/thread_parts.h"

#define NO_MARK UINT64_MAX

/* In a mark that is the agent's. */
#define AGENT_MARK (UINT64_C(1) << 62)

/* What the agent is told with, in a JVM; NULL: there is no agent. */
static inline const struct treadle_inside *agent(void)
{
    return __atomic_load_n(&preload_process.agent.inside, __ATOMIC_ACQUIRE);
}

static treadle_mark push_to_agent(const struct treadle_inside *inside,
                                  const struct treadle_pushed *pushed, treadle_mark mark)
{
    treadle_mark given = inside->push(pushed, mark);

    return given & TREADLE_INSIDE_MARK ? given | AGENT_MARK : given;
}

/* The calling thread, whose hook begins; NULL: it may not. Events of handlers that come meanwhile
 * do not count. */
static inline struct preload_thread *begin(uint64_t frame, bool is_push)
{
    struct preload_thread *mine = preload_mine__begin_hook(frame);

    if (__builtin_expect(mine != NULL, 1))
        return mine;
    if (is_push ? function_hooks__may_enter(frame) : function_hooks__may_leave(frame))
        return preload_mine__begin_hook_anyway(frame);
    return NULL;
}

/* As hooks of functions have it. */
#define FRAME() ((uint64_t)(uintptr_t)__builtin_frame_address(0) + 16)

/* Of a place outside of the thread's stack only that is known. */
static inline struct open_function event_at(const struct function_stack *stack, uint64_t place)
{
    if (__builtin_expect(place - stack->low > stack->high - stack->low, 0))
        place = place == UINT64_MAX ? 0 : FUNCTION_STACK_ELSEWHERE;
    return (struct open_function){.end = place, .key = LEDGER_LOGICAL_KEYS};
}

/* Drops what is over. */
static uint32_t alive_at(struct preload_thread *mine, const struct open_function *event)
{
    struct function_stack *stack = &mine->functions;
    uint32_t alive = function_stack__alive(stack, event);

    if (__builtin_expect(alive != stack->depth, 0))
        function_hooks__drop_dead(mine, alive);
    if (alive < FUNCTION_STACK_MOST)
        stack->unrecorded = 0;
    return alive;
}

static uint64_t record(struct preload_thread *mine, const struct treadle_pushed *pushed,
                       treadle_mark mark)
{
    struct ledger_header *header = preload_process.ledger.header;
    struct function_stack *stack = &mine->functions;
    struct open_function frame = event_at(stack, pushed->place);
    uint32_t alive = alive_at(mine, &frame);
    int32_t number = pushed_frames__number(&preload_process.pushed, pushed, header);

    if (__builtin_expect(!stack->frames, 0))
        function_stack__init(stack);
    if (__builtin_expect(alive == FUNCTION_STACK_MOST || !stack->frames || number < 0, 0)) {
        stack->unrecorded += alive == FUNCTION_STACK_MOST;
        ledger__count(&header->lost_frames, 1);
        return mark;
    }
    if (__builtin_expect((pushed->what & TREADLE_CUT) != 0, 0))
        ledger__count(&header->cut_parameters, 1);
    frame.key = logical_frame__key(number);
    frame.mark = TREADLE_INSIDE_MARK | ++stack->marks;
    frame.segment_mark = mark;
    logical_frame__count(header, number);
    frame.token = kernel_thread__push(mine->kernel, frame.key);
    function_stack__add(stack, &frame);
    return frame.mark;
}

static treadle_mark push(const struct treadle_pushed *pushed, treadle_mark mark)
{
    const struct treadle_inside *inside = agent();
    struct preload_thread *mine;

    if (__builtin_expect(inside != NULL, 0))
        return push_to_agent(inside, pushed, mark);
    mine = begin(FRAME(), true);
    if (!mine)
        return mark;
    mark = record(mine, pushed, mark);
    preload_mine__end_hook();
    return mark;
}

/* Where frames were over, the youngest that is left is another function's, unless the place says
 * that it is the popping one's; and so it is where the pop is on another stack, and the frame on
 * the thread's own. */
static bool is_of_pop(const struct open_function *frame, const struct open_function *event,
                      bool is_youngest)
{
    if (frame->end == event->end)
        return true;
    return is_youngest && (event->end != FUNCTION_STACK_ELSEWHERE || frame->end == 0);
}

static void pop_at(struct preload_thread *mine, uint64_t place)
{
    struct function_stack *stack = &mine->functions;
    struct open_function event = event_at(stack, place);
    uint32_t youngest = function_stack__logical(stack, stack->depth);
    uint32_t alive = alive_at(mine, &event);
    uint32_t popped = function_stack__logical(stack, alive);

    if (stack->unrecorded)
        stack->unrecorded--;
    else if (popped && is_of_pop(&stack->frames[popped - 1], &event, popped == youngest))
        function_hooks__drop(mine, popped - 1);
}

static void pop(uint64_t place)
{
    const struct treadle_inside *inside = agent();
    struct preload_thread *mine;

    if (__builtin_expect(inside != NULL, 0)) {
        inside->pop(place);
        return;
    }
    mine = begin(FRAME(), false);
    if (!mine)
        return;
    pop_at(mine, place);
    preload_mine__end_hook();
}

static treadle_mark pop_to(treadle_mark mark)
{
    const struct treadle_inside *inside = agent();
    treadle_mark of_segment = NO_MARK;
    struct preload_thread *mine;
    uint32_t found;

    if (mark & AGENT_MARK)
        return inside ? inside->pop_to(mark & ~AGENT_MARK) : NO_MARK;
    mine = begin(FRAME(), false);
    if (!mine)
        return of_segment;
    found = function_stack__marked(&mine->functions, mark);
    if (found) {
        of_segment = mine->functions.frames[found - 1].segment_mark;
        function_hooks__drop(mine, found - 1);
    }
    preload_mine__end_hook();
    return of_segment;
}

static treadle_mark find(treadle_mark mark)
{
    const struct treadle_inside *inside = agent();
    treadle_mark of_segment = NO_MARK;
    struct preload_thread *mine;
    uint32_t found;

    if (mark & AGENT_MARK)
        return inside ? inside->find(mark & ~AGENT_MARK) : NO_MARK;
    mine = begin(FRAME(), false);
    if (!mine)
        return of_segment;
    found = function_stack__marked(&mine->functions, mark);
    if (found)
        of_segment = mine->functions.frames[found - 1].segment_mark;
    preload_mine__end_hook();
    return of_segment;
}

/* The frame is the youngest of all, and of no other part. */
static bool may_begin_part(const struct function_stack *stack, treadle_mark mark, uint32_t flags)
{
    const struct open_function *youngest = &stack->frames[stack->depth - 1];

    if (!open_function__is_logical(youngest) || youngest->mark != mark || youngest->has_part ||
        youngest->token == CALL_TOKEN_NONE)
        return false;
    return !(flags & TREADLE_PART_OTEL) || !function_stack__logical(stack, stack->depth - 1);
}

static void adopt(treadle_mark mark, struct treadle_chain id, uint32_t flags)
{
    const struct treadle_inside_ids *ids =
        __atomic_load_n(&preload_process.agent.ids, __ATOMIC_ACQUIRE);
    struct preload_thread *mine;
    struct open_function *youngest;

    if (mark & AGENT_MARK) {
        if (ids)
            ids->adopt(mark & ~AGENT_MARK, id, flags);
        return;
    }
    mine = begin(FRAME(), false);
    if (!mine)
        return;
    if ((id.word[0] | id.word[1]) && mine->functions.depth && mine->kernel->thread &&
        may_begin_part(&mine->functions, mark, flags)) {
        youngest = &mine->functions.frames[mine->functions.depth - 1];
        kernel_thread__charge_slowly(mine->kernel);
        youngest->has_part =
            thread_parts__begin(mine->kernel, &preload_process.chain_parts, id.word,
                                flags & TREADLE_PART_OTEL ? PART_OTEL : 0, youngest->token);
    }
    preload_mine__end_hook();
}

static struct treadle_chain current(void)
{
    const struct treadle_inside_ids *ids =
        __atomic_load_n(&preload_process.agent.ids, __ATOMIC_ACQUIRE);
    const struct ledger_part *part = NULL;
    struct treadle_chain id = {{0, 0}};
    struct preload_thread *mine;

    if (ids)
        return ids->current();
    /* A handler may have interrupted the begin of a part. */
    mine = preload_mine__begin_hook(FRAME());
    if (!mine)
        return id;
    part = open_calls__part(mine->kernel);
    if (part)
        id = (struct treadle_chain){{part->id[0], part->id[1]}};
    preload_mine__end_hook();
    return id;
}

PRELOAD_EXPORT const struct treadle_inside_ids treadle_inside_ids_v1 = {.adopt = adopt,
                                                                        .current = current};
PRELOAD_EXPORT const struct treadle_inside treadle_inside_v1 = {
    .push = push, .pop = pop, .pop_to = pop_to, .find = find};

PRELOAD_EXPORT const uint32_t treadle_inside_forks_v1 = 1;

void treadle_inside_handover_v1(const struct treadle_inside *inside,
                                const struct treadle_inside_ids *ids)
{
    preload__leave_to_agent(&preload_process, inside, ids);
}
