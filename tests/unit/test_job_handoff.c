/* Jobs that threads hand to a resting one: on which thread each is done, and that none is lost. */
#include "burn.h"
#include "native/host/job_handoff.h"

#include <pthread.h>
#include <stdlib.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define LIMIT_NS  (1000 * MS)
#define MINUTE_NS UINT64_C(60000000000)
#define CALLERS   4u
#define JOBS      200u

struct job {
    pthread_t thread; /* the one that did it, or the last one */
    unsigned done;
};

static void work(void *context)
{
    struct job *job = context;

    job->thread = pthread_self();
    job->done++;
}

static void *rest(void *context)
{
    while (!job_handoff__rest(context, MINUTE_NS))
        continue;
    return NULL;
}

static void jobs_are_done_by_the_resting_thread(void **state)
{
    struct job_handoff handoff;
    struct job job = {.done = 0};
    pthread_t resting;

    (void)state;
    job_handoff__init(&handoff);
    assert_int_equal(pthread_create(&resting, NULL, rest, &handoff), 0);
    for (unsigned i = 1; i <= JOBS; i++) {
        job_handoff__run(&handoff, work, &job);
        assert_int_equal(job.done, i);
        assert_true(pthread_equal(job.thread, resting));
    }
    job_handoff__end(&handoff);
    assert_int_equal(pthread_join(resting, NULL), 0);
}

static void after_the_end_the_caller_does_its_jobs_itself(void **state)
{
    struct job_handoff handoff;
    struct job job = {.done = 0};

    (void)state;
    job_handoff__init(&handoff);
    job_handoff__end(&handoff);
    assert_true(job_handoff__rest(&handoff, MINUTE_NS));
    job_handoff__run(&handoff, work, &job);
    assert_int_equal(job.done, 1);
    assert_true(pthread_equal(job.thread, pthread_self()));
}

static void a_rest_ends_by_itself(void **state)
{
    struct job_handoff handoff;

    (void)state;
    job_handoff__init(&handoff);
    assert_false(job_handoff__rest(&handoff, 1));
}

struct caller {
    struct job_handoff *handoff;
    struct job job;
    pthread_t thread;
};

static void *call(void *context)
{
    struct caller *caller = context;

    for (unsigned i = 0; i < JOBS; i++)
        job_handoff__run(caller->handoff, work, &caller->job);
    return NULL;
}

/* The end comes while others hand over: what was handed over is done, the rest by its callers. */
static void no_job_is_lost_at_the_end(void **state)
{
    struct job_handoff handoff;
    struct caller callers[CALLERS];
    pthread_t resting;

    (void)state;
    job_handoff__init(&handoff);
    assert_int_equal(pthread_create(&resting, NULL, rest, &handoff), 0);
    for (unsigned i = 0; i < CALLERS; i++) {
        callers[i] = (struct caller){.handoff = &handoff};
        assert_int_equal(pthread_create(&callers[i].thread, NULL, call, &callers[i]), 0);
    }
    job_handoff__end(&handoff);
    for (unsigned i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
        assert_int_equal(callers[i].job.done, JOBS);
    }
    assert_int_equal(pthread_join(resting, NULL), 0);
}

/* It has a processor only now and then, for longer than the caller would wait for one that does
 * nothing. */
static void work_now_and_then(void *context)
{
    uint64_t until_ns = read_ns(CLOCK_MONOTONIC) + 5 * LIMIT_NS / 2;

    while (read_ns(CLOCK_MONOTONIC) < until_ns) {
        nap(10 * MS);
        spin_a_little();
    }
    work(context);
}

static void a_thread_without_a_processor_is_waited_for(void **state)
{
    struct job_handoff handoff;
    struct job job = {.done = 0};
    pthread_t resting;

    (void)state;
    job_handoff__init(&handoff);
    assert_int_equal(pthread_create(&resting, NULL, rest, &handoff), 0);
    job_handoff__run(&handoff, work, &job);
    assert_true(job_handoff__run_within(&handoff, work_now_and_then, &job, LIMIT_NS));
    assert_int_equal(job.done, 2);
    job_handoff__end(&handoff);
    assert_int_equal(pthread_join(resting, NULL), 0);
}

static void wait_for_lock(void *context)
{
    pthread_mutex_lock(context);
    pthread_mutex_unlock(context);
}

static void burn_twice_the_limit(void *context)
{
    (void)context;
    burn_cpu(2 * LIMIT_NS);
}

/* What waits itself, or works for too long, is not waited for. */
static void nobody_is_waited_for_for_ever(void **state)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    struct job_handoff handoff;
    pthread_t resting;

    (void)state;
    job_handoff__init(&handoff);
    assert_int_equal(pthread_create(&resting, NULL, rest, &handoff), 0);
    pthread_mutex_lock(&lock);
    assert_false(job_handoff__run_within(&handoff, wait_for_lock, &lock, LIMIT_NS));
    pthread_mutex_unlock(&lock);
    job_handoff__end(&handoff);
    assert_int_equal(pthread_join(resting, NULL), 0);

    job_handoff__init(&handoff);
    assert_int_equal(pthread_create(&resting, NULL, rest, &handoff), 0);
    assert_false(job_handoff__run_within(&handoff, burn_twice_the_limit, NULL, LIMIT_NS));
    job_handoff__end(&handoff);
    assert_int_equal(pthread_join(resting, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_done_by_the_resting_thread),
        cmocka_unit_test(after_the_end_the_caller_does_its_jobs_itself),
        cmocka_unit_test(a_rest_ends_by_itself),
        cmocka_unit_test(no_job_is_lost_at_the_end),
        cmocka_unit_test(a_thread_without_a_processor_is_waited_for),
        cmocka_unit_test(nobody_is_waited_for_for_ever),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
