/*
 * What the profiler costs its process, in nanoseconds of CPU: a model of what can be counted and
 * measured while it runs. Pure arithmetic but for the survey; any thread.
 *
 * Measured in place: the profiler's threads, signal handlers, calls of hooks that leave the
 * straight line, rewriting of classes, the CPU of the JVM's compilers and of its Service Thread.
 * Measured when the agent begins: the straight line of one call's hooks (agent/hooks/hook_cost.h),
 * which the prices below, but for a silent call's, are multiples of, so that they follow the
 * machine's speed.
 *
 * Not measurable in place: what is no longer inlined, hooks in code that is interpreted still, and
 * what hooks give the compilers to do. Their prices come from paired runs of fop and sunflow on JDK
 * 25 (tests/bench/own_cost.py makes such pairs): CPU with hooks less CPU without, by kind of
 * thread; those of a silenced method and of a method's first call from runs with the defaults of
 * ecj, fop, jython, scalac, clojure, groovy and batik; a method that is counted from its first call
 * on took 0.2 to 0.5 ms of a first run of ecj, as one that falls silent. What a hooked method costs
 * once differs most between programs: by these prices jruby and javac cost less than is said, h2
 * more.
 */
#ifndef TREADLE_COST_MODEL_H
#define TREADLE_COST_MODEL_H

#include "native/ledger/ledger.h"

#include <stddef.h>
#include <stdint.h>

/* HotSpot interprets a method's first calls, then C1 compiles it, and C2 after some thousands
 * (Tier3InvocationThreshold, Tier4InvocationThreshold). */
#define COST_COLD_CALLS 200u
#define COST_HOT_CALLS  5000u

/* What the hooks of a method are taken to cost once, before anything is known of its calls: a rough
 * fit to what first runs of nine programs cost more (JDK 25). */
#define COST_HOOKS_NS 20000u

/* Calls that hooks counted, from the trees. */
struct call_survey {
    uint64_t calls;
    uint64_t cold_calls;  /* of each method, the first COST_COLD_CALLS */
    uint64_t methods;     /* with a call */
    uint64_t hot_methods; /* with COST_HOT_CALLS or more */
};

/* A count for each method of the ledger, to be used again: allocated as needed. */
struct method_calls {
    uint64_t *calls; /* by key */
    size_t room;
};

/* Reads all nodes, some 2 ns each; keys are method numbers, from 1 on. 0 or -ENOMEM. */
int call_survey__take(struct call_survey *survey, const struct ledger *ledger,
                      struct method_calls *methods);
/* For tests only: the agent keeps its table. */
void method_calls__free(struct method_calls *methods);

/* All since profiling began, and only while it was on. */
struct cost_facts {
    struct call_survey survey;
    uint64_t call_ps; /* the hooks of one call, in a loop; 0: there are none */
    uint64_t
        slow_ns; /* CPU time of hooks that left that straight line, besides, as measured in place */
    uint64_t wait_brackets_ns; /* CPU time of giving waits their reasons, as measured in place */
    uint64_t hazards_ns;       /* CPU time of looks at who owns which lock, on whatever thread */
    uint64_t wait_ends;        /* begins and ends of waits that the agent was told of */
    uint64_t wrapped_ends;  /* of these: seen by a wrapper of the call that waits, and not heard */
    uint64_t timed_ends;    /* of all: whose time was noted, which is not measured in place */
    uint64_t lock_looks;    /* parks for which it was looked whether they are for a lock */
    uint64_t silent_calls;  /* of muted methods, whose hooks only count them; … */
    uint64_t counted_calls; /* … and calls that were counted, those of muted methods among them */
    uint64_t counting_methods; /* methods that fell silent at some time, or were counted from their
                                  first call on and have some hundred calls */
    uint64_t handler_ns;       /* CPU time in the handler of samples' signals */
    uint64_t signals;          /* signals that the handler had */
    uint64_t delivery_ns;      /* of one signal, in the kernel */
    uint64_t event_switches;   /* context switches while threads had perf events */
    uint64_t threads_ns;       /* the profiler's own kernel threads */
    uint64_t classes_ns;       /* rewriting and retransforming classes */
    uint64_t compilers_ns;     /* C1 and C2, all that they do */
    uint64_t service_ns;       /* the JVM's Service Thread, while it reports compiled methods */
    uint64_t recompiled_ns;    /* C1 and C2, because classes were changed while the program ran */
};

/* What hooks cost where they are called: of the survey only calls and cold calls matter. */
uint64_t cost_model__hooks_ns(const struct cost_facts *facts);

/* What counted calls cost, which are in no tree. */
uint64_t cost_model__counts_ns(uint64_t counted_calls);

/* In addition to what is measured in place: what the JVM does to tell of a begin or an end of a
 * wait. */
#define COST_WAIT_END_NS 40u
/* A wait in a call that the agent wraps, of which the JVM tells nothing, not heard. By perf all
 * that the agent does for waits took 0.8 % of Jetty's CPU time, at some 150,000 such waits a second
 * on 0.6 processors: 30 ns for both ends, of which timing one in six takes a third by the price
 * below (JDK 25, AMD EPYC, 2 processors, one run). */
#define COST_WRAPPED_END_NS 11u
#define COST_TIMED_END_NS   30u /* noting the reason or the time of a wait */

/* To look whether a park is for a lock. In loops with virtual threads on JDK 25 an operation of a
 * SynchronousQueue took 40 to 100 ns more, one of a contended ReentrantLock 130 (a busy machine).
 */
#define COST_LOCK_LOOK_NS 100u

struct ledger_own_cost cost_model__of(const struct cost_facts *facts);

uint64_t ledger_own_cost__sum(const struct ledger_own_cost *cost);

#endif
