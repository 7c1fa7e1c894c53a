/* The native methods of NativeWaits.java: each kind of wait ends by itself, after NAP_MS at the
 * earliest. */
#include <jni.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NAP_MS 5

static const struct timespec nap = {.tv_nsec = NAP_MS * 1000000L};

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void in_usleep(void)
{
    usleep(NAP_MS * 1000);
}

static void in_nanosleep(void)
{
    nanosleep(&nap, NULL);
}

static void in_poll(void)
{
    poll(NULL, 0, NAP_MS);
}

static void in_select(void)
{
    struct timeval most = {.tv_usec = NAP_MS * 1000};

    select(0, NULL, NULL, NULL, &most);
}

static void in_epoll(void)
{
    struct epoll_event event;
    int fd = epoll_create1(EPOLL_CLOEXEC);

    epoll_wait(fd, &event, 1, NAP_MS);
    close(fd);
}

/* A socket whose calls end after a while. */
static int impatient(int type)
{
    struct timeval most = {.tv_usec = NAP_MS * 1000};
    int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
    return fd;
}

static void in_recv(void)
{
    int fd = impatient(SOCK_DGRAM);
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    char byte;

    (void)bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family));
    (void)recv(fd, &byte, 1, 0);
    close(fd);
}

static void in_accept(void)
{
    int fd = impatient(SOCK_STREAM);
    struct sockaddr_un any = {.sun_family = AF_UNIX};

    (void)bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family));
    (void)listen(fd, 1);
    (void)accept(fd, NULL, NULL);
    close(fd);
}

static void in_read(void)
{
    int fd = impatient(SOCK_DGRAM);
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    char byte;

    (void)bind(fd, (struct sockaddr *)&any, sizeof(any.sun_family));
    (void)!read(fd, &byte, 1);
    close(fd);
}

static pid_t napping_child(void)
{
    pid_t child = fork();

    if (child == 0) {
        (void)syscall(SYS_nanosleep, &nap, NULL);
        _exit(0);
    }
    return child;
}

static void in_sigtimedwait(void)
{
    sigset_t none;

    sigemptyset(&none);
    (void)sigtimedwait(&none, NULL, &nap);
}

#define KIND(name, reason)                                                                         \
    {                                                                                              \
#name, reason, name                                                                        \
    }

static const struct {
    const char *name;
    const char *reason;
    void (*wait)(void);
} kinds[] = {
    KIND(in_usleep, "sleep"),      KIND(in_nanosleep, "sleep"), KIND(in_poll, "io"),
    KIND(in_select, "io"),         KIND(in_epoll, "io"),        KIND(in_recv, "io"),
    KIND(in_accept, "io"),         KIND(in_read, "io"),         {"in_waitpid", "io", NULL},
    KIND(in_sigtimedwait, "park"),
};

#define KINDS (int)(sizeof(kinds) / sizeof(*kinds))

/* "name reason", or NULL behind the last one. */
JNIEXPORT jstring JNICALL Java_NativeWaits_kind(JNIEnv *env, jclass self, jint kind);
JNIEXPORT jstring JNICALL Java_NativeWaits_kind(JNIEnv *env, jclass self, jint kind)
{
    char text[64];

    (void)self;
    if (kind >= KINDS)
        return NULL;
    snprintf(text, sizeof(text), "%s %s", kinds[kind].name, kinds[kind].reason);
    return (*env)->NewStringUTF(env, text);
}

/* How long it took, all in all. */
JNIEXPORT jlong JNICALL Java_NativeWaits_await(JNIEnv *env, jclass self, jint kind);
JNIEXPORT jlong JNICALL Java_NativeWaits_await(JNIEnv *env, jclass self, jint kind)
{
    pid_t child = kinds[kind].wait ? 0 : napping_child();
    int64_t began_ns = now_ns();

    (void)env, (void)self;
    if (kinds[kind].wait)
        kinds[kind].wait();
    else
        (void)waitpid(child, NULL, 0);
    return now_ns() - began_ns;
}
