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
    METRIC_PINNED, /* virtual threads: times that one blocked its carrier */
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
    SOURCE_JVM,       /* what the JVM tells */
    SOURCE_COUNT,
};

enum ledger_clock_kind {
    LEDGER_CLOCK_PLAIN = 1, /* CLOCK_THREAD_CPUTIME_ID at every event */
    LEDGER_CLOCK_PERF = 2,  /* TSC, switches seen by the lock word of a perf event's page */
    LEDGER_CLOCK_RSEQ = 3,  /* TSC, switches seen by rseq_cs being cleared */
    LEDGER_CLOCK_KINDS,
};

#define LEDGER_UNHOOKED_SLOTS 24u

/* Why something that was to have hooks has none. The numbers are part of the format. */
enum unhooked_reason {
    UNHOOKED_CODE_TOO_LARGE, /* methods, down to the one that says so */
    UNHOOKED_POOL_FULL,
    UNHOOKED_BRANCH_OUT_OF_REACH,
    UNHOOKED_TOO_MANY_HANDLERS,
    UNHOOKED_STACK_TOO_DEEP,
    UNHOOKED_LOCALS_FULL,
    UNHOOKED_CONSTRUCTOR_UNCLEAR,
    UNHOOKED_INTRINSIC,
    UNHOOKED_NO_MEMORY,
    UNHOOKED_LAST_OF_METHODS = UNHOOKED_NO_MEMORY,
    UNHOOKED_MALFORMED, /* classes from here on */
    UNHOOKED_VERSION,
    UNHOOKED_REFUSED,
    UNHOOKED_INTERFACE, /* it was loaded before it was to have hooks */
    UNHOOKED_COUNT,
};

#define LEDGER_WALK_FAILURE_SLOTS 16u

/* Why the walk of a sampled stack ended before the thread's start; what was walked until then is
 * kept. The numbers are part of the format. */
enum ledger_walk_failure {
    WALK_UNKNOWN_CODE, /* an address in no image and in no code of the JVM */
    WALK_NO_UNWIND,    /* an image that does not say how to unwind there */
    WALK_BAD_FRAME,    /* a frame that does not lie above the one it called */
    WALK_BAD_METHOD,   /* a Java frame whose method could not be named */
    WALK_FAULT,        /* memory that is not there */
    WALK_TOO_DEEP,     /* more frames than a sample has room for: the innermost are kept */
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

/* What the profiler itself costs, in ns of the process's CPU while profiling was on; as of the last
 * look. All of it is in other numbers of the ledger as well. See native/cost/cost_model.h. */
struct ledger_own_cost {
    uint64_t hooks_ns;   /* on the threads that call them: an estimate */
    uint64_t samples_ns; /* signals and their handler, in place */
    uint64_t threads_ns; /* its kernel threads */
    uint64_t classes_ns; /* rewriting and retransforming classes, on the threads that load them */
    uint64_t jvm_ns;     /* what it makes the JVM do: compiling hooks, telling of compiled code */
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
    uint64_t filtered_methods; /* of these classes and others looked at: the filter left them out */
    uint64_t unhooked[LEDGER_UNHOOKED_SLOTS]; /* per enum unhooked_reason */
    uint32_t default_filter; /* 1: neither JDK classes nor trivial accessors were to have hooks */
    uint32_t fold_none;      /* 1: fold=none */
    uint64_t kept_threads;   /* threads that are over and have rows of their own */
    uint32_t calls_lost;     /* 1: … threads have lost_enters of their own */
    uint32_t attached;       /* 1: the agent came when the process ran already, at time 0 */
    uint64_t hook_cost_ps;   /* of the hooks of one call, estimated; 0: not known */
    uint64_t
        carried_cpu_ns;   /* charged on carriers that are gone: to them, and to what they carried */
    int32_t profiler_tid; /* the profiler's own thread */

