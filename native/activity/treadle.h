/*
 * Treadle's logical stacks: a program says in words of its own where it is, and `treadle sample
 * PID` shows from outside how its threads divide their time between these words.
 *
 *     treadle_push("sort");                   a frame: an identifier …
 *     treadle_push_with("scan", "ORDERS");    … with a parameter: a short text …
 *     treadle_push_number("batch", 42);       … or a number
 *     treadle_pop();                          ends the youngest frame
 *     treadle_scope("commit");                a frame up to the end of the block
 *     treadle_scope_with("scan", "ORDERS");
 *     treadle_scope_number("batch", 42);
 *     treadle_pop_to(mark);                   ends the frame whose push returned the mark, and all
 *                                             younger ones; after setjmp returns a second time
 *
 * A frame may have an id that travels, which makes it a part of a chain: of everything, in any
 * thread of any process, that has the same id.
 *
 *     treadle_begin("request");               a frame that begins a chain, with a new id
 *     struct treadle_chain id = treadle_id(); the id of the youngest frame that has one, to send
 *     treadle_adopt("serve", id);             on the other side: a frame with that id
 *     treadle_scope_begin("request");         (and …_with, with a parameter)
 *     treadle_scope_adopt("serve", id);
 *     treadle_id_text(id, text);              as 32 hexadecimal digits, and back:
 *     id = treadle_id_of_text(text);          all zeros where the text is no id,
 *                                             or NULL
 *
 * While nobody watches, treadle_id returns zeros, and a frame adopted with zeros has no id; so a
 * program that passes on what it was sent keeps the chain whole. Begin, end and CPU time of a frame
 * with an id are noted exactly, at some microseconds a frame, in a ring of TREADLE_PARTS, and by a
 * profiler inside the process in its ledger. Nested frames with the same id are one part. Where the
 * program publishes OpenTelemetry's thread context (`otel_thread_ctx_v1`, in the executable or a
 * library that it is linked with), a thread's outermost frame has the trace id that is valid when
 * it is pushed; treadle_otel_id returns it.
 *
 * This header is all that a program needs: C11 or C++17, gcc or clang, Linux on x86-64 or arm64
 * (elsewhere nothing is recorded). Nothing of Treadle has to be installed. Link with -pthread.
 * While nobody watches, a call is two loads and a branch, and no frame is recorded: when a sampler
 * arrives, frames that are open already stay unknown, and their pops do nothing.
 *
 * - An identifier is text that never changes, as a rule a string constant: it is looked up by its
 *   address. Bindings whose texts move use the functions of treadle_activity.h instead. The empty
 *   one is "(other)", and counted.
 * - Each thread has a stack of its own. Up to TREADLE_FRAMES frames are seen, younger ones counted.
 *   A longer parameter than TREADLE_PARAMETER_BYTES is cut and counted.
 * - A function that returns, or is left by longjmp or an exception, without a pop leaves a frame
 *   behind. The next push or pop of a function further out removes it: each frame knows at which
 *   address of the stack it was pushed. A pop belongs into the function of its push or into one
 *   that this function calls. Coroutines on stacks of their own share their thread's frames: what
 *   they leave open ends with the next push or pop on the thread's own stack, as does what a signal
 *   handler on an alternate stack leaves open that jumps out of itself.
 * - A library that dlopen brings and that shares nothing with the others has a state of its own,
 *   and takes 16 bytes of the static thread-local space that glibc has left: about 100 fit at once.
 * - All functions may be called in signal handlers. A child has stacks of its own from its first
 *   push or pop on, unless it shares its parent's memory (vfork) and should not push. (Before Linux
 *   4.14 children of _Fork and of clone system calls write into those of their parent.)
 * - In a program that runs with libtreadle-native.so (`treadle run -- ./program`), and in a native
 *   library that a JVM with Treadle's agent loads, frames are also nodes of the profiler's exact
 *   trees; each push and pop then takes the long way.
 * - Nothing here blocks, allocates with malloc, or changes errno. What cannot be had (a file in
 *   memory, room for one more thread) means that nothing is recorded, and is counted; where a
 *   process records nothing at all, since it has no pthread key left, its segment says so.
 */
#ifndef TREADLE_H
#define TREADLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus /* the code below is C's */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#pragma GCC diagnostic ignored "-Wzero-as-null-pointer-constant"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wuseless-cast"
#endif
#endif

/* The format of the segment, below. A sampler reads a segment whose TREADLE_FORMAT is the same,
 * whatever its sizes are: those stand in its head. Fields are appended, never moved. */
#define TREADLE_FORMAT           1u
#define TREADLE_MAGIC            "TREADLEA"
#define TREADLE_BYTE_ORDER       0x01020304u
#define TREADLE_FRAMES           10u
#define TREADLE_PARAMETER_BYTES  32u
#define TREADLE_IDENTIFIER_BYTES 60u
#define TREADLE_IDENTIFIERS      512u
#define TREADLE_SLOTS            1024u
#define TREADLE_SLOTS_STEP       64u /* space is reserved for so many at a time */
#define TREADLE_HEAD_BYTES       4096u
#define TREADLE_PARTS            1024u
#define TREADLE_LEFT             10u /* segments of killed processes that stay */
#define TREADLE_LEFT_S           10  /* and those that are no older */

/* A frame's parameter. */
enum treadle_kind {
    TREADLE_NO_PARAMETER,
    TREADLE_TEXT,
    TREADLE_NUMBER,
};

/* Filled in after the slot's state says that the frame is there, `check` last. */
struct treadle_frame {
    uint64_t check;  /* treadle__check of the rest; 0: not filled in, or popped */
    uint64_t serial; /* which push of the thread: a younger frame has a higher one */
    uint64_t place;  /* where the pusher's stack ended; 0: not known; TREADLE_ELSEWHERE */
    uint64_t what;   /* identifier's index | enum treadle_kind << 32 | a text's length << 40 */
    uint64_t parameter[TREADLE_PARAMETER_BYTES / 8]; /* a text, then zeros; a number: the first */
};

/* The place of what is pushed above the thread's own stack, as by a handler on an alternate one:
 * lower than any on the thread's own, where the next push or pop says that the frame is over. */
#define TREADLE_ELSEWHERE UINT64_C(2)

/* A thread's stack. Only that thread writes it, but for the first claim of `tid`. */
struct treadle_slot {
    uint64_t state; /* pushes << TREADLE_DEPTH_BITS | open frames */
    int32_t tid;    /* 0: free */
    uint32_t watch; /* the head's `watch` since which the frames were recorded */
    uint64_t above; /* at the `place` of a frame before the first: `stack_end`; 1: the thread's
                       outermost pushes look for OpenTelemetry's context */
    uint64_t lost_frames;    /* pushes beyond TREADLE_FRAMES */
    uint64_t cut_parameters; /* pushes whose parameter was cut */
    uint64_t stack_end;      /* the stack lies below this address */
    uint64_t first_serial;   /* of the frames of this watch: at least this */
    uint64_t reserved;
    struct treadle_frame frames[TREADLE_FRAMES]; /* the oldest first */
};

enum treadle_part_state {
    TREADLE_PART_FREE,
    TREADLE_PART_WRITING,
    TREADLE_PART_OPEN,
    TREADLE_PART_DONE,
};

#define TREADLE_PART_UNENDED 1u /* the end was not seen */
#define TREADLE_PART_OTEL    2u /* the id is OpenTelemetry's */

/* A part of a chain: a frame with an id. The parts are a ring in the segment, which is there from
 * the first one on; a part that is over gives way to a later one. */
struct treadle_part {
    uint64_t state;    /* turn << TREADLE_PART_STATE_BITS | enum treadle_part_state */
    uint64_t check;    /* treadle__part_check, stored last */
    uint64_t id[2];    /* the first eight bytes as they are printed, then the others */
    uint64_t begin_ns; /* CLOCK_MONOTONIC */
    uint64_t end_ns;   /* open: 0 */
    uint64_t cpu_ns;   /* of the thread since the begin; open: its CPU clock at the begin */
    int32_t tid;
    uint32_t flags;
    uint32_t depth; /* frames of its path, those without room included */
    uint32_t reserved;
    struct treadle_frame frames[TREADLE_FRAMES]; /* the path, the oldest first; without checks */
};

#define TREADLE_PART_STATE_BITS 2u
#define TREADLE_PART_STATE_MASK ((UINT64_C(1) << TREADLE_PART_STATE_BITS) - 1)

struct treadle_identifier {
    uint32_t length; /* 0: not filled in */
    char text[TREADLE_IDENTIFIER_BYTES];
};

/* The head of the segment: a file /dev/shm/treadle-PID-RANDOM.activity, mode 0600, made at the
 * first push and removed when the process exits. The file of a process that is killed, calls _exit,
 * or has another root by then, stays; a process that makes a segment removes all but the newest
 * TREADLE_LEFT of them and those of the last TREADLE_LEFT_S seconds; of files without a head, whose
 * processes were killed before they wrote one, it keeps only the latter. */
struct treadle_head {
    char magic[8];
    uint32_t format;
    uint32_t byte_order;
    uint32_t head_bytes;
    int32_t pid;
    uint64_t start_ticks; /* field 22 of /proc/PID/stat: with the pid, names the process */
    uint32_t identifiers_offset;
    uint32_t identifier_bytes;
    uint32_t identifiers_max;
    uint32_t slots_offset;
    uint32_t slot_bytes;
    uint32_t slots_max;
    uint32_t frames_offset; /* in a slot */
    uint32_t frame_bytes;
    uint32_t frames_max;
    uint32_t identifiers_used; /* 1 + the highest index; index 0 is "(other)" */
    uint32_t slots_used;
    uint32_t part_bytes;
    uint64_t lost_threads;     /* threads that found no slot when they came */
    uint64_t lost_identifiers; /* pushes whose identifier found no room: they are "(other)" */
    uint64_t cut_identifiers;
    uint64_t agent; /* 1: a profiler inside the process has the frames in trees of its own, too */
    uint64_t parts_begun;  /* the turn of the next part */
    uint32_t parts_offset; /* 0: there are none */
    uint32_t parts_max;    /* 0: their space is not reserved yet */
    /* Written by samplers, in a cache line of their own. */
    uint32_t watch;          /* not 0: frames are recorded; each sampler that begins counts on */
    uint32_t last_watch;     /* the last value of `watch` that was not 0 */
    uint64_t watch_until_ns; /* CLOCK_MONOTONIC: a sampler that was killed is over by then */
    uint64_t reserved_watch[6];
    uint64_t lost_parts;    /* for which there was no room */
    uint64_t pid_namespace; /* the number of /proc/self/ns/pid; 0: not known */
    uint32_t unrecorded;    /* enum treadle_unrecorded: why the process records nothing, ever */
    uint32_t reserved_unrecorded;
};

enum treadle_unrecorded {
    TREADLE_RECORDED,
    TREADLE_NO_KEY,          /* pthread_key_create failed: a thread's end would not be noticed */
    TREADLE_NO_FORK_HANDLER, /* pthread_atfork failed: children would write into the segment */
};

/* What identifies a frame as open: of the push that returned it. */
typedef uint64_t treadle_mark;

/* A push as a profiler inside the process is told of it. */
struct treadle_pushed {
    const char *identifier;
    uint64_t place; /* where the pusher's stack ends; UINT64_MAX: not known */
    uint64_t what;  /* as a frame's, without an index; TREADLE_CUT: the parameter was longer */
    uint64_t parameter[TREADLE_PARAMETER_BYTES / 8]; /* as a frame's */
};

#define TREADLE_CUT (UINT64_C(1) << 48)

/* The id of a chain; zeros: none. W3C's trace ids are such ids. */
struct treadle_chain {
    uint64_t word[2];
};

/* A profiler inside the process: what a library exports as treadle_inside_v1, if it is loaded
 * before the program's functions run, or before the library with this header is. It is told of
 * every push and pop, whether or not a sampler watches, and may be asked in signal handlers. */
