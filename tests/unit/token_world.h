/*
 * One call tree in a ledger of its own, and frames that hooks name by tokens. A program is a line
 * of words: `A` enters the method A and keeps its token by the depth at which it stands, the first
 * one at 0; `/2` leaves the frame at depth 2, with that token; `^2` catches an exception there, and
 * the frames at depth 3 and more have ended. `~L` is a logical frame; after `^2`, `=5` says that
 * the frames at depth 3 and 4 have not ended, since they are logical.
 */
#ifndef TREADLE_TEST_TOKEN_WORLD_H
#define TREADLE_TEST_TOKEN_WORLD_H

#include "drawn_tree.h"
#include "native/tree/call_tree.h"

/* cmocka.h needs the others before it. */
/* clang-format off */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
/* clang-format on */

#define MIB       (UINT64_C(1) << 20)
#define DEPTH_MAX 16

struct world {
    struct ledger ledger;
    struct method_maker maker;
    struct call_tree tree;
    ledger_ref root;
    uint64_t tokens[DEPTH_MAX];
    int depth; /* of the frames that are really there */
};

/* levels: as recursion=N has it, 0 for all. */
static inline void make_world(struct world *world, uint64_t max_bytes, uint32_t levels)
{
    assert_int_equal(ledger__create(&world->ledger, NULL, max_bytes), 0);
    world->ledger.header->recursion = levels;
    world->maker = (struct method_maker){&world->ledger, NULL};
    world->depth = 0;
    call_tree__init(&world->tree, &world->ledger, make_letter_method, &world->maker);
    world->root = call_tree__add_plain_node(&world->tree, 0, NODE_ROOT);
    call_tree__go_to(&world->tree, world->root, 0);
    call_tree__begin_epoch(&world->tree, 1);
}

static inline void play_tokens(struct world *world, const char *program)
{
    for (const char *c = program; *c != '\0'; c++) {
        if (*c == '/') {
            world->depth = *++c - '0';
            call_tree__pop(&world->tree, world->tokens[world->depth]);
        } else if (*c == '^') {
            world->depth = *++c - '0' + 1;
            call_tree__catch(&world->tree, world->tokens[world->depth - 1]);
        } else if (*c == '=') {
            world->depth = *++c - '0';
        } else if (*c == '~') {
            world->tokens[world->depth++] =
                call_tree__push(&world->tree, LEDGER_LOGICAL_KEYS | (uint64_t) * ++c);
        } else if (*c != ' ') {
            world->tokens[world->depth++] = call_tree__push(&world->tree, (uint64_t)*c);
        }
    }
}

#endif
