/*
 * Every way that virtual threads can be mounted, up to a length: all sequences of mounts, unmounts,
 * calls, returns, ends, stops and starts that the JVM's contract allows, on two carriers, are
 * played with the real code and, beside it, with a model that is nothing but arrays, written from
 * the rules in words. After each step the two are compared.
 *
 * The contract: a virtual thread is on one carrier at most and a carrier runs one at most; it ends
 * while it is mounted or when it just was. While profiling is stopped all that goes on unheard;
 * when it is started again each carrier is to find out who runs, as the agent tells it (see meet).
 *
 * The rules: calls and CPU go to the context that is current on the carrier, which is the one where
 * the thread stood when it was unmounted, on whatever carrier. Each start begins at the roots. Of
 * threads that were moved unheard no carrier writes anything but the one that runs them. A dump
 * changes nothing and shows all.
 *
 * One kernel thread plays both carriers in turn. States are kept and brought back by copying the
 * ledger and all that is in memory: the sequences are walked as a tree.
 */
#include "mount_model.h"
#include "native/snapshot/snapshot.h"
#include "native/thread/kernel_thread_events.h"

#include <sys/mman.h>

/* Instrumented code is slow. More steps: TREADLE_LENGTH=9. */
#if defined(__SANITIZE_THREAD__)
#define LENGTH 5
#elif defined(__SANITIZE_ADDRESS__)
#define LENGTH 6
#else
#define LENGTH 7
#endif
#define DUMP_EVERY 997

static struct saved saved[LENGTH_MOST];
static int length_most;
static int dump_length_most; /* sequences up to it are dumped, and some of the others */
static uint64_t sequences, dumps;

/* Both carriers have the same clock: that of this kernel thread. */
static void dump_and_compare(void)
{
    static struct saved before;
    struct ledger copy;
    keep(&before);
    int fd = memfd_create("snapshot", MFD_CLOEXEC);
    uint64_t least_ns = thread_cpu_ns();
    assert_int_equal(snapshot__copy(world->ledger.fd, fd), 0);
    uint64_t most_ns = thread_cpu_ns();
    if (!is_as_kept(&before))
        fail_msg("a dump has changed something, after:%s", path_text());
    off_t bytes = lseek(fd, 0, SEEK_END);
    assert_int_equal(ledger__adopt(&copy, fd, (uint64_t)bytes, 64u << 10), 0);
    uint64_t sum_ns = compare_threads(&copy, false);
    compare_current(&copy);
    /* With the rows of threads that are folded away the carrier's clock has nowhere to go. */
    if (sum_ns > CARRIERS * most_ns || (sum_ns < CARRIERS * least_ns && copy.header->fold_none))
        fail_msg("a dump has %llu ns, not %llu to %llu, after:%s", (unsigned long long)sum_ns,
                 (unsigned long long)(CARRIERS * least_ns),
                 (unsigned long long)(CARRIERS * most_ns), path_text());
    ledger__close(&copy);
    (void)close(fd);
    dumps++;
}

/* ---- the steps ---- */

/* The threads' CPU of the model is what the trees have: who of these got what of a charge, when
 * events began to count again, the rules do not tell. */
static void take_cpu_over(int thread)
{
    struct model_thread have = {0}, *model = &now.model.threads[thread];
    if (now.refs[thread] == 0)
        return;
    read_tree(&world->ledger, thread_of(&world->ledger, thread)->root, &have);
    memcpy(model->cpu_ns, have.cpu_ns, sizeof have.cpu_ns);
    model->root_cpu_ns = have.root_cpu_ns;
}

static void begin_virtual(int carrier, int thread)
{
    char name[16];
    (void)snprintf(name, sizeof name, "v%d", thread - CARRIERS + 1);
    const struct java_thread_facts facts = {.name = name,
                                            .name_length = strlen(name),
                                            .kind = THREAD_VIRTUAL,
                                            .java_id = (uint64_t)thread};
    now.refs[thread] = virtual_thread__begin(&now.carriers[carrier], &facts);
    assert_int_not_equal(now.refs[thread], 0);
}

static void mount(int carrier, int thread)
{
    if (now.refs[thread] == 0)
        begin_virtual(carrier, thread);
    if (!virtual_thread__mount(&now.carriers[carrier], now.refs[thread]))
        fail_msg("not mounted, after:%s", path_text());
    now.model.threads[thread].begun = true;
    now.model.threads[thread].waits = false;
    now.model.met[carrier] = true;
}

