/*
 * Where HotSpot keeps what a stack walk reads: offsets of fields and addresses of statics, from the
 * tables that libjvm exports for the serviceability agent (gHotSpotVMStructs, gHotSpotVMTypes).
 * Nothing here is compiled in from one version of the JVM.
 */
#ifndef TREADLE_VM_STRUCTS_H
#define TREADLE_VM_STRUCTS_H

#include <stdbool.h>
#include <stdint.h>

/* Offsets in bytes unless a name says otherwise; -1: this JVM has no such field. */
struct vm_structs {
    /* statics: their addresses */
    const void *code_cache_heaps;
    const void *call_stub_return_address;
    const int32_t *vm_major_version; /* or NULL */

    int32_t array_length; /* GrowableArray */
    int32_t array_data;

    int32_t heap_memory; /* CodeHeap */
    int32_t heap_segment_map;
    int32_t heap_log2_segment_size;
    int32_t space_low_boundary; /* VirtualSpace: what is reserved, and what is committed */
    int32_t space_high_boundary;
    int32_t space_low;
    int32_t space_high;
    int32_t block_used; /* HeapBlock::Header */
    int32_t block_bytes;

    int32_t blob_name; /* CodeBlob */
    int32_t blob_size;
    int32_t blob_frame_size; /* … which is in words */
    int32_t blob_frame_complete;
    int32_t blob_frame_complete_bytes; /* of the field: 2 or 4 */
    int32_t blob_code_begin;           /* an address; or else */
    int32_t blob_code_offset;          /* an offset from the blob */
    int32_t nmethod_method;
    int32_t nmethod_level; /* 0 where compiled by nobody, 1 to 3: C1, 4: C2 */
    int32_t nmethod_compile_id;
    int32_t nmethod_osr_next; /* the next piece of code of the class that is entered in a loop */
    int32_t klass_osr_first;

    /* Debug information; what there is differs from version to version. */
    int32_t blob_data_offset;
    int32_t blob_mutable_data; /* an address, as nmethod_immutable_data */
    int32_t blob_mutable_bytes;
    int32_t blob_relocation_bytes;
    int32_t nmethod_immutable_data;
    int32_t nmethod_immutable_bytes;
    int32_t nmethod_metadata_offset;
    int32_t nmethod_metadata_offset_bytes; /* of the field: 2 or 4 */
    int32_t nmethod_pcs_offset;
    int32_t nmethod_dependencies_offset;
    int32_t nmethod_scopes_data_offset;
    int32_t nmethod_scopes_data_begin; /* an address */
    int32_t pc_bytes;                  /* sizeof(PcDesc) */
    int32_t pc_offset;
    int32_t pc_scope_offset;

    int32_t method_const; /* Method */
    int32_t method_code;
    int32_t const_constants;
    int32_t const_code_size;
    int32_t const_name;
    int32_t const_signature;
    int32_t const_bytes; /* sizeof(ConstMethod): the bytecodes follow */
    int32_t pool_holder;
    int32_t pool_bytes; /* sizeof(ConstantPool): the entries follow */
    int32_t pool_length;
    int32_t klass_name;
    int32_t symbol_length;
    int32_t symbol_body;

    int32_t thread_anchor; /* JavaThread */
    int32_t thread_stack_base;
    int32_t anchor_sp;
    int32_t anchor_pc;
    int32_t anchor_fp;

    /* Monitors and their owners; see agent/hotspot/monitor_owner.h. */
    const void *java_thread_list; /* a static, which holds a ThreadsList; or NULL */
    int32_t list_length;
    int32_t list_threads;
    int32_t thread_stack_size;
    int32_t thread_pending_monitor; /* what the thread is about to wait for */
    int32_t thread_lock_stack;
    int32_t lock_stack_top;
    int32_t lock_stack_base;
    int32_t monitor_owner;
    int32_t monitor_object;     /* the address of a reference to the object */
    int32_t monitor_recursions; /* entries by the owner beyond the first */
    bool monitor_owner_is_id;   /* Thread.threadId(), not an address */

    const char *const *perf_memory; /* a static; or NULL. See agent/hotspot/safepoint_time.h */
};

/* Fills the struct in. False if this JVM does not export enough; *missing is the first missing
 * entry. */
bool vm_structs__read(struct vm_structs *structs, const char **missing);

/* True if these suffice to find out what is inlined in compiled code. */
bool vm_structs__tells_scopes(const struct vm_structs *structs);

/* True if the JVM has that boolean flag and the flag is on. */
bool vm_structs__flag(const char *name);

/* Sets the flag unless a JVM option has set it. True if that changed it. */
bool vm_structs__set_flag(const char *name, bool on);

/* Each returns the field at that offset. */
static inline const void *vm_structs__pointer(const void *of, int32_t offset)
{
    return *(const void *const *)(const void *)((const char *)of + offset);
}

static inline int32_t vm_structs__int(const void *of, int32_t offset)
{
    return *(const int32_t *)(const void *)((const char *)of + offset);
}

static inline uint16_t vm_structs__short(const void *of, int32_t offset)
{
    return *(const uint16_t *)(const void *)((const char *)of + offset);
}

/* A field of 2 or of 4 bytes, according to the version. */
static inline int32_t vm_structs__offset(const void *of, int32_t offset, int32_t bytes)
{
    return bytes == 2 ? (int32_t)vm_structs__short(of, offset) : vm_structs__int(of, offset);
}

#endif