    /* samples */
    uint32_t sample_mode;  /* enum ledger_sample_mode, as started last */
    uint32_t sample_clock; /* enum ledger_sample_clock */
    int32_t
        sample_clock_error; /* 0, or the errno that refused perf events, which the interval needs */
    uint64_t sample_interval_ns;  /* as started last */
    uint64_t samples;             /* taken */
    uint64_t dropped_samples;     /* of these: no buffer was free, or the ledger is full */
    uint64_t homeless_samples;    /* of these: of kernel threads that have no row */
    uint64_t sample_buffer_bytes; /* of each buffer */
    uint64_t sample_fill_bytes;   /* the most that any had when it was drained */
    uint64_t walk_failures[LEDGER_WALK_FAILURE_SLOTS]; /* per enum ledger_walk_failure */
    uint32_t sample_modes; /* bit n: enum ledger_sample_mode n was started at some time */
    uint32_t reserved_modes;
    uint64_t kernel_samples;     /* of CPU time in the kernel, as far as samples themselves tell */
    uint64_t kernel_stacks;      /* … of these, with the kernel's functions */
    int32_t kernel_stack_error;  /* 0, or the errno with which perf events refuse these */
    int32_t kernel_symbol_error; /* 0, or the errno with which the kernel hides their names */

    uint64_t missing_bytes; /* of ledgers merged into this one, whose files ended too early */
    uint64_t lost_scopes;   /* compiled frames of samples whose inlined methods could not be told */
    struct ledger_own_cost own_cost;
    uint64_t positions_corrected; /* threads that samples found elsewhere than their paths said */

    /* the budget */
    uint32_t overhead_ppm;  /* overhead=: of the process's CPU; 0: any */
    uint32_t planned;       /* 1: plan= told what to expect */
    uint64_t muted_methods; /* just now */
    uint64_t off_methods;
    uint32_t rate_max; /* calls a second that a method may make just now; UINT32_MAX: any */
    uint32_t reserved_budget;
    uint64_t lost_tallies;     /* samples that are in no tally, or not in all of theirs */
    uint64_t unlisted_classes; /* of which no struct ledger_class tells: there was no room */
    uint64_t listed_bytes;     /* that those have taken, about */
    uint32_t
        filters; /* how often include= and exclude= were set: classes of earlier ones are old */
    uint32_t reserved_filters;

    /* A few seconds of it, up to the last look; 0 ns of CPU: too little happened in them. */
    uint64_t recent_wall_ns;
    uint64_t recent_cpu_ns; /* the process's */
    uint64_t recent_own_ns; /* … of these, the profiler's own */

    uint64_t folded_threads;  /* threads that are over and were folded: in groups' rows */
    uint64_t folded_since_ns; /* when the first of them was over */

    /* Moves of numbers from one record to another, begun and done; see ledger__begin_folding. */
    uint64_t folds_begun;
    uint64_t folds_done;
    uint64_t pruned_since_ns;     /* since when, as far as is known */
    uint64_t folds_held_until_ns; /* CLOCK_MONOTONIC; none begins before. 0: they may */
    uint64_t
        senseless_records; /* of a snapshot: left out when it was made; no race explains them */

    uint32_t recursion; /* recursion=, as started last: levels kept apart; 0: all */
    uint32_t reserved_recursion;
    int32_t clock_error[LEDGER_CLOCK_KINDS]; /* per enum ledger_clock_kind: the errno with which its
                                                self-test failed; 0: it did not, or was not tried */
    uint64_t held_bytes;      /* by the agent beside the ledger, about, at its last look */
    uint64_t identified;      /* times that a hook asked the JVM which Java thread runs */
    uint64_t filter_since_ns; /* when include= and exclude= were set last; 0: at the beginning */
};

enum ledger_event_mode {
    LEDGER_EVENTS_NONE,
    LEDGER_EVENTS_JVMTI,
    LEDGER_EVENTS_INSTRUMENT,
};

/* A string, in as many cells as it needs. UTF-8 as a rule, but check: names come from outside. */
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
    /* No Java method but a function of native code, which only samples see. class_name is the path
     * of its image, or "[jvm]" for code that the JVM made, or "[kernel]". name is its symbol as the
     * image has it (mangled), or none if the agent found none; no signature. */
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
    ledger_ref places; /* where samples met it: interpreted at a bytecode index, or the symbol at an
                          offset; newest first, linked */
    ledger_ref image;  /* of a symbol: its image, or none */
    uint64_t address;  /* of a symbol: where it begins, as the image's own headers count; in "[jvm]"
                          the real address */
    uint32_t size;     /* of a symbol, bytes; 0: not known */
    uint32_t reserved;
};

/* A file of native code that samples met. */
struct ledger_image {
    ledger_ref path;
    ledger_ref build_id; /* in hexadecimal, or none */
    uint64_t start;      /* first byte mapped */
    uint64_t end;        /* one after the last */
    uint64_t bias;       /* an address less this is the address that the file's headers count by */
    uint64_t reserved[4];
};

