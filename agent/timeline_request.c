#include "agent/timeline_request.h"

#include "agent/agent.h"
#include "agent/host/jvmti_event.h"
#include "agent/host/log.h"
#include "native/proc/process_stat.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LIVE_SUFFIX ".live"

/* The least threshold: to write a call that long takes some two thousandths of it. */
#define CALLS_NS_LEAST UINT64_C(100000)

/* What a call in a timeline costs, and how many of them may be open at a time in a thread, each of
 * the threshold's length: they are to take a quarter of what overhead= allows. */
#define CALL_COST_NS UINT64_C(100)
#define CALLS_OPEN   UINT64_C(32)
#define BUDGET_PART  UINT64_C(4)
#define MILLION      UINT64_C(1000000)

/* What the timeline's pauses need of the JVM; that it is not there already is no error. */
static void hear_pauses(struct agent *agent, bool on)
{
    jvmtiCapabilities wanted = {.can_generate_garbage_collection_events = 1};

    if (on)
        (void)(*agent->jvmti)->AddCapabilities(agent->jvmti, &wanted);
    (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_GARBAGE_COLLECTION_START, on);
    (void)jvmti_event__set(agent->jvmti, JVMTI_EVENT_GARBAGE_COLLECTION_FINISH, on);
}

static uint64_t calls_above_ns(const struct agent *agent, const struct agent_options *request)
{
    uint64_t ppm = agent->options.overhead_ppm, ns = CALLS_NS_LEAST;

    if (request->timeline_calls_ns)
        return request->timeline_calls_ns;
    if (ppm && CALL_COST_NS * CALLS_OPEN * BUDGET_PART * MILLION / ppm > ns)
        ns = CALL_COST_NS * CALLS_OPEN * BUDGET_PART * MILLION / ppm;
    return ns;
}

static int make_path(const struct agent *agent, char *path, size_t path_bytes)
{
    size_t length = strlen(agent->ledger.path), cut = sizeof(LIVE_SUFFIX) - 1;

    if (length < cut || strcmp(agent->ledger.path + length - cut, LIVE_SUFFIX) != 0)
        return -ENOENT;
    if ((size_t)snprintf(path, path_bytes, "%.*s%s", (int)(length - cut), agent->ledger.path,
                         TIMELINE_SUFFIX) >= path_bytes)
        return -ENAMETOOLONG;
    return 0;
}

int timeline_request__begin(struct agent *agent, const struct agent_options *request)
{
    struct timeline_wish wish = {
        .bytes = request->timeline_bytes,
        .for_ns = request->timeline_for_ns,
        .calls_above_ns = calls_above_ns(agent, request),
        .has_waits = agent->options.waits,
        .has_calls = agent->options.events == LEDGER_EVENTS_INSTRUMENT,
        .time = &agent->setup.time,
    };
    char path[PATH_MAX];
    int error = make_path(agent, path, sizeof(path));

    (void)process_start__read(getpid(), &wish.start_ticks);
    /* Before the timeline begins: a tool that sees its file may count on them. */
    if (!error)
        hear_pauses(agent, true);
    if (!error)
        error = timeline__begin(&agent->timeline, path, &wish);
    if (error && error != -EALREADY)
        hear_pauses(agent, false);
    if (error == -EALREADY)
        log__line(LOG_ERROR, "a timeline of this JVM is being recorded already");
    else if (error == -ENOSPC)
        log__line(LOG_ERROR,
                  "timeline=: no room for %s: %" PRIu64 " bytes of events, and a sixteenth of the "
                  "file system stays free; ask for less",
                  path, wish.bytes);
    else if (error)
        log__line(LOG_ERROR, "timeline=: cannot make %s: %s", path, strerror(-error));
    return error;
}

int timeline_request__end(struct agent *agent)
{
    int error = timeline__end(&agent->timeline);

    if (error)
        log__line(LOG_ERROR, "no timeline of this JVM is being recorded");
    else
        hear_pauses(agent, false);
    return error;
}

int timeline_request__answer(struct agent *agent, const struct agent_options *request)
{
    return request->timeline_bytes ? timeline_request__begin(agent, request)
                                   : timeline_request__end(agent);
}

/* Two may come here at once, with attach_lock or without it: the lock decides, and who finds it
 * taken leaves the end to the next look. */
void timeline_request__look(struct agent *agent)
{
    if (!timeline__is_over(&agent->timeline) || pthread_mutex_trylock(&agent->attach_lock) != 0)
        return;
    if (timeline__is_over(&agent->timeline)) {
        (void)timeline__end(&agent->timeline);
        hear_pauses(agent, false);
    }
    pthread_mutex_unlock(&agent->attach_lock);
}

/* A request that is under way ends it, or its file stays with those of killed processes. */
void timeline_request__end_with_jvm(struct agent *agent)
{
    if (pthread_mutex_trylock(&agent->attach_lock) != 0)
        return;
    (void)timeline__end(&agent->timeline);
    pthread_mutex_unlock(&agent->attach_lock);
}

/* The JVM stands still: one pause at a time. */
void timeline_request__pause_begins(struct agent *agent)
{
    agent->pause_began_ns = timeline__now_ns();
}

void timeline_request__pause_ended(struct agent *agent)
{
    struct timeline_event event = {.kind = TIMELINE_GC,
                                   .tid = gettid(),
                                   .thread_kind = THREAD_VM,
                                   .at_ns = timeline__now_ns()};

    if (!agent->pause_began_ns)
        return;
    event.call.length_ns = event.at_ns - agent->pause_began_ns;
    agent->pause_began_ns = 0;
    timeline__write(&agent->timeline, &event);
}
