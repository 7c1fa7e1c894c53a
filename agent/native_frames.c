/* Knows the one agent: callers pass nothing of ours. */
#include "agent/native_frames.h"

#include "agent/activity_hooks.h"
#include "agent/activity_parts.h"
#include "agent/agent.h"
#include "agent/hooks.h"
#include "agent/host/log.h"
#include "native/activity/inside_handover.h"
#include "native/activity/mapped_once.h"
#include "native/thread/kernel_thread_events.h"
#include "native/thread/open_calls.h"
#include "native/thread/thread_parts.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FRAMES_MAX   64u
#define CALLERS_MAX  1024u
#define NO_MARK      UINT64_MAX
#define BREAK_SIGNAL (UINT64_C(1) << (SIGQUIT - 1)) /* HotSpot blocks it in Java threads */

struct native_frame {
    uint64_t place;                 /* of the pusher's stack; 0: not known */
    uint64_t token;                 /* of activity_hooks__push or __push_named */
    const struct ledger_node *node; /* the frame's; a folded frame's: where the tree continued */
    uint64_t mark, segment_mark;
    bool has_part; /* of a chain */
    bool
        is_over; /* in the tree: of another Java thread or epoch; its mark is still the segment's */
};

/* Of one kernel thread, which alone uses it. The entry of the kernel thread keeps it for ever. */
struct native_frames {
    const struct ledger_thread *thread; /* whose frames these are */
    uint32_t epoch;                     /* in which they were pushed */
    uint32_t depth;
    uint64_t start_ns;      /* when that thread began: its record may be used again */
    uint32_t unrecorded;    /* lost pushes that were not popped yet */
    uint64_t unrecorded_at; /* the place of the outermost of these */
    uint64_t marks;         /* given so far */
    struct native_frame frames[FRAMES_MAX];
};

/* The thread is in one of these functions: where its frame is; else 0. */
static __thread uintptr_t busy __attribute__((tls_model("initial-exec")));

#define HERE() ((uintptr_t)__builtin_frame_address(0))

static bool is_on_handlers_stack(void)
{
    stack_t now;

    return sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_ONSTACK;
}

/* False: a handler has interrupted one of these functions. One that a handler left by longjmp lies
 * further in than this one, where both are on the thread's own stack. */
static bool begin(uintptr_t frame)
{
    if (busy && (busy >= frame || is_on_handlers_stack()))
        return false;
    busy = frame;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return true;
}

static void end(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    busy = 0;
}

static bool is_named(void)
{
    return treadle_agent.options.events == LEDGER_EVENTS_JVMTI;
}

/* Asks the kernel, since libc hides the signals that libc uses itself. */
static uint64_t blocked_signals(void)
{
    uint64_t blocked = 0;

    (void)syscall(SYS_rt_sigprocmask, SIG_BLOCK, NULL, &blocked, sizeof(blocked));
    return blocked;
}

/* A handler may have interrupted a hook: signals are blocked that are not always. Of a thread that
 * the agent has not seen yet, what is not blocked at first in the thread that began the program
 * counts. */
static bool is_handler(const struct kernel_thread *thread, uint64_t blocked)
{
    uint64_t unblocked = thread ? thread->unblocked_signals : 0;

    return (unblocked ? unblocked : treadle_agent.unblocked_signals) & blocked;
}

/* A handler has interrupted an event of the thread that is changing the tree. */
static bool is_in_event(struct kernel_thread *thread, uintptr_t frame)
{
    uintptr_t event = thread ? thread->busy : 0;

    if (thread && kernel_thread__counts(thread) && kernel_thread__is_moving(thread))
        return true;
    return event && (event >= frame || is_on_handlers_stack());
}

void native_frames__note_thread(struct agent *agent)
{
    struct kernel_thread *mine = kernel_thread_table__mine();
    uint64_t unblocked = ~blocked_signals();

    if (!agent->unblocked_signals)
        agent->unblocked_signals = unblocked & ~BREAK_SIGNAL;
    if (mine)
        mine->unblocked_signals |= unblocked;
}

/* The thread's frames, made at its first push; NULL: there is no memory. */
static struct native_frames *frames_of(struct kernel_thread *mine)
{
    void *had = mine->native_frames;
    void *has = mapped_once__at(&mine->native_frames, sizeof(struct native_frames));

    if (!had && has)
        atomic_fetch_add_explicit(&treadle_agent.native_stacks, 1, memory_order_relaxed);
    return has;
}

size_t native_frames__bytes(const struct agent *agent)
{
    return atomic_load_explicit(&agent->native_stacks, memory_order_relaxed) *
           sizeof(struct native_frames);
}

