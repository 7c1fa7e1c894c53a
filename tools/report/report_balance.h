/*
 * The balance: the CPU time that the kernel counted for the process, against the CPU time that was
 * charged to threads.
 */
#ifndef TREADLE_REPORT_BALANCE_H
#define TREADLE_REPORT_BALANCE_H

#include "tools/report/report_model.h"

struct report_balance {
    uint64_t kernel_ns;
    uint64_t charged_ns; /* the sum of the next four */
    uint64_t java_ns;    /* platform threads, virtual threads, carriers */
    uint64_t vm_ns;
    uint64_t native_ns;
    uint64_t last_moments_ns; /* of threads that ended, after the last look at them */
    int64_t difference_ns;    /* kernel - charged */
    int64_t difference_ppm;   /* of the kernel's; 0 if that is not known */
};

/* Returns the kernel thread with the largest difference, in either direction, between its CPU time
 * and what was charged; NULL if none is known. */
const struct report_kernel_thread *report_balance__farthest(const struct report_model *model);

/* The profiler's own part of the CPU time, which is in the balance as the rest is. */
struct report_own_cost {
    struct ledger_own_cost parts;
    uint64_t sum_ns;
    uint64_t calls;   /* with hooks */
    uint64_t call_ps; /* picoseconds of parts.hooks_ns a call; 0: not known */
};

struct report_own_cost report_own_cost__of(const struct report_model *model);

/* Over all threads, selected or not. */
struct report_balance report_balance__of(const struct report_model *model);

/* What is charged without last_moments_ns, which is a remainder and not a measurement. */
uint64_t report_balance__looked_at_ns(const struct report_balance *balance);

/* By how much the balance is out: the difference between that and the kernel's total, in either
 * direction, or that of the farthest kernel thread if it is larger; in millionths of the kernel's
 * total, which must be known, rounded up. */
uint64_t report_balance__out_ppm(const struct report_model *model,
                                 const struct report_balance *balance);

/* When the process began, in ns since the epoch; how long it was profiled, which is its whole life
 * unless the agent was attached later or profiling was stopped; how long it had run when the agent
 * was attached, 0 if the agent was there from the start. */
uint64_t report_process__start_ns(const struct ledger_header *header);
uint64_t report_process__wall_ns(const struct report_model *model);
uint64_t report_process__attached_after_ns(const struct ledger_header *header);

/* "rseq", "perf", "plain", or "unknown". */
const char *report_clock__name(uint32_t clock_kind);

/* True if the kind is a faster clock than the one in use and failed its self-test; `why` becomes
 * the reason in a few words. */
bool report_clock__is_refused(const struct ledger_header *header, uint32_t kind, char *why,
                              size_t why_bytes);

/* "none", "jvmti", "instrument", or "unknown". */
const char *report_events__name(uint32_t event_mode);

/* One kind of loss: a count, the words for people, and the key for scripts. */
struct report_loss {
    uint64_t count;
    const char *one;     /* the singular: "sample" */
    const char *meaning; /* the plural, which begins with `one` and an s, and what it means */
    const char *key;
};

#define REPORT_LOSSES 16u

struct report_loss report_loss__of(const struct ledger_header *header, unsigned index);

/* "1 sample dropped: …", "12 samples dropped: …" */
#define LOSS_TEXT_BYTES 128u
void report_loss__text(const struct report_loss *loss, char text[LOSS_TEXT_BYTES]);

/* The metrics (bits of enum ledger_metric) of a source that was refused; 0 if it was not. */
uint64_t report_source__missing(const struct report_model *model, enum ledger_metric_source source);

#endif
