/* What the handler of the signal that asks for a sample does (native/sampling/sample_handler.h). */
#ifndef TREADLE_SAMPLE_SIGNAL_H
#define TREADLE_SAMPLE_SIGNAL_H

#include "native/sampling/sample_handler.h"

struct sampler;

/* The signal came: takes a sample, if samples are taken. Async-signal-safe. context: as the handler
 * gets it. */
void sample_signal__take(struct sampler *sampler, const siginfo_t *info, const void *context);

#endif
