#include "agent/sampling/frame_names.h"

#include "native/fault_guard.h"
#include "native/hash_table.h"

#include <stdlib.h>
#include <string.h>

/* A method of an exact node, as samples know it. */
struct exact_method {
    ledger_ref record;
    struct java_method *method; /* NULL: no memory */
    UT_hash_handle hh;
};

void frame_names__init(struct frame_names *names, struct ledger *ledger,
                       const struct stack_walker *walker, struct java_methods *methods,
                       struct compiled_code *code)
{
    memset(names, 0, sizeof(*names));
    names->ledger = ledger;
    names->walker = walker;
    names->methods = methods;
    names->code = code;
    sampled_symbols__init(&names->symbols, ledger, walker->images);
    stub_symbols__init(&names->stubs, &names->symbols);
}

static struct named_frame *add_frame(struct named_frames *frames, enum ledger_node_kind kind)
{
    struct named_frame *frame = &frames->frame[frames->count];

    if (frames->count == NAMED_FRAMES_MAX)
        return NULL;
    frames->count++;
    *frame = (struct named_frame){.kind = kind, .bci = -1};
    return frame;
}

void named_frames__add_java(struct named_frames *frames, struct java_method *method, int32_t bci,
                            bool interpreted)
{
    struct named_frame *frame = method ? add_frame(frames, NODE_SAMPLED) : NULL;

    if (!method && frames->count < frames->above_unnamed)
        frames->above_unnamed = frames->count;
    if (!frame)
        return;
    frame->java = method;
    frame->bci = bci;
    frame->interpreted = interpreted;
}

/* A compiled frame is as many as were inlined. */
static void add_compiled(const struct frame_names *names, struct named_frames *frames,
                         const struct sample *sample, const struct sample_frame *raw)
{
    uint64_t identity = sample_frame__detail(raw);
    const struct compiled_place *place =
        compiled_code__find(names->code, raw->where, identity, sample->when_ns);

    if (frames->count == frames->kernel)
        frames->top_code = place ? place->code : NULL;
    if (!place)
        named_frames__add_java(
            frames, java_methods__by_address(names->methods, code_identity__method(identity)), -1,
            false);
    for (uint32_t i = 0; place && i < place->scope_count; i++)
        named_frames__add_java(frames, place->scopes[i].method, place->scopes[i].bci, false);
}

static void add_native(struct named_frames *frames, struct sampled_symbol *symbol)
{
    struct named_frame *frame = symbol && symbol->method ? add_frame(frames, NODE_NATIVE) : NULL;

    if (frame)
        frame->symbol = symbol;
}

bool frame_names__find_blob(const struct frame_names *names, uint64_t address,
                            struct code_blob *blob)
{
    struct fault_guard guard;
    volatile bool found = false;

    if (fault_guard__enter(&guard) == 0)
        found = code_cache__find(&names->walker->code, address, blob);
    fault_guard__leave(&guard);
    return found;
}

static void add_raw(struct frame_names *names, struct named_frames *frames,
                    const struct sample *sample, const struct sample_frame *raw)
{
    struct code_blob blob;

    switch (sample_frame__kind(raw)) {
    case FRAME_NATIVE:
        add_native(frames, sampled_symbols__find(&names->symbols, raw->where));
        break;
    case FRAME_COMPILED:
        add_compiled(names, frames, sample, raw);
        break;
    case FRAME_INTERPRETED:
        named_frames__add_java(
            frames, java_methods__by_address(names->methods, (const void *)(uintptr_t)raw->where),
            (int32_t)sample_frame__detail(raw) - 1, true);
        break;
    case FRAME_STUB:
        if (frame_names__find_blob(names, raw->where, &blob))
            add_native(frames, stub_symbols__find(&names->stubs, raw->where, &blob));
        break;
    case FRAME_KERNEL:
    case FRAME_NAMED:
        break;
    }
}

