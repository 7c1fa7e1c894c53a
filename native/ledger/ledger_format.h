/*
 * The ledger's format: what stands in the mapped file, byte for byte.
 *
 * A ledger is a sequence of chunks of LEDGER_CHUNK_BYTES. Chunk 0 is the header. Every other chunk
 * belongs to a run of one or more chunks; the first one starts with a `struct ledger_chunk` that
 * says what records the run holds and how many cells of it are in use. Records are whole cells of
 * 64 bytes, so a record is named by the number of its first cell, a `ledger_ref`: the byte offset
 * divided by 64. Ref 0 (the header) means "none".
 *
 * Writing: every record has one writer at a time. A record is filled in first and its ref is then
 * published with a release store; counters are relaxed stores of whole words. A reader in another
 * process sees either nothing or a filled record, and must check every ref it follows: the file
 * may be the work of a killed process, a half-written disk or an enemy.
 *
 * Times are in nanoseconds of the ledger's clock: 0 is the moment the ledger was made, which is
 * `epoch_ns` on the wall clock. All integers are in the byte order of the machine that wrote them;
 * `byte_order` tells.
 */
#ifndef TREADLE_LEDGER_FORMAT_H
#define TREADLE_LEDGER_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#define LEDGER_MAGIC          "TREADLE\n"
#define LEDGER_FORMAT_VERSION 8u
#define LEDGER_BYTE_ORDER     0x01020304u
#define LEDGER_CELL_BYTES     64u
#define LEDGER_CHUNK_BYTES    4096u
#define LEDGER_CHUNK_CELLS    (LEDGER_CHUNK_BYTES / LEDGER_CELL_BYTES)
#define LEDGER_CHUNK_MAGIC    0x4b4e4843u /* "CHNK" */

typedef uint32_t ledger_ref;

enum ledger_state {
    LEDGER_LIVE = 1,   /* a JVM writes it; an orphan if that JVM is gone */
    LEDGER_CLOSED = 2, /* a snapshot */
};

enum ledger_table {
    LEDGER_UNUSED = 0, /* a chunk that was taken but not filled: skip it */
    LEDGER_STRINGS,
    LEDGER_METHODS,
    LEDGER_THREADS,
    LEDGER_KERNEL_THREADS,
    LEDGER_NODES,
    LEDGER_SIDES,
    LEDGER_RENAMES,
    LEDGER_UNPROFILED,
    LEDGER_IMAGES,
    LEDGER_CODE,
    LEDGER_PLACES,
    LEDGER_HOOKINGS,
    LEDGER_TALLIES,
    LEDGER_CLASSES,
    LEDGER_NOTES,
    LEDGER_TABLES,
};

struct ledger_chunk {
    uint32_t magic;
    uint32_t table;      /* enum ledger_table */
    uint32_t run;        /* chunks in this run, this one included */
    uint32_t used_cells; /* cells in use, this one included */
    uint32_t reserved[12];
};

/*
 * Metrics. CPU and wall time stand in the node itself; the others in `value[]` of a side record,
 * at this index. The numbers are part of the format: append, never renumber.
 */
enum ledger_metric {
    METRIC_USER,               /* ns */
    METRIC_SYSTEM,             /* ns */
    METRIC_VOLUNTARY_SWITCHES, /* the rest: counts, bytes or ns, see kernel_metrics.h */
    METRIC_INVOLUNTARY_SWITCHES,
    METRIC_MINOR_FAULTS,
    METRIC_MAJOR_FAULTS,
    METRIC_BLOCK_INPUTS,
    METRIC_BLOCK_OUTPUTS,
    METRIC_READ_BYTES,  /* through system calls, from anything */
    METRIC_WRITE_BYTES, /* ditto */
    METRIC_DISK_READ_BYTES,
    METRIC_DISK_WRITE_BYTES,
    METRIC_RUN_QUEUE_DELAY, /* ns */
    METRIC_TIMESLICES,
    METRIC_BLOCK_IO_DELAY, /* ns, taskstats, as all below */
    METRIC_SWAP_IN_DELAY,
    METRIC_RECLAIM_DELAY,
    METRIC_THRASHING_DELAY,
    METRIC_COMPACT_DELAY,
    METRIC_WRITE_PROTECT_DELAY,
    METRIC_INTERRUPT_DELAY,
    METRIC_PINNED, /* virtual threads: how often the thread blocked its carrier */
    METRIC_COUNT,
};

