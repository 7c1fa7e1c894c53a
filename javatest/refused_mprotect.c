/* Preloaded: libtreadle.so may make no memory writable, as in a sandbox. All others may. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINE_BYTES 4096

/* Not by dladdr: the caller has one of the linker's locks. */
static int is_of_agent(uintptr_t address)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[LINE_BYTES];
    int found = 0;

    while (maps && !found && fgets(line, sizeof(line), maps)) {
        char *behind = line;
        unsigned long start = strtoul(line, &behind, 16);
        unsigned long end = *behind == '-' ? strtoul(behind + 1, &behind, 16) : 0;

        found = address >= start && address < end && strstr(line, "libtreadle.so");
    }
    if (maps)
        fclose(maps);
    return found;
}

/* The C library's names of parameters are reserved.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
__attribute__((visibility("default"))) int mprotect(void *address, size_t length, int protection)
{
    if (protection & PROT_WRITE && is_of_agent((uintptr_t)__builtin_return_address(0))) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, address, length, protection);
}
