/*
 * Threads that wait, each in its own way, and are let go one by one. `waiting ROUNDS` prints of
 * each way: its name, which is the thread's; park, sleep or io; and between how much and how much
 * its waits took. At least: from when the kernel showed the thread asleep until it was let go, or
 * what it asked for. At most: from before the call until behind it.
 *
 * `waiting often N` makes 2 N waits that are over at once, beside N system calls that are none, and
 * then naps two hundred times for 5 ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#define NAP_NS 3000000L

struct way {
    const char *name;
    const char *reason;
    void (*prepare)(struct way *way); /* on the main thread, before the wait; or NULL */
    void (*wait)(struct way *way);
    void (*let_go)(struct way *way); /* NULL: the wait ends by itself, after NAP_NS */
    int fds[2];
    FILE *stream;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_cond_t condition;
    mtx_t mtx;
    cnd_t cnd;
    sem_t semaphore;
    pthread_barrier_t barrier;
    pthread_t joined;
    pid_t child;
    atomic_bool is_set;
    pthread_t thread;
    _Atomic pid_t tid;
    atomic_int begun; /* rounds */
    atomic_int ended;
    uint64_t least_ns, most_ns;
};

static int rounds;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void check(bool fine, const char *what)
{
    if (fine)
        return;
    perror(what);
    exit(1);
}

static void make_pipe(struct way *way)
{
    if (!way->fds[1])
        check(pipe(way->fds) == 0, "pipe");
}

static void make_sockets(struct way *way)
{
    if (!way->fds[1])
        check(socketpair(AF_UNIX, SOCK_STREAM, 0, way->fds) == 0, "socketpair");
}

static void make_stream(struct way *way)
{
    make_pipe(way);
    if (!way->stream)
        way->stream = fdopen(way->fds[0], "r");
}

static void put(struct way *way)
{
    check(write(way->fds[1], "line\n", 5) == 5, "write");
}

static void take(const struct way *way)
{
    char bytes[5];

    check(read(way->fds[0], bytes, sizeof(bytes)) == sizeof(bytes), "read");
}

static void wait_in_read(struct way *way)
{
    take(way);
}

static void wait_in_recv(struct way *way)
{
    char bytes[5];

    check(recv(way->fds[0], bytes, sizeof(bytes), 0) == sizeof(bytes), "recv");
}

static void wait_in_poll(struct way *way)
{
    struct pollfd asked = {.fd = way->fds[0], .events = POLLIN};

    check(poll(&asked, 1, -1) == 1, "poll");
    take(way);
}

static void wait_in_select(struct way *way)
{
    fd_set asked;

    FD_ZERO(&asked);
    FD_SET(way->fds[0], &asked);
    check(select(way->fds[0] + 1, &asked, NULL, NULL, NULL) == 1, "select");
    take(way);
}

static void wait_in_epoll(struct way *way)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fd = epoll_create1(0);

    check(epoll_ctl(fd, EPOLL_CTL_ADD, way->fds[0], &event) == 0, "epoll_ctl");
    check(epoll_wait(fd, &event, 1, -1) == 1, "epoll_wait");
    take(way);
    close(fd);
}

static void wait_in_fgets(struct way *way)
{
    char line[10];

    check(fgets(line, sizeof(line), way->stream) != NULL, "fgets");
}

static void lock_mutex(struct way *way)
{
    pthread_mutex_lock(&way->mutex);
}

static void unlock_mutex(struct way *way)
{
    pthread_mutex_unlock(&way->mutex);
}

static void wait_for_mutex(struct way *way)
{
    pthread_mutex_lock(&way->mutex);
    pthread_mutex_unlock(&way->mutex);
}

static void lock_mtx(struct way *way)
{
    mtx_lock(&way->mtx);
}

static void unlock_mtx(struct way *way)
{
    mtx_unlock(&way->mtx);
}

static void wait_for_mtx(struct way *way)
{
    mtx_lock(&way->mtx);
    mtx_unlock(&way->mtx);
}

static void lock_for_writing(struct way *way)
{
    pthread_rwlock_wrlock(&way->rwlock);
}

static void unlock_rwlock(struct way *way)
{
    pthread_rwlock_unlock(&way->rwlock);
}

static void wait_to_read(struct way *way)
{
    pthread_rwlock_rdlock(&way->rwlock);
    pthread_rwlock_unlock(&way->rwlock);
}

static void wait_to_write(struct way *way)
{
    pthread_rwlock_wrlock(&way->rwlock);
    pthread_rwlock_unlock(&way->rwlock);
}

static void reset(struct way *way)
{
    atomic_store(&way->is_set, false);
}

static void wait_for_condition(struct way *way)
{
    pthread_mutex_lock(&way->mutex);
    while (!atomic_load(&way->is_set))
        pthread_cond_wait(&way->condition, &way->mutex);
    pthread_mutex_unlock(&way->mutex);
}

