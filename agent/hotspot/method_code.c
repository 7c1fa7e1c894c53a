#include "agent/hotspot/method_code.h"

#include <sys/uio.h>
#include <unistd.h>

#define NEWEST_WITH_POINTERS 25 /* version of the JVM: a jmethodID is the address of a Method * */
#define LOOPS_MAX            65536u

/* A word of this process at that offset; false: there is no such memory. */
static bool read_word(const void *of, int32_t offset, const void **word)
{
    struct iovec from = {(char *)(uintptr_t)of + offset, sizeof(*word)};
    struct iovec to = {word, sizeof(*word)};

    return of && offset >= 0 &&
           process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof(*word);
}

/* Machine code that is entered in a loop is in a list of the class's. */
static bool may_run_loop(const struct vm_structs *structs, const void *method, const void *class)
{
    const void *loop, *looping;

    if (!read_word(class, structs->klass_osr_first, &loop))
        return true;
    for (uint32_t i = 0; loop && i < LOOPS_MAX; i++)
        if (!read_word(loop, structs->nmethod_method, &looping) || looping == method ||
            !read_word(loop, structs->nmethod_osr_next, &loop))
            return true;
    return loop != NULL;
}

bool method_code__may_run(const struct vm_structs *structs, jmethodID method)
{
    const void *in_memory, *code, *constant, *pool, *class;

    if (!structs->vm_major_version || *structs->vm_major_version > NEWEST_WITH_POINTERS ||
        !read_word(method, 0, &in_memory) || !read_word(in_memory, structs->method_code, &code) ||
        code)
        return true;
    return !read_word(in_memory, structs->method_const, &constant) ||
           !read_word(constant, structs->const_constants, &pool) ||
           !read_word(pool, structs->pool_holder, &class) ||
           may_run_loop(structs, in_memory, class);
}
