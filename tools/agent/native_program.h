/* Programs without a JVM: what is preloaded into them, and which of them nothing can be preloaded
 * into.
 */
#ifndef TREADLE_NATIVE_PROGRAM_H
#define TREADLE_NATIVE_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

/* Returns the absolute path of libtreadle-native.so: $TREADLE_PRELOAD, else beside this program in
 * a build tree, else where it is installed. To be freed; NULL: there is none, or the variable is
 * empty. */
char *preload_library__find(void);

/* True if the program, which is looked for on the PATH, is a script or a shell: what it starts is
 * what people want to see, mostly a JVM. */
bool native_program__is_script(const char *program);

/* Adds the library to LD_PRELOAD, and the options, of which it takes those that it knows, to the
 * environment of what this process becomes. 0 or -errno. */
int native_program__preload(const char *library, const char *options);

/* Why nothing can be preloaded into a program, which is looked for on the PATH; NULL: it can be, or
 * the program is not there. */
const char *native_program__obstacle(const char *program);

#endif
