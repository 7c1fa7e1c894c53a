/*
 * A program whose call tree is known. Built with -finstrument-functions -fno-inline.
 *
 *     main
 *       twice                      2 calls
 *         leaf                     6: three of each
 *       deep                       1, and 6 more of itself; folded with recursion=1
 *         leaf                     1: at the bottom
 *       jumps                      1
 *         thrower                  5: left by longjmp each time
 *           inner                  5
 *         after                    5: called by jumps once thrower is gone, from a frame as large
 *           leaf                   5
 *       loops                      1
 *         restarts                 4: entered again at the same place, left by longjmp but the last
 *       ways                       1
 *         left_by_function         1: left by longjmp out of a library's function that called it
 *           comparing              1
 *         after_sort               1
 *       deeper                     1
 *         thrower                  1: left by longjmp
 *           inner                  1
 *         comparing_well           1: called by a library's function, whose frame is where
 * thrower's was
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static jmp_buf out;
static volatile int count;

static void leaf(void)
{
    count++;
}

static void twice(void)
{
    for (int i = 0; i < 3; i++)
        leaf();
}

static void deep(int levels)
{
    if (levels)
        deep(levels - 1);
    else
        leaf();
    count++;
}

static void inner(void)
{
    longjmp(out, 1);
}

static void thrower(void)
{
    volatile char room[256];

    memset((char *)room, 1, sizeof(room));
    inner();
}

static void after(void)
{
    volatile char room[512];

    memset((char *)room, 1, sizeof(room));
    leaf();
}

static void jumps(void)
{
    for (volatile int i = 0; i < 5; i++)
        if (setjmp(out))
            after();
        else
            thrower();
}

static void restarts(int jump)
{
    if (jump)
        longjmp(out, 1);
}

static void loops(void)
{
    volatile int left = 4;

    (void)setjmp(out);
    if (left > 0)
        restarts(--left > 0);
}

static int comparing(const void *a, const void *b)
{
    (void)a, (void)b;
    longjmp(out, 1);
}

static void left_by_function(void)
{
    int numbers[2] = {2, 1};

    qsort(numbers, 2, sizeof(numbers[0]), comparing);
}

static void after_sort(void)
{
    count++;
}

static void ways(void)
{
    if (setjmp(out))
        after_sort();
    else
        left_by_function();
}

static int comparing_well(const void *a, const void *b)
{
    return (a > b) - (a < b);
}

static void deeper(void)
{
    int numbers[2] = {1, 2};

    if (setjmp(out))
        qsort(numbers, 2, sizeof(numbers[0]), comparing_well);
    else
        thrower();
}

int main(int argc, char **argv)
{
    twice();
    twice();
    deep(6);
    jumps();
    loops();
    ways();
    deeper();
    if (argc > 1 && strcmp(argv[1], "close") == 0) /* as daemons do; then it has files of its own */
        for (int fd = 3; fd < 1024; fd++) {
            close(fd);
            if (fd % 100 == 0)
                dup2(1, fd);
        }
    if (argc > 1 && strcmp(argv[1], "_exit") == 0)
        _exit(3);
    if (argc > 1 && strcmp(argv[1], "quick_exit") == 0)
        quick_exit(4);
    if (argc > 1 && strcmp(argv[1], "abort") == 0) {
        usleep(400000); /* the names are found ten times a second */
        abort();
    }
    return 0;
}