#define LEDGER_METRIC_SLOTS 31u

/* Where a metric is read; the header says for each whether that worked. */
enum ledger_metric_source {
    SOURCE_CLOCK,     /* the kernel clock: CPU and wall */
    SOURCE_RUSAGE,    /* getrusage(RUSAGE_THREAD); of another thread: /proc/.../stat, status */
    SOURCE_IO,        /* /proc/.../task/TID/io */
    SOURCE_SCHEDSTAT, /* /proc/.../task/TID/schedstat */
    SOURCE_TASKSTATS, /* generic netlink, TASKSTATS */
    SOURCE_JVM,       /* what the JVM reports */
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
    UNHOOKED_LOOPING,   /* a loop of the class lasted when hooks were to be put in */
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

/* What the profiler itself costs, in ns of the process's CPU time while profiling was on; as of the
 * agent's last update. All of this time is contained in other numbers of the ledger, too. See
 * native/cost/cost_model.h. */
struct ledger_own_cost {
    uint64_t hooks_ns;   /* on the threads that call them: an estimate */
    uint64_t samples_ns; /* signals and their handler, in place */
    uint64_t threads_ns; /* its kernel threads */
    uint64_t classes_ns; /* rewriting and retransforming classes, on the threads that load them */
    uint64_t jvm_ns;     /* work caused in the JVM: compiling hooks, reporting compiled code */
};

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
    uint64_t dropped_enters;      /* calls not recorded since the ledger was full; and … */
    uint64_t dropped_threads;     /* threads not recorded, ditto */
    uint64_t dropped_side_values; /* metric deltas that found no side record */
    uint64_t resynchronised;      /* exits that did not match the current node */
    uint64_t unfollowed_mounts;   /* virtual threads whose calls were not recorded */
    int32_t full_error;           /* 0; ENOMEM: max-mem reached; else why the file cannot grow */
    uint32_t reuse_new;           /* 1: reuse=new */

    uint32_t event_mode; /* enum ledger_event_mode */
    uint32_t snapshots;  /* sequence number of this snapshot */

    /* Profiling is stopped and started again: what is consumed meanwhile belongs to nobody. */
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
    uint32_t calls_lost;     /* 1: threads' own lost_enters count, too */
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
    uint64_t dropped_samples;     /* of these: no buffer was free, or the ledger is full */
    uint64_t homeless_samples;    /* of these: taken on kernel threads without a row */
    uint64_t sample_buffer_bytes; /* of each buffer */
    uint64_t sample_fill_bytes;   /* the highest fill level of a buffer when drained */
    uint64_t walk_failures[LEDGER_WALK_FAILURE_SLOTS]; /* per enum ledger_walk_failure */
    uint32_t sample_modes;       /* bit n: enum ledger_sample_mode n was started at some time */
    uint32_t sample_unwind;      /* enum ledger_unwind */
    uint64_t kernel_samples;     /* of CPU time in the kernel, as far as the samples say */
    uint64_t kernel_stacks;      /* … of these, with the kernel's functions */
    int32_t kernel_stack_error;  /* 0, or the errno with which perf events refuse these */
    int32_t kernel_symbol_error; /* 0, or the errno with which the kernel hides their names */

    uint64_t missing_bytes; /* of ledgers merged into this one, whose files ended too early */
    uint64_t lost_scopes;   /* compiled frames whose inlined methods are not known */
    struct ledger_own_cost own_cost;
    uint64_t positions_corrected; /* threads whose path samples contradicted, corrected */

    /* the budget */
    uint32_t overhead_ppm;  /* overhead=: of the process's CPU; 0: any */
    uint32_t planned;       /* 1: plan= gave expected hot methods */
    uint64_t muted_methods; /* now */
    uint64_t off_methods;
    uint32_t rate_max; /* the calls a second a method may make now; UINT32_MAX: no limit */
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
    uint64_t recent_own_ns; /* … of these, the profiler's own */

