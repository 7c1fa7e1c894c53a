/* The last of three processes: answers "ID MS" with how long it took it, in ns by its own clock: it
 * sleeps for MS ms with a frame that has the id. One thread a connection. Says its port; ends with
 * its standard input. */
#include "native/activity/treadle.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A tenth of the time on the processor, the rest of it asleep. */
static void work(unsigned ms)
{
    uint64_t until_ns = now_ns(CLOCK_THREAD_CPUTIME_ID) + ms * UINT64_C(100000);
    struct timespec nap = {0, (long)ms * 900000};

    while (now_ns(CLOCK_THREAD_CPUTIME_ID) < until_ns)
        continue;
    (void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
}

static uint64_t answer(struct treadle_chain id, unsigned ms)
{
    uint64_t begin_ns;

    treadle_scope_adopt("answer", id);
    begin_ns = now_ns(CLOCK_MONOTONIC);
    treadle_push_with("work", "mostly asleep");
    work(ms);
    treadle_pop();
    return now_ns(CLOCK_MONOTONIC) - begin_ns;
}

static void *serve(void *context)
{
    int socket = (int)(intptr_t)context;
    FILE *peer = fdopen(socket, "r");
    char id[64], ms[16];

    while (peer && fscanf(peer, "%63s %15s", id, ms) == 2)
        dprintf(socket, "%" PRIu64 "\n",
                answer(treadle_id_of_text(id), (unsigned)strtoul(ms, NULL, 10)));
    if (peer)
        fclose(peer);
    return NULL;
}

static void *listen_on(void *context)
{
    int socket = (int)(intptr_t)context, peer;
    pthread_t thread;

    while ((peer = accept(socket, NULL, NULL)) >= 0)
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)peer) != 0)
            close(peer);
    return NULL;
}

int main(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int server = socket(AF_INET, SOCK_STREAM, 0);
    pthread_t thread;
    char byte;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (server < 0 || bind(server, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        listen(server, 8) != 0 || getsockname(server, (struct sockaddr *)&address, &length) != 0 ||
        pthread_create(&thread, NULL, listen_on, (void *)(intptr_t)server) != 0)
        return 1;
    treadle_push("waiting"); /* the segment is made at the first push */
    treadle_pop();
    printf("%d\n", ntohs(address.sin_port));
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    return 0;
}
