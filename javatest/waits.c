/* The native method of Waits.java. */
#include <errno.h>
#include <jni.h>
#include <poll.h>
#include <stdio.h>
#include <sys/select.h>
#include <time.h>

JNIEXPORT jstring JNICALL Java_Waits_waitInKernel(JNIEnv *env, jclass self, jint ms);

/* Three calls that a signal's handler would end early, whatever its flags. */
JNIEXPORT jstring JNICALL Java_Waits_waitInKernel(JNIEnv *env, jclass self, jint ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};
    struct timeval same = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000L};
    char told[100];

    (void)self;
    errno = 0;
    int slept = nanosleep(&time, NULL);
    int polled = poll(NULL, 0, ms);
    int selected = select(0, NULL, NULL, NULL, &same);
    snprintf(told, sizeof told, "nanosleep %d poll %d select %d errno %d", slept, polled, selected,
             errno);
    return (*env)->NewStringUTF(env, told);
}
