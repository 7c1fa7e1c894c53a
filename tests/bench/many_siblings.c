/*
 * What a call costs whose caller has many callees: so many methods are called from one in an order
 * that no cache knows, and in turn. No JVM: the tree alone, without clocks.
 *
 *     many_siblings [CALLS]
 */
#include "native/tree/call_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CALLS_DEFAULT 2000000u

static ledger_ref add_method(void *context, uint64_t key)
{
    const struct ledger_method_names names = {"C", "m", "()V", NULL};

    return ledger__add_method(context, key, &names, 0);
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* xorshift [G. Marsaglia: Xorshift RNGs, 2003]. */
static uint32_t next_random(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static double measure(struct call_tree *tree, uint32_t children, uint32_t calls, bool in_turn)
{
    uint32_t random = 2463534242u;
    double begin_ns = now_ns();

    for (uint32_t i = 0; i < calls; i++) {
        uint64_t key = 1 + (in_turn ? i : next_random(&random)) % children;
        uint64_t token = call_tree__push(tree, key);

        call_tree__pop(tree, token);
    }
    return (now_ns() - begin_ns) / calls;
}

static int measure_all(uint32_t children, uint32_t calls)
{
    static struct call_tree tree;
    struct ledger ledger;
    double in_turn_ns, random_ns;
    int error = ledger__create(&ledger, NULL, UINT64_C(1) << 30);

    if (error)
        return error;
    call_tree__init(&tree, &ledger, add_method, &ledger);
    call_tree__go_to(&tree, call_tree__add_plain_node(&tree, 0, NODE_ROOT), 0);
    call_tree__begin_epoch(&tree, 1);
    (void)measure(&tree, children, children, true);
    in_turn_ns = measure(&tree, children, calls, true);
    random_ns = measure(&tree, children, calls, false);
    printf("%9u  %10.1f  %10.1f  %10.1f\n", children, in_turn_ns, random_ns,
           (double)ledger.header->chunks_used * LEDGER_CHUNK_BYTES / children);
    ledger__close(&ledger);
    return 0;
}

int main(int argc, char **argv)
{
    static const uint32_t children[] = {1, 2, 3, 8, 9, 16, 100, 1000, 10000, 100000, 1000000};
    uint32_t calls = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : CALLS_DEFAULT;

    printf(
        " children     in turn   at random   (ns a call)   bytes a child, its method included\n");
    for (size_t i = 0; i < sizeof children / sizeof *children; i++)
        if (measure_all(children[i], calls ? calls : CALLS_DEFAULT) != 0)
            return 1;
    return 0;
}
