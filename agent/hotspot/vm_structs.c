#include "agent/hotspot/vm_structs.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* What libjvm calls a table of its own and the layout of its lines: offsets of their cells. */
struct table {
    const char *lines;
    const char *stride;
    const char *type;
    const char *field; /* NULL: such lines have none, as the next four */
    const char *type_string;
    const char *offset;
    const char *address;
    const char *size;
};

static const struct table tables[] = {
    {"gHotSpotVMStructs", "gHotSpotVMStructEntryArrayStride", "gHotSpotVMStructEntryTypeNameOffset",
     "gHotSpotVMStructEntryFieldNameOffset", "gHotSpotVMStructEntryTypeStringOffset",
     "gHotSpotVMStructEntryOffsetOffset", "gHotSpotVMStructEntryAddressOffset", NULL},
    {"gHotSpotVMTypes", "gHotSpotVMTypeEntryArrayStride", "gHotSpotVMTypeEntryTypeNameOffset", NULL,
     NULL, NULL, NULL, "gHotSpotVMTypeEntrySizeOffset"},
};

/* A line of a table: a field, or, with field NULL, a type. */
struct line {
    const char *type;
    const char *field;
    const char *type_string;
    uint64_t offset;
    uint64_t address; /* of a static */
    uint64_t size;
};

typedef void (*line_visit)(void *context, const struct line *line);

enum field_kind {
    OFFSET,   /* of a field */
    ADDRESS,  /* of a static */
    SIZE_OF,  /* of a type */
    OPTIONAL, /* as OFFSET, but may be missing */
    OPTIONAL_ADDRESS,
    OPTIONAL_SIZE_OF,
};

#define FIELD(field) offsetof(struct vm_structs, field)

/* Later lines of the same field are what other versions call it. */
static const struct {
    const char *type;
    const char *name; /* NULL: the type itself */
    size_t field;
    enum field_kind kind;
} fields[] = {
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
    {"nmethod", "_compile_id", FIELD(nmethod_compile_id), OPTIONAL},
    {"Abstract_VM_Version", "_vm_major_version", FIELD(vm_major_version), OPTIONAL_ADDRESS},
    {"CodeBlob", "_data_offset", FIELD(blob_data_offset), OPTIONAL},
    {"CodeBlob", "_mutable_data", FIELD(blob_mutable_data), OPTIONAL},
    {"CodeBlob", "_mutable_data_size", FIELD(blob_mutable_bytes), OPTIONAL},
    {"CodeBlob", "_relocation_size", FIELD(blob_relocation_bytes), OPTIONAL},
    {"nmethod", "_immutable_data", FIELD(nmethod_immutable_data), OPTIONAL},
    {"nmethod", "_immutable_data_size", FIELD(nmethod_immutable_bytes), OPTIONAL},
    {"nmethod", "_metadata_offset", FIELD(nmethod_metadata_offset), OPTIONAL},
    {"nmethod", "_scopes_pcs_offset", FIELD(nmethod_pcs_offset), OPTIONAL},
    {"nmethod", "_dependencies_offset", FIELD(nmethod_dependencies_offset), OPTIONAL},
    {"nmethod", "_scopes_data_offset", FIELD(nmethod_scopes_data_offset), OPTIONAL},
    {"CompiledMethod", "_scopes_data_begin", FIELD(nmethod_scopes_data_begin), OPTIONAL},
    {"PcDesc", NULL, FIELD(pc_bytes), OPTIONAL_SIZE_OF},
    {"PcDesc", "_pc_offset", FIELD(pc_offset), OPTIONAL},
    {"PcDesc", "_scope_decode_offset", FIELD(pc_scope_offset), OPTIONAL},
    {"nmethod", "_osr_link", FIELD(nmethod_osr_next), OPTIONAL},
    {"InstanceKlass", "_osr_nmethods_head", FIELD(klass_osr_first), OPTIONAL},
    {"Method", "_code", FIELD(method_code), OPTIONAL},
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
    {"JavaThread", "_stack_size", FIELD(thread_stack_size), OPTIONAL},
    {"JavaThread", "_current_pending_monitor", FIELD(thread_pending_monitor), OPTIONAL},
    {"JavaThread", "_lock_stack", FIELD(thread_lock_stack), OPTIONAL},
    {"LockStack", "_top", FIELD(lock_stack_top), OPTIONAL},
    {"LockStack", "_base[0]", FIELD(lock_stack_base), OPTIONAL},
    {"ObjectMonitor", "_owner", FIELD(monitor_owner), OPTIONAL},
    {"ObjectMonitor", "_object", FIELD(monitor_object), OPTIONAL},
    {"ObjectMonitor", "_recursions", FIELD(monitor_recursions), OPTIONAL},
    {"ThreadsSMRSupport", "_java_thread_list", FIELD(java_thread_list), OPTIONAL_ADDRESS},
    {"PerfMemory", "_start", FIELD(perf_memory), OPTIONAL_ADDRESS},
    {"ThreadsList", "_length", FIELD(list_length), OPTIONAL},
    {"ThreadsList", "_threads", FIELD(list_threads), OPTIONAL},
};

