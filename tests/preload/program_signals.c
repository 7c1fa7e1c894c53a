/*
 * A program with uses of its own for signals, one an argument. What it prints does not depend on
 * whether it is profiled: of signals, it sees those that it or its kernel timers send.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SIGNALS 65

static volatile sig_atomic_t seen, code, foreign;

static void count(int number)
{
    seen += number == SIGPROF;
}

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    count(number);
    code = info->si_code;
}

/* What setitimer sends comes from the kernel itself, and not from a timer of timer_create. */
static void count_timer(int number, siginfo_t *info, void *context)
{
    note(number, info, context);
    foreign += code != SI_KERNEL;
}

/* Many times the interval of samples. */
static void consume(void)
{
    struct timespec now = {0}, from;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((now.tv_sec - from.tv_sec) * 1000 + (now.tv_nsec - from.tv_nsec) / 1000000 < 200);
}

/* As daemons do when they begin. */
static void defaults(void)
{
    for (int number = 1; number < SIGNALS; number++)
        signal(number, SIG_DFL);
    consume();
    puts("alive");
}

static void handlers(void)
{
    struct sigaction action = {.sa_sigaction = note, .sa_flags = SA_SIGINFO}, before;

    printf("default %d\n", signal(SIGPROF, count) == SIG_DFL);
    consume();
    printf("seen %d\n", (int)seen);
    raise(SIGPROF);
    printf("seen %d\n", (int)seen);
    sigaction(SIGPROF, &action, &before);
    printf("was its own %d\n", before.sa_handler == count);
    consume();
    kill(getpid(), SIGPROF);
    printf("seen %d, code %d\n", (int)seen, (int)code);
    printf("its own %d\n", sigaction(SIGPROF, NULL, &before) == 0 && before.sa_sigaction == note);
    signal(SIGPROF, SIG_IGN);
    raise(SIGPROF);
    action.sa_flags |= (int)SA_RESETHAND;
    sigaction(SIGPROF, &action, NULL);
    raise(SIGPROF);
    sigaction(SIGPROF, NULL, &before);
    printf("seen %d, default %d\n", (int)seen, before.sa_handler == SIG_DFL);
}

/* The signal is blocked in its handler, and not in one that asks for that. */
static volatile sig_atomic_t within, deepest, left;

static void nested(int number)
{
    within++;
    if (deepest < within)
        deepest = within;
    if (left-- > 0)
        raise(number);
    within--;
}

static void masks(void)
{
    struct sigaction action = {.sa_handler = nested};

    left = 2;
    sigaction(SIGPROF, &action, NULL);
    raise(SIGPROF);
    printf("deepest %d\n", (int)deepest);
    action.sa_flags = SA_NODEFER;
    left = 2;
    sigaction(SIGPROF, &action, NULL);
    raise(SIGPROF);
    printf("deepest %d\n", (int)deepest);
}

static void *send_later(void *thread)
{
    usleep(100000);
    pthread_kill(*(pthread_t *)thread, SIGPROF);
    return NULL;
}

/* A handler that is set without SA_RESTART ends what waits. */
static void interrupts(void)
{
    struct sigaction action = {.sa_handler = count};
    pthread_t self = pthread_self(), sender;
    int ends[2];
    char byte;

    if (pipe(ends) != 0)
        return;
    sigaction(SIGPROF, &action, NULL);
    pthread_create(&sender, NULL, send_later, &self);
    printf("interrupted %d\n", read(ends[0], &byte, 1) < 0 && errno == EINTR);
    pthread_join(sender, NULL);
}

static void *consume_and_send(void *thread)
{
    (void)thread;
    consume();
    kill(getpid(), SIGUSR1);
    return NULL;
}

static void waits(void)
{
    const struct timespec soon = {.tv_nsec = 1000000}, never = {.tv_sec = INT64_MAX};
    siginfo_t info;
    pthread_t sender;
    sigset_t all;
    int number = 0;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    consume();
    printf("none %d\n", sigtimedwait(&all, NULL, &soon) < 0 && errno == EAGAIN);
    consume();
    pthread_create(&sender, NULL, consume_and_send, NULL);
    printf("user %d\n", sigwait(&all, &number) == 0 && number == SIGUSR1);
    pthread_join(sender, NULL);
    consume();
    pthread_create(&sender, NULL, consume_and_send, NULL);
    printf("before never %d\n", sigtimedwait(&all, NULL, &never) == SIGUSR1);
    pthread_join(sender, NULL);
    consume();
    kill(getpid(), SIGUSR2);
    printf("other %d\n", sigwaitinfo(&all, &info) == SIGUSR2 && info.si_pid == getpid());
}

static void descriptor(void)
{
    struct signalfd_siginfo info;
    sigset_t all;
    int fd;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    fd = signalfd(-1, &all, SFD_NONBLOCK);
    consume();
    printf("none %d\n", read(fd, &info, sizeof(info)) < 0 && errno == EAGAIN);
    kill(getpid(), SIGTERM);
    printf("term %d\n", read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGTERM);
}

static void timers(void)
{
    struct itimerval often = {.it_interval = {.tv_usec = 100000}, .it_value = {.tv_usec = 100000}},
                     none = {0};
    struct sigaction action = {.sa_sigaction = count_timer, .sa_flags = SA_SIGINFO};

    sigaction(SIGPROF, &action, NULL);
    setitimer(ITIMER_PROF, &often, NULL);
    while (seen < 3)
        ;
    setitimer(ITIMER_PROF, &none, NULL);
    printf("not the program's %d\n", (int)foreign);
}

static void sent(void)
{
    consume();
    raise(SIGPROF);
    puts("alive");
}

/* A program that is executed inherits what is ignored. */
static void executes(void)
{
    signal(SIGPROF, SIG_IGN);
    execl("/none", "none", NULL);
    consume();
    raise(SIGPROF);
    fflush(stdout);
    execl("/bin/sh", "sh", "-c", "kill -PROF $$; echo alive", NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} uses[] = {{"defaults", defaults},     {"handlers", handlers}, {"masks", masks},
            {"interrupts", interrupts}, {"waits", waits},       {"descriptor", descriptor},
            {"timers", timers},         {"sent", sent},         {"executes", executes}};

int main(int count_of_arguments, char **argument)
{
    usleep(200000); /* samples begin */
    for (size_t i = 0; i < sizeof(uses) / sizeof(*uses); i++)
        if (count_of_arguments > 1 && strcmp(argument[1], uses[i].name) == 0)
            uses[i].run();
    return 0;
}
