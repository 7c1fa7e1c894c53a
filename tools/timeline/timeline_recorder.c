#include "tools/timeline/timeline_recorder.h"

#include "native/ledger/ledger_time.h"
#include "tools/ledgers/rights.h"
#include "tools/report/memory.h"
#include "tools/timeline/timeline_names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define POLL_MS       20
#define TASKS_NS      UINT64_C(500000000)
#define LIVE_SUFFIX   ".live"
#define CLOSED_SUFFIX ".ledger"

static uint64_t now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

static void say_no_switches(struct timeline_store *store, int error)
{
    if (error == -EACCES || error == -EPERM || error == -ENOSYS)
        snprintf(
            store->no_switches, sizeof(store->no_switches),
            "perf events are refused here (%s); they need kernel.perf_event_paranoid=2 or less",
            strerror(-error));
    else
        snprintf(store->no_switches, sizeof(store->no_switches), "perf events cannot be opened: %s",
                 strerror(-error));
}

void timeline_recorder__begin(struct timeline_recorder *recorder, pid_t pid, uint64_t bytes)
{
    int error;

    memset(recorder, 0, sizeof(*recorder));
    timeline_store__begin(&recorder->store, bytes);
    recorder->pid = recorder->store.pid = pid;
    recorder->ledger_fd = recorder->reader.fd = -1;
    error = switch_rings__open(&recorder->rings, pid);
    recorder->store.has_switches = error == 0;
    if (error)
        say_no_switches(&recorder->store, error);
}

void timeline_recorder__release(struct timeline_recorder *recorder)
{
    if (recorder->store.has_switches && recorder->rings.rings)
        switch_rings__close(&recorder->rings);
    timeline_reader__end(&recorder->reader);
    if (recorder->ledger_fd >= 0)
        close(recorder->ledger_fd);
    timeline_store__release(&recorder->store);
}

/* ---- the agent's file ---- */

static bool replace_suffix(char *path, size_t path_bytes, const char *from, const char *before,
                           const char *after)
{
    size_t length = strlen(from), cut = strlen(before);

    return length > cut && strcmp(from + length - cut, before) == 0 &&
           (size_t)snprintf(path, path_bytes, "%.*s%s", (int)(length - cut), from, after) <
               path_bytes;
}

/* Another user's file is read with that user's rights; events of perf stay open. */
static int open_file(struct timeline_recorder *recorder, bool follows_link,
                     const struct ledger_complaint *to)
{
    int fd = timeline_reader__open(recorder->path, follows_link, to);
    int error = fd < 0 ? 0 : rights__become_owner(fd);

    if (fd < 0)
        return -1;
    if (error) {
        close(fd);
        return ledger_complaint__say(to, "root's rights cannot be given up: %s", strerror(-error));
    }
    if (timeline_reader__begin(&recorder->reader, fd, to) == 0)
        return 0;
    close(fd);
    return -1;
}

/* -1: there is none that can be opened. */
static int open_ledger(const char *path)
{
    char message[256];
    const struct ledger_complaint nobody = {path, message, sizeof(message)};
    int fd = ledger_file__open(path, &nobody);

    if (fd < 0 || rights__become_owner(fd) == 0)
        return fd;
    close(fd);
    return -1;
}

static uint64_t unheard_waits(const struct timeline_recorder *recorder)
{
    struct ledger_header header = {0};

    if (recorder->ledger_fd < 0 ||
        ledger_file__read_at(recorder->ledger_fd, &header, sizeof(header), 0) != sizeof(header))
        return 0;
    return header.unheard_waits;
}

static void note_waiting(struct timeline_recorder *recorder, const struct ledger_reader *ledger)
{
    struct timeline_store *store = &recorder->store;
    ledger_ref ref = 0;

    while ((ref = ledger_reader__next(ledger, LEDGER_THREADS, ref))) {
        const struct ledger_thread *thread = timeline_names__thread(ledger, ref);
        unsigned reason = thread && !thread->end_ns ? ledger_thread__wait_reason(thread) : 0;

        if (!reason || thread->flags & THREAD_GROUP || !thread->java_id)
            continue;
        store->waiting = memory__grown(store->waiting, &store->waiting_room,
                                       store->waiting_count + 1, sizeof(*store->waiting));
        store->waiting[store->waiting_count++] =
            (struct timeline_event){.kind = TIMELINE_WAIT,
                                    .java_id = thread->java_id,
                                    .tid = thread->tids[0],
                                    .thread_kind = (uint8_t)thread->kind,
                                    .reason = (uint16_t)reason};
    }
}

