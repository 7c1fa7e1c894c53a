/*
 * replaced WAY PROGRAM: becomes PROGRAM by one of the ways of exec, with the arguments "a" and "b
 * c", and with WAY=execle the environment X=1. A program that is not there comes first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    char *arguments[] = {"named", "a", "b c", NULL}, *environment[] = {"X=1", NULL};
    const char *way = argc > 2 ? argv[1] : "", *program = argc > 2 ? argv[2] : "";

    if (execl("/nowhere/at/all", "no", NULL) != -1 || execvp("/nowhere/at/all", arguments) != -1)
        return 3;
    if (strcmp(way, "execl") == 0)
        execl(program, "named", "a", "b c", (char *)NULL);
    else if (strcmp(way, "execlp") == 0)
        execlp(program, "named", "a", "b c", (char *)NULL);
    else if (strcmp(way, "execle") == 0)
        execle(program, "named", "a", "b c", (char *)NULL, environment);
    else if (strcmp(way, "execv") == 0)
        execv(program, arguments);
    else if (strcmp(way, "execvp") == 0)
        execvp(program, arguments);
    else if (strcmp(way, "execvpe") == 0)
        execvpe(program, arguments, environment);
    else if (strcmp(way, "execve") == 0)
        execve(program, arguments, environment);
    else if (strcmp(way, "none") == 0)
        return 0;
    return 4;
}