    uint64_t folded_threads;  /* ended threads folded into groups' rows */
    uint64_t folded_since_ns; /* when the first folded thread ended */

    /* Moves of numbers from one record to another, begun and done; see ledger__begin_folding. */
    uint64_t folds_begun;
    uint64_t folds_done;
    uint64_t pruned_since_ns; /* since when, as far as is known */
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
    uint64_t identified;      /* times that a hook asked the JVM which Java thread runs */
    uint64_t filter_since_ns; /* when include= and exclude= were set last; 0: at the beginning */
};

enum ledger_event_mode {
    LEDGER_EVENTS_NONE,
    LEDGER_EVENTS_JVMTI,
    LEDGER_EVENTS_INSTRUMENT,
};

/* A string, in as many cells as its bytes need. UTF-8 as a rule; readers must check, since names
 * come from outside. */
struct ledger_string {
    uint32_t length; /* bytes */
    uint32_t hash;
    ledger_ref next_in_bucket;
    char bytes[LEDGER_CELL_BYTES - 12]; /* and on into the next cells; no NUL */
};

enum ledger_method_flag {
    METHOD_NATIVE = 1u << 0,
    METHOD_EXCLUDED = 1u << 1, /* by include=/exclude=: never has nodes */
    METHOD_DEAD = 1u << 2,     /* lost a race while being made: never has nodes */
    /* Not a Java method but a native function, which only samples record. class_name is the path of
     * the function's image, or "[jvm]" for code that the JVM generated, or "[kernel]". name is the
     * symbol as in the image (mangled), or none if the agent found none; there is no signature. */
    METHOD_SYMBOL = 1u << 3,
};

struct ledger_method {
    uint64_t key;          /* what the hook names it by (a jmethodID, an index); opaque */
    ledger_ref class_name; /* "java.util.HashMap$Node", as Class.getName gives it */
    ledger_ref name;       /* "put", "<init>" */
    ledger_ref signature;  /* "(Ljava/lang/Object;I)V" */
    ledger_ref source;     /* "HashMap.java", or none */
    ledger_ref next_in_bucket;
    uint32_t flags;
    ledger_ref lines;    /* string: pairs of uint16_t, bytecode index and line; or none */
    ledger_ref bytecode; /* string: the method's code as the JVM runs it, or none */
    ledger_ref places;   /* of samples: interpreted at a bytecode index, or at an offset in the
                            symbol; newest first, linked */
    ledger_ref image;    /* of a symbol: its image, or none */
    uint64_t address; /* of a symbol: its first byte, in the image's own address space; for "[jvm]"
                         the address in memory */
    uint32_t size;    /* of a symbol, bytes; 0: not known */
    uint32_t reserved;
};

/* A native image (executable or library) in which samples were taken. */
struct ledger_image {
    ledger_ref path;
    ledger_ref build_id; /* in hexadecimal, or none */
    uint64_t start;      /* first byte mapped */
    uint64_t end;        /* one after the last */
    uint64_t bias;       /* address in memory less bias = address in the file's headers */
    uint64_t reserved[4];
};

enum ledger_compiler {
    COMPILER_NONE, /* a stub */
    COMPILER_C1,
    COMPILER_C2,
    COMPILER_OTHER, /* compiled; the compiler is not known */
};

/* A piece of code that the JVM generated and in which samples were taken: a compiled method or a
 * stub. */
struct ledger_code {
    ledger_ref method;  /* the compiled method; for a stub, a symbol of "[jvm]" */
    ledger_ref bytes;   /* string: the machine code, `size` bytes; none: unloaded before it could be
                           copied */
    ledger_ref places;  /* where samples were taken in the code, newest first, linked */
    uint32_t size;      /* bytes */
    uint64_t address;   /* of its first byte */
    uint64_t loaded_ns; /* 0: loaded before the agent listened */
    uint64_t unloaded_ns; /* 0: still loaded */
    uint32_t compiler;    /* enum ledger_compiler */
    uint32_t reserved[5];
};