/* At the first call since profiling was started again: the JVM is asked who runs. Whether that one
 * was mounted anew nobody can tell. */
static void identify(int carrier)
{
    struct kernel_thread *kernel_thread = &now.carriers[carrier];
    int thread = runner(carrier);
    if (thread == carrier) {
        virtual_thread__identify(kernel_thread, 0);
        return;
    }
    struct model_thread *model = &now.model.threads[thread];
    virtual_thread__identify(kernel_thread, now.refs[thread]);
    if (now.refs[thread] == 0 || kernel_thread->thread != thread_of(&world->ledger, thread))
        mount(carrier, thread);
    model->waits = false;
    model->mounts += thread_of(&world->ledger, thread)->mounts == model->mounts + 1;
}

static void step_mount(const struct step *step)
{
    now.model.mounted[step->carrier] = step->thread;
    if (now.model.virtuals <= step->thread - CARRIERS)
        now.model.virtuals++;
    if (!now.model.profiling)
        return;
    if (now.carriers[step->carrier].unidentified)
        virtual_thread__identify(&now.carriers[step->carrier], 0);
    mount(step->carrier, step->thread);
    now.model.threads[step->thread].mounts++;
}

/* Was it known that it was mounted there? It was, unless profiling was stopped meanwhile. */
static bool prepare_to_leave(const struct step *step, int thread)
{
    struct kernel_thread *kernel_thread = &now.carriers[step->carrier];
    if (kernel_thread->unidentified)
        virtual_thread__identify(kernel_thread, now.refs[thread]);
    bool known = virtual_thread__is_mounted(kernel_thread) && now.refs[thread] != 0 &&
                 kernel_thread->thread == thread_of(&world->ledger, thread);
    assert_true(known || !now.model.met[step->carrier]);
    return known;
}

static void step_unmount(const struct step *step)
{
    int thread = now.model.mounted[step->carrier];
    now.model.mounted[step->carrier] = NOBODY;
    now.model.left[step->carrier] = thread;
    if (!now.model.profiling)
        return;
    bool known = prepare_to_leave(step, thread);
    virtual_thread__unmount(&now.carriers[step->carrier]);
    now.model.threads[thread].waits |= known;
    now.model.met[step->carrier] |= known;
}

static void step_end(const struct step *step)
{
    struct model_thread *model = &now.model.threads[step->thread];
    bool mounted = now.model.mounted[step->carrier] == step->thread;
    model->over = true;
    if (mounted)
        now.model.mounted[step->carrier] = NOBODY;
    model->over_unheard = !now.model.profiling;
    if (!now.model.profiling || now.refs[step->thread] == 0)
        return;
    if (mounted)
        now.model.met[step->carrier] |= prepare_to_leave(step, step->thread);
    if (!virtual_thread__end(&now.carriers[step->carrier], now.refs[step->thread]))
        now.refs[step->thread] = 0;
    model->waits = false;
}

static void step_call(const struct step *step)
{
    struct kernel_thread *kernel_thread = &now.carriers[step->carrier];
    struct model_thread *model = &now.model.threads[runner(step->carrier)];
    uint64_t key = 'A' + (uint64_t)model->depth;
    uint64_t token = kernel_thread__push(kernel_thread, key);
    if (token == CALL_TOKEN_NONE && now.model.profiling) {
        identify(step->carrier);
        token = kernel_thread__push(kernel_thread, key);
    }
    assert_true((token != CALL_TOKEN_NONE) == now.model.profiling);
    model->tokens[model->depth] = token;
    if (now.model.profiling) {
        model->calls[context((uint64_t)model->start, (uint64_t)model->depth)]++;
        now.model.met[step->carrier] = true;
    }
    model->depth++;
}

static void step_return(const struct step *step)
{
    struct model_thread *model = &now.model.threads[runner(step->carrier)];
    model->depth--;
    if (model->start > model->depth)
        model->start = model->depth;
    kernel_thread__pop(&now.carriers[step->carrier], model->tokens[model->depth]);
}

