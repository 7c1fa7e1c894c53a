/* Native threads that the JVM never hears of, one after the other, each in a loop of allocations.
 */
#include <jni.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#define BLOCKS 64

/* Larger than what the allocator gives out without its lock. */
static size_t bytes_of(unsigned round)
{
    return 2000 + round * 7919 % 30000;
}

static double cpu_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void *allocate(void *context)
{
    double end_ms = *(const double *)context;
    void *blocks[BLOCKS] = {NULL};

    for (unsigned round = 0; cpu_ms() < end_ms; round++) {
        for (unsigned i = 0; i < BLOCKS; i++) {
            free(blocks[i]);
            blocks[i] = malloc(bytes_of(round + i));
        }
    }
    for (unsigned i = 0; i < BLOCKS; i++)
        free(blocks[i]);
    return NULL;
}

JNIEXPORT jint JNICALL Java_NativeAllocations_run(JNIEnv *jni, jclass class, jint threads, jint ms);

/* How many threads ran to their end. */
JNIEXPORT jint JNICALL Java_NativeAllocations_run(JNIEnv *jni, jclass class, jint threads, jint ms)
{
    double each_ms = ms;
    jint ended = 0;

    (void)jni, (void)class;
    for (jint i = 0; i < threads; i++) {
        pthread_t thread;

        if (pthread_create(&thread, NULL, allocate, &each_ms) == 0 &&
            pthread_join(thread, NULL) == 0)
            ended++;
    }
    return ended;
}