/* A place: the samples whose top frame was at one address or at one bytecode index. */
struct ledger_place {
    ledger_ref owner;  /* a method (interpreted, or a symbol) or a code */
    ledger_ref next;   /* of the same owner */
    ledger_ref method; /* of a compiled place: the innermost Java method inlined there; else none */
    int32_t bci;     /* the bytecode index in `method` or in the interpreted owner; -1: not known */
    uint64_t offset; /* from the code's or symbol's first byte; interpreted: 0 */
    uint64_t cpu_samples;
    uint64_t wall_samples;
    uint64_t reserved[3];
};

enum ledger_hooking_state {
    HOOKING_HEARD, /* calls are recorded */
    HOOKING_MUTED, /* calls are not recorded now: too many for the budget */
    HOOKING_OFF,   /* calls are never recorded again: the method is hot */
};

/* A method whose calls were not recorded all of the time, so that its call counts are lower bounds.
 * Times are those of the ledger's clock. The calls of a method without such a record were recorded
 * from the loading of its class on.
 *
 * A record with left_out says instead that include= and exclude= left the method out for a time,
 * heard_ns, up to since_ns. Its state is HOOKING_HEARD, mutes is how often that was, and from_ns is
 * set if the method had no hooks before. The method may have another record of the budget.
 *
 * In a merged ledger, left_out with HOOKING_OFF says that include= and exclude= left the method out
 * from since_ns up to the process's end. It is the process's only record of the method. */
struct ledger_hooking {
    ledger_ref method;
    uint32_t state;       /* enum ledger_hooking_state */
    uint64_t from_ns;     /* when hooks were put in */
    uint64_t since_ns;    /* when this state began */
    uint64_t heard_ns;    /* total time recorded before since_ns */
    uint32_t mutes;       /* how often the method was muted */
    uint32_t rate;        /* calls a second when it was last muted */
    uint32_t code_hash;   /* FNV-1a of its bytecode */
    uint32_t rate_max;    /* calls a second that the budget allowed then; 0: not known */
    uint64_t end_ns;      /* of a process merged into this ledger: its end; 0: the ledger's own */
    uint32_t heard_calls; /* calls before it was last muted, approximately: counted in steps */
    uint32_t left_out;    /* 1: see above */
};

/* What the agent decided about a method of a class that it examined. The numbers are part of the
 * format; from CHOICE_UNHOOKED on they are CHOICE_UNHOOKED plus an enum unhooked_reason. */
enum ledger_choice {
    CHOICE_HOOKED = 1,
    CHOICE_NAMED,        /* hooked; include= names the method or its whole class */
    CHOICE_PLANNED,      /* plan= lists it as hot; see its struct ledger_hooking */
    CHOICE_NOT_INCLUDED, /* include= does not name it */
    CHOICE_EXCLUDED,     /* exclude= names it */
    CHOICE_JDK,          /* without include=: the JDK's own */
    CHOICE_TRIVIAL,      /* without include=: a trivial accessor */
    CHOICE_NATIVE,
    CHOICE_ABSTRACT,
    CHOICE_UNHOOKED = 64,
};

/* A class that the agent examined, and its decisions about the class's methods. A reader can so
 * tell a method that was never called from a method that does not exist. */
struct ledger_class {
    ledger_ref name;    /* spelled as in its methods' class_name */
    ledger_ref methods; /* string, for each method: a byte of enum ledger_choice, the name, a NUL,
                           the signature, a NUL; or none */
    uint32_t unhooked;  /* 0: the class may have hooks; else 1 + the enum unhooked_reason for which
                           it has none */
    uint32_t is_cut;    /* 1: the string lacks some methods */
    uint32_t filter;    /* the header's `filters` when the class was examined */
    uint32_t reserved[11];
};

/*
 * The CPU samples of a thread, and those of them whose stack contained one method with hooks. The
 * stack as walked decides, whatever the thread's current node was, so that shares by samples can be
 * compared with the times of exact nodes. Incomplete for threads that have been folded.
 */
struct ledger_tally {
    ledger_ref thread;
    ledger_ref method;    /* or none: all samples of the thread */
    uint64_t start_ns;    /* start of the thread; tells whether the thread's record now belongs to
                             another thread */
    uint64_t samples;     /* with the method on the stack */
    uint64_t seen_ns;     /* CPU time of these samples */
    uint64_t doubtful_ns; /* CPU time of samples for which it is not known whether the stack
                             contained the method */
    uint64_t most_ns;     /* the most CPU time of one sample */
    /* For a process merged into this ledger, in a thread's tally of all samples: */
    uint64_t lacks_frames; /* 1: frames of methods with hooks may have no exact nodes */
    uint64_t call_ps; /* time of a call that may lie around its hooks' clock readings; 0: as the
                         header says */
};