/* The marks of frames of another Java thread or epoch may still come. */
static void forget_old(struct native_frames *mine, const struct kernel_thread *thread)
{
    if (mine->thread == thread->thread && mine->epoch == thread->epoch &&
        mine->start_ns == thread->thread->start_ns)
        return;
    mine->thread = thread->thread;
    mine->start_ns = thread->thread->start_ns;
    mine->epoch = thread->epoch;
    mine->unrecorded = 0;
    for (uint32_t i = 0; i < mine->depth; i++)
        mine->frames[i].is_over = true;
}

/* There may be no pops of frames that are over in the tree: they give way to others. */
static void make_room(struct native_frames *mine)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < mine->depth; i++)
        if (!mine->frames[i].is_over)
            mine->frames[kept++] = mine->frames[i];
    mine->depth = kept;
}

/* False: nothing can be done in this thread now. */
static bool is_ready(JNIEnv **jni)
{
    const struct agent *agent = &treadle_agent;

    if (__atomic_load_n(&agent->setup.epoch, __ATOMIC_ACQUIRE) == EPOCH_STOPPED ||
        (*agent->vm)->GetEnv(agent->vm, (void **)jni, JNI_VERSION_1_6) != JNI_OK)
        return false;
    /* A thread that is not identified yet calls the JVM: not with an exception. */
    return kernel_thread_table__mine() || !(**jni)->ExceptionCheck(*jni);
}

/* The method around the frame may have returned. */
static bool stands(const struct call_tree *tree, const struct native_frame *frame)
{
    return call_tree__stands(tree, frame->token, frame->node, CALLERS_MAX);
}

uint64_t native_frames__place(const struct kernel_thread *mine)
{
    const struct native_frames *frames = mine->native_frames;
    const struct native_frame *youngest =
        frames && frames->depth ? &frames->frames[frames->depth - 1] : NULL;

    if (!youngest || youngest->is_over || youngest->node != mine->tree.current ||
        !ledger_key__is_logical(youngest->node->key) || frames->epoch != mine->epoch ||
        frames->thread != mine->thread)
        return 0;
    return youngest->place;
}

static void leave_node(struct kernel_thread *thread, const struct native_frame *frame, bool is_now)
{
    ledger_ref node = (ledger_ref)(frame->token & UINT32_MAX);

    if (frame->has_part && is_now)
        activity_parts__leave_node(thread, node);
    else
        kernel_thread__leave_node(thread, node);
}

/* The fast way does not look at parts of chains, and those end with a look at the kernel's clock.
 */
static void leave(struct kernel_thread *thread, uint64_t token, bool is_now)
{
    if (!is_now)
        open_calls__give_up(thread, token);
    if (!thread->open_calls.top) {
        kernel_thread__pop(thread, token);
        return;
    }
    kernel_thread__charge_slowly(thread);
    kernel_thread__pop_slowly(thread, token);
}

/* The frames from that one on are over; that one ends now, or ended before. */
static void drop(struct native_frames *mine, struct kernel_thread *thread, uint32_t depth,
                 bool is_now)
{
    uint32_t at = depth;

    if (is_named()) {
        for (uint32_t frame = mine->depth; frame > depth; frame--)
            if (!mine->frames[frame - 1].is_over)
                leave_node(thread, &mine->frames[frame - 1], is_now && frame == depth + 1);
        mine->depth = depth;
        return;
    }
    while (at < mine->depth &&
           (mine->frames[at].is_over || !stands(&thread->tree, &mine->frames[at])))
        at++;
    if (at < mine->depth)
        leave(thread, mine->frames[at].token, is_now && at == depth); /* and all above */
    mine->depth = depth;
}

/* Drops what is over when a frame at that place is pushed or popped. Of frames whose place is not
 * known nothing can be said, nor of those around them. */
static void drop_dead(struct native_frames *mine, struct kernel_thread *thread, uint64_t place)
{
    uint32_t alive = mine->depth;

    while (alive && !is_named() && !mine->frames[alive - 1].is_over &&
           mine->frames[alive - 1].token >= thread->tree.token)
        mine->depth = --alive; /* the method around the frame has returned */
    while (place && alive && mine->frames[alive - 1].place && mine->frames[alive - 1].place < place)
        alive--;
    if (alive < mine->depth)
        drop(mine, thread, alive, false);
}

/* A place above the thread's own stack, such as one of a handler's stack, says nothing. The control
 * block of a thread lies at the upper end of its stack, but for the program's first thread. */
static uint64_t known_place(uint64_t place)
{
    if (place < (uint64_t)(uintptr_t)pthread_self() ||
        (place < getauxval(AT_RANDOM) && gettid() == getpid()))
        return place;
    return 0;
}

