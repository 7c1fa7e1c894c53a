/* Logical stacks and forks: each process has a segment of its own, wherever the fork came. */
#include "native/activity/segment_reader.h"
#include "native/activity/treadle.h"

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "logical_stack.h"
/* clang-format on */

#define SEGMENT_BYTES TREADLE__BYTES_FOR(TREADLE_SLOTS_STEP)

static const char in_first_push[] = "of a new watch";

/* True if the own segment is as that of a process that has just begun to push. */
static bool has_own_segment(void)
{
    struct segment_reader *own = watched();
    bool fine;

    treadle_push("child");
    treadle_push_with("scan", "ITEMS");
    treadle_push(in_first_push);
    fine = own && strcmp(stack_text(own), "child/scan ITEMS/of a new watch") == 0;
    treadle_pop();
    treadle_pop();
    treadle_pop();
    fine &= own && strcmp(stack_text(own), "") == 0;
    unwatched(own);
    return fine;
}

static void a_forked_child_has_a_segment_of_its_own(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    int status;
    pid_t child;

    treadle_push("parent");
    child = fork();
    if (child == 0) {
        treadle_push("child");
        treadle_pop();
        exit(has_own_segment() ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_null(segment_path(child));
    assert_string_equal(stack_text(reader), "parent");
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

/* The segment of a child that pushed and ended without the functions that exit calls, as if at that
 * moment: its path, to be freed. */
static char *left_segment(time_t when)
{
    struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    int status;
    pid_t child = fork();

    if (child == 0) {
        treadle_push("left");
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    char *path = segment_path(child);
    assert_non_null(path);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    return path;
}

/* Removes it if it is there. */
static bool was_there(char *path)
{
    bool was = unlink(path) == 0;

    free(path);
    return was;
}

static char *moved(char *path, const char *folder)
{
    char *to;

    assert_true(asprintf(&to, "%s%s", folder, strrchr(path, '/')) > 0);
    assert_int_equal(rename(path, to), 0);
    free(path);
    return to;
}

static void the_newest_segments_that_were_left_stay(void **state)
{
    (void)state;
    enum { OLD = 3 * TREADLE_LEFT, FRESH = 2 * TREADLE_LEFT };
    char folder[] = "/dev/shm/treadle-test-XXXXXX", *old[OLD], *fresh[FRESH];
    struct segment_reader *reader = watched();
    const struct treadle_head *head = treadle__process.head;
    uint64_t other = head->pid_namespace + 1;

    assert_non_null(mkdtemp(folder));
    for (unsigned i = 0; i < OLD; i++)
        old[i] = moved(left_segment(1000 + i * 7 % OLD), folder);
    for (unsigned i = 0; i < FRESH; i++)
        fresh[i] = moved(left_segment(time(NULL)), folder);
    /* One that may be of a process that runs, in another pid namespace. */
    char *elsewhere = moved(left_segment(1), folder);
    int fd = open(elsewhere, O_RDWR | O_CLOEXEC);
    assert_int_not_equal(other, 1);
    assert_int_equal(pwrite(fd, &other, sizeof other, offsetof(struct treadle_head, pid_namespace)),
                     sizeof other);
    close(fd);
    treadle__tidy(folder, head);
    for (unsigned i = 0; i < OLD; i++)
        assert_int_equal(was_there(old[i]), i * 7 % OLD >= OLD - TREADLE_LEFT);
    for (unsigned i = 0; i < FRESH; i++)
        assert_true(was_there(fresh[i]));
    assert_true(was_there(elsewhere));
    assert_int_equal(rmdir(folder), 0);
    unwatched(reader);
}

/* A file of so many bytes as a process with that pid makes before it writes the head. */
static char *file_of(const char *folder, pid_t pid, const char *name, off_t bytes, time_t when)
{
    struct timespec times[2] = {{.tv_sec = when}, {.tv_sec = when}};
    char *path;
    int fd;

    assert_true(asprintf(&path, "%s/treadle-%d-%s.activity", folder, pid, name) > 0);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_int_not_equal(fd, -1);
    assert_int_equal(ftruncate(fd, bytes), 0);
    close(fd);
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
    return path;
}

static void files_whose_processes_wrote_no_head_go(void **state)
{
    (void)state;
    char folder[] = "/dev/shm/treadle-test-XXXXXX";
    struct segment_reader *reader = watched();
    time_t just_now = time(NULL), long_ago = just_now - 2 * TREADLE_LEFT_S;
    pid_t gone = fork();

    if (gone == 0)
        _exit(0);
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    assert_non_null(mkdtemp(folder));
    char *empty = file_of(folder, gone, "empty", 0, long_ago);
    char *zeros = file_of(folder, gone, "zeros", SEGMENT_BYTES, long_ago);
    char *fresh = file_of(folder, gone, "fresh", SEGMENT_BYTES, just_now);
    char *alive = file_of(folder, getpid(), "alive", SEGMENT_BYTES, long_ago);
    char *other = file_of(folder, gone, "other", SEGMENT_BYTES, just_now);
    int fd = open(other, O_RDWR | O_CLOEXEC);
    struct timespec times[2] = {{.tv_sec = long_ago}, {.tv_sec = long_ago}};
    assert_int_equal(pwrite(fd, "another's", 9, 0), 9);
    close(fd);
    assert_int_equal(utimensat(AT_FDCWD, other, times, 0), 0);
    treadle__tidy(folder, treadle__process.head);
    assert_false(was_there(empty));
    assert_false(was_there(zeros));
    assert_true(was_there(fresh));
    assert_true(was_there(alive));
    assert_true(was_there(other));
    assert_int_equal(rmdir(folder), 0);
    unwatched(reader);
}

/* Whatever else was left in the folder. */
static void a_process_that_begins_removes_old_ones(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();
    char *oldest = left_segment(1), *older[TREADLE_LEFT], *own = segment_path(getpid());
    struct timespec long_ago[2] = {{.tv_sec = 0}, {.tv_sec = 0}};

    assert_int_equal(utimensat(AT_FDCWD, own, long_ago, 0), 0);
    for (unsigned i = 0; i < TREADLE_LEFT; i++)
        older[i] = left_segment(2 + i);
    assert_int_equal(was_there(left_segment(time(NULL))), 1);
    assert_false(was_there(oldest));
    assert_int_equal(access(own, F_OK), 0); /* its process lives */
    free(own);
    for (unsigned i = 0; i < TREADLE_LEFT; i++)
        (void)was_there(older[i]);
    unwatched(reader);
}

/* The thread sanitizer takes a fork in a handler for an error. */
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define STEPS_HERE 1
#else
#define STEPS_HERE 0
#endif

#if STEPS_HERE
/*
 * A handler that forks can interrupt any instruction: here it interrupts each one, or one in
 * STRIDE, with the processor's single steps. The child goes on from there.
 */
#define TRAP_FLAG 0x100
#ifdef __SANITIZE_ADDRESS__
#define STRIDE 11 /* a fork takes a hundred times as long, and there are more instructions */
#else
#define STRIDE 1
#endif
#define STEPS_MAX 100000
#define CHILD_S   60

static volatile sig_atomic_t steps_left; /* up to the fork */
static volatile sig_atomic_t is_child;
static bool pushes_in_handler;
static volatile sig_atomic_t status_of_child;
static volatile sig_atomic_t has_written; /* the child, into its parent's segment */
static char before[SEGMENT_BYTES];

static void on_step(int number, siginfo_t *info, void *context)
{
    ucontext_t *interrupted = context;
    pid_t child;
    int status;

    (void)number, (void)info;
    if (--steps_left > 0)
        return;
    interrupted->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
    memcpy(before, treadle__process.head, sizeof before);
    child = fork();
    if (child == 0) {
        alarm(CHILD_S);
        signal(SIGSEGV, SIG_DFL); /* not cmocka's, which goes on with the next test */
        is_child = 1;
        if (pushes_in_handler) {
            treadle_push("handler");
            treadle_pop();
        }
        return;
    }
    status_of_child = waitpid(child, &status, 0) == child ? status : -1;
    has_written |= memcmp(before, treadle__process.head, sizeof before) != 0;
}

/* The stack's red zone is the compiler's. */
#define SET_TRAP_FLAG(how)                                                                         \
    __asm__ volatile("lea -128(%%rsp), %%rsp; pushfq; " how " (%%rsp); popfq; "                    \
                     "lea 128(%%rsp), %%rsp" ::                                                    \
                         : "cc", "memory")

__attribute__((noinline)) static void push_and_pop(void)
{
    treadle_push("query");
    treadle_push_with("scan", "ORDERS");
    treadle_pop();
    treadle_push_number("batch", 42);
    treadle_pop();
    treadle_pop();
}

/* The thread's first push under a watch: it finds a slot and registers a text. */
static void first_push(void)
{
    treadle_push(in_first_push);
    treadle_pop();
}

/* False: the program ended before that many instructions. */
static bool fork_behind(int steps, void (*program)(void))
{
    steps_left = steps;
    SET_TRAP_FLAG("orq $0x100,");
    program();
    SET_TRAP_FLAG("andq $~0x100,");
    if (is_child)
        exit(has_own_segment() ? 0 : 1);
    return steps_left <= 0;
}

static struct segment_reader *begin_steps(void)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

    sigaction(SIGTRAP, &action, NULL);
    has_written = 0;
    return watched();
}

static void end_steps(struct segment_reader *reader)
{
    assert_false(has_written);
    assert_string_equal(stack_text(reader), "");
    assert_true(has_own_segment());
    unwatched(reader);
    signal(SIGTRAP, SIG_DFL);
}

static void check_each_step(bool pushes)
{
    struct segment_reader *reader = begin_steps();
    int steps = 1;

    pushes_in_handler = pushes;
    push_and_pop(); /* the identifiers are known then */
    for (; steps < STEPS_MAX && fork_behind(steps, push_and_pop); steps += STRIDE)
        if (status_of_child != 0)
            fail_msg("behind %d instructions: the child ended with %#x", steps,
                     (unsigned)status_of_child);
    assert_in_range(steps, 50, STEPS_MAX - 1);
    end_steps(reader);
}

static void a_handler_forks_at_any_instruction(void **state)
{
    (void)state;
    check_each_step(false);
}

static void the_child_pushes_in_that_handler(void **state)
{
    (void)state;
    check_each_step(true);
}

static void a_handler_forks_in_a_first_push(void **state)
{
    (void)state;
    struct segment_reader *reader = begin_steps();
    bool is_over = false;
    int steps = 1;

    for (; steps < STEPS_MAX && !is_over; steps += 2 + STRIDE) {
        pushes_in_handler = steps % 2;
        /* Neither the slot nor the text is known. */
        treadle__end_thread(treadle__slot);
        memset(treadle__process.names, 0, sizeof treadle__process.names);
        is_over = !fork_behind(steps, first_push);
        if (!is_over && status_of_child != 0)
            fail_msg("behind %d instructions: the child ended with %#x", steps,
                     (unsigned)status_of_child);
    }
    assert_in_range(steps, 50, STEPS_MAX - 1);
    end_steps(reader);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_forked_child_has_a_segment_of_its_own),
        cmocka_unit_test(the_newest_segments_that_were_left_stay),
        cmocka_unit_test(files_whose_processes_wrote_no_head_go),
        cmocka_unit_test(a_process_that_begins_removes_old_ones),
#if STEPS_HERE
        cmocka_unit_test(a_handler_forks_at_any_instruction),
        cmocka_unit_test(the_child_pushes_in_that_handler),
        cmocka_unit_test(a_handler_forks_in_a_first_push),
#endif
    };
#if !STEPS_HERE
    puts("no handlers that fork: x86-64 alone, and not under the thread sanitizer");
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