static void step_stop_or_start(const struct step *step)
{
    struct ledger_header *header = world->ledger.header;
    uint64_t now_ns = ledger_time__now_ns(&world->setup.time);
    (void)step;
    now.model.profiling = !now.model.profiling;
    if (now.model.profiling) {
        header->unprofiled_wall_ns += now_ns - header->since_ns;
        for (int k = 0; k < CARRIERS; k++) {
            now.carriers[k].unidentified = true;
            now.model.met[k] = false;
        }
        for (int t = 0; t < THREADS; t++)
            now.model.threads[t].start = now.model.threads[t].depth;
    }
    header->since_ns = now_ns;
    header->profiling = now.model.profiling;
    world->setup.epoch = now.model.profiling ? ++now.epochs : EPOCH_STOPPED;
}

static void (*const steps[STEP_KINDS])(const struct step *step) = {
    step_mount, step_unmount, step_end, step_call, step_return, step_stop_or_start,
};

static bool is_allowed(const struct step *step)
{
    const struct model *model = &now.model;
    int on = model->mounted[step->carrier];
    if (step->kind != STOP_OR_START && !model->begun && step->carrier != 0)
        return false;
    switch (step->kind) {
    case MOUNT:
        return on == NOBODY && model->mounted[1 - step->carrier] != step->thread &&
               !model->threads[step->thread].over && step->thread - CARRIERS <= model->virtuals;
    case UNMOUNT:
        return on != NOBODY;
    case END:
        return on == step->thread || model->left[step->carrier] == step->thread;
    case CALL:
        return model->threads[runner(step->carrier)].depth < DEPTH_MOST;
    case RETURN:
        return model->threads[runner(step->carrier)].depth > 0;
    default:
        return true;
    }
}

/* What the step charged goes to where the thread stood that ran, if that was known; else only to
 * those that run there before or after. */
static void take(const struct step *step)
{
    int before = runner(step->carrier);
    struct model_thread *model = &now.model.threads[before];
    uint64_t *place =
        model->depth > model->start
            ? &model->cpu_ns[context((uint64_t)model->start, (uint64_t)model->depth - 1)]
            : &model->root_cpu_ns;
    bool was_met = now.model.met[step->carrier];
    uint64_t charged[CARRIERS] = {charged_ns(0), charged_ns(1)};
    uint64_t begun_ns = thread_cpu_ns();
    bool ended = step->kind == END && now.model.mounted[step->carrier] == NOBODY;
    steps[step->kind](step);
    now.model.begun |= step->kind != STOP_OR_START;
    if (step->kind != UNMOUNT)
        now.model.left[0] = now.model.left[1] = NOBODY;
    else
        now.model.left[1 - step->carrier] = NOBODY;
    assert_int_equal(charged_ns(1 - step->carrier), charged[1 - step->carrier]);
    if (was_met && now.model.profiling && step->kind != STOP_OR_START && !ended &&
        charged_ns(step->carrier) < begun_ns)
        fail_msg("not all is charged, after:%s", path_text());
    if (was_met) {
        *place += charged_ns(step->carrier) - charged[step->carrier];
        return;
    }
    take_cpu_over(before);
    take_cpu_over(runner(step->carrier));
    take_cpu_over(step->carrier);
}

/* ---- all sequences ---- */

static void walk(void);

static void try_step(enum step_kind kind, int carrier, int thread)
{
    const struct step step = {kind, carrier, thread};
    if (!is_allowed(&step))
        return;
    path[path_length++] = step;
    take(&step);
    compare_all();
    sequences++;
    if (path_length <= dump_length_most || sequences % DUMP_EVERY == 0)
        dump_and_compare();
    if (path_length < length_most)
        walk();
    bring_back(&saved[--path_length]);
}

static void walk(void)
{
    keep(&saved[path_length]);
    try_step(STOP_OR_START, 0, 0);
    for (int k = 0; k < CARRIERS; k++) {
        try_step(CALL, k, 0);
        try_step(RETURN, k, 0);
        try_step(UNMOUNT, k, 0);
        for (int t = CARRIERS; t < THREADS; t++) {
            try_step(MOUNT, k, t);
            try_step(END, k, t);
        }
    }
}

