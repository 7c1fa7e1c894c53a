/*
 * Which methods get their hooks back, when, and at what price. The test says how the methods fell
 * silent, what samples found, and what each second left of the budget; it changes no class, and
 * says what the change took. A second has 20 ms of budget, and a class is taken to cost 100 ms
 * before the first change: sums are worked out from that.
 */
#include "agent/budget/hook_renewal.h"
#include "agent/hooks/class_changes.h"
#include "agent/host/log.h"
#include "agent/threads/lasting_calls.h"
#include "native/host/own_thread.h"
#include "tests/unit/quota_run.h"

#define MS          UINT64_C(1000000)
#define BUDGET_MS   20u
#define SETTLED_S   5u /* the compilers must have been quiet for so long */
#define PAUSE_S     10u
#define AFTER_S     8u /* after a change nothing is changed */
#define BETWEEN_S   5u /* two looks whether there is enough for a change, at most */
#define LASTED_S    60u
#define FAVOURED    40000u
#define USUAL_NS    (10 * MS) /* the compilers' CPU time in a second */
#define SAMPLES     1000u
#define CHANGES_MAX 4u /* of one method */
#define WORLDS_MAX  16u

/* The thread that changes classes: the test itself. */
static int thread_error;

int own_thread__create(void *(*run)(void *context), void *context, size_t stack_bytes)
{
    (void)run, (void)context, (void)stack_bytes;
    return thread_error;
}

void class_changes__renew(struct class_hooks *class_hooks, JNIEnv *jni, const uint32_t *methods,
                          uint32_t count)
{
    (void)class_hooks, (void)jni, (void)methods, (void)count;
}

void class_changes__hook_locks(struct class_hooks *class_hooks, JNIEnv *jni, bool locks,
                               uint32_t shared)
{
    (void)class_hooks, (void)jni, (void)locks, (void)shared;
}

void class_changes__remove_silent(struct class_hooks *class_hooks, JNIEnv *jni)
{
    (void)class_hooks, (void)jni;
}

void lasting_calls__find(struct lasting_calls *calls, jvmtiEnv *jvmti, JNIEnv *jni,
                         enum lasting_doubt doubt, uint64_t look_ns)
{
    (void)jvmti, (void)jni, (void)doubt, (void)look_ns;
    memset(calls, 0, sizeof *calls);
}

bool lasting_calls__has(const struct lasting_calls *calls, const char *class_name)
{
    (void)calls, (void)class_name;
    return false;
}

void lasting_calls__release(struct lasting_calls *calls)
{
    (void)calls;
}

void log__line(enum log_level level, const char *format, ...)
{
    (void)level, (void)format;
}

struct world {
    struct run run;
    struct class_hooks hooks;
    struct sampler sampler;
    _Atomic bool profiling;
    struct hook_renewal renewal;
    double left_ms; /* of the budget, in each second */
    double room_ms;
    uint64_t compilers_ns;
};

/* All can be reached, for the leak checker. */
static struct world *begin_world(void)
{
    static struct world *kept[WORLDS_MAX];
    static unsigned count;
    struct world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    assert_true(count < WORLDS_MAX);
    kept[count++] = world;
    (void)kept;
    begin(&world->run, 1000 * SECOND);
    world->run.quotas.overhead_ppm = BUDGET_MS * 1000;
    world->run.quotas.is_settled = true;
    world->run.quotas.favoured_rate = FAVOURED;
    method_numbers__init(&world->hooks.methods, 1u << 20);
    java_methods__init(&world->sampler.methods, NULL);
    world->profiling = true;
    world->renewal = (struct hook_renewal){.hooks = &world->hooks,
                                           .quotas = &world->run.quotas,
                                           .sampler = &world->sampler,
                                           .ledger = &world->run.ledger,
                                           .time = &world->run.time,
                                           .profiling = &world->profiling};
    hook_renewal__init(&world->renewal);
    world->left_ms = world->room_ms = BUDGET_MS;
    world->compilers_ns = USUAL_NS;
    return world;
}

