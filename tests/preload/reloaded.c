/* A library of which one function has a name of its own, FUNCTION, and lies where those of others
 * do. */
#include <stdlib.h>

__attribute__((noinline)) void FUNCTION(int times)
{
    while (times-- > 0)
        if (rand() < 0)
            abort();
}

void used(void)
{
    FUNCTION(1000);
}
