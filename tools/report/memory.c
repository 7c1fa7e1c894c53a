#include "tools/report/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void give_up(void)
{
    fputs("treadle: out of memory\n", stderr);
    exit(1);
}

void *memory__zeroed(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);

    if (!memory)
        give_up();
    return memory;
}

void *memory__grown(void *array, size_t *room, size_t needed, size_t size)
{
    if (needed <= *room && array)
        return array;
    size_t larger = *room ? *room : 16;
    while (larger < needed && larger <= SIZE_MAX / 2)
        larger *= 2;
    void *grown = larger >= needed && larger <= SIZE_MAX / size ? realloc(array, larger * size) : 0;
    if (!grown)
        give_up();
    *room = larger;
    return grown;
}