static void end_world(struct world *world)
{
    end(&world->run);
}

static struct class_text text_of(const char *word)
{
    return (struct class_text){(const uint8_t *)word, (uint32_t)strlen(word)};
}

static struct method_quota *quota_of(struct world *world, uint32_t method)
{
    return &world->run.quotas.methods[method];
}

/* A method of a loaded class, off for a quarter of an hour, which made so many calls a second when
 * it fell silent. */
static uint32_t off_method(struct world *world, const char *class_name, const char *name,
                           uint32_t rate)
{
    struct method_numbers *numbers = &world->hooks.methods;
    struct numbered_class *class = method_numbers__class(numbers, text_of(class_name));
    uint32_t method = method_numbers__id(numbers, class, text_of(name), text_of("()V"));
    const struct ledger_method_names names = {
        .class_name = class_name, .name = name, .signature = "()V"};

    assert_int_not_equal(ledger__add_method(&world->run.ledger, method, &names, 0), 0);
    (void)numbered_class__mark(class, CLASS_HOOKED);
    *quota_of(world, method) = (struct method_quota){
        .state = HOOKING_OFF, .rate = rate, .from_ns = 1, .since_ns = 100 * SECOND};
    return method;
}

static uint32_t postponed_method(struct world *world, const char *class_name, const char *name)
{
    uint32_t method = off_method(world, class_name, name, 0);

    quota_of(world, method)->from_ns = 0;
    quota_of(world, method)->is_postponed = true;
    return method;
}

/* Samples found the method on so many stacks that say nothing finer. */
static void found(struct world *world, const char *class_name, const char *name, uint32_t samples)
{
    struct java_method *method =
        java_methods__by_name(&world->sampler.methods, class_name, strlen(class_name), name,
                              strlen(name), "()V", strlen("()V"));

    assert_non_null(method);
    method->coarse += samples;
}

static void sampled(struct world *world, uint32_t coarse)
{
    world->sampler.merge.tallies.java_samples += SAMPLES;
    world->sampler.merge.tallies.coarse_samples += coarse;
}

static void look(struct world *world)
{
    struct budget_second second = {.cpu_ns = SECOND,
                                   .compilers_ns = world->compilers_ns,
                                   .left_ns = world->left_ms * (double)MS,
                                   .room_ns = world->room_ms * (double)MS};

    pass(&world->run, SECOND);
    second.now_ns = ledger_time__now_ns(&world->run.time);
    hook_renewal__look(&world->renewal, &second);
}

static bool has_begun(const struct world *world)
{
    return atomic_load(&world->renewal.changing);
}

/* So many seconds in which no change may begin. */
static void idle(struct world *world, unsigned seconds)
{
    for (unsigned i = 0; i < seconds; i++) {
        look(world);
        assert_false(has_begun(world));
    }
}

/* A change must begin within so many seconds: of these methods and no others, in any order. */
static void changes_within(struct world *world, unsigned seconds, uint32_t count,
                           const uint32_t *methods)
{
    for (unsigned i = 0; i < seconds && !has_begun(world); i++)
        look(world);
    assert_true(has_begun(world));
    assert_int_equal(world->renewal.count, count);
    for (uint32_t i = 0; i < count; i++) {
        bool is_there = false;

        for (uint32_t k = 0; k < count; k++)
            is_there |= world->renewal.methods[k] == methods[i];
        assert_true(is_there);
    }
}

/* What the thread does that changes classes, in so much CPU time. */
static void change_is_over(struct world *world, uint64_t took_ns)
{
    struct hook_renewal *renewal = &world->renewal;

    for (uint32_t i = 0; i < renewal->count; i++) {
        assert_true(hook_quotas__begin_renewal(&world->run.quotas, renewal->methods[i]));
        hook_quotas__end_renewal(&world->run.quotas, NULL, renewal->methods[i], true);
        assert_true(hook_quotas__hear(&world->run.quotas, renewal->methods[i]));
    }
    atomic_store(&renewal->changed_ns, ledger_time__now_ns(&world->run.time));
    atomic_fetch_add(&renewal->took_ns, took_ns);
    atomic_store(&renewal->changing, false);
}