struct treadle_inside {
    /* Returns a mark of its own, with TREADLE_INSIDE_MARK; `mark`: it does not record the frame. */
    treadle_mark (*push)(const struct treadle_pushed *pushed, treadle_mark mark);
    /* place: as that of a frame. */
    void (*pop)(uint64_t place);
    /* Ends the frame whose push returned that mark, and all younger ones. Returns the mark that the
     * frame has in the segment; UINT64_MAX: it is over already. */
    treadle_mark (*pop_to)(treadle_mark mark);
    /* What pop_to would return. Ends nothing. */
    treadle_mark (*find)(treadle_mark mark);
};

/* The same for ids: what that library exports as treadle_inside_ids_v1, if it keeps any. */
struct treadle_inside_ids {
    /* The frame whose push returned that mark, and which is the youngest, has that id, unless it
     * has one. flags: TREADLE_PART_OTEL: only the thread's outermost frame has such an id. */
    void (*adopt)(treadle_mark mark, struct treadle_chain id, uint32_t flags);
    /* The id of the thread's youngest frame that has one; zeros: none. */
    struct treadle_chain (*current)(void);
};

#define TREADLE_INSIDE_NAME       "treadle_inside_v1"
#define TREADLE_INSIDE_IDS_NAME   "treadle_inside_ids_v1"
#define TREADLE_INSIDE_FORKS_NAME "treadle_inside_forks_v1" /* exported: it is in children, too */
#define TREADLE_INSIDE_MARK       (UINT64_C(1) << 63)

#define TREADLE_DEPTH_BITS 20u
#define TREADLE_DEPTH_MASK ((UINT64_C(1) << TREADLE_DEPTH_BITS) - 1)

/* Functions of this header are none of the program's: a profiler that is told of each function's
 * begin and end (-finstrument-functions) is not told of these. */
#ifdef __GNUC__
#define TREADLE__UNHEARD __attribute__((no_instrument_function))
#else
#define TREADLE__UNHEARD
#endif
#define TREADLE__LOCAL static inline TREADLE__UNHEARD

#define TREADLE_WHAT(index, kind, length)                                                          \
    ((uint64_t)(index) | (uint64_t)(kind) << 32 | (uint64_t)(length) << 40)

TREADLE__LOCAL uint64_t treadle__check(uint64_t serial, uint64_t place, uint64_t what,
                                       uint64_t number)
{
    return ((what + number * UINT64_C(0x165667b19e3779f9)) * UINT64_C(0xc2b2ae3d27d4eb4f) +
            serial) ^
           place;
}

/* A text as a number, for the check. */
TREADLE__LOCAL uint64_t treadle__fold(const uint64_t parameter[TREADLE_PARAMETER_BYTES / 8])
{
    return parameter[0] + parameter[1] * UINT64_C(0xff51afd7ed558ccd) +
           parameter[2] * UINT64_C(0xc4ceb9fe1a85ec53) +
           parameter[3] * UINT64_C(0x85ebca77c2b2ae63);
}

/* Of everything in a part but its check, up to the frames that it has. */
TREADLE__LOCAL uint64_t treadle__part_check(const struct treadle_part *part, uint64_t state)
{
    uint32_t frames = part->depth < TREADLE_FRAMES ? part->depth : TREADLE_FRAMES;
    uint64_t sum = state + (uint64_t)(uint32_t)part->tid * UINT64_C(0x165667b19e3779f9);

    sum = (sum ^ part->id[0]) * UINT64_C(0xff51afd7ed558ccd) + part->id[1];
    sum = (sum ^ part->begin_ns) * UINT64_C(0xc2b2ae3d27d4eb4f) + part->end_ns;
    sum = (sum ^ part->cpu_ns) * UINT64_C(0xff51afd7ed558ccd) + part->flags;
    sum = (sum ^ part->depth) * UINT64_C(0xc2b2ae3d27d4eb4f);
    for (uint32_t i = 0; i < frames; i++)
        sum = (sum ^ part->frames[i].what) * UINT64_C(0xff51afd7ed558ccd) +
              treadle__fold(part->frames[i].parameter);
    return sum;
}

/* False for the head of a segment that is being made: the magic is written last. */
TREADLE__LOCAL int treadle__has_magic(const struct treadle_head *head)
{
    for (unsigned i = 0; i < sizeof(head->magic); i++)
        if (head->magic[i])
            return 1;
    return 0;
}

#ifndef TREADLE_FORMAT_ONLY /* defined by what reads segments and pushes nothing */

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__GNUC__)
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One of each in a program, whichever of its files have this header. Their symbols have the number
 * of a generation, which counts on when anything that is shared changes: files with a header of
 * another generation share nothing with these, and have a segment of their own. */
#define TREADLE__NAMED(name)    treadle2__##name
#define treadle__adopt          TREADLE__NAMED(adopt)
#define treadle__adopt_now      TREADLE__NAMED(adopt_now)
#define treadle__agent          TREADLE__NAMED(agent)
#define treadle__attach         TREADLE__NAMED(attach)
#define treadle__begin_child    TREADLE__NAMED(begin_child)
#define treadle__chains         TREADLE__NAMED(chains)
#define treadle__current_id     TREADLE__NAMED(current_id)
#define treadle__drop_dead      TREADLE__NAMED(drop_dead)
#define treadle__end_part       TREADLE__NAMED(end_part)
#define treadle__end_thread     TREADLE__NAMED(end_thread)
#define treadle__files          TREADLE__NAMED(files)
#define treadle__forks          TREADLE__NAMED(forks)
#define treadle__given_back     TREADLE__NAMED(given_back)
#define treadle__inside_forks   TREADLE__NAMED(inside_forks)
#define treadle__inside_ids     TREADLE__NAMED(inside_ids)
#define treadle__is_busy        TREADLE__NAMED(is_busy)
#define treadle__look_at_lease  TREADLE__NAMED(look_at_lease)
#define treadle__make_room      TREADLE__NAMED(make_room)
#define treadle__new_id         TREADLE__NAMED(new_id)
#define treadle__parts_of_slots TREADLE__NAMED(parts_of_slots)
#define treadle__pop            TREADLE__NAMED(pop)
#define treadle__pop_other      TREADLE__NAMED(pop_other)
#define treadle__pop_slowly     TREADLE__NAMED(pop_slowly)
#define treadle__pop_to         TREADLE__NAMED(pop_to)
#define treadle__process        TREADLE__NAMED(process)
#define treadle__push           TREADLE__NAMED(push)
#define treadle__push_number    TREADLE__NAMED(push_number)
#define treadle__push_slowly    TREADLE__NAMED(push_slowly)
#define treadle__push_text      TREADLE__NAMED(push_text)
#define treadle__register       TREADLE__NAMED(register)
#define treadle__slot           TREADLE__NAMED(slot)
#define treadle__tried          TREADLE__NAMED(tried)
#define treadle__wiped          TREADLE__NAMED(wiped)

#define TREADLE__STATE  __attribute__((weak))
#define TREADLE__SHARED __attribute__((weak, no_instrument_function))
#define TREADLE__INLINE static inline __attribute__((always_inline, unused, no_instrument_function))
#define TREADLE__THREAD __attribute__((weak, tls_model("initial-exec")))

struct treadle__name {
    const char *text; /* NULL: free; stored after the index, and then never changed */
    uint32_t index;
};

#define TREADLE__NAMES      1024u /* addresses of identifiers */
#define TREADLE__NAME_TRIES 8u

/* Everything that a process has of its own. */
struct treadle__process {
    struct treadle_head *head; /* the segment, or NULL */
    uint32_t stage;            /* 0: not begun, 1: it is being made, 2: done or given up */
    uint32_t has_key;
    uint32_t has_fork_handler;
    pthread_key_t key;
    int pid;
    uint64_t inode;
    char path[64];
    uint32_t off; /* 0, for ever: the watch where there can be no segment */
    struct treadle__name names[TREADLE__NAMES];
};

/* (C++ would want the same members in braces; a designated initialiser is not C++17.) */
TREADLE__STATE struct treadle__process treadle__process = {NULL, 0, 0,   0, 0,
                                                           0,    0, {0}, 0, {{NULL, 0}}};
TREADLE__THREAD __thread struct treadle_slot *treadle__slot = NULL;
TREADLE__THREAD __thread uint32_t treadle__is_busy = 0; /* the thread's slot is being found */

/* The thread has looked for a slot in vain: treadle__turn then; 0: it has not. */
TREADLE__THREAD __thread uint32_t treadle__tried = 0;
TREADLE__STATE uint32_t treadle__given_back = 0; /* slots, so far */

/* Which part of the ring is that of a thread's frame: of the frame with that serial number. */
struct treadle__open_part {
    uint64_t serial; /* 0: none */
    uint64_t turn;
};

/* What chains need besides. */
struct treadle__chains {
    uint32_t stage;    /* of the ring, as treadle__process.stage */
    uint32_t has_otel; /* OpenTelemetry's variable lies this far from a thread's own: */
    int64_t otel_offset;
};

TREADLE__STATE struct treadle__chains treadle__chains = {0, 0, 0};

/* TREADLE_FRAMES of each slot, mapped with the first part: what a library has for each thread is
 * scarce. Only the slot's thread uses them. */
TREADLE__STATE struct treadle__open_part *treadle__parts_of_slots = NULL;
#define TREADLE__PARTS_OF_SLOTS_BYTES                                                              \
    (TREADLE_SLOTS * TREADLE_FRAMES * sizeof(struct treadle__open_part))

/* A profiler inside the process. Found before the first push, and then never changed but in the
 * child of a fork. */
struct treadle__agent {
    const struct treadle_inside *inside; /* or NULL */
    uint32_t watch;                      /* TREADLE__INSIDE_WATCH, for ever */
};

/* The watch of no slot: pushes and pops take the long way, where a profiler is told of them, a
 * child begins, or the process does. */
#define TREADLE__INSIDE_WATCH UINT32_MAX

TREADLE__STATE struct treadle__agent treadle__agent = {NULL, TREADLE__INSIDE_WATCH};
TREADLE__STATE const struct treadle_inside_ids *treadle__inside_ids = NULL;
TREADLE__STATE uint32_t treadle__inside_forks = 0; /* it is in the child of a fork, too */

/* Larger pages than that are none of Linux's on these processors. */
#ifdef __x86_64__
#define TREADLE__PAGE_BYTES 4096
#else
#define TREADLE__PAGE_BYTES 65536
#endif

enum treadle__begun {
    TREADLE__NOT_BEGUN,
    TREADLE__BEGUN,
    TREADLE__FORGETTING, /* a thread of a child forgets what is its parent's */
};

/* What the kernel wipes in a child, however that was made, unless it shares the memory: _Fork and
 * system calls call no handlers. It is read by each push and pop, so zeros take the long way. Where
 * the kernel does not wipe (before Linux 4.14), only the handlers of forks are told of children. */
struct __attribute__((aligned(TREADLE__PAGE_BYTES))) treadle__wiped {
    uint64_t to_watch; /* the watch lies so many bytes behind treadle__agent.watch */
    uint32_t begun;    /* enum treadle__begun; the process's stage is 0 or this is not */
};

TREADLE__STATE struct treadle__wiped treadle__wiped = {0, 0};

/* The program's files with this header that have begun and not ended: the last one ends it all. */
TREADLE__STATE int32_t treadle__files = 0;

/* Of which this process is the child. A handler of a signal may fork: what it interrupted goes on
 * in the child, and sees here that all that was found before is the parent's. */
TREADLE__STATE uint32_t treadle__forks = 0;

