/*
 * A ledger of a run within a budget, for the tests of the command line and of the page.
 */
#ifndef TREADLE_TESTS_BUDGET_DRAWING_H
#define TREADLE_TESTS_BUDGET_DRAWING_H

#include "tests/ledger_drawing.h"

#define BUDGET_MS UINT64_C(1000000)
#define BUDGET_S  UINT64_C(1000000000)

struct budget_listing {
    char bytes[1024];
    size_t length;
};

static inline void budget__list(struct budget_listing *listing, unsigned choice, const char *name,
                                const char *signature)
{
    char *at = listing->bytes + listing->length;
    int length = snprintf(at, sizeof(listing->bytes) - listing->length, "%c%s%c%s", (int)choice,
                          name, 0, signature);
    listing->length += (size_t)length + 1;
}

static inline struct ledger_class *budget__class(struct drawing *drawing, const char *name,
                                                 const struct budget_listing *listing)
{
    struct ledger_class *class =
        ledger__at(&drawing->ledger, drawing__record(drawing, LEDGER_CLASSES));
    class->name = drawing__string(drawing, name);
    class->methods = ledger__string(&drawing->ledger, listing->bytes, listing->length);
    class->filter = 2;
    return class;
}

/* The methods of app.Main are hooked as their names say. Of app.Broken none could be; app.Gone was
 * looked at before include= and exclude= were set anew. */
static inline void budget__classes(struct drawing *drawing)
{
    static const struct {
        unsigned choice;
        const char *name;
    } methods[] = {
        {CHOICE_HOOKED, "run"},
        {CHOICE_HOOKED, "hot"},
        {CHOICE_NAMED, "warm"},
        {CHOICE_HOOKED, "muted"},
        {CHOICE_PLANNED, "planned"},
        {CHOICE_HOOKED, "never"},
        {CHOICE_NOT_INCLUDED, "other"},
        {CHOICE_EXCLUDED, "secret"},
        {CHOICE_TRIVIAL, "get"},
        {CHOICE_NATIVE, "read0"},
        {CHOICE_ABSTRACT, "todo"},
        {CHOICE_POSTPONED, "tiny"},
        {CHOICE_UNHOOKED + UNHOOKED_CODE_TOO_LARGE, "huge"},
    };
    struct budget_listing listing = {.length = 0}, one = {.length = 0};
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
        budget__list(&listing, methods[i].choice, methods[i].name, "()V");
    budget__list(&listing, CHOICE_TRIVIAL, "get", "(I)V");
    budget__class(drawing, "app.Main", &listing);
    budget__list(&one, CHOICE_HOOKED, "x", "()V");
    budget__class(drawing, "app.Broken", &one)->unhooked = 1 + UNHOOKED_MALFORMED;
    budget__class(drawing, "app.Gone", &one)->filter = 1;
}

static inline struct ledger_hooking *budget__last_hooking(struct drawing *drawing)
{
    struct ledger_header *header = drawing->ledger.header;
    struct ledger_hooking *last = NULL;
    for (uint32_t chunk = 1; chunk < header->chunks_used; chunk++) {
        struct ledger_chunk *head = ledger__at(&drawing->ledger, chunk * LEDGER_CHUNK_CELLS);
        if (head->magic == LEDGER_CHUNK_MAGIC && head->table == LEDGER_HOOKINGS)
            last = ledger__at(&drawing->ledger,
                              chunk * LEDGER_CHUNK_CELLS + head->used_cells - LEDGER_HOOKING_CELLS);
    }
    drawing__check(last != NULL, "no hooking");
    return last;
}

static inline void budget__silenced(struct drawing *drawing, uint32_t calls, uint32_t rate,
                                    uint32_t rate_max)
{
    struct ledger_hooking *hooking = budget__last_hooking(drawing);
    hooking->heard_calls = calls;
    hooking->rate = rate;
    hooking->rate_max = rate_max;
}

static inline void budget__header(struct ledger_header *header)
{
    header->asof_ns = 10 * BUDGET_S;
    header->process_cpu_ns = 5 * BUDGET_S;
    header->process_user_ns = 5 * BUDGET_S;
    header->overhead_ppm = 20000;
    header->own_cost = (struct ledger_own_cost){.hooks_ns = 40 * BUDGET_MS,
                                                .samples_ns = 20 * BUDGET_MS,
                                                .threads_ns = 10 * BUDGET_MS,
                                                .classes_ns = 4 * BUDGET_MS,
                                                .jvm_ns = 1 * BUDGET_MS};
    header->recent_wall_ns = 3 * BUDGET_S;
    header->recent_cpu_ns = 2 * BUDGET_S;
    header->recent_own_ns = 10 * BUDGET_MS;
    header->hooked_classes = 1;
    header->hooked_methods = 5;
    header->default_filter = 1;
    header->muted_methods = 1;
    header->off_methods = 2;
    header->planned = 1;
    header->postponed_methods = 1;
    header->rate_max = 1500;
    header->filters = 2;
    header->sample_mode = LEDGER_SAMPLE_CPU;
    header->sample_modes = 1u << LEDGER_SAMPLE_CPU;
    header->sample_clock = LEDGER_SAMPLE_CLOCK_TIMER;
    header->sample_interval_ns = 10 * BUDGET_MS;
}

