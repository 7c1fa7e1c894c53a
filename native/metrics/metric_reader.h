#ifndef TREADLE_METRIC_READER_H
#define TREADLE_METRIC_READER_H

#include "native/ledger/ledger_format.h"
#include "native/metrics/taskstats.h"

#include <stdint.h>
#include <sys/types.h>

/*
 * A reader of the calling thread's own metrics. The reader keeps the descriptors that some sources
 * need open, so that a read neither opens nor allocates. One reader per kernel thread, used by that
 * thread only.
 */
struct metric_reader {
    uint64_t wanted;  /* bits that read() fills */
    uint64_t more;    /* further bits that read() fills: of open_more() */
    int schedstat_fd; /* -1: not open */
    int io_fd;
    struct taskstats_socket taskstats;
    pid_t tid;
    uint64_t own_read_bytes; /* what read() itself has read from schedstat and io */
};

/*
 * Opens what `wanted` needs, on the calling thread, and reads each source once. A source that
 * cannot be opened or read (descriptor limit, privileges, not in this kernel) is taken out of
 * reader->wanted. The process keeps at least half of its descriptor limit: beyond that nothing is
 * opened (EMFILE). 0, or -errno of the first source that was refused. The reader is usable, and
 * must be closed, in either case.
 */
int metric_reader__open(struct metric_reader *reader, uint64_t wanted);
void metric_reader__close(struct metric_reader *reader);

/*
 * Opens what further bits need, and reads each source once, as open() does: those that work and are
 * not in reader->wanted are in reader->more then. On the calling thread.
 */
void metric_reader__open_more(struct metric_reader *reader, uint64_t bits);

/*
 * Reads the metrics whose bits are in `bits`, and in reader->wanted or reader->more, into
 * value[id]; leaves the others as they are. Returns the bits that were read: a source that fails is
 * left out, never zeroed. Keeps errno. Does not allocate, lock or wait; async-signal-safe.
 *
 * METRIC_READ_BYTES leaves out what the reader itself reads from /proc, which the kernel counts:
 * a thread that reads nothing has a delta of 0.
 */
uint64_t metric_reader__read(struct metric_reader *reader, uint64_t bits,
                             uint64_t value[LEDGER_METRIC_SLOTS]);

/*
 * Reads the calling thread's METRIC_RUN_QUEUE_DELAY, wanted or not: a few microseconds where the
 * source is not open. 0, or -errno. Else like read().
 */
int metric_reader__read_run_queue_delay(struct metric_reader *reader, uint64_t *delay_ns);

#endif
