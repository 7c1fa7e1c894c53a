/* The ledger's format: chunk 0, what is known of the whole process. See ledger_format.h. */
#ifndef TREADLE_LEDGER_HEADER_H
#define TREADLE_LEDGER_HEADER_H

#include "native/ledger/ledger_chunk.h"

#include <stdint.h>

enum ledger_state {
    LEDGER_LIVE = 1,   /* a JVM writes it; an orphan if that JVM is gone */
    LEDGER_CLOSED = 2, /* a snapshot */
};

/* Where a metric is read; the header says for each whether that worked. */
enum ledger_metric_source {
    SOURCE_CLOCK,     /* the kernel clock: CPU and wall */
    SOURCE_RUSAGE,    /* getrusage(RUSAGE_THREAD); of another thread: /proc/.../stat, status */
    SOURCE_IO,        /* /proc/.../task/TID/io */
    SOURCE_SCHEDSTAT, /* /proc/.../task/TID/schedstat */
    SOURCE_TASKSTATS, /* generic netlink, TASKSTATS */
    SOURCE_JVM,       /* what the JVM reports */
    SOURCE_WAITS,     /* the JVM's events of waits, and wrappers of its natives that wait */
    SOURCE_COUNT,
};

enum ledger_clock_kind {
    LEDGER_CLOCK_PLAIN = 1, /* CLOCK_THREAD_CPUTIME_ID at every event */
    LEDGER_CLOCK_PERF = 2,  /* TSC, switches seen by the lock word of a perf event's page */
    LEDGER_CLOCK_RSEQ = 3,  /* TSC, switches seen by rseq_cs being cleared */
    LEDGER_CLOCK_KINDS,
};

#define LEDGER_UNHOOKED_SLOTS 24u

/* Why a method or class that was to have hooks has none. The numbers are part of the format. */
enum unhooked_reason {
    UNHOOKED_CODE_TOO_LARGE, /* reasons for methods, up to UNHOOKED_LAST_OF_METHODS */
    UNHOOKED_POOL_FULL,
    UNHOOKED_BRANCH_OUT_OF_REACH,
    UNHOOKED_TOO_MANY_HANDLERS,
    UNHOOKED_STACK_TOO_DEEP,
    UNHOOKED_LOCALS_FULL,
    UNHOOKED_CONSTRUCTOR_UNCLEAR,
    UNHOOKED_INTRINSIC,
    UNHOOKED_NO_MEMORY,
    UNHOOKED_LAST_OF_METHODS = UNHOOKED_NO_MEMORY,
    UNHOOKED_MALFORMED, /* reasons for classes from here on */
    UNHOOKED_VERSION,
    UNHOOKED_REFUSED,
    UNHOOKED_INTERFACE, /* loaded before the filter asked for hooks */
    UNHOOKED_LOOPING,   /* a loop of the class was running when hooks were to be put in */
    UNHOOKED_COUNT,
};

#define LEDGER_WALK_FAILURE_SLOTS 16u

/* Why the walk of a sampled stack ended before the thread's first frame; the frames walked until
 * then are kept. The numbers are part of the format. */
enum ledger_walk_failure {
    WALK_UNKNOWN_CODE, /* an address in no image and in no code of the JVM */
    WALK_NO_UNWIND,    /* an image that does not say how to unwind there */
    WALK_BAD_FRAME,    /* a frame that does not lie above the one it called */
    WALK_BAD_METHOD,   /* a Java frame whose method could not be named */
    WALK_FAULT,        /* memory that is not there */
    WALK_TOO_DEEP,     /* more frames than a sample has room for: the innermost are kept */
    WALK_BUSY,         /* another thread was in libunwind all the time */
    WALK_FAILURE_COUNT,
};

enum ledger_sample_mode {
    LEDGER_SAMPLE_NONE,
    LEDGER_SAMPLE_CPU,
    LEDGER_SAMPLE_WALL,
};

enum ledger_sample_clock {
    LEDGER_SAMPLE_CLOCK_NONE,
    LEDGER_SAMPLE_CLOCK_PERF,  /* a perf event on each kernel thread's CPU clock */
    LEDGER_SAMPLE_CLOCK_TIMER, /* a POSIX timer on each kernel thread's CPU clock: moves by ticks */
    LEDGER_SAMPLE_CLOCK_WALL,  /* the profiler's own thread asks threads in turn */
};

/* How samples walk through native frames. */
enum ledger_unwind {
    LEDGER_UNWIND_UNKNOWN,
    LEDGER_UNWIND_NOTHING, /* not at all: a stack ends at its first native frame */
    LEDGER_UNWIND_TABLES,
    LEDGER_UNWIND_LIBUNWIND,
    LEDGER_UNWIND_KINDS,
};

