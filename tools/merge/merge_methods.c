#include "tools/merge/merge_parts.h"
#include "tools/report/memory.h"

#include <inttypes.h>
#include <stdlib.h>

/* Methods of the same names, as of a class that many loaders have, that are looked through for the
 * same method; further ones stay methods of their own, and are not looked through. */
#define NAMESAKES_MOST 1000u

static struct ledger_method *method_at(const struct ledger_merge *merge, ledger_ref ref)
{
    return ledger__at(&merge->ledger, ref);
}

static void copy_images(struct ledger_merge *merge, struct merge_input *input)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(input->reader, LEDGER_IMAGES, ref)) != 0) {
        ledger_ref to = merge__take(merge, LEDGER_IMAGES, sizeof(struct ledger_image));

        if (!to)
            return;
        struct ledger_image *image = ledger__at(&merge->ledger, to);
        *image = *ledger_reader__image(input->reader, ref);
        image->path = merge__string(merge, input, image->path, ref);
        image->build_id = merge__string(merge, input, image->build_id, ref);
        input->to[ref] = to;
    }
}

/* What does not change from process to process, so that methods with the same are the same. The
 * names are refs of the merged ledger, where equal strings have equal refs. */
static bool same_names(const struct ledger_method *x, const struct ledger_method *y)
{
    uint32_t lasting = METHOD_NATIVE | METHOD_SYMBOL | METHOD_LOGICAL;

    return x->class_name == y->class_name && x->name == y->name && x->signature == y->signature &&
           x->source == y->source && (x->flags & lasting) == (y->flags & lasting);
}

/* Code of the JVM's own making lies elsewhere in each process; what an image's headers count does
 * not. */
static bool same_code(const struct ledger_method *x, const struct ledger_method *y)
{
    bool in_image = x->image || y->image || !x->name;

    if (in_image && (x->address != y->address || x->size != y->size))
        return false;
    return !x->bytecode || !y->bytecode || x->bytecode == y->bytecode;
}

/* Two classes of one name, from two loaders, have different methods: so no two methods of one input
 * become one. *namesakes: how many were looked through. */
static struct merged_method *find(struct ledger_merge *merge, const struct merge_input *input,
                                  const struct ledger_method *like, uint64_t hash,
                                  uint32_t *namesakes)
{
    size_t probe = 0;
    uint32_t index;

    for (*namesakes = 0; *namesakes < NAMESAKES_MOST; ++*namesakes) {
        index = index_table__next(&merge->method_table, hash, &probe);
        if (index == INDEX_TABLE_NONE)
            break;
        struct merged_method *candidate = &merge->methods[index];
        const struct ledger_method *method = method_at(merge, candidate->ref);

        if (candidate->input != input->number && same_names(method, like) &&
            same_code(method, like))
            return candidate;
    }
    return NULL;
}

static void add(struct ledger_merge *merge, const struct merge_input *input,
                const struct ledger_method *like, uint64_t hash, uint32_t namesakes, ledger_ref ref)
{
    ledger_ref to = merge__take(merge, LEDGER_METHODS, sizeof(*like));

    if (!to)
        return;
    merge->methods = memory__grown(merge->methods, &merge->method_room, merge->method_count + 1,
                                   sizeof(*merge->methods));
    merge->methods[merge->method_count] = (struct merged_method){to, input->number};
    if (namesakes < NAMESAKES_MOST)
        index_table__add(&merge->method_table, hash, (uint32_t)merge->method_count);
    merge->method_count++;
    struct ledger_method *method = method_at(merge, to);
    *method = *like;
    method->key = merge->method_count;
    input->to[ref] = to;
}

/* Adds what this ledger knows about a method and the earlier ones did not. */
static void join(const struct ledger_merge *merge, const struct merge_input *input,
                 struct merged_method *known, const struct ledger_method *like, ledger_ref ref)
{
    struct ledger_method *method = method_at(merge, known->ref);