enum ledger_thread_kind {
    THREAD_PLATFORM = 1,
    THREAD_VIRTUAL = 2,
    THREAD_CARRIER = 3,
    THREAD_VM = 4,     /* a thread of the JVM itself: GC, JIT, … */
    THREAD_NATIVE = 5, /* any other kernel thread */
};

enum ledger_thread_flag {
    THREAD_TERMINATED = 1u << 0, /* nothing is charged to its methods any more */
    THREAD_DAEMON = 1u << 1,
    THREAD_SEEDED = 1u << 2, /* had frames before events began: these frames have no calls */
    THREAD_LAST_MOMENTS =
        1u << 4,                /* not a thread: what threads consumed after they were last seen */
    THREAD_GROUP = 1u << 5,     /* ended threads folded into one row; `members` is their number */
    THREAD_MORE_TIDS = 1u << 6, /* ran on more kernel threads than tids[] has room for */
    THREAD_HIDDEN = 1u << 3, /* a row to skip: its kernel thread turned out to run a Java thread */
};

#define LEDGER_THREAD_TIDS 24u

/* Private to the tree's writer: where folded frames return to; see return_stack.h. */
struct ledger_returns {
    ledger_ref top;   /* the note with the newest run; none: no frame is folded */
    uint32_t used;    /* runs in the top note */
    uint32_t repeats; /* repetitions of the newest run, after the first */
    uint32_t above;   /* unfolded frames above the newest folded frame */
};

/* A move: a node that is being folded into another node. While `from` is set, this record holds
 * what `to` had before the move; the true numbers of
 * `to` are these plus those of `from`. */
struct ledger_move {
    ledger_ref from; /* none: no move is under way */
    ledger_ref to;
    union {
        struct {
            ledger_ref side; /* of `to`, before */
            uint32_t reserved;
        };
        uint64_t seen_ns; /* ditto, of a sampled frame */
    };
    uint64_t calls;   /* of a sampled frame: the fields at the same offsets */
    uint64_t cpu_ns;  /* ditto */
    uint64_t wait_ns; /* ditto */
};

/* In a group: one number of an ended thread on its way to the group; see number_transfer.h. While
 * `from` is set, the number of `to` is `sum`, and that of `from` is 0. */
struct ledger_transfer {
    ledger_ref from; /* none: no number is on its way */
    ledger_ref to;
    uint32_t offset; /* of the number in either record, in bytes */
    uint32_t reserved;
    uint64_t sum;
};