enum ledger_compiler {
    COMPILER_NONE, /* a stub */
    COMPILER_C1,
    COMPILER_C2,
    COMPILER_OTHER, /* compiled, nobody said by whom */
};

/* A piece of code that the JVM made at run time and that samples met: a compiled method or a stub.
 */
struct ledger_code {
    ledger_ref method;    /* whose code it is; of a stub, a symbol of "[jvm]" */
    ledger_ref bytes;     /* string: the machine code, `size` bytes; or none: it was gone */
    ledger_ref places;    /* where samples met it, newest first, linked */
    uint32_t size;        /* bytes */
    uint64_t address;     /* of its first byte */
    uint64_t loaded_ns;   /* 0: before anybody looked */
    uint64_t unloaded_ns; /* 0: still there */
    uint32_t compiler;    /* enum ledger_compiler */
    uint32_t reserved[5];
};

/* Samples whose top frame stood at one address, or at one bytecode index. */
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
    HOOKING_HEARD, /* its calls are recorded */
    HOOKING_MUTED, /* they are not: too many for the budget */
    HOOKING_OFF,   /* they never are again: the method is hot */
};

/* A method whose calls were not recorded all of the time: its calls are that many at least. Times
 * are the ledger's; a method without such a record was heard from its class's loading on. */
struct ledger_hooking {
    ledger_ref method;
    uint32_t state;       /* enum ledger_hooking_state */
    uint64_t from_ns;     /* when hooks were put in */
    uint64_t since_ns;    /* when it came to this state */
    uint64_t heard_ns;    /* recorded before that, in all */
    uint32_t mutes;       /* how often it fell silent */
    uint32_t rate;        /* calls a second when it did so last */
    uint32_t code_hash;   /* FNV-1a of its bytecode */
    uint32_t rate_max;    /* … that the budget allowed it then; 0: not known */
    uint64_t end_ns;      /* of a process merged into this ledger: its end; 0: the ledger's own */
    uint32_t heard_calls; /* up to when it fell silent last, about: counted in steps */
    uint32_t reserved;
};

/* What became of a method of a class that was looked at. The numbers are part of the format; from
 * CHOICE_UNHOOKED on they are that plus an enum unhooked_reason. */
enum ledger_choice {
    CHOICE_HOOKED = 1,
    CHOICE_NAMED,        /* hooked; include= names it, or all of its class */
    CHOICE_PLANNED,      /* plan= knows it as hot: its hooking tells */
    CHOICE_NOT_INCLUDED, /* by include= */
    CHOICE_EXCLUDED,     /* by exclude= */
    CHOICE_JDK,          /* without include=: the JDK's own */
    CHOICE_TRIVIAL,      /* without include=: a trivial accessor */
    CHOICE_NATIVE,
    CHOICE_ABSTRACT,
    CHOICE_UNHOOKED = 64,
};

/* A class that was looked at, and what became of its methods: so one that was never called can be
 * told from one that was never there. */
struct ledger_class {
    ledger_ref name;    /* as its methods have it */
    ledger_ref methods; /* string: of each a byte of enum ledger_choice, its name, a NUL, its
                           signature, a NUL; or none */
    uint32_t unhooked;  /* 1 + the enum unhooked_reason for which the class has no hooks; or 0 */
    uint32_t is_cut;    /* 1: the string has not all of its methods */
    uint32_t filter;    /* the header's filters when it was looked at */
    uint32_t reserved[11];
};

/*
 * CPU samples of a thread, and of these the ones that had a method with hooks on their stacks, as
 * these were walked: whatever the thread's current node said. So shares by samples can be held
 * against the times of exact nodes. Of threads that were folded meanwhile it is not whole.
 */
struct ledger_tally {
    ledger_ref thread;
    ledger_ref method;    /* or none: all samples of the thread */
    uint64_t start_ns;    /* of the thread: the record may be another's by now */
    uint64_t samples;     /* with the method on the stack */
    uint64_t seen_ns;     /* CPU time that they stand for */
    uint64_t doubtful_ns; /* of samples that had it or not: nobody knows */
    uint64_t most_ns;     /* that one sample stands for */
    /* Of a process merged into this ledger, in the tally of all samples of a thread: */
    uint64_t lacks_frames; /* 1: frames of methods with hooks may have no exact nodes */
    uint64_t call_ps;      /* time of a call that is around its hooks; 0: the header tells */
};