enum ledger_event_mode {
    LEDGER_EVENTS_NONE,
    LEDGER_EVENTS_JVMTI,
    LEDGER_EVENTS_INSTRUMENT,
};

#define LEDGER_BUSY_SLOTS 240u
#define LEDGER_BUSY_SHIFT 16u

/* How many processors the process kept busy, over time; see busy_history.h. */
struct ledger_busy_history {
    uint64_t slot_ns;  /* length of a slot; 0: nothing is known */
    uint64_t first_ns; /* when the first slot begins, on the ledger's clock */
    uint64_t until_ns; /* what is known ends here, in the middle of a slot as a rule */
    uint64_t cpu_ns;   /* the process's CPU time then */
    uint32_t busy[LEDGER_BUSY_SLOTS]; /* CPU time in the slot, in 1/2^LEDGER_BUSY_SHIFT of its
                                         length */
};

/* What the profiler itself costs, in ns of the process's CPU time while profiling was on; as of the
 * agent's last update. All of this time is contained in other numbers of the ledger, too. See
 * native/cost/cost_model.h. */
struct ledger_own_cost {
    uint64_t hooks_ns;   /* on the threads that call them: an estimate */
    uint64_t samples_ns; /* signals and their handler, in place */
    uint64_t threads_ns; /* the profiler's own kernel threads */
    uint64_t classes_ns; /* rewriting and retransforming classes, on the threads that load them */
    uint64_t jvm_ns;     /* work caused in the JVM: compiling hooks, reporting compiled code */
    uint64_t waits_ns;   /* reasons of waits, on the threads that wait */
};

#define LEDGER_COUNTS_WHOLE UINT64_MAX

struct ledger_header {
    char magic[8];
    uint32_t format_version;
    uint32_t byte_order;
    uint32_t cell_bytes;
    uint32_t chunk_bytes;
    uint32_t state;       /* enum ledger_state */
    uint32_t chunks_used; /* chunks handed out, the header included */
    uint64_t max_bytes;   /* max-mem */

    /* the process */
    int32_t pid;
    uint32_t uid;
    uint64_t start_ticks; /* field 22 of /proc/PID/stat: with the boot id, names a process */
    char boot_id[40];     /* /proc/sys/kernel/random/boot_id, NUL-terminated */
    uint64_t process_start_epoch_ns; /* when the process began */
    uint64_t epoch_ns;               /* the wall clock at time 0 of the ledger's clock */
    uint64_t monotonic_ns;           /* CLOCK_MONOTONIC at the same moment */
    ledger_ref machine;              /* strings: "Linux 6.1.0 x86_64, 2 processors, AMD EPYC" */
    ledger_ref jvm;                  /* "OpenJDK 64-Bit Server VM 17.0.15+6-..." */
    ledger_ref command;              /* main class and arguments as /proc/PID/cmdline has them */
    ledger_ref options;              /* the agent's options as given */

    /* the clock */
    uint32_t clock_kind;   /* enum ledger_clock_kind */
    uint32_t clock_forced; /* 1: by the clock= option, 0: by the self-test */
    uint64_t tsc_zero;     /* TSC at time 0 */
    uint64_t tsc_mult;     /* ns = (ticks * tsc_mult) >> 64; 0: CLOCK_MONOTONIC */

    /* metrics: bit n is enum ledger_metric n */
    uint64_t metrics_charged; /* charged to nodes and threads */
    uint64_t metrics_totals;  /* known per thread at least */
    int32_t source_error[8];  /* per enum ledger_metric_source: 0, or the errno that refused it */

    /* the process's own totals, as of `asof_ns`; rows and totals are taken together */
    uint64_t asof_ns;
    uint64_t process_cpu_ns;
    uint64_t process_user_ns;
    uint64_t process_system_ns;

    /* losses: every one is shown in the report */
    uint64_t dropped_enters;      /* calls not recorded; the threads' lost_enters are others */
    uint64_t dropped_threads;     /* threads not recorded for want of room */
    uint64_t dropped_side_values; /* metric deltas that found no side record */
    uint64_t resynchronised;      /* exits that did not match the current node */
    uint64_t unfollowed_mounts;   /* virtual threads whose calls were not recorded */
    int32_t full_error;           /* 0; ENOMEM: max-mem reached; else why the file cannot grow */
    uint32_t reuse_new;           /* 1: reuse=new */

    uint32_t event_mode; /* enum ledger_event_mode */
    uint32_t snapshots;  /* sequence number of this snapshot */

