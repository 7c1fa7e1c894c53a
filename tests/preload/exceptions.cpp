/*
 * Exceptions through instrumented frames, and a handler of a signal that calls functions.
 *
 *     main
 *       catches                 3
 *         passes                3
 *           throws              3: left by an exception
 *         handles               3
 *       raises                  1
 *         on_signal             2
 *           in_handler          2
 */
#include <csignal>
#include <stdexcept>

static volatile int count;

static void throws()
{
    throw std::runtime_error("out");
}

static void passes()
{
    throws();
    count = count + 1;
}

static void handles()
{
    count = count + 1;
}

static void catches()
{
    try {
        passes();
    } catch (const std::exception &) {
        handles();
    }
}

static void in_handler()
{
    count = count + 1;
}

static void on_signal(int)
{
    in_handler();
}

static void raises()
{
    raise(SIGUSR1);
    raise(SIGUSR1);
}

int main()
{
    std::signal(SIGUSR1, on_signal);
    for (int i = 0; i < 3; i++)
        catches();
    raises();
    return 0;
}
