/* Preloaded: libtreadle.so may make no memory writable, as in a sandbox. All others may. */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
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
    unsigned long start, end;
    int found = 0;

    while (maps && !found && fgets(line, sizeof(line), maps))
        found = sscanf(line, "%lx-%lx", &start, &end) == 2 && address >= start && address < end &&
                strstr(line, "libtreadle.so");
    if (maps)
        fclose(maps);
    return found;
}

__attribute__((visibility("default"))) int mprotect(void *address, size_t length, int protection)
{
    if (protection & PROT_WRITE && is_of_agent((uintptr_t)__builtin_return_address(0))) {
        errno = EACCES;
        return -1;
    }
    return (int)syscall(SYS_mprotect, address, length, protection);
}
