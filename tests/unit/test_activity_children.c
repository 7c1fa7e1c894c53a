/* Logical stacks of children that no handler of forks is told of: those of _Fork and of clone
 * system calls. Each finds out by itself, with whatever it does first. */
#include "native/activity/segment_reader.h"
#include "native/activity/treadle.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
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

#define CHILD_S       60
#define SEGMENT_BYTES TREADLE__BYTES_FOR(TREADLE_SLOTS_STEP)

static pid_t by_clone(void)
{
    return (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
}

typedef pid_t (*way_of_forking)(void);

static const way_of_forking ways[] = {
#if __GLIBC_PREREQ(2, 34)
    _Fork,
#endif
    by_clone,
};
#define WAYS (sizeof ways / sizeof ways[0])

/* As exit, but for what is not of treadle.h. */
static _Noreturn void end_child(bool is_fine)
{
    treadle__end_process();
    _exit(is_fine ? 0 : 1);
}

/* True if the child of that way has done it, and ended well. */
static bool child_did(way_of_forking way, bool (*work)(void))
{
    int status;
    pid_t child = way();

    if (child == 0) {
        alarm(CHILD_S);
        signal(SIGSEGV, SIG_DFL); /* not cmocka's, which goes on with the next test */
        end_child(work());
    }
    return waitpid(child, &status, 0) == child && status == 0;
}

static bool has_own_segment(void)
{
    struct segment_reader *own;
    char *path;
    bool fine;

    treadle_push("first");
    treadle_pop();
    path = segment_path(getpid());
    if (!path)
        return false;
    free(path);
    own = watched();
    fine = segment_reader__pid(own) == getpid();
    treadle_push("child");
    treadle_push_with("scan", "ITEMS");
    fine = fine && strcmp(stack_text(own), "child/scan ITEMS") == 0;
    treadle_pop();
    treadle_pop();
    fine = fine && strcmp(stack_text(own), "") == 0;
    unwatched(own);
    return fine;
}

static treadle_mark mark_of_parent;
static const struct treadle_chain own_id = {{3, 4}};

static bool push_first(void)
{
    treadle_push("child");
    treadle_pop();
    return has_own_segment();
}

static bool pop_first(void)
{
    treadle_pop();
    return has_own_segment();
}

static bool pop_to_first(void)
{
    treadle_pop_to(mark_of_parent);
    return has_own_segment();
}

static bool push_long_text_first(void)
{
    treadle_push_with("known", "a text that is longer than thirty-two bytes");
    treadle_pop();
    return has_own_segment();
}

static bool adopt_first(void)
{
    treadle_adopt("known", own_id);
    treadle_pop();
    return has_own_segment();
}

static bool begin_first(void)
{
    treadle_begin("known");
    treadle_pop();
    return has_own_segment();
}

static bool ask_for_id_first(void)
{
    struct treadle_chain id = treadle_id();

    return (id.word[0] | id.word[1]) == 0 && has_own_segment();
}

static bool do_nothing(void)
{
    return true;
}

static bool fork_first(void)
{
    for (size_t way = 0; way < WAYS; way++)
        if (!child_did(ways[way], push_first))
            return false;
    return has_own_segment() && child_did(fork, has_own_segment) &&
           child_did(by_clone, has_own_segment);
}

static bool (*const firsts[])(void) = {push_first,           pop_first,   pop_to_first,
                                       push_long_text_first, adopt_first, begin_first,
                                       ask_for_id_first,     do_nothing,  fork_first};

/* With frames open that have an id, whether or not a sampler watches the parent. */
static void check_each_first(bool is_watched)
{
    struct segment_reader *reader = watched();
    static char before[SEGMENT_BYTES];

    treadle_push("known");
    treadle_pop();
    if (!is_watched)
        segment_reader__end_watch(reader);
    mark_of_parent = treadle_push("parent");
    treadle_adopt("served", own_id);
    for (size_t way = 0; way < WAYS; way++)
        for (size_t first = 0; first < sizeof firsts / sizeof firsts[0]; first++) {
            memcpy(before, treadle__process.head, sizeof before);
            if (!child_did(ways[way], firsts[first]))
                fail_msg("way %zu, first %zu: the child has no stacks of its own", way, first);
            if (memcmp(before, treadle__process.head, sizeof before) != 0)
                fail_msg("way %zu, first %zu: the child wrote into its parent's", way, first);
        }
    assert_string_equal(stack_text(reader), is_watched ? "parent/served" : "");
    treadle_pop();
    treadle_pop();
    assert_string_equal(stack_text(reader), "");
    unwatched(reader);
}

static void a_child_finds_out_while_a_sampler_watches(void **state)
{
    (void)state;
    check_each_first(true);
}

static void a_child_finds_out_while_nobody_watches(void **state)
{
    (void)state;
    check_each_first(false);
}

/* Linux 4.14 and later; not where an emulation makes the system calls. */
static bool kernel_wipes(void)
{
    size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    bool wipes = page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK) == 0;

    if (page != MAP_FAILED)
        munmap(page, bytes);
    return wipes;
}

/* The thread sanitizer has no threads in children of a process with threads. */
#ifndef __SANITIZE_THREAD__
static void *push_in_thread(void *fine)
{
    *(bool *)fine = has_own_segment();
    return NULL;
}

/* The thread that forked comes second: its slot is not one of the child's own. */
static bool push_in_thread_first(void)
{
    struct treadle_slot *parents = treadle__slot;
    struct segment_reader *own;
    pthread_t thread;
    bool fine = false;

    if (!parents || pthread_create(&thread, NULL, push_in_thread, &fine) != 0 ||
        pthread_join(thread, NULL) != 0 || treadle__slot != parents)
        return false;
    own = watched();
    treadle_push("forker");
    fine = fine && treadle__slot != parents && strcmp(stack_text(own), "forker") == 0;
    treadle_pop();
    unwatched(own);
    return fine && parents->state == 0;
}

static void a_childs_thread_comes_first(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    treadle_push("parent");
    for (size_t way = 0; way < WAYS; way++)
        assert_true(child_did(ways[way], push_in_thread_first));
    assert_string_equal(stack_text(reader), "parent");
    treadle_pop();
    unwatched(reader);
}

/* Its end is one of a thread that has a slot in its parent's segment. */
static void *fork_and_end(void *way)
{
    int status = -1;
    pid_t child;

    treadle_push("thread");
    child = (*(const way_of_forking *)way)();
    if (child == 0)
        return NULL;
    waitpid(child, &status, 0);
    treadle_pop();
    return status == 0 && treadle__slot->tid == gettid() ? way : NULL;
}

static void the_end_of_a_childs_only_thread_is_none_of_its_parents(void **state)
{
    (void)state;
    struct segment_reader *reader = watched();

    for (size_t way = 0; way < WAYS; way++) {
        way_of_forking chosen = ways[way];
        pthread_t thread;
        void *result;

        assert_int_equal(pthread_create(&thread, NULL, fork_and_end, &chosen), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, &chosen);
    }
    unwatched(reader);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_finds_out_while_a_sampler_watches),
        cmocka_unit_test(a_child_finds_out_while_nobody_watches),
#ifndef __SANITIZE_THREAD__
        cmocka_unit_test(a_childs_thread_comes_first),
        cmocka_unit_test(the_end_of_a_childs_only_thread_is_none_of_its_parents),
#endif
    };

    if (!kernel_wipes()) {
        puts("the kernel wipes nothing in children (MADV_WIPEONFORK, Linux 4.14)");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
