/* The ledger's format: strings, methods with their code, and decisions about hooks. See
 * ledger_format.h. */
#ifndef TREADLE_LEDGER_METHODS_H
#define TREADLE_LEDGER_METHODS_H

#include "native/ledger/ledger_chunk.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    METHOD_LATENCY = 1u << 4, /* latency= names it: its calls are measured one by one */
    /* Not a method but a frame that the program named itself: name is its identifier, signature the
     * parameter, which may be empty, as class_name always is. */
    METHOD_LOGICAL = 1u << 5,
};

struct ledger_method {
    uint64_t key;          /* by which hooks name the method (a jmethodID, an index); opaque */
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
    ledger_ref latency; /* private to writers: its struct ledger_latency of elapsed time, or none */
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

#define LEDGER_HOOKING_CELLS 2u

enum ledger_hooking_state {
    HOOKING_HEARD,   /* calls are recorded */
    HOOKING_MUTED,   /* calls are not recorded now: too many for the budget */
    HOOKING_OFF,     /* calls are neither recorded nor counted: the method is hot */
    HOOKING_COUNTED, /* calls are counted, and not recorded, until its class is changed again */
    HOOKING_STATES,
};

/* A method whose calls were not recorded all of the time, so that its call counts are lower bounds.
 * Times are those of the ledger's clock. The calls of a method without such a record were recorded
 * from the loading of its class on.
 *
 * With `counts`, calls that are not recorded are counted while the method is muted or counted: the
 * sum of recorded and counted calls is exact if it was always one or the other.
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
    /* In a cache line of its own: any thread that calls the method writes here. */
    uint64_t counted;     /* calls that were counted, those of `excluded` with them */
    uint64_t counted_ns;  /* total time before since_ns in which calls were only counted */
    uint64_t excluded;    /* calls counted while profiling was stopped, before the last start */
    uint64_t excluded_at; /* profiling is stopped: `counted` as it was then, and 1 */
    uint32_t counts;      /* 1: see above */
    uint32_t reserved[7];
};

/* Calls that were counted while profiling was on. */
static inline uint64_t ledger_hooking__counted(const struct ledger_hooking *hooking)
{
    uint64_t at = __atomic_load_n(&hooking->excluded_at, __ATOMIC_ACQUIRE);
    uint64_t counted = at ? at - 1 : __atomic_load_n(&hooking->counted, __ATOMIC_RELAXED);
    uint64_t excluded = __atomic_load_n(&hooking->excluded, __ATOMIC_RELAXED);

    return counted > excluded ? counted - excluded : 0;
}

/* True if calls are counted in the record's state. */
static inline bool ledger_hooking__is_counting(const struct ledger_hooking *hooking)
{
    return hooking->counts &&
           (hooking->state == HOOKING_MUTED || hooking->state == HOOKING_COUNTED);
}

/* What the agent decided about a method of a class that it examined. The numbers are part of the
 * format; from CHOICE_UNHOOKED on they are CHOICE_UNHOOKED plus an enum unhooked_reason. */
enum ledger_choice {
    CHOICE_HOOKED = 1,
    CHOICE_NAMED,        /* hooked; include= names the method or its whole class */
    CHOICE_PLANNED,      /* plan= leaves it out; see its struct ledger_hooking */
    CHOICE_NOT_INCLUDED, /* include= does not name it */
    CHOICE_EXCLUDED,     /* exclude= names it */
    CHOICE_JDK,          /* without include=: the JDK's own */
    CHOICE_TRIVIAL,      /* without include=: a trivial accessor */
    CHOICE_NATIVE,
    CHOICE_ABSTRACT,
    CHOICE_POSTPONED, /* of a program with too many, this one is small or late in a plan */
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

_Static_assert(sizeof(struct ledger_string) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_method) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_image) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_code) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_place) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_tally) == LEDGER_CELL_BYTES, "one cell");
_Static_assert(sizeof(struct ledger_hooking) == LEDGER_HOOKING_CELLS * LEDGER_CELL_BYTES,
               "two cells");
_Static_assert(offsetof(struct ledger_hooking, counted) == LEDGER_CELL_BYTES, "the second cell");
_Static_assert(sizeof(struct ledger_class) == LEDGER_CELL_BYTES, "one cell");

/* The string's bytes, which continue behind the record. A pointer computed from the record, not the
 * field, since compilers know the end of the field. */
static inline const char *ledger_string__bytes(const struct ledger_string *string)
{
    return (const char *)string + offsetof(struct ledger_string, bytes);
}

#endif