static void begin_carrier(int k)
{
    struct ledger *ledger = &world->ledger;
    struct kernel_thread *kernel_thread = &now.carriers[k];
    const char *name = k == 0 ? "carrier-0" : "carrier-1";
    const struct java_thread_facts facts = {.name = name,
                                            .name_length = strlen(name),
                                            .kind = THREAD_CARRIER,
                                            .java_id = 100 + (uint64_t)k};
    struct ledger_kernel_thread *record =
        ledger__at(ledger, ledger__take_shared(ledger, LEDGER_KERNEL_THREADS,
                                               sizeof *record / LEDGER_CELL_BYTES));
    java_world__begin_here(world, kernel_thread, record);
    assert_int_equal(kernel_thread__start_java(kernel_thread, &facts), 0);
    now.refs[k] = record->thread;
    now.model.threads[k].begun = true;
    now.model.mounted[k] = now.model.left[k] = NOBODY;
    now.model.met[k] = true;
    take_cpu_over(k);
}

/* Where the sequences begin: at nothing; and in the middle of a thread that was moved unheard, once
 * or twice. */
static const struct step from_nothing[] = {{STEP_KINDS, 0, 0}};
static const struct step moved[] = {
    {MOUNT, 0, CARRIERS},  {CALL, 0, 0},         {STOP_OR_START, 0, 0}, {UNMOUNT, 0, 0},
    {STOP_OR_START, 0, 0}, {MOUNT, 1, CARRIERS}, {CALL, 1, 0},          {STEP_KINDS, 0, 0}};
static const struct step moved_twice[] = {
    {MOUNT, 0, CARRIERS},  {STOP_OR_START, 0, 0}, {UNMOUNT, 0, 0},
    {STOP_OR_START, 0, 0}, {MOUNT, 1, CARRIERS},  {UNMOUNT, 1, 0},
    {STOP_OR_START, 0, 0}, {MOUNT, 0, CARRIERS},  {STEP_KINDS, 0, 0}};

static void walk_from(const struct step *begin)
{
    for (path_length = 0; begin->kind != STEP_KINDS; begin++) {
        path[path_length++] = *begin;
        assert_true(is_allowed(begin));
        take(begin);
        compare_all();
    }
    length_most += path_length;
    dump_length_most += path_length;
    walk();
}

static void check_all(bool fold, const struct step *begin, int most, int dump_most)
{
    memset(&now, 0, sizeof now);
    world = java_world__make(MIB, LEDGER_CLOCK_PLAIN, 0, false);
    assert_non_null(world);
    world->ledger.header->fold_none = !fold;
    world->ledger.header->kept_threads = THREADS_KEPT;
    world->ledger.header->profiling = 1;
    /* What is made once for all is there from the beginning: it is not in what is brought back. */
    for (uint64_t depth = 0; depth < DEPTH_MOST; depth++)
        (void)make_letter_method(&world->maker, 'A' + depth);
    (void)ledger__string(&world->ledger, "v#", 2);
    now.epochs = 1;
    now.model.profiling = true;
    for (int k = 0; k < CARRIERS; k++)
        begin_carrier(k);
    compare_all();
    sequences = dumps = 0;
    length_most = most;
    dump_length_most = dump_most;
    uint64_t start_ns = read_ns(CLOCK_MONOTONIC);
    walk_from(begin);
    print_message("%s: %llu sequences of up to %d steps, %llu dumps, %.1f s\n",
                  fold ? "folded" : "not folded", (unsigned long long)sequences, most,
                  (unsigned long long)dumps, (double)(read_ns(CLOCK_MONOTONIC) - start_ns) / 1e9);
}

static int length(void)
{
    const char *given = getenv("TREADLE_LENGTH");
    long steps_wanted = given != NULL ? strtol(given, NULL, 10) : LENGTH;
    return steps_wanted < LENGTH_MOST / 2 ? (int)steps_wanted : LENGTH_MOST / 2;
}

static void every_sequence_is_as_the_rules_have_it(void **state)
{
    (void)state;
    check_all(false, from_nothing, length(), length() / 2 + 1);
    check_all(true, from_nothing, length(), length() / 2 + 1);
}

static void threads_that_are_moved_unheard_have_one_writer(void **state)
{
    (void)state;
    check_all(false, moved, length() - 1, 2);
    check_all(true, moved, length() - 1, 2);
    check_all(false, moved_twice, length() - 1, 2);
    check_all(true, moved_twice, length() - 1, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sequence_is_as_the_rules_have_it),
        cmocka_unit_test(threads_that_are_moved_unheard_have_one_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
