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
    enum hooked_class class;
    const char *name;
    const char *descriptor; /* its begin */
    struct sharing_hook hook;
};

/* Private methods of StampedLock are left alone where their result may stand for an interrupt. */
static const struct hooked_lock_method METHODS[] = {
    {READ, "tryAcquireShared", "(I)I", {SHARING_ACQUIRED, SHARING_FROM_0, SHARING_ONE}},
    {READ, "tryAcquireShared", "(J)J", {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {READ, "tryReadLock", "()Z", {SHARING_ACQUIRED, SHARING_FROM_1, SHARING_ONE}},
    {READ, "tryReleaseShared", "(", {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_ONE}},
    {PERMITS, "nonfairTryAcquireShared", "(I)I", {SHARING_ACQUIRED, SHARING_FROM_0, SHARING_COUNT}},
    {FAIR_PERMITS, "tryAcquireShared", "(I)I", {SHARING_ACQUIRED, SHARING_FROM_0, SHARING_COUNT}},
    {PERMITS, "drainPermits", "()I", {SHARING_DRAINED, SHARING_FROM_1, SHARING_ONE}},
    {PERMITS, "tryReleaseShared", "(I)Z", {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_COUNT}},
    {STAMPED, "writeLock", "()J", {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {STAMPED, "writeLockInterruptibly", "()J", {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {STAMPED, "tryWriteLock", "(", {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {STAMPED, "readLock", "()J", {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {STAMPED, "readLockInterruptibly", "()J", {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {STAMPED, "tryReadLock", "(", {SHARING_ACQUIRED, SHARING_LONG, SHARING_ONE}},
    {STAMPED, "tryConvertToWriteLock", "(J)J", {SHARING_CONVERTED, SHARING_LONG, SHARING_LOW_BYTE}},
    {STAMPED, "tryConvertToReadLock", "(J)J", {SHARING_CONVERTED, SHARING_LONG, SHARING_LOW_BYTE}},
    {STAMPED,
     "tryConvertToOptimisticRead",
     "(J)J",
     {SHARING_GIVEN_UP, SHARING_LONG, SHARING_LOW_BYTE}},
    {STAMPED, "releaseWrite", "(J)J", {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_ONE}},
    {STAMPED, "unlockRead", "(J)V", {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_ONE}},
    {STAMPED, "tryUnlockRead", "()Z", {SHARING_RELEASED, SHARING_FROM_1, SHARING_ONE}},
    {STAMPED, "unstampedUnlockRead", "()V", {SHARING_RELEASED, SHARING_AT_BEGIN, SHARING_ONE}},
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
