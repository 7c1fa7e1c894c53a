/*
 * Between two looks at the kernel's clock the counter can give a thread more than the kernel does:
 * the test adds to it what a host may steal. A virtual thread gives that back before the next one
 * runs on its carrier, wherever it was charged: its row is what the kernel says.
 */
#include "burn.h"
#include "carriers.h"
#include "native/thread/kernel_thread_events.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB       (UINT64_C(1) << 20)
#define EXCESS_NS (3 * MS)
#define TRIES     1000

/* Of a mount and of an unmount the kernel's clock is not asked if it was asked so shortly before.
 */
#define UNCHECKED_NS 50000u

struct carried {
    struct java_world *world;
    struct kernel_thread *carrier;
    const struct ledger_thread *thread;
    ledger_ref ref;
};

static struct carried carried;

/* The thread of the test carries it in both tests. */
static int carry(void **state)
{
    (void)state;
    carried.world = java_world__make(4 * MIB, 0, 0, false);
    carried.carrier = carried.world ? enter_carrier(carried.world, "carrier", 11) : NULL;
    if (carried.carrier == NULL)
        return -1;
    carried.ref = begin_virtual(carried.carrier, "vt-1", 1);
    carried.thread = find_thread(&carried.world->ledger, 1);
    return carried.thread != NULL ? 0 : -1;
}

static uint64_t sum_ns(void)
{
    const struct ledger *ledger = &carried.world->ledger;
    return cpu_at(ledger, carried.thread, "") + cpu_at(ledger, carried.thread, "A") +
           cpu_at(ledger, carried.thread, "AB") + cpu_at(ledger, carried.thread, "ABC");
}

static void look_and_exceed(struct kernel_thread *carrier)
{
    kernel_thread__charge_slowly(carrier);
    for (unsigned i = 0; i < 500; i++)
        spin_a_little();
    carrier->record->waited_ns -= EXCESS_NS;
}

/* A calls B, B calls C: the excess is in C, which has returned as B has. Returns A's token. */
static uint64_t exceed_in_calls(struct kernel_thread *carrier)
{
    uint64_t a = kernel_thread__push(carrier, 'A'), b = kernel_thread__push(carrier, 'B'),
             c = kernel_thread__push(carrier, 'C');
    look_and_exceed(carrier);
    kernel_thread__pop(carrier, c);
    kernel_thread__pop(carrier, b);
    return a;
}

/* A calls B, B calls C: the excess is in A, and C is current. */
static uint64_t exceed_in_caller(struct kernel_thread *carrier)
{
    uint64_t a = kernel_thread__push(carrier, 'A');
    look_and_exceed(carrier);
    (void)kernel_thread__push(carrier, 'B');
    (void)kernel_thread__push(carrier, 'C');
    return a;
}

/* True if the excess was charged: the thread was not switched out meanwhile. */
static bool exceed_and_unmount(const char *path, uint64_t (*exceed)(struct kernel_thread *))
{
    const struct ledger *ledger = &carried.world->ledger;
    struct kernel_thread *carrier = carried.carrier;
    uint64_t row_ns = sum_ns(), path_ns = cpu_at(ledger, carried.thread, path);
    uint64_t before_ns = thread_cpu_ns();
    assert_true(virtual_thread__mount(carrier, carried.ref));
    uint64_t begin_ns = thread_cpu_ns();
    uint64_t a = exceed(carrier);
    bool exceeded = cpu_at(ledger, carried.thread, path) >= path_ns + EXCESS_NS;
    uint64_t end_ns = thread_cpu_ns();
    virtual_thread__unmount(carrier);
    uint64_t after_ns = thread_cpu_ns();
    assert_in_range(sum_ns() - row_ns, end_ns - begin_ns - 2 * UNCHECKED_NS,
                    after_ns - before_ns + 2 * UNCHECKED_NS);
    assert_true(virtual_thread__mount(carrier, carried.ref));
    kernel_thread__pop(carrier, a);
    virtual_thread__unmount(carrier);
    return exceeded;
}

static void check_given_back(const char *path, uint64_t (*exceed)(struct kernel_thread *))
{
    unsigned tries = 0;
    if (carried.world->setup.clock == LEDGER_CLOCK_PLAIN)
        skip(); /* each charge is a look */
    while (!exceed_and_unmount(path, exceed))
        assert_true(++tries < TRIES);
}

static void calls_that_returned_give_it_back(void **state)
{
    (void)state;
    check_given_back("ABC", exceed_in_calls);
}

static void callers_give_it_back(void **state)
{
    (void)state;
    check_given_back("A", exceed_in_caller);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_that_returned_give_it_back),
        cmocka_unit_test(callers_give_it_back),
    };
    return cmocka_run_group_tests(tests, carry, NULL);
}