/* The kernel's functions, if they are known, and under them one frame for all of it. */
static void add_kernel(struct frame_names *names, struct named_frames *frames,
                       const struct sample *sample)
{
    struct ledger_header *header = names->ledger->header;
    bool found = sample->frame_count && sample_frame__kind(sample->frames) == FRAME_KERNEL;
    struct kernel_stack stack = {0};
    uint64_t addresses = 0;

    if (!(sample->flags & SAMPLE_IS_WALL) && names->kernel_stack &&
        names->kernel_stack(names->kernel_context, sample->tid, sample->when_ns, &stack))
        found = stack.in_kernel;
    if (!found)
        return;
    for (uint32_t i = 0; i < stack.count; i++) {
        struct sampled_symbol *symbol =
            sampled_symbols__find_kernel(&names->symbols, stack.frames[i]);
        struct named_frame *frame =
            symbol && symbol->method ? add_frame(frames, NODE_KERNEL) : NULL;

        if (frame)
            frame->symbol = symbol;
        addresses += frame != NULL;
    }
    (void)add_frame(frames, NODE_KERNEL);
    frames->kernel = frames->count;
    ledger__count(&header->kernel_samples, 1);
    ledger__count(&header->kernel_stacks, addresses != 0);
}

static bool is_of_continuation(const struct named_frame *frame, const char *name)
{
    return frame->java && strcmp(frame->java->name, name) == 0 &&
           strcmp(frame->java->class_name, "jdk.internal.vm.Continuation") == 0;
}

/* A virtual thread's stack ends where its continuation was entered; below lies its carrier's, which
 * begins with `run`. The stub that brings frames back from the heap stands in the entry's frame: a
 * walk from there passes the entry by, and those frames. */
static bool is_end_of_continuation(struct named_frames *frames, uint32_t at)
{
    if (is_of_continuation(&frames->frame[at], "enterSpecial"))
        return true;
    if (!is_of_continuation(&frames->frame[at], "run"))
        return false;
    frames->lacks_rest = true;
    return true;
}

void frame_names__read(struct frame_names *names, const struct sample *sample, bool is_virtual,
                       struct named_frames *frames)
{
    frames->count = frames->kernel = 0;
    frames->above_unnamed = UINT32_MAX;
    frames->inner = UINT32_MAX;
    frames->top_code = NULL;
    frames->lacks_rest = sample->flags & SAMPLE_IS_PARTIAL;
    add_kernel(names, frames, sample);
    for (uint32_t i = 0; i < sample->frame_count; i++) {
        uint32_t before = frames->count;

        if (i == sample->inner_frames)
            frames->inner = before;
        add_raw(names, frames, sample, &sample->frames[i]);
        frames->top_count = i ? frames->top_count : frames->count;
        for (uint32_t at = before; is_virtual && at < frames->count; at++)
            if (is_end_of_continuation(frames, at)) {
                frames->walked = frames->count = at;
                return;
            }
    }
    frames->walked = frames->count;
}

struct java_method *frame_names__method_of(struct frame_names *names, ledger_ref record)
{
    const struct ledger_method *method = ledger__at(names->ledger, record);
    const struct ledger_string *text[3] = {ledger__at(names->ledger, method->class_name),
                                           ledger__at(names->ledger, method->name),
                                           ledger__at(names->ledger, method->signature)};
    struct java_method *found;
    struct exact_method *entry;

    if (method->flags & METHOD_LOGICAL)
        return NULL;
    HASH_FIND_INT(names->exact, &record, entry);
    if (entry)
        return entry->method;
    entry = calloc(1, sizeof(*entry));
    if (!entry)
        return NULL;
    entry->record = record;
    entry->method =
        java_methods__by_name(names->methods, ledger_string__bytes(text[0]), text[0]->length,
                              ledger_string__bytes(text[1]), text[1]->length,
                              ledger_string__bytes(text[2]), text[2]->length);
    /* The records of exact and sampled frames are the same. */
    if (entry->method && !entry->method->ref)
        entry->method->ref = record;
    found = entry->method;
    HASH_ADD_INT(names->exact, record, entry);
    if (!entry->hh.tbl)
        free(entry);
    return found;
}

ledger_ref frame_names__record_of(const struct frame_names *names, struct java_method *method)
{
    struct ledger_method_names text = {
        .class_name = method->class_name, .name = method->name, .signature = method->signature};
    uint64_t key = names->keys_are_ids && method->id ? (uint64_t)(uintptr_t)method->id
                                                     : (uint64_t)(uintptr_t)method;

    if (!method->ref)
        method->ref = ledger__add_method(names->ledger, key, &text, 0);
    return method->ref;
}

size_t frame_names__bytes(struct frame_names *names)
{
    return HASH_COUNT(names->exact) * sizeof(struct exact_method) +
           compiled_code__bytes(names->code) + sampled_symbols__bytes(&names->symbols) +
           stub_symbols__bytes(&names->stubs) + java_methods__bytes(names->methods);
}