struct ledger_thread {
    ledger_ref name;    /* the name when the thread started */
    ledger_ref renames; /* newest first, linked */
    ledger_ref parent;  /* the thread that started it, or none */
    ledger_ref root;    /* its tree's root node */
    ledger_ref current; /* the current node while no kernel thread runs the thread */
    uint32_t kind;      /* enum ledger_thread_kind */
    uint32_t flags;     /* enum ledger_thread_flag */
    uint32_t rename_count;
    uint64_t java_id; /* Thread.threadId(), 0 if none */
    uint64_t start_ns;
    uint64_t end_ns;      /* 0 while the thread runs */
    uint64_t lost_enters; /* unrecorded calls that the header does not count */
    uint32_t tid_count;
    int32_t tids[LEDGER_THREAD_TIDS]; /* the first LEDGER_THREAD_TIDS kernel threads that ran the
                                         thread */
    uint32_t latest_name_hash;        /* hash of the newest name if rename_count is not 0 */
    uint32_t unsure;                  /* of a virtual thread; see call_tree.h */
    ledger_ref
        group_name;   /* of a thread without a name: the name of its group when folded; else none */
    uint64_t members; /* of a group: how many threads were folded into it */
    uint64_t parent_id; /* java_id of the parent; the parent's record may have been reused */
    /* virtual threads; `current` and these fields hold the state while the thread is unmounted */
    uint64_t mounts;
    uint64_t pinned;             /* how often an unmount failed because the thread was pinned */
    uint64_t parked_ns;          /* total time unmounted */
    uint64_t unmounted_ns;       /* when the current unmounted time began; 0: mounted */
    uint64_t token;              /* see call_tree.h */
    uint64_t lost_depth;         /* ditto */
    uint64_t unprofiled_wall_ns; /* the header's value when the row of a VM or native thread was
                                    made, or when the virtual thread was unmounted */
    uint64_t first_ticks;        /* VM and native rows: start_ticks of the kernel thread */
    uint64_t totals[LEDGER_METRIC_SLOTS];
    uint64_t left_cpu_ns; /* CPU time in its tree when its kernel thread went on to another thread;
                             0: not known */
    uint64_t samples;     /* samples taken while the thread ran; written on its kernel thread */
    uint64_t merged_samples; /* of `samples`: merged into its tree or dropped; written by the
                                profiler's thread */
    uint64_t
        partial_samples; /* of `samples`: the walk did not reach the virtual thread's first frame */
    uint64_t recorded_samples; /* partial_samples when the thread's whole stack was last recorded */
    uint64_t lost_samples; /* CPU samples due but lost for want of room in a buffer or the ledger */
    uint64_t seen_wall_ns; /* wall time that the thread's wall samples stand for; CPU time is in the
                              nodes */
    uint64_t
        moded_cpu_ns; /* CPU time up to its samples, as the kernel divides it by modes: in ticks */
    uint64_t moded_system_ns;      /* of moded_cpu_ns: in the kernel */
    uint64_t floor;                /* see call_tree.h; beside `current`, as token */
    struct ledger_returns returns; /* ditto */
    ledger_ref next_ended;         /* see thread_fold.h */
    ledger_ref folded;             /* the NODE_FOLDED below its root, or none */
    /* calls that found no room for a node and have not returned; see folded_calls.h */
    ledger_ref folded_path;  /* the newest note of their nodes */
    ledger_ref folded_below; /* the node in which the oldest of these calls was made */
    uint32_t folded_depth;   /* how many of these calls there are */
    uint32_t reserved_nodes; /* nodes of this thread's contexts taken from the reserved part */
    union {
        struct ledger_move move;         /* its writer's, as cold_ns; see tree_pruning.h */
        struct ledger_transfer transfer; /* of a THREAD_GROUP, whose own moves are all done */
    };
    uint64_t cold_ns;         /* contexts with less CPU are folded where there is no room */
    uint64_t folded_bound_ns; /* CPU that one whose node was folded can have had at the most */
    uint64_t foldings;        /* how often one was */
    uint64_t pruning_moves;   /* … and a node was moved for that */
    uint64_t unplaced_calls;  /* that found no room for a node of their context */
};

/* What the ledger knows of a kernel thread. A reader can work out what is not charged yet: the
 * thread's CPU clock less charged_cpu_ns, and each metric less its last reading. */
struct ledger_kernel_thread {
    int32_t tid; /* 0: the record is free; its last kernel thread has ended */
    uint32_t generation;
    ledger_ref thread;       /* the Java thread that runs on it, or the last one that did */
    ledger_ref current;      /* the node to which deltas are charged */
    uint64_t charged_cpu_ns; /* CPU time charged to any Java thread on this kernel thread; readers
                                load it first */
    uint64_t waited_ns; /* time of the last charge less charged_cpu_ns; writers store it first */
    uint64_t before_cpu_ns;      /* of charged_cpu_ns: to Java threads before `thread` */
    uint64_t start_ticks;        /* field 22 of its stat: with the tid, names a kernel thread */
    uint64_t own_read_bytes;     /* bytes that the agent itself read, which the kernel's read_bytes
                                    contain */
    uint64_t unprofiled_wall_ns; /* the part of the header's unprofiled_wall_ns that waited_ns
                                    contains */
    uint64_t readings[LEDGER_METRIC_SLOTS]; /* metrics as last read */
    uint64_t
        carries; /* 1: virtual threads were mounted on it, so its CPU time is in several trees */
    uint64_t kernel_cpu_ns; /* in a snapshot: what the kernel said at its end; charged_cpu_ns is
                               what stands in the trees */
    uint64_t reserved[7];
};

