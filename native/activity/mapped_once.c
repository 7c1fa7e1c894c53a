#include "native/activity/mapped_once.h"

#include <stdatomic.h>
#include <sys/mman.h>

void *mapped_once__at(void *_Atomic *space, size_t bytes)
{
    void *there = atomic_load(space), *made;

    if (there)
        return there;
    made = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (atomic_compare_exchange_strong(space, &there, made))
        return made;
    munmap(made, bytes);
    return there;
}
