/*
 * What stands before functions of the C library in the program's eyes: threads that begin and get
 * names, images that are unloaded, the ends of a process that no destructor sees, and what a
 * process with more than one thread may not do. Knows the one profiler: callers pass nothing of
 * ours.
 */
#include "native/preload/function_hooks.h"
#include "native/preload/preload.h"
#include "native/preload/upkeep.h"

#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The next definitions: the C library's, or those of another library that was preloaded. */
static struct {
    bool found;
    __typeof__(&pthread_create) pthread_create;
    __typeof__(&pthread_setname_np) pthread_setname_np;
    __typeof__(&prctl) prctl;
    __typeof__(&dlclose) dlclose;
    __typeof__(&unshare) unshare;
    __typeof__(&setns) setns;
    void (*exit)(int);
    __typeof__(&execve) execve;
    __typeof__(&execvp) execvp;
    __typeof__(&execvpe) execvpe;
    __typeof__(&fexecve) fexecve;
} next;

#define UNLOAD_WAIT_NS 100000000u

#define FIND(field, name) next.field = (__typeof__(next.field))(uintptr_t)dlsym(RTLD_NEXT, name)

/* While there is one thread only: pthread_create is called before there are two. */
static __attribute__((constructor(101))) void find_next(void)
{
    if (next.found)
        return;
    FIND(pthread_create, "pthread_create");
    FIND(pthread_setname_np, "pthread_setname_np");
    FIND(prctl, "prctl");
    FIND(dlclose, "dlclose");
    FIND(unshare, "unshare");
    FIND(setns, "setns");
    FIND(exit, "_exit");
    FIND(execve, "execve");
    FIND(execvp, "execvp");
    FIND(execvpe, "execvpe");
    FIND(fexecve, "fexecve");
    next.found = true;
}

static void *run_thread(void *context)
{
    struct preload_start start = *(struct preload_start *)context;

    free(context);
    if (preload__is_active(&preload_process)) {
        preload_mine.busy = UINT64_MAX;
        preload_threads__begin(&preload_process.threads, &start);
        preload_mine.busy = 0;
    }
    return start.function(start.argument);
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): the C library's own names are
 * reserved
 */
PRELOAD_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                                  void *(*function)(void *), void *argument)
{
    struct preload_start *start;
    uint64_t busy;
    int error;

    find_next();
    preload__begin(&preload_process);
    if (!preload__is_active(&preload_process) || preload_mine.is_no_ones)
        return next.pthread_create(thread, attributes, function, argument);
    start = malloc(sizeof(*start));
    if (!start)
        return next.pthread_create(thread, attributes, function, argument);
    *start = (struct preload_start){.function = function, .argument = argument};
    busy = preload_mine.busy;
    preload_mine.busy = UINT64_MAX;
    preload_threads__note_parent(&preload_process.threads, start);
    preload_mine.busy = busy;
    error = next.pthread_create(thread, attributes, run_thread, start);
    if (error)
        free(start);
    return error;
}

PRELOAD_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
    int error;

    find_next();
    error = next.pthread_setname_np(thread, name);

    if (!error && preload__is_active(&preload_process) && !preload_mine.is_no_ones)
        preload_threads__name(&preload_process.threads, thread, name);
    return error;
}

PRELOAD_EXPORT int prctl(int option, ...)
{
    unsigned long argument[4];
    va_list arguments;
    char name[16];
    int result;

    find_next();
    va_start(arguments, option);
    for (unsigned i = 0; i < 4; i++)
        argument[i] = va_arg(arguments, unsigned long);
    va_end(arguments);
    result = next.prctl(option, argument[0], argument[1], argument[2], argument[3]);
    if (option == PR_SET_NAME && result == 0 && preload__is_active(&preload_process) &&
        !preload_mine.is_no_ones && pthread_getname_np(pthread_self(), name, sizeof(name)) == 0)
        preload_threads__name(&preload_process.threads, pthread_self(), name);
    return result;
}

/* What was called is named while it is there. The profiler's own thread, which does that, may have
 * to wait for a lock that this thread has: in a destructor, or a constructor. */
PRELOAD_EXPORT int dlclose(void *handle)
{
    struct preload *preload = &preload_process;
    bool is_ours;
    int error;

    find_next();
    is_ours =
        preload__is_active(preload) && !preload_mine.is_no_ones && !preload_mine.busy &&
        (__atomic_load_n(&preload->functions.count, __ATOMIC_RELAXED) || preload->names.filtered);
    if (is_ours)
        upkeep__before_unload(preload, UNLOAD_WAIT_NS);
    error = next.dlclose(handle);
    if (is_ours) {
        function_table__forget_unloaded(&preload->functions);
        function_names__forget_unloaded(&preload->names);
        call_frames__forget(&preload->frames);
    }
    return error;
}