static void signal_condition(struct way *way)
{
    pthread_mutex_lock(&way->mutex);
    atomic_store(&way->is_set, true);
    pthread_cond_signal(&way->condition);
    pthread_mutex_unlock(&way->mutex);
}

static void wait_for_cnd(struct way *way)
{
    mtx_lock(&way->mtx);
    while (!atomic_load(&way->is_set))
        cnd_wait(&way->cnd, &way->mtx);
    mtx_unlock(&way->mtx);
}

static void signal_cnd(struct way *way)
{
    mtx_lock(&way->mtx);
    atomic_store(&way->is_set, true);
    cnd_signal(&way->cnd);
    mtx_unlock(&way->mtx);
}

static void wait_for_semaphore(struct way *way)
{
    check(sem_wait(&way->semaphore) == 0, "sem_wait");
}

static void post_semaphore(struct way *way)
{
    sem_post(&way->semaphore);
}

static void wait_at_barrier(struct way *way)
{
    pthread_barrier_wait(&way->barrier);
}

static void *read_one(void *way)
{
    take(way);
    return NULL;
}

static void start_reader(struct way *way)
{
    make_pipe(way);
    check(pthread_create(&way->joined, NULL, read_one, way) == 0, "pthread_create");
}

static void wait_for_thread(struct way *way)
{
    pthread_join(way->joined, NULL);
}

static void start_child(struct way *way)
{
    make_pipe(way);
    way->child = fork();
    if (way->child == 0) {
        take(way);
        _exit(0);
    }
}

static void wait_for_child(struct way *way)
{
    check(waitpid(way->child, NULL, 0) == way->child, "waitpid");
}

static void wait_for_futex(struct way *way)
{
    while (!atomic_load(&way->is_set))
        syscall(SYS_futex, &way->begun, FUTEX_WAIT_PRIVATE, atomic_load(&way->begun), NULL, NULL,
                0);
}

static void wake_futex(struct way *way)
{
    atomic_store(&way->is_set, true);
    while (syscall(SYS_futex, &way->begun, FUTEX_WAKE_PRIVATE, 1) == 0)
        sched_yield();
}

static void wait_for_signal(struct way *way)
{
    sigset_t asked;
    int number;

    (void)way;
    sigemptyset(&asked);
    sigaddset(&asked, SIGUSR2);
    check(sigwait(&asked, &number) == 0, "sigwait");
}

static void send_signal(struct way *way)
{
    pthread_kill(way->thread, SIGUSR2);
}

static void nap_in_nanosleep(struct way *way)
{
    struct timespec nap = {.tv_nsec = NAP_NS};

    (void)way;
    check(nanosleep(&nap, NULL) == 0, "nanosleep");
}

static void nap_in_clock_nanosleep(struct way *way)
{
    struct timespec nap = {.tv_nsec = NAP_NS};

    (void)way;
    check(clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL) == 0, "clock_nanosleep");
}

static void nap_in_usleep(struct way *way)
{
    (void)way;
    check(usleep(NAP_NS / 1000) == 0, "usleep");
}

/* Its read is left by a jump out of a signal's handler: what follows is no I/O. */
static __thread sigjmp_buf behind_read;

static void leave(int number)
{
    (void)number;
    siglongjmp(behind_read, 1);
}

__attribute__((noinline)) static void read_for_ever(struct way *way)
{
    char deep[4096], byte;

    deep[0] = 0;
    (void)!read(way->fds[0], &byte, 1);
    __asm__ volatile("" : : "r"(deep) : "memory");
}

static void nap_behind_read(struct way *way)
{
    if (sigsetjmp(behind_read, 1) == 0)
        read_for_ever(way);
    nap_in_nanosleep(way);
}

static void interrupt(struct way *way)
{
    pthread_kill(way->thread, SIGUSR1);
}

#define WAY(its_name, its_reason, before, waits, ends)                                             \
    {                                                                                              \
        .name = its_name, .reason = its_reason, .prepare = before, .wait = waits, .let_go = ends   \
    }

