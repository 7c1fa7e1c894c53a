/*
 * A server that forks workers, which execute nothing. It says on standard output what each process
 * did itself: its role, its id, its calls of step, its pushes of [job], and the CPU time by the
 * kernel's clock of the process, in ns.
 *
 * `forking workers`: in the parent two threads call step and push [background] all the time. It
 * forks, and each child calls work:
 *
 *     work                     1 call
 *       step                   so many
 *       [job]                  so many: a mark of the parent's frame ends none of them
 *         [inside]             as many
 *
 *     exits                    ends with exit
 *     _exits                   ends with _exit
 *     returns                  returns from main: main and the functions of the fork have no calls
 *     starts                   starts a thread "helper", which calls step
 *     forks                    forks a child "grandchild", which works, too
 *     of-thread                is forked by another thread than main
 *     burns                    spends 300 ms of CPU time in burn, which is not instrumented; forked
 *                              by another thread, too
 *     killed                   kills itself
 *     fails                    executes what is not there, and works then
 *     executes                 executes `true` after its work
 *     at-once                  executes `true` at once
 *
 * `forking storm N`: forks N times, one after the other, while two threads work. Each child asks
 * the dynamic linker for its images, allocates, works and ends. It prints how many children there
 * were, and how many did not end with 0. `forking handlers N`: a handler forks N times, of a
 * timer's signal, which interrupts work and the hooks in it. Each child returns from the handler,
 * works on, and says so as "handled". A call of step that was interrupted at its begin is the
 * parent's. `forking unheard`: children whose fork calls no handlers work, and say so: of _Fork,
 * one that starts a thread "helper" and forks "grandchild", and of a clone(2); each ends with exit.
 * They go on after the parent, which works meanwhile. `forking queued`: a child that is ready to
 * run for 40 ms and has no processor, and executes `true` then.
 */
#include "native/activity/treadle.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define UNHEARD   __attribute__((no_instrument_function, noinline))
#define CHILD_S   30
#define BURN_NS   300000000LL
#define TICK_US   1000
#define QUEUED_NS 40000000LL

static atomic_bool is_over;
static _Atomic int steps_of_all;
static int steps, jobs;
static _Atomic int children, failures;
static __thread treadle_mark parents_mark;

static void step(void)
{
    atomic_fetch_add(&steps_of_all, 1);
}

static void work(int count)
{
    for (int i = 0; i < count; i++)
        step();
    for (int i = 0; i < count / 10; i++) {
        treadle_push("job");
        treadle_pop_to(parents_mark);
        treadle_push("inside");
        treadle_pop();
        treadle_pop();
    }
    steps += count;
    jobs += count / 10;
}

UNHEARD static long long ns_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

UNHEARD static void say(const char *role)
{
    char line[128];
    int length = snprintf(line, sizeof(line), "%s %d %d %d %lld\n", role, (int)getpid(), steps,
                          jobs, ns_of(CLOCK_PROCESS_CPUTIME_ID));

    (void)!write(STDOUT_FILENO, line, (size_t)length);
}

UNHEARD static void burn(void)
{
    long long until = ns_of(CLOCK_THREAD_CPUTIME_ID) + BURN_NS;

    while (ns_of(CLOCK_THREAD_CPUTIME_ID) < until)
        for (volatile int i = 0; i < 1000; i++)
            continue;
}

static void *background(void *argument)
{
    while (!atomic_load(&is_over)) {
        treadle_push("background");
        step();
        treadle_pop();
    }
    return argument;
}

static void *help(void *argument)
{
    pthread_setname_np(pthread_self(), "helper");
    for (int i = 0; i < 50; i++)
        step();
    return argument;
}

/* 1: in the child. */
UNHEARD static int forked(void)
{
    pid_t child = fork();
    int status;

    if (child < 0)
        abort();
    if (!child) {
        steps = jobs = 0;
        return 1;
    }
    if (waitpid(child, &status, 0) != child)
        abort();
    return 0;
}

static void exits(const char *role, int count)
{
    if (!forked())
        return;
    work(count);
    say(role);
    exit(0);
}

static void *fork_worker(void *argument)
{
    parents_mark = treadle_push("thread's");
    exits("of-thread", 1500);
    return argument;
}

static void *fork_burner(void *argument)
{
    parents_mark = treadle_push("thread's");
    if (!forked())
        return argument;
    work(1600);
    burn();
    say("burns");
    exit(0);
}

static void start(const char *role, void *(*run)(void *argument))
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run, (void *)(intptr_t)role) != 0)
        abort();
    pthread_join(thread, NULL);
}

static void run_in_children(void)
{
    exits("exits", 1000);
    if (forked()) {
        work(1100);
        say("_exits");
        _exit(0);
    }
    if (forked()) {
        start("helper", help);
        work(1200);
        say("starts");
        exit(0);
    }
    if (forked()) {
        work(1300);
        exits("grandchild", 1400);
        say("forks");
        exit(0);
    }
    start("forker", fork_worker);
    start("burner", fork_burner);
    if (forked()) {
        work(1700);
        say("killed");
        usleep(300000); /* names are found ten times a second */
        raise(SIGKILL);
    }
    if (forked()) {
        execlp("/nonexistent/program", "program", NULL);
        work(1800);
        say("fails");
        exit(0);
    }
    if (forked()) {
        work(1900);
        say("executes");
        execlp("true", "true", NULL);
    }
    if (forked()) {
        say("at-once");
        execlp("true", "true", NULL);
    }
}