enum ledger_node_kind {
    NODE_ROOT = 1,    /* the thread node: no method */
    NODE_EXACT = 2,   /* a method in one calling context */
    NODE_GAP = 3,     /* "(between Java threads)": no method, child of a root */
    NODE_FOLDED = 4,  /* "(folded)": no method; see below */
    NODE_SAMPLED = 5, /* a Java frame of a sampled stack */
    NODE_NATIVE = 6,  /* a native frame of a sampled stack */
    NODE_KERNEL = 7,  /* a kernel frame of a sampled stack */
    NODE_UNSEEN = 8,  /* never in a ledger: a report's row, below an exact node, of the time that no
                         sample covers */
};

/*
 * One calling context in one cache line.
 *
 * Sampled frames (NODE_SAMPLED, NODE_NATIVE, NODE_KERNEL) hang under the exact node that was
 * current when the sample was taken. The exact node's `sampled` is the first of them; siblings and
 * children of sampled frames are linked like those of exact nodes. A sampled frame has sample
 * counts where an exact node has calls and times; a sample is counted at its top frame only. A
 * sample whose top frame is the method of the exact node itself is counted in a sampled child with
 * NODE_SELF.
 *
 * A NODE_FOLDED has one exact child per method. The child has the sums of the method's calls and
 * times in contexts that have no nodes of their own. The NODE_FOLDED hangs below a node that all
 * these contexts lie below. A NODE_FOLDED below a root also has the calls that found no room for a
 * node. The NODE_FOLDED itself has no calls and no times.
 *
 * A CPU sample stands for the CPU time since the previous sample on its kernel thread, or since the
 * kernel thread's sample timer was set. CPU time before the timer was set, and the time of lost
 * samples, is in no seen_ns. The base CPU time of an exact node less the seen_ns of all sampled
 * frames below the node is the time that no sample covers.
 */
struct ledger_node {
    union {
        uint64_t key;     /* the method's key, so that the hot path needs no other line */
        uint64_t seen_ns; /* CPU time of this sampled frame's cpu_samples */
    };
    ledger_ref method; /* none for roots and gaps */
    ledger_ref parent; /* none for roots */
    ledger_ref first_child;
    ledger_ref next_sibling;
    union {
        ledger_ref last_hit; /* the child entered last; private to the writer, may be stale */
        uint32_t contexts;   /* of a NODE_FOLDED: approximate number of contexts folded into it */
    };
    ledger_ref sampled;      /* the first sampled child of an exact node, a root or a gap */
    ledger_ref side;         /* metrics that are not zero, or none */
    uint32_t kind_and_level; /* level on its path << 28 | enum ledger_node_kind << 24 | recursion
                                level, or NODE_SELF */
    union {
        uint64_t calls;
        uint64_t cpu_samples; /* CPU samples with this sampled frame on top */
    };
    union {
        uint64_t cpu_ns;      /* base */
        uint64_t interpreted; /* samples through this sampled frame in which it was interpreted */
    };
    union {
        uint64_t wait_ns; /* base: elapsed time less CPU time; modulo 2^64, since the clocks differ
                             slightly */
        uint64_t wall_samples; /* wall samples with this sampled frame on top */
    };
};

/*
 * The recursion level is the number of frames of the same method above a frame on its path. With
 * recursion=N a node can stand for frames of several levels: for its own level, which its path
 * determines and its first bits store, and for deeper levels. Its recursion level is then the
 * highest level of these frames.
 */
#define NODE_LEVEL_MAX       0xffffffu
#define NODE_PATH_LEVEL_MAX  0xfu
#define NODE_PATH_SHIFT      28u
#define LEDGER_RECURSION_MAX (NODE_PATH_LEVEL_MAX + 1)
#define NODE_SELF            1u /* in place of the level: this sampled node stands for its exact parent */

/* The key of a NODE_FOLDED. */
#define LEDGER_FOLDED_KEY UINT64_MAX

struct ledger_side {
    ledger_ref node;
    ledger_ref index; /* of the node's children; private to the tree's writer; see child_index.h */
    uint64_t value[LEDGER_METRIC_SLOTS];
};

#define NOTE_SLOTS 16u

