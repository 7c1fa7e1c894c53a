/*
 * For which locks of the C library Java threads wait in native code, for whom, and how long such
 * locks are held: mutexes, read-write locks, condition variables, semaphores, barriers and ends of
 * threads, those of C11's threads.h, too, and words that are waited for by syscall(SYS_futex), in
 * libraries that the program brings (JNI). The JVM's own images are left alone.
 *
 * The libraries' calls get wrappers (native/host/image_imports.h). A wrapper tries first: a lock
 * that is free costs a look into the table below, and one that nobody ever waited for nothing else.
 * A wait is bracketed as a park, whose lock has the kind `native`, the C type and the library's
 * name in place of the class, and its address in place of the identity. Its owner is the kernel
 * thread that the C library notes in the lock; of the end of a thread it is that thread.
 *
 * Of mutexes, and of the writers of read-write locks, holds are measured once a Java thread has
 * waited for the lock: a hold counts if its thread had to wait, or if another one began to wait
 * meanwhile; the wait for a condition ends it. A lock in memory that had another lock before is
 * taken for that one.
 *
 * The functions for wrappers take the calling thread as it is, or do nothing where it runs no Java
 * thread; they keep errno, take no lock, and allocate in the ledger only.
 */
#ifndef TREADLE_NATIVE_LOCKS_H
#define TREADLE_NATIVE_LOCKS_H

#include "agent/threads/java_threads.h"
#include "native/host/image_imports.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define NATIVE_LOCKS       4096u /* that Java threads waited for */
#define NATIVE_LOCK_IMAGES 256u
#define NATIVE_LOCK_PATH   256u

enum native_lock_type {
    NATIVE_MUTEX,
    NATIVE_RWLOCK,
    NATIVE_CONDITION,
    NATIVE_SEMAPHORE,
    NATIVE_BARRIER,
    NATIVE_JOIN, /* the lock is the thread that is to end */
    NATIVE_MTX,  /* a mutex of C11's threads.h, and so on */
    NATIVE_CND,
    NATIVE_THRD,
    NATIVE_FUTEX, /* a word that is waited for in the kernel */
    NATIVE_LOCK_TYPES,
};

/* A lock that a Java thread has waited for. */
struct native_lock {
    _Atomic uintptr_t address;     /* 0: free. Never changes once it is set */
    _Atomic ledger_ref class_name; /* none: not known yet */
    _Atomic ledger_ref holder;     /* the holder's struct ledger_kernel_thread; none: not known */
    _Atomic uint64_t since_ns;     /* of its hold */
    _Atomic bool is_contended;     /* its hold counts */
};

/* A library whose calls have wrappers, or were to get them. */
struct native_lock_image {
    uint64_t start, end;
    ledger_ref names[NATIVE_LOCK_TYPES];
    char path[NATIVE_LOCK_PATH];
    bool is_refused; /* its calls could not be replaced, and that is counted */
};

struct native_locks {
    struct java_threads *threads;
    _Atomic bool has_begun;
    bool has_warned;          /* that an image cannot be changed */
    bool is_refused;          /* an image of this look */
    uint32_t refused_without; /* images of this look that have no entry and cannot be changed */
    uint32_t refused_counted; /* the most of these in any look: they are counted */
    struct image_imports imports;
    pthread_mutex_t lock;              /* of the looks */
    char jvm_folder[NATIVE_LOCK_PATH]; /* images in it are the JVM's own; "": not known */
    struct native_lock_image images[NATIVE_LOCK_IMAGES];
    ledger_ref names[NATIVE_LOCK_TYPES]; /* where no library is known */
    _Atomic uint32_t image_count;        /* images that have their names */
    uint32_t images_changed;             /* and those that are to get them */
    _Atomic uint32_t count;              /* locks in use */
    struct native_lock locks[NATIVE_LOCKS];
};

/* Zero the struct to begin. The wrappers, count of them, stay as long as the process. */
void native_locks__begin(struct native_locks *locks, struct java_threads *threads,
                         const struct import_replacement *wrappers, size_t count);

/* Gives libraries that were loaded since the last look their wrappers. Any thread, but not in
 * hooks. Does nothing before native_locks__begin. */
void native_locks__look(struct native_locks *locks);

/* For wrappers. The calling thread is about to wait for the lock at this address; owner: the kernel
 * thread that has it, 0: none, or not known. caller: the return address of the wrapper. Returns
 * what to give native_locks__waited: NULL if the wait is not recorded. */
struct kernel_thread *native_locks__waiting(struct native_locks *locks, enum native_lock_type type,
                                            const void *lock, pid_t owner, const void *caller);
void native_locks__waited(struct native_locks *locks, struct kernel_thread *mine);

/* The same for a wait that is for no lock. */
struct kernel_thread *native_locks__begin_wait(struct native_locks *locks,
                                               enum ledger_metric reason);
void native_locks__end_wait(struct kernel_thread *mine, enum ledger_metric reason);

/* For wrappers: the calling thread has acquired the lock, for which it had to wait or not, and does
 * not hold it already. */
void native_locks__acquired(struct native_locks *locks, const void *lock, bool has_waited);

/* A hold that is about to end. */
struct native_hold {
    struct native_lock *lock; /* NULL: the hold is not measured */
    uint64_t since_ns;
    uint64_t until_ns;
    bool is_contended;
};

/* For wrappers: the calling thread is about to release the lock; has released it. */
struct native_hold native_locks__releasing(struct native_locks *locks, const void *lock);
void native_locks__released(struct native_locks *locks, const struct native_hold *hold);

#endif
