/*
 * Wall samples: a few threads at each turn, so that the cost does not grow with the number of
 * threads. A running thread is asked for its stack by a timer on its CPU clock. A waiting thread is
 * not disturbed: the kernel says where the thread waits (/proc/self/task/TID/syscall), and its
 * stack is walked from outside.
 */
#ifndef TREADLE_WALL_SAMPLES_H
#define TREADLE_WALL_SAMPLES_H

#define WALL_SAMPLES_AT_ONCE 16u

struct sampler;

/* For the housekeeping thread. */
void wall_samples__take(struct sampler *sampler);

/* Stops asking threads. Under the lock of the sampler's tasks. */
void wall_samples__end(struct sampler *sampler);

#endif
