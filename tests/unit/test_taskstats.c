/* Replies of taskstats as kernels of each layout send them, and the running kernel's. */
#include "native/metrics/kernel_metrics.h"
#include "native/metrics/taskstats.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define BIT(metric) (UINT64_C(1) << (metric))
#define DELAYS      (BIT(METRIC_COUNT) - BIT(METRIC_BLOCK_IO_DELAY))

enum { REPLY_BYTES = 1024 };

/* Appends to the attribute list at `end`; the new end. */
static size_t append(unsigned char *reply, size_t end, uint16_t type, const void *payload,
                     size_t length)
{
    struct nlattr attribute = {.nla_len = (uint16_t)(sizeof attribute + length), .nla_type = type};
    memcpy(reply + end, &attribute, sizeof attribute);
    memcpy(reply + end + sizeof attribute, payload, length);
    return end + sizeof attribute + (length + 3) / 4 * 4;
}

static size_t make_reply(unsigned char reply[REPLY_BYTES], const void *stats, size_t length)
{
    unsigned char of_thread[REPLY_BYTES] = {0};
    uint32_t tid = 1234;
    size_t inner = append(of_thread, 0, TASKSTATS_TYPE_PID, &tid, sizeof tid);
    inner = append(of_thread, inner, TASKSTATS_TYPE_NULL, "", 0);
    inner = append(of_thread, inner, TASKSTATS_TYPE_STATS, stats, length);
    size_t end = append(reply, 0, TASKSTATS_TYPE_NULL, "", 0);
    return append(reply, end, TASKSTATS_TYPE_AGGR_PID | NLA_F_NESTED, of_thread, inner);
}

static size_t put_u64(unsigned char *stats, size_t end, uint64_t number)
{
    memcpy(stats + end, &number, sizeof number);
    return end + sizeof number;
}

/* A reply of this version whose delays are 101, 102, … in the order of enum ledger_metric. */
static size_t make_versioned(unsigned char reply[REPLY_BYTES], uint16_t version)
{
    static const struct {
        uint16_t since;
        size_t after; /* bytes of other fields behind it, until the next pair */
    } pairs[] = {{1, 0}, {1, 0}, {1, 248}, {7, 0}, {9, 8}, {11, 32}, {13, 0}, {14, 0}};
    unsigned char stats[REPLY_BYTES] = {0};
    size_t end = 16;
    memcpy(stats, &version, sizeof version);
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0] && pairs[i].since <= version; i++) {
        end = put_u64(stats, end, 7);       /* count */
        end = put_u64(stats, end, 100 + i); /* total; the first is the CPU's */
        if (version == 15) {
            end = put_u64(stats, end, 999); /* maximum */
            end = put_u64(stats, end, 1);   /* minimum */
        }
        end += pairs[i].after;
    }
    if (version >= 16)
        end += 128;
    return make_reply(reply, stats, end);
}

static void check_version(uint16_t version, int delays)
{
    unsigned char reply[REPLY_BYTES] = {0};
    size_t length = make_versioned(reply, version);
    uint64_t value[LEDGER_METRIC_SLOTS] = {0};
    uint64_t read_bits = 0;
    assert_int_equal(taskstats__parse(reply, length, UINT64_MAX, &read_bits, value), 0);
    assert_int_equal(read_bits, BIT(METRIC_BLOCK_IO_DELAY + delays) - BIT(METRIC_BLOCK_IO_DELAY));
    for (int i = 0; i < METRIC_COUNT; i++) {
        bool read = (read_bits & BIT(i)) != 0;
        assert_int_equal(value[i], read ? 101 + i - METRIC_BLOCK_IO_DELAY : 0);
    }
}

static void every_version_is_understood(void **state)
{
    (void)state;
    check_version(1, 2);
    check_version(8, 3);
    check_version(9, 4);
    check_version(11, 5);
    check_version(13, 6);
    check_version(14, 7);
    check_version(15, 7);
    check_version(16, 7);
    check_version(17, 7);
}