/* A push is lost whose pop will come. */
static treadle_mark lose(struct native_frames *mine, uint64_t place, treadle_mark mark)
{
    if (mine && (!mine->unrecorded++ || place > mine->unrecorded_at))
        mine->unrecorded_at = place;
    ledger__count(&treadle_agent.ledger.header->lost_frames, 1);
    return mark;
}

/* Whether what is popped there is a frame whose push was lost. The pop of such a frame may fail to
 * come: the pop of a function further out is not it. */
static bool was_lost(struct native_frames *mine, uint64_t place)
{
    if (!mine->unrecorded)
        return false;
    if (place && mine->unrecorded_at && place > mine->unrecorded_at) {
        mine->unrecorded = 0;
        return false;
    }
    mine->unrecorded--;
    return true;
}

static treadle_mark record(struct native_frames *mine, struct kernel_thread *thread, JNIEnv *jni,
                           const struct treadle_pushed *pushed, treadle_mark mark)
{
    struct ledger_header *header = treadle_agent.ledger.header;
    int32_t number = pushed_frames__number(&treadle_agent.pushed_frames, pushed, header);
    struct native_frame *frame;
    jlong token = HOOK_TOKEN_NONE;

    if (mine->depth == FRAMES_MAX)
        make_room(mine);
    frame = &mine->frames[mine->depth];
    if (number >= 0 && mine->depth < FRAMES_MAX)
        token = is_named() ? activity_hooks__push_named(jni, NULL, number)
                           : activity_hooks__push(jni, NULL, number);
    if (token == HOOK_TOKEN_NONE)
        return lose(mine, known_place(pushed->place), mark);
    if (pushed->what & TREADLE_CUT)
        ledger__count(&header->cut_parameters, 1);
    *frame = (struct native_frame){.place = known_place(pushed->place),
                                   .token = (uint64_t)token,
                                   .node = thread->tree.current,
                                   .mark = TREADLE_INSIDE_MARK | ++mine->marks,
                                   .segment_mark = mark};
    mine->depth++;
    return frame->mark;
}

static treadle_mark push_now(const struct treadle_pushed *pushed, treadle_mark mark)
{
    struct kernel_thread *thread = kernel_thread_table__mine();
    uint64_t place = known_place(pushed->place), blocked = blocked_signals();
    struct native_frames *mine;
    JNIEnv *jni;

    if (is_handler(thread, blocked) || is_in_event(thread, HERE())) {
        ledger__count(&treadle_agent.ledger.header->lost_frames, 1);
        return mark;
    }
    if (!is_ready(&jni))
        return mark;
    thread =
        hooks__ready(jni, place ? (uintptr_t)place : (uintptr_t)__builtin_frame_address(0), true);
    mine = thread ? frames_of(thread) : NULL;
    if (!mine)
        return lose(NULL, place, mark);
    thread->unblocked_signals |= ~blocked;
    forget_old(mine, thread);
    drop_dead(mine, thread, place);
    if (place > mine->unrecorded_at)
        mine->unrecorded = 0;
    return record(mine, thread, jni, pushed, mark);
}

static treadle_mark push(const struct treadle_pushed *pushed, treadle_mark mark)
{
    int error = errno;

    if (__atomic_load_n(&treadle_agent.setup.epoch, __ATOMIC_ACQUIRE) == EPOCH_STOPPED)
        return mark;
    if (begin(HERE())) {
        mark = push_now(pushed, mark);
        end();
    } else {
        ledger__count(&treadle_agent.ledger.header->lost_frames, 1);
    }
    errno = error;
    return mark;
}

/* The calling thread's frames if they may change, else NULL: not in a handler, whose pushes were
 * lost. */
static struct native_frames *all_frames(struct kernel_thread **thread)
{
    struct native_frames *mine;

    *thread = kernel_thread_table__mine();
    mine = *thread ? (*thread)->native_frames : NULL;
    return mine && !is_handler(*thread, blocked_signals()) && !is_in_event(*thread, HERE()) ? mine
                                                                                            : NULL;
}

/* The same while they count. */
static struct native_frames *my_frames(struct kernel_thread **thread)
{
    struct native_frames *mine = all_frames(thread);

    if (!mine || !kernel_thread__counts(*thread))
        return NULL;
    forget_old(mine, *thread);
    return mine;
}

/* Where frames were over, the youngest that is left is another function's, unless the place says
 * that it is the popping one's. */
static void pop_now(uint64_t place)
{
    struct kernel_thread *thread;
    struct native_frames *mine = my_frames(&thread);
    uint32_t youngest;

    if (!mine || was_lost(mine, place))
        return;
    youngest = mine->depth;
    drop_dead(mine, thread, place);
    if (mine->depth && (mine->depth == youngest || mine->frames[mine->depth - 1].place == place))
        drop(mine, thread, mine->depth - 1, true);
}

