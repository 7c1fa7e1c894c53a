#include "agent/sampling/sample_merge.h"

#include "native/fault_guard.h"
#include "native/hash_table.h"
#include "native/tree/sample_tree.h"

#include <stdlib.h>
#include <string.h>

#define FRAMES_MAX      (4 * SAMPLE_FRAMES_MAX) /* with what is inlined */
#define HOOK_CLASS_NAME "java.lang.TreadleHooks"

/* A method of an exact node, as samples know it. */
struct exact_method {
    ledger_ref record;
    struct java_method *method; /* NULL: no memory */
    UT_hash_handle hh;
};

/* Machine code of one method that is kept: it is compiled again now and then, and where classes
 * come and go it has code for each. */
#define CODES_OF_A_METHOD_MAX 32u

#define STACKS_MAX   1024u    /* threads whose stacks are known; the oldest is forgotten */
#define PARENTS_MOST 1000000u /* of a node; trees are as deep as stacks get */

/* The whole stack of a virtual thread at some time, innermost frame first. What lies below a frame
 * stays until that frame returns. */
struct known_stack {
    ledger_ref thread;
    uint32_t count;
    uint64_t java_id; /* the record may be another thread's by now */
    struct java_method **methods;
    UT_hash_handle hh;
};

/* A frame with its name; innermost first, as in a sample. */
struct named_frame {
    enum ledger_node_kind kind;
    bool interpreted;
    int32_t bci;
    struct java_method *java;      /* of NODE_SAMPLED */
    struct sampled_symbol *symbol; /* of NODE_NATIVE */
};

struct frames {
    struct named_frame frame[FRAMES_MAX];
    uint32_t count;
    uint32_t walked;                  /* of these, seen now; those below are what was known */
    uint32_t kernel;                  /* of these, the kernel's: the first */
    uint32_t top_count;               /* of these, in the innermost piece of code */
    struct compiled_method *top_code; /* where the top frame is a compiled one */
    struct code_blob top_stub;        /* ditto a stub */
};

static struct frames frames; /* the one caller's; too large for its stack */

void sample_merge__init(struct sample_merge *merge, struct ledger *ledger,
                        const struct process_scan *scan, const struct stack_walker *walker,
                        struct java_methods *methods, struct compiled_code *code)
{
    memset(merge, 0, sizeof *merge);
    merge->ledger = ledger;
    merge->scan = scan;
    merge->walker = walker;
    merge->methods = methods;
    merge->code = code;
    merge->pool.ledger = ledger;
    merge->positions.ledger = ledger;
    merge->tallies.ledger = ledger;
    sampled_symbols__init(&merge->symbols, ledger, walker->images);
}

static struct named_frame *add_frame(enum ledger_node_kind kind)
{
    struct named_frame *frame = &frames.frame[frames.count];

    if (frames.count == FRAMES_MAX)
        return NULL;
    frames.count++;
    *frame = (struct named_frame){.kind = kind, .bci = -1};
    return frame;
}

static void add_java(struct java_method *method, int32_t bci, bool interpreted)
{
    struct named_frame *frame = method ? add_frame(NODE_SAMPLED) : NULL;

    if (!frame)
        return;
    frame->java = method;
    frame->bci = bci;
    frame->interpreted = interpreted;
}

/* A compiled frame is as many as were inlined. */
static void add_compiled(const struct sample_merge *merge, const struct sample *sample,
                         const struct sample_frame *raw)
{
    uint64_t identity = sample_frame__detail(raw);
    const struct compiled_place *place =
        compiled_code__find(merge->code, raw->where, identity, sample->when_ns);

    if (frames.count == frames.kernel)
        frames.top_code = place ? place->code : NULL;
    if (!place)
        add_java(java_methods__by_address(merge->methods, code_identity__method(identity)), -1,
                 false);
    for (uint32_t i = 0; place && i < place->scope_count; i++)
        add_java(place->scopes[i].method, place->scopes[i].bci, false);
}

static void add_native(struct sampled_symbol *symbol)
{
    struct named_frame *frame = symbol && symbol->method ? add_frame(NODE_NATIVE) : NULL;

    if (frame)
        frame->symbol = symbol;
}

