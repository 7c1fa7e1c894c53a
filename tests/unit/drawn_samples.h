/*
 * What was sampled below a node, as text: a line a node, siblings in the order in which they were
 * made,
 *
 *     java a 2 1 0      a Java frame of the method a: CPU samples, wall samples, found interpreted
 *       native f 1 0 0
 *         kernel 3 0 0
 *     self a 1 0 0      the exact node itself
 */
#ifndef TREADLE_TEST_DRAWN_SAMPLES_H
#define TREADLE_TEST_DRAWN_SAMPLES_H

#include "drawn_tree.h"

static inline void draw_sample_line(const struct ledger *ledger, const struct ledger_node *node,
                                    int depth, char *text)
{
    static const char *const kinds[] = {
        [NODE_SAMPLED] = "java", [NODE_NATIVE] = "native", [NODE_KERNEL] = "kernel"};
    const struct ledger_method *method = ledger__at(ledger, node->method);
    const struct ledger_string *name = node->method ? ledger__at(ledger, method->name) : NULL;
    size_t used = strlen(text);
    (void)snprintf(text + used, DRAWING_BYTES - used, "%*s%s%s%.*s %d %d %d\n", depth * 2, "",
                   ledger_node__is_self(node) ? "self" : kinds[ledger_node__kind(node)],
                   name != NULL ? " " : "", name != NULL ? (int)name->length : 0,
                   name != NULL ? (const char *)name + offsetof(struct ledger_string, bytes) : "",
                   (int)node->cpu_samples, (int)node->wall_samples, (int)node->interpreted);
}

static inline void draw_sampled_siblings(const struct ledger *ledger, ledger_ref ref, int depth,
                                         char *text)
{
    if (ref == 0)
        return;
    const struct ledger_node *node = node_at(ledger, ref);
    draw_sampled_siblings(ledger, node->next_sibling, depth, text);
    draw_sample_line(ledger, node, depth, text);
    draw_sampled_siblings(ledger, node->first_child, depth + 1, text);
}

static inline const char *draw_samples(const struct ledger *ledger, ledger_ref exact,
                                       char text[DRAWING_BYTES])
{
    text[0] = '\0';
    draw_sampled_siblings(ledger, node_at(ledger, exact)->sampled, 0, text);
    return text;
}

#endif
