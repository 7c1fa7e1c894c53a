#include "tools/agent/native_program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIBRARY     "libtreadle-native.so"
#define HEADERS_MAX 256u

static char *readable(const char *path)
{
    char *absolute = realpath(path, NULL);

    if (absolute && access(absolute, R_OK) == 0)
        return absolute;
    free(absolute);
    return NULL;
}

char *preload_library__find(void)
{
    static const char *const beside[] = {"../native/" LIBRARY, "../lib/treadle/" LIBRARY, NULL};
    const char *chosen = getenv("TREADLE_PRELOAD");
    char folder[PATH_MAX], path[2 * PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof(folder) - 1);
    char *found = NULL;

    if (chosen)
        return *chosen ? readable(chosen) : NULL;
    folder[length > 0 ? length : 0] = '\0';
    if (strrchr(folder, '/'))
        *strrchr(folder, '/') = '\0';
    for (const char *const *place = beside; !found && *place; place++) {
        snprintf(path, sizeof(path), "%s/%s", folder, *place);
        found = readable(path);
    }
    return found ? found : readable(TREADLE_LIBRARY_FOLDER "/" LIBRARY);
}

int native_program__preload(const char *library, const char *options)
{
    const char *before = getenv("LD_PRELOAD");
    char *value = NULL;
    int error = 0;

    /* The linker splits the list at blanks and colons, and has no quotes. */
    if (strpbrk(library, " \t\n:"))
        return -EINVAL;
    if (asprintf(&value, "%s%s%s", library, before && *before ? ":" : "", before ? before : "") < 0)
        return -ENOMEM;
    if (setenv("LD_PRELOAD", value, 1) != 0 || setenv("TREADLE_NATIVE", options, 1) != 0)
        error = -errno;
    free(value);
    return error;
}

/* What is no program may be a pipe: opening it must not wait. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

static int open_on_path(const char *program)
{
    const char *folders = getenv("PATH");
    char path[PATH_MAX];
    int fd = -1;

    if (strchr(program, '/'))
        return open(program, OPEN_FLAGS);
    while (fd < 0 && folders && *folders) {
        size_t length = strcspn(folders, ":");

        snprintf(path, sizeof(path), "%.*s/%s", (int)length, folders, program);
        fd = open(path, OPEN_FLAGS);
        folders += length;
        folders += *folders == ':';
    }
    return fd;
}

bool native_program__is_script(const char *program)
{
    static const char *const shells[] = {"sh", "bash", "dash", "zsh", "ksh", "mksh", "busybox"};
    const char *name = strrchr(program, '/') ? strrchr(program, '/') + 1 : program;
    char begin[2] = "";
    int fd;

    for (size_t i = 0; i < sizeof(shells) / sizeof(*shells); i++)
        if (strcmp(name, shells[i]) == 0)
            return true;
    fd = open_on_path(program);
    if (fd < 0)
        return false;
    if (pread(fd, begin, sizeof(begin), 0) != (ssize_t)sizeof(begin))
        begin[0] = '\0';
    close(fd);
    return begin[0] == '#' && begin[1] == '!';
}

static bool has_interpreter(int fd, const Elf64_Ehdr *header)
{
    Elf64_Phdr segments[HEADERS_MAX];
    size_t count = header->e_phnum < HEADERS_MAX ? header->e_phnum : HEADERS_MAX;
    ssize_t bytes = pread(fd, segments, count * sizeof(*segments), (off_t)header->e_phoff);

    if (bytes < 0)
        return true;
    for (size_t i = 0; i < (size_t)bytes / sizeof(*segments); i++)
        if (segments[i].p_type == PT_INTERP)
            return true;
    return false;
}

static bool gains_rights(int fd, const struct stat *file)
{
    return (file->st_mode & S_ISUID && file->st_uid != geteuid()) ||
           (file->st_mode & S_ISGID && file->st_gid != getegid()) ||
           (geteuid() != 0 && fgetxattr(fd, "security.capability", NULL, 0) > 0);
}

const char *native_program__obstacle(const char *program)
{
    const char *obstacle = NULL;
    Elf64_Ehdr header;
    struct stat file;
    int fd = open_on_path(program);

    if (fd < 0)
        return NULL;
    if (fstat(fd, &file) == 0 && gains_rights(fd, &file))
        obstacle = "it runs with other rights than yours (setuid, setgid or file capabilities), so "
                   "the linker preloads nothing";
    else if (pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
             memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
             header.e_ident[EI_CLASS] == ELFCLASS64 && !has_interpreter(fd, &header))
        obstacle = "it is statically linked, so no linker preloads anything";
    close(fd);
    return obstacle;
}
