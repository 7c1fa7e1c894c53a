#include "native/snapshot/late_nodes.h"

#include "native/ledger/ledger_gate.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

struct search {
    struct ledger *copy;
    struct ledger_gate gate;
    int source_fd;
};

/* The node that a link leads to, if its record is empty in the copy; else NULL. */
static struct ledger_node *late_node(const struct search *search, ledger_ref ref)
{
    struct ledger_node *node =
        (struct ledger_node *)(uintptr_t)ledger_gate__record(&search->gate, ref, LEDGER_NODES);

    return node && ledger_node__kind(node) == 0 ? node : NULL;
}

/* False: the record is empty in the live ledger, too. */
static bool read_node(const struct search *search, ledger_ref ref, struct ledger_node *node)
{
    struct ledger_node now;

    if (pread(search->source_fd, &now, sizeof(now), (off_t)ref * LEDGER_CELL_BYTES) !=
            (ssize_t)sizeof(now) ||
        ledger_node__kind(&now) == 0)
        return false;
    now.first_child = 0;
    now.sampled = 0;
    now.side = 0;
    *node = now;
    ledger__touch(search->copy, node);
    return true;
}

/* Reads a list of siblings, up to the first one that the copy has. */
static void read_list(const struct search *search, ledger_ref ref)
{
    struct ledger_node *node = late_node(search, ref);

    while (node && read_node(search, ref, node)) {
        ref = node->next_sibling;
        node = late_node(search, ref);
    }
}

int late_nodes__read(struct ledger *copy, int source_fd)
{
    struct search search = {.copy = copy, .source_fd = source_fd};
    int error = ledger_gate__open(&search.gate, copy->base, copy->header->chunks_used);
    ledger_ref ref = 0;

    while (!error && (ref = ledger_gate__next(&search.gate, LEDGER_NODES, ref))) {
        const struct ledger_node *node = ledger__at(copy, ref);

        if (ledger_node__kind(node) == 0)
            continue;
        read_list(&search, node->first_child);
        read_list(&search, node->next_sibling);
        read_list(&search, node->sampled);
    }
    if (search.gate.dropped && copy->touched)
        memset(copy->touched, 1, copy->adopted_chunks);
    copy->header->senseless_records += search.gate.dropped;
    ledger_gate__close(&search.gate);
    return error;
}