/* -1: not known. */
UNHEARD static long long queued_ns(void)
{
    long long ran, queued;
    FILE *file = fopen("/proc/thread-self/schedstat", "r");
    int count = file ? fscanf(file, "%lld %lld", &ran, &queued) : 0;

    if (file)
        fclose(file);
    return count == 2 && ran ? queued : -1;
}

UNHEARD static void wait_in_queue(const cpu_set_t *all)
{
    struct sched_param none = {0};

    if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
        exit(1);
    while (queued_ns() < QUEUED_NS)
        continue;
    sched_setaffinity(0, sizeof(*all), all);
    sched_setscheduler(0, SCHED_OTHER, &none);
}

/* The parent does not leave the child's processor to it. */
UNHEARD static void fork_queued(void)
{
    cpu_set_t all, one;
    pid_t child;
    int status;

    if (queued_ns() < 0) {
        printf("no schedstat\n");
        return;
    }
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    sched_getaffinity(0, sizeof(all), &all);
    sched_setaffinity(0, sizeof(one), &one);
    child = fork();
    if (child == 0) {
        wait_in_queue(&all);
        say("queued");
        execlp("true", "true", NULL);
        exit(1);
    }
    while (waitpid(child, &status, WNOHANG) == 0)
        continue;
    failures = status;
}

UNHEARD static int look(struct dl_phdr_info *info, size_t bytes, void *context)
{
    (void)info, (void)bytes, (void)context;
    return 0;
}

UNHEARD static void take_stock(pid_t child)
{
    int status;

    if (child < 0 || waitpid(child, &status, 0) != child || status != 0)
        atomic_fetch_add(&failures, 1);
    atomic_fetch_add(&children, 1);
}

UNHEARD static void in_child_of_storm(void)
{
    void *memory;

    alarm(CHILD_S);
    memory = malloc(100000);
    (void)dl_iterate_phdr(look, NULL);
    work(20);
    free(memory);
    _exit(0);
}

static volatile sig_atomic_t is_child;

UNHEARD static void on_tick(int number)
{
    int error = errno;
    pid_t child = is_child ? 1 : fork();

    (void)number;
    if (child == 0) {
        alarm(CHILD_S);
        is_child = 1;
        atomic_store(&steps_of_all, 0);
    } else if (!is_child) {
        take_stock(child);
    }
    errno = error;
}

/* Allocates nothing, so that a fork in a handler never interrupts malloc. */
static void fork_in_handlers(int count)
{
    struct itimerval ticks = {{0, TICK_US}, {0, TICK_US}};
    struct itimerval none = {{0, 0}, {0, 0}};

    signal(SIGVTALRM, on_tick);
    setitimer(ITIMER_VIRTUAL, &ticks, NULL);
    while (atomic_load(&children) < count && !is_child)
        work(100);
    setitimer(ITIMER_VIRTUAL, &none, NULL);
    if (!is_child)
        return;
    work(200);
    steps = atomic_load(&steps_of_all);
    say("handled");
    _exit(0);
}

UNHEARD static void in_unheard_child(const char *role, pid_t child)
{
    if (child < 0)
        abort();
    if (child)
        return;
    alarm(CHILD_S);
    steps = jobs = 0;
    work(1000);
    if (strcmp(role, "_Fork") == 0) {
        start("helper", help);
        exits("grandchild", 400);
    }
    say(role);
    exit(0);
}

/* Has no other thread: only such a process may do in such a child what it likes. */
static void fork_unheard(void)
{
    in_unheard_child("_Fork", _Fork());
    in_unheard_child("clone", (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL));
    work(2000);
    for (int i = 0; i < 2; i++) {
        int status;

        if (wait(&status) < 0 || status != 0)
            atomic_fetch_add(&failures, 1);
    }
    work(1000);
    say("parent");
}

static void storm(int count)
{
    for (int i = 0; i < count; i++) {
        pid_t child = fork();

        if (child == 0)
            in_child_of_storm();
        take_stock(child);
    }
}

int main(int argc, char **argv)
{
    pthread_t threads[2];
    int returns = 0;

    if (argc < 2)
        return 2;
    work(500);
    parents_mark = treadle_push("parent");
    if (strcmp(argv[1], "handlers") == 0) {
        fork_in_handlers(atoi(argv[2]));
        printf("%d %d\n", children, failures);
        return 0;
    }
    if (strcmp(argv[1], "queued") == 0) {
        fork_queued();
        return failures != 0;
    }
    if (strcmp(argv[1], "unheard") == 0) {
        fork_unheard();
        return failures;
    }
    for (int i = 0; i < 2; i++)
        if (pthread_create(&threads[i], NULL, background, NULL) != 0)
            abort();
    if (strcmp(argv[1], "storm") == 0) {
        storm(atoi(argv[2]));
        printf("%d %d\n", children, failures);
        fflush(stdout);
    } else {
        run_in_children();
        returns = forked();
    }
    if (returns) {
        work(2000);
        say("returns");
        return 0;
    }
    atomic_store(&is_over, true);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    steps = atomic_load(&steps_of_all);
    if (strcmp(argv[1], "storm") != 0)
        say("parent");
    return 0;
}
