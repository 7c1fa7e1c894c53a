/* The model of test_mount_states.c, what of the world belongs to a state, and how they are
 * compared. */
#ifndef TREADLE_TEST_MOUNT_MODEL_H
#define TREADLE_TEST_MOUNT_MODEL_H

#include "burn.h"
#include "java_world.h"
#include "native/thread/virtual_thread.h"

#include <stdio.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB         (UINT64_C(1) << 20)
#define CARRIERS    2
#define VIRTUALS    3
#define THREADS     (CARRIERS + VIRTUALS) /* the carriers' own come first */
#define LENGTH_MOST 20
#define DEPTH_MOST  8 /* of frames in a thread */
#define CHUNKS_MOST 16
#define NOBODY      (-1)

/* A context is a chain of calls: the one at depth d has the letter 'A' + d, and the first of an
 * epoch hangs below the root. */
#define CONTEXTS (DEPTH_MOST * DEPTH_MOST)

struct model_thread {
    uint64_t calls[CONTEXTS];
    uint64_t cpu_ns[CONTEXTS];
    uint64_t root_cpu_ns;
    uint64_t tokens[DEPTH_MOST]; /* of its frames, what the hooks were given */
    int depth;                   /* its frames */
    int start;                   /* those below are none of this epoch's */
    uint64_t mounts;
    bool begun; /* heard of */
    bool waits; /* was heard to be unmounted, not to be mounted since */
    bool over;
    bool over_unheard;
};

static inline size_t context(uint64_t start, uint64_t depth)
{
    return start * DEPTH_MOST + depth;
}

struct model {
    struct model_thread threads[THREADS];
    int mounted[CARRIERS]; /* the virtual thread on it, or NOBODY */
    int left[CARRIERS];    /* the one that was unmounted by the last step, or NOBODY */
    bool met[CARRIERS];    /* an event has told who runs there, in this epoch */
    bool profiling;
    int virtuals; /* that ran; they are all alike, and so are the carriers: */
    bool begun;   /* the first one's turn comes first */
};

/* All that a step may change. */
struct play {
    struct model model;
    struct kernel_thread carriers[CARRIERS];
    ledger_ref refs[THREADS];
    struct ledger ledger;
    uint32_t epoch;
    uint32_t epochs;
};

struct saved {
    struct play play;
    uint32_t chunks;
    char bytes[CHUNKS_MOST * LEDGER_CHUNK_BYTES];
};

enum step_kind {
    MOUNT,
    UNMOUNT,
    END,
    CALL,
    RETURN,
    STOP_OR_START,
    STEP_KINDS,
};

struct step {
    enum step_kind kind;
    int carrier;
    int thread; /* virtual */
};

static struct play now;
static struct java_world *world;
static struct step path[LENGTH_MOST];
static int path_length;

/* ---- what a failure tells ---- */

static inline const char *path_text(void)
{
    static const char *const names[STEP_KINDS] = {"mount", "unmount", "end",
                                                  "call",  "return",  "stop/start"};
    static char text[512];
    size_t used = 0;
    for (int i = 0; i < path_length; i++) {
        const struct step *step = &path[i];
        used += (size_t)snprintf(text + used, sizeof text - used, " %s", names[step->kind]);
        if (step->kind == MOUNT || step->kind == END)
            used += (size_t)snprintf(text + used, sizeof text - used, " v%d",
                                     step->thread - CARRIERS + 1);
        if (step->kind != STOP_OR_START)
            used += (size_t)snprintf(text + used, sizeof text - used, " on %d", step->carrier);
        text[used++] = ';';
        text[used] = '\0';
    }
    return text;
}

#define CHECK_EQUAL(what, thread, have, want)                                                      \
    do {                                                                                           \
        uint64_t have_ = (have), want_ = (want);                                                   \
        if (have_ != want_)                                                                        \
            fail_msg("%s of thread %d: %llu, not %llu, after:%s", what, thread,                    \
                     (unsigned long long)have_, (unsigned long long)want_, path_text());           \
    } while (0)

/* ---- keeping and bringing back ---- */