static bool find_blob(const struct sample_merge *merge, uint64_t address, struct code_blob *blob)
{
    struct fault_guard guard;
    volatile bool found = false;

    if (fault_guard__enter(&guard) == 0)
        found = code_cache__find(&merge->walker->code, address, blob);
    fault_guard__leave(&guard);
    return found;
}

static void add_raw(struct sample_merge *merge, const struct sample *sample,
                    const struct sample_frame *raw)
{
    struct code_blob blob;

    switch (sample_frame__kind(raw)) {
    case FRAME_NATIVE:
        add_native(sampled_symbols__find(&merge->symbols, raw->where));
        break;
    case FRAME_COMPILED:
        add_compiled(merge, sample, raw);
        break;
    case FRAME_INTERPRETED:
        add_java(java_methods__by_address(merge->methods, (const void *)(uintptr_t)raw->where),
                 (int32_t)sample_frame__detail(raw) - 1, true);
        break;
    case FRAME_STUB:
        if (!find_blob(merge, raw->where, &blob))
            break;
        if (frames.count == frames.kernel)
            frames.top_stub = blob;
        add_native(sampled_symbols__find_stub(&merge->symbols, raw->where, &blob));
        break;
    case FRAME_KERNEL:
    case FRAME_NAMED:
        break;
    }
}

/* The kernel's functions, if they are known, and under them one frame for all of it. */
static void add_kernel(struct sample_merge *merge, const struct sample *sample)
{
    struct ledger_header *header = merge->ledger->header;
    bool found = sample->frame_count && sample_frame__kind(sample->frames) == FRAME_KERNEL;
    struct kernel_stack stack = {0};
    uint64_t addresses = 0;

    if (!(sample->flags & SAMPLE_IS_WALL) && merge->kernel_stack &&
        merge->kernel_stack(merge->kernel_context, sample->tid, sample->when_ns, &stack))
        found = stack.in_kernel;
    if (!found)
        return;
    for (uint32_t i = 0; i < stack.count; i++) {
        struct sampled_symbol *symbol =
            sampled_symbols__find_kernel(&merge->symbols, stack.frames[i]);
        struct named_frame *frame = symbol && symbol->method ? add_frame(NODE_KERNEL) : NULL;

        if (frame)
            frame->symbol = symbol;
        addresses += frame != NULL;
    }
    (void)add_frame(NODE_KERNEL);
    frames.kernel = frames.count;
    ledger__count(&header->kernel_samples, 1);
    ledger__count(&header->kernel_stacks, addresses != 0);
}

/* A virtual thread's stack ends where its continuation was entered; below lies its carrier's. */
static bool is_entry_of_continuation(const struct named_frame *frame)
{
    return frame->java && strcmp(frame->java->name, "enterSpecial") == 0 &&
           strcmp(frame->java->class_name, "jdk.internal.vm.Continuation") == 0;
}

static void forget_stack(struct sample_merge *merge, struct known_stack *stack)
{
    HASH_DEL(merge->stacks, stack);
    free(stack->methods);
    free(stack);
}

static struct known_stack *find_stack(const struct sample_merge *merge, ledger_ref thread)
{
    const struct ledger_thread *record = ledger__at(merge->ledger, thread);
    struct known_stack *stack;

    HASH_FIND_INT(merge->stacks, &thread, stack);
    return stack && stack->java_id == record->java_id ? stack : NULL;
}

/* A place for so many frames. */
static struct known_stack *renew_stack(struct sample_merge *merge, ledger_ref thread,
                                       uint32_t count)
{
    const struct ledger_thread *record = ledger__at(merge->ledger, thread);
    struct known_stack *stack;

    HASH_FIND_INT(merge->stacks, &thread, stack);
    if (stack)
        forget_stack(merge, stack);
    if (HASH_COUNT(merge->stacks) >= STACKS_MAX)
        forget_stack(merge, merge->stacks);
    stack = count ? calloc(1, sizeof *stack) : NULL;
    if (!stack)
        return NULL;
    stack->thread = thread;
    stack->java_id = record->java_id;
    stack->methods = calloc(count, sizeof(struct java_method *));
    /* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): the table has let go of what was freed */
    HASH_ADD_INT(merge->stacks, thread, stack);
    if (stack->hh.tbl && stack->methods)
        return stack;
    if (stack->hh.tbl)
        HASH_DEL(merge->stacks, stack);
    free(stack->methods);
    free(stack);
    return NULL;
}