enum ledger_thread_kind {
    THREAD_PLATFORM = 1,
    THREAD_VIRTUAL = 2,
    THREAD_CARRIER = 3,
    THREAD_VM = 4,     /* GC, JIT, …: no Java thread */
    THREAD_NATIVE = 5, /* a kernel thread that is neither */
};

enum ledger_thread_flag {
    THREAD_TERMINATED = 1u << 0, /* nothing is charged to its methods any more */
    THREAD_DAEMON = 1u << 1,
    THREAD_SEEDED = 1u << 2,       /* had frames before events began: those have no calls */
    THREAD_LAST_MOMENTS = 1u << 4, /* no thread: what threads consumed after they were last seen */
    THREAD_GROUP = 1u << 5, /* threads that are over, folded into one; `members` says how many */
    THREAD_MORE_TIDS = 1u << 6, /* ran on more kernel threads than there is room for */
    THREAD_HIDDEN = 1u << 3, /* a row whose kernel thread turned out to run a Java thread: skip */
};

#define LEDGER_THREAD_TIDS 24u

/* A tree's writer's own: where the frames that are folded go back to; see return_stack.h. */
struct ledger_returns {
    ledger_ref top;   /* the note with the newest; none: no frame is folded */
    uint32_t used;    /* runs in it */
    uint32_t repeats; /* of the newest run, besides the first */
    uint32_t above;   /* frames that are not folded, above the newest that is */
};

/* A node that is being folded into another one. While `from` is set, what `to` had before stands
 * here, and what it has now is that and what `from` has. */
struct ledger_move {
    ledger_ref from; /* none: nothing is being moved */
    ledger_ref to;
    union {
        struct {
            ledger_ref side; /* of `to`, before */
            uint32_t reserved;
        };
        uint64_t seen_ns; /* ditto, of a sampled frame */
    };
    uint64_t calls;   /* or of a sampled frame what stands in their place */
    uint64_t cpu_ns;  /* ditto */
    uint64_t wait_ns; /* ditto */
};

struct ledger_thread {
    ledger_ref name;    /* the one it had when it started */
    ledger_ref renames; /* newest first, linked */
    ledger_ref parent;  /* the thread that started it, or none */
    ledger_ref root;    /* its tree's root node */
    ledger_ref current; /* its current node while no kernel thread runs it */
    uint32_t kind;      /* enum ledger_thread_kind */
    uint32_t flags;     /* enum ledger_thread_flag */
    uint32_t rename_count;
    uint64_t java_id; /* Thread.threadId(), 0 if none */
    uint64_t start_ns;
    uint64_t end_ns;      /* 0 while it runs */
    uint64_t lost_enters; /* calls not recorded, besides the header's */
    uint32_t tid_count;
    int32_t tids[LEDGER_THREAD_TIDS]; /* the first so many kernel threads that ran it */
    uint32_t latest_name_hash;        /* of its newest name, if it was renamed at all */
    uint32_t unsure;                  /* of a virtual thread; see call_tree.h */
    ledger_ref group_name; /* of one without a name: what it is folded under; else none */
    uint64_t members;      /* of a group */
    uint64_t parent_id;    /* java_id of the parent: its record may be another thread's by now */
    /* virtual threads; what holds while no kernel thread runs it stands beside `current` */
    uint64_t mounts;
    uint64_t pinned;             /* times that it was to be unmounted and could not be */
    uint64_t parked_ns;          /* the sum of the times that it was not mounted */
    uint64_t unmounted_ns;       /* since when it is not; 0: it is */
    uint64_t token;              /* see call_tree.h */
    uint64_t lost_depth;         /* ditto */
    uint64_t unprofiled_wall_ns; /* the header's when the row of a VM or native thread was made, or
                                    when the virtual thread was unmounted */
    uint64_t first_ticks;        /* VM and native rows: start_ticks of the kernel thread */
    uint64_t totals[LEDGER_METRIC_SLOTS];
    uint64_t left_cpu_ns; /* CPU in its tree when its kernel thread left it; 0: not known */
    uint64_t samples; /* taken while it ran: counted by whoever takes them, on its kernel thread */
    uint64_t merged_samples; /* … of these, in its tree or dropped; the profiler's own thread's */
    uint64_t partial_samples;  /* … of these, not down to where a virtual thread began */
    uint64_t recorded_samples; /* partial_samples when its whole stack was told last */
    uint64_t lost_samples; /* CPU samples that were due and found no room, in a buffer or here */
    uint64_t
        seen_wall_ns; /* wall time that its wall samples stand for; of CPU time the nodes say */
    uint64_t moded_cpu_ns; /* up to its samples, as the kernel divides it by modes: by ticks; … */
    uint64_t moded_system_ns;      /* … of these, in the kernel */
    uint64_t floor;                /* see call_tree.h; beside `current`, as token */
    struct ledger_returns returns; /* ditto */
    ledger_ref next_ended;         /* see thread_fold.h */
    ledger_ref folded;             /* the NODE_FOLDED below its root, or none */
    /* calls that found no room for a node and run still; see folded_calls.h */
    ledger_ref folded_path;   /* the newest note of their nodes */
    ledger_ref folded_below;  /* the node where the oldest was called */
    uint32_t folded_depth;    /* how many there are */
    uint32_t reserved_nodes;  /* of the part that is reserved, for contexts of this thread */
    struct ledger_move move;  /* its writer's, as cold_ns; see tree_pruning.h */
    uint64_t cold_ns;         /* contexts with less CPU are folded where there is no room */
    uint64_t folded_bound_ns; /* CPU that one whose node was folded can have had at the most */
    uint64_t foldings;        /* how often one was */
    uint64_t pruning_moves;   /* … and a node was moved for that */
    uint64_t unplaced_calls;  /* that found no room for a node of their context */
};

