#include "agent/hotspot/code_scopes.h"

#include <stdbool.h>
#include <stddef.h>

/* From JDK 20 on no byte of a compressed number is zero: one is added to each. */
#define NUMBERS_WITHOUT_ZERO 20
#define NUMBER_BYTES_MAX     5u
#define NUMBER_BITS          6u
#define NUMBER_BYTE_LAST     192u /* a byte below ends the number */

#define NO_SCOPE 0u /* instead of an offset into the stream */

/* One nmethod's. */
struct debug_info {
    const char *descriptions;
    uint32_t count; /* of descriptions */
    const uint8_t *stream;
    uint32_t stream_bytes;
    const void *const *metadata;
    uint32_t metadata_count;
    uint8_t least_byte; /* of a number */
};

struct number_stream {
    const uint8_t *at;
    const uint8_t *end;
    uint8_t least_byte;
    bool failed;
};

static uint32_t read_number(struct number_stream *stream)
{
    uint32_t number = 0;

    for (unsigned i = 0; i < NUMBER_BYTES_MAX; i++) {
        uint8_t byte;

        if (stream->at >= stream->end || *stream->at < stream->least_byte)
            break;
        byte = *stream->at++;
        number += (uint32_t)(byte - stream->least_byte) << (NUMBER_BITS * i);
        if (byte < NUMBER_BYTE_LAST || i == NUMBER_BYTES_MAX - 1)
            return number;
    }
    stream->failed = true;
    return 0;
}

/* From `begin` up to `end`, in elements of so many bytes; 0 if they lie the wrong way round. */
static uint32_t count_between(const void *begin, const void *end, uint32_t bytes)
{
    const char *from = begin, *to = end;

    return begin && to > from && to - from < INT32_MAX ? (uint32_t)(to - from) / bytes : 0;
}

/* JDK 23 and later: all but the metadata stands outside the code. */
static void find_outside(const struct vm_structs *structs, const struct code_blob *blob,
                         struct debug_info *info)
{
    const char *data = vm_structs__pointer(blob->begin, structs->nmethod_immutable_data);
    const char *stream = data + vm_structs__int(blob->begin, structs->nmethod_scopes_data_offset);
    const char *end = data + vm_structs__int(blob->begin, structs->nmethod_immutable_bytes);

    info->descriptions = data + vm_structs__int(blob->begin, structs->nmethod_pcs_offset);
    info->count = count_between(info->descriptions, stream, (uint32_t)structs->pc_bytes);
    info->stream = (const uint8_t *)stream;
    info->stream_bytes = count_between(stream, end, 1);
}

static void find_inside(const struct vm_structs *structs, const struct code_blob *blob,
                        struct debug_info *info)
{
    const char *end =
        blob->begin + vm_structs__int(blob->begin, structs->nmethod_dependencies_offset);

    info->descriptions = blob->begin + vm_structs__int(blob->begin, structs->nmethod_pcs_offset);
    info->count = count_between(info->descriptions, end, (uint32_t)structs->pc_bytes);
    info->stream = vm_structs__pointer(blob->begin, structs->nmethod_scopes_data_begin);
    info->stream_bytes = count_between(info->stream, info->descriptions, 1);
}

static void find_metadata(const struct vm_structs *structs, const struct code_blob *blob,
                          struct debug_info *info)
{
    const char *begin, *end;

    if (structs->blob_mutable_data >= 0) { /* JDK 25 */
        begin = vm_structs__pointer(blob->begin, structs->blob_mutable_data);
        end = begin + vm_structs__int(blob->begin, structs->blob_mutable_bytes);
        begin += vm_structs__int(blob->begin, structs->blob_relocation_bytes);
    } else if (structs->nmethod_immutable_data >= 0) { /* JDK 23 and 24 */
        begin = blob->begin + vm_structs__int(blob->begin, structs->blob_data_offset) +
                vm_structs__offset(blob->begin, structs->nmethod_metadata_offset,
                                   structs->nmethod_metadata_offset_bytes);
        end = (const char *)(uintptr_t)blob->end;
    } else {
        begin = blob->begin + vm_structs__int(blob->begin, structs->nmethod_metadata_offset);
        end = (const char *)info->stream;
    }
    info->metadata = (const void *const *)(const void *)begin;
    info->metadata_count = count_between(begin, end, sizeof(void *));
}

static bool find(const struct vm_structs *structs, const struct code_blob *blob,
                 struct debug_info *info)
{
    if (!vm_structs__tells_scopes(structs))
        return false;
    if (structs->nmethod_immutable_data >= 0)
        find_outside(structs, blob, info);
    else
        find_inside(structs, blob, info);
    find_metadata(structs, blob, info);
    info->least_byte = *structs->vm_major_version >= NUMBERS_WITHOUT_ZERO;
    return info->count && info->stream_bytes && info->metadata_count;
}

/* The first description behind the offset; NULL: none. */
static const char *description_behind(const struct vm_structs *structs,
                                      const struct debug_info *info, int64_t offset)
{
    uint32_t low = 0, high = info->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const char *description = info->descriptions + (size_t)middle * (size_t)structs->pc_bytes;

        if (vm_structs__int(description, structs->pc_offset) <= offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low < info->count ? info->descriptions + (size_t)low * (size_t)structs->pc_bytes : NULL;
}

/* A scope's caller is written before it: offsets fall. False: there is no such scope. */
static bool read_scope(const struct debug_info *info, uint32_t *offset, struct raw_scope *scope)
{
    struct number_stream stream = {info->stream + *offset, info->stream + info->stream_bytes,
                                   info->least_byte, false};
    uint32_t caller, method;

    if (*offset >= info->stream_bytes)
        return false;
    caller = read_number(&stream);
    method = read_number(&stream);
    scope->bci = (int32_t)read_number(&stream) - 1;
    if (stream.failed || caller >= *offset || method == 0 || method > info->metadata_count)
        return false;
    scope->method = info->metadata[method - 1];
    *offset = caller;
    return scope->method && (uintptr_t)scope->method % sizeof(void *) == 0;
}

uint32_t code_scopes__read(const struct vm_structs *structs, const struct code_blob *blob,
                           uint64_t address, struct raw_scope *scopes)
{
    struct debug_info info;
    const char *description;
    uint32_t count = 0, offset;

    if (!find(structs, blob, &info))
        return 0;
    description = description_behind(structs, &info, (int64_t)(address - blob->code));
    if (!description)
        return 0;
    offset = (uint32_t)vm_structs__int(description, structs->pc_scope_offset);
    while (offset != NO_SCOPE && count < CODE_SCOPES_MAX)
        if (!read_scope(&info, &offset, &scopes[count++]))
            return 0;
    /* The outermost is what was compiled: that says that all of it was read as it was written. */
    return count && offset == NO_SCOPE && scopes[count - 1].method == blob->method ? count : 0;
}