static void note_told(struct sample_merge *merge, const struct sample *sample)
{
    struct known_stack *stack = renew_stack(merge, sample->thread, sample->frame_count);

    for (uint32_t i = 0; stack && i < sample->frame_count; i++)
        stack->methods[stack->count++] = (struct java_method *)(uintptr_t)sample->frames[i].where;
}

static void note_sampled(struct sample_merge *merge, const struct sample *sample)
{
    struct known_stack *stack = renew_stack(merge, sample->thread, frames.count);

    for (uint32_t i = 0; stack && i < frames.count; i++)
        if (frames.frame[i].java)
            stack->methods[stack->count++] = frames.frame[i].java;
}

static struct java_method *exact_method(struct sample_merge *merge, ledger_ref record)
{
    const struct ledger_method *method = ledger__at(merge->ledger, record);
    const struct ledger_string *text[3] = {ledger__at(merge->ledger, method->class_name),
                                           ledger__at(merge->ledger, method->name),
                                           ledger__at(merge->ledger, method->signature)};
    struct java_method *found;
    struct exact_method *entry;

    HASH_FIND_INT(merge->exact, &record, entry);
    if (entry)
        return entry->method;
    entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->record = record;
    entry->method =
        java_methods__by_name(merge->methods, ledger_string__bytes(text[0]), text[0]->length,
                              ledger_string__bytes(text[1]), text[1]->length,
                              ledger_string__bytes(text[2]), text[2]->length);
    /* The records of exact and sampled frames are the same. */
    if (entry->method && !entry->method->ref)
        entry->method->ref = record;
    found = entry->method;
    HASH_ADD_INT(merge->exact, record, entry);
    if (!entry->hh.tbl)
        free(entry);
    return found;
}

static bool is_on_stack(const struct java_method *method)
{
    for (uint32_t i = 0; i < frames.count; i++)
        if (frames.frame[i].java == method)
            return true;
    return false;
}

/* What lies below the last frame of a partial sample; unless the exact path has a method that is
 * not there: then that was another time. */
static void add_known(struct sample_merge *merge, const struct sample *sample)
{
    const struct known_stack *stack = find_stack(merge, sample->thread);
    const struct java_method *last = frames.count ? frames.frame[frames.count - 1].java : NULL;
    const struct ledger_node *node = ledger__at(merge->ledger, sample->node);
    uint32_t at = 0;

    if (!stack || !last)
        return;
    while (at < stack->count && stack->methods[at] != last)
        at++;
    while (++at < stack->count)
        add_java(stack->methods[at], -1, false);
    for (; node->method && ledger_node__kind(node) == NODE_EXACT;
         node = ledger__at(merge->ledger, node->parent))
        if (!is_on_stack(exact_method(merge, node->method)))
            frames.count = frames.walked;
}

static void name_frames(struct sample_merge *merge, const struct sample *sample, bool is_virtual)
{
    frames.count = frames.kernel = 0;
    frames.top_code = NULL;
    frames.top_stub.begin = NULL;
    add_kernel(merge, sample);
    for (uint32_t i = 0; i < sample->frame_count; i++) {
        uint32_t before = frames.count;

        add_raw(merge, sample, &sample->frames[i]);
        frames.top_count = i ? frames.top_count : frames.count;
        for (uint32_t at = before; is_virtual && at < frames.count; at++) {
            if (is_entry_of_continuation(&frames.frame[at])) {
                frames.walked = frames.count = at;
                return;
            }
        }
    }
    frames.walked = frames.count;
}

/* The record of a method that no exact node may ever have: its key is nobody else's. */
static ledger_ref method_record(const struct sample_merge *merge, struct java_method *method)
{
    struct ledger_method_names names = {
        .class_name = method->class_name, .name = method->name, .signature = method->signature};
    uint64_t key = merge->keys_are_ids && method->id ? (uint64_t)(uintptr_t)method->id
                                                     : (uint64_t)(uintptr_t)method;

    if (!method->ref)
        method->ref = ledger__add_method(merge->ledger, key, &names, 0);
    return method->ref;
}

