/* A kill while an ended thread is added to its group: after any store, a reader finds every number
 * once. The stores are those of a child that makes one step at a time. */
#include "java_world.h"
#include "native/snapshot/dangling_refs.h"
#include "native/thread/thread_fold.h"
#include "native/tree/folded_calls.h"
#include "native/tree/sample_tree.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define KIB        UINT64_C(1024)
#define LETTERS    26u
#define WRITES     150u /* at least: so many numbers are in the ended thread, and more */
#define MOST_STEPS 5000000u

static struct kernel_thread mine;
static struct ledger_kernel_thread record;

static struct java_world *make(void)
{
    struct java_world *world = java_world__make(1024 * KIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    java_world__begin_here(world, &mine, &record);
    world->ledger.header->kept_threads = THREADS_KEPT; /* none has a row of its own */
    return world;
}

/* Gives each node of the tree CPU time, waiting, a metric and a sampled frame with four numbers. */
static void fill(struct java_world *world, ledger_ref ref, uint64_t number)
{
    struct record_pool *pool = &mine.tree.pool;
    for (; ref; ref = node_at(&world->ledger, ref)->next_sibling) {
        struct ledger_node *node = ledger__at(&world->ledger, ref);
        struct ledger_side *side = ledger__at(&world->ledger, record_pool__side(pool));
        struct ledger_node *frame;
        fill(world, node->first_child, number + 1);
        node->cpu_ns = number;
        node->wait_ns = 3 - number; /* less than nothing, mostly */
        side->node = ref;
        side->value[METRIC_MINOR_FAULTS] = 2 * number;
        side->value[METRIC_READ_BYTES] = 5 * number;
        node->side = ledger__ref(&world->ledger, side);
        frame = ledger__at(&world->ledger,
                           sample_tree__child(pool, ref, NODE_SAMPLED,
                                              make_letter_method(&world->maker, 'p'), false));
        frame->cpu_samples = number;
        frame->wall_samples = 7;
        frame->interpreted = 11;
        frame->seen_ns = 13 * number;
    }
}

static ledger_ref add(struct java_world *world, const char *name, uint64_t id, const char *calls)
{
    const struct java_thread_facts facts = {
        .name = name, .name_length = strlen(name), .kind = THREAD_PLATFORM, .java_id = id};
    ledger_ref ref = kernel_thread__add_thread(&mine, &facts);
    struct ledger_thread *thread = ledger__at(&world->ledger, ref);
    call_tree__go_to(&mine.tree, thread->root, 0);
    play(&mine.tree, calls);
    (void)folded_calls__node(&mine.tree, thread, make_letter_method(&world->maker, 'F'), 'F');
    fill(world, thread->root, 20 * id);
    for (unsigned i = 0; i < LEDGER_METRIC_SLOTS; i++)
        thread->totals[i] = id * 100 + i;
    thread->mounts = id;
    thread->foldings = thread->unplaced_calls = thread->lost_samples = 2 * id;
    thread->seen_wall_ns = thread->moded_cpu_ns = thread->parked_ns = 3 * id;
    thread->samples = thread->merged_samples = 4 * id;
    thread->flags |= THREAD_TERMINATED;
    return ref;
}

/* Of all rows. */
struct sums {
    uint64_t threads;
    uint64_t facts[6];
    uint64_t totals[LEDGER_METRIC_SLOTS];
    uint64_t calls[LETTERS];
    uint64_t numbers[8]; /* of all nodes */
};

static void sum_samples(const struct ledger *ledger, ledger_ref ref, uint64_t numbers[4])
{
    for (; ref; ref = node_at(ledger, ref)->next_sibling) {
        const struct ledger_node *node = node_at(ledger, ref);
        numbers[0] += node->cpu_samples;
        numbers[1] += node->wall_samples;
        numbers[2] += node->interpreted;
        numbers[3] += node->seen_ns;
        sum_samples(ledger, node->first_child, numbers);
    }
}

static void sum_tree(const struct ledger *ledger, ledger_ref ref, struct sums *sums)
{
    for (; ref; ref = node_at(ledger, ref)->next_sibling) {
        const struct ledger_node *node = node_at(ledger, ref);
        const struct ledger_side *side = ledger__at(ledger, node->side);
        if (node->method)
            sums->calls[node->key - 'A'] += node->calls;
        sums->numbers[0] += node->cpu_ns;
        sums->numbers[1] += node->wait_ns;
        sums->numbers[2] += node->side ? side->value[METRIC_MINOR_FAULTS] : 0;
        sums->numbers[3] += node->side ? side->value[METRIC_READ_BYTES] : 0;
        sum_samples(ledger, node->sampled, sums->numbers + 4);
        sum_tree(ledger, node->first_child, sums);
    }
}

static struct sums sum_rows(const struct ledger *ledger)
{
    struct sums sums = {0};
    ledger_ref ref = 0;
    while ((ref = ledger__next(ledger, LEDGER_THREADS, ref)) != 0) {
        const struct ledger_thread *thread = ledger__at(ledger, ref);
        if (!thread->kind)
            continue;
        sums.threads += thread->flags & THREAD_GROUP ? thread->members : 1;
        sums.facts[0] += thread->mounts;
        sums.facts[1] += thread->foldings + thread->unplaced_calls + thread->lost_samples;
        sums.facts[2] += thread->seen_wall_ns + thread->moded_cpu_ns + thread->parked_ns;
        sums.facts[3] += thread->samples;
        sums.facts[4] += thread->merged_samples;
        for (unsigned i = 0; i < LEDGER_METRIC_SLOTS; i++)
            sums.totals[i] += thread->totals[i];
        sum_tree(ledger, thread->root, &sums);
    }
    return sums;
}

/* What a reader makes of the ledger as it is. */
static struct sums read_copy(const struct java_world *world)
{
    struct ledger copy;
    struct sums sums;
    assert_int_equal(ledger__adopt(&copy, world->ledger.fd,
                                   (uint64_t)world->ledger.header->chunks_used * 4096, 64 * KIB),
                     0);
    assert_int_equal(dangling_refs__cut(&copy), 0);
    assert_int_equal(copy.header->senseless_records, 0);
    sums = sum_rows(&copy);
    ledger__close(&copy);
    return sums;
}

/* False: the child is over. */
static bool step_on(pid_t child)
{
    int status;
    assert_int_equal(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status))
        assert_int_equal(WEXITSTATUS(status), 0);
    assert_false(WIFSIGNALED(status));
    return WIFSTOPPED(status);
}

