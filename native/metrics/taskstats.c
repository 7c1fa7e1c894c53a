#include "native/metrics/taskstats.h"

#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/taskstats.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Large enough for every reply so far (720 bytes in version 17); small enough for a signal stack.
 */
#define REPLY_BYTES 2048u

/* Replies to earlier requests that nobody fetched stand before ours. */
#define REPLIES_TO_SKIP 8

#define INTERRUPTIONS 8

#define MESSAGE_HEADER_BYTES   sizeof(struct nlmsghdr)
#define ATTRIBUTE_HEADER_BYTES sizeof(struct nlattr)

/*
 * Offsets into the kernel's reply: offsetof() would give those of the headers at hand. Version 15
 * (Linux 6.14) had a maximum and a minimum behind each total; version 16 moved them to the end.
 */
struct taskstats_field {
    enum ledger_metric metric;
    uint16_t since; /* version */
    uint16_t offset;
    uint16_t offset_in_15;
};

static const struct taskstats_field fields[] = {
    {METRIC_BLOCK_IO_DELAY, 1, 40, 56},     {METRIC_SWAP_IN_DELAY, 1, 56, 88},
    {METRIC_RECLAIM_DELAY, 7, 320, 368},    {METRIC_THRASHING_DELAY, 9, 336, 400},
    {METRIC_COMPACT_DELAY, 11, 360, 440},   {METRIC_WRITE_PROTECT_DELAY, 13, 408, 504},
    {METRIC_INTERRUPT_DELAY, 14, 424, 536},
};

#define FIELD_COUNT      (sizeof(fields) / sizeof(fields[0]))
#define VERSION_OFFSET   0u
#define CPU_COUNT_OFFSET 16u

#if TASKSTATS_VERSION != 15
_Static_assert(offsetof(struct taskstats, version) == VERSION_OFFSET, "as in the kernel");
_Static_assert(offsetof(struct taskstats, cpu_count) == CPU_COUNT_OFFSET, "as in the kernel");
_Static_assert(offsetof(struct taskstats, blkio_delay_total) == 40, "as in the kernel");
_Static_assert(offsetof(struct taskstats, swapin_delay_total) == 56, "as in the kernel");
_Static_assert(offsetof(struct taskstats, freepages_delay_total) == 320, "as in the kernel");
#endif

struct request {
    struct nlmsghdr header;
    struct genlmsghdr generic;
    struct nlattr attribute;
    char payload[GENL_NAMSIZ];
};

/* An attribute or what follows it: a cursor over bytes that need not be aligned. */
struct span {
    const unsigned char *bytes;
    size_t length;
};

static uint64_t load_u64(struct span span, size_t offset)
{
    uint64_t number = 0;

    memcpy(&number, span.bytes + offset, sizeof(number));
    return number;
}

static size_t attribute_aligned(size_t length)
{
    return (length + NLA_ALIGNTO - 1) / NLA_ALIGNTO * NLA_ALIGNTO;
}

static bool find_attribute(struct span list, uint16_t type, struct span *found)
{
    while (list.length >= ATTRIBUTE_HEADER_BYTES) {
        struct nlattr attribute;

        memcpy(&attribute, list.bytes, sizeof(attribute));
        if (attribute.nla_len < ATTRIBUTE_HEADER_BYTES || attribute.nla_len > list.length)
            return false;
        if ((attribute.nla_type & NLA_TYPE_MASK) == type) {
            found->bytes = list.bytes + ATTRIBUTE_HEADER_BYTES;
            found->length = attribute.nla_len - ATTRIBUTE_HEADER_BYTES;
            return true;
        }
        size_t step = attribute_aligned(attribute.nla_len);
        if (step > list.length)
            return false;
        list.bytes += step;
        list.length -= step;
    }
    return false;
}

int taskstats__parse(const void *attributes, size_t length, uint64_t bits, uint64_t *read_bits,
                     uint64_t value[LEDGER_METRIC_SLOTS])
{
    *read_bits = 0;
    struct span list = {.bytes = attributes, .length = length};
    struct span of_thread;
    struct span stats;
    if (!find_attribute(list, TASKSTATS_TYPE_AGGR_PID, &of_thread) ||
        !find_attribute(of_thread, TASKSTATS_TYPE_STATS, &stats) ||
        stats.length < CPU_COUNT_OFFSET + sizeof(uint64_t))
        return -EBADMSG;

    /* A thread that has run was put on a processor at least once, so 0 means that no delays are
     * accounted. */
    if (load_u64(stats, CPU_COUNT_OFFSET) == 0)
        return -ENODATA;

    uint16_t version = 0;
    memcpy(&version, stats.bytes + VERSION_OFFSET, sizeof(version));
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct taskstats_field *field = &fields[i];
        size_t offset = version == 15 ? field->offset_in_15 : field->offset;
        uint64_t bit = UINT64_C(1) << field->metric;

        if (!(bits & bit) || version < field->since || offset + sizeof(uint64_t) > stats.length)
            continue;
        value[field->metric] = load_u64(stats, offset);
        *read_bits |= bit;
    }
    return 0;
}

