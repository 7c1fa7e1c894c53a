#include "agent/threads/hazard_paths.h"

#include "agent/methods/class_name.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define FRAMES     64
#define NAME_BYTES 1024u
#define TRIES      8u
#define AGAIN_NS   1000000 /* before the second try; twice as long before each later one */

/* "app.Main.run" */
static bool name(const struct java_threads *threads, JNIEnv *jni, jmethodID method,
                 char text[NAME_BYTES])
{
    jvmtiEnv *jvmti = threads->jvmti;
    char *method_name = NULL, *signature = NULL;
    jclass class = NULL;
    bool known = false;

    if ((*jvmti)->GetMethodDeclaringClass(jvmti, method, &class) != JVMTI_ERROR_NONE)
        return false;
    if ((*jvmti)->GetClassSignature(jvmti, class, &signature, NULL) == JVMTI_ERROR_NONE &&
        (*jvmti)->GetMethodName(jvmti, method, &method_name, NULL, NULL) == JVMTI_ERROR_NONE) {
        size_t length = strlen(signature);

        class_name__to_dots(signature, length);
        if (length > 2)
            snprintf(text, NAME_BYTES, "%.*s.%s", (int)(length - 2), signature + 1, method_name);
        known = length > 2;
    }
    (*jvmti)->Deallocate(jvmti, (unsigned char *)method_name);
    (*jvmti)->Deallocate(jvmti, (unsigned char *)signature);
    (*jni)->DeleteLocalRef(jni, class);
    return known;
}

/* A class that the JDK makes for a lambda: it only calls what has a name of its own. */
static bool is_generated(const char *text)
{
    return strstr(text, "$$Lambda") != NULL;
}

ledger_ref hazard_paths__name(const struct java_threads *threads, JNIEnv *jni, jmethodID method)
{
    char text[NAME_BYTES];

    return name(threads, jni, method, text) ? ledger__string(threads->ledger, text, strlen(text))
                                            : 0;
}

/* How locks of java.util.concurrent wait inside. */
static bool is_inner(const char *text)
{
    static const char *const inner[] = {"jdk.internal.",
                                        "java.lang.VirtualThread",
                                        "java.lang.System",
                                        "treadle.",
                                        "java.util.concurrent.locks.LockSupport",
                                        "java.util.concurrent.locks.Abstract"};

    for (size_t i = 0; i < sizeof(inner) / sizeof(*inner); i++)
        if (strncmp(text, inner[i], strlen(inner[i])) == 0)
            return true;
    return false;
}

static bool has_end(const char *text)
{
    return strcmp(text, "java.util.concurrent.locks.LockSupport.parkNanos") == 0 ||
           strcmp(text, "java.util.concurrent.locks.LockSupport.parkUntil") == 0;
}

/* How many frames the path gets. */
static unsigned walk(const struct java_threads *threads, JNIEnv *jni, jthread thread,
                     ledger_ref path[HAZARD_FRAMES], bool *is_timed)
{
    jvmtiFrameInfo frames[FRAMES];
    char text[NAME_BYTES];
    bool outside = false;
    unsigned named = 0;
    jint count = 0;

    if ((*threads->jvmti)->GetStackTrace(threads->jvmti, thread, 0, FRAMES, frames, &count) !=
        JVMTI_ERROR_NONE)
        return 0;
    for (jint i = 0; i < count && named < HAZARD_FRAMES; i++) {
        if (!name(threads, jni, frames[i].method, text))
            continue;
        *is_timed |= !outside && has_end(text);
        outside |= !is_inner(text);
        if (!outside || is_generated(text))
            continue;
        path[named] = ledger__string(threads->ledger, text, strlen(text));
        named += path[named] != 0;
    }
    return named;
}

bool hazard_paths__of_wait(const struct java_threads *threads, JNIEnv *jni, jthread thread,
                           ledger_ref path[HAZARD_FRAMES])
{
    struct timespec pause = {.tv_nsec = AGAIN_NS};
    bool is_timed = false;

    /* The JVM may say nothing of a thread that it is just busy with. */
    for (unsigned try = 1; !walk(threads, jni, thread, path, &is_timed) && try < TRIES; try++) {
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec *= 2;
    }
    return is_timed;
}
