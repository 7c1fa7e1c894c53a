#include "native/snapshot/settle.h"

#include "native/ledger/ledger_time.h"
#include "native/metrics/metric_bits.h"
#include "native/metrics/task_status.h"
#include "native/snapshot/dangling_refs.h"
#include "native/snapshot/process_scan.h"
#include "native/thread/thread_fold.h"
#include "native/thread/unprofiled.h"
#include "native/tree/call_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#define TICK_NS 10000000u

/* A reading of all clocks that takes longer than this was interrupted: threads ran on after the
 * first of the clocks was read. Reading a clock of the
 * own process costs a system call of less than 1 µs. */
#define READING_NS        20000u
#define READING_THREAD_NS 3000u
#define READINGS          10u

struct unprofiled_task {
    pid_t tid;
    const struct ledger_unprofiled *record;
};

struct settlement {
    struct ledger *copy;
    pid_t pid;
    struct ledger_time time;
    pid_t *java_tids; /* sorted */
    size_t java_tid_count;
    struct unprofiled_task *unprofiled; /* sorted by tid */
    size_t unprofiled_count;
    uint64_t uncertain_ns; /* an unexplained remainder of no more than this is not booked */
};

static int compare_tids(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

    return (left > right) - (left < right);
}

static bool runs_java(void *context, pid_t tid)
{
    const struct settlement *settlement = context;

    return settlement->java_tid_count &&
           bsearch(&tid, settlement->java_tids, settlement->java_tid_count, sizeof(tid),
                   compare_tids) != NULL;
}

static int compare_unprofiled(const void *a, const void *b)
{
    const struct unprofiled_task *left = a, *right = b;

    return compare_tids(&left->tid, &right->tid);
}

static const struct ledger_unprofiled *find_unprofiled(void *context, pid_t tid,
                                                       uint64_t start_ticks)
{
    const struct settlement *settlement = context;
    const struct unprofiled_task key = {.tid = tid}, *found = NULL;

    if (settlement->unprofiled_count)
        found = bsearch(&key, settlement->unprofiled, settlement->unprofiled_count, sizeof(key),
                        compare_unprofiled);
    return found && found->record->start_ticks == start_ticks ? found->record : NULL;
}

