#include "native/settle.h"

#include "native/call_tree.h"
#include "native/kernel_metrics.h"
#include "native/ledger_time.h"
#include "native/process_scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define TICK_NS 10000000u

struct settlement {
    struct ledger *copy;
    pid_t pid;
    struct ledger_time time;
    pid_t *java_tids; /* sorted */
    size_t java_tid_count;
    uint64_t uncertain_ns; /* a remainder below that is none */
};

static int compare_tids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

    return (left > right) - (left < right);
}

static bool knows_java(void *context, pid_t tid)
{
    const struct settlement *settlement = context;

    return settlement->java_tid_count &&
           bsearch(&tid, settlement->java_tids, settlement->java_tid_count, sizeof tid,
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

    if (!ledger__holds(copy, ref, LEDGER_NODES))
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
                           const struct ledger_node *node, struct task_status *status)
{
    struct ledger_side *side =
        ledger__holds(copy, node->side, LEDGER_SIDES) ? ledger__at(copy, node->side) : NULL;

    if (status->value[METRIC_READ_BYTES] >= record->own_read_bytes)
        status->value[METRIC_READ_BYTES] -= record->own_read_bytes;

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

/* A kernel thread whose Java thread has books to settle. */
struct open_account {
    const struct ledger_kernel_thread *record;
    struct ledger_node *node;
    uint64_t known_ns; /* CPU that is in the books: of its thread, and of those before it */
};

/* The node that the rest goes to: the current one, or the root if the copy has it not whole. */
static struct ledger_node *open_node(const struct ledger *copy,
                                     const struct ledger_kernel_thread *record,
                                     const struct ledger_thread *thread)
{
    struct ledger_node *node = ledger__at(copy, record->current);

    if (ledger__holds(copy, record->current, LEDGER_NODES) && ledger_node__kind(node))
        return node;
    return linked_node(copy, thread->root, 0);
}

/* All that takes its time. False if there is nothing to settle: the thread is gone. */
static bool open_account(const struct settlement *settlement,
                         const struct ledger_kernel_thread *record, struct open_account *account)
{
    struct ledger *copy = settlement->copy;
    struct ledger_thread *thread = ledger__at(copy, record->thread);
    struct task_status status;

    /* A recycled tid's clock is somebody else's. */
    if (!ledger__holds(copy, record->thread, LEDGER_THREADS) ||
        task_status__read(&status, settlement->pid, record->tid, copy->header->metrics_totals) !=
            0 ||
        (record->start_ticks && record->start_ticks != status.start_ticks))
        return false;
    account->record = record;
    account->node = open_node(copy, record, thread);
    if (!account->node)
        return false;
    account->known_ns = record->before_cpu_ns + tree_cpu_ns(copy, thread->root);
    settle_metrics(copy, thread, record, account->node, &status);
    return true;
}

/* The books of a platform thread are right by construction: what its tree holds, and what is put
 * on the current node here, are together what the kernel says since the thread started to run. */
static void close_account(const struct settlement *settlement, const struct open_account *account,
                          uint64_t now_ns)
{
    struct ledger_thread *thread = ledger__at(settlement->copy, account->record->thread);
    uint64_t cpu_ns;

    if (task_cpu__read(settlement->pid, account->record->tid, &cpu_ns) != 0)
        return;
    if (cpu_ns < account->known_ns)
        cpu_ns = account->known_ns;
    account->node->cpu_ns += cpu_ns - account->known_ns;
    thread->left_cpu_ns = cpu_ns - account->record->before_cpu_ns;
    if (now_ns > account->record->last_ns)
        account->node->wall_ns += now_ns - account->record->last_ns;
    ledger__touch(settlement->copy, account->node);
}

static size_t open_accounts(const struct settlement *settlement, struct open_account *accounts)
{
    ledger_ref ref = 0;
    size_t count = 0;

    while (count < settlement->java_tid_count &&
           (ref = ledger__next(settlement->copy, LEDGER_KERNEL_THREADS, ref))) {
        const struct ledger_kernel_thread *record = ledger__at(settlement->copy, ref);

        if (record->tid && record->thread)
            count += open_account(settlement, record, &accounts[count]);
    }
    return count;
}

static uint64_t booked_cpu_ns(const struct ledger *copy)
{
    uint64_t sum_ns = 0;
    ledger_ref ref = 0;

    while ((ref = ledger__next(copy, LEDGER_THREADS, ref))) {
        const struct ledger_thread *thread = ledger__at(copy, ref);

        if (!(thread->flags & THREAD_HIDDEN))
            sum_ns += thread->left_cpu_ns ? thread->left_cpu_ns : tree_cpu_ns(copy, thread->root);
    }
    return sum_ns;
}

/* A kernel thread consumes CPU after anybody could last look at it: its stack is given back, its
 * memory accounts are closed. When it is gone, only the process's total tells. That remainder gets
 * a row of its own, so that all rows together are the process. */
static void book_last_moments(const struct settlement *settlement)
{
    struct ledger *copy = settlement->copy;
    const struct ledger_header *header = copy->header;
    static const char name[] = "(threads after their last look)";
    uint64_t booked_ns = booked_cpu_ns(copy);
    struct ledger_arena arena = {0};
    struct ledger_thread *thread;
    struct ledger_node *root;
    ledger_ref ref, root_ref;

    if (header->process_cpu_ns <= booked_ns + settlement->uncertain_ns)
        return;
    root_ref = ledger__take(copy, &arena, LEDGER_NODES, 1);
    ref =
        ledger__take_shared(copy, LEDGER_THREADS, sizeof(struct ledger_thread) / LEDGER_CELL_BYTES);
    if (!root_ref || !ref)
        return;
    root = ledger__at(copy, root_ref);
    root->kind_and_level = (uint32_t)NODE_ROOT << 24;
    root->cpu_ns = header->process_cpu_ns - booked_ns;
    thread = ledger__at(copy, ref);
    thread->name = ledger__string(copy, name, sizeof name - 1);
    thread->root = root_ref;
    thread->kind = THREAD_NATIVE;
    thread->flags = THREAD_TERMINATED | THREAD_LAST_MOMENTS;
    thread->start_ns = thread->end_ns = header->asof_ns;
}

/* The clocks of all threads and of the process are read as closely together as can be: while they
 * are, the threads run on. */
static int settle_process(struct settlement *settlement, struct process_scan *scan)
{
    struct ledger_header *header = settlement->copy->header;
    struct open_account *accounts = calloc(settlement->java_tid_count + 1, sizeof *accounts);
    size_t count;
    int error;

    if (!accounts)
        return -ENOMEM;
    count = open_accounts(settlement, accounts);
    error = process_scan__run(scan, ledger_time__now_ns(&settlement->time), SCAN_ALL);
    header->asof_ns = ledger_time__now_ns(&settlement->time);
    process_scan__refresh(scan, header->asof_ns);
    for (size_t i = 0; i < count; i++)
        close_account(settlement, &accounts[i], header->asof_ns);
    if (!error)
        error = process_cpu__read(settlement->pid, &header->process_cpu_ns,
                                  &header->process_user_ns, &header->process_system_ns);
    /* From outside, the clock of a thread that runs lags by up to a tick. */
    if (settlement->pid != getpid())
        settlement->uncertain_ns = (count + 1) * TICK_NS;
    if (!error)
        book_last_moments(settlement);
    free(accounts);
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
    struct scan_java java = {.knows = knows_java, .context = &settlement};
    struct process_scan scan;
    int error = collect_java_tids(&settlement);

    process_scan__init(&scan, copy, header->pid, header->metrics_totals, &java);
    process_scan__adopt(&scan);
    if (!error)
        error = settle_process(&settlement, &scan);
    process_scan__close(&scan);
    header->state = LEDGER_CLOSED;
    free(settlement.java_tids);
    return error == -ENOENT ? -ESRCH : error;
}