    method->lines = method->lines ? method->lines : like->lines;
    method->bytecode = method->bytecode ? method->bytecode : like->bytecode;
    method->image = method->image ? method->image : like->image;
    method->flags |= like->flags & METHOD_LATENCY;
    if (!(like->flags & METHOD_EXCLUDED))
        method->flags &= ~(uint32_t)METHOD_EXCLUDED;
    known->input = input->number;
    input->to[ref] = known->ref;
}

static void copy_method(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref,
                        const struct ledger_method *record)
{
    struct ledger_method like = *record;
    bool has_image = ledger_reader__image(input->reader, record->image) != NULL;

    like.class_name = merge__string(merge, input, record->class_name, ref);
    like.name = merge__string(merge, input, record->name, ref);
    like.signature = merge__string(merge, input, record->signature, ref);
    like.source = merge__string(merge, input, record->source, ref);
    like.lines = merge__string(merge, input, record->lines, ref);
    like.bytecode = merge__string(merge, input, record->bytecode, ref);
    like.image = has_image ? input->to[record->image] : 0;
    like.places = 0;
    like.latency = 0;
    like.next_in_bucket = 0;
    uint64_t hash = index_table__hash_number(like.class_name, like.name);
    hash = index_table__hash_number(hash, like.signature);
    uint32_t namesakes;
    struct merged_method *known = find(merge, input, &like, hash, &namesakes);
    if (known)
        join(merge, input, known, &like, ref);
    else
        add(merge, input, &like, hash, namesakes, ref);
}

static void copy_methods(struct ledger_merge *merge, struct merge_input *input)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(input->reader, LEDGER_METHODS, ref)) != 0 && !merge->full) {
        const struct ledger_method *record = ledger_reader__method(input->reader, ref);
        ledger_ref named = record->flags & METHOD_SYMBOL ? record->class_name : record->name;

        if (!(record->flags & METHOD_DEAD) && named)
            copy_method(merge, input, ref, record);
    }
}

static void copy_codes(struct ledger_merge *merge, struct merge_input *input)
{
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(input->reader, LEDGER_CODE, ref)) != 0) {
        const struct ledger_code *record = ledger_reader__code(input->reader, ref);
        ledger_ref method = merge__method(input, record->method);

        if (!method) {
            if (record->method)
                merge__skip(input, ref, "ref %" PRIu32 ", expected the code's method",
                            record->method);
            continue;
        }
        ledger_ref to = merge__take(merge, LEDGER_CODE, sizeof(*record));
        if (!to)
            return;
        struct ledger_code *code = ledger__at(&merge->ledger, to);
        *code = *record;
        code->method = method;
        code->bytes = merge__string(merge, input, record->bytes, ref);
        code->places = 0;
        code->loaded_ns += record->loaded_ns ? input->shift_ns : 0;
        code->unloaded_ns += record->unloaded_ns ? input->shift_ns : 0;
        input->to[ref] = to;
    }
}

static struct ledger_place *find_place(const struct ledger_merge *merge,
                                       const struct ledger_place *like, uint64_t hash)
{
    size_t probe = 0;
    uint32_t index;

    while ((index = index_table__next(&merge->place_table, hash, &probe)) != INDEX_TABLE_NONE) {
        struct ledger_place *place = ledger__at(&merge->ledger, merge->places[index]);

        if (place->owner == like->owner && place->method == like->method &&
            place->bci == like->bci && place->offset == like->offset)
            return place;
    }
    return NULL;
}

static void add_place(struct ledger_merge *merge, const struct ledger_place *like, uint64_t hash,
                      ledger_ref *list)
{
    ledger_ref ref = merge__take(merge, LEDGER_PLACES, sizeof(*like));

    if (!ref)
        return;
    struct ledger_place *place = ledger__at(&merge->ledger, ref);
    *place = *like;
    place->next = *list;
    *list = ref;
    merge->places = memory__grown(merge->places, &merge->place_room, merge->place_count + 1,
                                  sizeof(*merge->places));
    merge->places[merge->place_count] = ref;
    index_table__add(&merge->place_table, hash, (uint32_t)merge->place_count++);
}