static inline void keep(struct saved *to)
{
    const struct ledger_header *header = world->ledger.header;
    assert_true(header->chunks_used <= CHUNKS_MOST);
    now.ledger = world->ledger;
    now.epoch = world->setup.epoch;
    to->chunks = header->chunks_used;
    memcpy(to->bytes, world->ledger.base, (size_t)to->chunks * LEDGER_CHUNK_BYTES);
    memcpy(&to->play, &now, sizeof now);
}

static inline void bring_back(const struct saved *from)
{
    size_t used = (size_t)world->ledger.header->chunks_used * LEDGER_CHUNK_BYTES;
    size_t kept = (size_t)from->chunks * LEDGER_CHUNK_BYTES;
    memcpy(world->ledger.base, from->bytes, kept);
    memset(world->ledger.base + kept, 0, used - kept);
    memcpy(&now, &from->play, sizeof now);
    world->ledger = now.ledger;
    world->setup.epoch = now.epoch;
}

static inline bool is_as_kept(const struct saved *as)
{
    return world->ledger.header->chunks_used == as->chunks &&
           memcmp(world->ledger.base, as->bytes, (size_t)as->chunks * LEDGER_CHUNK_BYTES) == 0 &&
           memcmp(now.carriers, as->play.carriers, sizeof now.carriers) == 0;
}

/* ---- comparing ---- */

static inline struct ledger_thread *thread_of(const struct ledger *ledger, int thread)
{
    return ledger__at(ledger, now.refs[thread]);
}

/* The tree's sums, as far as its nodes are what the model can have. */
static inline void read_tree(const struct ledger *ledger, ledger_ref root,
                             struct model_thread *into)
{
    into->root_cpu_ns += node_at(ledger, root)->cpu_ns;
    for (ledger_ref top = node_at(ledger, root)->first_child; top != 0;
         top = node_at(ledger, top)->next_sibling) {
        uint64_t start = node_at(ledger, top)->key - 'A', depth = start;
        for (ledger_ref ref = top; ref != 0; ref = node_at(ledger, ref)->first_child, depth++) {
            const struct ledger_node *node = node_at(ledger, ref);
            if (depth >= DEPTH_MOST || node->key != 'A' + depth ||
                (ref != top && node->next_sibling != 0))
                fail_msg("a call that was none, after:%s", path_text());
            into->calls[context(start, depth)] += node->calls;
            into->cpu_ns[context(start, depth)] += node->cpu_ns;
        }
    }
}

static inline void add(struct model_thread *to, const struct model_thread *more)
{
    to->mounts += more->mounts;
    to->root_cpu_ns += more->root_cpu_ns;
    for (size_t i = 0; i < CONTEXTS; i++) {
        to->calls[i] += more->calls[i];
        to->cpu_ns[i] += more->cpu_ns[i];
    }
}

static inline uint64_t cpu_of(const struct model_thread *thread)
{
    uint64_t sum_ns = thread->root_cpu_ns;
    for (size_t i = 0; i < CONTEXTS; i++)
        sum_ns += thread->cpu_ns[i];
    return sum_ns;
}

static inline void compare_tree(int thread, const struct model_thread *have,
                                const struct model_thread *want, bool with_cpu)
{
    for (size_t i = 0; i < CONTEXTS; i++) {
        CHECK_EQUAL("calls", thread, have->calls[i], want->calls[i]);
        if (with_cpu)
            CHECK_EQUAL("CPU of a call", thread, have->cpu_ns[i], want->cpu_ns[i]);
        else if (have->cpu_ns[i] < want->cpu_ns[i])
            fail_msg("CPU of a call of thread %d got less, after:%s", thread, path_text());
    }
    if (with_cpu)
        CHECK_EQUAL("CPU of the root", thread, have->root_cpu_ns, want->root_cpu_ns);
}

