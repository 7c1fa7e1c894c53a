/*
 * A shared library for the tests of symbols: built with debug information, and stripped of it.
 */
#ifndef TREADLE_TESTS_SYMBOL_FIXTURE_H
#define TREADLE_TESTS_SYMBOL_FIXTURE_H

/* As a C++ compiler names demo::Engine::spin(int). */
int _ZN4demo6Engine4spinEi(int rounds);

/* The address of a function that only the full symbol table names: fixture_hidden. */
void *fixture_hidden_address(void);

/* The line that _ZN4demo6Engine4spinEi begins at. */
extern const int fixture_line;

#endif
