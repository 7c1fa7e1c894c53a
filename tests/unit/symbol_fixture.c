#include "tests/unit/symbol_fixture.h"

#define EXPORTED __attribute__((visibility("default")))

/* What compilers call a function's line is that of its name, or of its brace. */
/* clang-format off */
EXPORTED const int fixture_line = __LINE__ + 1;
EXPORTED int _ZN4demo6Engine4spinEi(int rounds) {
    int sum = 0;
    for (int i = 0; i < rounds; i++)
        sum += i;
    return sum;
}
/* clang-format on */

static int fixture_hidden(int value)
{
    return value + 1;
}

EXPORTED void *fixture_hidden_address(void)
{
    return (void *)fixture_hidden;
}