static void falls_silent(struct world *world, uint32_t method)
{
    quota_of(world, method)->state = HOOKING_OFF;
    quota_of(world, method)->since_ns = ledger_time__now_ns(&world->run.time);
}

/* 5 s until the compilers count as settled, and five seconds' budget for the first class: the
 * method called least. It took 30 ms, and the compilers 40 ms more than usual, which count twice:
 * with the guess of 100 ms before that makes (100 + 110) / 2 ms a class. Six seconds' budget is
 * then enough for one, with the method whose calls nobody knows last of all. */
static void the_rarest_come_first_as_the_budget_saves_up_for_them(void **state)
{
    (void)state;
    struct world *world = begin_world();
    uint32_t often = off_method(world, "p/Often", "run", 50);
    uint32_t rare = off_method(world, "p/Rare", "run", 5);
    uint32_t unknown = postponed_method(world, "p/Unknown", "run");

    sampled(world, 0);
    idle(world, SETTLED_S + 4);
    changes_within(world, BETWEEN_S, 1, &rare);
    change_is_over(world, 30 * MS);

    world->left_ms = -120; /* what was saved */
    world->compilers_ns = USUAL_NS + 40 * MS;
    idle(world, 1);
    world->left_ms = 0;
    world->compilers_ns = USUAL_NS;
    idle(world, AFTER_S - 1);
    assert_int_equal(hook_renewal__cost_ns(&world->renewal) / MS, 110);
    look(world);
    assert_int_equal((uint64_t)(world->renewal.price_ns / 1e6), 105);

    world->left_ms = BUDGET_MS;
    idle(world, 5);
    changes_within(world, BETWEEN_S, 1, &often);
    change_is_over(world, 100 * MS);
    world->left_ms = -200;
    idle(world, 1);
    world->left_ms = 0;
    idle(world, AFTER_S);
    world->left_ms = 1000;
    changes_within(world, BETWEEN_S, 1, &unknown);
    end_world(world);
}

/* The compilers work every fourth second only, 40 ms each time, and the change comes when they
 * rest: what they do in the eight seconds after it is what they do anyway. */
static void work_of_compilers_by_fits_and_starts_is_no_price(void **state)
{
    (void)state;
    struct world *world = begin_world();
    uint32_t rare = off_method(world, "p/Rare", "run", 5);
    unsigned second = 0;

    sampled(world, 0);
    world->left_ms = 0;
    for (; second < 80 || second % 4; second++) {
        world->compilers_ns = second % 4 ? 0 : 40 * MS;
        idle(world, 1);
    }
    world->left_ms = 1000;
    world->compilers_ns = 0;
    changes_within(world, BETWEEN_S, 1, &rare);
    change_is_over(world, 0);
    world->left_ms = 0;
    for (second = 0; second < AFTER_S; second++) {
        world->compilers_ns = second % 4 == 1 ? 40 * MS : 0;
        idle(world, 1);
    }
    assert_true(hook_renewal__cost_ns(&world->renewal) < 40 * MS);
    end_world(world);
}

/* A second's budget is saved ten times: both classes at once, with all methods of theirs that are
 * due, and without the one that fell silent just now. */
static void all_methods_of_a_class_that_are_due_come_with_it(void **state)
{
    (void)state;
    struct world *world = begin_world();
    uint32_t methods[] = {off_method(world, "p/A", "a", 5), off_method(world, "p/A", "b", 3000),
                          postponed_method(world, "p/A", "c"), off_method(world, "p/B", "a", 60)};
    uint32_t fresh = off_method(world, "p/A", "d", 1);

    sampled(world, 0);
    idle(world, SETTLED_S);
    falls_silent(world, fresh);
    world->left_ms = 200;
    changes_within(world, BETWEEN_S, 4, methods);
    end_world(world);
}

