// Logical stacks in C++: scopes that end with their blocks, exceptions or not. Needs nothing but
// the header; compile with -fno-exceptions, and it still does. Runs until its standard input ends.
#include "native/activity/treadle.h"

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace
{
void sort(const std::string &table)
{
    treadle_scope_with("sort", table.c_str());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
#ifdef __cpp_exceptions
    throw table.size();
#endif
}

void query()
{
    treadle_scope("query");
#ifdef __cpp_exceptions
    try {
        sort("ORDERS");
    } catch (std::size_t) {
        treadle_scope_number("retry", 1);
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
#else
    sort("ORDERS");
#endif
}
} // namespace

int main()
{
    std::thread worker([] {
        for (;;)
            query();
    });
    worker.detach();
    std::puts("ready");
    std::fflush(stdout);
    while (std::getchar() != EOF)
        continue;
    std::exit(0);
}