PRELOAD_EXPORT _Noreturn void _exit(int status)
{
    preload__end(&preload_process);
    if (next.exit)
        next.exit(status);
    for (;;)
        (void)syscall(SYS_exit_group, status);
}

PRELOAD_EXPORT _Noreturn void _Exit(int status)
{
    _exit(status);
}

/* What only a process with a single thread may do fails because of the profiler's own: without it
 * once more. */
static bool begin_alone(int result)
{
    return result != 0 && errno == EINVAL && preload__is_active(&preload_process) &&
           !preload_mine.is_no_ones && !preload_mine.busy && upkeep__pause(&preload_process);
}

static int end_alone(int result)
{
    int error = errno;

    upkeep__go_on(&preload_process);
    errno = error;
    return result;
}

PRELOAD_EXPORT int unshare(int flags)
{
    int result;

    find_next();
    result = next.unshare(flags);
    return begin_alone(result) ? end_alone(next.unshare(flags)) : result;
}

PRELOAD_EXPORT int setns(int fd, int type)
{
    int result;

    find_next();
    result = next.setns(fd, type);
    return begin_alone(result) ? end_alone(next.setns(fd, type)) : result;
}

/* The exec family: a call that returns has failed. */
PRELOAD_EXPORT int execve(const char *path, char *const argv[], char *const environment[])
{
    find_next();
    preload__before_exec(&preload_process);
    (void)next.execve(path, argv, environment);
    preload__after_failed_exec(&preload_process);
    return -1;
}

PRELOAD_EXPORT int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

PRELOAD_EXPORT int execvp(const char *file, char *const argv[])
{
    find_next();
    preload__before_exec(&preload_process);
    (void)next.execvp(file, argv);
    preload__after_failed_exec(&preload_process);
    return -1;
}

PRELOAD_EXPORT int execvpe(const char *file, char *const argv[], char *const environment[])
{
    find_next();
    preload__before_exec(&preload_process);
    (void)next.execvpe(file, argv, environment);
    preload__after_failed_exec(&preload_process);
    return -1;
}

PRELOAD_EXPORT int fexecve(int fd, char *const argv[], char *const environment[])
{
    find_next();
    preload__before_exec(&preload_process);
    (void)next.fexecve(fd, argv, environment);
    preload__after_failed_exec(&preload_process);
    return -1;
}

/* The number of arguments behind the first one, with the NULL at their end. */
static size_t count_arguments(va_list arguments)
{
    size_t count = 1;

    while (va_arg(arguments, char *))
        count++;
    return count;
}

/* Takes the arguments up to NULL, and returns what stands behind it if that is asked for. */
static char **take_arguments(char **argv, const char *first, va_list arguments,
                             bool has_environment)
{
    size_t at = 0;

    argv[at] = (char *)(uintptr_t)first;
    while (argv[at])
        argv[++at] = va_arg(arguments, char *);
    return has_environment ? va_arg(arguments, char **) : NULL;
}

PRELOAD_EXPORT int execl(const char *path, const char *first, ...)
{
    va_list arguments;
    char **argv;

    va_start(arguments, first);
    argv = __builtin_alloca((count_arguments(arguments) + 1) * sizeof(*argv));
    va_end(arguments);
    va_start(arguments, first);
    (void)take_arguments(argv, first, arguments, false);
    va_end(arguments);
    return execv(path, argv);
}

PRELOAD_EXPORT int execlp(const char *file, const char *first, ...)
{
    va_list arguments;
    char **argv;

    va_start(arguments, first);
    argv = __builtin_alloca((count_arguments(arguments) + 1) * sizeof(*argv));
    va_end(arguments);
    va_start(arguments, first);
    (void)take_arguments(argv, first, arguments, false);
    va_end(arguments);
    return execvp(file, argv);
}

PRELOAD_EXPORT int execle(const char *path, const char *first, ...)
{
    va_list arguments;
    char **argv, **environment;

    va_start(arguments, first);
    argv = __builtin_alloca((count_arguments(arguments) + 1) * sizeof(*argv));
    va_end(arguments);
    va_start(arguments, first);
    environment = take_arguments(argv, first, arguments, true);
    va_end(arguments);
    return execve(path, argv, environment);
}

/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