static void pop(uint64_t place)
{
    int error = errno;

    if (!begin(HERE()))
        return;
    pop_now(known_place(place));
    end();
    errno = error;
}

/* 1 + the index of the frame with that mark; 0: there is none. */
static uint32_t marked(const struct native_frames *mine, treadle_mark mark)
{
    for (uint32_t at = mine->depth; at; at--)
        if (mine->frames[at - 1].mark == mark)
            return at;
    return 0;
}

static treadle_mark pop_to_now(treadle_mark mark)
{
    struct kernel_thread *thread;
    struct native_frames *mine = all_frames(&thread);
    uint32_t found = mine ? marked(mine, mark) : 0;

    if (mine)
        mine->unrecorded = 0;
    if (found && my_frames(&thread))
        drop(mine, thread, found - 1, true);
    else if (found)
        mine->depth = found - 1;
    return found ? mine->frames[found - 1].segment_mark : NO_MARK;
}

static treadle_mark pop_to(treadle_mark mark)
{
    treadle_mark of_segment = NO_MARK;
    int error = errno;

    if (!begin(HERE()))
        return of_segment;
    of_segment = pop_to_now(mark);
    end();
    errno = error;
    return of_segment;
}

static treadle_mark find(treadle_mark mark)
{
    const struct kernel_thread *thread = kernel_thread_table__mine();
    const struct native_frames *mine = thread ? thread->native_frames : NULL;
    uint32_t found = mine ? marked(mine, mark) : 0;

    return found ? mine->frames[found - 1].segment_mark : NO_MARK;
}

static void adopt_now(treadle_mark mark, struct treadle_chain id, uint32_t flags)
{
    struct kernel_thread *thread;
    struct native_frames *mine = my_frames(&thread);
    struct native_frame *frame;
    uint64_t token;

    if (!(id.word[0] | id.word[1]) || !mine || !mine->depth)
        return;
    frame = &mine->frames[mine->depth - 1];
    if (frame->mark != mark || frame->is_over || frame->has_part ||
        thread->tree.current != frame->node || (flags & TREADLE_PART_OTEL && mine->depth > 1))
        return;
    token = is_named() ? activity_parts__token_of(thread, (jlong)frame->token) : frame->token;
    kernel_thread__charge_slowly(thread);
    frame->has_part = thread_parts__begin(thread, &treadle_agent.chain_parts, id.word,
                                          flags & TREADLE_PART_OTEL ? PART_OTEL : 0, token);
}

static void adopt(treadle_mark mark, struct treadle_chain id, uint32_t flags)
{
    int error = errno;

    if (!begin(HERE()))
        return;
    adopt_now(mark, id, flags);
    end();
    errno = error;
}

/* Also that of a frame of treadle.Activity. Not in a handler, which may have interrupted the begin
 * of a part. */
static struct treadle_chain current(void)
{
    struct kernel_thread *thread = kernel_thread_table__mine();
    const struct ledger_part *part = NULL;
    struct treadle_chain id = {{0, 0}};

    if (thread && !busy && !is_handler(thread, blocked_signals()) && kernel_thread__counts(thread))
        part = open_calls__part(thread);
    if (part)
        id = (struct treadle_chain){{part->id[0], part->id[1]}};
    return id;
}

/* What was preloaded may stand before the exported names, also in this library. */
static const struct treadle_inside own_inside = {
    .push = push, .pop = pop, .pop_to = pop_to, .find = find};
static const struct treadle_inside_ids own_ids = {.adopt = adopt, .current = current};

extern const struct treadle_inside treadle_inside_v1 __attribute__((alias("own_inside")));
extern const struct treadle_inside_ids treadle_inside_ids_v1 __attribute__((alias("own_ids")));

/* The JVM loads agents for themselves alone. The agent needs libc only, so nothing else becomes
 * visible. What was preloaded is found before the agent all the same. */
void native_frames__announce(void)
{
    inside_handover *preloaded =
        (inside_handover *)(uintptr_t)dlsym(RTLD_DEFAULT, INSIDE_HANDOVER_NAME);
    Dl_info mine;

    if (preloaded)
        preloaded(&own_inside, &own_ids);
    if (dladdr(&own_inside, &mine) && dlopen(mine.dli_fname, RTLD_NOLOAD | RTLD_LAZY | RTLD_GLOBAL))
        return;
    log__line(LOG_WARN, "frames that native libraries push with treadle.h are not recorded: the "
                        "dynamic linker does not find the agent");
}
