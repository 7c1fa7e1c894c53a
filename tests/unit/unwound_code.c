/* Code to walk through, compiled into a library of its own without frame pointers: the frames that
 * compilers make are all here. Each function calls `leaf` with nothing but itself between. */
#include "tests/unit/unwound_code.h"

#include <alloca.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What follows a call keeps it from being a jump. */
static volatile int after;

int unwound__recurse(int depth, int (*leaf)(void))
{
    int result = depth > 0 ? unwound__recurse(depth - 1, leaf) : leaf();

    __atomic_fetch_add(&after, 1, __ATOMIC_RELAXED); /* several threads are in here at once */
    return result;
}

/* A frame whose size nobody knows before: it ends where rbp says. */
int unwound__alloca(int bytes, int (*leaf)(void))
{
    volatile char *room = alloca((size_t)bytes);
    int result;

    room[0] = 1;
    room[bytes - 1] = 2;
    result = leaf();
    return result + room[0];
}

/* A frame that begins at an address of its own choice, with and without a size known before. */
int unwound__aligned(int bytes, int (*leaf)(void))
{
    _Alignas(64) volatile char aligned[128];
    volatile char *room = alloca((size_t)bytes);
    int result;

    aligned[0] = 1;
    room[0] = 1;
    result = leaf();
    return result + aligned[0] + room[0];
}

/* More arguments than there are registers: some are pushed around the call. */
__attribute__((noinline)) static int with_many(int a, int b, int c, int d, int e, int f, int g,
                                               int h, int (*leaf)(void))
{
    int result = leaf();

    after++;
    return result + a + b + c + d + e + f + g + h;
}

int unwound__arguments(int first, int (*leaf)(void))
{
    int result = with_many(first, 2, 3, 4, 5, 6, 7, first, leaf);

    after++;
    return result;
}

static int (*sort_leaf)(void);

static int compare(const void *left, const void *right)
{
    after = sort_leaf();
    return *(const int *)left - *(const int *)right;
}

int unwound__sort(int first, int (*leaf)(void))
{
    int numbers[] = {first, 5, 2, 9, 1};

    sort_leaf = leaf;
    qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
    return numbers[0];
}

/* A large frame, and a leaf below it with things in the red zone. */
int unwound__large(int bytes, int (*leaf)(void))
{
    volatile char room[70000];
    int result;

    room[bytes] = 1;
    result = leaf();
    return result + room[bytes];
}

/* Much of libc in a few calls, of which the first go through the dynamic linker. */
int unwound__mixture(int number, int (*leaf)(void))
{
    char text[200];
    struct timespec now;

    snprintf(text, sizeof text, "%d %a %.20f %s", number, 1.5, 0.1, "text");
    clock_gettime(CLOCK_MONOTONIC, &now);
    free(malloc((size_t)number + 100));
    return (int)strlen(text) + (strtod("1.25e100", NULL) > 1.0) + leaf();
}

#if defined(__x86_64__)
/* No call frame information, but a chain of frame pointers. */
__asm__(".text\n"
        ".globl unwound__chain\n"
        ".type unwound__chain, @function\n"
        "unwound__chain:\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    sub $64, %rsp\n"
        "    call *%rsi\n"
        "    leave\n"
        "    ret\n"
        ".size unwound__chain, . - unwound__chain\n");
#endif
