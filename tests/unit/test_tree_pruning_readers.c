/* Pruning with a reader beside it, and killed: a copy that is made at any moment has all calls
 * once. */
#include "drawn_story.h"
#include "native/snapshot/dangling_refs.h"
#include "native/snapshot/snapshot.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define KILLS  100u
#define COPIES 40u

/* How many, unless the environment says so many. */
static unsigned rounds_of(const char *variable, unsigned usual)
{
    const char *given = getenv(variable);
    return given ? (unsigned)strtoul(given, NULL, 10) : usual;
}

/* In a child: makes calls for ever, and says how many, before and after each. */
struct shared {
    uint64_t begun;
    uint64_t ended;
    uint64_t foldings;
};

static void play_for_ever(struct shared *shared, bool slowly)
{
    struct story story = {.seed = 4};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        unsigned depth = 0;
        for (; depth < 12; depth++) {
            if (slowly && mine.thread->foldings > 100)
                (void)usleep(1);
            __atomic_store_n(&shared->begun, shared->begun + 1, __ATOMIC_SEQ_CST);
            story.tokens[depth] =
                call_tree__push(&mine.tree, FIRST_KEY + draw_number(&story, METHODS));
            __atomic_store_n(&shared->ended, shared->ended + 1, __ATOMIC_SEQ_CST);
        }
        call_tree__pop(&mine.tree, story.tokens[0]);
        __atomic_store_n(&shared->foldings, mine.thread->foldings, __ATOMIC_RELAXED);
    }
}

static uint64_t sum_calls(struct ledger *copy)
{
    struct totals totals = {0};
    uint64_t calls = 0;
    assert_int_equal(dangling_refs__cut(copy), 0);
    assert_int_equal(copy->header->senseless_records, 0);
    sum_up(copy, find_thread(copy, 1)->root, &totals);
    assert_int_equal(find_thread(copy, 1)->lost_enters, 0);
    for (unsigned i = 0; i < METHODS; i++)
        calls += totals.calls[i];
    return calls;
}

static void a_kill_leaves_all(void **state)
{
    (void)state;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(shared, MAP_FAILED);
    struct story story = {.seed = 99};
    unsigned interrupted = 0, kills = rounds_of("TREADLE_KILLS", KILLS);
    for (unsigned round = 0; round < kills; round++) {
        struct java_world *world = make(256 * KIB);
        struct ledger copy;
        *shared = (struct shared){0};
        pid_t child = fork();
        if (child == 0) {
            play_for_ever(shared, false);
            _exit(1);
        }
        while (__atomic_load_n(&shared->foldings, __ATOMIC_RELAXED) < 100)
            (void)usleep(100);
        (void)usleep((useconds_t)draw_number(&story, 2000));
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, NULL, 0), child);
        interrupted += mine.thread->move.from != 0;
        assert_int_equal(ledger__adopt(&copy, world->ledger.fd,
                                       (uint64_t)world->ledger.header->chunks_used * 4096, 1 << 20),
                         0);
        uint64_t calls = sum_calls(&copy);
        assert_true(calls + 1 >= shared->ended && calls <= shared->begun);
        ledger__close(&copy);
        kernel_thread__end(&mine);
    }
    print_message("%u of %u kills came in the middle of a move\n", interrupted, kills);
}

static uint64_t copied_calls(const struct java_world *world)
{
    struct ledger copy;
    int fd = memfd_create("copy", MFD_CLOEXEC);
    off_t bytes;
    uint64_t calls;
    assert_true(fd >= 0);
    assert_int_equal(snapshot__copy(world->ledger.fd, fd), 0);
    bytes = lseek(fd, 0, SEEK_END);
    assert_int_equal(ledger__adopt(&copy, fd, (uint64_t)bytes, 1 << 20), 0);
    calls = sum_calls(&copy);
    ledger__close(&copy);
    (void)close(fd);
    return calls;
}

/* One copy after the other, while contexts are folded: none lacks a call or has one twice. */
static void a_reader_beside_sees_all_once(void **state)
{
    (void)state;
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct java_world *world = make(512 * KIB);
    assert_ptr_not_equal(shared, MAP_FAILED);
    *shared = (struct shared){0};
    pid_t child = fork();
    if (child == 0) {
        play_for_ever(shared, true);
        _exit(1);
    }
    unsigned copies = rounds_of("TREADLE_COPIES", COPIES);
    while (__atomic_load_n(&shared->foldings, __ATOMIC_RELAXED) < 100)
        (void)usleep(100);
    for (unsigned round = 0; round < copies; round++) {
        uint64_t least = __atomic_load_n(&shared->ended, __ATOMIC_SEQ_CST);
        uint64_t calls = copied_calls(world);
        uint64_t most = __atomic_load_n(&shared->begun, __ATOMIC_SEQ_CST);
        assert_true(calls >= least);
        assert_true(calls <= most);
    }
    uint64_t foldings = __atomic_load_n(&shared->foldings, __ATOMIC_RELAXED);
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, NULL, 0), child);
    print_message("%u copies beside %llu foldings\n", copies, (unsigned long long)foldings);
    kernel_thread__end(&mine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kill_leaves_all),
        cmocka_unit_test(a_reader_beside_sees_all_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
