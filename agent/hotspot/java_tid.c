#include "agent/hotspot/java_tid.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* HotSpot's table, as vmStructs.hpp says that others are to read it. */
struct vm_structs {
    const char *entries; /* NULL: none */
    uint64_t stride;
    uint64_t type_name;
    uint64_t field_name;
    uint64_t offset;
};

static uint64_t exported(const char *name)
{
    const uint64_t *value = dlsym(RTLD_DEFAULT, name);

    return value ? *value : 0;
}

static struct vm_structs find_structs(void)
{
    return (struct vm_structs){
        .entries = (const char *)(uintptr_t)exported("gHotSpotVMStructs"),
        .stride = exported("gHotSpotVMStructEntryArrayStride"),
        .type_name = exported("gHotSpotVMStructEntryTypeNameOffset"),
        .field_name = exported("gHotSpotVMStructEntryFieldNameOffset"),
        .offset = exported("gHotSpotVMStructEntryOffsetOffset"),
    };
}

static const char *text_at(const char *entry, uint64_t offset)
{
    const char *text;

    memcpy(&text, entry + offset, sizeof(text));
    return text;
}

/* The offset of a field; 0 if it is not there. */
static uint64_t field_offset(const struct vm_structs *structs, const char *type, const char *field)
{
    const char *entry = structs->entries;
    uint64_t offset = 0;

    if (!entry || structs->stride == 0)
        return 0;
    for (; text_at(entry, structs->type_name); entry += structs->stride)
        if (strcmp(text_at(entry, structs->type_name), type) == 0 &&
            strcmp(text_at(entry, structs->field_name), field) == 0)
            memcpy(&offset, entry + structs->offset, sizeof(offset));
    return offset;
}

void java_tid__prepare(struct java_tid *java_tid, JNIEnv *jni, jclass thread_class)
{
    struct vm_structs structs = find_structs();

    java_tid->os_thread = field_offset(&structs, "Thread", "_osthread");
    if (!java_tid->os_thread)
        java_tid->os_thread = field_offset(&structs, "JavaThread", "_osthread");
    java_tid->id = field_offset(&structs, "OSThread", "_thread_id");
    if (thread_class)
        java_tid->eetop = (*jni)->GetFieldID(jni, thread_class, "eetop", "J");
    if ((*jni)->ExceptionCheck(jni))
        (*jni)->ExceptionClear(jni);
}

static bool read_memory(uint64_t address, void *into, size_t bytes)
{
    struct iovec local = {.iov_base = into, .iov_len = bytes};
    struct iovec remote = {.iov_base = (void *)(uintptr_t)address, .iov_len = bytes};

    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)bytes;
}

pid_t java_tid__of(const struct java_tid *java_tid, JNIEnv *jni, jobject thread)
{
    uint64_t vm_thread, os_thread;
    pid_t tid;

    if (!java_tid->eetop || !java_tid->os_thread || !java_tid->id)
        return 0;
    vm_thread = (uint64_t)(*jni)->GetLongField(jni, thread, java_tid->eetop);
    if (!vm_thread ||
        !read_memory(vm_thread + java_tid->os_thread, &os_thread, sizeof(os_thread)) ||
        !os_thread || !read_memory(os_thread + java_tid->id, &tid, sizeof(tid)))
        return 0;
    return tid > 0 ? tid : 0;
}
