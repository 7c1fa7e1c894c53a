/*
 * The threads of a process whose logical stacks are sampled from outside, and their times.
 *
 * A thread's samples share its time some at a time: those that find it running or ready share the
 * CPU time and the time ready to run that the kernel counted, in equal parts, and those that find
 * it waiting the rest. So CPU time goes where the thread is seen to run, no wait counts for what
 * ran before it, and all times together are the kernel's. What is left at the end goes to the node
 * charged last. One thread at a time uses a table.
 */
#ifndef TREADLE_SAMPLED_THREADS_H
#define TREADLE_SAMPLED_THREADS_H

#include "native/activity/activity_tree.h"
#include "native/activity/segment_reader.h"
#include "native/activity/task_state.h"
#include "native/hash_table.h"
#include "native/ledger/ledger.h"
#include "native/ledger/ledger_time.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* So many samples of a thread are charged together. */
#define PENDING_SAMPLES 32u

struct pending_sample {
    ledger_ref node;
    enum activity_state state;
};

struct sampled_thread {
    pid_t tid;
    struct task_state task;
    ledger_ref record;
    ledger_ref root;
    ledger_ref kernel;    /* its struct ledger_kernel_thread */
    uint64_t measured_ns; /* up to here its times are read; of them not charged yet: */
    uint64_t cpu_ns;
    uint64_t runnable_ns;
    int64_t waited_ns; /* the rest; less than 0 when the kernel counted CPU time late */
    struct pending_sample pending[PENDING_SAMPLES];
    uint32_t pending_count;
    ledger_ref last_node;                             /* that was charged */
    unsigned pass;                                    /* the look that saw it last */
    bool has_stack;                                   /* a slot of a segment is its own */
    struct segment_stack *stack;                      /* of the sample that is being taken */
    struct segment_reader *where[SEGMENT_FRAMES_MAX]; /* the segment of each of its frames */
    UT_hash_handle hh;
};

struct sampled_threads {
    pid_t pid;
    struct ledger *ledger;
    struct activity_tree *tree;
    const struct ledger_time *time;
    struct sampled_thread *by_tid; /* uthash */
    unsigned pass;
};

struct sampled_thread *sampled_threads__find(const struct sampled_threads *threads, pid_t tid);

/* A thread that began to be seen now. NULL if it is gone, or there is no room. `is_alive`: the
 * kernel is asked for its times. */
struct sampled_thread *sampled_threads__add(struct sampled_threads *threads, pid_t tid,
                                            bool is_alive);

/* Adds the threads in /proc that are new; those that are gone end. */
void sampled_threads__look(struct sampled_threads *threads);

/* A thread's name, or its number where it is gone. The context is the table. */
ledger_ref sampled_threads__name(void *context, pid_t tid);

/* Before a sample: no thread has a stack. */
void sampled_threads__forget_stacks(struct sampled_threads *threads);

/* Adds a stack to those of the same thread in older segments, as a library has that shares no
 * treadle.h with the program: frames that lie further out on the thread's own stack come first. One
 * whose place is not known lies right inside the one before it; in the end the older segment's are
 * further out. */
void sampled_thread__add_stack(struct sampled_thread *thread, const struct segment_stack *stack,
                               struct segment_reader *segment);

/* Reads the thread's times; false: it is over. */
bool sampled_threads__measure(const struct sampled_threads *threads, struct sampled_thread *thread);

/* Counts a sample at the node of the thread's stack; its times follow. `samples`: 1, or 0 where a
 * thread without a stack is looked at. */
void sampled_threads__count(const struct sampled_threads *threads, struct sampled_thread *thread,
                            uint64_t samples);

/* There will be no more samples: charges all times that are not charged yet. */
void sampled_threads__settle(struct sampled_threads *threads);

void sampled_threads__release(struct sampled_threads *threads);

#endif