#if TASKSTATS_VERSION >= 13 && TASKSTATS_VERSION != 15
static void the_headers_layout_is_ours(void **state)
{
    (void)state;
    struct taskstats stats = {
        .version = TASKSTATS_VERSION,
        .cpu_count = 1,
        .blkio_delay_total = 11,
        .swapin_delay_total = 12,
        .freepages_delay_total = 13,
        .thrashing_delay_total = 14,
        .compact_delay_total = 15,
        .wpcopy_delay_total = 16,
    };
    unsigned char reply[REPLY_BYTES] = {0};
    uint64_t value[LEDGER_METRIC_SLOTS] = {0};
    uint64_t read_bits = 0;
    size_t length = make_reply(reply, &stats, sizeof stats);
    assert_int_equal(taskstats__parse(reply, length, DELAYS, &read_bits, value), 0);
    for (int i = 0; i < 6; i++)
        assert_int_equal(value[METRIC_BLOCK_IO_DELAY + i], 11 + i);

    stats.cpu_count = 0;
    length = make_reply(reply, &stats, sizeof stats);
    assert_int_equal(taskstats__parse(reply, length, DELAYS, &read_bits, value), -ENODATA);
    assert_int_equal(read_bits, 0);
}
#endif

static void only_the_bits_asked_for_are_read(void **state)
{
    (void)state;
    unsigned char reply[REPLY_BYTES] = {0};
    size_t length = make_versioned(reply, 14);
    uint64_t value[LEDGER_METRIC_SLOTS] = {0};
    uint64_t read_bits = 0;
    uint64_t bit = BIT(METRIC_RECLAIM_DELAY);
    assert_int_equal(taskstats__parse(reply, length, bit | 1, &read_bits, value), 0);
    assert_int_equal(read_bits, bit);
    for (int i = 0; i < METRIC_COUNT; i++)
        assert_true(i == METRIC_RECLAIM_DELAY || value[i] == 0);
}

/* In a block of its own, so that the address sanitizer sees a byte read too far. */
static void parse_copy(const unsigned char *reply, size_t length)
{
    unsigned char *copy = malloc(length + 1);
    uint64_t value[LEDGER_METRIC_SLOTS];
    uint64_t read_bits = 0;
    assert_non_null(copy);
    memcpy(copy + 1, reply, length);
    int error = taskstats__parse(copy + 1, length, UINT64_MAX, &read_bits, value);
    assert_true(error == 0 || error == -EBADMSG || error == -ENODATA);
    assert_int_equal(read_bits & ~DELAYS, 0);
    free(copy);
}

static void broken_replies_do_no_harm(void **state)
{
    (void)state;
    unsigned char reply[REPLY_BYTES] = {0};
    size_t length = make_versioned(reply, 16);
    for (size_t cut = 0; cut <= length; cut++)
        parse_copy(reply, cut);
    for (size_t at = 0; at < 64; at++) {
        unsigned char before = reply[at];
        for (int byte = 0; byte < 256; byte++) {
            reply[at] = (unsigned char)byte;
            parse_copy(reply, length);
        }
        reply[at] = before;
    }
}

static void the_running_kernel_answers(void **state)
{
    (void)state;
    struct taskstats_socket taskstats;
    uint64_t value[LEDGER_METRIC_SLOTS] = {0};
    uint64_t read_bits = 0;
    pid_t tid = (pid_t)syscall(SYS_gettid);
    int error = taskstats__open(&taskstats);
    if (error == 0)
        error = taskstats__read(&taskstats, tid, UINT64_MAX, &read_bits, value);
    if (error != 0) {
        taskstats__close(&taskstats);
        print_message("SKIP: taskstats: %s; needs %s\n", strerror(-error),
                      kernel_metric_source__get(SOURCE_TASKSTATS)->needs);
        skip();
    }
    assert_true(read_bits & BIT(METRIC_BLOCK_IO_DELAY));
    for (int round = 0; round < 100; round++) {
        uint64_t again[LEDGER_METRIC_SLOTS] = {0};
        assert_int_equal(taskstats__read(&taskstats, tid, DELAYS, &read_bits, again), 0);
        for (int i = METRIC_BLOCK_IO_DELAY; i < METRIC_COUNT; i++)
            assert_true(again[i] >= value[i]);
    }
    /* Above any pid_max. */
    assert_int_equal(taskstats__read(&taskstats, 1 << 30, DELAYS, &read_bits, value), -ESRCH);
    assert_int_equal(read_bits, 0);
    taskstats__close(&taskstats);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_version_is_understood),
#if TASKSTATS_VERSION >= 13 && TASKSTATS_VERSION != 15
        cmocka_unit_test(the_headers_layout_is_ours),
#endif
        cmocka_unit_test(only_the_bits_asked_for_are_read),
        cmocka_unit_test(broken_replies_do_no_harm),
        cmocka_unit_test(the_running_kernel_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
