#include "agent/methods/plan.h"

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

/* A method of a class. Two methods whose hashes are equal would share one advice. */
struct method_key {
    const struct planned_class *class;
    uint64_t hash; /* of the name and the descriptor behind it */
};

struct planned_method {
    struct plan_advice advice;
    struct method_key key;
    uint32_t code_hash; /* 0: the ledger does not have it */
    UT_hash_handle hh;
};

struct planned_class {
    uint64_t
        seen; /* of the hashes of its methods, one bit each: most methods are not in the plan */
    UT_hash_handle hh;
    char name[]; /* "pkg.Class" */
};

/* A program loads many classes of which the earlier run called no method. */
struct plan {
    struct planned_class *classes;
    struct planned_class *packages; /* of these: without methods */
    struct planned_method *methods;
    bool is_short;      /* of room for methods without a call in the earlier run */
    bool is_recognized; /* atomic: this program has a method of the earlier run's */
};

uint32_t plan__code_hash(const struct class_method *method)
{
    uint32_t hash = 2166136261u;

    for (uint32_t i = 0; i < method->code_length; i++)
        hash = (hash ^ method->code[i]) * 16777619u;
    return hash;
}

/* FNV-1a of 64 bits, continued [G. Fowler, L. C. Noll, K.-P. Vo]. */
static uint64_t hash_on(uint64_t hash, const void *text, size_t bytes)
{
    const unsigned char *byte = text;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ byte[i]) * 1099511628211u;
    return hash;
}

static uint64_t seen_bit(uint64_t hash)
{
    return (uint64_t)1 << (hash >> 58);
}

static struct method_key key_of(const struct planned_class *class, const void *name,
                                size_t name_bytes, const void *descriptor, size_t descriptor_bytes)
{
    uint64_t hash = hash_on(14695981039346656037u, name, name_bytes);

    return (struct method_key){class, hash_on(hash, descriptor, descriptor_bytes)};
}

/* The class or package, which is added if need be; NULL: no memory. */
static struct planned_class *entry_of(struct planned_class **table, const char *name, size_t bytes)
{
    struct planned_class *entry;

    HASH_FIND(hh, *table, name, bytes, entry);
    if (entry)
        return entry;
    entry = calloc(1, sizeof(*entry) + bytes);
    if (!entry)
        return NULL;
    memcpy(entry->name, name, bytes);
    HASH_ADD_KEYPTR(hh, *table, entry->name, bytes, entry);
    if (entry->hh.tbl)
        return entry;
    free(entry);
    return NULL;
}

/* The length of what stands for the class's package: "pkg." or, without one, the outermost class.
 */
static size_t package_bytes(const char *name, size_t bytes)
{
    const char *point = memrchr(name, '.', bytes), *inner;

    if (point)
        return (size_t)(point - name) + 1;
    inner = memchr(name, '$', bytes);
    return inner && inner > name ? (size_t)(inner - name) : bytes;
}

/* The class, which is added if need be, and its package; NULL: no memory. */
static struct planned_class *class_of(struct plan *plan, const char *name, size_t bytes)
{
    unsigned count = HASH_COUNT(plan->classes);
    struct planned_class *class = entry_of(&plan->classes, name, bytes);

    if (class && HASH_COUNT(plan->classes) > count &&
        !entry_of(&plan->packages, name, package_bytes(name, bytes)))
        return NULL;
    return class;
}

static int add_method(struct plan *plan, struct planned_class *class, struct method_key key,
                      struct plan_advice advice, uint32_t code_hash)
{
    struct planned_method *method;

    HASH_FIND(hh, plan->methods, &key, sizeof(key), method);
    if (method)
        return 0;
    method = calloc(1, sizeof(*method));
    if (!method)
        return -ENOMEM;
    method->key = key;
    method->advice = advice;
    method->code_hash = code_hash;
    HASH_ADD(hh, plan->methods, key, sizeof(key), method);
    if (method->hh.tbl) {
        class->seen |= seen_bit(key.hash);
        return 0;
    }
    free(method);
    return -ENOMEM;
}

/* A method whose names are damaged is not planned. */
static int advise(struct plan *plan, const struct ledger_reader *reader, ledger_ref ref,
                  struct plan_advice advice, uint32_t code_hash)
{
    const struct ledger_method *method = ledger_reader__method(reader, ref);
    size_t class_bytes = 0, name_bytes = 0, signature_bytes = 0;
    const char *class_name, *name, *signature;
    struct planned_class *class;