struct ledger_reader *timeline_recorder__ledger(struct timeline_recorder *recorder)
{
    char message[256];

    if (recorder->ledger_fd < 0)
        return NULL;
    return ledger_reader__open_fd(recorder->ledger_fd, "ledger", message, sizeof(message));
}

static void take_header(struct timeline_recorder *recorder)
{
    const struct timeline_header *header = &recorder->reader.header;
    struct timeline_store *store = &recorder->store;

    store->began_ns = header->began_ns;
    store->ledger_began_ns = header->ledger_began_ns;
    store->calls_above_ns = header->calls_above_ns;
    store->has_waits = header->has_waits;
    store->has_calls = header->has_calls;
}

int timeline_recorder__open(struct timeline_recorder *recorder, const char *ledger_path,
                            char *message, size_t message_bytes)
{
    const struct ledger_complaint to = {recorder->path, message, message_bytes};
    struct ledger_reader *ledger;

    if (!replace_suffix(recorder->path, sizeof(recorder->path), ledger_path, LIVE_SUFFIX,
                        TIMELINE_SUFFIX)) {
        snprintf(message, message_bytes, "%s: is no live ledger", ledger_path);
        return -1;
    }
    /* An agent makes no link. */
    if (open_file(recorder, false, &to) != 0)
        return -1;
    take_header(recorder);
    /* One that claims to begin later than now would have no end. */
    if (recorder->store.began_ns > now_ns())
        recorder->store.began_ns = now_ns();
    recorder->ledger_fd = open_ledger(ledger_path);
    recorder->unheard_before = unheard_waits(recorder);
    ledger = recorder->ledger_fd < 0
                 ? NULL
                 : ledger_reader__open_fd(recorder->ledger_fd, ledger_path, message, message_bytes);
    if (ledger)
        note_waiting(recorder, ledger);
    if (ledger)
        ledger_reader__close(ledger);
    return 0;
}

/* ---- recording ---- */

static void take_event(void *context, const struct timeline_event *event)
{
    timeline_store__add_event(context, event);
}

void timeline_recorder__drain_switches(struct timeline_recorder *recorder)
{
    if (recorder->store.has_switches)
        switch_rings__drain(&recorder->rings, &recorder->store);
}

static void drain(struct timeline_recorder *recorder, bool last)
{
    timeline_recorder__drain_switches(recorder);
    if (recorder->reader.fd >= 0)
        timeline_reader__drain(&recorder->reader, last, take_event, &recorder->store);
}

/* The names of threads that were there before their switches were heard; and of all, where these
 * are not heard: threads that end soon have been there for a moment at least then. */
static void read_tasks(struct timeline_recorder *recorder)
{
    char path[96], name[32];
    const struct dirent *entry;
    DIR *tasks;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)recorder->pid);
    tasks = opendir(path);
    while (tasks && (entry = readdir(tasks))) {
        int32_t tid = (int32_t)strtol(entry->d_name, NULL, 10);
        ssize_t length = -1;
        int fd;

        if (tid <= 0)
            continue;
        snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", (int)recorder->pid, (int)tid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd >= 0)
            length = read(fd, name, sizeof(name) - 1);
        if (fd >= 0)
            close(fd);
        name[length > 0 ? length - 1 : 0] = '\0';
        if (length > 1)
            timeline_store__add_task(&recorder->store, tid, name, now_ns());
    }
    if (tasks)
        closedir(tasks);
    recorder->tasks_ns = now_ns();
}

static bool is_gone(pid_t pid)
{
    char link[64], target[8];

    snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
    return readlink(link, target, sizeof(target)) < 0 && (errno == ENOENT || errno == ESRCH);
}

static bool is_stopped(const sigset_t *stops)
{
    const struct timespec at_once = {0, 0};

    return stops && sigtimedwait(stops, NULL, &at_once) > 0;
}

