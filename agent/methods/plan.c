#include "agent/methods/plan.h"

#include "agent/methods/class_name.h"
#include "agent/methods/plan_choice.h"
#include "native/cost/cost_model.h"
#include "native/hash_table.h"
#include "native/ledger/ledger_reader.h"
#include "native/thread/unprofiled.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most lookups find nothing and walk a whole chain of the table. Those of jruby took 21 ms with
 * chains of up to ten, and 14 ms with these; with chains of two the table itself took 60 ms. */
#undef HASH_BKT_CAPACITY_THRESH
#define HASH_BKT_CAPACITY_THRESH 5u

#define NAME_BYTES_MAX 4096u
#define NS_PER_S       1000000000u
#define CALLS_MARGIN   2u /* times the calls of the earlier run: this one may be longer */

struct planned_method {
    struct plan_advice advice;
    uint32_t code_hash; /* 0: the ledger does not have it */
    UT_hash_handle hh;
    char name[]; /* "pkg.Class.method(I)V" */
};

struct plan {
    struct planned_method *methods;
    bool is_short; /* of room for methods without a call in the earlier run */
};

uint32_t plan__code_hash(const struct class_method *method)
{
    uint32_t hash = 2166136261u;

    for (uint32_t i = 0; i < method->code_length; i++)
        hash = (hash ^ method->code[i]) * 16777619u;
    return hash;
}

/* Appends; false: there is no room. */
static bool add_text(char name[NAME_BYTES_MAX], size_t *length, const char *text, size_t bytes)
{
    if (!text || bytes > NAME_BYTES_MAX - *length)
        return false;
    memcpy(name + *length, text, bytes);
    *length += bytes;
    return true;
}

static bool add_string(const struct ledger_reader *reader, ledger_ref ref,
                       char name[NAME_BYTES_MAX], size_t *length)
{
    size_t bytes = 0;
    const char *text = ledger_reader__string(reader, ref, &bytes);

    return add_text(name, length, text, bytes);
}

static int add_method(struct plan *plan, const char *name, size_t length, struct plan_advice advice,
                      uint32_t code_hash)
{
    struct planned_method *method;

    HASH_FIND(hh, plan->methods, name, length, method);
    if (method)
        return 0;
    method = calloc(1, sizeof(*method) + length);
    if (!method)
        return -ENOMEM;
    memcpy(method->name, name, length);
    method->advice = advice;
    method->code_hash = code_hash;
    HASH_ADD_KEYPTR(hh, plan->methods, method->name, length, method);
    if (method->hh.tbl)
        return 0;
    free(method);
    return -ENOMEM;
}

/* A method whose names are damaged is not planned. */
static int advise(struct plan *plan, const struct ledger_reader *reader, ledger_ref ref,
                  struct plan_advice advice, uint32_t code_hash)
{
    const struct ledger_method *method = ledger_reader__method(reader, ref);
    char name[NAME_BYTES_MAX];
    size_t length = 0;

    if (!method || !add_string(reader, method->class_name, name, &length) ||
        !add_text(name, &length, ".", 1) || !add_string(reader, method->name, name, &length) ||
        !add_string(reader, method->signature, name, &length))
        return 0;
    return add_method(plan, name, length, advice, code_hash);
}

/* An earlier run with a budget silenced these methods. */
static int leave_out_silenced(struct plan *plan, const struct ledger_reader *reader)
{
    ledger_ref ref = 0;
    int error = 0;

    while (!error && (ref = ledger_reader__next(reader, LEDGER_HOOKINGS, ref)) != 0) {
        const struct ledger_hooking *hooking = ledger_reader__hooking(reader, ref);

        if (hooking && plan_choice__is_silenced(hooking))
            error = advise(plan, reader, hooking->method,
                           (struct plan_advice){.rate = hooking->rate ? hooking->rate : 1},
                           hooking->code_hash);
    }
    return error;
}

static uint32_t at_most_32_bits(double value)
{
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* The other methods that the earlier run called have hooks or not, by their calls and times. */
static int plan_by_calls(struct plan *plan, const struct ledger_reader *reader,
                         uint32_t overhead_ppm)
{
    const struct ledger_header *header = ledger_reader__header(reader);
    uint64_t ns = unprofiled__less(header->asof_ns, header->unprofiled_wall_ns);
    struct plan_choice choice;
    int error = plan_choice__make(reader, overhead_ppm, &choice);

    for (size_t i = 0; !error && i < choice.count; i++) {
        const struct chosen_method *method = &choice.methods[i];
        double calls = (double)method->calls;
        struct plan_advice advice = {0};

        if (method->is_hooked) {
            advice.calls = at_most_32_bits(calls * CALLS_MARGIN);
        } else {
            advice.rate = at_most_32_bits(1 + calls * NS_PER_S / (double)(ns + 1));
            advice.is_postponed = method->calls < COST_HOT_CALLS;
        }
        error = advise(plan, reader, method->method, advice, 0);
    }
    plan->is_short = choice.is_short;
    free(choice.methods);
    return error;
}

int plan__read(struct plan **plan, const char *path, uint32_t overhead_ppm, char *message,
               size_t message_bytes)
{
    struct ledger_reader *reader = ledger_reader__open(path, message, message_bytes);
    struct plan *made = reader ? calloc(1, sizeof(*made)) : NULL;
    int error = reader ? 0 : -EINVAL;

    if (reader && !made)
        error = -ENOMEM;
    else if (reader)
        error = leave_out_silenced(made, reader);
    if (!error)
        error = plan_by_calls(made, reader, overhead_ppm);
    if (reader)
        ledger_reader__close(reader);
    if (error) {
        if (error == -ENOMEM)
            snprintf(message, message_bytes, "%s: no memory to read it", path);
        plan__delete(made);
        return error;
    }
    *plan = made;
    return 0;
}

void plan__delete(struct plan *plan)
{
    struct planned_method *method, *next;

    if (!plan)
        return;
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): what is freed has been taken out of the table */
    HASH_ITER (hh, plan->methods, method, next) {
        HASH_DEL(plan->methods, method);
        free(method);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
    free(plan);
}

static const struct planned_method *find(const struct plan *plan, const struct class_method *method)
{
    struct planned_method *found = NULL;
    char name[NAME_BYTES_MAX];
    size_t length = 0;

    if (!plan->methods ||
        !add_text(name, &length, (const char *)method->class_name.bytes, method->class_name.length))
        return NULL;
    class_name__to_dots(name, length);
    if (!add_text(name, &length, ".", 1) ||
        !add_text(name, &length, (const char *)method->name.bytes, method->name.length) ||
        !add_text(name, &length, (const char *)method->descriptor.bytes, method->descriptor.length))
        return NULL;
    HASH_FIND(hh, plan->methods, name, length, found);
    return found && (!found->code_hash || found->code_hash == plan__code_hash(method)) ? found
                                                                                       : NULL;
}

struct plan_advice plan__advice(const struct plan *plan, const struct class_method *method)
{
    const struct planned_method *found = plan ? find(plan, method) : NULL;

    return found ? found->advice : (struct plan_advice){.is_postponed = plan && plan->is_short};
}
