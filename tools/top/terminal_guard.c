#include "tools/top/terminal_guard.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
static const int crashing[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

/* A signal handler can only know what stands here. */
static struct {
    volatile sig_atomic_t signal;
    volatile sig_atomic_t taken;
    struct termios before;
    char restore[256]; /* what makes the terminal as it was, where curses cannot any more */
    SCREEN *screen;
    sigset_t blocked_before;
} guard;

static void note_signal(int number)
{
    guard.signal = number;
}

/* Async-signal-safe: what endwin() does is not. */
static void give_back_and_crash(int number)
{
    if (guard.taken) {
        (void)!write(STDOUT_FILENO, guard.restore, strlen(guard.restore));
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &guard.before);
    }
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

static void set_handlers(const int *signals, size_t count, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler};

    (void)sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < count; i++)
        (void)sigaction(signals[i], &action, NULL);
}

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

static void block_ending(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    for (size_t i = 0; i < COUNT_OF(ending); i++)
        (void)sigaddset(&set, ending[i]);
    (void)sigprocmask(SIG_BLOCK, &set, &guard.blocked_before);
}

static void add_capability(const char *name)
{
    const char *sequence = tigetstr(name);
    size_t used = strlen(guard.restore);

    if (sequence && sequence != (const char *)-1 && used + strlen(sequence) < sizeof(guard.restore))
        memcpy(guard.restore + used, sequence, strlen(sequence) + 1);
}

/* exit() from anywhere, such as when memory is gone. */
static void at_exit(void)
{
    if (guard.taken)
        (void)endwin();
    guard.taken = 0;
}

/* newterm() finds out the same, but loses memory where it fails. */
static int is_known(void)
{
    int found = 0;

    if (setupterm(NULL, STDOUT_FILENO, &found) != OK || found != 1)
        return 0;
    (void)del_curterm(cur_term);
    return 1;
}

int terminal_guard__take(void)
{
    if (tcgetattr(STDIN_FILENO, &guard.before) != 0 || !is_known())
        return -1;
    guard.signal = 0;
    set_handlers(ending, COUNT_OF(ending), note_signal);
    block_ending();
    guard.screen = newterm(NULL, stdout, stdin);
    if (!guard.screen) {
        set_handlers(ending, COUNT_OF(ending), SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &guard.blocked_before, NULL);
        return -1;
    }
    (void)atexit(at_exit);
    guard.restore[0] = '\0';
    add_capability("sgr0");
    add_capability("rmkx");
    add_capability("cnorm");
    add_capability("rmcup");
    guard.taken = 1;
    set_handlers(crashing, COUNT_OF(crashing), give_back_and_crash);
    (void)cbreak();
    (void)noecho();
    (void)keypad(stdscr, TRUE);
    (void)nodelay(stdscr, TRUE);
    (void)set_escdelay(25);
    (void)curs_set(0);
    return 0;
}

int terminal_guard__signal(void)
{
    return guard.signal;
}

int terminal_guard__wait(long milliseconds)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    int ready = ppoll(&input, 1, &time, &guard.blocked_before);

    return !(ready < 0 && errno != EINTR) && !(input.revents & (POLLHUP | POLLERR | POLLNVAL));
}

void terminal_guard__give_back(void)
{
    if (!guard.taken)
        return;
    (void)endwin();
    guard.taken = 0;
    delscreen(guard.screen);
    set_handlers(crashing, COUNT_OF(crashing), SIG_DFL);
    set_handlers(ending, COUNT_OF(ending), SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &guard.blocked_before, NULL);
}
