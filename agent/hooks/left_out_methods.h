/*
 * For how long include= and exclude= left methods out that have hooks at other times. Each start
 * may set another filter. The calls that such a method had meanwhile are not recorded, so the
 * number of its calls is a lower bound: the ledger gets a struct ledger_hooking for each of them.
 *
 * No function holds a lock of its own. left_out_methods__tell allocates in the ledger only and is
 * for hooks.
 */
#ifndef TREADLE_LEFT_OUT_METHODS_H
#define TREADLE_LEFT_OUT_METHODS_H

#include "native/ledger/ledger.h"

#include <stdint.h>

struct hook_quotas;
struct method_filter;
struct method_numbers;

struct left_out_method {
    uint64_t ns;       /* how long filters have left it out, up to since_ns */
    uint64_t since_ns; /* when the last of these filters ended */
    uint64_t from_ns;  /* when it was first hooked, if that was after the first filter; else 0 */
    uint32_t times;    /* how often */
    ledger_ref record; /* atomic; none: the method has no record in the ledger yet */
};

struct left_out_methods {
    struct left_out_method *methods; /* atomic; by number; NULL: the first filter still holds */
};

/* The time in which the filter holds has ended: notes which methods it left out. While profiling is
 * stopped and before another filter is set, whose time begins now. */
void left_out_methods__end_filter(struct left_out_methods *left_out,
                                  const struct method_numbers *numbers,
                                  const struct hook_quotas *quotas,
                                  const struct method_filter *filter, struct ledger *ledger,
                                  uint64_t now_ns);

/* A method of a class that was loaded before gets hooks, and a number, for the first time. */
void left_out_methods__begin_late(struct left_out_methods *left_out, struct ledger *ledger,
                                  uint32_t id);

/* The method has a record in the ledger from now on: says there what is known of it. */
void left_out_methods__tell(struct left_out_methods *left_out, struct ledger *ledger, uint32_t id,
                            ledger_ref method);

#endif
