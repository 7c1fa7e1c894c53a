#include "agent/compiled_code.h"

#include "native/ledger_time.h"

#include <jvmticmlr.h>
#include <stdlib.h>
#include <string.h>

#define SCOPE_SLOTS 4096u
#define SCOPES_MAX  (SCOPE_SLOTS / 2)
#define GONE_MAX    65536u
#define FOUND_SLOTS 4096u
#define NO_SCOPE    UINT32_MAX

void compiled_code__init(struct compiled_code *code, struct java_methods *java,
                         const struct ledger_time *time)
{
    memset(code, 0, sizeof *code);
    pthread_mutex_init(&code->lock, NULL);
    code->java = java;
    code->time = time;
}

void compiled_code__lock(struct compiled_code *code)
{
    pthread_mutex_lock(&code->lock);
}

void compiled_code__unlock(struct compiled_code *code)
{
    pthread_mutex_unlock(&code->lock);
}

static size_t bytes_of(const struct compiled_method *method)
{
    return sizeof *method + method->scope_count * sizeof *method->scopes +
           method->address_count * sizeof *method->addresses;
}

static void delete (struct compiled_code *code, struct compiled_method *method)
{
    code->bytes -= bytes_of(method);
    free(method->scopes);
    free(method->addresses);
    free(method);
}