/* System calls without errno, and without the declarations that strict ISO C hides. */
TREADLE__INLINE long treadle__call(long number, long a, long b, long c, long d, long e, long f)
{
#ifdef __x86_64__
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = f;
    long result;

    __asm__ __volatile__("syscall"
                         : "=a"(result)
                         : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                         : "rcx", "r11", "memory");
    return result;
#else
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    register long x4 __asm__("x4") = e;
    register long x5 __asm__("x5") = f;

    __asm__ __volatile__("svc 0"
                         : "+r"(x0)
                         : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
                         : "memory");
    return x0;
#endif
}

#define TREADLE__AT_FDCWD (-100L)
#ifdef __x86_64__
#define TREADLE__O_NOFOLLOW  0400000L
#define TREADLE__O_DIRECTORY 0200000L
#else
#define TREADLE__O_NOFOLLOW  0100000L
#define TREADLE__O_DIRECTORY 040000L
#endif
#define TREADLE__O_RDWR     02L
#define TREADLE__O_NONBLOCK 04000L
#define TREADLE__O_CREATE   0300L /* O_CREAT | O_EXCL */
#define TREADLE__O_CLOEXEC  02000000L

#define TREADLE__IDENTIFIERS_OFFSET TREADLE_HEAD_BYTES
#define TREADLE__SLOTS_OFFSET                                                                      \
    (TREADLE__IDENTIFIERS_OFFSET + TREADLE_IDENTIFIERS * sizeof(struct treadle_identifier))
#define TREADLE__BYTES_FOR(slots)                                                                  \
    ((TREADLE__SLOTS_OFFSET + (size_t)(slots) * sizeof(struct treadle_slot) + 4095) & ~(size_t)4095)

/* The ring of parts lies behind all slots. */
#define TREADLE__PARTS_OFFSET TREADLE__BYTES_FOR(TREADLE_SLOTS)
#define TREADLE__ALL_BYTES                                                                         \
    ((TREADLE__PARTS_OFFSET + TREADLE_PARTS * sizeof(struct treadle_part) + 4095) & ~(size_t)4095)

TREADLE__INLINE struct treadle_slot *treadle__slot_at(struct treadle_head *head, uint32_t index)
{
    return (struct treadle_slot *)(void *)((char *)head + TREADLE__SLOTS_OFFSET) + index;
}

TREADLE__INLINE struct treadle_identifier *treadle__identifier_at(struct treadle_head *head,
                                                                  uint32_t index)
{
    return (struct treadle_identifier *)(void *)((char *)head + TREADLE__IDENTIFIERS_OFFSET) +
           index;
}

TREADLE__INLINE long treadle__open(const char *path, long flags)
{
    return treadle__call(SYS_openat, TREADLE__AT_FDCWD, (long)path,
                         flags | TREADLE__O_NOFOLLOW | TREADLE__O_CLOEXEC, 0600, 0, 0);
}

TREADLE__INLINE void treadle__close(long fd)
{
    (void)treadle__call(SYS_close, fd, 0, 0, 0, 0, 0);
}

/* Field 22 of /proc/self/stat; 0 if it cannot be read. */
TREADLE__LOCAL uint64_t treadle__start_ticks(void)
{
    char text[1024];
    long fd = treadle__open("/proc/self/stat", 0);
    long length = fd < 0 ? -1 : treadle__call(SYS_read, fd, (long)text, sizeof(text), 0, 0, 0);
    long at = length;
    uint64_t ticks = 0;

    if (fd >= 0)
        treadle__close(fd);
    while (at > 0 && text[at - 1] != ')')
        at--;
    for (int field = 2; at > 0 && at < length && field < 22; at++)
        field += text[at] == ' ';
    for (; at > 0 && at < length && text[at] >= '0' && text[at] <= '9'; at++)
        ticks = ticks * 10 + (uint64_t)(text[at] - '0');
    return ticks;
}

/* The number of the process's own pid namespace; 0 if it cannot be read. */
TREADLE__LOCAL uint64_t treadle__pid_namespace(void)
{
    struct stat found;

    return stat("/proc/self/ns/pid", &found) == 0 ? (uint64_t)found.st_ino : 0;
}

TREADLE__LOCAL char *treadle__append(char *to, const char *text)
{
    while (*text)
        *to++ = *text++;
    *to = '\0';
    return to;
}

TREADLE__LOCAL void treadle__write_path(char *path, const char *folder, int pid, uint64_t random)
{
    char digits[12] = "", rest[14] = "-";
    size_t at = sizeof(digits) - 1;

    for (unsigned left = (unsigned)pid; left || at == sizeof(digits) - 1; left /= 10)
        digits[--at] = (char)('0' + left % 10);
    for (unsigned i = 1; i <= 12; i++, random >>= 5)
        rest[i] = "abcdefghijklmnopqrstuvwxyz234567"[random & 31];
    path = treadle__append(treadle__append(path, folder), "/treadle-");
    (void)treadle__append(treadle__append(treadle__append(path, &digits[at]), rest), ".activity");
}

/* Makes the file as long as the segment, so that treadle__populate works. (A limit of the length of
 * files would be a signal.) */
TREADLE__INLINE void treadle__lengthen(long fd)
{
    uint64_t limits[2] = {0, 0};

    if (treadle__call(SYS_prlimit64, 0, 1 /* RLIMIT_FSIZE */, 0, (long)limits, 0, 0) == 0 &&
        limits[0] >= TREADLE__ALL_BYTES)
        (void)treadle__call(SYS_ftruncate, fd, (long)TREADLE__ALL_BYTES, 0, 0, 0, 0);
}

/* Makes the file, with space for the first slots; a descriptor or less than 0. */
TREADLE__LOCAL long treadle__make_file(struct treadle__process *process, const char *folder)
{
    uint64_t random = 0;
    struct stat made;
    long fd;

    (void)treadle__call(SYS_getrandom, (long)&random, sizeof(random), 1, 0, 0, 0);
    treadle__write_path(process->path, folder, process->pid, random);
    fd = treadle__open(process->path, TREADLE__O_RDWR | TREADLE__O_CREATE);
    if (fd < 0)
        return fd;
    if (treadle__call(SYS_fallocate, fd, 0, 0, (long)TREADLE__BYTES_FOR(TREADLE_SLOTS_STEP), 0,
                      0) == 0 &&
        fstat((int)fd, &made) == 0) {
        process->inode = (uint64_t)made.st_ino;
        treadle__lengthen(fd);
        return fd;
    }
    (void)treadle__call(SYS_unlinkat, TREADLE__AT_FDCWD, (long)process->path, 0, 0, 0, 0);
    treadle__close(fd);
    return -1;
}

/* The bytes of a file, or zeros of the process's own. They take the place of what is mapped at an
 * address, if one is given. */
TREADLE__LOCAL void *treadle__map(void *place, size_t bytes, long fd)
{
    long flags = (fd < 0 ? 0x4022L /* private, anonymous, without reserve */ : 1L /* shared */) |
                 (place ? 0x10L /* fixed */ : 0L);
    long address =
        treadle__call(SYS_mmap, (long)place, (long)bytes, 3 /* read, write */, flags, fd, 0);

    return address < 0 && address > -4096 ? NULL : (void *)address;
}

TREADLE__LOCAL void treadle__fill_head(const struct treadle__process *process,
                                       struct treadle_head *head)
{
    struct treadle_identifier *other = treadle__identifier_at(head, 0);

    head->format = TREADLE_FORMAT;
    head->byte_order = TREADLE_BYTE_ORDER;
    head->head_bytes = TREADLE_HEAD_BYTES;
    head->pid = process->pid;
    head->start_ticks = treadle__start_ticks();
    head->identifiers_offset = TREADLE__IDENTIFIERS_OFFSET;
    head->identifier_bytes = sizeof(struct treadle_identifier);
    head->identifiers_max = TREADLE_IDENTIFIERS;
    head->slots_offset = (uint32_t)TREADLE__SLOTS_OFFSET;
    head->slot_bytes = sizeof(struct treadle_slot);
    head->slots_max = TREADLE_SLOTS;
    head->frames_offset = offsetof(struct treadle_slot, frames);
    head->frame_bytes = sizeof(struct treadle_frame);
    head->frames_max = TREADLE_FRAMES;
    head->part_bytes = sizeof(struct treadle_part);
    head->parts_offset = (uint32_t)TREADLE__PARTS_OFFSET;
    head->agent = treadle__agent.inside != NULL;
    head->pid_namespace = treadle__pid_namespace();
    head->unrecorded = !process->has_key            ? TREADLE_NO_KEY
                       : !process->has_fork_handler ? TREADLE_NO_FORK_HANDLER
                                                    : TREADLE_RECORDED;
    memcpy(other->text, "(other)", 7);
    other->length = 7;
    head->identifiers_used = 1;
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(head->magic, TREADLE_MAGIC, sizeof(head->magic));
}

/* A frame with an id has an odd place, which no place on the stack is: what compares places looks
 * the same, but its own pop takes the long way. */
#define TREADLE__HAS_ID UINT64_C(1)

/* The frame of the slot with that index is over. is_seen: now, and not at an unknown moment. */
TREADLE__SHARED __attribute__((noinline)) void treadle__end_part(struct treadle_slot *slot,
                                                                 uint64_t index, int is_seen);

/* The parts of all open frames. */
TREADLE__INLINE void treadle__give_up_parts(struct treadle_slot *slot)
{
    uint64_t depth = slot->state & TREADLE_DEPTH_MASK;

    for (uint64_t i = 0; i < depth && i < TREADLE_FRAMES; i++)
        if (slot->frames[i].place & TREADLE__HAS_ID)
            treadle__end_part(slot, i, 0);
}

/* Where the watch is. */
TREADLE__INLINE void treadle__set_watch(const uint32_t *watch)
{
    __atomic_store_n(&treadle__wiped.to_watch,
                     (uint64_t)((uintptr_t)watch - (uintptr_t)&treadle__agent.watch),
                     __ATOMIC_RELEASE);
}

/* True in a child that no handler was told of: all that is known here is its parent's. */
TREADLE__INLINE int treadle__is_unheard(void)
{
    return __atomic_load_n(&treadle__process.stage, __ATOMIC_ACQUIRE) != 0 &&
           __atomic_load_n(&treadle__wiped.begun, __ATOMIC_ACQUIRE) != TREADLE__BEGUN;
}

/* A thread is over: its slot is free. */
TREADLE__SHARED void treadle__end_thread(void *slot);
TREADLE__SHARED void treadle__end_thread(void *slot)
{
    struct treadle_slot *own = (struct treadle_slot *)slot;

    if (treadle__slot != own || treadle__is_unheard())
        return;
    treadle__give_up_parts(own);
    treadle__slot = NULL;
    __atomic_store_n(&own->state, own->state & ~TREADLE_DEPTH_MASK, __ATOMIC_RELEASE);
    __atomic_store_n(&own->tid, 0, __ATOMIC_RELEASE);
    (void)__atomic_add_fetch(&treadle__given_back, 1, __ATOMIC_RELEASE);
}

/* A child writes nothing into its parent's segment. Where that was mapped there are zeros until the
 * child has a segment, which takes their place: what a handler interrupted may have addresses in
 * it. Where another thread than the one that forked comes first, that one's slot is still there:
 * then the zeros stay. A profiler is inside the child only where the profiler says so. */
TREADLE__LOCAL void treadle__forget_parent(int is_forker)
{
    struct treadle__process *process = &treadle__process;
    struct treadle_head *head = process->head;

    __atomic_store_n(&treadle__forks, treadle__forks + 1, __ATOMIC_RELAXED);
    if (!treadle__inside_forks) {
        treadle__agent.inside = NULL;
        treadle__inside_ids = NULL;
    }
    treadle__set_watch(&treadle__agent.watch);
    treadle__slot = NULL;
    treadle__is_busy = 0;
    treadle__tried = 0;
    if (head && !treadle__map(head, TREADLE__ALL_BYTES, -1)) {
        (void)treadle__call(SYS_munmap, (long)head, (long)TREADLE__ALL_BYTES, 0, 0, 0, 0);
        process->head = NULL;
    }
    if (!is_forker) {
        process->head = NULL;
        (void)__atomic_add_fetch(&treadle__given_back, 1, __ATOMIC_RELEASE);
    }
    treadle__chains.stage = 0;
    if (treadle__parts_of_slots)
        (void)treadle__map(treadle__parts_of_slots, TREADLE__PARTS_OF_SLOTS_BYTES, -1);
    process->path[0] = '\0';
    memset(process->names, 0, sizeof(process->names));
    __atomic_store_n(&process->stage, 0, __ATOMIC_RELEASE);
}