/* 400 of 1,000 samples are coarse, and stand in a method of p.Heavy: its class alone is changed, on
 * credit, though a rare one is there. Not the class of a method that was on all of these stacks,
 * but makes more calls than a favoured one may. */
static void a_heavy_method_is_heard_on_credit(void **state)
{
    (void)state;
    struct world *world = begin_world();
    uint32_t heavy[] = {off_method(world, "p/Heavy", "run", 900),
                        off_method(world, "p/Heavy", "other", 900)};
    uint32_t hot = off_method(world, "p/Hot", "run", FAVOURED + 1);

    (void)off_method(world, "p/Rare", "run", 5);
    world->left_ms = 0;
    world->room_ms = -1;
    idle(world, SETTLED_S - 1);
    sampled(world, 400);
    found(world, "p.Heavy", "run", 390);
    found(world, "p.Hot", "run", 400);
    changes_within(world, BETWEEN_S, 2, heavy);
    change_is_over(world, 0);
    assert_true(quota_of(world, heavy[0])->is_favoured);
    assert_int_equal(quota_of(world, heavy[0])->weight, 390000);
    assert_false(quota_of(world, heavy[1])->is_favoured);
    assert_false(quota_of(world, hot)->is_favoured);
    end_world(world);
}

/* The same, with 25 % of the samples coarse: the time is divided well enough. With 13 minutes'
 * budget owed there is no more credit. And while the compilers are busy nothing is changed. */
static void there_is_no_credit_without_need_or_without_end(void **state)
{
    (void)state;
    struct world *world = begin_world();
    uint32_t heavy = off_method(world, "p/Heavy", "run", 900);

    world->left_ms = 0;
    for (unsigned i = 0; i < 4; i++) {
        sampled(world, 250);
        found(world, "p.Heavy", "run", 250);
        idle(world, BETWEEN_S + SETTLED_S);
    }
    world->left_ms = -(double)BUDGET_MS * 13 * 60;
    idle(world, 1);
    world->left_ms = 0;
    for (unsigned i = 0; i < 4; i++) {
        sampled(world, 900);
        found(world, "p.Heavy", "run", 900);
        idle(world, BETWEEN_S);
    }
    world->run.quotas.is_settled = false;
    world->left_ms = 1000;
    sampled(world, 900);
    found(world, "p.Heavy", "run", 900);
    idle(world, 2 * BETWEEN_S);
    world->run.quotas.is_settled = true;
    sampled(world, 900);
    found(world, "p.Heavy", "run", 900);
    changes_within(world, SETTLED_S + BETWEEN_S + 1, 1, &heavy);
    end_world(world);
}

/* A class that the JVM refused, one that must stay as it is, one that is being loaded, one whose
 * calls last, and a method that was tried often enough. A minute later the calls that lasted are
 * looked at again. */
static void some_classes_are_left_alone(void **state)
{
    (void)state;
    struct world *world = begin_world();
    struct method_numbers *numbers = &world->hooks.methods;
    uint32_t lasting;

    (void)off_method(world, "p/Refused", "run", 5);
    (void)off_method(world, "p/Kept", "run", 5);
    (void)off_method(world, "p/Loading", "run", 5);
    quota_of(world, off_method(world, "p/Tried", "run", 5))->renewals = CHANGES_MAX;
    lasting = off_method(world, "p/Lasting", "run", 5);
    quota_of(world, lasting)->lasted_ns = ledger_time__now_ns(&world->run.time);
    (void)numbered_class__mark(method_numbers__find_class(numbers, "p/Refused"), CLASS_REFUSED);
    (void)numbered_class__mark(method_numbers__find_class(numbers, "p/Kept"), CLASS_KEPT);
    sampled(world, 0);
    for (unsigned i = 0; i < LASTED_S - 2; i++) {
        numbered_class__set_rewritten(method_numbers__find_class(numbers, "p/Loading"),
                                      ledger_time__now_ns(&world->run.time));
        idle(world, 1);
    }
    (void)numbered_class__mark(method_numbers__find_class(numbers, "p/Loading"), CLASS_KEPT);
    changes_within(world, 20, 1, &lasting);
    end_world(world);
}