static struct way ways[] = {
    WAY("in-read", "io", make_pipe, wait_in_read, put),
    WAY("in-recv", "io", make_sockets, wait_in_recv, put),
    WAY("in-poll", "io", make_pipe, wait_in_poll, put),
    WAY("in-select", "io", make_pipe, wait_in_select, put),
    WAY("in-epoll", "io", make_pipe, wait_in_epoll, put),
    WAY("in-fgets", "io", make_stream, wait_in_fgets, put),
    WAY("in-waitpid", "io", start_child, wait_for_child, put),
    WAY("in-mutex", "park", lock_mutex, wait_for_mutex, unlock_mutex),
    WAY("in-mtx", "park", lock_mtx, wait_for_mtx, unlock_mtx),
    WAY("in-rdlock", "park", lock_for_writing, wait_to_read, unlock_rwlock),
    WAY("in-wrlock", "park", lock_for_writing, wait_to_write, unlock_rwlock),
    WAY("in-cond", "park", reset, wait_for_condition, signal_condition),
    WAY("in-cnd", "park", reset, wait_for_cnd, signal_cnd),
    WAY("in-sem", "park", NULL, wait_for_semaphore, post_semaphore),
    WAY("in-barrier", "park", NULL, wait_at_barrier, wait_at_barrier),
    WAY("in-join", "park", start_reader, wait_for_thread, put),
    WAY("in-futex", "park", reset, wait_for_futex, wake_futex),
    WAY("in-sigwait", "park", NULL, wait_for_signal, send_signal),
    WAY("in-nanosleep", "sleep", NULL, nap_in_nanosleep, NULL),
    WAY("in-clocksleep", "sleep", NULL, nap_in_clock_nanosleep, NULL),
    WAY("in-usleep", "sleep", NULL, nap_in_usleep, NULL),
    WAY("left-read", "io", make_pipe, nap_behind_read, interrupt),
};

#define WAYS (sizeof(ways) / sizeof(*ways))

/* The thread begins a round when it is told to. */
static void *run(void *argument)
{
    struct way *way = argument;

    pthread_setname_np(pthread_self(), way->name);
    atomic_store(&way->tid, gettid());
    for (int round = 1; round <= rounds; round++) {
        uint64_t before;

        while (atomic_load(&way->begun) < round)
            sched_yield();
        before = now_ns();
        way->wait(way);
        way->most_ns += now_ns() - before;
        atomic_store(&way->ended, round);
    }
    return NULL;
}

/* As the kernel shows it, which this asks with system calls of its own. */
static bool is_asleep(pid_t tid)
{
    char path[64], text[512];
    const char *name_end;
    long bytes, fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    fd = open(path, O_RDONLY);
    check(fd >= 0, path);
    bytes = syscall(SYS_read, fd, text, sizeof(text) - 1);
    close((int)fd);
    check(bytes > 0, path);
    text[bytes] = '\0';
    name_end = strrchr(text, ')');
    return name_end && name_end[2] == 'S';
}

static void let_go(struct way *way)
{
    struct timespec nap = {.tv_nsec = NAP_NS};
    uint64_t since_ns;

    while (!is_asleep(atomic_load(&way->tid)))
        sched_yield();
    since_ns = now_ns();
    syscall(SYS_nanosleep, &nap, NULL);
    way->least_ns += now_ns() - since_ns;
    way->let_go(way);
}

static void wait_round(struct way *way, int round)
{
    if (way->prepare)
        way->prepare(way);
    atomic_store(&way->begun, round);
    if (way->let_go)
        let_go(way);
    else
        way->least_ns += NAP_NS;
    while (atomic_load(&way->ended) < round)
        sched_yield();
}

static void begin(struct way *way)
{
    pthread_mutex_init(&way->mutex, NULL);
    pthread_rwlock_init(&way->rwlock, NULL);
    pthread_cond_init(&way->condition, NULL);
    mtx_init(&way->mtx, mtx_plain);
    cnd_init(&way->cnd);
    sem_init(&way->semaphore, 0, 0);
    pthread_barrier_init(&way->barrier, NULL, 2);
    check(pthread_create(&way->thread, NULL, run, way) == 0, "pthread_create");
    while (!atomic_load(&way->tid))
        sched_yield();
}

static int wait_often(long count)
{
    int fds[2];
    char byte = 0;

    check(pipe(fds) == 0, "pipe");
    for (long i = 0; i < count; i++) {
        check(write(fds[1], &byte, 1) == 1, "write");
        check(syscall(SYS_getppid) > 0, "getppid");
        check(read(fds[0], &byte, 1) == 1, "read");
    }
    for (int i = 0; i < 200; i++)
        check(usleep(5000) == 0, "usleep");
    return 0;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = leave};
    sigset_t blocked;

    if (argc == 3)
        return wait_often(atol(argv[2]));
    rounds = argc == 2 ? atoi(argv[1]) : 1;
    sigaction(SIGUSR1, &action, NULL);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    for (size_t i = 0; i < WAYS; i++) {
        begin(&ways[i]);
        for (int round = 1; round <= rounds; round++)
            wait_round(&ways[i], round);
        pthread_join(ways[i].thread, NULL);
        printf("%s %s %llu %llu\n", ways[i].name, ways[i].reason,
               (unsigned long long)ways[i].least_ns, (unsigned long long)ways[i].most_ns);
    }
    return 0;
}
