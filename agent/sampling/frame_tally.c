#include "agent/sampling/frame_tally.h"

#include "native/hash_table.h"
#include "native/tree/sample_tree.h"

#include <stdlib.h>
#include <string.h>

#define TALLIES_MAX 4096u
#define TICK_NS     10000000u /* a timer of the kernel's moves by its ticks, of that much at most */

struct tally_key {
    ledger_ref thread;
    ledger_ref method;
};

struct frame_tally {
    struct tally_key key;
    ledger_ref record;
    UT_hash_handle hh;
};

/* Its record, of this thread and no earlier one that had the same record. NULL: no room. */
static struct ledger_tally *tally_of(struct frame_tallies *tallies, ledger_ref thread,
                                     ledger_ref method)
{
    const struct ledger_thread *owner = ledger__at(tallies->ledger, thread);
    struct tally_key key = {thread, method};
    struct ledger_tally *record;
    struct frame_tally *tally;

    /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    HASH_FIND(hh, tallies->tallies, &key, sizeof(key), tally);
    if (!tally) {
        if (HASH_COUNT(tallies->tallies) >= TALLIES_MAX)
            return NULL;
        tally = calloc(1, sizeof(*tally));
        if (!tally)
            return NULL;
        tally->key = key;
        tally->record = ledger__take_shared(tallies->ledger, LEDGER_TALLIES, 1);
        if (tally->record)
            HASH_ADD(hh, tallies->tallies, key, sizeof(key), tally);
        if (!tally->record || !tally->hh.tbl) {
            free(tally);
            return NULL;
        }
    }
    record = ledger__at(tallies->ledger, tally->record);
    if (!record->thread || record->start_ns != owner->start_ns) {
        memset(record, 0, sizeof(*record));
        record->method = method;
        record->start_ns = owner->start_ns;
        __atomic_store_n(&record->thread, thread, __ATOMIC_RELEASE);
    }
    return record;
}

/* A system call may take any time: one sample then would count as many. */
static uint64_t weight_of(const struct frame_tallies *tallies, uint64_t seen_ns)
{
    const struct ledger_header *header = tallies->ledger->header;
    uint64_t most_ns = header->sample_interval_ns;

    if (header->sample_clock == LEDGER_SAMPLE_CLOCK_TIMER && most_ns < TICK_NS)
        most_ns = TICK_NS;
    return most_ns && seen_ns > 2 * most_ns ? 2 * most_ns : seen_ns;
}

/* False: there is no room for it. */
static bool count(struct frame_tallies *tallies, const struct tallied_sample *sample,
                  const struct java_method *method, uint64_t seen_ns, uint64_t doubtful_ns)
{
    struct ledger_tally *record = tally_of(tallies, sample->thread, method->ref);

    if (!record)
        return false;
    sample_tree__add(&record->samples, seen_ns != 0);
    sample_tree__add(&record->seen_ns, seen_ns);
    sample_tree__add(&record->doubtful_ns, doubtful_ns);
    return true;
}

/* The stack as recursion=N folds it: sample->room has its methods with hooks, oldest first. How
 * many. */
static uint32_t fold_walked(const struct tallied_sample *sample, uint32_t levels)
{
    uint32_t count = 0;

    for (uint32_t i = sample->walked_count; i-- > 0;) {
        struct java_method *method = sample->walked[i];

        if (!method->is_hooked)
            continue;
        if (method->standing < levels) {
            method->standing++;
            sample->room[count++] = method;
            continue;
        }
        while (sample->room[count - 1] != method)
            sample->room[--count]->standing--;
    }
    return count;
}

/* A frame further in is folded, and continues further out. */
static bool is_left_out(const struct frame_tallies *tallies, const struct java_method *method)
{
    return tallies->ledger->header->recursion && !method->standing &&
           method->stood_in != tallies->samples;
}

static bool count_walked(struct frame_tallies *tallies, const struct tallied_sample *sample,
                         uint64_t ns)
{
    uint32_t levels = tallies->ledger->header->recursion;
    uint32_t folded = levels ? fold_walked(sample, levels) : 0;
    bool fine = true;

    for (uint32_t i = 0; i < sample->walked_count; i++) {
        struct java_method *method = sample->walked[i];
        bool certain = i >= sample->inlined || method->stood_in == tallies->samples;

        if (method->walked_in == tallies->samples)
            continue;
        method->walked_in = tallies->samples;
        if (method->is_hooked && method->ref && !is_left_out(tallies, method))
            fine &= count(tallies, sample, method, certain ? ns : 0, certain ? 0 : ns);
    }
    while (folded)
        sample->room[--folded]->standing = 0;
    return fine;
}

/* What is on the path and not on the stack may be inlined where compiled code of a method above it
 * was interrupted. */
static bool count_absent(struct frame_tallies *tallies, const struct tallied_sample *sample,
                         uint64_t ns)
{
    const struct java_method *code = sample->is_compiled ? sample->walked[sample->inlined] : NULL;
    bool fine = true, above = false;

    for (uint32_t i = sample->path_count; i-- > 0;) {
        struct java_method *method = sample->path[i];

        if (method->walked_in != tallies->samples) {
            method->walked_in = tallies->samples;
            if (method->ref)
                fine &= count(tallies, sample, method, 0, above ? ns : 0);
        }
        above |= method == code;
    }
    return fine;
}

/* Needs no records, of which there are too few for a program that makes threads all the time. */
static void count_coarse(struct frame_tallies *tallies, const struct tallied_sample *sample)
{
    tallies->java_samples += sample->walked_count != 0;
    if (!sample->is_coarse || !sample->walked_count)
        return;
    tallies->coarse_samples++;
    for (uint32_t i = 0; i < sample->walked_count; i++) {
        struct java_method *method = sample->walked[i];

        method->coarse += method->coarse_in != tallies->coarse_samples;
        method->coarse_in = tallies->coarse_samples;
    }
}

void frame_tallies__add(struct frame_tallies *tallies, const struct tallied_sample *sample)
{
    struct ledger_tally *all = tally_of(tallies, sample->thread, 0);
    uint64_t ns = weight_of(tallies, sample->seen_ns);
    bool fine = sample->is_whole;

    if (fine)
        count_coarse(tallies, sample);
    if (!all) {
        ledger__count(&tallies->ledger->header->lost_tallies, 1);
        return;
    }
    tallies->samples++;
    sample_tree__add(&all->samples, 1);
    sample_tree__add(&all->seen_ns, ns);
    if (ns > all->most_ns)
        __atomic_store_n(&all->most_ns, ns, __ATOMIC_RELAXED);
    if (fine) {
        for (uint32_t i = 0; i < sample->path_count; i++) {
            sample->path[i]->is_hooked = true;
            sample->path[i]->stood_in = tallies->samples;
        }
        fine = count_walked(tallies, sample, ns);
        fine = count_absent(tallies, sample, ns) && fine;
        ledger__count(&tallies->ledger->header->lost_tallies, !fine);
    }
    if (!fine)
        sample_tree__add(&all->doubtful_ns, ns);
}

void frame_tallies__release(struct frame_tallies *tallies)
{
    struct frame_tally *tally, *next;

    /* NOLINTBEGIN(clang-analyzer-core.NullDereference,clang-analyzer-unix.Malloc) */
    HASH_ITER (hh, tallies->tallies, tally, next) {
        HASH_DEL(tallies->tallies, tally);
        free(tally);
    }
    /* NOLINTEND(clang-analyzer-core.NullDereference,clang-analyzer-unix.Malloc) */
}
