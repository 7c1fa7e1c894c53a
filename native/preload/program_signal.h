/*
 * The signal that asks threads for samples is the program's, too: it may have a handler for it, set
 * it to its default, or send it. The kernel knows the profiler's handler only; this module keeps
 * the program's action, and does with what others send what the kernel would do.
 *
 * Any thread, async-signal-safe; nothing here locks, blocks or allocates. Of actions that are set
 * while a signal is passed on, the last PROGRAM_SIGNAL_ACTIONS are whole.
 */
#ifndef TREADLE_PROGRAM_SIGNAL_H
#define TREADLE_PROGRAM_SIGNAL_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define PROGRAM_SIGNAL_ACTIONS 64u

/* All zeros: the profiler has no signal. */
struct program_signal {
    _Atomic int number; /* 0: none */
    _Atomic pid_t
        measured_by; /* the thread that sends itself signals to see what they cost; or 0 */
    __typeof__(&sigaction) sigaction; /* the C library's */
    struct sigaction profilers;
    _Atomic uint32_t used;
    _Atomic uint32_t current; /* of `actions`: the program's */
    struct sigaction actions[PROGRAM_SIGNAL_ACTIONS];
};

/* The profiler has a handler for that signal now. before: the program's action. `sigaction` is set.
 */
void program_signal__begin(struct program_signal *signal, int number,
                           const struct sigaction *before);

/* True of the profiler's signal: the program's action for it is kept here. */
static inline bool program_signal__is(const struct program_signal *signal, int number)
{
    return number && number == atomic_load(&signal->number);
}

/* What sigaction does for that signal. Either may be NULL. */
void program_signal__exchange(struct program_signal *signal, const struct sigaction *action,
                              struct sigaction *before);

/* Did the profiler send it? Else it is the program's, and the handler has it passed on. */
bool program_signal__is_profilers(const struct program_signal *signal, int number,
                                  const siginfo_t *info);
void program_signal__pass_on(struct program_signal *signal, siginfo_t *info, void *context);

/* A program that is executed inherits signals that are ignored. after_failed_exec: it was not. */
void program_signal__before_exec(const struct program_signal *signal);
void program_signal__after_failed_exec(const struct program_signal *signal);

#endif