static int collect_unprofiled(struct settlement *settlement)
{
    ledger_ref ref = 0;
    size_t room = 0;

    while ((ref = ledger__next(settlement->copy, LEDGER_UNPROFILED, ref))) {
        const struct ledger_unprofiled *record = ledger__at(settlement->copy, ref);

        if (!record->tid)
            continue;
        if (settlement->unprofiled_count == room) {
            struct unprofiled_task *more =
                realloc(settlement->unprofiled, (room + 256) * sizeof(*more));

            if (!more)
                return -ENOMEM;
            settlement->unprofiled = more;
            room += 256;
        }
        settlement->unprofiled[settlement->unprofiled_count++] =
            (struct unprofiled_task){record->tid, record};
    }
    if (settlement->unprofiled_count)
        qsort(settlement->unprofiled, settlement->unprofiled_count, sizeof(*settlement->unprofiled),
              compare_unprofiled);
    return 0;
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
            pid_t *more = realloc(settlement->java_tids, (room + 256) * sizeof(*more));

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

/* Sums the CPU time of all nodes of a tree, in the order root, children, siblings, without a stack.
 */
static uint64_t tree_cpu_ns(const struct ledger *copy, ledger_ref root)
{
    uint64_t sum_ns = 0;
    ledger_ref ref = root;

    while (ref) {
        const struct ledger_node *node = ledger__at(copy, ref);
        ledger_ref next = node->first_child;

        sum_ns += node->cpu_ns;
        while (!next && ref != root) {
            next = node->next_sibling;
            ref = node->parent;
            node = ledger__at(copy, ref);
        }
        ref = next;
    }
    return sum_ns;
}

static void settle_metrics(const struct settlement *settlement, struct ledger_thread *thread,
                           const struct ledger_kernel_thread *record,
                           const struct ledger_node *node, struct task_status *status)
{
    struct ledger *copy = settlement->copy;
    const struct ledger_unprofiled *unprofiled =
        find_unprofiled((void *)(uintptr_t)settlement, record->tid, record->start_ticks);
    struct ledger_side *side = node->side ? ledger__at(copy, node->side) : NULL;
    uint64_t left = status->bits;
    unsigned metric;

    if (status->value[METRIC_READ_BYTES] >= record->own_read_bytes)
        status->value[METRIC_READ_BYTES] -= record->own_read_bytes;

    while (metric_bits__take(&left, &metric)) {
        uint64_t value =
            unprofiled__value(unprofiled, copy->header->profiling, metric, status->value[metric]);
        uint64_t delta = value - record->readings[metric];

        if (value <= record->readings[metric])
            continue;
        thread->totals[metric] += delta;
        if (side && copy->header->metrics_charged & 1ull << metric)
            side->value[metric] += delta;
    }
}

/* A kernel thread that consumed CPU time which is not charged yet. */
struct open_account {
    struct ledger_kernel_thread *record;
    struct ledger_node *node;
    uint64_t known_ns;   /* CPU time that is charged: to the Java thread, and to those before it */
    uint64_t rest_ns;    /* CPU time that is not charged; of a carrier: at the most */
    bool is_gone;        /* the thread ended while profiling was stopped */
    uint64_t stopped_ns; /* if is_gone: profiled CPU time until the stop */
    bool is_read;        /* rest_ns and the record's kernel_cpu_ns are valid */
};

/* The node to which the uncharged rest goes: the current node, or the root if the current node is
 * incomplete in the copy. */
static struct ledger_node *open_node(const struct ledger *copy,
                                     const struct ledger_kernel_thread *record,
                                     const struct ledger_thread *thread)
{
    ledger_ref ref = record->current ? record->current : thread->root;

    return ref ? ledger__at(copy, ref) : NULL;
}

/* What the kernel thread had consumed when profiling stopped. False: profiling runs, or that is not
 * known. */
static bool read_stopped(const struct settlement *settlement,
                         const struct ledger_kernel_thread *record, struct task_status *status,
                         uint64_t *cpu_ns)
{
    const struct ledger_header *header = settlement->copy->header;
    const struct ledger_unprofiled *unprofiled =
        find_unprofiled((void *)(uintptr_t)settlement, record->tid, record->start_ticks);

    if (header->profiling || !unprofiled)
        return false;
    *status = (struct task_status){.bits = header->metrics_totals};
    for (unsigned metric = 0; metric < LEDGER_METRIC_SLOTS; metric++)
        status->value[metric] = unprofiled->value[metric] + unprofiled->stopped_value[metric];
    *cpu_ns = unprofiled->stopped_cpu_ns;
    return true;
}

/* Reads what takes long: the metrics, and the sum over the tree. False: there is nothing to settle,
 * because the thread is gone and what it had consumed is not known. */
static bool open_account(const struct settlement *settlement, struct ledger_kernel_thread *record,
                         struct open_account *account)
{
    struct ledger *copy = settlement->copy;
    struct ledger_thread *thread = ledger__at(copy, record->thread);
    struct task_status status;

    /* If the tid was recycled, its clock is that of another thread. */
    account->is_gone = task_status__read(&status, settlement->pid, record->tid,
                                         copy->header->metrics_totals) != 0 ||
                       (record->start_ticks && record->start_ticks != status.start_ticks);
    if (account->is_gone && !read_stopped(settlement, record, &status, &account->stopped_ns))
        return false;
    account->record = record;
    account->node = open_node(copy, record, thread);
    if (!account->node)
        return false;
    account->known_ns = record->carries ? record->charged_cpu_ns
                                        : record->before_cpu_ns + tree_cpu_ns(copy, thread->root);
    settle_metrics(settlement, thread, record, account->node, &status);
    return true;
}

/* True for a kernel thread whose CPU time is in the trees of a carrier and of virtual threads. */
static bool is_carrier(const struct ledger *copy, const struct ledger_kernel_thread *record)
{
    uint32_t kind = ((const struct ledger_thread *)ledger__at(copy, record->thread))->kind;

    return kind == THREAD_CARRIER || kind == THREAD_VIRTUAL;
}

/* Reads the clock of a kernel thread, and works out what is not charged. */
static void read_rest(const struct settlement *settlement, struct open_account *account)
{
    struct ledger_kernel_thread *record = account->record;
    uint64_t cpu_ns;

    if (account->is_gone)
        cpu_ns = account->stopped_ns;
    else if (task_cpu__read(settlement->pid, record->tid, &cpu_ns) == 0)
        cpu_ns = unprofiled__cpu_ns(
            find_unprofiled((void *)(uintptr_t)settlement, record->tid, record->start_ticks),
            settlement->copy->header->profiling, cpu_ns);
    else
        return;
    account->is_read = true;
    record->kernel_cpu_ns = cpu_ns;
    account->rest_ns = cpu_ns > account->known_ns ? cpu_ns - account->known_ns : 0;
}

/* What carriers consumed is in their own trees and in those of all virtual threads. These trees
 * were copied one after the other while they grew, so some are newer than the record of the kernel
 * thread that wrote them. What all these trees together lack is therefore divided among the
 * carriers in proportion to their rests. */
static void share_rests_of_carriers(const struct settlement *settlement,
                                    struct open_account *accounts, size_t count)
{
    struct ledger *copy = settlement->copy;
    uint64_t consumed_ns = copy->header->carried_cpu_ns, booked_ns = 0, rests_ns = 0, lacking_ns;
    ledger_ref ref = 0;

    for (size_t i = 0; i < count; i++) {
        const struct ledger_kernel_thread *record = accounts[i].record;

        if (!is_carrier(copy, record))
            continue;
        consumed_ns += accounts[i].known_ns + accounts[i].rest_ns - record->before_cpu_ns;
        rests_ns += accounts[i].rest_ns;
    }
    while (rests_ns && (ref = ledger__next(copy, LEDGER_THREADS, ref))) {
        const struct ledger_thread *thread = ledger__at(copy, ref);

        if (thread->kind == THREAD_VIRTUAL || thread->kind == THREAD_CARRIER)
            booked_ns += tree_cpu_ns(copy, thread->root);
    }
    lacking_ns = consumed_ns > booked_ns ? consumed_ns - booked_ns : 0;
    for (size_t i = 0; rests_ns && i < count; i++)
        if (is_carrier(copy, accounts[i].record))
            accounts[i].rest_ns =
                (uint64_t)((unsigned __int128)accounts[i].rest_ns * lacking_ns / rests_ns);
}

/* A node's side record, made if need be. NULL: there is no room. */
static struct ledger_side *side_of(struct ledger *copy, struct ledger_node *node)
{
    struct ledger_side *side;

    if (!node->side) {
        ledger_ref ref = ledger__take_shared(copy, LEDGER_SIDES, sizeof(*side) / LEDGER_CELL_BYTES);

        if (!ref) {
            copy->header->dropped_side_values++;
            return NULL;
        }
        side = ledger__at(copy, ref);
        side->node = ledger__ref(copy, node);
        node->side = ref;
    }
    return ledger__at(copy, node->side);
}

/* Charges a wait to the node, and to its reason if that is known; else to `otherwise`, if the
 * ledger has that. 0: to none. */
static void add_wait(struct ledger *copy, struct ledger_thread *thread, struct ledger_node *node,
                     uint64_t waited_ns, unsigned otherwise)
{
    unsigned reason = ledger_thread__wait_reason(thread);
    struct ledger_side *side;

    if (!reason && otherwise && copy->header->metrics_charged >> otherwise & 1)
        reason = otherwise;
    side = reason && waited_ns ? side_of(copy, node) : NULL;
    node->wait_ns += waited_ns;
    ledger__touch(copy, node);
    if (!side)
        return;
    side->value[reason] += waited_ns;
    thread->totals[reason] += waited_ns;
}

/* Charges the rest to the node. For a platform thread the tree and the rest together are what the
 * kernel says since the thread started to run; so are they for all carriers and virtual threads
 * together. */
static void close_account(const struct settlement *settlement, const struct open_account *account,
                          uint64_t now_ns)
{
    const struct ledger_header *header = settlement->copy->header;
    struct ledger_kernel_thread *record = account->record;
    struct ledger_thread *thread = ledger__at(settlement->copy, record->thread);
    uint64_t last_ns = ledger_kernel_thread__last_ns(record) + header->unprofiled_wall_ns -
                       record->unprofiled_wall_ns;
    uint64_t wall_ns = now_ns > last_ns ? now_ns - last_ns : 0;

    if (!account->is_read)
        return;
    record->charged_cpu_ns =
        account->known_ns > record->kernel_cpu_ns ? account->known_ns : record->kernel_cpu_ns;
    account->node->cpu_ns += account->rest_ns;
    if (!record->carries)
        thread->left_cpu_ns = record->charged_cpu_ns - record->before_cpu_ns;
    /* The clocks of different threads are not read at one moment: the CPU time may be the longer
     * one. */
    account->node->wait_ns -= account->rest_ns > wall_ns ? account->rest_ns - wall_ns : 0;
    add_wait(settlement->copy, thread, account->node,
             wall_ns > account->rest_ns ? wall_ns - account->rest_ns : 0, 0);
}

/* Charges the wait of virtual threads that are not mounted to the nodes at which they were
 * unmounted. */
static void settle_parked(const struct settlement *settlement, uint64_t now_ns)
{
    struct ledger *copy = settlement->copy;
    ledger_ref ref = 0;

    while ((ref = ledger__next(copy, LEDGER_THREADS, ref))) {
        struct ledger_thread *thread = ledger__at(copy, ref);
        uint64_t since_ns =
            thread->unmounted_ns + copy->header->unprofiled_wall_ns - thread->unprofiled_wall_ns;
        struct ledger_node *node;

        if (thread->kind != THREAD_VIRTUAL || !thread->unmounted_ns || now_ns <= since_ns ||
            !thread->current)
            continue;
        node = ledger__at(copy, thread->current);
        add_wait(copy, thread, node, now_ns - since_ns, METRIC_UNMOUNTED);
        thread->parked_ns += now_ns - since_ns;
        thread->unmounted_ns = now_ns;
        thread->unprofiled_wall_ns = copy->header->unprofiled_wall_ns;
    }
}

static size_t open_accounts(const struct settlement *settlement, struct open_account *accounts)
{
    ledger_ref ref = 0;
    size_t count = 0;

    while (count < settlement->java_tid_count &&
           (ref = ledger__next(settlement->copy, LEDGER_KERNEL_THREADS, ref))) {
        struct ledger_kernel_thread *record = ledger__at(settlement->copy, ref);

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

/* A kernel thread still consumes CPU after its last possible reading, while the kernel frees its
 * stack and closes its memory accounts. Once the thread is gone, only the process's total contains
 * that time. This remainder gets a row of its own, so that all rows together are the process. */
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
    thread->name = ledger__string(copy, name, sizeof(name) - 1);
    thread->root = root_ref;
    thread->kind = THREAD_NATIVE;
    thread->flags = THREAD_TERMINATED | THREAD_LAST_MOMENTS;
    thread->start_ns = thread->end_ns = header->asof_ns;
}

/* The moment up to which the copy is settled. */
static uint64_t now_ns(const struct settlement *settlement)
{
    const struct ledger_header *header = settlement->copy->header;

    return header->profiling ? ledger_time__now_ns(&settlement->time) : header->since_ns;
}

/* Reads the clocks of all threads and of the process, all as of one moment. The threads run on
 * meanwhile: a reading in which the reader lost its processor is done again, for a thread that ran
 * then would seem to have run longer than there was time. */
static int read_clocks(struct settlement *settlement, struct process_scan *scan,
                       struct open_account *accounts, size_t count)
{
    struct ledger_header *header = settlement->copy->header;
    uint64_t longest_ns = READING_NS + READING_THREAD_NS * (count + process_scan__count(scan));
    unsigned readings = 0;
    int error = 0;

    /* From outside, the kernel is asked through files, and clocks of running threads lag. */
    if (settlement->pid != getpid())
        readings = READINGS - 1;
    do {
        header->asof_ns = now_ns(settlement);
        process_scan__refresh(scan, header->asof_ns);
        for (size_t i = 0; i < count; i++)
            read_rest(settlement, &accounts[i]);
        error = header->profiling ? ledger__read_process_cpu(header) : 0;
    } while (!error && ++readings < READINGS && now_ns(settlement) - header->asof_ns > longest_ns);
    return error;
}

static int settle_process(struct settlement *settlement, struct process_scan *scan)
{
    struct ledger_header *header = settlement->copy->header;
    struct open_account *accounts = calloc(settlement->java_tid_count + 1, sizeof(*accounts));
    size_t count;
    int error, clocks_error;

    if (!accounts)
        return -ENOMEM;
    count = open_accounts(settlement, accounts);
    error = process_scan__run(scan, now_ns(settlement), SCAN_ALL);
    clocks_error = read_clocks(settlement, scan, accounts, count);
    error = error ? error : clocks_error;
    share_rests_of_carriers(settlement, accounts, count);
    for (size_t i = 0; i < count; i++)
        close_account(settlement, &accounts[i], header->asof_ns);
    settle_parked(settlement, header->asof_ns);
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
    struct scan_java java = {
        .runs_java = runs_java, .unprofiled = find_unprofiled, .context = &settlement};
    struct process_scan scan;
    int error = dangling_refs__cut(copy);

    if (error)
        return error;
    error = collect_java_tids(&settlement);
    if (!error)
        error = collect_unprofiled(&settlement);
    process_scan__init(&scan, copy, header->pid, header->metrics_totals, &java);
    process_scan__adopt(&scan);
    if (!error)
        error = settle_process(&settlement, &scan);
    process_scan__close(&scan);
    thread_fold__join_groups(copy);
    header->state = LEDGER_CLOSED;
    free(settlement.java_tids);
    free(settlement.unprofiled);
    return error == -ENOENT ? -ESRCH : error;
}
