#include "native/thread/thread_timeline.h"

#include "native/thread/kernel_thread.h"

#include <string.h>

/* A mark of an earlier timeline says nothing, and its memory is gone. */
static struct timeline_mark *mark_of(struct kernel_thread *kernel_thread)
{
    uint32_t number = atomic_load(&kernel_thread->setup->timeline->number);
    struct timeline_mark *mark = &kernel_thread->timeline_mark;

    if (mark->number != number)
        *mark = (struct timeline_mark){.number = number};
    return mark;
}

static void describe(const struct kernel_thread *kernel_thread, struct timeline_event *event,
                     enum timeline_kind kind)
{
    memset(event, 0, sizeof(*event));
    event->kind = (uint8_t)kind;
    event->tid = kernel_thread->record->tid;
    event->java_id = kernel_thread->thread->java_id;
    event->thread_kind = (uint8_t)kernel_thread->thread->kind;
}

static void write_name(struct kernel_thread *kernel_thread, uint64_t at_ns)
{
    const struct ledger *ledger = kernel_thread->setup->ledger;
    const struct ledger_string *name = ledger__at(ledger, kernel_thread->thread->name);
    struct timeline_event event;

    describe(kernel_thread, &event, TIMELINE_THREAD);
    event.at_ns = at_ns;
    if (kernel_thread->thread->name)
        memcpy(event.name, ledger_string__bytes(name),
               name->length < sizeof(event.name) ? name->length : sizeof(event.name));
    timeline__write(kernel_thread->setup->timeline, &event);
}

static void write_event(struct kernel_thread *kernel_thread, const struct timeline_event *event)
{
    struct timeline_mark *mark = mark_of(kernel_thread);
    ledger_ref thread = ledger__ref(kernel_thread->setup->ledger, kernel_thread->thread);

    if (mark->told != thread || mark->told_id != event->java_id) {
        write_name(kernel_thread, event->at_ns);
        mark->told = thread;
        mark->told_id = event->java_id;
    }
    timeline__write(kernel_thread->setup->timeline, event);
}

void thread_timeline__wait(struct kernel_thread *kernel_thread, enum ledger_metric reason)
{
    struct timeline_event event;

    describe(kernel_thread, &event, TIMELINE_WAIT);
    event.reason = (uint16_t)reason;
    event.at_ns = timeline__now_ns();
    write_event(kernel_thread, &event);
}

void thread_timeline__waited(struct kernel_thread *kernel_thread, enum ledger_metric reason)
{
    struct timeline_event event;

    describe(kernel_thread, &event, TIMELINE_WAITED);
    event.reason = (uint16_t)reason;
    event.at_ns = timeline__now_ns();
    write_event(kernel_thread, &event);
}

void thread_timeline__lock(struct kernel_thread *kernel_thread, const struct timeline_lock *lock)
{
    struct timeline_event event;

    describe(kernel_thread, &event, TIMELINE_LOCK);
    event.lock = *lock;
    event.at_ns = timeline__now_ns();
    write_event(kernel_thread, &event);
}

/* ---- calls ---- */

/* Within the timeline's bracket. NULL: there is no room. */
static struct timeline_open_call *call_at(struct kernel_thread *kernel_thread, uint64_t token)
{
    struct timeline_mark *mark = mark_of(kernel_thread);

    if (!mark->has_calls)
        mark->calls = timeline__take_calls(kernel_thread->setup->timeline);
    mark->has_calls = true;
    return mark->calls ? &mark->calls->open[token & (TIMELINE_CALL_DEPTH - 1)] : NULL;
}

void thread_timeline__entered(struct kernel_thread *kernel_thread, ledger_ref method,
                              uint64_t token, uint64_t now_ns)
{
    struct timeline *timeline = kernel_thread->setup->timeline;
    struct timeline_open_call *call;
    uint32_t place;

    if (!timeline__enter(timeline, &place))
        return;
    call = call_at(kernel_thread, token);
    if (call) {
        call->entered_ns = now_ns;
        call->token = token;
        call->thread = ledger__ref(kernel_thread->setup->ledger, kernel_thread->thread);
        call->method = method;
    }
    timeline__exit(timeline, place);
}

static void write_call(struct kernel_thread *kernel_thread, ledger_ref method, uint64_t length_ns,
                       uint64_t now_ns)
{
    struct timeline_event event;

    describe(kernel_thread, &event, TIMELINE_CALL);
    event.at_ns = timeline__now_ns();
    event.call.method = method;
    event.call.length_ns = length_ns;
    event.call.left_ns = now_ns;
    write_event(kernel_thread, &event);
}

void thread_timeline__left(struct kernel_thread *kernel_thread, uint64_t token, uint64_t now_ns)
{
    struct timeline *timeline = kernel_thread->setup->timeline;
    struct timeline_open_call *call, found = {0};
    uint32_t place;

    if (!timeline__enter(timeline, &place))
        return;
    call = call_at(kernel_thread, token);
    if (call && call->token == token && call->entered_ns) {
        found = *call;
        call->entered_ns = 0;
    } else if (!call) {
        timeline__count_unseen(timeline, place);
    }
    timeline__exit(timeline, place);
    if (found.entered_ns && found.method && now_ns - found.entered_ns >= timeline->calls_above_ns &&
        now_ns > found.entered_ns &&
        found.thread == ledger__ref(kernel_thread->setup->ledger, kernel_thread->thread))
        write_call(kernel_thread, found.method, now_ns - found.entered_ns, now_ns);
}
