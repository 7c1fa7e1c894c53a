#include "tools/agent/profiled_program.h"

#include "tools/agent/native_program.h"
#include "tools/command.h"
#include "tools/output/size_signal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXIT_NOT_FOUND      127 /* as a shell has them */
#define EXIT_NOT_EXECUTABLE 126

bool profiled_program__has_failed(int status)
{
    return status == EXIT_NOT_FOUND || status == EXIT_NOT_EXECUTABLE;
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* Programs of the JDK that hand an option behind -J to their own JVM. */
static bool takes_j_options(const char *program)
{
    static const char *const tools[] = {
        "jar",   "jarsigner", "javac",      "javadoc",  "javap",      "jcmd",        "jconsole",
        "jdb",   "jdeprscan", "jdeps",      "jfr",      "jhsdb",      "jimage",      "jinfo",
        "jlink", "jmap",      "jmod",       "jps",      "jrunscript", "jshell",      "jstack",
        "jstat", "jstatd",    "jwebserver", "jpackage", "keytool",    "rmiregistry", "serialver",
    };

    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (strcmp(program, tools[i]) == 0)
            return true;
    return false;
}

static int start(char **argv)
{
    size_signal__restore();
    execvp(argv[0], argv);
    int error = errno;
    size_signal__ignore();
    command__fail("%s: %s", argv[0],
                  error == ENOENT ? "no such program; is it on the PATH?" : strerror(error));
    return error == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
}

static int start_with_argument(char **program, char *argument)
{
    size_t count = 0;

    while (program[count])
        count++;
    char **argv = calloc(count + 2, sizeof(*argv));
    if (!argv)
        return command__fail("%s", strerror(ENOMEM));
    argv[0] = program[0];
    argv[1] = argument;
    memcpy(argv + 2, program + 1, (count - 1) * sizeof(*argv));
    int status = start(argv);
    free((void *)argv);
    return status;
}

/* JAVA_TOOL_OPTIONS is split at blanks; either quote keeps them, and there is no escape. */
static int start_with_environment(char **program, const char *argument)
{
    const char *before = getenv("JAVA_TOOL_OPTIONS");
    const char *quote = strpbrk(argument, " \t\n\"") ? "'" : strchr(argument, '\'') ? "\"" : "";
    char *value = NULL;

    if (quote[0] && strchr(argument, quote[0]))
        return command__fail(
            "%s: cannot be quoted in JAVA_TOOL_OPTIONS: it has a ' beside blanks or \"", argument);
    if (asprintf(&value, "%s%s%s%s%s", before ? before : "", before && before[0] ? " " : "", quote,
                 argument, quote) < 0 ||
        setenv("JAVA_TOOL_OPTIONS", value, 1) != 0)
        return command__fail("%s", strerror(ENOMEM));
    free(value);
    return start(program);
}

bool profiled_program__is_of_jdk(const char *program)
{
    const char *name = base_name(program);

    return takes_j_options(name) || strcmp(name, "java") == 0;
}

int profiled_program__become(char **program, const char *library, const char *preload,
                             const char *text)
{
    const char *name = base_name(program[0]);
    bool tool = takes_j_options(name);
    char *argument = NULL;

    if (preload) {
        int error = native_program__preload(preload, text);

        if (error)
            return command__fail("%s: cannot be preloaded: %s", preload,
                                 error == -EINVAL ? "there is a blank or a colon in its path"
                                                  : strerror(-error));
    }
    if (!library)
        return start(program);

    if (asprintf(&argument, "%s-agentpath:%s%s%s", tool ? "-J" : "", library, text[0] ? "=" : "",
                 text) < 0)
        return command__fail("%s", strerror(ENOMEM));
    int status = profiled_program__is_of_jdk(name) ? start_with_argument(program, argument)
                                                   : start_with_environment(program, argument);
    free(argument);
    return status;
}