/* How many frames lie above the exact node's own: those of deeper recursion included. */
static uint32_t frames_above(struct sample_merge *merge, const struct sample *sample,
                             const struct ledger_node *node)
{
    struct java_method *method = ledger_node__kind(node) == NODE_EXACT && node->method
                                     ? exact_method(merge, node->method)
                                     : NULL;

    if (!method)
        return frames.count;
    for (uint32_t i = 0; i < frames.count; i++)
        if (frames.frame[i].java == method)
            return i;
    /* The walk did not come so far: what it saw lies above. If it came to the end, an exit of the
     * node is about to be heard. */
    return sample->failure == SAMPLE_IS_WHOLE && !(sample->flags & SAMPLE_IS_PARTIAL)
               ? 0
               : frames.count;
}

static ledger_ref descend(struct sample_merge *merge, ledger_ref node, uint32_t above)
{
    for (uint32_t i = above; node && i > 0; i--) {
        const struct named_frame *frame = &frames.frame[i - 1];
        ledger_ref method = frame->java     ? method_record(merge, frame->java)
                            : frame->symbol ? frame->symbol->method
                                            : 0;

        if (!method && frame->kind != NODE_KERNEL)
            return 0;
        node = sample_tree__child(&merge->pool, node, frame->kind, method, false);
        if (node && frame->interpreted)
            sample_tree__add(&((struct ledger_node *)ledger__at(merge->ledger, node))->interpreted,
                             1);
    }
    return node;
}

/* The record of a piece of code; its bytes are taken while it is there. */
static ledger_ref record_code(const struct sample_merge *merge, ledger_ref method, uint64_t begin,
                              uint64_t end, uint64_t loaded_ns)
{
    ledger_ref ref = ledger__take_shared(merge->ledger, LEDGER_CODE, 1);
    struct fault_guard guard;
    struct code_blob blob;
    struct ledger_code *code;

    if (!ref)
        return 0;
    code = ledger__at(merge->ledger, ref);
    code->address = begin;
    code->size = (uint32_t)(end - begin);
    code->loaded_ns = loaded_ns;
    code->compiler = COMPILER_OTHER;
    if (find_blob(merge, begin, &blob) && blob.level > 0)
        code->compiler = blob.level == 4 ? COMPILER_C2 : COMPILER_C1;
    else if (((struct ledger_method *)ledger__at(merge->ledger, method))->flags & METHOD_SYMBOL)
        code->compiler = COMPILER_NONE;
    if (fault_guard__enter(&guard) == 0)
        code->bytes = ledger__string(merge->ledger, (const char *)(uintptr_t)begin, code->size);
    fault_guard__leave(&guard);
    __atomic_store_n(&code->method, method, __ATOMIC_RELEASE);
    return ref;
}

static void place_bytecode(struct sample_merge *merge, const struct named_frame *top,
                           struct sample_place *place)
{
    place->owner = method_record(merge, top->java);
    place->bci = top->bci;
    if (place->owner)
        place->first = &((struct ledger_method *)ledger__at(merge->ledger, place->owner))->places;
}

/* None: too many of its method are kept already. */
static ledger_ref code_record(struct sample_merge *merge, struct compiled_method *code)
{
    struct java_method *method = code->method;

    if (!code->code && method && method->codes < CODES_OF_A_METHOD_MAX &&
        method_record(merge, method)) {
        code->code = record_code(merge, method->ref, code->begin, code->end, code->loaded_ns);
        method->codes += code->code != 0;
    }
    return code->code;
}

static void place_compiled(struct sample_merge *merge, uint64_t address, struct sample_place *place)
{
    const struct named_frame *top = &frames.frame[frames.kernel];
    struct compiled_method *code = frames.top_code;

    if (!code_record(merge, code) && top->java) {
        place_bytecode(merge, top, place);
        return;
    }
    place->owner = code->code;
    place->offset = address - code->begin;
    place->method = top->java ? method_record(merge, top->java) : 0;
    if (top->java)
        top->java->was_on_top = true;
    place->bci = top->bci;
    if (code->code)
        place->first = &((struct ledger_code *)ledger__at(merge->ledger, code->code))->places;
}