/* How often the child wrote to the ledger. */
static unsigned check_every_write(const struct java_world *world, pid_t child)
{
    size_t bytes = (size_t)world->ledger.header->chunks_used * 4096;
    struct sums before = read_copy(world);
    char *seen = malloc(bytes);
    unsigned writes = 0, steps = 0;
    assert_non_null(seen);
    memcpy(seen, world->ledger.base, bytes);
    while (step_on(child)) {
        assert_true(++steps < MOST_STEPS);
        if (memcmp(seen, world->ledger.base, bytes) == 0)
            continue;
        memcpy(seen, world->ledger.base, bytes);
        struct sums sums = read_copy(world);
        assert_memory_equal(&sums, &before, sizeof sums);
        writes++;
    }
    free(seen);
    print_message("%u writes in %u steps\n", writes, steps);
    return writes;
}

static void every_number_is_there_once(void **state)
{
    (void)state;
    static struct thread_folder folder;
    struct java_world *world = make();
    ledger_ref one = add(world, "pool-1", 1, "A B /B C /C /A");
    ledger_ref two = add(world, "pool-2", 2, "A B D /D /B E /E /A A /A F /F");
    memset(&folder, 0, sizeof folder);
    assert_int_equal(thread_fold__fold(&folder, &mine.tree, one), one);
    struct sums before = read_copy(world);
    assert_int_equal(before.threads, 2);
    assert_int_equal(before.calls[0], 1 + 2);
    assert_int_equal(before.totals[3], 103 + 203);
    pid_t child = fork();
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
            _exit(77);
        (void)raise(SIGSTOP);
        _exit(thread_fold__fold(&folder, &mine.tree, two) == one ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status)) {
        print_message("skipped: no process may be traced here\n");
        skip();
    }
    assert_true(check_every_write(world, child) > WRITES);
    const struct ledger_thread *group = ledger__at(&world->ledger, one);
    const struct ledger_thread *member = ledger__at(&world->ledger, two);
    assert_int_equal(group->members, 2);
    assert_int_equal(member->kind, 0);
    struct sums after = sum_rows(&world->ledger);
    assert_memory_equal(&after, &before, sizeof after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_there_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