#define FIELD_COUNT (sizeof(fields) / sizeof(*fields))

/* What libjvm says of its tables' layout. */
static uint64_t exported(const char *name)
{
    const uint64_t *value = dlsym(RTLD_DEFAULT, name);

    return value ? *value : 0;
}

static const char *text_at(const char *entry, uint64_t offset)
{
    return *(const char *const *)(const void *)(entry + offset);
}

static uint64_t word_at(const char *entry, uint64_t offset)
{
    return *(const uint64_t *)(const void *)(entry + offset);
}

#define NO_COLUMN UINT64_MAX

static uint64_t column(const char *name)
{
    return name ? exported(name) : NO_COLUMN;
}

static const char *text_cell(const char *line, uint64_t offset)
{
    return offset != NO_COLUMN ? text_at(line, offset) : NULL;
}

static uint64_t word_cell(const char *line, uint64_t offset)
{
    return offset != NO_COLUMN ? word_at(line, offset) : 0;
}

static void walk_table(const struct table *table, line_visit visit, void *context)
{
    const char *const *lines = dlsym(RTLD_DEFAULT, table->lines);
    uint64_t stride = exported(table->stride);
    uint64_t type = column(table->type), field = column(table->field);
    uint64_t type_string = column(table->type_string), offset = column(table->offset);
    uint64_t address = column(table->address), size = column(table->size);
    const char *at = lines && stride ? *lines : NULL;

    for (; at && text_cell(at, type); at += stride) {
        struct line line = {.type = text_cell(at, type),
                            .field = text_cell(at, field),
                            .type_string = text_cell(at, type_string),
                            .offset = word_cell(at, offset),
                            .address = word_cell(at, address),
                            .size = word_cell(at, size)};

        visit(context, &line);
    }
}

static void walk_tables(line_visit visit, void *context)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        walk_table(&tables[i], visit, context);
}

static bool is_line_of(const struct line *line, const char *type, const char *field)
{
    return !line->field == !field && strcmp(line->type, type) == 0 &&
           (!field || strcmp(line->field, field) == 0);
}

/* Of a field that is an int in some versions. */
static int32_t bytes_of(const struct line *line)
{
    return line->type_string && (strcmp(line->type_string, "int16_t") == 0 ||
                                 strcmp(line->type_string, "u2") == 0 ||
                                 strcmp(line->type_string, "uint16_t") == 0)
               ? 2
               : 4;
}

static void resolve(struct vm_structs *structs, size_t row, const struct line *line)
{
    char *field = (char *)structs + fields[row].field;
    enum field_kind kind = fields[row].kind;

    if (kind == ADDRESS || kind == OPTIONAL_ADDRESS)
        *(uint64_t *)(void *)field = line->address;
    else
        *(int32_t *)(void *)field =
            (int32_t)(kind == SIZE_OF || kind == OPTIONAL_SIZE_OF ? line->size : line->offset);
    if (fields[row].field == FIELD(blob_frame_complete))
        structs->blob_frame_complete_bytes = bytes_of(line);
    if (fields[row].field == FIELD(monitor_owner))
        structs->monitor_owner_is_id =
            line->type_string && strcmp(line->type_string, "int64_t") == 0;
    if (fields[row].field == FIELD(nmethod_metadata_offset))
        structs->nmethod_metadata_offset_bytes = bytes_of(line);
}

static void resolve_fields(void *structs, const struct line *line)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (is_line_of(line, fields[i].type, fields[i].name))
            resolve(structs, i, line);
}

