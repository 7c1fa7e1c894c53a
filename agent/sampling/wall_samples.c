#include "agent/sampling/wall_samples.h"

#include "agent/sampling/running_thread.h"
#include "agent/sampling/sampler.h"
#include "native/fault_guard.h"
#include "native/tree/sample_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_BYTES  256
#define PARENTS_MAX 65536u

/* What the kernel says of a thread; "" if it is gone. */
static void read_line(pid_t tid, char line[LINE_BYTES])
{
    char path[64];
    ssize_t got = -1;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = read(fd, line, LINE_BYTES - 1);
        close(fd);
    }
    line[got > 0 ? got : 0] = '\0';
}

/* "202 0x7f… … 0x7ffd… 0x7f…": the last two are the stack pointer and the address. False: it runs.
 */
static bool find_place(const char *line, struct frame_registers *registers)
{
    const char *last = strrchr(line, ' ');
    const char *before = last;

    if (!last)
        return false;
    while (before > line && before[-1] != ' ')
        before--;
    registers->sp = strtoull(before, NULL, 16);
    registers->pc = strtoull(last, NULL, 16);
    registers->fp = 0;
    registers->fp_known = false;
    registers->interrupted = true;
    return registers->sp != 0 && registers->pc != 0;
}

static void walk(const struct sampler *sampler, const struct stack_position *position,
                 struct sample *sample, uint32_t room)
{
    struct fault_guard guard;

    sample->frame_count = 0;
    if (fault_guard__enter(&guard) == 0)
        stack_walk__run(&sampler->walker, position, sample, room);
    else
        sample->failure = WALK_FAULT;
    fault_guard__leave(&guard);
}

static bool is_there(const struct ledger *ledger, const struct kernel_thread_place *place)
{
    const struct ledger_thread *thread = ledger__at(ledger, place->thread);

    return thread->kind &&
           sample_tree__is_of(ledger, ledger__at(ledger, place->node), thread, PARENTS_MAX);
}

static void count_lost(struct sampler *sampler, uint32_t turns)
{
    ledger__count(&sampler->ledger->header->samples, turns);
    ledger__count(&sampler->ledger->header->dropped_samples, turns);
}

static void ask_running(struct sampler *sampler, pid_t tid)
{
    count_lost(sampler, running_threads__ask(&sampler->running_threads, tid));
}

/* The sample counts only if the thread has not moved meanwhile. */
static void take_waiting(struct sampler *sampler, pid_t tid, const char *line,
                         const struct frame_registers *registers)
{
    struct stack_position position = {.registers = *registers};
    struct kernel_thread_place place = {0};
    uint32_t room;
    struct sample *sample;
    char again[LINE_BYTES];

    if (kernel_thread_table__place(sampler->kernel_threads, tid, &place))
        position.java_thread = place.host;
    sample = sample_buffers__claim(sampler->buffers, (unsigned)tid, &room);
    if (!sample)
        return;
    sample->flags = SAMPLE_IS_WALL;
    sample->turns = 1;
    sample->charged_ns = 0;
    sample->event_ns = 0;
    sample->tid = tid;
    sample->modes = (struct mode_times){0};
    sample->when_ns = ledger_time__now_ns(sampler->time);
    walk(sampler, &position, sample, room);
    read_line(tid, again);
    if (place.thread && !is_there(sampler->ledger, &place))
        place.thread = 0;
    sample->thread = place.thread;
    sample->node = place.node;
    sample->key =
        place.node ? ((const struct ledger_node *)ledger__at(sampler->ledger, place.node))->key : 0;
    if (strcmp(line, again) == 0) {
        if (place.thread)
            __atomic_fetch_add(
                &((struct ledger_thread *)ledger__at(sampler->ledger, place.thread))->samples, 1,
                __ATOMIC_RELAXED);
        sample_buffers__commit(sampler->buffers, sample);
        return;
    }
    sample_buffers__give_up(sampler->buffers, sample);
    ask_running(sampler, tid);
}

static void take(struct sampler *sampler, pid_t tid)
{
    struct frame_registers registers;
    char line[LINE_BYTES];

    read_line(tid, line);
    if (find_place(line, &registers))
        take_waiting(sampler, tid, line, &registers);
    else
        ask_running(sampler, tid);
}

/* The tids that follow the one whose turn it was last, around the end of the list. */
static unsigned choose(const struct sampler *sampler, pid_t tids[WALL_SAMPLES_AT_ONCE])
{
    DIR *folder = opendir("/proc/self/task");
    const struct dirent *entry;
    pid_t first[WALL_SAMPLES_AT_ONCE];
    unsigned count = 0, firsts = 0;

    if (!folder)
        return 0;
    while (count < WALL_SAMPLES_AT_ONCE && (entry = readdir(folder))) {
        pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

        if (tid <= 0 || tid == sampler->ledger->header->profiler_tid)
            continue;
        if (tid > sampler->turn)
            tids[count++] = tid;
        else if (firsts < WALL_SAMPLES_AT_ONCE)
            first[firsts++] = tid;
    }
    closedir(folder);
    for (unsigned i = 0; i < firsts && count < WALL_SAMPLES_AT_ONCE; i++)
        tids[count++] = first[i];
    return count;
}

void wall_samples__take(struct sampler *sampler)
{
    pid_t tids[WALL_SAMPLES_AT_ONCE];
    unsigned count = choose(sampler, tids);

    pthread_mutex_lock(&sampler->tasks_lock);
    for (unsigned i = 0; i < count && atomic_load(&sampler->running); i++)
        take(sampler, tids[i]);
    pthread_mutex_unlock(&sampler->tasks_lock);
    if (count)
        sampler->turn = tids[count - 1];
}

void wall_samples__end(struct sampler *sampler)
{
    count_lost(sampler, running_threads__release(&sampler->running_threads));
}