static bool is_over(const struct timeline_recorder *recorder, uint64_t for_ns)
{
    const struct timeline_header *header = &recorder->reader.header;

    return header->ended_ns || is_gone(recorder->pid) ||
           (for_ns && now_ns() - recorder->store.began_ns >= for_ns);
}

void timeline_recorder__run(struct timeline_recorder *recorder, uint64_t for_ns,
                            const sigset_t *stops)
{
    while (!is_over(recorder, for_ns) && !is_stopped(stops)) {
        if (recorder->store.has_switches)
            switch_rings__wait(&recorder->rings, POLL_MS);
        else
            (void)usleep(POLL_MS * 1000);
        drain(recorder, false);
        if (now_ns() - recorder->tasks_ns > TASKS_NS)
            read_tasks(recorder);
    }
    read_tasks(recorder);
}

bool timeline_recorder__goes_on(struct timeline_recorder *recorder)
{
    drain(recorder, false);
    return !recorder->reader.header.ended_ns && !is_gone(recorder->pid);
}

static void settle(struct timeline_recorder *recorder, uint64_t last_ns)
{
    const struct timeline_header *header = &recorder->reader.header;
    struct timeline_store *store = &recorder->store;

    store->ended_ns = header->ended_ns && header->ended_ns < last_ns ? header->ended_ns : last_ns;
    if (store->ended_ns < store->began_ns)
        store->ended_ns = store->began_ns;
    store->lost_events = recorder->reader.lost + recorder->reader.senseless;
    store->unseen_calls = timeline_reader__unseen_calls(&recorder->reader);
    store->unheard_waits = unheard_waits(recorder) - recorder->unheard_before;
}

void timeline_recorder__finish(struct timeline_recorder *recorder, uint64_t for_ns)
{
    uint64_t end_ns = now_ns();

    drain(recorder, true);
    if (for_ns && recorder->store.began_ns + for_ns < end_ns)
        end_ns = recorder->store.began_ns + for_ns;
    settle(recorder, end_ns);
    if (recorder->store.has_switches)
        switch_rings__close(&recorder->rings);
    /* A killed process has not taken it away. */
    if (is_gone(recorder->pid) && recorder->path[0])
        (void)unlink(recorder->path);
}

/* ---- files that were left behind ---- */

static void note_last(void *context, const struct timeline_event *event)
{
    struct timeline_recorder *recorder = context;

    if (event->at_ns > recorder->store.ended_ns)
        recorder->store.ended_ns = event->at_ns;
    timeline_store__add_event(&recorder->store, event);
}

int timeline_recorder__read(struct timeline_recorder *recorder, const char *path, uint64_t bytes,
                            char *message, size_t message_bytes)
{
    const struct ledger_complaint to = {path, message, message_bytes};
    char beside[PATH_MAX];
    uint64_t last_ns;

    memset(recorder, 0, sizeof(*recorder));
    timeline_store__begin(&recorder->store, bytes);
    recorder->ledger_fd = recorder->reader.fd = -1;
    snprintf(recorder->path, sizeof(recorder->path), "%s", path);
    if (open_file(recorder, true, &to) != 0)
        return -1;
    take_header(recorder);
    recorder->store.pid = recorder->reader.header.pid;
    timeline_reader__drain(&recorder->reader, true, note_last, recorder);
    /* Of a process that was killed nobody has written the end. */
    last_ns = recorder->reader.header.ended_ns;
    if (!last_ns || last_ns > INT64_MAX)
        last_ns = recorder->store.ended_ns;
    settle(recorder, last_ns);
    recorder->store.unheard_waits = 0;
    recorder->store.has_switches = recorder->store.switches.pushed > 0;
    if (!recorder->store.has_switches)
        snprintf(recorder->store.no_switches, sizeof(recorder->store.no_switches),
                 "the file has none: they are heard from outside while a timeline runs");
    if (replace_suffix(beside, sizeof(beside), path, TIMELINE_SUFFIX, LIVE_SUFFIX))
        recorder->ledger_fd = open_ledger(beside);
    if (recorder->ledger_fd < 0 &&
        replace_suffix(beside, sizeof(beside), path, TIMELINE_SUFFIX, CLOSED_SUFFIX))
        recorder->ledger_fd = open_ledger(beside);
    return 0;
}