static inline void compare_facts(const struct ledger *ledger, int thread)
{
    const struct model_thread *want = &now.model.threads[thread];
    const struct ledger_thread *have = thread_of(ledger, thread);
    bool over = want->over && !want->over_unheard;
    CHECK_EQUAL("mounts", thread, have->mounts, want->mounts);
    CHECK_EQUAL("flags", thread, have->flags, over ? THREAD_TERMINATED : 0);
    CHECK_EQUAL("kind", thread, have->kind, thread < CARRIERS ? THREAD_CARRIER : THREAD_VIRTUAL);
    CHECK_EQUAL("waiting", thread, have->unmounted_ns != 0, want->waits);
    CHECK_EQUAL("end", thread, have->end_ns != 0, over);
}

static inline int runner(int carrier)
{
    return now.model.mounted[carrier] != NOBODY ? now.model.mounted[carrier] : carrier;
}

/* The node where the model says that a thread stands. */
static inline ledger_ref place_of(const struct ledger *ledger, int thread)
{
    const struct model_thread *at = &now.model.threads[thread];
    ledger_ref ref = thread_of(ledger, thread)->root;
    for (int depth = at->start; depth < at->depth && ref != 0; depth++)
        ref = child_of(ledger, ref, 'A' + (uint64_t)depth);
    return ref;
}

/* Those that wait wait there, if they came to it since the last start. */
static inline void compare_waiting(const struct ledger *ledger)
{
    for (int t = CARRIERS; t < THREADS; t++) {
        const struct ledger_thread *have = thread_of(ledger, t);
        if (now.model.threads[t].waits && now.model.profiling && have->token >> 32 == now.epochs)
            CHECK_EQUAL("where it waits", t, have->current, place_of(ledger, t));
    }
}

static inline void compare_current(const struct ledger *ledger)
{
    compare_waiting(ledger);
    for (int k = 0; k < CARRIERS; k++) {
        ledger_ref record = ledger__ref(&world->ledger, now.carriers[k].record);
        const struct ledger_kernel_thread *have = ledger__at(ledger, record);
        if (!now.model.profiling || !now.model.met[k])
            continue;
        CHECK_EQUAL("the one that runs", k, have->thread, now.refs[runner(k)]);
        CHECK_EQUAL("where it stands", k, have->current, place_of(ledger, runner(k)));
    }
}

/* Those that are over and were folded, in rows that have no thread of the model. */
static inline uint64_t compare_folded(const struct ledger *ledger)
{
    struct model_thread have = {0}, want = {0};
    uint64_t members = 0, wanted_members = 0;
    ledger_ref ref = 0;
    while ((ref = ledger__next(ledger, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger__at(ledger, ref);
        if ((thread->flags & THREAD_GROUP) == 0)
            continue;
        read_tree(ledger, thread->root, &have);
        have.mounts += thread->mounts;
        members += thread->members;
    }
    for (int t = CARRIERS; t < THREADS; t++)
        if (now.model.threads[t].begun && now.refs[t] == 0) {
            add(&want, &now.model.threads[t]);
            wanted_members++;
        }
    compare_tree(THREADS, &have, &want, false);
    CHECK_EQUAL("mounts", THREADS, have.mounts, want.mounts);
    CHECK_EQUAL("members", THREADS, members, wanted_members);
    return cpu_of(&have);
}

/* All CPU in the trees. */
static inline uint64_t compare_threads(const struct ledger *ledger, bool with_cpu)
{
    uint64_t sum_ns = compare_folded(ledger);
    for (int t = 0; t < THREADS; t++) {
        struct model_thread have = {0};
        if (now.refs[t] == 0)
            continue;
        read_tree(ledger, thread_of(ledger, t)->root, &have);
        compare_tree(t, &have, &now.model.threads[t], with_cpu);
        compare_facts(ledger, t);
        sum_ns += cpu_of(&have);
    }
    return sum_ns;
}

static inline uint64_t charged_ns(int carrier)
{
    return now.carriers[carrier].record->charged_cpu_ns;
}

static inline void compare_all(void)
{
    const struct ledger_header *header = world->ledger.header;
    CHECK_EQUAL("CPU in all trees", THREADS, compare_threads(&world->ledger, true),
                charged_ns(0) + charged_ns(1));
    compare_current(&world->ledger);
    CHECK_EQUAL("losses", THREADS,
                header->dropped_enters + header->dropped_threads + header->calls_lost +
                    header->resynchronised,
                0);
}

#endif
