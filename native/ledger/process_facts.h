/* What a ledger's header says of its process and machine. */
#ifndef TREADLE_PROCESS_FACTS_H
#define TREADLE_PROCESS_FACTS_H

#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"

#include <stdbool.h>

/* Records times, the boot, the machine and the command of the calling process. Arguments for which
 * is_our_own is true are left out of the command; NULL: none. Not for hooks. */
void process_facts__record(struct ledger *ledger, const struct ledger_time *time,
                           bool (*is_our_own)(const char *argument));

/* The string of a profiler's options as given, without what is no part of the profile: where an
 * answer goes to whoever asked, and strictness. */
ledger_ref process_facts__options(struct ledger *ledger, const char *options);

/* That string, and the options of a later start; none if these are none. */
ledger_ref process_facts__options_since(struct ledger *ledger, ledger_ref options,
                                        const char *start);

#endif