TREADLE__SHARED void treadle__begin_child(void);
TREADLE__SHARED void treadle__begin_child(void)
{
    treadle__forget_parent(1);
}

/* OpenTelemetry's thread context [OTEP 4947]: a thread-local pointer to a record, or NULL. */
struct treadle__otel_context {
    uint8_t trace_id[16];
    uint8_t span_id[8];
    uint8_t valid; /* 1: the rest is whole */
    uint8_t reserved;
    uint16_t attributes_bytes;
};

/* Static thread-local variables lie this near to a thread's own address. */
#define TREADLE__OTEL_NEAR 16384

TREADLE__INLINE char *treadle__thread_pointer(void)
{
    char *pointer;

#ifdef __x86_64__
    __asm__("mov %%fs:0, %0" : "=r"(pointer));
#else
    __asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
    return pointer;
}

/* A program need not be linked with what has dlsym. */
#pragma weak dlsym

/* Of what is there when the program begins, or the library that has this header is loaded: its
 * variable lies in every thread at the same distance. */
TREADLE__LOCAL void treadle__find_otel(void)
{
    struct treadle__chains *chains = &treadle__chains;
    void *(*symbol)(void *, const char *) = dlsym;
    char *variable;

    if (chains->has_otel || !symbol)
        return;
    variable = (char *)symbol(NULL /* RTLD_DEFAULT */, "otel_thread_ctx_v1");
    if (!variable)
        return;
    chains->otel_offset = (int64_t)((uintptr_t)variable - (uintptr_t)treadle__thread_pointer());
    chains->has_otel =
        chains->otel_offset > -TREADLE__OTEL_NEAR && chains->otel_offset < TREADLE__OTEL_NEAR;
}

/* What is there when the program begins: a profiler is preloaded. */
TREADLE__LOCAL void treadle__find_inside(void)
{
    void *(*symbol)(void *, const char *) = dlsym;
    void *inside;

    if (treadle__agent.inside || treadle__process.stage || !symbol)
        return;
    inside = symbol(NULL /* RTLD_DEFAULT */, TREADLE_INSIDE_NAME);
    if (!inside)
        return;
    treadle__inside_ids =
        (const struct treadle_inside_ids *)symbol(NULL /* RTLD_DEFAULT */, TREADLE_INSIDE_IDS_NAME);
    treadle__inside_forks = symbol(NULL /* RTLD_DEFAULT */, TREADLE_INSIDE_FORKS_NAME) != NULL;
    treadle__agent.inside = (const struct treadle_inside *)inside;
}

/* Before main, since registering may allocate. Every file of the program that has the header brings
 * these two; the first call does the work, and the last one undoes it: a plugin that is closed may
 * share all of it with the program. */
__attribute__((constructor, unused)) TREADLE__UNHEARD static void treadle__begin_process(void)
{
    struct treadle__process *process = &treadle__process;

    (void)__atomic_add_fetch(&treadle__files, 1, __ATOMIC_ACQ_REL);
    if (!process->has_key && pthread_key_create(&process->key, treadle__end_thread) == 0)
        process->has_key = 1;
    if (!process->has_fork_handler && pthread_atfork(NULL, NULL, treadle__begin_child) == 0)
        process->has_fork_handler = 1;
    treadle__find_otel();
    treadle__find_inside();
}