    /* Profiling is stopped and started again: what is consumed meanwhile is not charged. */
    uint32_t profiling;          /* 1: it runs */
    uint32_t starts;             /* how often it was started */
    uint64_t since_ns;           /* when it was started or stopped last */
    uint64_t unprofiled_wall_ns; /* not profiled, from time 0 to the last start */
    uint64_t unprofiled_cpu_ns;  /* of the process, up to the last start; in no other number */
    uint64_t unprofiled_user_ns;
    uint64_t unprofiled_system_ns;

    /* hooks: events=instrument */
    uint64_t hooked_classes;
    uint64_t hooked_methods;
    uint64_t filtered_methods; /* methods of all classes examined that the filter left out */
    uint64_t unhooked[LEDGER_UNHOOKED_SLOTS]; /* per enum unhooked_reason */
    uint32_t default_filter; /* 1: neither JDK classes nor trivial accessors were to have hooks */
    uint32_t fold_none;      /* 1: fold=none */
    uint64_t kept_threads;   /* ended threads with rows of their own */
    uint32_t calls_lost;     /* 1: some threads have lost_enters */
    uint32_t attached;       /* 1: the agent was loaded into a running process, at time 0 */
    uint64_t hook_cost_ps;   /* hooks of one call, estimated; 0: not known */
    uint64_t carried_cpu_ns; /* CPU time charged on the kernel threads of ended carriers: to the
                                carriers and to the virtual threads they carried */
    int32_t profiler_tid;    /* the profiler's own thread */

    /* samples */
    uint32_t sample_mode;       /* enum ledger_sample_mode, as started last */
    uint32_t sample_clock;      /* enum ledger_sample_clock */
    int32_t sample_clock_error; /* 0, or the errno that refused perf events when the interval needed
                                   them */
    uint64_t sample_interval_ns;  /* as started last */
    uint64_t samples;             /* taken */
    uint64_t dropped_samples;     /* of `samples`: no buffer was free, or the ledger is full */
    uint64_t homeless_samples;    /* of `samples`: taken on kernel threads without a row */
    uint64_t sample_buffer_bytes; /* of each buffer */
    uint64_t sample_fill_bytes;   /* the highest fill level of a buffer when drained */
    uint64_t walk_failures[LEDGER_WALK_FAILURE_SLOTS]; /* per enum ledger_walk_failure */
    uint32_t sample_modes;       /* bit n: enum ledger_sample_mode n was started at some time */
    uint32_t sample_unwind;      /* enum ledger_unwind */
    uint64_t kernel_samples;     /* of CPU time in the kernel, as far as the samples say */
    uint64_t kernel_stacks;      /* of kernel_samples: those with the kernel's functions */
    int32_t kernel_stack_error;  /* 0, or the errno with which perf events refuse kernel stacks */
    int32_t kernel_symbol_error; /* 0, or the errno with which the kernel hides the names of its
                                    functions */

    uint64_t missing_bytes; /* of ledgers merged into this one, whose files ended too early */
    uint64_t lost_scopes;   /* compiled frames whose inlined methods are not known */
    struct ledger_own_cost own_cost;
    uint64_t positions_corrected; /* how often samples contradicted a thread's path, and it was
                                     corrected */

    /* the budget */
    uint32_t overhead_ppm;  /* overhead=: of the process's CPU; 0: any */
    uint32_t planned;       /* 1: plan= gave expected hot methods */
    uint64_t muted_methods; /* methods that are muted now */
    uint64_t off_methods;   /* methods that are off now */
    uint32_t rate_max;      /* calls a second that a method may make now; UINT32_MAX: no limit */
    uint32_t reserved_budget;
    uint64_t lost_tallies;     /* samples missing from at least one of their tallies */
    uint64_t unlisted_classes; /* classes without a struct ledger_class, for want of room */
    uint64_t listed_bytes;     /* approximate size of all struct ledger_class and their strings */
    uint32_t filters; /* how often include= and exclude= were set; classes examined under earlier
                         filters are outdated */
    uint32_t reserved_filters;

    /* The last few seconds of the process, up to the agent's last update. 0 ns of CPU: too little
     * happened in them. */
    uint64_t recent_wall_ns;
    uint64_t recent_cpu_ns; /* the process's */
    uint64_t recent_own_ns; /* of recent_cpu_ns: the profiler's own */

    uint64_t folded_threads;  /* ended threads folded into groups' rows */
    uint64_t folded_since_ns; /* when the first folded thread ended */