static int send_request(int fd, struct request *request, size_t payload_length)
{
    request->attribute.nla_len = (uint16_t)(ATTRIBUTE_HEADER_BYTES + payload_length);
    request->header.nlmsg_len =
        (uint32_t)(offsetof(struct request, payload) + attribute_aligned(payload_length));
    request->header.nlmsg_flags = NLM_F_REQUEST;
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    for (int i = 0; i < INTERRUPTIONS; i++) {
        ssize_t sent = sendto(fd, request, request->header.nlmsg_len, MSG_DONTWAIT | MSG_NOSIGNAL,
                              (struct sockaddr *)&kernel, sizeof(kernel));

        if (sent >= 0)
            return 0;
        if (errno != EINTR)
            return -errno;
    }
    return -EINTR;
}

/* The error that a message carries, or 0 with its attributes. */
static int open_reply(const unsigned char *message, size_t length, struct span *attributes)
{
    struct nlmsghdr header;

    memcpy(&header, message, sizeof(header));
    size_t end = header.nlmsg_len < length ? header.nlmsg_len : length;
    if (header.nlmsg_type == NLMSG_ERROR) {
        int32_t error = 0;

        if (end < MESSAGE_HEADER_BYTES + sizeof(error))
            return -EBADMSG;
        memcpy(&error, message + MESSAGE_HEADER_BYTES, sizeof(error));
        return error < 0 ? error : -EBADMSG;
    }
    if (end < MESSAGE_HEADER_BYTES + sizeof(struct genlmsghdr))
        return -EBADMSG;
    attributes->bytes = message + MESSAGE_HEADER_BYTES + sizeof(struct genlmsghdr);
    attributes->length = end - (MESSAGE_HEADER_BYTES + sizeof(struct genlmsghdr));
    return 0;
}

/* The reply to request `sequence`; the attributes stay in `reply`. */
static int receive_reply(int fd, uint32_t sequence, unsigned char reply[REPLY_BYTES],
                         struct span *attributes)
{
    int interrupted = 0;

    for (int i = 0; i < REPLIES_TO_SKIP;) {
        struct sockaddr_nl sender = {.nl_family = AF_NETLINK};
        socklen_t sender_length = sizeof(sender);
        ssize_t got = recvfrom(fd, reply, REPLY_BYTES, MSG_DONTWAIT, (struct sockaddr *)&sender,
                               &sender_length);

        if (got < 0 && errno == EINTR && interrupted++ < INTERRUPTIONS)
            continue;
        if (got < 0)
            return -errno;
        i++;
        struct nlmsghdr header;
        bool from_kernel = sender_length == sizeof(sender) && sender.nl_pid == 0;
        if (!from_kernel || (size_t)got < sizeof(header))
            continue;
        memcpy(&header, reply, sizeof(header));
        if (header.nlmsg_seq == sequence)
            return open_reply(reply, (size_t)got, attributes);
    }
    return -EBADMSG;
}

static int resolve_family(struct taskstats_socket *taskstats)
{
    struct request request = {
        .header = {.nlmsg_type = GENL_ID_CTRL, .nlmsg_seq = ++taskstats->sequence},
        .generic = {.cmd = CTRL_CMD_GETFAMILY, .version = 1},
        .attribute = {.nla_type = CTRL_ATTR_FAMILY_NAME},
        .payload = TASKSTATS_GENL_NAME,
    };
    int error = send_request(taskstats->fd, &request, sizeof(TASKSTATS_GENL_NAME));

    if (error != 0)
        return error;

    unsigned char reply[REPLY_BYTES];
    struct span attributes = {0};
    struct span family;
    error = receive_reply(taskstats->fd, taskstats->sequence, reply, &attributes);
    if (error != 0)
        return error;
    if (!find_attribute(attributes, CTRL_ATTR_FAMILY_ID, &family) ||
        family.length < sizeof(taskstats->family))
        return -EBADMSG;
    memcpy(&taskstats->family, family.bytes, sizeof(taskstats->family));
    return 0;
}

int taskstats__open(struct taskstats_socket *taskstats)
{
    taskstats->sequence = 0;
    taskstats->family = 0;
    taskstats->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_GENERIC);
    if (taskstats->fd < 0) {
        taskstats->fd = -1;
        return -errno;
    }
    int error = resolve_family(taskstats);
    if (error != 0)
        taskstats__close(taskstats);
    return error;
}

void taskstats__close(struct taskstats_socket *taskstats)
{
    if (taskstats->fd >= 0)
        (void)close(taskstats->fd);
    taskstats->fd = -1;
}

int taskstats__read(struct taskstats_socket *taskstats, pid_t tid, uint64_t bits,
                    uint64_t *read_bits, uint64_t value[LEDGER_METRIC_SLOTS])
{
    *read_bits = 0;
    uint32_t sequence = ++taskstats->sequence;
    struct request request = {
        .header = {.nlmsg_type = taskstats->family, .nlmsg_seq = sequence},
        .generic = {.cmd = TASKSTATS_CMD_GET, .version = TASKSTATS_GENL_VERSION},
        .attribute = {.nla_type = TASKSTATS_CMD_ATTR_PID},
    };
    uint32_t id = (uint32_t)tid;
    memcpy(request.payload, &id, sizeof(id));
    int error = send_request(taskstats->fd, &request, sizeof(id));
    if (error != 0)
        return error;

    unsigned char reply[REPLY_BYTES];
    struct span attributes = {0};
    error = receive_reply(taskstats->fd, sequence, reply, &attributes);
    if (error != 0)
        return error;
    return taskstats__parse(attributes.bytes, attributes.length, bits, read_bits, value);
}
