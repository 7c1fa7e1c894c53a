/* Loads each of the libraries, calls used() in it twice and unloads it: reloading ROUNDS LIBRARY…
 * Prints at how many different addresses they lay. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES_MAX 1000

static void *places[PLACES_MAX];
static int place_count;

static void note(void *place)
{
    for (int i = 0; i < place_count; i++)
        if (places[i] == place)
            return;
    if (place_count < PLACES_MAX)
        places[place_count++] = place;
}

static void use(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    void (*used)(void) = library ? (void (*)(void))dlsym(library, "used") : NULL;

    if (!used)
        exit(1);
    note((void *)used);
    used();
    used();
    if (dlclose(library) != 0)
        exit(1);
}

int main(int count, char **arguments)
{
    for (int round = atoi(arguments[1]); round > 0; round--)
        for (int i = 2; i < count; i++)
            use(arguments[i]);
    printf("%d\n", place_count);
    return 0;
}
