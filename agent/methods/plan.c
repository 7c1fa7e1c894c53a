#include "agent/methods/plan.h"

#include "agent/methods/class_name.h"
#include "native/hash_table.h"
#include "native/ledger/ledger_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES_MAX 4096u

struct planned_method {
    uint32_t rate;
    uint32_t code_hash;
    UT_hash_handle hh;
    char name[]; /* "pkg.Class.method(I)V" */
};

struct plan {
    struct planned_method *methods;
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

static int add_method(struct plan *plan, const char *name, size_t length,
                      const struct ledger_hooking *hooking)
{
    struct planned_method *method;

    HASH_FIND(hh, plan->methods, name, length, method);
    if (method)
        return 0;
    method = calloc(1, sizeof *method + length);
    if (!method)
        return -ENOMEM;
    memcpy(method->name, name, length);
    method->rate = hooking->rate ? hooking->rate : 1;
    method->code_hash = hooking->code_hash;
    HASH_ADD_KEYPTR(hh, plan->methods, method->name, length, method);
    if (method->hh.tbl)
        return 0;
    free(method);
    return -ENOMEM;
}

static int add_hooking(struct plan *plan, const struct ledger_reader *reader, ledger_ref ref)
{
    const struct ledger_hooking *hooking = ledger_reader__hooking(reader, ref);
    const struct ledger_method *method =
        hooking ? ledger_reader__method(reader, hooking->method) : NULL;
    char name[NAME_BYTES_MAX];
    size_t length = 0;

    if (!method || hooking->state == HOOKING_HEARD)
        return 0;
    if (!add_string(reader, method->class_name, name, &length) ||
        !add_text(name, &length, ".", 1) || !add_string(reader, method->name, name, &length) ||
        !add_string(reader, method->signature, name, &length))
        return 0;
    return add_method(plan, name, length, hooking);
}

int plan__read(struct plan **plan, const char *path, char *message, size_t message_bytes)
{
    struct ledger_reader *reader = ledger_reader__open(path, message, message_bytes);
    struct plan *made = reader ? calloc(1, sizeof *made) : NULL;
    int error = reader ? 0 : -EINVAL;
    ledger_ref ref = 0;

    if (reader && !made)
        error = -ENOMEM;
    while (!error && (ref = ledger_reader__next(reader, LEDGER_HOOKINGS, ref)) != 0)
        error = add_hooking(made, reader, ref);
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
    HASH_ITER(hh, plan->methods, method, next)
    {
        HASH_DEL(plan->methods, method);
        free(method);
    }
    /* NOLINTEND(clang-analyzer-unix.Malloc) */
    free(plan);
}

uint32_t plan__silenced(const struct plan *plan, const struct class_method *method)
{
    const struct planned_method *found = NULL;
    char name[NAME_BYTES_MAX];
    size_t length = 0;

    if (!plan || !plan->methods ||
        !add_text(name, &length, (const char *)method->class_name.bytes, method->class_name.length))
        return 0;
    class_name__to_dots(name, length);
    if (!add_text(name, &length, ".", 1) ||
        !add_text(name, &length, (const char *)method->name.bytes, method->name.length) ||
        !add_text(name, &length, (const char *)method->descriptor.bytes, method->descriptor.length))
        return 0;
    HASH_FIND(hh, plan->methods, name, length, found);
    return found && found->code_hash == plan__code_hash(method) ? found->rate : 0;
}
