/* Chains joined from several ledgers: sums, and what explains a wait, against a slow reference. */
#include "native/ledger/chain_parts.h"
#include "tools/report/report_chains.h"
#include "tools/report/report_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define PARTS   24u
#define LEDGERS 3u

struct written {
    struct ledger ledger;
    struct chain_parts parts;
};

static struct written *new_ledger(const char *boot, uint64_t epoch_ns, uint64_t monotonic_ns)
{
    struct written *written = calloc(1, sizeof *written);

    assert_non_null(written);
    assert_int_equal(ledger__create(&written->ledger, NULL, 4u << 20), 0);
    chain_parts__init(&written->parts, &written->ledger);
    snprintf(written->ledger.header->boot_id, sizeof written->ledger.header->boot_id, "%s", boot);
    written->ledger.header->epoch_ns = epoch_ns;
    written->ledger.header->monotonic_ns = monotonic_ns;
    written->ledger.header->asof_ns = 1000;
    written->ledger.header->state = LEDGER_CLOSED;
    return written;
}

static void add(struct written *written, uint64_t id, uint64_t begin_ns, uint64_t elapsed_ns,
                uint64_t cpu_ns, int32_t tid)
{
    struct ledger_part part = {.id = {0, id}, .begin_ns = begin_ns, .tid = tid, .pid = 1};
    ledger_ref ref = chain_parts__begin(&written->parts, &part);

    assert_int_not_equal(ref, 0);
    if (elapsed_ns)
        chain_part__end(&written->ledger, ref, elapsed_ns, cpu_ns);
}

static struct report_model *load(struct written *written)
{
    char message[200] = "";
    struct ledger_reader *reader =
        ledger_reader__open_fd(written->ledger.fd, "drawn", message, sizeof message);

    if (!reader)
        fail_msg("%s", message);
    struct report_model *model = report_model__load(reader, 0);
    ledger_reader__close(reader);
    ledger__close(&written->ledger);
    free(written);
    return model;
}

static uint32_t drawn(uint64_t *seed, uint32_t below)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
    return (uint32_t)(*seed >> 33) % below;
}

/* Nanosecond by nanosecond. */
static uint64_t slowly(const struct chain_part *part, const struct chain_part *all, uint32_t count)
{
    uint64_t ns = 0;

    for (uint64_t at = part->begin_ns; at < part->end_ns; at++) {
        bool is_covered = false;

        for (const struct chain_part *other = part + 1; other < all + count; other++)
            is_covered |= other->begin_ns <= at && at < other->end_ns;
        ns += is_covered;
    }
    return ns < part->wait_ns ? ns : part->wait_ns;
}

static void a_wait_is_explained_as_the_reference_says(void **state)
{
    (void)state;
    uint64_t seed = 1;

    for (unsigned round = 0; round < 300; round++) {
        struct written *written[LEDGERS];
        struct report_model *models[LEDGERS];
        uint64_t cpu_ns = 0, elapsed_ns = 0, found = 0;

        for (unsigned i = 0; i < LEDGERS; i++)
            written[i] = new_ledger("boot", 5000, 1000);
        for (unsigned i = 0; i < PARTS; i++) {
            uint64_t length = 1 + drawn(&seed, 60);
            uint64_t cpu = drawn(&seed, (uint32_t)length + 1);
            struct written *one = written[drawn(&seed, LEDGERS)];

            add(one, 1 + drawn(&seed, 2), 2000 + drawn(&seed, 100), length, cpu,
                (int32_t)drawn(&seed, 5));
            cpu_ns += cpu;
            elapsed_ns += length;
        }
        for (unsigned i = 0; i < LEDGERS; i++)
            models[i] = load(written[i]);
        struct report_chains *chains =
            report_chains__new((const struct report_model *const *)models, LEDGERS, NULL);
        for (uint32_t i = 0; i < chains->chain_count; i++) {
            const struct chain_sum *chain = &chains->chains[i];
            const struct chain_part *parts = &chains->parts[chain->first];

            for (uint32_t j = 0; j < chain->count; j++)
                assert_int_equal(parts[j].explained_ns, slowly(&parts[j], parts, chain->count));
            cpu_ns -= chain->cpu_ns;
            elapsed_ns -= chain->elapsed_ns;
            found += chain->count;
        }
        assert_int_equal(cpu_ns | elapsed_ns, 0);
        assert_int_equal(found, PARTS);
        report_chains__free(chains);
        for (unsigned i = 0; i < LEDGERS; i++)
            report_model__free(models[i]);
    }
}

/* Worked out by hand: a caller of 100 ns with 20 of CPU time; a callee from 10 to 60, and one of
 * the callee from 20 to 50; and one that outlives the caller, from 90 on. */
static void a_callee_explains_its_caller_and_not_the_reverse(void **state)
{
    (void)state;
    struct written *written = new_ledger("boot", 0, 0);
    const uint64_t explained[] = {60, 30, 0, 0};

    add(written, 1, 100, 100, 20, 1);
    add(written, 1, 110, 50, 10, 2);
    add(written, 1, 120, 30, 30, 3);
    add(written, 1, 190, 30, 0, 4);
    struct report_model *model = load(written);
    const struct report_model *const models[] = {model};
    struct report_chains *chains = report_chains__new(models, 1, NULL);
    assert_int_equal(chains->chain_count, 1);
    assert_int_equal(chains->chains[0].end_ns - chains->chains[0].begin_ns, 120);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(chains->parts[i].explained_ns, explained[i]);
    report_chains__free(chains);
    report_model__free(model);
}