static void place_symbol(struct sample_merge *merge, uint64_t address,
                         struct sampled_symbol *symbol, bool is_stub, struct sample_place *place)
{
    place->bci = -1;
    place->offset = address - symbol->begin;
    place->owner = symbol->method;
    place->first = &((struct ledger_method *)ledger__at(merge->ledger, symbol->method))->places;
    if (!is_stub)
        return;
    if (!symbol->code)
        symbol->code = record_code(merge, symbol->method, symbol->begin, symbol->end, 0);
    place->owner = symbol->code;
    if (symbol->code)
        place->first = &((struct ledger_code *)ledger__at(merge->ledger, symbol->code))->places;
}

/* Where in its code the top frame stood. */
static void count_place(struct sample_merge *merge, const struct sample *sample)
{
    const struct named_frame *top = &frames.frame[frames.kernel];
    const struct sample_frame *raw = sample->frames;
    struct sample_place place = {0};

    if (frames.count == frames.kernel)
        return;
    raw += sample_frame__kind(raw) == FRAME_KERNEL;
    if (top->symbol && top->symbol->method) {
        place_symbol(merge, raw->where, top->symbol, sample_frame__kind(raw) == FRAME_STUB, &place);
    } else if (top->java && top->interpreted) {
        place_bytecode(merge, top, &place);
    } else if (frames.top_code) {
        place_compiled(merge, raw->where, &place);
    }
    if (place.owner && place.first)
        (void)sample_tree__count_place(merge->ledger, &place, sample->flags & SAMPLE_IS_WALL);
}

/* Where a sample belongs that no Java thread's node came with: a thread that was adopted and had no
 * event since stands where it was placed. */
static struct ledger_thread *row_of(const struct sample_merge *merge, struct sample *sample)
{
    ledger_ref ref = sample->thread ? sample->thread : process_scan__row(merge->scan, sample->tid);
    struct absent_place place;
    struct ledger_thread *absent;

    if (ref)
        return ledger__at(merge->ledger, ref);
    if (!merge->threads || !kernel_thread_table__absent(merge->threads, sample->tid, &place))
        return NULL;
    sample->flags |= SAMPLE_OF_ABSENT;
    sample->thread = place.thread;
    sample->node = place.node;
    sample->charged_ns = place.charged_ns;
    sample->event_ns = unprofiled__less(
        unprofiled__cpu_ns(place.unprofiled, true, sample->event_ns), place.charged_ns);
    absent = ledger__at(merge->ledger, place.thread);
    __atomic_fetch_add(&absent->samples, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&absent->merged_samples, absent->merged_samples + 1, __ATOMIC_RELEASE);
    return absent;
}

static bool tells_position(const struct sample *sample)
{
    return sample->thread && (sample->charged_ns || sample->flags & SAMPLE_OF_ABSENT);
}

/* The youngest frame of an exact node's method; or frames.walked. */
static uint32_t frame_of(struct sample_merge *merge, const struct ledger_node *node)
{
    const struct java_method *method = exact_method(merge, node->method);
    uint32_t at = 0;

    while (method && at < frames.walked && frames.frame[at].java != method)
        at++;
    return at;
}

/* Of a part of the stack: the sample's node, or the next one above it whose method is there. */
static ledger_ref standing_in_part(struct sample_merge *merge, ledger_ref ref, uint32_t *at)
{
    const struct ledger_node *node = ledger__at(merge->ledger, ref);

    while (ledger_node__kind(node) == NODE_EXACT && node->method) {
        *at = frame_of(merge, node);
        if (*at < frames.walked)
            break;
        ref = node->parent;
        node = ledger__at(merge->ledger, ref);
    }
    return ref;
}

/* The whole path is to be on a whole stack, oldest frame first: the sample's node, or the one above
 * the first that is not. Frames that have no node may stand anywhere between. */
