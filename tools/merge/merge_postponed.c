/* Methods whose hooks one process had postponed, up to its end, and that another process called.
 * The one process has no record of such a method, only a listing of its class, but in the whole the
 * calls of the other one are a lower bound. */
#include "tools/merge/merge_parts.h"
#include "tools/report/memory.h"

#include <stdlib.h>
#include <string.h>

/* Names as refs of the merged ledger; equal strings have equal refs. */
struct method_names {
    ledger_ref class_name;
    ledger_ref name;
    ledger_ref signature;
};

static ledger_ref string_in_merge(const struct ledger_merge *merge, const struct merge_input *input,
                                  ledger_ref ref)
{
    size_t length = 0;
    const char *bytes = ledger_reader__string(input->reader, ref, &length);

    return bytes ? ledger__find_string(&merge->ledger, bytes, length) : 0;
}

/* The index in merge->methods; the count of these: no process has called it. */
static size_t find_method(const struct ledger_merge *merge, const struct method_names *names)
{
    size_t probe = 0;
    uint32_t index;
    uint64_t hash = index_table__hash_number(names->class_name, names->name);

    if (!names->class_name || !names->name || !names->signature)
        return merge->method_count;
    hash = index_table__hash_number(hash, names->signature);
    while ((index = index_table__next(&merge->method_table, hash, &probe)) != INDEX_TABLE_NONE) {
        const struct ledger_method *method = ledger__at(&merge->ledger, merge->methods[index].ref);

        if (method->class_name == names->class_name && method->name == names->name &&
            method->signature == names->signature)
            return index;
    }
    return merge->method_count;
}

/* Of the merged methods, those of which the process has records of its own. */
static bool *find_told(const struct ledger_merge *merge, const struct merge_input *input)
{
    bool *is_told = memory__zeroed(merge->method_count + 1, sizeof(*is_told));
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(input->reader, LEDGER_HOOKINGS, ref)) != 0) {
        const struct ledger_hooking *record = ledger_reader__hooking(input->reader, ref);
        const struct ledger_method *method = ledger_reader__method(input->reader, record->method);
        struct method_names names;

        if (!method)
            continue;
        names = (struct method_names){string_in_merge(merge, input, method->class_name),
                                      string_in_merge(merge, input, method->name),
                                      string_in_merge(merge, input, method->signature)};
        is_told[find_method(merge, &names)] = true;
    }
    return is_told;
}

static void add_record(struct ledger_merge *merge, const struct merge_input *input, size_t method)
{
    ledger_ref ref = merge__take(merge, LEDGER_HOOKINGS, sizeof(struct ledger_hooking));
    uint64_t end_ns = input->asof_ns + input->shift_ns;

    if (!ref)
        return;
    *(struct ledger_hooking *)ledger__at(&merge->ledger, ref) = (struct ledger_hooking){
        .method = merge->methods[method].ref,
        .state = HOOKING_HEARD,
        .from_ns = input->shift_ns ? input->shift_ns : 1,
        .since_ns = end_ns,
        .end_ns = end_ns,
    };
}

/* The string up to its NUL; none: the merged ledger has no such string. False: the list ends before
 * the NUL. */
static bool take_string(const struct ledger_merge *merge, const char **at, const char *end,
                        ledger_ref *string)
{
    const char *nul = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;

    if (!nul)
        return false;
    *string = ledger__find_string(&merge->ledger, *at, (size_t)(nul - *at));
    *at = nul + 1;
    return true;
}

static void look_at_class(struct ledger_merge *merge, const struct merge_input *input,
                          const struct ledger_class *class, bool *is_told)
{
    size_t length = 0;
    const char *at = ledger_reader__string(input->reader, class->methods, &length);
    const char *end = at ? at + length : NULL;
    struct method_names names = {.class_name = string_in_merge(merge, input, class->name)};

    while (at && at < end) {
        bool is_postponed = (unsigned char)*at++ == CHOICE_POSTPONED;
        size_t method;

        if (!take_string(merge, &at, end, &names.name) ||
            !take_string(merge, &at, end, &names.signature))
            return;
        method = is_postponed ? find_method(merge, &names) : merge->method_count;
        if (method < merge->method_count && !is_told[method])
            add_record(merge, input, method);
        is_told[method] |= is_postponed;
    }
}

void merge_postponed__add(struct ledger_merge *merge, struct merge_input *input)
{
    bool *is_told;
    ledger_ref ref = 0;

    if (merge->input_count == 1 || !input->header->postponed_methods)
        return;
    is_told = find_told(merge, input);
    while ((ref = ledger_reader__next(input->reader, LEDGER_CLASSES, ref)) != 0 && !merge->full) {
        const struct ledger_class *class = ledger_reader__class(input->reader, ref);

        if (class->filter == input->header->filters)
            look_at_class(merge, input, class, is_told);
    }
    free(is_told);
}
