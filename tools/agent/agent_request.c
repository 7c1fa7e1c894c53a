#include "tools/agent/agent_request.h"

#include "tools/command.h"
#include "tools/jvm/jvm_attach.h"
#include "tools/ledgers/live_ledger.h"
#include "tools/report/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define ANSWER_BYTES (64u * 1024u)
#define REPLY_BYTES  4096u

#define CODE_IS_THERE (-5) /* JNI_EEXIST */

/* Where the agent answers: a file in the JVM's /tmp that is its user's. */
struct answer {
    char name[48];
    int fd; /* -1: there is none, and the request goes without */
};

static void answer__open(struct answer *answer, const struct jvm_conversation *conversation)
{
    uint64_t random = 0;

    (void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
    snprintf(answer->name, sizeof(answer->name), ".treadle-answer-%016" PRIx64, random);
    answer->fd = openat(conversation->temporary_fd, answer->name,
                        O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

static void answer__close(struct answer *answer, const struct jvm_conversation *conversation)
{
    if (answer->fd < 0)
        return;
    (void)unlinkat(conversation->temporary_fd, answer->name, 0);
    close(answer->fd);
    answer->fd = -1;
}

/* Passes on what the agent wrote: how many lines. */
static size_t answer__show(const struct answer *answer)
{
    char *text = memory__zeroed(ANSWER_BYTES, 1);
    char *rest = NULL;
    size_t lines = 0;

    if (answer->fd >= 0 && pread(answer->fd, text, ANSWER_BYTES - 1, 0) > 0)
        for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
            command__note("%s", line);
            lines++;
        }
    free(text);
    return lines;
}

/* "return code: 0", or only "0" from some JVMs: what Agent_OnAttach returned. False if the JVM did
 * not come to that. */
static bool parse_code(const char *reply, long *code)
{
    static const char key[] = "return code:";
    char *end;

    if (strncmp(reply, key, sizeof(key) - 1) == 0)
        reply += sizeof(key) - 1;
    errno = 0;
    *code = strtol(reply, &end, 10);
    return end != reply && *end == '\0' && errno == 0;
}

/* A JVM that lets agents in only reluctantly says so on its stderr when it loads the first time. */
static void explain_warning(const struct jvm_process *process)
{
    unsigned version = jvm_process__version(process);

    if (process->agent || version < 21 ||
        jvm_process__flag(process, "EnableDynamicAgentLoading") != JVM_FLAG_NOT_GIVEN)
        return;
    command__note("JDK %u warns on the JVM's standard error that an agent was loaded dynamically; "
                  "-XX:+EnableDynamicAgentLoading on its command line silences that, and a later "
                  "JDK may refuse without it",
                  version);
}

static int judge(const struct jvm_process *process, const char *reply, const struct answer *answer)
{
    int pid = (int)process->pid;
    long code;

    if (!parse_code(reply, &code))
        return command__fail("process %d: %s", pid, reply);
    if (code == CODE_IS_THERE)
        return -EEXIST;
    explain_warning(process);
    if (answer__show(answer) == 0 && code != 0)
        command__fail("process %d: the agent refused (code %ld); see the JVM's standard error", pid,
                      code);
    return code == 0 ? 0 : EXIT_BAD_INPUT;
}

static int talk(struct jvm_conversation *conversation, const char *library, const char *options)
{
    char reply[REPLY_BYTES];
    char *with_answer = NULL;
    struct answer answer;
    int error = jvm_attach__connect(conversation);

    if (error)
        return error;
    answer__open(&answer, conversation);
    /* In front, so that it is known when one of the others is wrong. */
    if (asprintf(&with_answer, "%s%s%s%s", answer.fd >= 0 ? "answer=/tmp/" : "",
                 answer.fd >= 0 ? answer.name : "", answer.fd >= 0 && options[0] ? "," : "",
                 options) < 0)
        error = command__fail("%s", strerror(ENOMEM));
    if (!error)
        error = jvm_attach__load(conversation, library, with_answer, reply, sizeof(reply));
    if (!error)
        error = judge(conversation->process, reply, &answer);
    answer__close(&answer, conversation);
    free(with_answer);
    return error;
}

int agent_request__send(const struct jvm_process *process, const char *library,
                        const struct agent_options *options)
{
    struct jvm_conversation conversation;
    int error = jvm_attach__begin(&conversation, process);

    if (error)
        return error;
    error = talk(&conversation, library, options->text ? options->text : "");
    jvm_attach__end(&conversation);
    return error;
}

char *agent_request__library(const struct jvm_process *process)
{
    const char *chosen = getenv("TREADLE_AGENT");
    char tried[8192];
    char *library;

    if (process->agent)
        return strdup(process->agent);
    if (chosen && chosen[0] == '/' && jvm_process__sees(process, chosen, true))
        return strdup(chosen);
    library = agent_library__find(tried, sizeof(tried));
    if (!library) {
        command__fail("no agent: looked for %s; TREADLE_AGENT=/path/to/libtreadle.so names it",
                      tried);
    } else if (!jvm_process__sees(process, library, false)) {
        command__fail("process %d sees other files, as in a container: copy %s to a folder that it "
                      "sees, and name that copy with TREADLE_AGENT",
                      (int)process->pid, library);
        free(library);
        library = NULL;
    }
    return library;
}

static int send_to_loaded(pid_t pid, const struct agent_options *options)
{
    struct jvm_process process;
    int error = jvm_process__open(&process, pid);

    if (error)
        return error;
    if (process.agent)
        error = agent_request__send(&process, process.agent, options);
    else
        error = command__fail("process %d has a ledger, but no libtreadle.so", (int)pid);
    jvm_process__close(&process);
    return error;
}

int agent_request__send_again(pid_t pid, const struct agent_options *options,
                              struct ledger_header *header)
{
    int error = send_to_loaded(pid, options);
    char *path = error ? NULL : live_ledger__of_running(pid, header);

    if (!error && !path)
        error = live_ledger__refuse(pid);
    free(path);
    return error;
}
