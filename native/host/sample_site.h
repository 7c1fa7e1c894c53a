/*
 * Where a sample was taken, but for its frames: on which thread, at which node, and for how much
 * CPU time it stands. For the handler of the samples' signal: async-signal-safe.
 */
#ifndef TREADLE_SAMPLE_SITE_H
#define TREADLE_SAMPLE_SITE_H

#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"
#include "native/sampling/sample_buffers.h"
#include "native/thread/kernel_thread.h"

#include <signal.h>
#include <stdbool.h>
#include <ucontext.h>

/* What samples are taken with. */
struct sample_site {
    struct ledger *ledger;
    const struct ledger_time *time;
    uint64_t interval_ns;
    uint32_t round; /* how often samples were started */
};

/* The CPU time since the calling thread's sample before; of its first one, what its timer was set
 * to. Once a sample. */
uint64_t sample_site__since_last_ns(const struct sample_site *site, const siginfo_t *info);

/* The CPU time that a sample with its frames stands for. */
uint64_t sample_site__seen_ns(const struct sample_site *site, const struct sample *sample,
                              uint64_t since_ns);

/* The thread of the ledger that runs on a kernel thread, the calling one, if its current node is
 * its own; or NULL, also where that lies too deep to be found out within the interval: the sample
 * is then one without a home, and counted so. */
struct ledger_thread *sample_site__thread(const struct sample_site *site,
                                          const struct kernel_thread *mine);

/* Fills in all but the frames, whose flags are set; counts the sample at its thread as `turns`. */
void sample_site__describe(const struct sample_site *site, struct sample *sample, uint32_t turns);

/* False: the walk of the stack must not read what may not be there. A fault ends the process if its
 * signal is blocked, even if there is a handler. */
bool sample_site__may_fault(const ucontext_t *context);

#endif