/* Silent again after each change: the next one comes after 10 s, then 60, 360 and 2,160 s more, and
 * then none does. */
static void each_try_waits_longer_than_the_one_before(void **state)
{
    (void)state;
    struct world *world = begin_world();
    uint32_t method = off_method(world, "p/A", "run", 5);
    unsigned pause_s = PAUSE_S;

    sampled(world, 0);
    world->left_ms = 1000;
    idle(world, SETTLED_S - 1);
    for (unsigned i = 0; i < CHANGES_MAX; i++, pause_s *= 6) {
        falls_silent(world, method);
        idle(world, pause_s - 1);
        changes_within(world, PAUSE_S + 3, 1, &method);
        change_is_over(world, MS);
    }
    falls_silent(world, method);
    idle(world, 20000);
    end_world(world);
}

/* ---- hooks that are silent after a stop ---- */

#define SILENT_S 60u

static void stops(struct world *world)
{
    world->profiling = false;
    world->hooks.time = &world->run.time;
    atomic_store(&world->hooks.silent_since_ns, ledger_time__now_ns(&world->run.time));
}

static bool takes_out(struct world *world)
{
    hook_renewal__remove_silent(&world->renewal);
    return has_begun(world) && atomic_load(&world->renewal.for_removal);
}

static void hooks_come_out_a_minute_after_the_stop(void **state)
{
    (void)state;
    struct world *world = begin_world();

    stops(world);
    for (unsigned i = 0; i < SILENT_S - 1; i++) {
        pass(&world->run, SECOND);
        assert_false(takes_out(world));
    }
    pass(&world->run, SECOND);
    assert_true(takes_out(world));
    end_world(world);
}

/* Nor before the first stop. */
static void a_start_in_time_leaves_the_hooks_where_they_are(void **state)
{
    (void)state;
    struct world *world = begin_world();

    world->hooks.time = &world->run.time;
    assert_false(takes_out(world));
    for (unsigned i = 0; i < 3; i++) {
        stops(world);
        pass(&world->run, (SILENT_S - 1) * SECOND);
        assert_false(takes_out(world));
        atomic_store(&world->hooks.silent_since_ns, 0);
        pass(&world->run, 2 * SECOND);
        assert_false(takes_out(world));
    }
    end_world(world);
}

/* One change at a time; and without a thread there is none, which is tried once. */
static void hooks_come_out_when_no_other_change_goes_on(void **state)
{
    (void)state;
    struct world *world = begin_world();

    stops(world);
    pass(&world->run, SILENT_S * SECOND);
    atomic_store(&world->renewal.changing, true);
    assert_false(takes_out(world));
    atomic_store(&world->renewal.changing, false);
    world->renewal.has_thread = false;
    thread_error = -1;
    assert_false(takes_out(world));
    assert_false(hook_renewal__may_change(&world->renewal));
    thread_error = 0;
    assert_false(takes_out(world));
    end_world(world);
}

/* ---- hooks of locks ---- */

#define LOCKS_PAUSE_S 2u /* between changes for monitors */

static bool hooks_locks(struct world *world, struct lock_waits *locks)
{
    hook_renewal__hook_locks(&world->renewal, locks);
    if (!has_begun(world))
        return false;
    assert_true(atomic_exchange(&world->renewal.for_locks, false));
    atomic_store(&world->renewal.changing, false);
    return true;
}

static struct world *begin_with_locks(struct lock_waits **locks)
{
    struct world *world = begin_world();

