#include "agent/threads/shared_lock_methods.h"

#include <string.h>

#define READ      "java/util/concurrent/locks/ReentrantReadWriteLock$Sync"
#define SEMAPHORE "java/util/concurrent/Semaphore$Sync"
#define FAIR      "java/util/concurrent/Semaphore$FairSync"
#define STAMPED   "java/util/concurrent/locks/StampedLock"

struct hooked_lock_method {
    const char *class_name;
    const char *name;
    const char *descriptor; /* its begin */
    enum shared_lock_kind kind;
    struct sharing_hook hook;
};

/* Private methods of StampedLock are left alone where their result may stand for an interrupt. */
static const struct hooked_lock_method METHODS[] = {
    {READ, "tryAcquireShared", "(I)I", SHARED_READ, {SHARING_ACQUIRED, SHARING_FROM_0, false}},
    {READ, "tryAcquireShared", "(J)J", SHARED_READ, {SHARING_ACQUIRED, SHARING_LONG, false}},
    {READ, "tryReadLock", "()Z", SHARED_READ, {SHARING_ACQUIRED, SHARING_FROM_1, false}},
    {READ, "tryReleaseShared", "(", SHARED_READ, {SHARING_RELEASED, SHARING_AT_BEGIN, false}},
    {SEMAPHORE,
     "nonfairTryAcquireShared",
     "(I)I",
     SHARED_SEMAPHORE,
     {SHARING_ACQUIRED, SHARING_FROM_0, true}},
    {FAIR, "tryAcquireShared", "(I)I", SHARED_SEMAPHORE, {SHARING_ACQUIRED, SHARING_FROM_0, true}},
    {SEMAPHORE, "drainPermits", "()I", SHARED_SEMAPHORE, {SHARING_DRAINED, SHARING_FROM_1, false}},
    {SEMAPHORE,
     "tryReleaseShared",
     "(I)Z",
     SHARED_SEMAPHORE,
     {SHARING_RELEASED, SHARING_AT_BEGIN, true}},
    {STAMPED, "writeLock", "()J", SHARED_STAMPED, {SHARING_ACQUIRED, SHARING_LONG, false}},
    {STAMPED,
     "writeLockInterruptibly",
     "()J",
     SHARED_STAMPED,
     {SHARING_ACQUIRED, SHARING_LONG, false}},
    {STAMPED, "tryWriteLock", "(", SHARED_STAMPED, {SHARING_ACQUIRED, SHARING_LONG, false}},
    {STAMPED, "readLock", "()J", SHARED_STAMPED, {SHARING_ACQUIRED, SHARING_LONG, false}},
    {STAMPED,
     "readLockInterruptibly",
     "()J",
     SHARED_STAMPED,
     {SHARING_ACQUIRED, SHARING_LONG, false}},
    {STAMPED, "tryReadLock", "(", SHARED_STAMPED, {SHARING_ACQUIRED, SHARING_LONG, false}},
    {STAMPED,
     "tryConvertToWriteLock",
     "(J)J",
     SHARED_STAMPED,
     {SHARING_CONVERTED, SHARING_LONG, false}},
    {STAMPED,
     "tryConvertToReadLock",
     "(J)J",
     SHARED_STAMPED,
     {SHARING_CONVERTED, SHARING_LONG, false}},
    {STAMPED,
     "tryConvertToOptimisticRead",
     "(J)J",
     SHARED_STAMPED,
     {SHARING_GIVEN_UP, SHARING_LONG, false}},
    {STAMPED, "releaseWrite", "(J)J", SHARED_STAMPED, {SHARING_RELEASED, SHARING_AT_BEGIN, false}},
    {STAMPED, "unlockRead", "(J)V", SHARED_STAMPED, {SHARING_RELEASED, SHARING_AT_BEGIN, false}},
    {STAMPED, "tryUnlockRead", "()Z", SHARED_STAMPED, {SHARING_RELEASED, SHARING_FROM_1, false}},
    {STAMPED,
     "unstampedUnlockRead",
     "()V",
     SHARED_STAMPED,
     {SHARING_RELEASED, SHARING_AT_BEGIN, false}},
};

#define METHODS_COUNT (sizeof(METHODS) / sizeof(*METHODS))

const char *shared_lock_methods__class(enum shared_lock_kind kind)
{
    static const char *const classes[SHARED_KINDS] = {READ, SEMAPHORE, STAMPED};

    return classes[kind];
}

uint32_t shared_lock_methods__kinds(const char *class_name, size_t length)
{
    uint32_t kinds = 0;

    for (unsigned i = 0; i < METHODS_COUNT; i++)
        if (strlen(METHODS[i].class_name) == length &&
            memcmp(METHODS[i].class_name, class_name, length) == 0)
            kinds |= 1u << METHODS[i].kind;
    return kinds;
}

static bool begins_with(struct class_text text, const char *begin)
{
    size_t length = strlen(begin);

    return text.length >= length && memcmp(text.bytes, begin, length) == 0;
}

struct sharing_hook shared_lock_methods__hook(const struct class_method *method, uint32_t kinds)
{
    for (unsigned i = 0; i < METHODS_COUNT; i++)
        if ((kinds & 1u << METHODS[i].kind) &&
            class_text__is(method->class_name, METHODS[i].class_name) &&
            class_text__is(method->name, METHODS[i].name) &&
            begins_with(method->descriptor, METHODS[i].descriptor))
            return METHODS[i].hook;
    return (struct sharing_hook){.operation = 0};
}
