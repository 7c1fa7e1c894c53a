/*
 * TASKSTATS: the kernel's delay accounting of one thread, asked for over generic netlink.
 *
 * The kernel answers within the sending system call, so a reply is either there at once or lost:
 * nothing here waits. The layout of the reply depends on the kernel that runs, not on the headers
 * that were compiled against; see Documentation/accounting/taskstats-struct.rst of the kernel.
 *
 * Asking needs CAP_NET_ADMIN in the first user namespace (EPERM). The delays are accounted for
 * threads that were started while kernel.task_delayacct was 1, and stay 0 for all others.
 */
#ifndef TREADLE_TASKSTATS_H
#define TREADLE_TASKSTATS_H

#include "native/ledger/ledger_format.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct taskstats_socket {
    int fd; /* -1: not open */
    uint16_t family;
    uint32_t sequence; /* of the last request */
};

/* Opens the socket and asks for the number of the TASKSTATS family. 0, or -errno (ENOENT: a kernel
 * without CONFIG_TASKSTATS, or a network namespace that hides the family); after an error
 * taskstats->fd is -1. */
int taskstats__open(struct taskstats_socket *taskstats);
void taskstats__close(struct taskstats_socket *taskstats);

/*
 * Reads the delays of one thread: those of `bits` that this kernel's version has, into value[];
 * their bits into *read_bits. 0 or -errno (EPERM; ESRCH: the thread is gone; ENODATA: a kernel that
 * accounts no delays). Does not allocate, lock or wait; async-signal-safe.
 */
int taskstats__read(struct taskstats_socket *taskstats, pid_t tid, uint64_t bits,
                    uint64_t *read_bits, uint64_t value[LEDGER_METRIC_SLOTS]);

/* Parses the part of a reply behind its generic netlink header, at any alignment and with any
 * content: taskstats__read without a kernel. EBADMSG: not a reply. */
int taskstats__parse(const void *attributes, size_t length, uint64_t bits, uint64_t *read_bits,
                     uint64_t value[LEDGER_METRIC_SLOTS]);

#endif
