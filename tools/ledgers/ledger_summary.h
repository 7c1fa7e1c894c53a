/* What is to be said of a ledger in a few words. Of its file only the header, the heads of chunks,
 * the threads' rows and the texts below are read, and memory is taken for one chunk and for those.
 */
#ifndef TREADLE_LEDGER_SUMMARY_H
#define TREADLE_LEDGER_SUMMARY_H

#include "native/ledger/ledger_reader.h"
#include "tools/report/text.h"

#include <stddef.h>
#include <stdint.h>

struct ledger_summary {
    struct ledger_header header;
    enum ledger_life life;
    uint64_t present_bytes; /* of its file; and … */
    uint64_t missing_bytes; /* of what should be there: 0, or its end is cut off */
    struct text command;
    struct text jvm;
    struct text options;
    uint32_t threads;
    uint32_t ended; /* of them */
};

/* 0, or -1 and one line in message, as ledger_reader__open has it. The texts go to `texts`. */
int ledger_summary__read(struct ledger_summary *summary, struct text_store *texts, const char *path,
                         char *message, size_t message_bytes);

/* "live", "stopped", "orphan", "snapshot", or "partial" whatever it is. */
const char *ledger_summary__state(const struct ledger_summary *summary);

#endif
