#include "agent/hotspot/code_cache.h"

#include <string.h>

#define SEGMENT_FREE 0xffu
#define HOPS_MAX     (1u << 20)

static uint64_t bound(const char *heap, int32_t offset)
{
    return (uint64_t)(uintptr_t)vm_structs__pointer(heap, offset);
}

bool code_cache__open(struct code_cache *cache, const struct vm_structs *structs)
{
    const void *array = *(const void *const *)structs->code_cache_heaps;
    const char *const *heaps;
    int32_t count;

    memset(cache, 0, sizeof(*cache));
    cache->structs = structs;
    if (!array)
        return false;
    count = vm_structs__int(array, structs->array_length);
    heaps = vm_structs__pointer(array, structs->array_data);
    if (count <= 0 || count > (int32_t)CODE_HEAPS_MAX || !heaps)
        return false;
    cache->low = UINT64_MAX;
    for (int32_t i = 0; i < count; i++) {
        uint64_t low = bound(heaps[i], structs->heap_memory + structs->space_low_boundary);
        uint64_t high = bound(heaps[i], structs->heap_memory + structs->space_high_boundary);

        cache->heaps[cache->heap_count++] = heaps[i];
        cache->low = low < cache->low ? low : cache->low;
        cache->high = high > cache->high ? high : cache->high;
    }
    return true;
}

/* The segment map says of each segment how far back, at most, the block begins that it is in. */
static const char *find_block(const struct code_cache *cache, const char *heap, uint64_t address)
{
    const struct vm_structs *structs = cache->structs;
    uint64_t low = bound(heap, structs->heap_memory + structs->space_low);
    uint64_t high = bound(heap, structs->heap_memory + structs->space_high);
    const uint8_t *map;
    uint64_t segment;
    int shift;

    if (address < low || address >= high)
        return NULL;
    map = vm_structs__pointer(heap, structs->heap_segment_map + structs->space_low);
    shift = vm_structs__int(heap, structs->heap_log2_segment_size);
    segment = (address - low) >> shift;
    if (map[segment] == SEGMENT_FREE)
        return NULL;
    for (unsigned hops = 0; map[segment] != 0; hops++) {
        if (map[segment] > segment || hops == HOPS_MAX)
            return NULL;
        segment -= map[segment];
    }
    return (const char *)(uintptr_t)(low + (segment << shift));
}

/* By name, as the serviceability agent tells them apart in versions without a kind. */
static enum blob_kind kind_of(const char *name)
{
    if (strcmp(name, "nmethod") == 0)
        return BLOB_METHOD;
    if (strcmp(name, "native nmethod") == 0)
        return BLOB_NATIVE_METHOD;
    if (strcmp(name, "Interpreter") == 0)
        return BLOB_INTERPRETER;
    return BLOB_OTHER;
}

static void read_blob(const struct vm_structs *structs, const char *begin, struct code_blob *blob)
{
    int32_t frame_words = vm_structs__int(begin, structs->blob_frame_size);

    blob->begin = begin;
    blob->name = vm_structs__pointer(begin, structs->blob_name);
    blob->kind = kind_of(blob->name);
    blob->end = (uint64_t)(uintptr_t)begin + (uint32_t)vm_structs__int(begin, structs->blob_size);
    blob->code = structs->blob_code_begin >= 0
                     ? (uint64_t)(uintptr_t)vm_structs__pointer(begin, structs->blob_code_begin)
                     : (uint64_t)(uintptr_t)begin +
                           (uint32_t)vm_structs__int(begin, structs->blob_code_offset);
    blob->frame_bytes = frame_words > 0 ? (uint64_t)frame_words * 8 : 0;
    blob->frame_complete = structs->blob_frame_complete_bytes == 2
                               ? vm_structs__short(begin, structs->blob_frame_complete)
                               : (uint32_t)vm_structs__int(begin, structs->blob_frame_complete);
    blob->method = NULL;
    blob->level = -1;
    blob->compile_id = 0;
    if (blob->kind == BLOB_METHOD || blob->kind == BLOB_NATIVE_METHOD)
        blob->method = vm_structs__pointer(begin, structs->nmethod_method);
    if (blob->method && structs->nmethod_compile_id >= 0)
        blob->compile_id = (uint32_t)vm_structs__int(begin, structs->nmethod_compile_id);
    if (blob->kind == BLOB_METHOD && structs->nmethod_level >= 0)
        blob->level = (int8_t)begin[structs->nmethod_level];
}

bool code_cache__find(const struct code_cache *cache, uint64_t address, struct code_blob *blob)
{
    const struct vm_structs *structs = cache->structs;

    if (!code_cache__may_hold(cache, address))
        return false;
    for (uint32_t i = 0; i < cache->heap_count; i++) {
        const char *block = find_block(cache, cache->heaps[i], address);

        if (!block)
            continue;
        if (!block[structs->block_used])
            return false;
        read_blob(structs, block + structs->block_bytes, blob);
        return address < blob->end;
    }
    return false;
}
