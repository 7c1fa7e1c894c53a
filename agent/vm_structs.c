#include "agent/vm_structs.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* An entry's layout is exported too, as offsets of its members: gHotSpotVMStructEntry…Offset. */
struct table {
    const char *entry;
    size_t stride;
};

enum wish_kind {
    OFFSET,   /* of a field */
    ADDRESS,  /* of a static */
    SIZE_OF,  /* of a type */
    OPTIONAL, /* as OFFSET, but may be missing */
};

#define FIELD(field) offsetof(struct vm_structs, field)

/* Later lines of the same field are what other versions call it. */
static const struct {
    const char *type;
    const char *name; /* NULL: the type itself */
    size_t field;
    enum wish_kind kind;
} wishes[] = {
    {"CodeCache", "_heaps", FIELD(code_cache_heaps), ADDRESS},
    {"StubRoutines", "_call_stub_return_address", FIELD(call_stub_return_address), ADDRESS},
    {"GrowableArrayBase", "_len", FIELD(array_length), OFFSET},
    {"GrowableArray<int>", "_data", FIELD(array_data), OFFSET},
    {"CodeHeap", "_memory", FIELD(heap_memory), OFFSET},
    {"CodeHeap", "_segmap", FIELD(heap_segment_map), OFFSET},
    {"CodeHeap", "_log2_segment_size", FIELD(heap_log2_segment_size), OFFSET},
    {"VirtualSpace", "_low_boundary", FIELD(space_low_boundary), OFFSET},
    {"VirtualSpace", "_high_boundary", FIELD(space_high_boundary), OFFSET},
    {"VirtualSpace", "_low", FIELD(space_low), OFFSET},
    {"VirtualSpace", "_high", FIELD(space_high), OFFSET},
    {"HeapBlock::Header", "_used", FIELD(block_used), OFFSET},
    {"HeapBlock", NULL, FIELD(block_bytes), SIZE_OF},
    {"CodeBlob", "_name", FIELD(blob_name), OFFSET},
    {"CodeBlob", "_size", FIELD(blob_size), OFFSET},
    {"CodeBlob", "_frame_size", FIELD(blob_frame_size), OFFSET},
    {"CodeBlob", "_frame_complete_offset", FIELD(blob_frame_complete), OFFSET},
    {"CodeBlob", "_code_begin", FIELD(blob_code_begin), OPTIONAL},
    {"CodeBlob", "_code_offset", FIELD(blob_code_offset), OPTIONAL},
    {"nmethod", "_method", FIELD(nmethod_method), OPTIONAL},
    {"CompiledMethod", "_method", FIELD(nmethod_method), OPTIONAL},
    {"nmethod", "_comp_level", FIELD(nmethod_level), OPTIONAL},
    {"Method", "_constMethod", FIELD(method_const), OFFSET},
    {"ConstMethod", "_constants", FIELD(const_constants), OFFSET},
    {"ConstMethod", "_code_size", FIELD(const_code_size), OFFSET},
    {"ConstMethod", "_name_index", FIELD(const_name), OFFSET},
    {"ConstMethod", "_signature_index", FIELD(const_signature), OFFSET},
    {"ConstMethod", NULL, FIELD(const_bytes), SIZE_OF},
    {"ConstantPool", "_pool_holder", FIELD(pool_holder), OFFSET},
    {"ConstantPool", "_length", FIELD(pool_length), OFFSET},
    {"ConstantPool", NULL, FIELD(pool_bytes), SIZE_OF},
    {"Klass", "_name", FIELD(klass_name), OFFSET},
    {"Symbol", "_length", FIELD(symbol_length), OFFSET},
    {"Symbol", "_body", FIELD(symbol_body), OFFSET},
    {"JavaThread", "_anchor", FIELD(thread_anchor), OFFSET},
    {"JavaThread", "_stack_base", FIELD(thread_stack_base), OPTIONAL},
    {"JavaFrameAnchor", "_last_Java_sp", FIELD(anchor_sp), OFFSET},
    {"JavaFrameAnchor", "_last_Java_pc", FIELD(anchor_pc), OFFSET},
    {"JavaFrameAnchor", "_last_Java_fp", FIELD(anchor_fp), OPTIONAL},
};

#define WISHES (sizeof wishes / sizeof *wishes)

/* What libjvm says of its tables' layout. */
static uint64_t told(const char *name)
{
    const uint64_t *value = dlsym(RTLD_DEFAULT, name);

    return value ? *value : 0;
}

static struct table find_table(const char *name, const char *stride)
{
    const char *const *table = dlsym(RTLD_DEFAULT, name);

    return (struct table){table ? *table : NULL, (size_t)told(stride)};
}

static const char *text_at(const char *entry, uint64_t offset)
{
    return *(const char *const *)(const void *)(entry + offset);
}

static uint64_t word_at(const char *entry, uint64_t offset)
{
    return *(const uint64_t *)(const void *)(entry + offset);
}

