/* What `treadle list` and `treadle status` show of a ledger. Only the header, the heads of chunks,
 * the rows of threads and the texts below are read from the file, and memory is taken for these and
 * for one chunk. */
#ifndef TREADLE_LEDGER_SUMMARY_H
#define TREADLE_LEDGER_SUMMARY_H

#include "native/ledger/ledger_reader.h"
#include "tools/report/text.h"

#include <stddef.h>
#include <stdint.h>

struct ledger_summary {
    struct ledger_header header;
    enum ledger_life life;
    uint64_t present_bytes; /* bytes of the file */
    uint64_t missing_bytes; /* bytes that the file lacks at its end; 0: it is whole */
    struct text command;
    struct text jvm;
    struct text options;
    uint32_t threads;
    uint32_t ended; /* of these, ended threads */
};

/* 0, or -1 and one line in message, as ledger_reader__open has it. The texts go to `texts`. For
 * root a child with the rights of the file's owner reads; this process keeps its own. */
int ledger_summary__read(struct ledger_summary *summary, struct text_store *texts, const char *path,
                         char *message, size_t message_bytes);

/* "live", "stopped", "orphan", "snapshot"; or "partial" for any of them whose end is cut off. */
const char *ledger_summary__state(const struct ledger_summary *summary);

#endif