/* Two ledgers of one boot have one clock, whatever their headers say of the epoch; another boot's
 * clock is set by its epoch. */
static void clocks_are_one(void **state)
{
    (void)state;
    struct written *written[] = {new_ledger("one", 100000, 1000), new_ledger("one", 100777, 1000),
                                 new_ledger("two", 200000, 50)};
    struct report_model *models[3];

    add(written[0], 1, 2000, 100, 0, 1);
    add(written[1], 1, 2010, 50, 0, 2);
    add(written[2], 1, 60, 50, 0, 3);
    for (unsigned i = 0; i < 3; i++)
        models[i] = load(written[i]);
    struct report_chains *chains =
        report_chains__new((const struct report_model *const *)models, 3, NULL);
    assert_int_equal(chains->parts[0].begin_ns, 101000);
    assert_int_equal(chains->parts[1].begin_ns, 101010);
    assert_int_equal(chains->parts[2].begin_ns, 200010);
    report_chains__free(chains);
    for (unsigned i = 0; i < 3; i++)
        report_model__free(models[i]);
}

/* What has no end has no times, and breaks nothing. */
static void odd_parts(void **state)
{
    (void)state;
    struct written *written = new_ledger("boot", 0, 0);

    add(written, 1, 100, 0, 0, 1);
    add(written, 1, UINT64_MAX - 5, 100, 50, 2);
    add(written, 1, 10, UINT64_MAX, 50, 3);
    add(written, 1, 20, 10, UINT64_MAX, 3);
    struct report_model *model = load(written);
    const struct report_model *const models[] = {model};
    struct report_chains *chains = report_chains__new(models, 1, NULL);
    assert_int_equal(chains->part_count, 4);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(chains->parts[i].begin_ns <= chains->parts[i].end_ns);
        assert_true(chains->parts[i].explained_ns <= chains->parts[i].wait_ns);
    }
    report_chains__free(chains);
    report_model__free(model);
}

static void parts_of_an_earlier_snapshot_are_left_out(void **state)
{
    (void)state;
    struct written *written[] = {new_ledger("boot", 0, 0), new_ledger("boot", 0, 0)};
    struct report_model *models[2];

    for (unsigned i = 0; i < 2; i++) {
        add(written[i], 1, 100, 10, 5, 1);
        add(written[i], 2, 200, i ? 30 : 0, 5, 1); /* was under way */
    }
    add(written[1], 3, 300, 10, 5, 1);
    for (unsigned i = 0; i < 2; i++)
        models[i] = load(written[i]);
    report_chains__subtract(models[1], models[0]);
    assert_int_equal(models[1]->part_count, 2);
    assert_int_equal(models[1]->parts[0].id[1], 2);
    assert_int_equal(models[1]->parts[1].id[1], 3);
    report_model__free(models[0]);
    report_model__free(models[1]);
}

/* A snapshot, a later one, and a copy of it. */
static void snapshots_of_one_ledger_count_once(void **state)
{
    (void)state;
    struct written *written[4];
    struct report_model *models[4];

    for (unsigned i = 0; i < 4; i++) {
        struct ledger_header *header;

        written[i] = new_ledger("boot", 5000, 1000);
        header = written[i]->ledger.header;
        header->pid = i < 3 ? 7 : 8; /* the last is another one */
        header->start_ticks = 11;
        header->lost_parts = i ? 2 : 1;
        header->asof_ns = i ? 1000 : 900;
        add(written[i], 1, 2000, 100, 20, 1);
        add(written[i], 1, 2010, i ? 50 : 0, 10, 2); /* was under way */
        if (i)
            add(written[i], 2, 2200, 10, 5, 1);
    }
    for (unsigned i = 0; i < 4; i++)
        models[i] = load(written[i]);
    for (uint32_t count = 3; count <= 4; count++) {
        struct report_chains *chains =
            report_chains__new((const struct report_model *const *)models, count, NULL);
        uint64_t times = count - 2;

        assert_int_equal(chains->part_count, 3 * times);
        assert_int_equal(chains->chain_count, 2);
        assert_int_equal(chains->chains[0].cpu_ns, 30 * times);
        assert_int_equal(chains->chains[0].elapsed_ns, 150 * times);
        assert_int_equal(chains->losses.lost_parts, 2 * times);
        report_chains__free(chains);
    }
    for (unsigned i = 0; i < 4; i++)
        report_model__free(models[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_is_explained_as_the_reference_says),
        cmocka_unit_test(a_callee_explains_its_caller_and_not_the_reverse),
        cmocka_unit_test(clocks_are_one),
        cmocka_unit_test(odd_parts),
        cmocka_unit_test(parts_of_an_earlier_snapshot_are_left_out),
        cmocka_unit_test(snapshots_of_one_ledger_count_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