static void grant(struct vm_structs *structs, size_t wish, uint64_t value, const char *type)
{
    char *field = (char *)structs + wishes[wish].field;

    if (wishes[wish].kind == ADDRESS)
        *(uint64_t *)(void *)field = value;
    else
        *(int32_t *)(void *)field = (int32_t)value;
    if (wishes[wish].field == FIELD(blob_frame_complete))
        structs->blob_frame_complete_bytes = type && strcmp(type, "int16_t") == 0 ? 2 : 4;
}

static void read_fields(struct vm_structs *structs)
{
    struct table table = find_table("gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride");
    uint64_t type_name = told("gHotSpotVMStructEntryTypeNameOffset");
    uint64_t field_name = told("gHotSpotVMStructEntryFieldNameOffset");
    uint64_t type_string = told("gHotSpotVMStructEntryTypeStringOffset");
    uint64_t offset = told("gHotSpotVMStructEntryOffsetOffset");
    uint64_t address = told("gHotSpotVMStructEntryAddressOffset");

    if (!table.entry || !table.stride)
        return;
    for (; text_at(table.entry, type_name); table.entry += table.stride)
        for (size_t i = 0; i < WISHES; i++)
            if (wishes[i].name && strcmp(text_at(table.entry, type_name), wishes[i].type) == 0 &&
                strcmp(text_at(table.entry, field_name), wishes[i].name) == 0)
                grant(structs, i,
                      word_at(table.entry, wishes[i].kind == ADDRESS ? address : offset),
                      text_at(table.entry, type_string));
}

/* The value behind a static, or the offset of a field; 0: there is none. */
static uint64_t look_up(const char *type, const char *name, bool is_static)
{
    struct table table = find_table("gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride");
    uint64_t type_name = told("gHotSpotVMStructEntryTypeNameOffset");
    uint64_t field_name = told("gHotSpotVMStructEntryFieldNameOffset");
    uint64_t where = told(is_static ? "gHotSpotVMStructEntryAddressOffset"
                                    : "gHotSpotVMStructEntryOffsetOffset");

    if (!table.entry || !table.stride)
        return 0;
    for (; text_at(table.entry, type_name); table.entry += table.stride)
        if (strcmp(text_at(table.entry, type_name), type) == 0 &&
            strcmp(text_at(table.entry, field_name), name) == 0)
            return is_static ? *(const uint64_t *)(uintptr_t)word_at(table.entry, where)
                             : word_at(table.entry, where);
    return 0;
}

static uint64_t size_of(const char *type)
{
    struct table table = find_table("gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride");
    uint64_t type_name = told("gHotSpotVMTypeEntryTypeNameOffset");
    uint64_t size = told("gHotSpotVMTypeEntrySizeOffset");

    if (!table.entry || !table.stride)
        return 0;
    for (; text_at(table.entry, type_name); table.entry += table.stride)
        if (strcmp(text_at(table.entry, type_name), type) == 0)
            return word_at(table.entry, size);
    return 0;
}

bool vm_structs__flag(const char *name)
{
    const char *flags = (const char *)(uintptr_t)look_up("JVMFlag", "flags", true);
    uint64_t count = look_up("JVMFlag", "numFlags", true);
    uint64_t name_at = look_up("JVMFlag", "_name", false);
    uint64_t value_at = look_up("JVMFlag", "_addr", false);
    uint64_t size = size_of("JVMFlag");

    for (uint64_t i = 0; flags && size && i < count; i++, flags += size) {
        const char *flag = text_at(flags, name_at);

        if (flag && strcmp(flag, name) == 0)
            return *(const bool *)(uintptr_t)word_at(flags, value_at);
    }
    return false;
}

static void read_sizes(struct vm_structs *structs)
{
    struct table table = find_table("gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride");
    uint64_t type_name = told("gHotSpotVMTypeEntryTypeNameOffset");
    uint64_t size = told("gHotSpotVMTypeEntrySizeOffset");

    if (!table.entry || !table.stride)
        return;
    for (; text_at(table.entry, type_name); table.entry += table.stride)
        for (size_t i = 0; i < WISHES; i++)
            if (!wishes[i].name && strcmp(text_at(table.entry, type_name), wishes[i].type) == 0)
                grant(structs, i, word_at(table.entry, size), NULL);
}

bool vm_structs__read(struct vm_structs *structs, const char **missing)
{
    memset(structs, 0xff, sizeof *structs);
    structs->code_cache_heaps = NULL;
    structs->call_stub_return_address = NULL;
    read_fields(structs);
    read_sizes(structs);
    for (size_t i = 0; i < WISHES; i++) {
        const char *field = (const char *)structs + wishes[i].field;
        bool there = wishes[i].kind == ADDRESS ? *(const uint64_t *)(const void *)field != 0
                                               : *(const int32_t *)(const void *)field >= 0;

        *missing = wishes[i].name ? wishes[i].name : wishes[i].type;
        if (!there && wishes[i].kind != OPTIONAL)
            return false;
    }
    *missing = structs->blob_code_begin < 0 && structs->blob_code_offset < 0 ? "_code_begin"
               : structs->nmethod_method < 0                                 ? "_method"
                                                                             : NULL;
    return !*missing;
}
