#include "agent/sampling/stub_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stub_name {
    uint64_t begin;
    uint64_t end;
    char *name;
};

void stub_symbols__init(struct stub_symbols *stubs, struct sampled_symbols *symbols)
{
    memset(stubs, 0, sizeof(*stubs));
    pthread_mutex_init(&stubs->lock, NULL);
    stubs->symbols = symbols;
}

static ledger_ref string(const struct stub_symbols *stubs, const char *text)
{
    return *text ? ledger__string(stubs->symbols->ledger, text, strlen(text)) : 0;
}

static ledger_ref record(const struct stub_symbols *stubs, const char *name, uint64_t begin,
                         uint64_t bytes)
{
    return sampled_symbols__record(stubs->symbols, string(stubs, "[jvm]"), name, 0, begin, bytes);
}

/* The index of the first stub that ends behind the address. */
static uint32_t stub_position(const struct stub_symbols *stubs, uint64_t address)
{
    uint32_t low = 0, high = stubs->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (stubs->stubs[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(struct stub_symbols *stubs)
{
    uint32_t wider = stubs->room ? stubs->room * 2 : 1024;
    struct stub_name *grown;

    if (stubs->count < stubs->room)
        return true;
    grown = realloc(stubs->stubs, (size_t)wider * sizeof(*grown));
    if (!grown)
        return false;
    stubs->stubs = grown;
    stubs->room = wider;
    return true;
}

/* Under the lock. */
static void add_stub(struct stub_symbols *stubs, const char *name, uint64_t begin, uint64_t end)
{
    uint32_t at = stub_position(stubs, begin);
    char *copy;

    if (at < stubs->count && stubs->stubs[at].begin < end) {
        /* Told again, or code that was made where other code was. */
        stubs->stubs[at].begin = begin;
        stubs->stubs[at].end = end;
        if (strcmp(stubs->stubs[at].name, name) == 0)
            return;
        copy = strdup(name);
        if (copy) {
            free(stubs->stubs[at].name);
            stubs->stubs[at].name = copy;
        }
        return;
    }
    copy = make_room(stubs) ? strdup(name) : NULL;
    if (!copy)
        return;
    memmove(&stubs->stubs[at + 1], &stubs->stubs[at], (stubs->count - at) * sizeof(*stubs->stubs));
    stubs->stubs[at] = (struct stub_name){begin, end, copy};
    stubs->count++;
}

void stub_symbols__told(struct stub_symbols *stubs, const char *name, const void *address,
                        int32_t bytes)
{
    uint64_t begin = (uint64_t)(uintptr_t)address;

    if (bytes <= 0)
        return;
    pthread_mutex_lock(&stubs->lock);
    add_stub(stubs, name, begin, begin + (uint32_t)bytes);
    pthread_mutex_unlock(&stubs->lock);
}

static bool is_named(const struct stub_symbols *stubs, const struct sampled_symbol *symbol,
                     const char *name)
{
    const struct ledger_method *method = ledger__at(stubs->symbols->ledger, symbol->method);

    return !symbol->method || method->name == string(stubs, name);
}

struct sampled_symbol *stub_symbols__find(struct stub_symbols *stubs, uint64_t address,
                                          const struct code_blob *blob)
{
    uint64_t begin = blob->code, end = blob->end;
    struct sampled_symbol *known;
    char name[256];
    uint32_t at;

    snprintf(name, sizeof(name), "%s", blob->name);
    pthread_mutex_lock(&stubs->lock);
    at = stub_position(stubs, address);
    if (at < stubs->count && address >= stubs->stubs[at].begin) {
        begin = stubs->stubs[at].begin;
        end = stubs->stubs[at].end;
        snprintf(name, sizeof(name), "%s", stubs->stubs[at].name);
    }
    pthread_mutex_unlock(&stubs->lock);
    known = sampled_symbols__known(stubs->symbols, NULL, begin);
    if (known && is_named(stubs, known, name))
        return known;
    /* Other code was there before. */
    if (known) {
        *known = (struct sampled_symbol){
            .method = record(stubs, name, begin, end - begin), .begin = begin, .end = end};
        return known;
    }
    return sampled_symbols__add(stubs->symbols, NULL, begin, end,
                                record(stubs, name, begin, end - begin));
}

size_t stub_symbols__bytes(struct stub_symbols *stubs)
{
    size_t bytes;

    pthread_mutex_lock(&stubs->lock);
    bytes = stubs->room * sizeof(*stubs->stubs);
    pthread_mutex_unlock(&stubs->lock);
    return bytes;
}
