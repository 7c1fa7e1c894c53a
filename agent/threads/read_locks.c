#include "agent/threads/read_locks.h"

#include "agent/threads/jdk_names.h"

#include <stddef.h>
#include <stdint.h>

#define SYNC     "java/util/concurrent/locks/ReentrantReadWriteLock$Sync"
#define COUNTERS SYNC "$ThreadLocalHoldCounter"
#define COUNTER  SYNC "$HoldCounter"
#define LOCALS   "java/lang/ThreadLocal$ThreadLocalMap"

void read_locks__begin(struct read_locks *locks, JNIEnv *jni)
{
    locks->first_reader = jdk_names__field(jni, SYNC, "firstReader", "Ljava/lang/Thread;");
    locks->counters = jdk_names__field(jni, SYNC, "readHolds", "L" COUNTERS ";");
    locks->count = jdk_names__field(jni, COUNTER, "count", "I");
    locks->locals = jdk_names__field(jni, "java/lang/Thread", "threadLocals", "L" LOCALS ";");
    locks->entries = jdk_names__field(jni, LOCALS, "table", "[L" LOCALS "$Entry;");
    locks->key = jdk_names__field(jni, "java/lang/ref/Reference", "referent", "Ljava/lang/Object;");
    locks->value = jdk_names__field(jni, LOCALS "$Entry", "value", "Ljava/lang/Object;");
    locks->hash = jdk_names__field(jni, "java/lang/ThreadLocal", "threadLocalHashCode", "I");
    if (locks->first_reader && locks->counters && locks->count && locks->locals && locks->entries &&
        locks->key && locks->value && locks->hash)
        locks->class = jdk_names__class(jni, SYNC);
}

bool read_locks__is(const struct read_locks *locks, JNIEnv *jni, jobject lock)
{
    return locks->class && (*jni)->IsInstanceOf(jni, lock, locks->class);
}

static bool is_field(JNIEnv *jni, jobject object, jfieldID field, jobject expected)
{
    jobject value = (*jni)->GetObjectField(jni, object, field);
    bool same = (*jni)->IsSameObject(jni, value, expected);

    (*jni)->DeleteLocalRef(jni, value);
    return same;
}

/* The thread's entry of the ThreadLocal, which is at the place that its hash names, or at one of
 * the next ones, without a gap. */
static jobject find_entry(const struct read_locks *locks, JNIEnv *jni, jobjectArray entries,
                          jobject local)
{
    uint32_t length = (uint32_t)(*jni)->GetArrayLength(jni, entries);
    uint32_t hash = (uint32_t)(*jni)->GetIntField(jni, local, locks->hash);

    for (uint32_t probe = 0; probe < length; probe++) {
        jobject entry =
            (*jni)->GetObjectArrayElement(jni, entries, (jsize)((hash + probe) % length));

        if (!entry || is_field(jni, entry, locks->key, local))
            return entry;
        (*jni)->DeleteLocalRef(jni, entry);
    }
    return NULL;
}

static bool has_counted(const struct read_locks *locks, JNIEnv *jni, jobject local, jobject thread)
{
    jobject map = (*jni)->GetObjectField(jni, thread, locks->locals);
    jobject entries = map ? (*jni)->GetObjectField(jni, map, locks->entries) : NULL;
    jobject entry = entries && local ? find_entry(locks, jni, entries, local) : NULL;
    jobject counter = entry ? (*jni)->GetObjectField(jni, entry, locks->value) : NULL;
    bool counted = counter && (*jni)->GetIntField(jni, counter, locks->count) > 0;

    (*jni)->DeleteLocalRef(jni, counter);
    (*jni)->DeleteLocalRef(jni, entry);
    (*jni)->DeleteLocalRef(jni, entries);
    (*jni)->DeleteLocalRef(jni, map);
    return counted;
}

bool read_locks__is_held(const struct read_locks *locks, JNIEnv *jni, jobject lock, jobject thread)
{
    jobject local;
    bool held;

    if (is_field(jni, lock, locks->first_reader, thread))
        return true;
    local = (*jni)->GetObjectField(jni, lock, locks->counters);
    held = has_counted(locks, jni, local, thread);
    (*jni)->DeleteLocalRef(jni, local);
    return held;
}

jobject read_locks__first(const struct read_locks *locks, JNIEnv *jni, jobject lock)
{
    return read_locks__is(locks, jni, lock) ? (*jni)->GetObjectField(jni, lock, locks->first_reader)
                                            : NULL;
}