/* The index of the first that ends behind the address. */
static uint32_t position_of(const struct compiled_code *code, uint64_t address)
{
    uint32_t low = 0, high = code->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (code->methods[middle]->end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool grow(struct compiled_method ***list, uint32_t *room, uint32_t needed)
{
    uint32_t wider = *room ? *room * 2 : 1024;
    struct compiled_method **grown;

    if (needed <= *room)
        return true;
    grown = realloc(*list, (size_t)wider * sizeof(struct compiled_method *));
    if (!grown)
        return false;
    *list = grown;
    *room = wider;
    return true;
}

/* Out of the list of those that are there. */
static void take_out(struct compiled_code *code, uint32_t at)
{
    struct compiled_method *method = code->methods[at];

    memmove(&code->methods[at], &code->methods[at + 1],
            (code->count - at - 1) * sizeof(struct compiled_method *));
    code->count--;
    if (!method->unloaded_ns)
        method->unloaded_ns = ledger_time__now_ns(code->time);
    if (code->gone_count == GONE_MAX || !grow(&code->gone, &code->gone_room, code->gone_count + 1))
        delete (code, method);
    else
        code->gone[code->gone_count++] = method;
}

/* Scopes that are being collected, with a table to find equal ones. One at a time, under the lock.
 */
struct collector {
    struct code_scope scopes[SCOPES_MAX];
    uint32_t slots[SCOPE_SLOTS]; /* 1 + index */
    uint32_t count;
};

/* Names are asked for again and again: what was found last stays at hand, for good. */
static struct {
    jmethodID id;
    struct java_method *method;
} found[FOUND_SLOTS]; /* under the lock */

static struct java_method *find_method(const struct compiled_code *code, jvmtiEnv *jvmti,
                                       jmethodID id)
{
    size_t slot = ((uintptr_t)id >> 3) % FOUND_SLOTS;

    if (found[slot].id != id || !found[slot].method) {
        found[slot].method = java_methods__by_id(code->java, jvmti, id);
        found[slot].id = id;
    }
    return found[slot].method;
}

static uint32_t collect(struct collector *collector, const struct code_scope *scope)
{
    uint64_t hash = (uint64_t)(uintptr_t)scope->method * 0x9e3779b97f4a7c15u ^
                    (uint64_t)(uint32_t)scope->bci * 0xc2b2ae3d27d4eb4fu ^
                    (uint64_t)scope->caller * 0x165667b19e3779f9u;
    uint32_t slot = (uint32_t)(hash >> 40) % SCOPE_SLOTS;

    for (; collector->slots[slot]; slot = (slot + 1) % SCOPE_SLOTS) {
        const struct code_scope *other = &collector->scopes[collector->slots[slot] - 1];

        if (other->method == scope->method && other->bci == scope->bci &&
            other->caller == scope->caller)
            return collector->slots[slot] - 1;
    }
    if (collector->count == SCOPES_MAX)
        return NO_SCOPE;
    collector->scopes[collector->count++] = *scope;
    collector->slots[slot] = collector->count;
    return collector->count - 1;
}

/* The innermost scope of one address; its frames come innermost first. */
static uint32_t collect_frames(const struct compiled_code *code, struct collector *collector,
                               jvmtiEnv *jvmti, const PCStackInfo *info)
{
    uint32_t caller = 0;

    for (jint i = info->numstackframes - 1; i >= 0; i--) {
        struct code_scope scope = {.method = find_method(code, jvmti, info->methods[i]),
                                   .bci = info->bcis[i],
                                   .caller = caller};
        uint32_t index = scope.method ? collect(collector, &scope) : NO_SCOPE;

        if (index == NO_SCOPE)
            return NO_SCOPE;
        caller = index + 1;
    }
    return caller ? caller - 1 : NO_SCOPE;
}

static const jvmtiCompiledMethodLoadInlineRecord *inline_record(const void *compile_info)
{
    const jvmtiCompiledMethodLoadRecordHeader *record = compile_info;

    while (record && record->kind != JVMTI_CMLR_INLINE_INFO)
        record = record->next;
    return (const jvmtiCompiledMethodLoadInlineRecord *)(const void *)record;
}

static int by_offset(const void *a, const void *b)
{
    const struct code_address *left = a, *right = b;

    return (left->offset > right->offset) - (left->offset < right->offset);
}

/* Fills in the method's scopes; without memory it has none. */
static void collect_all(struct compiled_code *code, struct compiled_method *method, jvmtiEnv *jvmti,
                        const jvmtiCompiledMethodLoadInlineRecord *record)
{
    static struct collector collector; /* under the lock */
    uint32_t count = 0;

    if (!record || record->numpcs <= 0 || code->bytes > COMPILED_CODE_BYTES_MAX)
        return;
    memset(&collector, 0, sizeof collector);
    method->addresses = calloc((size_t)record->numpcs, sizeof *method->addresses);
    for (jint i = 0; method->addresses && i < record->numpcs; i++) {
        const PCStackInfo *info = &record->pcinfo[i];
        uint64_t pc = (uint64_t)(uintptr_t)info->pc;
        uint32_t scope = pc >= method->begin && pc <= method->end
                             ? collect_frames(code, &collector, jvmti, info)
                             : NO_SCOPE;

        if (scope == NO_SCOPE)
            continue;
        method->addresses[count].offset = (uint32_t)(pc - method->begin);
        method->addresses[count++].scope = scope;
    }
    method->scopes =
        count && collector.count ? malloc(collector.count * sizeof *method->scopes) : NULL;
    if (!method->scopes)
        return;
    memcpy(method->scopes, collector.scopes, collector.count * sizeof *method->scopes);
    qsort(method->addresses, count, sizeof *method->addresses, by_offset);
    method->scope_count = collector.count;
    method->address_count = count;
}

void compiled_code__loaded(struct compiled_code *code, jvmtiEnv *jvmti, jmethodID id, jint bytes,
                           const void *address, const void *compile_info)
{
    struct compiled_method *method = calloc(1, sizeof *method);
    uint32_t at;

    if (!method)
        return;
    method->begin = (uint64_t)(uintptr_t)address;
    method->end = method->begin + (uint32_t)bytes;
    method->loaded_ns = ledger_time__now_ns(code->time);
    method->method = java_methods__by_id(code->java, jvmti, id);
    compiled_code__lock(code);
    collect_all(code, method, jvmti, inline_record(compile_info));
    code->bytes += bytes_of(method);
    at = position_of(code, method->begin);
    while (at < code->count && code->methods[at]->begin < method->end)
        take_out(code, at);
    if (grow(&code->methods, &code->room, code->count + 1)) {
        memmove(&code->methods[at + 1], &code->methods[at],
                (code->count - at) * sizeof(struct compiled_method *));
        code->methods[at] = method;
        code->count++;
    } else {
        delete (code, method);
    }
    compiled_code__unlock(code);
}

void compiled_code__unloaded(struct compiled_code *code, const void *address)
{
    uint64_t begin = (uint64_t)(uintptr_t)address;
    uint32_t at;

    compiled_code__lock(code);
    at = position_of(code, begin);
    if (at < code->count && code->methods[at]->begin == begin)
        take_out(code, at);
    compiled_code__unlock(code);
}

static struct compiled_method *find_gone(const struct compiled_code *code, uint64_t address,
                                         uint64_t when_ns)
{
    for (uint32_t i = 0; i < code->gone_count; i++) {
        struct compiled_method *method = code->gone[i];

        if (address >= method->begin && address < method->end && when_ns <= method->unloaded_ns &&
            when_ns >= method->loaded_ns)
            return method;
    }
    return NULL;
}

/* The event comes when the code may have run for a while, so the moment of loading does not count
 * where nobody else had the address. */
struct compiled_method *compiled_code__find(struct compiled_code *code, uint64_t address,
                                            uint64_t when_ns)
{
    uint32_t at = position_of(code, address);
    struct compiled_method *there =
        at < code->count && address >= code->methods[at]->begin ? code->methods[at] : NULL;
    struct compiled_method *gone;

    if (there && when_ns >= there->loaded_ns)
        return there;
    gone = find_gone(code, address, when_ns);
    return gone ? gone : there;
}

/* Each address of the table is that behind an instruction, or one at which it may be interrupted:
 * what comes up to it is of the same scope. */
const struct code_scope *compiled_method__scope(const struct compiled_method *method,
                                                uint64_t address)
{
    uint64_t offset = address - method->begin;
    uint32_t low = 0, high = method->address_count;

    if (!method->scopes)
        return NULL;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (method->addresses[middle].offset <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < method->address_count ? &method->scopes[method->addresses[low].scope] : NULL;
}

void compiled_code__forget(struct compiled_code *code, uint64_t before_ns)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < code->gone_count; i++) {
        if (code->gone[i]->unloaded_ns < before_ns)
            delete (code, code->gone[i]);
        else
            code->gone[kept++] = code->gone[i];
    }
    code->gone_count = kept;
}
