/*
 * Wall samples: at each turn a few threads, so that the cost does not grow with their number. One
 * that runs is asked for its stack by a timer on its CPU clock. One that waits is not disturbed:
 * the kernel tells where it waits (/proc/self/task/TID/syscall), and its stack is walked from
 * outside.
 */
#ifndef TREADLE_WALL_SAMPLES_H
#define TREADLE_WALL_SAMPLES_H

#define WALL_SAMPLES_AT_ONCE 16u

struct agent;

/* By the housekeeping thread. */
void wall_samples__take(struct agent *agent);

/* No thread is asked any more. Under the lock of the sampler's tasks. */
void wall_samples__end(struct agent *agent);

#endif