/* An owner's places stand in the order they were made in, newest first: pushing them in the table's
 * order keeps that. */
static void copy_place(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref)
{
    struct ledger_place like = *ledger_reader__place(input->reader, ref);
    bool of_code = ledger_reader__code(input->reader, like.owner) != NULL;
    ledger_ref owner = of_code ? input->to[like.owner] : merge__method(input, like.owner);
    ledger_ref method = merge__method(input, like.method);

    if (!like.owner)
        return;
    if (!owner || (like.method && !method)) {
        merge__skip(input, ref, "a place in ref %" PRIu32 ", expected a method or code",
                    owner ? like.method : like.owner);
        return;
    }
    like.owner = owner;
    like.method = method;
    uint64_t hash = index_table__hash_number(owner, method);
    hash = index_table__hash_number(hash, (uint64_t)(uint32_t)like.bci);
    hash = index_table__hash_number(hash, like.offset);
    struct ledger_place *known = find_place(merge, &like, hash);
    if (known) {
        known->cpu_samples += like.cpu_samples;
        known->wall_samples += like.wall_samples;
        return;
    }
    ledger_ref *list = of_code ? &((struct ledger_code *)ledger__at(&merge->ledger, owner))->places
                               : &method_at(merge, owner)->places;
    add_place(merge, &like, hash, list);
}

/* The records of different inputs stay apart, since each process ran for a time of its own. That a
 * method was always heard in another process is not recorded and need not be: the number of its
 * calls is a lower bound anyway. */
static void copy_hooking(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref,
                         const bool *left_out)
{
    const struct ledger_hooking *record = ledger_reader__hooking(input->reader, ref);
    ledger_ref method = merge__method(input, record->method);

    if (method && left_out && left_out[record->method])
        return;
    if (!method) {
        if (record->method)
            merge__skip(input, ref, "ref %" PRIu32 ", expected the method of a hook",
                        record->method);
        return;
    }
    ledger_ref to = merge__take(merge, LEDGER_HOOKINGS, sizeof(*record));
    if (!to)
        return;
    struct ledger_hooking *hooking = ledger__at(&merge->ledger, to);
    *hooking = ledger_reader__known_hooking(input->reader, record);
    hooking->method = method;
    hooking->end_ns = (record->end_ns ? record->end_ns : input->asof_ns) + input->shift_ns;
    hooking->from_ns += record->from_ns ? input->shift_ns : 0;
    hooking->since_ns += input->shift_ns;
    /* As in the report of that process: after a new filter, counts may lack calls. */
    if (input->header->filter_since_ns)
        hooking->counted_ns = hooking->counts = 0;
}

static void copy_class(struct ledger_merge *merge, struct merge_input *input, ledger_ref ref)
{
    const struct ledger_class *record = ledger_reader__class(input->reader, ref);
    ledger_ref to = merge__take(merge, LEDGER_CLASSES, sizeof(*record));

    if (!to)
        return;
    ledger_ref name = merge__string(merge, input, record->name, ref);
    ledger_ref methods = merge__string(merge, input, record->methods, ref);
    struct ledger_class *class = ledger__at(&merge->ledger, to);
    *class = *record;
    class->name = name;
    class->methods = methods;
    class->filter = record->filter == input->header->filters ? MERGED_FILTERS : 0;
}

void merge_methods__add(struct ledger_merge *merge, struct merge_input *input)
{
    ledger_ref ref = 0;

    copy_images(merge, input);
    copy_methods(merge, input);
    copy_codes(merge, input);
    while ((ref = ledger_reader__next(input->reader, LEDGER_PLACES, ref)) != 0 && !merge->full)
        copy_place(merge, input, ref);
    bool *left_out = merge_left_out__add(merge, input);
    while ((ref = ledger_reader__next(input->reader, LEDGER_HOOKINGS, ref)) != 0 && !merge->full)
        copy_hooking(merge, input, ref, left_out);
    free(left_out);
    while ((ref = ledger_reader__next(input->reader, LEDGER_CLASSES, ref)) != 0 && !merge->full)
        copy_class(merge, input, ref);
}
