#include "agent/threads/shared_lock_methods.h"

#include <string.h>

enum hooked_class {
    READ,
    PERMITS,
    FAIR_PERMITS,
    STAMPED,
    CLASSES,
};

static const struct {
    const char *name;
    enum shared_lock_kind kind;
} CLASS[CLASSES] = {
    [READ] = {"java/util/concurrent/locks/ReentrantReadWriteLock$Sync", SHARED_READ},
    [PERMITS] = {"java/util/concurrent/Semaphore$Sync", SHARED_SEMAPHORE},
    [FAIR_PERMITS] = {"java/util/concurrent/Semaphore$FairSync", SHARED_SEMAPHORE},
    [STAMPED] = {"java/util/concurrent/locks/StampedLock", SHARED_STAMPED},
};

struct hooked_lock_method {
    const char *name;
    const char *descriptor; /* its begin */
    enum hooked_class class;
    struct sharing_hook hook;
};

/* Private methods of StampedLock are left alone where their result may stand for an interrupt. */
static const struct hooked_lock_method METHODS[] = {
    {"tryAcquireShared", "(I)I", READ, {SHARING_ACQUIRED, SHARING_FROM_0, SHARING_ONE}},
    {"tryAcquireShared", "(J)J", READ, {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {"tryReadLock", "()Z", READ, {SHARING_ACQUIRED, SHARING_FROM_1, SHARING_ONE}},
    {"tryReleaseShared", "(", READ, {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_ONE}},
    {"nonfairTryAcquireShared", "(I)I", PERMITS, {SHARING_ACQUIRED, SHARING_FROM_0, SHARING_COUNT}},
    {"tryAcquireShared", "(I)I", FAIR_PERMITS, {SHARING_ACQUIRED, SHARING_FROM_0, SHARING_COUNT}},
    {"drainPermits", "()I", PERMITS, {SHARING_DRAINED, SHARING_FROM_1, SHARING_ONE}},
    {"tryReleaseShared", "(I)Z", PERMITS, {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_COUNT}},
    {"writeLock", "()J", STAMPED, {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {"writeLockInterruptibly", "()J", STAMPED, {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {"tryWriteLock", "(", STAMPED, {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {"readLock", "()J", STAMPED, {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {"readLockInterruptibly", "()J", STAMPED, {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {"tryReadLock", "(", STAMPED, {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {"tryConvertToWriteLock", "(J)J", STAMPED, {SHARING_CONVERTED, SHARING_LONG, SHARING_LOW_BYTE}},
    {"tryConvertToReadLock", "(J)J", STAMPED, {SHARING_CONVERTED, SHARING_LONG, SHARING_LOW_BYTE}},
    {"tryConvertToOptimisticRead",
     "(J)J",
     STAMPED,
     {SHARING_GIVEN_UP, SHARING_LONG, SHARING_LOW_BYTE}},
    {"releaseWrite", "(J)J", STAMPED, {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_ONE}},
    {"unlockRead", "(J)V", STAMPED, {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_ONE}},
    {"tryUnlockRead", "()Z", STAMPED, {SHARING_RELEASED, SHARING_FROM_1, SHARING_ONE}},
    {"unstampedUnlockRead", "()V", STAMPED, {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_ONE}},
};

#define METHODS_COUNT (sizeof(METHODS) / sizeof(*METHODS))

const char *shared_lock_methods__class(enum shared_lock_kind kind)
{
    static const enum hooked_class of[SHARED_KINDS] = {
        [SHARED_READ] = READ, [SHARED_SEMAPHORE] = PERMITS, [SHARED_STAMPED] = STAMPED};

    return CLASS[of[kind]].name;
}

uint32_t shared_lock_methods__kinds(const char *class_name, size_t length)
{
    uint32_t kinds = 0;

    for (unsigned i = 0; i < CLASSES; i++)
        if (strlen(CLASS[i].name) == length && memcmp(CLASS[i].name, class_name, length) == 0)
            kinds |= 1u << CLASS[i].kind;
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
        if ((kinds & 1u << CLASS[METHODS[i].class].kind) &&
            class_text__is(method->class_name, CLASS[METHODS[i].class].name) &&
            class_text__is(method->name, METHODS[i].name) &&
            begins_with(method->descriptor, METHODS[i].descriptor))
            return METHODS[i].hook;
    return (struct sharing_hook){.operation = 0};
}