__attribute__((destructor, unused)) TREADLE__UNHEARD static void treadle__end_process(void)
{
    struct treadle__process *process = &treadle__process;

    if (__atomic_sub_fetch(&treadle__files, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    if (process->has_key)
        (void)pthread_key_delete(process->key);
    process->has_key = 0;
    if (process->path[0] && treadle__call(SYS_getpid, 0, 0, 0, 0, 0, 0) == process->pid)
        (void)treadle__call(SYS_unlinkat, TREADLE__AT_FDCWD, (long)process->path, 0, 0, 0, 0);
    process->path[0] = '\0';
}

/* An entry of a folder, as the kernel has it. */
struct treadle__entry {
    uint64_t inode;
    int64_t next;
    uint16_t bytes;
    uint8_t type;
    char name[1];
};

#define TREADLE__ENTRIES_MAX 10000 /* of a folder, that a process looks at as it begins */

/* Segments that processes left: the newest of those that may go. */
struct treadle__left {
    unsigned count;
    struct {
        uint64_t when; /* the later, the higher */
        char name[64];
    } one[TREADLE_LEFT];
};

/* The pid in "treadle-PID-RANDOM.activity"; 0: it is another name. */
TREADLE__LOCAL int treadle__pid_in(const char *name)
{
    const char *dot = strrchr(name, '.');
    int pid = 0;

    if (strncmp(name, "treadle-", 8) != 0 || !dot || strcmp(dot, ".activity") != 0 ||
        strlen(name) >= 64)
        return 0;
    for (name += 8; *name >= '0' && *name <= '9' && pid < 100000000; name++)
        pid = pid * 10 + (*name - '0');
    return *name == '-' ? pid : 0;
}

/* Has the process ended that the name of a segment has? */
TREADLE__LOCAL int treadle__is_gone(const char *name)
{
    char path[32] = "/proc/";
    size_t used = strlen(path);
    long fd;

    for (name += 8; *name != '-' && used < sizeof(path) - 1; name++)
        path[used++] = *name;
    fd = treadle__open(path, TREADLE__O_DIRECTORY);
    if (fd >= 0)
        treadle__close(fd);
    return fd == -2; /* ENOENT */
}

/* Of a segment whose process was killed before it wrote the head: there is nothing in it. */
#define TREADLE__HEADLESS UINT64_C(1)

/* When the segment of a process that is gone was last changed; 0: just now, or it is none of this
 * user's, or may be of a process in another pid namespace. (Without a head it is of none: whoever
 * makes a segment writes the head at once.) */
TREADLE__LOCAL uint64_t treadle__when_left(long folder, const char *name,
                                           const struct treadle_head *own)
{
    struct {
        int64_t s, ns;
    } now = {0, 0};
    int pid = treadle__pid_in(name), is_old, is_left, is_headless;
    struct treadle_head head;
    struct stat found;
    long fd, bytes;

    if (!pid || !treadle__is_gone(name))
        return 0;
    fd = treadle__call(SYS_openat, folder, (long)name,
                       TREADLE__O_NOFOLLOW | TREADLE__O_CLOEXEC | TREADLE__O_NONBLOCK, 0, 0, 0);
    if (fd < 0)
        return 0;
    memset(&head, 0, sizeof(head));
    bytes = treadle__call(SYS_pread64, fd, (long)&head, sizeof(head), 0, 0, 0);
    is_old =
        fstat((int)fd, &found) == 0 &&
        (long)found.st_uid == treadle__call(SYS_geteuid, 0, 0, 0, 0, 0, 0) &&
        treadle__call(SYS_clock_gettime, 0 /* CLOCK_REALTIME */, (long)&now, 0, 0, 0, 0) == 0 &&
        found.st_mtime + TREADLE_LEFT_S < now.s;
    is_left = is_old && bytes == (long)sizeof(head) &&
              memcmp(head.magic, TREADLE_MAGIC, sizeof(head.magic)) == 0 && head.pid == pid &&
              head.pid_namespace && head.pid_namespace == own->pid_namespace;
    is_headless = is_old && bytes >= 0 && !treadle__has_magic(&head);
    treadle__close(fd);
    if (is_headless)
        return TREADLE__HEADLESS;
    return is_left ? (uint64_t)found.st_mtime << 24 | ((uint64_t)found.st_ino & 0xffffff) : 0;
}

/* Keeps that one, or removes it, or the oldest one instead. */
TREADLE__LOCAL void treadle__keep_newest(struct treadle__left *left, long folder, const char *name,
                                         uint64_t when)
{
    unsigned at = left->count, i;

    if (at < TREADLE_LEFT) {
        left->count++;
    } else {
        for (i = at = 0; i < TREADLE_LEFT; i++)
            if (left->one[i].when < left->one[at].when)
                at = i;
        if (when < left->one[at].when) {
            (void)treadle__call(SYS_unlinkat, folder, (long)name, 0, 0, 0, 0);
            return;
        }
        (void)treadle__call(SYS_unlinkat, folder, (long)left->one[at].name, 0, 0, 0, 0);
    }
    left->one[at].when = when;
    (void)treadle__append(left->one[at].name, name);
}

/* Removes what processes left in a folder, but for the newest TREADLE_LEFT. */
TREADLE__LOCAL void treadle__tidy(const char *path, const struct treadle_head *own)
{
    struct treadle__left left;
    uint64_t entries[128];
    int looked_at = 0;
    long folder = treadle__open(path, TREADLE__O_DIRECTORY), bytes;

    left.count = 0;
    while (folder >= 0 && looked_at < TREADLE__ENTRIES_MAX &&
           (bytes =
                treadle__call(SYS_getdents64, folder, (long)entries, sizeof(entries), 0, 0, 0)) > 0)
        for (long at = 0; at < bytes; looked_at++) {
            const struct treadle__entry *entry =
                (const struct treadle__entry *)(const void *)((const char *)entries + at);
            uint64_t when = treadle__when_left(folder, entry->name, own);

            if (when == TREADLE__HEADLESS)
                (void)treadle__call(SYS_unlinkat, folder, (long)entry->name, 0, 0, 0, 0);
            else if (when)
                treadle__keep_newest(&left, folder, entry->name, when);
            at += entry->bytes;
        }
    if (folder >= 0)
        treadle__close(folder);
}

/* All signals but those of the thread's own instructions. */
#define TREADLE__SIGNALS                                                                           \
    (~((UINT64_C(1) << (SIGILL - 1)) | (UINT64_C(1) << (SIGTRAP - 1)) |                            \
       (UINT64_C(1) << (SIGBUS - 1)) | (UINT64_C(1) << (SIGFPE - 1)) |                             \
       (UINT64_C(1) << (SIGSEGV - 1)) | (UINT64_C(1) << (SIGSYS - 1))))

/* Replaces the thread's mask of blocked signals. Returns what it was. */
TREADLE__INLINE uint64_t treadle__set_blocked(uint64_t signals)
{
    uint64_t before = 0;

    (void)treadle__call(SYS_rt_sigprocmask, 2 /* set */, (long)&signals, (long)&before,
                        sizeof(before), 0, 0);
    return before;
}

/* The first thing that is known here of the process: without it, a child's is its parent's. */
TREADLE__INLINE void treadle__note_begun(void)
{
    (void)treadle__call(SYS_madvise, (long)&treadle__wiped, (long)sizeof(treadle__wiped),
                        18 /* MADV_WIPEONFORK */, 0, 0, 0);
    __atomic_store_n(&treadle__wiped.begun, TREADLE__BEGUN, __ATOMIC_RELEASE);
}

/* In a child that no handler was told of. The thread that forked is the only one there at first. 0:
 * another thread does it. */
TREADLE__LOCAL int treadle__begin_unheard(void)
{
    uint64_t blocked = treadle__set_blocked(TREADLE__SIGNALS);
    uint32_t wiped = TREADLE__NOT_BEGUN;
    int begins = __atomic_compare_exchange_n(&treadle__wiped.begun, &wiped, TREADLE__FORGETTING, 0,
                                             __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);

    if (begins)
        treadle__forget_parent(treadle__call(SYS_gettid, 0, 0, 0, 0, 0, 0) ==
                               treadle__call(SYS_getpid, 0, 0, 0, 0, 0, 0));
    (void)treadle__set_blocked(blocked);
    return begins;
}

/* Makes the segment. One thread does; the others record nothing until it is there. No handler that
 * forks interrupts: the child would make it, too. A constructor may push before that of this header
 * has run. Where that could not have what it needs, the segment only says so. */
TREADLE__LOCAL void treadle__start(struct treadle__process *process)
{
    uint64_t blocked = treadle__set_blocked(TREADLE__SIGNALS);
    const char *folder = "/dev/shm";
    uint32_t not_begun = 0;
    long fd;

    int has_all = process->has_key && process->has_fork_handler;
    int may_begin = (has_all || __atomic_load_n(&treadle__files, __ATOMIC_ACQUIRE) > 0) &&
                    __atomic_load_n(&process->stage, __ATOMIC_ACQUIRE) == 0;

    if (may_begin)
        treadle__note_begun();
    if (!may_begin || !__atomic_compare_exchange_n(&process->stage, &not_begun, 1, 0,
                                                   __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        (void)treadle__set_blocked(blocked);
        return;
    }
    process->pid = (int)treadle__call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    fd = treadle__make_file(process, folder);
    if (fd < 0) {
        folder = "/tmp";
        fd = treadle__make_file(process, folder);
    }
    if (fd >= 0) {
        process->head = (struct treadle_head *)treadle__map(process->head, TREADLE__ALL_BYTES, fd);
        if (process->head)
            treadle__fill_head(process, process->head);
        treadle__close(fd);
    }
    if (!treadle__agent.inside)
        treadle__set_watch(process->head && has_all ? &process->head->watch : &process->off);
    __atomic_store_n(&process->stage, 2, __ATOMIC_RELEASE);
    (void)treadle__set_blocked(blocked);
    if (fd >= 0 && process->head)
        treadle__tidy(folder, process->head);
}

/* Has the kernel give memory to a part of the segment, or say that there is none [madvise(2),
 * MADV_POPULATE_WRITE, Linux 5.14]. Works without the path, which a chroot takes away. */
TREADLE__INLINE int treadle__populate(struct treadle_head *head, uint64_t from, uint64_t bytes)
{
    uint64_t begin = from & ~(uint64_t)(getauxval(6 /* AT_PAGESZ */) - 1);

    return treadle__call(SYS_madvise, (long)((char *)head + begin), (long)(from + bytes - begin),
                         23, 0, 0, 0) == 0;
}

/* Reserves space for a part of the segment. The descriptor is not kept: a program may close what it
 * does not know. */
TREADLE__LOCAL int treadle__reserve(const struct treadle__process *process, uint64_t from,
                                    uint64_t bytes)
{
    struct stat found;
    int done = 0;
    long fd;

    if (treadle__populate(process->head, from, bytes))
        return 1;
    fd = treadle__open(process->path, TREADLE__O_RDWR);
    if (fd < 0)
        return 0;
    if (fstat((int)fd, &found) == 0 && (uint64_t)found.st_ino == process->inode)
        done = treadle__call(SYS_fallocate, fd, 0, (long)from, (long)bytes, 0, 0) == 0;
    treadle__close(fd);
    return done;
}

TREADLE__LOCAL struct treadle_slot *treadle__claim(struct treadle__process *process, int32_t tid)
{
    struct treadle_head *head = process->head;
    uint32_t used = __atomic_load_n(&head->slots_used, __ATOMIC_ACQUIRE);
    uint32_t index = 0;

    while (index < TREADLE_SLOTS) {
        int32_t none = 0;

        if (index == used) {
            if (used % TREADLE_SLOTS_STEP == 0 && used &&
                !treadle__reserve(process, TREADLE__SLOTS_OFFSET,
                                  TREADLE__BYTES_FOR(used + TREADLE_SLOTS_STEP) -
                                      TREADLE__SLOTS_OFFSET))
                return NULL;
            if (__atomic_compare_exchange_n(&head->slots_used, &used, used + 1, 0, __ATOMIC_ACQ_REL,
                                            __ATOMIC_ACQUIRE))
                used++;
        }
        if (__atomic_compare_exchange_n(&treadle__slot_at(head, index)->tid, &none, tid, 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return treadle__slot_at(head, index);
        index++;
    }
    return NULL;
}

/* An address above the calling thread's stack: of its control block, which lies at the stack's
 * upper end; for the main thread, of what the kernel put there. */
TREADLE__INLINE uint64_t treadle__stack_end(const struct treadle__process *process, int32_t tid)
{
    if (tid == process->pid)
        return (uint64_t)getauxval(25 /* AT_RANDOM */);
    return (uint64_t)(uintptr_t)pthread_self();
}

/* Another value means that a thread that found no slot may find one now. Never 0. */
TREADLE__INLINE uint32_t treadle__turn(uint32_t watch)
{
    return (watch + __atomic_load_n(&treadle__given_back, __ATOMIC_ACQUIRE)) << 1 | 1;
}

TREADLE__LOCAL struct treadle_slot *treadle__find_slot(struct treadle__process *process,
                                                       uint32_t watch)
{
    uint32_t turn = treadle__turn(watch);
    int32_t tid = (int32_t)treadle__call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    struct treadle_slot *slot = treadle__claim(process, tid);

    if (slot) {
        slot->watch = 0;
        slot->stack_end = treadle__stack_end(process, tid);
        slot->above = treadle__chains.has_otel ? 1 : slot->stack_end;
        if (pthread_setspecific(process->key, slot) == 0)
            return slot;
        /* The key is gone: the slot would be taken for ever. */
        __atomic_store_n(&slot->tid, 0, __ATOMIC_RELEASE);
    }
    if (!treadle__tried)
        __atomic_fetch_add(&process->head->lost_threads, 1, __ATOMIC_RELAXED);
    treadle__tried = turn;
    return NULL;
}

/* What is open was pushed while nobody watched, or another sampler. */
TREADLE__LOCAL void treadle__begin_watch(struct treadle_slot *slot, uint32_t watch)
{
    uint64_t state = slot->state & ~TREADLE_DEPTH_MASK;

    treadle__give_up_parts(slot);
    __atomic_store_n(&slot->state, state, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < TREADLE_FRAMES; i++)
        __atomic_store_n(&slot->frames[i].check, 0, __ATOMIC_RELEASE);
    slot->first_serial = (state >> TREADLE_DEPTH_BITS) + 1;
    __atomic_store_n(&slot->watch, watch, __ATOMIC_RELEASE);
}

/* The slot that the calling thread has taken; NULL: none. */
TREADLE__LOCAL struct treadle_slot *treadle__own_slot(const struct treadle__process *process)
{
    int32_t tid = (int32_t)treadle__call(SYS_gettid, 0, 0, 0, 0, 0, 0);
    struct treadle_head *head = process->head;

    if (__atomic_load_n(&process->stage, __ATOMIC_ACQUIRE) == 2 && head)
        for (uint32_t i = 0; i < __atomic_load_n(&head->slots_used, __ATOMIC_ACQUIRE); i++)
            if (__atomic_load_n(&treadle__slot_at(head, i)->tid, __ATOMIC_RELAXED) == tid)
                return treadle__slot_at(head, i);
    return NULL;
}

/* treadle__forks, before or behind what else this thread does. */
TREADLE__INLINE uint32_t treadle__forks_now(void)
{
    uint32_t forks;

    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    forks = __atomic_load_n(&treadle__forks, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    return forks;
}

/* False for what the thread that forked has from before another one of the child began. */
TREADLE__INLINE int treadle__is_own(const struct treadle_head *head,
                                    const struct treadle_slot *slot)
{
    return (uintptr_t)slot - (uintptr_t)head < TREADLE__ALL_BYTES;
}

/* The calling thread's slot, with the frames of this watch; NULL: nothing is recorded. */
TREADLE__SHARED struct treadle_slot *treadle__attach(void);
TREADLE__SHARED struct treadle_slot *treadle__attach(void)
{
    struct treadle__process *process = &treadle__process;
    struct treadle_slot *slot;
    uint32_t forks, watch;

    if (treadle__is_busy || (treadle__is_unheard() && !treadle__begin_unheard()))
        return NULL;
    forks = treadle__forks_now();
    treadle__is_busy = 1;
    if (__atomic_load_n(&process->stage, __ATOMIC_ACQUIRE) == 0)
        treadle__start(process);
    watch = __atomic_load_n(&process->stage, __ATOMIC_ACQUIRE) == 2 && process->head &&
                    !process->head->unrecorded
                ? __atomic_load_n(&process->head->watch, __ATOMIC_ACQUIRE)
                : 0;
    slot = treadle__slot;
    if (watch && slot && !treadle__is_own(process->head, slot))
        slot = treadle__slot = NULL;
    if (watch && !slot && treadle__tried != treadle__turn(watch))
        slot = treadle__slot = treadle__find_slot(process, watch);
    if (watch && slot && slot->watch != watch)
        treadle__begin_watch(slot, watch);
    while (treadle__forks_now() != forks) {
        forks = treadle__forks_now();
        slot = treadle__slot = treadle__own_slot(process);
    }
    treadle__is_busy = 0;
    return watch ? slot : NULL;
}

/* The index of a text, which is added if there is room; 0: "(other)", as is the empty text. */
TREADLE__LOCAL uint32_t treadle__index_of(struct treadle_head *head, const char *text)
{
    size_t length = strlen(text);
    uint32_t used = __atomic_load_n(&head->identifiers_used, __ATOMIC_ACQUIRE), index = 0;
    struct treadle_identifier *place;

    if (length > TREADLE_IDENTIFIER_BYTES) {
        length = TREADLE_IDENTIFIER_BYTES;
        __atomic_fetch_add(&head->cut_identifiers, 1, __ATOMIC_RELAXED);
    }
    for (index = 1; length && index < used; index++) {
        place = treadle__identifier_at(head, index);
        if (__atomic_load_n(&place->length, __ATOMIC_ACQUIRE) == length &&
            memcmp(place->text, text, length) == 0)
            return index;
    }
    while (length && used < TREADLE_IDENTIFIERS &&
           !__atomic_compare_exchange_n(&head->identifiers_used, &used, used + 1, 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        continue;
    if (!length || used >= TREADLE_IDENTIFIERS)
        return 0;
    place = treadle__identifier_at(head, used);
    memcpy(place->text, text, length);
    __atomic_store_n(&place->length, (uint32_t)length, __ATOMIC_RELEASE);
    return used;
}

TREADLE__INLINE struct treadle__name *treadle__name_at(const char *text, uint32_t tried)
{
    uint64_t hash = (uint64_t)(uintptr_t)text * UINT64_C(0x9e3779b97f4a7c15) >> 54;

    return &treadle__process.names[(hash + tried) % TREADLE__NAMES];
}

/* The index of the text at an address; the address is remembered if there is room. */
TREADLE__SHARED uint32_t treadle__register(const char *text);
TREADLE__SHARED uint32_t treadle__register(const char *text)
{
    uint32_t forks = treadle__forks_now(), index;
    struct treadle_head *head = treadle__process.head;
    struct treadle__name *name;

    for (uint32_t tried = 0; tried < TREADLE__NAME_TRIES; tried++) {
        name = treadle__name_at(text, tried);
        if (__atomic_load_n(&name->text, __ATOMIC_ACQUIRE) == text)
            return name->index;
    }
    index = treadle__index_of(head, text);
    if (!index)
        __atomic_fetch_add(&head->lost_identifiers, 1, __ATOMIC_RELAXED);
    for (uint32_t tried = 0; index && tried < TREADLE__NAME_TRIES; tried++) {
        uint32_t none = 0;

        name = treadle__name_at(text, tried);
        if (__atomic_compare_exchange_n(&name->index, &none, index, 0, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED)) {
            __atomic_store_n(&name->text, text, __ATOMIC_RELEASE);
            if (treadle__forks_now() != forks) {
                __atomic_store_n(&name->text, (const char *)NULL, __ATOMIC_RELEASE);
                __atomic_store_n(&name->index, 0, __ATOMIC_RELEASE);
            }
            break;
        }
    }
    return index;
}

#define TREADLE__UNRECORDED UINT64_C(0)

/* A sampler that was killed cannot say that it is over. */
TREADLE__SHARED __attribute__((noinline)) void treadle__look_at_lease(struct treadle_head *head);
TREADLE__SHARED __attribute__((noinline)) void treadle__look_at_lease(struct treadle_head *head)
{
    struct {
        int64_t s, ns;
    } now = {0, 0};
    uint32_t watch = __atomic_load_n(&head->watch, __ATOMIC_RELAXED);

    (void)treadle__call(SYS_clock_gettime, 1 /* CLOCK_MONOTONIC */, (long)&now, 0, 0, 0, 0);
    if ((uint64_t)now.s * 1000000000u + (uint64_t)now.ns >
        __atomic_load_n(&head->watch_until_ns, __ATOMIC_ACQUIRE))
        (void)__atomic_compare_exchange_n(&head->watch, &watch, 0, 0, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED);
}

/* A reader that saw the frame open can still tell what was in it. */
TREADLE__INLINE void treadle__end_frame(struct treadle_frame *frame)
{
    __atomic_store_n(&frame->check, ~frame->check, __ATOMIC_RELEASE);
}

/* Takes off the frames of functions that are over: pushed further in than `place`. Returns the
 * depth. */
TREADLE__SHARED __attribute__((noinline)) uint64_t treadle__drop_dead(struct treadle_slot *slot,
                                                                      uint64_t depth,
                                                                      uint64_t place);
TREADLE__SHARED __attribute__((noinline)) uint64_t treadle__drop_dead(struct treadle_slot *slot,
                                                                      uint64_t depth,
                                                                      uint64_t place)
{
    while (depth) {
        uint64_t top = depth < TREADLE_FRAMES ? depth : TREADLE_FRAMES;
        struct treadle_frame *frame = &slot->frames[top - 1];

        if (!frame->place || frame->place >= place)
            break;
        if (frame->place & TREADLE__HAS_ID)
            treadle__end_part(slot, top - 1, 0);
        treadle__end_frame(frame);
        depth = top - 1;
    }
    return depth;
}

#define TREADLE__UNRECORDED UINT64_C(0)

#define TREADLE__LEASE_MASK UINT64_C(0xfffff)
#define TREADLE__ONE_PUSH   ((UINT64_C(1) << TREADLE_DEPTH_BITS) + 1)

/* Counts a push, where frames may have to be dropped first, or there is no room for one more.
 * Returns the state without it. */
TREADLE__SHARED __attribute__((noinline)) uint64_t treadle__make_room(struct treadle_slot *slot,
                                                                      uint64_t place);
TREADLE__SHARED __attribute__((noinline)) uint64_t treadle__make_room(struct treadle_slot *slot,
                                                                      uint64_t place)
{
    uint64_t state = slot->state, depth = state & TREADLE_DEPTH_MASK;

    if (place > TREADLE_ELSEWHERE)
        depth = treadle__drop_dead(slot, depth, place);
    depth -= depth == TREADLE_DEPTH_MASK;
    state = (state & ~TREADLE_DEPTH_MASK) | depth;
    __atomic_store_n(&slot->state, state + TREADLE__ONE_PUSH, __ATOMIC_RELEASE);
    slot->lost_frames += depth >= TREADLE_FRAMES;
    return state;
}

/* An address by which frames can be compared; 0: not known. */
TREADLE__INLINE uint64_t treadle__place(const struct treadle_slot *slot, uint64_t address)
{
    return address < slot->stack_end ? address : address == UINT64_MAX ? 0 : TREADLE_ELSEWHERE;
}

/* 0: nothing is recorded. */
TREADLE__INLINE uint32_t treadle__watch_now(void)
{
    uint64_t to_watch = __atomic_load_n(&treadle__wiped.to_watch, __ATOMIC_RELAXED);
    const uint32_t *watch = (const uint32_t *)((uintptr_t)&treadle__agent.watch + to_watch);

    return __atomic_load_n(watch, __ATOMIC_RELAXED);
}

/* What samplers watch, where treadle__watch_now may be for the profiler inside. */
TREADLE__INLINE uint32_t treadle__samplers_watch(uint32_t watch)
{
    const struct treadle_head *head = treadle__process.head;

    if (watch != TREADLE__INSIDE_WATCH)
        return watch;
    return __atomic_load_n(&treadle__process.stage, __ATOMIC_ACQUIRE) == 2 && head
               ? __atomic_load_n(&head->watch, __ATOMIC_ACQUIRE)
               : 0;
}

/* Out of line, so that a push or pop in the program is short, and since their canonical frame
 * address is where the caller's stack ends. Each step leaves the stack whole for a signal handler
 * that pushes and pops: first the frame is counted, then filled in. */
/* Returns the mark: the state without the frame. `text`: or NULL, and `number` is the parameter. */
TREADLE__INLINE treadle_mark treadle__fill(struct treadle_slot *slot, uint64_t state,
                                           uint64_t place, uint64_t what, uint64_t number,
                                           const uint64_t *text)
{
    struct treadle_frame *frame = &slot->frames[state & TREADLE_DEPTH_MASK];
    uint64_t serial = (state >> TREADLE_DEPTH_BITS) + 1;

    __atomic_thread_fence(__ATOMIC_RELEASE);
    frame->serial = serial;
    frame->place = place;
    frame->what = what;
    if (text)
        memcpy(frame->parameter, text, TREADLE_PARAMETER_BYTES);
    else if (what >> 32)
        frame->parameter[0] = number;
    __atomic_store_n(&frame->check, treadle__check(serial, place, what, number), __ATOMIC_RELEASE);
    return state;
}

/* ---- chains ---- */

/* A frame's parameter as treadle__check has it. */
TREADLE__INLINE uint64_t treadle__number_of(const struct treadle_frame *frame)
{
    switch (frame->what >> 32 & 0xff) {
    case TREADLE_TEXT:
        return treadle__fold(frame->parameter);
    case TREADLE_NUMBER:
        return frame->parameter[0];
    default:
        return 0;
    }
}

TREADLE__INLINE struct treadle_part *treadle__part_at(struct treadle_head *head, uint64_t turn)
{
    return (struct treadle_part *)(void *)((char *)head + head->parts_offset) +
           turn % TREADLE_PARTS;
}

TREADLE__INLINE uint64_t treadle__clock(long clock)
{
    struct {
        int64_t s, ns;
    } now = {0, 0};

    (void)treadle__call(SYS_clock_gettime, clock, (long)&now, 0, 0, 0, 0);
    return (uint64_t)now.s * 1000000000u + (uint64_t)now.ns;
}

/* Of the frame of a slot with that index; there is one if that frame has an id. */
TREADLE__INLINE struct treadle__open_part *treadle__open_part_of(const struct treadle_slot *slot,
                                                                 uint64_t index)
{
    uint64_t number = (uint64_t)(slot - treadle__slot_at(treadle__process.head, 0));

    return &treadle__parts_of_slots[number * TREADLE_FRAMES + index];
}

/* The part of an open frame; NULL: the frame has no id. */
TREADLE__INLINE struct treadle_part *treadle__part_of(const struct treadle_slot *slot,
                                                      uint64_t index)
{
    const struct treadle__open_part *open;

    if (!(slot->frames[index].place & TREADLE__HAS_ID) || !treadle__parts_of_slots)
        return NULL;
    open = treadle__open_part_of(slot, index);
    return open->serial == slot->frames[index].serial
               ? treadle__part_at(treadle__process.head, open->turn)
               : NULL;
}

#define TREADLE__MONOTONIC  1L
#define TREADLE__THREAD_CPU 3L

/* Reserves the space of the ring, and of what open frames have of it, at the first part; 0: there
 * is none. */
TREADLE__LOCAL int treadle__have_ring(struct treadle__process *process)
{
    struct treadle_head *head = process->head;
    uint32_t not_begun = 0;

    if (__atomic_load_n(&head->parts_max, __ATOMIC_ACQUIRE))
        return 1;
    if (!head->parts_offset || !__atomic_compare_exchange_n(&treadle__chains.stage, &not_begun, 1,
                                                            0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return 0;
    if (!treadle__parts_of_slots)
        treadle__parts_of_slots =
            (struct treadle__open_part *)treadle__map(NULL, TREADLE__PARTS_OF_SLOTS_BYTES, -1);
    if (!treadle__parts_of_slots || !treadle__reserve(process, TREADLE__PARTS_OFFSET,
                                                      TREADLE__ALL_BYTES - TREADLE__PARTS_OFFSET))
        return 0;
    __atomic_store_n(&head->parts_max, TREADLE_PARTS, __ATOMIC_RELEASE);
    return 1;
}

/* Takes a part that is free or over, of the next turn; NULL: too many are open. */
TREADLE__LOCAL struct treadle_part *treadle__take_part(struct treadle_head *head, uint64_t *turn)
{
    for (unsigned tried = 0; tried < 16; tried++) {
        struct treadle_part *part;
        uint64_t state;

        *turn = __atomic_fetch_add(&head->parts_begun, 1, __ATOMIC_ACQ_REL);
        part = treadle__part_at(head, *turn);
        state = __atomic_load_n(&part->state, __ATOMIC_ACQUIRE);
        if (((state & TREADLE_PART_STATE_MASK) == TREADLE_PART_FREE ||
             (state & TREADLE_PART_STATE_MASK) == TREADLE_PART_DONE) &&
            __atomic_compare_exchange_n(&part->state, &state,
                                        *turn << TREADLE_PART_STATE_BITS | TREADLE_PART_WRITING, 0,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
            return part;
    }
    return NULL;
}

TREADLE__INLINE void treadle__publish_part(struct treadle_part *part, uint64_t turn, uint64_t stage)
{
    uint64_t state = turn << TREADLE_PART_STATE_BITS | stage;

    __atomic_store_n(&part->check, treadle__part_check(part, state), __ATOMIC_RELEASE);
    __atomic_store_n(&part->state, state, __ATOMIC_RELEASE);
}

/* True if a frame below `depth` has that id. */
TREADLE__LOCAL int treadle__is_in_part(struct treadle_slot *slot, uint64_t depth,
                                       struct treadle_chain id)
{
    for (uint64_t i = 0; i < depth; i++) {
        const struct treadle_part *part = treadle__part_of(slot, i);

        if (part && part->id[0] == id.word[0] && part->id[1] == id.word[1])
            return 1;
    }
    return 0;
}

/* The youngest frame, which has just been pushed, has that id. */
TREADLE__SHARED __attribute__((noinline)) void treadle__adopt_now(struct treadle_slot *slot,
                                                                  struct treadle_chain id,
                                                                  uint32_t flags);
TREADLE__SHARED __attribute__((noinline)) void treadle__adopt_now(struct treadle_slot *slot,
                                                                  struct treadle_chain id,
                                                                  uint32_t flags)
{
    uint64_t depth = slot->state & TREADLE_DEPTH_MASK, turn = 0;
    struct treadle_head *head = treadle__process.head;
    struct treadle_part *part;
    struct treadle_frame *frame;

    /* A frame has one id: OpenTelemetry's goes before the program's own. */
    if (!(id.word[0] | id.word[1]) || !depth || depth > TREADLE_FRAMES ||
        slot->frames[depth - 1].place & TREADLE__HAS_ID || treadle__is_in_part(slot, depth - 1, id))
        return;
    part = treadle__have_ring(&treadle__process) ? treadle__take_part(head, &turn) : NULL;
    if (!part) {
        __atomic_fetch_add(&head->lost_parts, 1, __ATOMIC_RELAXED);
        return;
    }
    frame = &slot->frames[depth - 1];
    part->id[0] = id.word[0];
    part->id[1] = id.word[1];
    part->end_ns = 0;
    part->tid = __atomic_load_n(&slot->tid, __ATOMIC_RELAXED);
    part->flags = flags;
    part->depth = (uint32_t)depth;
    memcpy(part->frames, slot->frames, depth * sizeof(*frame));
    for (uint64_t i = 0; i < depth; i++) /* what an earlier frame left there */
        if (!(part->frames[i].what >> 32 & 0xff))
            memset(part->frames[i].parameter, 0, sizeof(part->frames[i].parameter));
    treadle__open_part_of(slot, depth - 1)->serial = frame->serial;
    treadle__open_part_of(slot, depth - 1)->turn = turn;
    /* The frame with another place has another check: it goes and comes again. */
    __atomic_store_n(&frame->check, 0, __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    frame->place = frame->place ? frame->place | TREADLE__HAS_ID : UINT64_MAX;
    __atomic_store_n(
        &frame->check,
        treadle__check(frame->serial, frame->place, frame->what, treadle__number_of(frame)),
        __ATOMIC_RELEASE);
    part->cpu_ns = treadle__clock(TREADLE__THREAD_CPU);
    part->begin_ns = treadle__clock(TREADLE__MONOTONIC);
    treadle__publish_part(part, turn, TREADLE_PART_OPEN);
}

TREADLE__SHARED __attribute__((noinline)) void treadle__end_part(struct treadle_slot *slot,
                                                                 uint64_t index, int is_seen)
{
    struct treadle_part *part = treadle__part_of(slot, index);
    struct treadle__open_part *open;
    uint64_t turn;

    if (!part)
        return;
    open = treadle__open_part_of(slot, index);
    turn = open->turn;
    if (part->tid != __atomic_load_n(&slot->tid, __ATOMIC_RELAXED) ||
        __atomic_load_n(&part->state, __ATOMIC_ACQUIRE) !=
            (turn << TREADLE_PART_STATE_BITS | TREADLE_PART_OPEN))
        return;
    open->serial = 0;
    __atomic_store_n(&part->state, turn << TREADLE_PART_STATE_BITS | TREADLE_PART_WRITING,
                     __ATOMIC_RELEASE);
    __atomic_thread_fence(__ATOMIC_RELEASE);
    part->end_ns = treadle__clock(TREADLE__MONOTONIC);
    part->cpu_ns = treadle__clock(TREADLE__THREAD_CPU) - part->cpu_ns;
    if (!is_seen)
        part->flags |= TREADLE_PART_UNENDED;
    treadle__publish_part(part, turn, TREADLE_PART_DONE);
}

/* The trace id of OpenTelemetry's context of the calling thread; zeros: there is none. */
TREADLE__INLINE struct treadle_chain treadle_otel_id(void)
{
    struct treadle_chain id = {{0, 0}};
    const struct treadle__otel_context *context;

    if (!treadle__chains.has_otel)
        return id;
    context = *(struct treadle__otel_context *volatile *)(void *)(treadle__thread_pointer() +
                                                                  treadle__chains.otel_offset);
    if (!context || __atomic_load_n(&context->valid, __ATOMIC_ACQUIRE) != 1)
        return id;
    for (unsigned i = 0; i < 16; i++)
        id.word[i / 8] = id.word[i / 8] << 8 | context->trace_id[i];
    return id;
}

/* A push into the segment that finds something to do first. */
TREADLE__LOCAL treadle_mark treadle__push_into(struct treadle_slot *slot, const char *identifier,
                                               uint64_t address, uint64_t what, uint64_t number,
                                               const uint64_t *text)
{
    uint64_t index = treadle__register(identifier);
    uint64_t place = treadle__place(slot, address);
    uint64_t state = treadle__make_room(slot, place);

    if ((slot->state >> TREADLE_DEPTH_BITS & TREADLE__LEASE_MASK) == 0)
        treadle__look_at_lease(treadle__process.head);
    if ((state & TREADLE_DEPTH_MASK) < TREADLE_FRAMES)
        treadle__fill(slot, state, place, what | index, number, text);
    if ((state & TREADLE_DEPTH_MASK) == 0 && treadle__chains.has_otel)
        treadle__adopt_now(slot, treadle_otel_id(), TREADLE_PART_OTEL);
    return state;
}

/* A push that finds something to do first, or has a profiler to tell. */
TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__push_slowly(
    const char *identifier, uint64_t address, uint64_t what, uint64_t number, const uint64_t *text);
TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__push_slowly(
    const char *identifier, uint64_t address, uint64_t what, uint64_t number, const uint64_t *text)
{
    struct treadle_slot *slot = treadle__attach();
    const struct treadle_inside *inside = treadle__agent.inside;
    struct treadle_pushed pushed = {identifier, address, what, {0, 0, 0, 0}};
    treadle_mark mark = TREADLE__UNRECORDED;

    if (slot)
        mark = treadle__push_into(slot, identifier, address, what & ~TREADLE_CUT, number, text);
    if (!inside)
        return mark;
    if (text)
        memcpy(pushed.parameter, text, sizeof(pushed.parameter));
    else
        pushed.parameter[0] = number;
    mark = inside->push(&pushed, mark);
    if (mark & TREADLE_INSIDE_MARK && treadle__inside_ids && treadle__chains.has_otel)
        treadle__inside_ids->adopt(mark, treadle_otel_id(), TREADLE_PART_OTEL);
    return mark;
}

/* The place of the youngest of so many frames; if there is none: above all others. */
TREADLE__INLINE uint64_t treadle__place_below(const struct treadle_slot *slot, uint64_t depth)
{
    const char *frame = (const char *)slot + depth * sizeof(struct treadle_frame);

    return *(const uint64_t *)(const void *)(frame + offsetof(struct treadle_frame, place));
}

/* Calls nothing but at its end, and so needs no registers to be saved. No frame's place, and not
 * what stands before the first, lies above the stack's end: an address that is not above the
 * youngest's is a place. */
TREADLE__INLINE treadle_mark treadle__push_at(const char *identifier, uint32_t watch,
                                              uint64_t address, uint64_t what, uint64_t number,
                                              const uint64_t *text)
{
    const struct treadle__name *name = treadle__name_at(identifier, 0);
    struct treadle_slot *slot = treadle__slot;
    uint64_t state, depth;

    if (__builtin_expect(!slot || slot->watch != watch ||
                             __atomic_load_n(&name->text, __ATOMIC_ACQUIRE) != identifier,
                         0))
        return treadle__push_slowly(identifier, address, what, number, text);
    state = slot->state;
    depth = state & TREADLE_DEPTH_MASK;
    if (__builtin_expect(depth >= TREADLE_FRAMES || treadle__place_below(slot, depth) < address ||
                             (state >> TREADLE_DEPTH_BITS & TREADLE__LEASE_MASK) ==
                                 TREADLE__LEASE_MASK,
                         0))
        return treadle__push_slowly(identifier, address, what, number, text);
    __atomic_store_n(&slot->state, state + TREADLE__ONE_PUSH, __ATOMIC_RELEASE);
    return treadle__fill(slot, state, address, what | name->index, number, text);
}

TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__push(const char *identifier,
                                                                     uint32_t watch);
TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__push(const char *identifier,
                                                                     uint32_t watch)
{
    return treadle__push_at(identifier, watch, (uint64_t)__builtin_dwarf_cfa(),
                            TREADLE_WHAT(0, TREADLE_NO_PARAMETER, 0), 0, NULL);
}

TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__push_number(const char *identifier,
                                                                            uint32_t watch,
                                                                            uint64_t number);
TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__push_number(const char *identifier,
                                                                            uint32_t watch,
                                                                            uint64_t number)
{
    return treadle__push_at(identifier, watch, (uint64_t)__builtin_dwarf_cfa(),
                            TREADLE_WHAT(0, TREADLE_NUMBER, 0), number, NULL);
}

/* The text, zeros behind it, and its length, as far as that was looked at. */
struct treadle__text {
    uint64_t words[TREADLE_PARAMETER_BYTES / 8];
    size_t length;
};

TREADLE__INLINE treadle_mark treadle__push_text_at(const char *identifier, uint32_t watch,
                                                   uint64_t address,
                                                   const struct treadle__text *text)
{
    size_t length = text->length;
    uint64_t cut = 0;

    if (__builtin_expect(length > TREADLE_PARAMETER_BYTES, 0)) {
        length = TREADLE_PARAMETER_BYTES;
        if (treadle__slot && !treadle__is_unheard())
            treadle__slot->cut_parameters++;
        cut = treadle__agent.inside ? TREADLE_CUT : 0;
    }
    return treadle__push_at(identifier, watch, address, TREADLE_WHAT(0, TREADLE_TEXT, length) | cut,
                            treadle__fold(text->words), text->words);
}

TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__push_text(
    const char *identifier, uint32_t watch, const struct treadle__text *text);
TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__push_text(
    const char *identifier, uint32_t watch, const struct treadle__text *text)
{
    return treadle__push_text_at(identifier, watch, (uint64_t)__builtin_dwarf_cfa(), text);
}

/* A pop where the youngest frame is not that of the caller. */
TREADLE__SHARED __attribute__((noinline)) void treadle__pop_other(struct treadle_slot *slot,
                                                                  uint64_t place);
TREADLE__SHARED __attribute__((noinline)) void treadle__pop_other(struct treadle_slot *slot,
                                                                  uint64_t place)
{
    uint64_t state = slot->state, open = state & TREADLE_DEPTH_MASK;
    uint64_t depth = place > TREADLE_ELSEWHERE ? treadle__drop_dead(slot, open, place) : open;
    uint64_t youngest =
        depth && depth <= TREADLE_FRAMES ? slot->frames[depth - 1].place & ~TREADLE__HAS_ID : 0;

    if (depth > TREADLE_FRAMES) {
        depth--;
    } else if (depth && (youngest == place ||
                         (depth == open && (place != TREADLE_ELSEWHERE || youngest < place)))) {
        depth--;
        if (slot->frames[depth].place & TREADLE__HAS_ID)
            treadle__end_part(slot, depth, 1);
        treadle__end_frame(&slot->frames[depth]);
    }
    __atomic_store_n(&slot->state, (state & ~TREADLE_DEPTH_MASK) | depth, __ATOMIC_RELEASE);
}

/* A pop where the slot is not of this watch, or that has a profiler to tell. */
TREADLE__SHARED __attribute__((noinline)) void treadle__pop_slowly(uint64_t address);
TREADLE__SHARED __attribute__((noinline)) void treadle__pop_slowly(uint64_t address)
{
    struct treadle_slot *slot = treadle__attach();
    const struct treadle_inside *inside = treadle__agent.inside;

    if (!inside)
        return;
    if (slot && slot->state & TREADLE_DEPTH_MASK)
        treadle__pop_other(slot, treadle__place(slot, address));
    inside->pop(address);
}

TREADLE__SHARED __attribute__((noinline)) void treadle__pop(uint32_t watch);
TREADLE__SHARED __attribute__((noinline)) void treadle__pop(uint32_t watch)
{
    struct treadle_slot *slot = treadle__slot;
    uint64_t address = (uint64_t)__builtin_dwarf_cfa(), state, depth;

    if (__builtin_expect(!slot || slot->watch != watch, 0)) {
        treadle__pop_slowly(address);
        return;
    }
    state = slot->state;
    depth = state & TREADLE_DEPTH_MASK;
    if (__builtin_expect(depth > TREADLE_FRAMES || treadle__place_below(slot, depth) != address,
                         0)) {
        treadle__pop_other(slot, treadle__place(slot, address));
        return;
    }
    treadle__end_frame(&slot->frames[depth - 1]);
    __atomic_store_n(&slot->state, state - 1, __ATOMIC_RELEASE);
}

/* A mark from before this watch is that of a frame below all that are recorded. */
TREADLE__SHARED __attribute__((noinline)) void treadle__pop_to(treadle_mark mark);
TREADLE__SHARED __attribute__((noinline)) void treadle__pop_to(treadle_mark mark)
{
    struct treadle_slot *slot = treadle__attach();
    const struct treadle_inside *inside = treadle__agent.inside;
    uint64_t state = slot ? slot->state : 0, depth = state & TREADLE_DEPTH_MASK, wanted = 0;

    if (mark & TREADLE_INSIDE_MARK)
        mark = inside ? inside->pop_to(mark) : TREADLE__UNRECORDED;
    if (slot && (mark >> TREADLE_DEPTH_BITS) + 1 >= slot->first_serial)
        wanted = mark & TREADLE_DEPTH_MASK;
    if (wanted >= depth)
        return;
    for (uint64_t i = depth < TREADLE_FRAMES ? depth : TREADLE_FRAMES; i > wanted; i--) {
        if (slot->frames[i - 1].place & TREADLE__HAS_ID)
            treadle__end_part(slot, i - 1, i - 1 == wanted);
        treadle__end_frame(&slot->frames[i - 1]);
    }
    __atomic_store_n(&slot->state, (state & ~TREADLE_DEPTH_MASK) | wanted, __ATOMIC_RELEASE);
}

/* Keeps a call from being the caller's last instruction, a jump: its stack would have ended. */
#define TREADLE__STAY() __asm__ __volatile__("")

TREADLE__INLINE treadle_mark treadle_push(const char *identifier)
{
    uint32_t watch = treadle__watch_now();
    treadle_mark mark;

    if (__builtin_expect(watch == 0, 1))
        return TREADLE__UNRECORDED;
    mark = treadle__push(identifier, watch);
    TREADLE__STAY();
    return mark;
}

TREADLE__INLINE treadle_mark treadle_push_number(const char *identifier, int64_t parameter)
{
    uint32_t watch = treadle__watch_now();
    treadle_mark mark;

    if (__builtin_expect(watch == 0, 1))
        return TREADLE__UNRECORDED;
    mark = treadle__push_number(identifier, watch, (uint64_t)parameter);
    TREADLE__STAY();
    return mark;
}

TREADLE__INLINE size_t treadle__length(const char *text)
{
    size_t length = 0;

    while (length <= TREADLE_PARAMETER_BYTES && text[length])
        length++;
    return length;
}

/* (Of a constant the compiler makes the words.) */
TREADLE__INLINE treadle_mark treadle_push_with(const char *identifier, const char *parameter)
{
    struct treadle__text text = {{0, 0, 0, 0}, 0};
    uint32_t watch = treadle__watch_now();
    treadle_mark mark;

    if (__builtin_expect(watch == 0, 1))
        return TREADLE__UNRECORDED;
    if (parameter) {
        text.length = __builtin_constant_p(__builtin_strlen(parameter))
                          ? __builtin_strlen(parameter)
                          : treadle__length(parameter);
        memcpy(text.words, parameter,
               text.length < TREADLE_PARAMETER_BYTES ? text.length : TREADLE_PARAMETER_BYTES);
        mark = treadle__push_text(identifier, watch, &text);
    } else {
        mark = treadle__push(identifier, watch);
    }
    TREADLE__STAY();
    return mark;
}

TREADLE__INLINE void treadle_pop(void)
{
    uint32_t watch = treadle__watch_now();

    if (__builtin_expect(watch == 0, 1))
        return;
    treadle__pop(watch);
    TREADLE__STAY();
}

TREADLE__INLINE void treadle_pop_to(treadle_mark mark)
{
    if (__builtin_expect(treadle__watch_now() == 0, 1))
        return;
    treadle__pop_to(mark);
    TREADLE__STAY();
}

/* Gives the youngest frame an id, whose push returned the mark. */
TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__adopt(treadle_mark mark,
                                                                      struct treadle_chain id);
TREADLE__SHARED __attribute__((noinline)) treadle_mark treadle__adopt(treadle_mark mark,
                                                                      struct treadle_chain id)
{
    const struct treadle_inside *inside = treadle__agent.inside;
    struct treadle_slot *slot = treadle__slot;
    treadle_mark before = mark & TREADLE_INSIDE_MARK && inside ? inside->find(mark) : mark;

    /* That frame is the youngest if it was pushed: a mark is the state before. */
    if (slot && !treadle__is_unheard() && slot->state == before + TREADLE__ONE_PUSH)
        treadle__adopt_now(slot, id, 0);
    if (mark & TREADLE_INSIDE_MARK && treadle__inside_ids)
        treadle__inside_ids->adopt(mark, id, 0);
    return mark;
}

TREADLE__SHARED __attribute__((noinline)) struct treadle_chain treadle__new_id(void);
TREADLE__SHARED __attribute__((noinline)) struct treadle_chain treadle__new_id(void)
{
    struct treadle_chain id = {{0, 0}};

    if (treadle__is_unheard() ||
        (!treadle__inside_ids && !treadle__samplers_watch(treadle__watch_now())))
        return id;
    if (treadle__call(SYS_getrandom, (long)&id, sizeof(id), 1, 0, 0, 0) != (long)sizeof(id))
        id.word[0] = id.word[1] = 0;
    return id;
}

TREADLE__SHARED __attribute__((noinline)) struct treadle_chain treadle__current_id(uint32_t watch);
TREADLE__SHARED __attribute__((noinline)) struct treadle_chain treadle__current_id(uint32_t watch)
{
    struct treadle_slot *slot = treadle__slot;
    struct treadle_chain id = {{0, 0}};
    const struct treadle_part *part;
    uint64_t depth = slot && slot->watch == treadle__samplers_watch(watch)
                         ? slot->state & TREADLE_DEPTH_MASK
                         : 0;

    if (treadle__is_unheard())
        return id;
    if (treadle__inside_ids) {
        id = treadle__inside_ids->current();
        if (id.word[0] | id.word[1])
            return id;
    }
    for (uint64_t i = depth < TREADLE_FRAMES ? depth : TREADLE_FRAMES; i-- > 0;)
        if ((part = treadle__part_of(slot, i)) != NULL) {
            id.word[0] = part->id[0];
            id.word[1] = part->id[1];
            break;
        }
    return id;
}

TREADLE__INLINE struct treadle_chain treadle_id(void)
{
    struct treadle_chain none = {{0, 0}};
    uint32_t watch = treadle__watch_now();

    return __builtin_expect(watch == 0, 1) ? none : treadle__current_id(watch);
}

TREADLE__INLINE treadle_mark treadle_adopt_with(const char *identifier, const char *parameter,
                                                struct treadle_chain id)
{
    treadle_mark mark;

    if (__builtin_expect(treadle__watch_now() == 0, 1))
        return TREADLE__UNRECORDED;
    mark = treadle__adopt(treadle_push_with(identifier, parameter), id);
    TREADLE__STAY();
    return mark;
}

TREADLE__INLINE treadle_mark treadle_adopt(const char *identifier, struct treadle_chain id)
{
    return treadle_adopt_with(identifier, NULL, id);
}

TREADLE__INLINE treadle_mark treadle_begin_with(const char *identifier, const char *parameter)
{
    treadle_mark mark;

    if (__builtin_expect(treadle__watch_now() == 0, 1))
        return TREADLE__UNRECORDED;
    mark = treadle__adopt(treadle_push_with(identifier, parameter), treadle__new_id());
    TREADLE__STAY();
    return mark;
}

TREADLE__INLINE treadle_mark treadle_begin(const char *identifier)
{
    return treadle_begin_with(identifier, NULL);
}

#ifdef __cplusplus
}
#endif

#else /* elsewhere nothing is recorded */
#define TREADLE__INLINE TREADLE__LOCAL

TREADLE__INLINE treadle_mark treadle_push(const char *identifier)
{
    (void)identifier;
    return 0;
}

TREADLE__INLINE treadle_mark treadle_push_number(const char *identifier, int64_t parameter)
{
    (void)identifier, (void)parameter;
    return 0;
}

TREADLE__INLINE treadle_mark treadle_push_with(const char *identifier, const char *parameter)
{
    (void)identifier, (void)parameter;
    return 0;
}

TREADLE__INLINE void treadle_pop(void)
{
}

TREADLE__INLINE void treadle_pop_to(treadle_mark mark)
{
    (void)mark;
}

TREADLE__INLINE struct treadle_chain treadle_id(void)
{
    struct treadle_chain none = {{0, 0}};

    return none;
}

TREADLE__INLINE struct treadle_chain treadle_otel_id(void)
{
    return treadle_id();
}

TREADLE__INLINE treadle_mark treadle_adopt_with(const char *identifier, const char *parameter,
                                                struct treadle_chain id)
{
    (void)identifier, (void)parameter, (void)id;
    return 0;
}

TREADLE__INLINE treadle_mark treadle_adopt(const char *identifier, struct treadle_chain id)
{
    (void)identifier, (void)id;
    return 0;
}

TREADLE__INLINE treadle_mark treadle_begin_with(const char *identifier, const char *parameter)
{
    (void)identifier, (void)parameter;
    return 0;
}

TREADLE__INLINE treadle_mark treadle_begin(const char *identifier)
{
    (void)identifier;
    return 0;
}
#endif

#define TREADLE_ID_TEXT_BYTES 33u

TREADLE__LOCAL void treadle_id_text(struct treadle_chain id, char text[TREADLE_ID_TEXT_BYTES])
{
    for (unsigned i = 0; i < 32; i++)
        text[i] = "0123456789abcdef"[id.word[i / 16] >> (60 - i % 16 * 4) & 15];
    text[32] = '\0';
}

TREADLE__LOCAL struct treadle_chain treadle_id_of_text(const char *text)
{
    struct treadle_chain none = {{0, 0}}, id = none;

    if (!text)
        return none;
    for (unsigned i = 0; i < 32; i++) {
        char c = text[i];
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                                : 16;

        if (digit > 15)
            return none;
        id.word[i / 16] = id.word[i / 16] << 4 | digit;
    }
    return text[32] ? none : id;
}

TREADLE__INLINE void treadle__leave_scope(const treadle_mark *mark)
{
    treadle_pop_to(*mark);
}

#define TREADLE__JOIN_NOW(a, b) a##b
#define TREADLE__JOIN(a, b)     TREADLE__JOIN_NOW(a, b)
/* Each has a name of its own, also where a macro of the program has several of them in one line. */
#define TREADLE__SCOPE(push)                                                                       \
    __attribute__((cleanup(treadle__leave_scope), unused)) const treadle_mark TREADLE__JOIN(       \
        treadle__scope_, __COUNTER__) = push

#define treadle_scope(identifier) TREADLE__SCOPE(treadle_push(identifier))
#define treadle_scope_with(identifier, parameter)                                                  \
    TREADLE__SCOPE(treadle_push_with(identifier, parameter))
#define treadle_scope_begin(identifier)     TREADLE__SCOPE(treadle_begin(identifier))
#define treadle_scope_adopt(identifier, id) TREADLE__SCOPE(treadle_adopt(identifier, id))
#define treadle_scope_begin_with(identifier, parameter)                                            \
    TREADLE__SCOPE(treadle_begin_with(identifier, parameter))
#define treadle_scope_adopt_with(identifier, parameter, id)                                        \
    TREADLE__SCOPE(treadle_adopt_with(identifier, parameter, id))
#define treadle_scope_number(identifier, parameter)                                                \
    TREADLE__SCOPE(treadle_push_number(identifier, parameter))

#endif

#ifdef __cplusplus
#pragma GCC diagnostic pop
#endif

#endif