/* What the ledger knows of a kernel thread: enough for anybody to work out what is not yet charged,
 * which is its CPU clock now less charged_cpu_ns, and each metric now less its reading. */
struct ledger_kernel_thread {
    int32_t tid; /* 0: free for the next kernel thread, the last one being gone */
    uint32_t generation;
    ledger_ref thread;           /* the Java thread that runs on it, or the last that did */
    ledger_ref current;          /* the node its deltas go to */
    uint64_t charged_cpu_ns;     /* all that was charged to any Java thread on it; read it first */
    uint64_t waited_ns;          /* when it was last charged, less charged_cpu_ns; written first */
    uint64_t before_cpu_ns;      /* … of which to Java threads before `thread` */
    uint64_t start_ticks;        /* field 22 of its stat: with the tid, names a kernel thread */
    uint64_t own_read_bytes;     /* in read_bytes of the kernel, but read by the agent itself */
    uint64_t unprofiled_wall_ns; /* of the header's, what is in waited_ns */
    uint64_t readings[LEDGER_METRIC_SLOTS]; /* metrics as last read */
    uint64_t carries; /* 1: virtual threads were mounted on it, so no tree alone has its CPU */
    uint64_t kernel_cpu_ns; /* in a snapshot: what the kernel said at its end; charged_cpu_ns is
                               what stands in the trees */
    uint64_t reserved[7];
};

enum ledger_node_kind {
    NODE_ROOT = 1,    /* the thread node: no method */
    NODE_EXACT = 2,   /* a method in one calling context */
    NODE_GAP = 3,     /* "(between Java threads)": no method, child of a root */
    NODE_FOLDED = 4,  /* "(folded)": no method; see below */
    NODE_SAMPLED = 5, /* a Java frame that samples met */
    NODE_NATIVE = 6,  /* ditto, a native one */
    NODE_KERNEL = 7,  /* ditto, the kernel's side */
    NODE_UNSEEN = 8,  /* in no ledger: a report's row of what no sample saw, below an exact node */
};

/*
 * One calling context in one cache line.
 *
 * Sampled frames (NODE_SAMPLED, NODE_NATIVE, NODE_KERNEL) hang under the exact node that was
 * current: the first stands in its `sampled`, its siblings and children are linked as those of
 * exact nodes are. They have samples where exact nodes have calls and times, counted at the top
 * frame of a sample only. Samples that met the exact node itself on top are those of a sampled
 * child with NODE_SELF.
 *
 * Below a NODE_FOLDED stands one exact node a method, with all calls and times that the method had
 * in contexts that have no nodes of their own. It hangs below the node that these contexts lie
 * below; below a root, it also has the calls that found no room for a node. It has no calls and no
 * times itself.
 *
 * A CPU sample stands for the CPU time since the one before it on its kernel thread, or since its
 * timer was set. What came before that, and what a sample would stand for that was lost, is in no
 * seen_ns: an exact node's base less those of all sampled frames below it is what no sample saw.
 */
