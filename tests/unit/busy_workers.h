/* Threads that play busy Java threads, for snapshots to be taken meanwhile. */
#ifndef TREADLE_TEST_BUSY_WORKERS_H
#define TREADLE_TEST_BUSY_WORKERS_H

#include "burn.h"
#include "java_world.h"
#include "native/thread/kernel_thread_events.h"

#include <pthread.h>

#define WORKERS 3

/* A calls B over and over, until told to end. */
struct worker {
    struct java_world *world;
    pthread_t thread;
    uint64_t java_id;
    uint64_t rests_ns; /* after each round */
    _Atomic uint64_t rounds;
    _Atomic bool over;
};

static inline void *work(void *context)
{
    struct worker *worker = context;
    struct kernel_thread *kernel_thread = kernel_thread_table__enter(&worker->world->table);
    (void)start_java(kernel_thread, "worker", worker->java_id);
    while (!worker->over) {
        kernel_thread__enter(kernel_thread, 'A');
        for (int i = 0; i < 100; i++) {
            kernel_thread__enter(kernel_thread, 'B');
            spin_a_little();
            kernel_thread__leave(kernel_thread, 'B');
        }
        kernel_thread__leave(kernel_thread, 'A');
        worker->rounds++;
        if (worker->rests_ns > 0)
            nap(worker->rests_ns);
    }
    kernel_thread__end_java(kernel_thread);
    return NULL;
}

static inline int start_workers(struct java_world *world, struct worker workers[WORKERS])
{
    for (uint64_t i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.world = world, .java_id = i + 1, .rests_ns = i == 0 ? MS : 0};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return -1;
    }
    return 0;
}

static inline void end_workers(struct worker workers[WORKERS])
{
    for (int i = 0; i < WORKERS; i++)
        workers[i].over = true;
    for (int i = 0; i < WORKERS; i++)
        (void)pthread_join(workers[i].thread, NULL);
}

static inline bool all_work(const struct worker workers[WORKERS])
{
    for (int i = 0; i < WORKERS; i++)
        if (workers[i].rounds < 2)
            return false;
    return true;
}

#endif
