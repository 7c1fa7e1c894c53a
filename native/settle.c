#include "native/settle.h"

#include "native/call_tree.h"
#include "native/kernel_metrics.h"
#include "native/ledger_time.h"
#include "native/process_scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

struct settlement {
    struct ledger *copy;
    pid_t pid;
    struct ledger_time time;
    pid_t *java_tids; /* sorted */
    size_t java_tid_count;
};

static int compare_tids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

    return (left > right) - (left < right);
}

static bool runs_java(void *context, pid_t tid)
{
    const struct settlement *settlement = context;

    return bsearch(&tid, settlement->java_tids, settlement->java_tid_count, sizeof tid,
                   compare_tids) != NULL;
}

static int collect_java_tids(struct settlement *settlement)
{
    ledger_ref ref = 0;
    size_t room = 0;

    while ((ref = ledger__next(settlement->copy, LEDGER_KERNEL_THREADS, ref))) {
        const struct ledger_kernel_thread *record = ledger__at(settlement->copy, ref);

        if (!record->tid || !record->thread)
            continue;
        if (settlement->java_tid_count == room) {
            pid_t *more = realloc(settlement->java_tids, (room + 256) * sizeof *more);

            if (!more)
                return -ENOMEM;
            settlement->java_tids = more;
            room += 256;
        }
        settlement->java_tids[settlement->java_tid_count++] = record->tid;
    }
    if (settlement->java_tid_count)
        qsort(settlement->java_tids, settlement->java_tid_count, sizeof(pid_t), compare_tids);
    return 0;
}

/* The node behind a link, if the copy has it whole: kind filled in and hanging below `parent`. */
static struct ledger_node *linked_node(const struct ledger *copy, ledger_ref ref, ledger_ref parent)
{
    struct ledger_node *node;

    if (!ref || ref / LEDGER_CHUNK_CELLS >= copy->header->chunks_used)
        return NULL;
    node = ledger__at(copy, ref);
    return ledger_node__kind(node) && node->parent == parent ? node : NULL;
}

/* All CPU time that stands in a tree; in the order root, children, siblings, without a stack. */
static uint64_t tree_cpu_ns(const struct ledger *copy, ledger_ref root)
{
    const struct ledger_node *node = linked_node(copy, root, 0);
    uint64_t cells_left = (uint64_t)copy->header->chunks_used * LEDGER_CHUNK_CELLS;
    uint64_t sum_ns = 0;
    ledger_ref at = root;

    while (node && cells_left--) {
        const struct ledger_node *next = linked_node(copy, node->first_child, at);
        ledger_ref next_ref = node->first_child;

        sum_ns += node->cpu_ns;
        while (!next && at != root) {
            next_ref = node->next_sibling;
            next = linked_node(copy, next_ref, node->parent);
            if (!next) {
                at = node->parent;
                node = ledger__at(copy, at);
            }
        }
        at = next_ref;
        node = next;
    }
    return sum_ns;
}

static void settle_metrics(struct ledger *copy, struct ledger_thread *thread,
                           const struct ledger_kernel_thread *record,
                           const struct ledger_node *node, const struct task_status *status)
{
    struct ledger_side *side = node->side ? ledger__at(copy, node->side) : NULL;

    for (uint64_t left = status->bits; left; left &= left - 1) {
        unsigned metric = (unsigned)__builtin_ctzll(left);
        uint64_t delta = status->value[metric] - record->readings[metric];

        if (status->value[metric] <= record->readings[metric])
            continue;
        thread->totals[metric] += delta;
        if (side && copy->header->metrics_charged & 1ull << metric)
            side->value[metric] += delta;
    }
}

/* The books of a platform thread are right by construction: what its tree holds, and what is put
 * on the current node here, are together what the kernel says since the thread started to run. */
static void settle_thread(const struct settlement *settlement,
                          const struct ledger_kernel_thread *record)
{
    struct ledger *copy = settlement->copy;
    uint64_t now_ns = ledger_time__now_ns(&settlement->time);
    struct ledger_thread *thread = ledger__at(copy, record->thread);
    struct ledger_node *root = linked_node(copy, thread->root, 0);
    struct ledger_node *node = ledger__at(copy, record->current);
    struct task_status status;
    uint64_t known_ns;

    if (!root ||
        task_status__read(&status, settlement->pid, record->tid, copy->header->metrics_totals) != 0)
        return;
    if (record->current / LEDGER_CHUNK_CELLS >= copy->header->chunks_used ||
        !ledger_node__kind(node))
        node = root;
    known_ns = record->before_cpu_ns + tree_cpu_ns(copy, thread->root);
    if (status.cpu_ns > known_ns)
        node->cpu_ns += status.cpu_ns - known_ns;
    if (now_ns > record->last_ns)
        node->wall_ns += now_ns - record->last_ns;
    settle_metrics(copy, thread, record, node, &status);
}

static void settle_threads(const struct settlement *settlement)
{
    ledger_ref ref = 0;

    while ((ref = ledger__next(settlement->copy, LEDGER_KERNEL_THREADS, ref))) {
        const struct ledger_kernel_thread *record = ledger__at(settlement->copy, ref);

        if (record->tid && record->thread)
            settle_thread(settlement, record);
    }
}

static int settle_process(struct settlement *settlement)
{
    struct ledger_header *header = settlement->copy->header;
    struct process_scan scan;
    int error;

    process_scan__init(&scan, settlement->copy, settlement->pid, header->metrics_totals, runs_java,
                       settlement);
    process_scan__adopt(&scan);
    settle_threads(settlement);
    header->asof_ns = ledger_time__now_ns(&settlement->time);
    error = process_scan__run(&scan, header->asof_ns);
    if (!error)
        error = process_cpu__read(settlement->pid, &header->process_cpu_ns,
                                  &header->process_user_ns, &header->process_system_ns);
    process_scan__close(&scan);
    return error;
}

int ledger__settle(struct ledger *copy)
{
    struct ledger_header *header = copy->header;
    struct settlement settlement = {
        .copy = copy,
        .pid = header->pid,
        .time = {.tsc_zero = header->tsc_zero,
                 .tsc_mult = header->tsc_mult,
                 .monotonic_zero_ns = header->monotonic_ns},
    };
    int error = collect_java_tids(&settlement);

    if (!error)
        error = settle_process(&settlement);
    header->state = LEDGER_CLOSED;
    free(settlement.java_tids);
    return error == -ENOENT ? -ESRCH : error;
}