struct ledger_node {
    union {
        uint64_t key;     /* the method's key, so that the hot path needs no other line */
        uint64_t seen_ns; /* CPU time that the cpu_samples of this sampled frame stand for */
    };
    ledger_ref method; /* none for roots and gaps */
    ledger_ref parent; /* none for roots */
    ledger_ref first_child;
    ledger_ref next_sibling;
    union {
        ledger_ref last_hit; /* the child entered last; the writer's own, may be stale */
        uint32_t contexts;   /* of a NODE_FOLDED: that were folded into it, as far as is known */
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
        uint64_t interpreted; /* samples through this sampled frame that found it interpreted */
    };
    union {
        uint64_t wait_ns;      /* base: elapsed less CPU; modulo 2^64, for clocks differ a little */
        uint64_t wall_samples; /* wall samples with this sampled frame on top */
    };
};

/*
 * The recursion level is how often the method stood above the frame. With recursion=N a node stands
 * for frames of more than one: for its own, which its path tells and which its first bits have, and
 * for deeper ones. Its recursion level is then the highest that it stood for.
 */
#define NODE_LEVEL_MAX       0xffffffu
#define NODE_PATH_LEVEL_MAX  0xfu
#define NODE_PATH_SHIFT      28u
#define LEDGER_RECURSION_MAX (NODE_PATH_LEVEL_MAX + 1)
#define NODE_SELF            1u /* in place of the level: a sampled node that stands for its exact parent */

/* The key of a NODE_FOLDED. */
#define LEDGER_FOLDED_KEY UINT64_MAX

struct ledger_side {
    ledger_ref node;
    ledger_ref index; /* of the node's children: its tree's writer's own; see child_index.h */
    uint64_t value[LEDGER_METRIC_SLOTS];
};

#define NOTE_SLOTS 16u

/* What a tree's writer notes for itself: refs, and bits beside them. Readers pass over it. */
struct ledger_note {
    uint32_t slots[NOTE_SLOTS];
};

#define NOTE_IS_NEXT    (1u << 31) /* the ref is that of another note */
#define NOTE_LACKS_SOME (1u << 30) /* there was no room for all */
#define NOTE_BITS       (NOTE_IS_NEXT | NOTE_LACKS_SOME)

/* What a kernel thread consumed while profiling was stopped, or before the agent came: not in any
 * other number of the ledger. Profiled is what the kernel says less that. */
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

/* Profiling was stopped and not started again: all of it is as of header->since_ns. */
static inline int ledger_header__is_stopped(const struct ledger_header *header)
{
    return header->starts != 0 && !header->profiling;
}

/* The agent is coming: its header is not filled in, or its first start in a process that ran
 * already is not done, and nothing is profiled yet. */
static inline int ledger_header__is_attaching(const struct ledger_header *header)
{
    return header->epoch_ns == 0 || (header->attached && header->starts == 0);
}

static inline uint32_t ledger_node__level(const struct ledger_node *node)
{
    return node->kind_and_level & NODE_LEVEL_MAX;
}

/* The recursion level that its path tells, in a ledger with recursion=N. */
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

/* When the kernel thread was last charged. */
static inline uint64_t ledger_kernel_thread__last_ns(const struct ledger_kernel_thread *record)
{
    return record->charged_cpu_ns + record->waited_ns;
}

/* Its bytes go on behind the record: not a field to the compiler, which knows that one's end. */
static inline const char *ledger_string__bytes(const struct ledger_string *string)
{
    return (const char *)string + offsetof(struct ledger_string, bytes);
}

static inline uint32_t ledger_node__kind(const struct ledger_node *node)
{
    return node->kind_and_level >> 24 & 0xf;
}

/* One that samples made: it has samples, and neither calls nor times. */
static inline int ledger_node__is_sampled(const struct ledger_node *node)
{
    return ledger_node__kind(node) >= NODE_SAMPLED;
}

static inline int ledger_node__is_self(const struct ledger_node *node)
{
    return ledger_node__is_sampled(node) && ledger_node__level(node) == NODE_SELF;
}

#endif
