/*
 * Java threads by their Thread.threadId(): which record is theirs, and who started one that has not
 * begun to run. Takes its own lock; for events of threads, not of methods.
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

/* Where a thread comes from; refs, or none where it is not known. */
struct java_thread_origin {
    ledger_ref parent; /* the thread that started it */
    ledger_ref method; /* … in that method */
};

/* The thread with that id is about to be started there, or could not be. */
void java_thread_table__starting(struct java_thread_table *table, uint64_t id,
                                 struct java_thread_origin origin);
void java_thread_table__not_started(struct java_thread_table *table, uint64_t id);

struct java_thread_origin java_thread_table__origin(struct java_thread_table *table, uint64_t id);

/* It runs now, with that record; it is over. */
void java_thread_table__started(struct java_thread_table *table, uint64_t id, ledger_ref thread);
void java_thread_table__ended(struct java_thread_table *table, uint64_t id);

/* The record of a thread that runs, or none. */
ledger_ref java_thread_table__find(struct java_thread_table *table, uint64_t id);

#endif
