/*
 * Trees as text, both ways. A program of calls is a line of words: `A` enters the method A, `/A`
 * leaves it, `+A` is a frame that was there before events began. A tree is drawn as
 *
 *     root
 *       A 2          a method and its calls
 *         A 1 rl1    with its recursion level, where it is not 0
 *       folded 3     what has no nodes of its own, and how many contexts that are
 *         B 7
 *       gap
 *
 * siblings in the order in which they were first entered. Methods have letters as keys.
 */
#ifndef TREADLE_TEST_DRAWN_TREE_H
#define TREADLE_TEST_DRAWN_TREE_H

#include "native/tree/call_tree.h"

#include <stdio.h>
#include <string.h>

#define DRAWING_BYTES 4096u

struct method_maker {
    struct ledger *ledger;
    const char *excluded; /* letters */
};

static inline ledger_ref make_letter_method(void *context, uint64_t key)
{
    const struct method_maker *maker = context;
    const char name[] = {(char)key, '\0'};
    const struct ledger_method_names names = {"pkg.Class", name, "()V", NULL};
    bool excluded =
        maker->excluded != NULL && key < 128 && strchr(maker->excluded, (int)key) != NULL;
    return ledger__add_method(maker->ledger, key, &names, excluded ? METHOD_EXCLUDED : 0);
}

static inline void play(struct call_tree *tree, const char *program)
{
    for (const char *c = program; *c != '\0'; c++) {
        if (*c == '/')
            call_tree__leave(tree, (uint64_t) * ++c);
        else if (*c == '+')
            call_tree__seed(tree, (uint64_t) * ++c);
        else if (*c != ' ')
            call_tree__enter(tree, (uint64_t)*c);
    }
}

static inline const struct ledger_node *node_at(const struct ledger *ledger, ledger_ref ref)
{
    return ledger__at(ledger, ref);
}

static inline void draw_line(const struct ledger_node *node, int depth, char *text)
{
    size_t used = strlen(text);
    char *to = text + used;
    size_t room = DRAWING_BYTES - used;
    uint32_t kind = ledger_node__kind(node);
    if (kind == NODE_FOLDED)
        (void)snprintf(to, room, "%*sfolded %d\n", depth * 2, "", (int)node->contexts);
    else if (kind != NODE_EXACT)
        (void)snprintf(to, room, "%*s%s\n", depth * 2, "", kind == NODE_ROOT ? "root" : "gap");
    else if (ledger_node__level(node) > 0)
        (void)snprintf(to, room, "%*s%c %d rl%u\n", depth * 2, "", (int)node->key, (int)node->calls,
                       (unsigned)ledger_node__level(node));
    else
        (void)snprintf(to, room, "%*s%c %d\n", depth * 2, "", (int)node->key, (int)node->calls);
}

/* The list of children has the newest first: its rest is drawn before it. */
static inline void draw_siblings(const struct ledger *ledger, ledger_ref ref, int depth, char *text)
{
    if (ref == 0)
        return;
    const struct ledger_node *node = node_at(ledger, ref);
    draw_siblings(ledger, node->next_sibling, depth, text);
    draw_line(node, depth, text);
    draw_siblings(ledger, node->first_child, depth + 1, text);
}

static inline const char *draw(const struct ledger *ledger, ledger_ref root,
                               char text[DRAWING_BYTES])
{
    text[0] = '\0';
    draw_siblings(ledger, root, 0, text);
    return text;
}

/* The child of `parent` with that key (0: the gap), or none. */
static inline ledger_ref child_of(const struct ledger *ledger, ledger_ref parent, uint64_t key)
{
    ledger_ref ref = node_at(ledger, parent)->first_child;
    while (ref != 0 && node_at(ledger, ref)->key != key)
        ref = node_at(ledger, ref)->next_sibling;
    return ref;
}

/* The CPU time in a tree. */
static inline uint64_t sum_cpu_ns(const struct ledger *ledger, ledger_ref ref)
{
    uint64_t sum = 0;
    if (ref == 0)
        return 0;
    sum = node_at(ledger, ref)->cpu_ns;
    for (ledger_ref child = node_at(ledger, ref)->first_child; child != 0;
         child = node_at(ledger, child)->next_sibling)
        sum += sum_cpu_ns(ledger, child);
    return sum;
}

#endif
