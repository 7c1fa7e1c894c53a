/* A library for test_image_imports.c, linked in two ways: it calls a function of another one. */
#include <link.h>
#include <unistd.h>

int imports_call(void);
const void *imports_protected(void);

int imports_call(void)
{
    return (int)getppid();
}

/* Where the linker lets nobody write. */
const void *imports_protected(void)
{
    return _DYNAMIC;
}
