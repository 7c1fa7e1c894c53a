/* Runs a command under a seccomp filter, as a container's is: `refuse EPERM|ENOSYS CALL… --
 * COMMAND`. The calls named are refused with that error, all others pass. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANY        UINT32_MAX
#define CALLS_MOST 16u
#define LINES_EACH 5u

/* A system call; or that with one value of its first argument. */
struct call {
    const char *name;
    uint32_t number;
    uint32_t first;
};

static const struct call calls[] = {
    {"perf_event_open", SYS_perf_event_open, ANY},
    {"timer_create", SYS_timer_create, ANY},
    {"process_vm_readv", SYS_process_vm_readv, ANY},
    {"rseq", SYS_rseq, ANY},
    {"memfd_create", SYS_memfd_create, ANY},
    {"netlink", SYS_socket, AF_NETLINK},
    {"set_name", SYS_prctl, PR_SET_NAME},
};

/* Lines of the filter, from `code` on. Returns how many. */
static unsigned refuse(struct sock_filter *code, const struct call *call, int error)
{
    const struct sock_filter lines[LINES_EACH] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->number, 0, 3),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call->first, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
    };

    memcpy(code, lines, sizeof(lines));
    if (call->first == ANY)
        code[3] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0);
    return LINES_EACH;
}

static const struct call *find(const char *name)
{
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++)
        if (strcmp(calls[i].name, name) == 0)
            return &calls[i];
    return NULL;
}

int main(int count, char **arguments)
{
    struct sock_filter code[CALLS_MOST * LINES_EACH + 1];
    struct sock_fprog filter = {.filter = code};
    int error = count > 1 && strcmp(arguments[1], "ENOSYS") == 0 ? ENOSYS : EPERM;
    unsigned lines = 0;
    int at = 2;

    for (; at < count && strcmp(arguments[at], "--") != 0; at++) {
        const struct call *call = find(arguments[at]);

        if (!call || lines + LINES_EACH >= sizeof(code) / sizeof(*code)) {
            fprintf(stderr, "refuse: %s is no call that can be refused\n", arguments[at]);
            return 2;
        }
        lines += refuse(&code[lines], call, error);
    }
    if (at + 1 >= count) {
        fprintf(stderr, "usage: refuse EPERM|ENOSYS CALL... -- COMMAND\n");
        return 2;
    }
    code[lines++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter.len = (unsigned short)lines;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
        perror("refuse: prctl");
        return 77;
    }
    execvp(arguments[at + 1], &arguments[at + 1]);
    perror(arguments[at + 1]);
    return 127;
}
