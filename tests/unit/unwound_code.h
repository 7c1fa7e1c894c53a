/* Code to walk through, in a library that is loaded late. The first argument is some number. */
#ifndef TREADLE_UNWOUND_CODE_H
#define TREADLE_UNWOUND_CODE_H

typedef int (*unwound)(int number, int (*leaf)(void));

int unwound__recurse(int depth, int (*leaf)(void));
int unwound__alloca(int bytes, int (*leaf)(void));
int unwound__aligned(int bytes, int (*leaf)(void));
int unwound__arguments(int first, int (*leaf)(void));
int unwound__sort(int first, int (*leaf)(void));
int unwound__large(int bytes, int (*leaf)(void));
int unwound__mixture(int number, int (*leaf)(void));
int unwound__chain(int number, int (*leaf)(void)); /* x86-64 only */

#endif