static ledger_ref standing_in_whole(struct sample_merge *merge, ledger_ref ref, uint32_t *at)
{
    static ledger_ref path[FRAMES_MAX];
    const struct ledger_node *node = ledger__at(merge->ledger, ref);
    uint32_t depth = 0;

    for (; ledger_node__kind(node) == NODE_EXACT && node->method && depth < FRAMES_MAX; depth++) {
        path[depth] = ref;
        ref = node->parent;
        node = ledger__at(merge->ledger, ref);
    }
    for (*at = frames.walked; depth > 0; ref = path[--depth]) {
        const struct java_method *method;
        uint32_t below = *at;

        node = ledger__at(merge->ledger, path[depth - 1]);
        method = exact_method(merge, node->method);
        while (method && below > 0 && frames.frame[below - 1].java != method)
            below--;
        if (method && below == 0)
            break;
        *at = method ? below - 1 : *at;
    }
    return ref;
}

/* The sample's node, or the next one above it that is on the stack. None: the walk did not come to
 * any, nor to the end. */
static ledger_ref standing(struct sample_merge *merge, const struct sample *sample)
{
    bool is_whole = sample->failure == SAMPLE_IS_WHOLE && !(sample->flags & SAMPLE_IS_PARTIAL);
    uint32_t at = 0;
    ledger_ref ref = is_whole && frames.count < FRAMES_MAX
                         ? standing_in_whole(merge, sample->node, &at)
                         : standing_in_part(merge, sample->node, &at);
    const struct ledger_node *node = ledger__at(merge->ledger, ref);

    if (!node->method && !is_whole)
        return 0;
    /* What is inlined where compiled code was interrupted is not certain. */
    if (ref != sample->node && frames.top_code && node->method && at < frames.top_count)
        return sample->node;
    return ref;
}

static bool is_hook(const struct named_frame *frame)
{
    return frame->java && strcmp(frame->java->class_name, HOOK_CLASS_NAME) == 0;
}

/* The methods on the stack, and those on the exact path, for whoever compares the two. */
static void tally(struct sample_merge *merge, const struct sample *sample)
{
    static struct java_method *walked[FRAMES_MAX], *path[FRAMES_MAX], *room[FRAMES_MAX];
    const struct ledger_node *node = ledger__at(merge->ledger, sample->node);
    struct tallied_sample told = {.thread = sample->thread,
                                  .seen_ns = sample->seen_ns,
                                  .walked = walked,
                                  .path = path,
                                  .room = room,
                                  .is_whole = sample->failure == SAMPLE_IS_WHOLE &&
                                              !(sample->flags & SAMPLE_IS_PARTIAL) &&
                                              frames.count < FRAMES_MAX};

    for (uint32_t i = 0; told.is_whole && i < frames.count; i++) {
        told.is_whole = !is_hook(&frames.frame[i]);
        if (frames.top_code && i + 1 == frames.top_count)
            told.inlined = told.walked_count;
        told.is_compiled |= frames.top_code && i + 1 == frames.top_count && frames.frame[i].java;
        if (frames.frame[i].java)
            walked[told.walked_count++] = frames.frame[i].java;
    }
    for (; told.is_whole && node->parent; node = ledger__at(merge->ledger, node->parent)) {
        struct java_method *method = node->method ? exact_method(merge, node->method) : NULL;

        told.is_whole = told.path_count < FRAMES_MAX && (method || !node->method);
        if (told.is_whole && method)
            path[told.path_count++] = method;
    }
    frame_tallies__add(&merge->tallies, &told);
}

static void add_below(struct sample_merge *merge, const struct sample *sample,
                      struct ledger_thread *thread, ledger_ref node)
{
    const struct ledger_node *exact = ledger__at(merge->ledger, node);
    uint32_t above = frames_above(merge, sample, exact);
    struct ledger_node *top;

    node = above ? descend(merge, node, above)
                 : sample_tree__child(&merge->pool, node, NODE_SAMPLED, exact->method, true);
    if (!node) {
        ledger__count(&merge->ledger->header->dropped_samples, 1);
        __atomic_fetch_add(&thread->lost_samples, !(sample->flags & SAMPLE_IS_WALL),
                           __ATOMIC_RELAXED);
        return;
    }
    top = ledger__at(merge->ledger, node);
    sample_time__count(&merge->time, sample, thread, top);
    if (!above && frames.count && frames.frame[0].interpreted)
        sample_tree__add(&top->interpreted, 1);
    count_place(merge, sample);
}