/*
 * Up to 10 s; the times are those of CPU:
 *
 * main (thread)              100 ms
 *   run          x100        500 ms    100 of 250 samples here; 150 below, in hot
 *     hot        x64         320 us    from 1 s on, silent for good since 1.5 s: 0.5 of 9 s
 *     warm       x1000        50 ms    from 0.5 s on, 1 s of it, and again since 9 s: 2 of 9.5 s
 *   muted        x48          48 ms    from 2 s on, silent since 3 s: 1 of 8 s
 * worker (thread)              0
 *   run          x1        1 000 ms
 *   Gone.x       x5            0       before the filter was set anew
 * GC                       3 301.68 ms, so that the sum is 5 s
 */
static inline void budget__draw(struct drawing *drawing)
{
    ledger_ref run = drawing__method(drawing, "app.Main", "run", "()V");
    ledger_ref hot = drawing__method(drawing, "app.Main", "hot", "()V");
    ledger_ref warm = drawing__method(drawing, "app.Main", "warm", "()V");
    ledger_ref muted = drawing__method(drawing, "app.Main", "muted", "()V");
    ledger_ref planned = drawing__method(drawing, "app.Main", "planned", "()V");
    ledger_ref max = drawing__method(drawing, "java.lang.Math", "max", "(II)I");
    budget__header(drawing->ledger.header);
    ledger_ref main = drawing__thread(drawing, "main", THREAD_PLATFORM, 100 * BUDGET_MS);
    ledger_ref root = drawing__root(drawing, main);
    ledger_ref first = drawing__call(drawing, root, run, 100, 500 * BUDGET_MS);
    drawing__call(drawing, first, hot, 64, 320000);
    drawing__call(drawing, first, warm, 1000, 50 * BUDGET_MS);
    drawing__call(drawing, root, muted, 48, 48 * BUDGET_MS);
    drawing__self(drawing, first, 100, 0);
    drawing__frame(drawing, first, NODE_SAMPLED, hot, 100);
    drawing__frame(drawing, first, NODE_SAMPLED, max, 50);
    ledger_ref worker = drawing__thread(drawing, "worker", THREAD_PLATFORM, 0);
    drawing__call(drawing, drawing__root(drawing, worker), run, 1, BUDGET_S);
    drawing__call(drawing, drawing__root(drawing, worker),
                  drawing__method(drawing, "app.Gone", "x", "()V"), 5, 0);
    drawing__thread(drawing, "GC", THREAD_VM, 3301680000);
    drawing__hooking(drawing, hot, HOOKING_OFF, 1 * BUDGET_S, 1500 * BUDGET_MS, 500 * BUDGET_MS);
    budget__silenced(drawing, 64, 50000, 2000);
    drawing__hooking(drawing, warm, HOOKING_HEARD, 500 * BUDGET_MS, 9 * BUDGET_S, 1 * BUDGET_S);
    budget__silenced(drawing, 900, 900, 800);
    drawing__hooking(drawing, muted, HOOKING_MUTED, 2 * BUDGET_S, 3 * BUDGET_S, 1 * BUDGET_S);
    budget__silenced(drawing, 48, 700, 600);
    budget__last_hooking(drawing)->mutes = 3;
    drawing__hooking(drawing, planned, HOOKING_OFF, 0, 1 * BUDGET_S, 0);
    budget__silenced(drawing, 0, 70000, 0);
    budget__classes(drawing);
}

/* The same; but `muted` is counted since it fell silent: 2,000 calls more, 48 of which came while
 * profiling was stopped. A snapshot by the agent. */
static inline void budget__draw_counted(struct drawing *drawing)
{
    budget__draw(drawing);
    drawing->ledger.header->counts_at_ns = LEDGER_COUNTS_WHOLE;
    for (ledger_ref ref = 0; (ref = ledger__next(&drawing->ledger, LEDGER_HOOKINGS, ref));) {
        struct ledger_hooking *hooking = ledger__at(&drawing->ledger, ref);

        if (hooking->state == HOOKING_MUTED) {
            hooking->state = HOOKING_COUNTED;
            hooking->counts = 1;
            hooking->counted = 2000;
            hooking->excluded = 48;
        }
    }
}

#endif