    *locks = calloc(1, sizeof **locks);
    assert_non_null(*locks);
    world->renewal.has_thread = true;
    assert_false(hooks_locks(world, *locks));
    return world;
}

static void each_kind_of_locks_is_hooked_at_once_and_once(void **state)
{
    (void)state;
    struct lock_waits *locks;
    struct world *world = begin_with_locks(&locks);

    atomic_store(&locks->holds.locks_wanted, true);
    assert_true(hooks_locks(world, locks));
    assert_true(world->renewal.owners_wanted && !world->renewal.shared_wanted);
    for (unsigned kind = 0; kind < SHARED_KINDS; kind++) {
        assert_false(hooks_locks(world, locks));
        atomic_fetch_or(&locks->shared.wanted, 1u << kind);
        assert_true(hooks_locks(world, locks));
        assert_int_equal(world->renewal.shared_wanted, (2u << kind) - 1);
    }
    for (unsigned i = 0; i < 2 * LOCKS_PAUSE_S; i++) {
        pass(&world->run, SECOND);
        assert_false(hooks_locks(world, locks));
    }
    free(locks);
    end_world(world);
}

static void kinds_that_were_contended_meanwhile_come_together(void **state)
{
    (void)state;
    struct lock_waits *locks;
    struct world *world = begin_with_locks(&locks);

    atomic_store(&locks->holds.locks_wanted, true);
    atomic_store(&world->renewal.changing, true);
    hook_renewal__hook_locks(&world->renewal, locks);
    assert_false(world->renewal.owners_wanted);
    atomic_store(&locks->shared.wanted, 1u << SHARED_READ | 1u << SHARED_STAMPED);
    atomic_store(&world->renewal.changing, false);
    assert_true(hooks_locks(world, locks));
    assert_true(world->renewal.owners_wanted);
    assert_int_equal(world->renewal.shared_wanted, 1u << SHARED_READ | 1u << SHARED_STAMPED);
    free(locks);
    end_world(world);
}

/* There may be a new one at any time; one that is wanted comes with a kind of Locks. */
static void classes_with_monitors_wait_for_one_another(void **state)
{
    (void)state;
    struct lock_waits *locks;
    struct world *world = begin_with_locks(&locks);

    atomic_store(&locks->holds.classes_wanted, true);
    assert_true(hooks_locks(world, locks));
    atomic_store(&locks->holds.classes_wanted, true);
    pass(&world->run, SECOND);
    assert_false(hooks_locks(world, locks));
    assert_true(atomic_load(&locks->holds.classes_wanted));
    pass(&world->run, (LOCKS_PAUSE_S - 1) * SECOND);
    assert_true(hooks_locks(world, locks));
    atomic_store(&locks->holds.classes_wanted, true);
    atomic_store(&locks->shared.wanted, 1u << SHARED_SEMAPHORE);
    assert_true(hooks_locks(world, locks));
    assert_false(atomic_load(&locks->holds.classes_wanted));
    free(locks);
    end_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rarest_come_first_as_the_budget_saves_up_for_them),
        cmocka_unit_test(work_of_compilers_by_fits_and_starts_is_no_price),
        cmocka_unit_test(all_methods_of_a_class_that_are_due_come_with_it),
        cmocka_unit_test(a_heavy_method_is_heard_on_credit),
        cmocka_unit_test(there_is_no_credit_without_need_or_without_end),
        cmocka_unit_test(some_classes_are_left_alone),
        cmocka_unit_test(each_try_waits_longer_than_the_one_before),
        cmocka_unit_test(hooks_come_out_a_minute_after_the_stop),
        cmocka_unit_test(a_start_in_time_leaves_the_hooks_where_they_are),
        cmocka_unit_test(hooks_come_out_when_no_other_change_goes_on),
        cmocka_unit_test(each_kind_of_locks_is_hooked_at_once_and_once),
        cmocka_unit_test(kinds_that_were_contended_meanwhile_come_together),
        cmocka_unit_test(classes_with_monitors_wait_for_one_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