    /* Moves of numbers from one record to another, begun and done; see ledger__begin_folding. */
    uint64_t folds_begun;
    uint64_t folds_done;
    uint64_t pruned_since_ns; /* when such a move was first noticed */
    uint64_t
        folds_held_until_ns; /* CLOCK_MONOTONIC until which no move may begin; 0: moves may begin */
    uint64_t senseless_records; /* of a snapshot: records left out because their contents made no
                                   sense, which no race with a writer explains */

    uint32_t recursion; /* recursion=, as started last: levels kept apart; 0: all */
    uint32_t reserved_recursion;
    int32_t clock_error[LEDGER_CLOCK_KINDS]; /* per enum ledger_clock_kind: the errno with which its
                                                self-test failed; 0: it passed or was not tried */
    uint64_t
        held_bytes; /* the agent's memory besides the ledger, approximately, at the last update */
    uint64_t heard_waits;      /* waits with a reason, approximately */
    uint64_t unheard_waits;    /* waits that the budget had no room for */
    uint64_t identified;       /* times that a hook asked the JVM which Java thread runs */
    uint64_t filter_since_ns;  /* when include= and exclude= were set last; 0: at the beginning */
    uint64_t lost_blocks;      /* waits for locks that are in no struct ledger_block */
    uint64_t lost_blocks_ns;   /* their time, as far as it is known */
    uint64_t latency_records;  /* handed out, or refused for want of room */
    uint64_t unmeasured_calls; /* of methods of latency=: in no histogram, since there was no room
                                  or their exit was not seen */
    struct ledger_busy_history busy_history;

    /* logical stacks, sampled from outside */
    uint64_t other_parameters; /* frames of samples whose parameter is "(other)" for want of room */
    uint64_t cut_parameters;   /* pushes whose parameter was cut */
    uint64_t lost_frames;      /* pushes beyond the depth that is seen */
    uint64_t lost_slots;       /* threads that found no room for a stack when they came */
    uint64_t lost_identifiers; /* pushes whose identifier found no room */
    uint64_t torn_stacks;      /* samples whose stack changed whenever it was looked at */
    uint64_t late_samples;     /* times at which samples were due and not taken */
    uint64_t lost_hazards;     /* deadlocks and orders of locks that found no room */
    uint64_t lost_holds;       /* holds of locks that found no room */
    uint64_t unseen_holds;     /* holds whose begin or end had no hook, as far as that was noticed;
                                  without those that the budget had no room for */

    /* chains */
    uint64_t other_parts;         /* that gave way to later ones: (other) */
    uint64_t other_parts_unended; /* of these: their times are not known */
    uint64_t other_parts_cpu_ns;
    uint64_t other_parts_ns;
    uint64_t lost_parts; /* that found no room: their times are nowhere */
    uint64_t torn_parts; /* of a copy: they were being written */

    uint64_t timed_waits; /* of the unheard ones: their reason and time are known all the same */
    uint64_t postponed_methods; /* small methods that have no hooks yet, since more methods were
                                   loaded than the budget bears */

    uint64_t unwrapped_images; /* native libraries whose calls could not be replaced: waits in them
                                  are not seen */
    uint64_t unnamed_images; /* those whose locks have no library in their names, for want of room;
                                each time that they are mapped */
    uint64_t
        unheard_virtual; /* of the unheard waits: those of virtual threads, which are not timed */

    int32_t sample_timer_error; /* 0, or the errno that refused a running thread its timer: it may
                                   have no samples */
    uint64_t silent_until_ns;   /* atomic; profiling is stopped, the hooks are in the classes still,
                                   silent, and are to be taken out then; 0: it is not so */
    uint64_t cut_identifiers;   /* of logical frames; each time that one is looked up */
    uint64_t unwatched_waits;   /* for locks: the look for deadlocks had no room for them */

    /* Calls that are only counted come into struct ledger_hooking from time to time. */
    uint64_t counts_begun_ns; /* atomic; when that began last; 0: nothing was counted yet */
    uint64_t counts_at_ns;    /* atomic; the same, of the last time that was completed;
                                 LEDGER_COUNTS_WHOLE: this snapshot was made after one */
};

_Static_assert(sizeof(struct ledger_header) <= LEDGER_CHUNK_BYTES, "the header is one chunk");

/* True if profiling was stopped and not started again: all numbers are as of header->since_ns. */
static inline int ledger_header__is_stopped(const struct ledger_header *header)
{
    return header->starts != 0 && !header->profiling;
}

/* True while the agent starts: its header is not filled in, or its first start in a running process
 * is not complete. Nothing is profiled yet. */
static inline int ledger_header__is_attaching(const struct ledger_header *header)
{
    return header->epoch_ns == 0 || (header->attached && header->starts == 0);
}

#endif