/* The node of its method below (folded), or the root: the one that was current has been folded. */
static ledger_ref folded_node(const struct sample_merge *merge, const struct sample *sample,
                              const struct ledger_thread *thread)
{
    const struct ledger_node *top = ledger__at(merge->ledger, thread->folded), *node;
    ledger_ref ref = thread->folded ? top->first_child : 0;

    for (; ref; ref = node->next_sibling) {
        node = ledger__at(merge->ledger, ref);
        if (node->key == sample->key)
            return ref;
    }
    return thread->root;
}

/* While this thread merges nobody folds. */
static void find_node(const struct sample_merge *merge, struct sample *sample,
                      const struct ledger_thread *thread)
{
    const struct ledger_node *node = ledger__at(merge->ledger, sample->node);

    if (sample->thread && sample->key &&
        (node->key != sample->key || ledger_node__kind(node) != NODE_EXACT ||
         !sample_tree__is_of(merge->ledger, node, thread, PARENTS_MOST)))
        sample->node = folded_node(merge, sample, thread);
}

/* Of what found no room for a node nobody knows where it stands. */
static bool is_folded(const struct sample_merge *merge, const struct sample *sample)
{
    const struct ledger_node *node = ledger__at(merge->ledger, sample->node);
    const struct ledger_node *parent = ledger__at(merge->ledger, node->parent);

    return node->parent && ledger_node__kind(parent) == NODE_FOLDED;
}

/* The exact node that a sample belongs to. */
static ledger_ref node_of(struct sample_merge *merge, const struct sample *sample,
                          const struct ledger_thread *thread)
{
    ledger_ref stands;

    if (!tells_position(sample) || is_folded(merge, sample))
        return sample->thread ? sample->node : thread->root;
    stands = standing(merge, sample);
    return stands && position_watch__note(&merge->positions, sample, stands) ? stands
                                                                             : sample->node;
}

void sample_merge__add(void *context, const struct sample *sample)
{
    struct sample_merge *merge = context;
    struct ledger_header *header = merge->ledger->header;
    struct sample told = *sample; /* but for its frames */
    struct ledger_thread *thread = row_of(merge, &told);

    if (sample->flags & SAMPLE_IS_STACK) {
        note_told(merge, sample);
        __atomic_store_n(&thread->merged_samples, thread->merged_samples + 1, __ATOMIC_RELEASE);
        return;
    }
    ledger__count(&header->samples, 1);
    if (sample->failure < WALK_FAILURE_COUNT)
        ledger__count(&header->walk_failures[sample->failure], 1);
    if (!thread || !thread->root) {
        ledger__count(&header->homeless_samples, 1);
    } else {
        compiled_code__tidy(merge->code);
        find_node(merge, &told, thread);
        name_frames(merge, sample, thread->kind == THREAD_VIRTUAL);
        if (told.thread && told.flags & SAMPLE_IS_PARTIAL)
            add_known(merge, &told);
        else if (told.thread && thread->kind == THREAD_VIRTUAL && told.failure == SAMPLE_IS_WHOLE)
            note_sampled(merge, &told);
        if (tells_position(&told) && !(told.flags & SAMPLE_IS_WALL) && !is_folded(merge, &told))
            tally(merge, &told);
        merge->positions.threads = merge->threads;
        add_below(merge, sample, thread, node_of(merge, &told, thread));
        thread->moded_cpu_ns += sample->modes.cpu_ns;
        thread->moded_system_ns += sample->modes.system_ns;
    }
    if (thread && sample->thread)
        __atomic_store_n(&thread->merged_samples, thread->merged_samples + 1, __ATOMIC_RELEASE);
}

size_t sample_merge__bytes(struct sample_merge *merge)
{
    const struct known_stack *stack, *next;
    size_t bytes = HASH_COUNT(merge->exact) * sizeof(struct exact_method) +
                   compiled_code__bytes(merge->code) + sampled_symbols__bytes(&merge->symbols) +
                   java_methods__bytes(merge->methods);

    HASH_ITER(hh, merge->stacks, stack, next)
    {
        bytes += sizeof *stack + stack->count * sizeof(struct java_method *);
    }
    return bytes;
}
