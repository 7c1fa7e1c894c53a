/*
 * A process whose logical stacks are sampled from outside, into a ledger of its own.
 *
 * Its threads are found in /proc, its stacks in the segments that its treadle.h made; the kernel
 * tells each thread's state and CPU time. The process itself is not asked, signalled or stopped.
 *
 * Its threads and their times: tools/sample/sampled_threads.h. One thread at a time uses a process.
 */
#ifndef TREADLE_SAMPLED_PROCESS_H
#define TREADLE_SAMPLED_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sampled_process;

/* A process of this user; of one that is gone, the segments that it left. every_ns: the interval,
 * for the ledger's header. On failure returns NULL, with a line in `why`. */
struct sampled_process *sampled_process__open(pid_t pid, uint64_t every_ns, char *why,
                                              size_t why_bytes);

/* Also ends the watches. */
void sampled_process__close(struct sampled_process *process);

/* Looks for new threads and segments, and samples the threads without stacks, which takes longer
 * than a sample: at most ten times a second. */
void sampled_process__look(struct sampled_process *process);

/* Samples every thread that has a stack. */
void sampled_process__sample(struct sampled_process *process);

/* `count` samples were due and not taken. */
void sampled_process__note_late(struct sampled_process *process, uint64_t count);

/* True if the process is gone. */
bool sampled_process__is_over(const struct sampled_process *process);

/* Whether any segment was found; how many samples were taken of stacks in them. */
bool sampled_process__has_stacks(const struct sampled_process *process);
uint64_t sampled_process__samples(const struct sampled_process *process);

/* The line on what is wrong with a segment that was refused; "" if there is none. */
const char *sampled_process__refused(const struct sampled_process *process);

pid_t sampled_process__pid(const struct sampled_process *process);

/* Closes the ledger and writes it to a file, complete or not at all. 0 or -errno. */
int sampled_process__write(struct sampled_process *process, const char *path);

#endif
