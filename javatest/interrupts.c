/* The native method of Interrupts.java. */
#include <errno.h>
#include <jni.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

JNIEXPORT jstring JNICALL Java_Interrupts_waitShortly(JNIEnv *env, jclass self, jint ms);

static volatile unsigned sink;

static long long now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int do_nanosleep(int fd, int epoll)
{
    const struct timespec time = {.tv_nsec = 200000};

    (void)fd, (void)epoll;
    return nanosleep(&time, NULL);
}

static int do_poll(int fd, int epoll)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};

    (void)epoll;
    return poll(&one, 1, 1);
}

static int do_select(int fd, int epoll)
{
    struct timeval time = {.tv_usec = 300};
    fd_set set;

    (void)epoll;
    FD_ZERO(&set);
    FD_SET(fd, &set);
    return select(fd + 1, &set, NULL, NULL, &time);
}

static int do_epoll(int fd, int epoll)
{
    struct epoll_event event;

    (void)fd;
    return epoll_wait(epoll, &event, 1, 1);
}

/* A socket with a time limit: never restarted by the kernel, either. Its end is EAGAIN. */
static int do_receive(int fd, int epoll)
{
    char byte;

    (void)epoll;
    return recv(fd, &byte, 1, 0) < 0 && errno == EAGAIN ? 0 : -1;
}

/* Work in user mode and in the kernel, so that ticks meet the thread on its way into a wait. */
static void work(int fd)
{
    char byte;

    for (unsigned i = 0; i < 200000; i++)
        sink += i;
    for (unsigned i = 0; i < 300; i++)
        (void)recv(fd, &byte, 1, MSG_DONTWAIT);
}

/* Waits that a signal's handler ends early, whatever its flags, over and over: how many of each
 * did. */
JNIEXPORT jstring JNICALL Java_Interrupts_waitShortly(JNIEnv *env, jclass self, jint ms)
{
    static int (*const waits[])(int, int) = {do_nanosleep, do_poll, do_select, do_epoll,
                                             do_receive};
    static const char *const names[] = {"nanosleep", "poll", "select", "epoll", "receive"};
    struct timeval limit = {.tv_usec = 1000};
    struct epoll_event event = {.events = EPOLLIN};
    unsigned interrupted[5] = {0}, rounds = 0;
    long long end_ns = now_ns() + ms * 1000000LL;
    char told[200] = "";
    int pair[2], epoll = epoll_create1(0);

    (void)self;
    if (epoll < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
        return (*env)->NewStringUTF(env, "no sockets");
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    epoll_ctl(epoll, EPOLL_CTL_ADD, pair[0], &event);
    for (; now_ns() < end_ns; rounds++)
        for (unsigned i = 0; i < 5; i++) {
            work(pair[0]);
            errno = 0;
            if (waits[i](pair[0], epoll) < 0)
                interrupted[i] += errno == EINTR;
        }
    for (unsigned i = 0; i < 5; i++)
        snprintf(told + strlen(told), sizeof told - strlen(told), "%s %u ", names[i],
                 interrupted[i]);
    close(pair[0]);
    close(pair[1]);
    close(epoll);
    return (*env)->NewStringUTF(env, told);
}
