/*
 * Java threads by their Thread.threadId(): their records, and the origin of threads that have been
 * started but do not run yet. Takes its own lock; for thread events, not for method events.
 */
#ifndef TREADLE_JAVA_THREAD_TABLE_H
#define TREADLE_JAVA_THREAD_TABLE_H

#include "native/ledger/ledger_format.h"

#include <pthread.h>
#include <stdint.h>

struct java_thread_entry;

struct java_thread_table {
    pthread_mutex_t lock;
    struct java_thread_entry *entries; /* uthash, by id */
};

void java_thread_table__init(struct java_thread_table *table);

/* Where a thread was started; refs, or none if not known. */
struct java_thread_origin {
    ledger_ref parent; /* the thread that started it */
    ledger_ref method; /* the method in which it was started */
};

/* starting: the thread with this id is about to be started, from this origin. not_started: the
 * start failed. */
void java_thread_table__starting(struct java_thread_table *table, uint64_t id,
                                 struct java_thread_origin origin);
void java_thread_table__not_started(struct java_thread_table *table, uint64_t id);

struct java_thread_origin java_thread_table__origin(struct java_thread_table *table, uint64_t id);

/* started: the thread runs now and has this record. ended: the thread has ended. */
void java_thread_table__started(struct java_thread_table *table, uint64_t id, ledger_ref thread);
void java_thread_table__ended(struct java_thread_table *table, uint64_t id);

/* Returns the record of a running thread, or none. */
ledger_ref java_thread_table__find(struct java_thread_table *table, uint64_t id);

#endif