#define FLAG_ORIGIN 15 /* bits of a flag's state: who set the flag; 0: no option did */

/* The lines that say what a flag of the JVM is. */
struct flag_lines {
    struct line flags;
    struct line count;
    struct line name;
    struct line value;
    struct line state;
    struct line type;
};

static void find_flag_lines(void *context, const struct line *line)
{
    struct flag_lines *found = context;
    const struct {
        const char *field;
        struct line *into;
    } sought[] = {{"flags", &found->flags}, {"numFlags", &found->count}, {"_name", &found->name},
                  {"_addr", &found->value}, {"_flags", &found->state},   {NULL, &found->type}};

    for (size_t i = 0; i < sizeof(sought) / sizeof(*sought); i++)
        if (is_line_of(line, "JVMFlag", sought[i].field))
            *sought[i].into = *line;
}

/* What a static holds; 0: there is none. */
static uint64_t value_of(const struct line *line)
{
    return line->address ? *(const uint64_t *)(uintptr_t)line->address : 0;
}

/* NULL: this JVM has none of that name. */
static const char *find_flag(struct flag_lines *lines, const char *name)
{
    const char *flag;
    uint64_t count;

    memset(lines, 0, sizeof(*lines));
    walk_tables(find_flag_lines, lines);
    flag = (const char *)(uintptr_t)value_of(&lines->flags);
    count = flag && lines->type.size && lines->name.type && lines->value.type
                ? value_of(&lines->count)
                : 0;
    for (uint64_t i = 0; i < count; i++, flag += lines->type.size) {
        const char *its_name = text_at(flag, lines->name.offset);

        if (its_name && strcmp(its_name, name) == 0)
            return flag;
    }
    return NULL;
}

bool vm_structs__flag(const char *name)
{
    struct flag_lines lines;
    const char *flag = find_flag(&lines, name);

    return flag && *(const bool *)(uintptr_t)word_at(flag, lines.value.offset);
}

bool vm_structs__set_flag(const char *name, bool on)
{
    struct flag_lines lines;
    const char *flag = find_flag(&lines, name);
    bool *value;

    if (!flag || !lines.state.type ||
        vm_structs__int(flag, (int32_t)lines.state.offset) & FLAG_ORIGIN)
        return false;
    value = (bool *)(uintptr_t)word_at(flag, lines.value.offset);
    if (*value == on)
        return false;
    *value = on;
    return true;
}

bool vm_structs__read(struct vm_structs *structs, const char **missing)
{
    memset(structs, 0xff, sizeof(*structs));
    structs->code_cache_heaps = NULL;
    structs->call_stub_return_address = NULL;
    structs->vm_major_version = NULL;
    structs->java_thread_list = NULL;
    structs->perf_memory = NULL;
    structs->monitor_owner_is_id = false;
    walk_tables(resolve_fields, structs);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const char *field = (const char *)structs + fields[i].field;
        bool there = fields[i].kind == ADDRESS ? *(const uint64_t *)(const void *)field != 0
                                               : *(const int32_t *)(const void *)field >= 0;

        *missing = fields[i].name ? fields[i].name : fields[i].type;
        if (!there && fields[i].kind < OPTIONAL)
            return false;
    }
    *missing = structs->blob_code_begin < 0 && structs->blob_code_offset < 0 ? "_code_begin"
               : structs->nmethod_method < 0                                 ? "_method"
                                                                             : NULL;
    return !*missing;
}

bool vm_structs__tells_scopes(const struct vm_structs *structs)
{
    bool metadata = structs->blob_mutable_data >= 0
                        ? structs->blob_relocation_bytes >= 0 && structs->blob_mutable_bytes >= 0
                        : structs->nmethod_metadata_offset >= 0;
    bool scopes =
        structs->nmethod_immutable_data >= 0
            ? structs->nmethod_immutable_bytes >= 0 && structs->nmethod_scopes_data_offset >= 0 &&
                  structs->blob_data_offset >= 0
            : structs->nmethod_dependencies_offset >= 0 && structs->nmethod_scopes_data_begin >= 0;

    return structs->vm_major_version && metadata && scopes && structs->nmethod_pcs_offset >= 0 &&
           structs->pc_bytes > 0 && structs->pc_offset >= 0 && structs->pc_scope_offset >= 0;
}