/* A note of a tree's writer for itself: refs with flag bits. Readers ignore notes. */
struct ledger_note {
    uint32_t slots[NOTE_SLOTS];
};

#define NOTE_IS_NEXT    (1u << 31) /* the ref is that of another note */
#define NOTE_LACKS_SOME (1u << 30) /* some entries found no room */
#define NOTE_BITS       (NOTE_IS_NEXT | NOTE_LACKS_SOME)

/* What a kernel thread consumed while it was not profiled: while profiling was stopped, or before
 * the agent was loaded. No other number of the ledger contains it. Profiled = the kernel's total
 * less this. */
struct ledger_unprofiled {
    int32_t tid; /* 0: free */
    uint32_t reserved;
    uint64_t start_ticks;    /* with the tid, names a kernel thread */
    uint64_t cpu_ns;         /* up to the last start */
    uint64_t stopped_cpu_ns; /* profiled, up to the last stop */
    uint64_t value[LEDGER_METRIC_SLOTS];
    uint64_t stopped_value[LEDGER_METRIC_SLOTS];
    uint64_t reserved_end[6];
};

struct ledger_rename {
    ledger_ref name;
    ledger_ref older;
    uint64_t when_ns;
    uint64_t reserved[6];
};

_Static_assert(sizeof(struct ledger_header) <= LEDGER_CHUNK_BYTES, "the header is one chunk");
_Static_assert(sizeof(struct ledger_chunk) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_string) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_method) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_node) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_image) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_code) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_place) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_rename) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_tally) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_hooking) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_class) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_note) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_side) % LEDGER_CELL_BYTES == 0, "whole cells");
_Static_assert(sizeof(struct ledger_thread) % LEDGER_CELL_BYTES == 0, "whole cells");
_Static_assert(sizeof(struct ledger_kernel_thread) % LEDGER_CELL_BYTES == 0, "whole cells");
_Static_assert(sizeof(struct ledger_unprofiled) % LEDGER_CELL_BYTES == 0, "whole cells");
_Static_assert(METRIC_COUNT <= LEDGER_METRIC_SLOTS, "a slot for each metric");

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

static inline uint32_t ledger_node__level(const struct ledger_node *node)
{
    return node->kind_and_level & NODE_LEVEL_MAX;
}

/* The recursion level that the node's path determines, in a ledger with recursion=N. */
static inline uint32_t ledger_node__path_level(const struct ledger_node *node)
{
    return node->kind_and_level >> NODE_PATH_SHIFT;
}

static inline void ledger_node__raise_level(struct ledger_node *node, uint64_t level)
{
    uint32_t most = level < NODE_LEVEL_MAX - 1 ? (uint32_t)level : NODE_LEVEL_MAX - 1;

    if (most > ledger_node__level(node))
        __atomic_store_n(&node->kind_and_level, (node->kind_and_level & ~NODE_LEVEL_MAX) | most,
                         __ATOMIC_RELAXED);
}

/* Base wall time. */
static inline uint64_t ledger_node__wall_ns(const struct ledger_node *node)
{
    uint64_t sum_ns = node->cpu_ns + node->wait_ns;

    return (int64_t)sum_ns < 0 ? 0 : sum_ns;
}

/* The time at which the kernel thread was last charged. */
static inline uint64_t ledger_kernel_thread__last_ns(const struct ledger_kernel_thread *record)
{
    return record->charged_cpu_ns + record->waited_ns;
}

/* The string's bytes, which continue behind the record. A pointer computed from the record, not the
 * field, since compilers know the end of the field. */
static inline const char *ledger_string__bytes(const struct ledger_string *string)
{
    return (const char *)string + offsetof(struct ledger_string, bytes);
}

static inline uint32_t ledger_node__kind(const struct ledger_node *node)
{
    return node->kind_and_level >> 24 & 0xf;
}

/* True for nodes that samples made: such a node has samples and neither calls nor times. */
static inline int ledger_node__is_sampled(const struct ledger_node *node)
{
    return ledger_node__kind(node) >= NODE_SAMPLED;
}

static inline int ledger_node__is_self(const struct ledger_node *node)
{
    return ledger_node__is_sampled(node) && ledger_node__level(node) == NODE_SELF;
}

#endif