    if (!method)
        return 0;
    class_name = ledger_reader__string(reader, method->class_name, &class_bytes);
    name = ledger_reader__string(reader, method->name, &name_bytes);
    signature = ledger_reader__string(reader, method->signature, &signature_bytes);
    if (!class_name || !name || !signature || class_bytes > NAME_BYTES_MAX)
        return 0;
    class = class_of(plan, class_name, class_bytes);
    if (!class)
        return -ENOMEM;
    return add_method(plan, class, key_of(class, name, name_bytes, signature, signature_bytes),
                      advice, code_hash);
}

/* An earlier run with a budget silenced these methods. The choice comes first: the first advice
 * holds. */
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

        if (method->is_estimate && !method->is_hooked)
            continue;
        if (method->is_hooked) {
            advice.calls = at_most_32_bits(calls * CALLS_MARGIN);
        } else {
            advice.rate = at_most_32_bits(1 + calls * NS_PER_S / (double)(ns + 1));
            advice.is_postponed = method->calls < COST_HOT_CALLS;
        }
        error = advise(plan, reader, method->method, advice, method->code_hash);
    }
    plan->is_short = choice.is_short;
    free(choice.methods);
    return error;
}

static void explain_damage(const struct ledger_reader *reader, const char *path, char *message,
                           size_t message_bytes)
{
    uint64_t skipped = ledger_reader__skipped(reader);

    message[0] = '\0';
    if (skipped)
        snprintf(message, message_bytes, "%s: %s; the plan is what is left of that ledger", path,
                 ledger_reader__skipped_where(reader));
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
        error = plan_by_calls(made, reader, overhead_ppm);
    if (!error)
        error = leave_out_silenced(made, reader);
    if (!error)
        explain_damage(reader, path, message, message_bytes);
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

static void delete_entries(struct planned_class *table)
{
    struct planned_class *entry, *next;

    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): what is freed has been taken out of the table */
    HASH_ITER (hh, table, entry, next) {
        HASH_DEL(table, entry);
        free(entry);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
}

void plan__delete(struct plan *plan)
{
    struct planned_method *method, *next;

    if (!plan)
        return;
    /* NOLINTBEGIN(clang-analyzer-unix.Malloc): the same */
    HASH_ITER (hh, plan->methods, method, next) {
        HASH_DEL(plan->methods, method);
        free(method);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
    delete_entries(plan->classes);
    delete_entries(plan->packages);
    free(plan);
}

const struct planned_class *plan__class(const struct plan *plan, const char *dotted_name)
{
    struct planned_class *class = NULL;
    size_t bytes = dotted_name ? strlen(dotted_name) : 0;

    if (!plan || !bytes)
        return NULL;
    HASH_FIND(hh, plan->classes, dotted_name, bytes, class);
    if (!class)
        HASH_FIND(hh, plan->packages, dotted_name, package_bytes(dotted_name, bytes), class);
    return class;
}

static const struct planned_method *find(const struct plan *plan, const struct planned_class *class,
                                         const struct class_method *method)
{
    struct method_key key = key_of(class, method->name.bytes, method->name.length,
                                   method->descriptor.bytes, method->descriptor.length);
    struct planned_method *found = NULL;

    /* NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): the key has no gaps */
    if (class->seen & seen_bit(key.hash))
        HASH_FIND(hh, plan->methods, &key, sizeof(key), found);
    /* NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult) */
    return found && (!found->code_hash || found->code_hash == plan__code_hash(method)) ? found
                                                                                       : NULL;
}

/* Most methods come when it has been set for long. */
static void recognize(struct plan *plan)
{
    if (!__atomic_load_n(&plan->is_recognized, __ATOMIC_RELAXED))
        __atomic_store_n(&plan->is_recognized, true, __ATOMIC_RELAXED);
}

struct plan_advice plan__advice(struct plan *plan, const struct planned_class *class,
                                const struct class_method *method)
{
    const struct planned_method *found = class ? find(plan, class, method) : NULL;

    if (found) {
        recognize(plan);
        return found->advice;
    }
    return (struct plan_advice){
        .is_postponed =
            class && plan->is_short && __atomic_load_n(&plan->is_recognized, __ATOMIC_RELAXED),
    };
}
